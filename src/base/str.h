/* str: a string that grows.
 *
 * Zero-initialise it; `data` is always terminated once something was added. Memory
 * that cannot be had ends the program. */
#ifndef SOLO_STR_H
#define SOLO_STR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct str {
    char *data;
    size_t length;
    size_t capacity;
} str;

void str_add(str *s, const char *text);
/* `text` with `by` wherever `word` stands. */
void str_add_replaced(str *s, const char *text, const char *word, const char *by);
void str_add_bytes(str *s, const char *bytes, size_t n);
void str_addf(str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vaddf(str *s, const char *fmt, va_list ap);
void str_free(str *s);

/* Allocation that cannot fail: zeroed memory, or one line and exit. */
void *mem_alloc(size_t bytes);
void *mem_grow(void *p, size_t bytes);
/* So many, which may be more than addresses reach. */
float *mem_floats(uint64_t count);
char *mem_dup(const char *text);

/* FNV-1a of some bytes, going on from what it was before, at first STR_HASH_BEGIN. Names things; proves nothing. */
#define STR_HASH_BEGIN 0xcbf29ce484222325u
uint64_t str_hash(uint64_t so_far, const char *bytes, size_t count);

#endif
