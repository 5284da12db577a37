/* sim_persistent: kernels of a simulation whose workgroups wait for each other: sets their number, and runs them. */
#include "launch/persistent.h"
#include "sim/sim_internal.h"

#include <stdlib.h>

enum {
    MAX_GROUPS = 2048,    /* the most workgroups of a roll call */
    SINGLE_THREADS = 256, /* of a single workgroup: nearly every device has this many */
};

static persistent persistent_of(const sim *s, const sim_kernel *k)
{
    return (persistent){
        .g = s->g, .kernel = k->kernel, .bindings = k->bindings, .params = s->params_buffer, .grid = s->grid};
}

/* The resident workgroups of this very kernel, if the litmus test passes with them; or the number that was set by
 * hand. */
static bool find_groups(sim *s, const sim_kernel *k, err *e)
{
    persistent p = persistent_of(s, k);
    uint32_t useful = (s->options.population + k->threads - 1) / k->threads;
    uint32_t count = launch_setting("SOLO_SIM_GROUPS", 0);
    if (!count) {
        if (!persistent_count_resident(&p, MAX_GROUPS, &count, e))
            return false;
        count = count < useful ? count : useful;
        s->timed_out = !persistent_certify(s->g, count, k->threads, e);
        if (s->timed_out)
            return false;
    }
    s->groups = (sim_groups){count, k->threads};
    return true;
}

bool sim_make_persistent(sim *s, sim_kernel *k, sim_text_form form, err *e)
{
    bool single = gpu_get_info(s->g)->type == GPU_TYPE_SOFTWARE && !getenv("SOLO_SIM_GROUPS");
    uint32_t most = gpu_get_info(s->g)->max_workgroup_threads;
    sim_text_choice c = {.form = form,
                         .threads = !single                 ? SIM_THREADS
                                    : most < SINGLE_THREADS ? most
                                                            : SINGLE_THREADS,
                         .single = single};
    if (s->groups.count)
        return true;
    if (!sim_kernel_make(s, k, &c, "solo_all", e))
        return false;
    if (!single)
        return find_groups(s, k, e);
    s->groups = (sim_groups){1, c.threads};
    return true;
}

bool sim_run_persistent(sim *s, const sim_kernel *k, err *e)
{
    persistent p = persistent_of(s, k);
    persistent_reset(&p);
    s->params.launch = (launch_params){.spin_limit = persistent_spin_limit(s->g, "SOLO_SIM_LOOKS"),
                                       .stall = launch_setting("SOLO_SIM_STALL", 0)};
    sim_write_params(s);
    gpu_launch(s->g, k->kernel, k->bindings, s->groups.count);
    if (!sim_wait(s, e) || !persistent_timed_out(&p, &s->timed_out, e))
        return false;
    return !s->timed_out || err_set(e, "workgroups of one dispatch timed out waiting for each other");
}
