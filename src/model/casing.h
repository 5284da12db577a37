/* casing: lower case, marks that take no space of their own (accents), and characters that are not seen. */
#ifndef SOLO_CASING_H
#define SOLO_CASING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The lower case of one character by itself: one code point, of U+0130 two. Returns how many. */
size_t casing_lower(uint32_t point, uint32_t out[2]);
bool casing_is_accent(uint32_t point); /* category Mn */
bool casing_is_unseen(uint32_t point); /* Cc, Cf and Co: control, format and private use */

/* Every step-th character from `first` to `last` has its lower case so much further on. */
typedef struct casing_run {
    uint32_t first, last, step;
    int32_t by;
} casing_run;
typedef struct casing_range {
    uint32_t first, last;
} casing_range;
extern const casing_run casing_runs[];
extern const uint32_t casing_run_count;
extern const casing_range casing_accents[], casing_unseen[];
extern const uint32_t casing_accent_count, casing_unseen_count;

#endif
