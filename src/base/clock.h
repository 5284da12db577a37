/* clock: monotonic time, what one reading costs, and how fine it is. */
#ifndef SOLO_CLOCK_H
#define SOLO_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);
double clock_us(void);

/* The smallest step seen between two different readings. Measured once. */
double clock_resolution_ns(void);

/* What taking one reading adds to an interval. Measured once. */
double clock_cost_ns(void);

/* "2026-01-31T12:00:00Z" */
void clock_utc(char out[32]);

#endif
