/* collect_rate: how many records an address may send. Addresses are in memory only, and forgotten when others come. */
#ifndef SOLO_SERVE_COLLECT_RATE_H
#define SOLO_SERVE_COLLECT_RATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct collect_rate collect_rate;

/* So many a minute from one address, as many of them at once; 0: without a limit. */
collect_rate *collect_rate_new(uint32_t per_minute);
void collect_rate_free(collect_rate *r);

/* May this address send one now? If not, in how many seconds? `now_s` is any clock that only goes forward. An IPv6
 * address stands for the 2^64 of its network, which are one machine's as a rule. Called by any thread. */
bool collect_rate_take(collect_rate *r, const char *address, double now_s, uint32_t *wait_s);

#endif
