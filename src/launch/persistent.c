/* Residency, certification and time-outs of dispatches whose workgroups wait for each other. */
#include "launch/persistent.h"
#include "launch/litmus.h"

#include <stdlib.h>

enum {
    GPU_SPINS = 1 << 21,
    SOFTWARE_SPINS = 1 << 28,
    /* Of the roll call: some milliseconds. */
    GPU_ROLL_CALL_SPINS = 1 << 14,
    SOFTWARE_ROLL_CALL_SPINS = 1 << 24,
};

_Static_assert(sizeof(launch_params) == 32, "as in persistent.wgsl");

static bool is_software(const gpu *g)
{
    return gpu_get_info(g)->type == GPU_TYPE_SOFTWARE;
}

uint32_t launch_setting(const char *variable, uint32_t otherwise)
{
    const char *text = getenv(variable);
    unsigned long long value = text ? strtoull(text, NULL, 10) : 0;
    return text && *text ? (uint32_t)(value < UINT32_MAX ? value : UINT32_MAX) : otherwise;
}

uint32_t persistent_spin_limit(const gpu *g, const char *variable)
{
    uint32_t usual = is_software(g) ? SOFTWARE_SPINS : GPU_SPINS;
    return variable ? launch_setting(variable, usual) : usual;
}

void persistent_reset(const persistent *p)
{
    gpu_write(p->g, p->grid, 0, (uint32_t[GRID_WORDS]){0}, GRID_WORDS * sizeof(uint32_t));
}

bool persistent_count_resident(const persistent *p, uint32_t most, uint32_t *groups, err *e)
{
    uint32_t words[GRID_WORDS] = {0};
    launch_params roll_call = {.roll_call = 1,
                               .spin_limit = is_software(p->g) ? SOFTWARE_ROLL_CALL_SPINS : GPU_ROLL_CALL_SPINS};
    persistent_reset(p);
    gpu_write(p->g, p->params, p->params_at, &roll_call, sizeof roll_call);
    gpu_launch(p->g, p->kernel, p->bindings, most);
    if (!gpu_read_now(p->g, p->grid, 0, words, sizeof words, e))
        return false;
    *groups = words[GRID_RESIDENT] ? words[GRID_RESIDENT] : 1;
    persistent_reset(p);
    return true;
}

bool persistent_certify(gpu *g, uint32_t groups, uint32_t threads, err *e)
{
    litmus_result r;
    if (groups == 1)
        return true;
    if (!gpu_litmus_cached(g, groups, threads, &r, e))
        return false;
    return r.verdict == LITMUS_PASSED || err_set(e, "the test whether %u workgroups see each other's data: %s", groups,
                                                 litmus_verdict_name(r.verdict));
}

bool persistent_timed_out(const persistent *p, bool *timed_out, err *e)
{
    uint32_t words[GRID_WORDS];
    if (!gpu_read_now(p->g, p->grid, 0, words, sizeof words, e))
        return false;
    *timed_out = words[GRID_ARRIVED] != 0; /* the last workgroup to leave resets it */
    return true;
}
