/* Resident workgroups of a small kernel: a roll call, proved by a grid barrier. */
#include "launch/residency.h"
#include "launch/chain.h"

/* Three barriers over this many workgroups. In software a poll takes nanoseconds and other threads may keep workgroups
 * from running, so there waits are longer. */
static bool barrier_passes(gpu *g, uint32_t workgroups, bool *passes, err *e)
{
    enum { STEPS = 3 };
    bool software = gpu_get_info(g)->type == GPU_TYPE_SOFTWARE, ok = true;
    int tries = software ? 2 : 3;
    chain *c = chain_new(g, &chain_neighbours, workgroups);
    persistent p = chain_persistent(c);
    *passes = false;
    c->spin_limit = software ? 1u << 24 : 1u << 16;
    for (int i = 0; ok && i < tries && !*passes; i++) {
        bool timed_out = false;
        ok = chain_reset(c, STEPS, e);
        gpu_launch(g, c->one, c->persistent, workgroups);
        ok = ok && gpu_wait(g, e) && persistent_timed_out(&p, &timed_out, e);
        *passes = ok && !timed_out;
        ok = ok && (timed_out || chain_check(c, STEPS, e));
    }
    chain_free(c);
    return ok;
}

/* The most of several tries: a busy machine may keep some from signing in. */
static bool call_roll(gpu *g, uint32_t *most, err *e)
{
    enum { TRIES = 3 };
    chain *c = chain_new(g, &chain_neighbours, chain_neighbours.width);
    persistent p = chain_persistent(c);
    bool ok = true;
    *most = 1;
    for (int i = 0; ok && i < TRIES; i++) {
        uint32_t counted = 0;
        ok = persistent_count_resident(&p, chain_neighbours.width, &counted, e);
        *most = counted > *most ? counted : *most;
    }
    chain_free(c);
    return ok;
}

/* The roll call counts those that have signed in when the first has waited long enough; more may be resident. The most for which
 * the barrier holds lies between `good`, for which it does, and `bad`. */
static bool search(gpu *g, uint32_t good, uint32_t bad, uint32_t *workgroups, err *e)
{
    while (bad - good > 1) {
        uint32_t n = good + (bad - good) / 2;
        bool passes = false;
        if (!barrier_passes(g, n, &passes, e))
            return false;
        if (passes)
            good = n;
        else
            bad = n;
    }
    *workgroups = good;
    return good > 0 || err_set(e, "%s: not even one workgroup passes a grid barrier", gpu_get_info(g)->impl);
}

bool resident_workgroups(gpu *g, uint32_t *workgroups, err *e)
{
    uint32_t counted = 0, most = chain_neighbours.width;
    bool passes = false;
    *workgroups = 0;
    if (gpu_get_info(g)->type == GPU_TYPE_NONE)
        return true;
    if (!call_roll(g, &counted, e) || !barrier_passes(g, counted, &passes, e))
        return false;
    if (!passes)
        return search(g, 0, counted, workgroups, e);
    return search(g, counted, 2 * counted < most ? 2 * counted : most + 1, workgroups, e);
}
