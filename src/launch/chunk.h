/* chunk: how much work one persistent dispatch makes. Short enough that the device answers others and the user sees
 * progress, long enough that launching does not count.                                                                */
#ifndef SOLO_LAUNCH_CHUNK_H
#define SOLO_LAUNCH_CHUNK_H

#include <stdint.h>

/* Steps of the next dispatch, of `left`: as many as fit chunk_ms (0: no limit) when one takes step_ns, at least one, and no
 * more than the barrier of so many workgroups can count. */
uint32_t chunk_steps(uint32_t chunk_ms, double step_ns, uint32_t left, uint32_t groups);

/* Rounds of the next dispatch after one of `rounds` that took took_ns: twice as many until a dispatch takes chunk_ns, half
 * as many when it takes so long that a driver's watchdog may end it. From 1 to `most`. */
uint32_t chunk_rounds(uint32_t rounds, uint32_t most, uint64_t took_ns, uint64_t chunk_ns);

#endif
