/* thoughts: what a model thinks before its answer, told from the answer while both stream.
 *
 * Thoughts stand between "<think>" and "</think>" at the beginning; the template may have written the first of these,
 * and then the text begins with thoughts. What could be the beginning of a tag is held back until it is clear.       */
#ifndef SOLO_THOUGHTS_H
#define SOLO_THOUGHTS_H

#include "base/str.h"

#include <stdbool.h>

#define THOUGHTS_BEGIN "<think>"
#define THOUGHTS_END   "</think>"

typedef enum { THOUGHTS_UNKNOWN, THOUGHTS_THINKING, THOUGHTS_ANSWERING } thoughts_state;

/* Zero-initialise; THOUGHTS_THINKING for a text that begins with thoughts. */
typedef struct thoughts {
    thoughts_state state;
    str held;
} thoughts;

/* A part of the text, without the tags. */
typedef void (*thoughts_part)(void *context, bool is_thought, const char *text, size_t bytes);

void thoughts_add(thoughts *t, const char *text, size_t bytes, thoughts_part part, void *context);
/* The text ends: what was held back. */
void thoughts_end(thoughts *t, thoughts_part part, void *context);
void thoughts_free(thoughts *t);

#endif
