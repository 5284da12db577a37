/* str: a string that grows, and memory that is there or ends the program. */
#include "base/str.h"
#include "base/err.h"
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *or_exit(void *p, size_t bytes)
{
    if (p)
        return p;
    char line[80];
    int length = snprintf(line, sizeof line, "solo: out of memory (%zu bytes needed)\n", bytes);
    fflush(stdout);
    /* at once: other threads may be in the middle of what the end of libraries would take away */
    ssize_t written = write(err_descriptor, line, (size_t)length);
    (void)written; /* there is nobody else to say it to */
    _exit(1);
}

void *mem_alloc(size_t bytes)
{
    return or_exit(calloc(1, bytes ? bytes : 1), bytes);
}

float *mem_floats(uint64_t count)
{
    size_t bytes = count < SIZE_MAX / sizeof(float) ? (size_t)count * sizeof(float) : SIZE_MAX;
    return or_exit(bytes < SIZE_MAX ? calloc(1, bytes ? bytes : 1) : NULL, bytes);
}

void *mem_grow(void *p, size_t bytes)
{
    return or_exit(realloc(p, bytes ? bytes : 1), bytes);
}

char *mem_dup(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(mem_alloc(n), text, n);
}

static void reserve(str *s, size_t more)
{
    size_t need = s->length + more + 1;
    if (need <= s->capacity)
        return;
    size_t cap = s->capacity ? s->capacity : 64;
    while (cap < need)
        cap *= 2;
    s->data = mem_grow(s->data, cap);
    s->capacity = cap;
}

void str_add_bytes(str *s, const char *bytes, size_t n)
{
    reserve(s, n);
    if (n) /* no bytes may be NULL, which memcpy may not be given */
        memcpy(s->data + s->length, bytes, n);
    s->length += n;
    s->data[s->length] = 0;
}

void str_add(str *s, const char *text)
{
    str_add_bytes(s, text, strlen(text));
}

void str_vaddf(str *s, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    number_locale l = number_begin();
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        reserve(s, (size_t)n);
        vsnprintf(s->data + s->length, (size_t)n + 1, fmt, again);
        s->length += (size_t)n;
    }
    number_end(l);
    va_end(again);
}

void str_addf(str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_vaddf(s, fmt, ap);
    va_end(ap);
}

void str_free(str *s)
{
    free(s->data);
    *s = (str){0};
}

uint64_t str_hash(uint64_t so_far, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        so_far = (so_far ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return so_far;
}

void str_add_replaced(str *s, const char *text, const char *word, const char *by)
{
    for (const char *at; (at = strstr(text, word)); text = at + strlen(word)) {
        str_add_bytes(s, text, (size_t)(at - text));
        str_add(s, by);
    }
    str_add(s, text);
}
