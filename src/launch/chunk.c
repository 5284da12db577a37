/* How much work one persistent dispatch makes. */
#include "launch/chunk.h"

#include <math.h>

uint32_t chunk_steps(uint32_t chunk_ms, double step_ns, uint32_t left, uint32_t groups)
{
    /* the barrier counts every workgroup at every step, in 31 bits */
    uint32_t most = (1u << 30) / (groups ? groups : 1);
    left = left < most ? left : most;
    if (!chunk_ms)
        return left;
    double fits = floor(chunk_ms * 1e6 / step_ns);
    return fits < 1 ? 1 : fits < left ? (uint32_t)fits : left;
}

uint32_t chunk_rounds(uint32_t rounds, uint32_t most, uint64_t took_ns, uint64_t chunk_ns)
{
    enum { FEW = 8 };                        /* on slow devices, too */
    const uint64_t LONG_NS = 1000 * 1000000; /* too long: drivers watch over devices */
    if (took_ns < chunk_ns || rounds < FEW)
        return rounds * 2 < most ? rounds * 2 : most;
    return took_ns > LONG_NS && rounds > 1 ? rounds / 2 : rounds;
}
