/* busy: how much other programs worked on this machine's processors while something was measured.
 *
 * Of Linux only: elsewhere, and in a page, it is not known, and nothing is said. */
#ifndef SOLO_LAB_BUSY_H
#define SOLO_LAB_BUSY_H

#include "base/jsonw.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Since some moment: the clock on the wall, what the processors that this process may use have worked, what of that was
 * this process and those of its own that have ended. */
typedef struct busy_times {
    double wall_s, all_s, own_s;
    uint32_t processors; /* 0: not known */
} busy_times;

typedef struct busy {
    busy_times began;
    double others;       /* processors that did other work, on average */
    uint32_t processors; /* of so many; 0: not known */
} busy;

/* Of two looks: the others' part. Not known where less than half a second lies between them, since the system counts in
 * hundredths. */
void busy_between(busy *b, const busy_times *from, const busy_times *to);
/* Half a processor at least, and a twentieth of all: what moves medians. */
bool busy_is(double others, double processors);

#ifdef __wasi__
static inline void busy_begin(busy *b)
{
    (void)b;
}
static inline void busy_end(busy *b)
{
    (void)b;
}
static inline void busy_write(const busy *b, jsonw *j)
{
    (void)b, (void)j;
}
static inline void busy_print(const busy *b, FILE *to)
{
    (void)b, (void)to;
}
#else
void busy_begin(busy *b);
/* Processes that were started in between must have ended. */
void busy_end(busy *b);
/* "busy" in a record's "host". */
void busy_write(const busy *b, jsonw *j);
/* One line, where it was. */
void busy_print(const busy *b, FILE *to);
#endif

#endif
