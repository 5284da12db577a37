/* Workgroups of one dispatch that wait for each other: how many there may be, and whether they did. */
#include "base/str.h"
#include "gpu/litmus.h"
#include "sim/sim_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_GROUPS = 2048, /* that are looked for */
    /* Looks at the gate before giving up: about a second. Of the roll call, some milliseconds. */
    GPU_LOOKS = 1 << 21,
    SOFTWARE_LOOKS = 1 << 27,
    GPU_ROLL_LOOKS = 1 << 14,
};

static uint32_t wished(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

void sim_launch_together(sim *s, const sim_kernel *k, uint32_t groups)
{
    bool software = gpu_get_info(s->g)->type == GPU_TYPE_SOFTWARE;
    gpu_write(s->g, s->gate, 0, (uint32_t[SIM_GATE_STRAYED]){0}, SIM_GATE_STRAYED * 4);
    s->told.spin_limit =
        s->told.roll_call ? GPU_ROLL_LOOKS : wished("SOLO_SIM_LOOKS", software ? SOFTWARE_LOOKS : GPU_LOOKS);
    s->told.stall = wished("SOLO_SIM_STALL", 0);
    sim_write_params(s);
    gpu_launch(s->g, k->kernel, k->bindings, groups);
}

bool sim_passed_gate(sim *s, err *e)
{
    uint32_t gate[SIM_GATE_WORDS];
    if (!sim_wait(s, e) || !gpu_read_now(s->g, s->gate, 0, gate, sizeof gate, e))
        return false;
    if (gate[0] < 0x80000000u)
        return true;
    s->gave_up = true;
    return err_set(e, "workgroups of one dispatch waited for each other in vain");
}

/* Without it, separate dispatches do the work. */
static bool passes_litmus(sim *s, uint32_t groups, uint32_t threads, err *e)
{
    litmus_result r = {0};
    s->gave_up = !gpu_litmus_cached(s->g, groups, threads, false, &r, e) || r.verdict != LITMUS_PASSED;
    return !s->gave_up || err_set(e, "the test whether %u workgroups see each other's data: %s", groups,
                                  litmus_verdict_name(r.verdict));
}

/* With the roll call this very kernel says how many are there when the first has waited long enough. */
bool sim_find_groups(sim *s, const sim_kernel *k, sim_groups *out, err *e)
{
    uint32_t gate[SIM_GATE_WORDS], useful = (s->options.population + k->threads - 1) / k->threads;
    uint32_t count = wished("SOLO_SIM_GROUPS", 0); /* asked for: whether they are resident or not; 0: those that are */
    if (!count) {
        s->told.roll_call = 1;
        sim_launch_together(s, k, MOST_GROUPS);
        s->told.roll_call = 0;
        if (!sim_wait(s, e) || !gpu_read_now(s->g, s->gate, 0, gate, sizeof gate, e))
            return false;
        count = gate[3] ? gate[3] : 1;
        count = count < useful ? count : useful;
        if (count > 1 && !passes_litmus(s, count, k->threads, e))
            return false;
    }
    *out = (sim_groups){count, k->threads};
    return true;
}
