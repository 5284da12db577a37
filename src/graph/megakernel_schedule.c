/* megakernel_schedule: writes the WGSL that runs the phases one after the other. */
#include "graph/megakernel_schedule.h"

enum { MOST_PERIOD = 24 };

schedule_loop schedule_find_loop(const uint32_t *kinds, uint32_t phases)
{
    schedule_loop best = {.period = 1, .times = 1};
    uint32_t most_saved = 0;
    for (uint32_t period = 1; period <= MOST_PERIOD && period < phases; period++)
        for (uint32_t first = 0; first + 2 * period <= phases; first++) {
            uint32_t same = 0;
            while (first + period + same < phases && kinds[first + same] == kinds[first + period + same])
                same++;
            uint32_t saved = same / period * period;
            if (saved > most_saved) {
                most_saved = saved;
                best = (schedule_loop){first, period, same / period + 1};
            }
        }
    return best;
}

uint32_t schedule_sites(const uint32_t *kinds, uint32_t phases)
{
    schedule_loop l = schedule_find_loop(kinds, phases);
    return phases - l.period * (l.times - 1);
}

bool schedule_possible(const uint32_t *kinds, uint32_t phases)
{
    return schedule_sites(kinds, phases) <= SCHEDULE_MAX_SITES;
}

uint32_t schedule_leader(const uint32_t *phase_kernels, const uint32_t *kinds, uint32_t phases, uint32_t kernel)
{
    schedule_loop l = schedule_find_loop(kinds, phases);
    uint32_t leader = kernel, sites = 0;
    for (uint32_t site = l.first; site < l.first + l.period; site++)
        for (uint32_t time = 0; time < l.times; time++)
            if (phase_kernels[site + time * l.period] == kernel) {
                leader = phase_kernels[site];
                sites++;
                break;
            }
    return sites == 1 ? leader : kernel;
}

static uint32_t kernel_in(const schedule *c, schedule_loop l, uint32_t phase, uint32_t time)
{
    return c->phase_kernels[phase + time * l.period];
}

static bool has_one_kernel(const schedule *c, schedule_loop l, uint32_t phase)
{
    for (uint32_t time = 1; time < l.times; time++)
        if (kernel_in(c, l, phase, time) != c->phase_kernels[phase])
            return false;
    return true;
}

/* Does a kernel stand at a site of the loop in an iteration before this one? */
static bool was_there(const schedule *c, schedule_loop l, uint32_t phase, uint32_t time)
{
    for (uint32_t before = 0; before < time; before++)
        if (kernel_in(c, l, phase, before) == kernel_in(c, l, phase, time))
            return true;
    return false;
}

/* A phase's arguments, and how many virtual workgroups it has. In the loop, which has its phases in the text once, that depends on
 * the iteration. */
static void add_args(const schedule *c, schedule_loop l, uint32_t phase, uint32_t kernel, bool inside, str *out)
{
    if (c->kernels[kernel].per_iteration)
        str_addf(out, "{ let args = %s; let count = phase_word(%uu * PHASE_WORDS, 0u);\n", inside ? "time" : "0u",
                 phase);
    else if (inside)
        str_addf(out, "{ let args = (time * %uu + %uu) * PHASE_WORDS; let count = phase_word(args, 0u);\n", l.period,
                 phase);
    else
        str_addf(out, "{ let args = %uu * PHASE_WORDS; let count = phase_word(args, 0u);\n", phase);
}

/* The kernel whose variable has what this one prefetches. */
static uint32_t fetched_by(const schedule *c, uint32_t kernel)
{
    return c->kernels[kernel].shares_fetched ? c->kernels[kernel].leader : kernel;
}

/* Does a site prefetch? Not if its kernels have variables of their own: data for each would occupy registers. */
static bool prefetches_at(const schedule *c, schedule_loop l, uint32_t phase, bool inside)
{
    uint32_t first = c->phase_kernels[phase];
    bool all = c->kernels[first].prefetches;
    for (uint32_t time = 1; inside && time < l.times; time++) {
        uint32_t kernel = kernel_in(c, l, phase, time);
        all = all && c->kernels[kernel].prefetches && fetched_by(c, kernel) == fetched_by(c, first);
    }
    return all;
}

/* Data prefetched before is no longer needed. */
static void add_forget(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    uint32_t kernel = fetched_by(c, c->phase_kernels[phase]);
    if (prefetches_at(c, l, phase, inside))
        str_addf(out, "fetched_%u = prefetched_%u();\n", kernel, kernel);
}

static void add_prefetch_of(const schedule *c, schedule_loop l, uint32_t phase, uint32_t kernel, bool inside, str *out)
{
    add_args(c, l, phase, kernel, inside, out);
    str_addf(out, "if (group.x < count) { fetched_%u = prefetch_%u(args, group.x, local); } }\n", fetched_by(c, kernel),
             kernel);
}

/* The work of virtual workgroup v. */
static void add_work(const schedule *c, uint32_t kernel, bool prefetched, const char *v, str *out)
{
    if (prefetched)
        str_addf(out, "work_%u(args, %s, local, fetched_%u);", kernel, v, fetched_by(c, kernel));
    else
        str_addf(out, "body_%u(args, %s, local);", kernel, v);
}

static void add_kernel(const schedule *c, schedule_loop l, uint32_t phase, uint32_t kernel, bool inside, str *out)
{
    bool prefetched = prefetches_at(c, l, phase, inside);
    add_args(c, l, phase, kernel, inside, out);
    if (c->kernels[kernel].single_pass) {
        str_add(out, "if (group.x < count) { ");
        add_work(c, kernel, prefetched, "group.x", out);
        str_add(out, " } }\n");
        return;
    }
    str_add(out, "var v = group.x;\nfor (var most = count; most > 0u; most--) {\n    if (v >= count) { break; }\n    ");
    add_work(c, kernel, prefetched, "v", out);
    /* Virtual workgroups share workgroup memory. */
    str_add(out, "\n    v += groups.x;\n    if (v < count) {\n        workgroupBarrier();\n");
    if (prefetched)
        str_addf(out, "        fetched_%u = prefetch_%u(args, v, local);\n", fetched_by(c, kernel), kernel);
    str_add(out, "    }\n}\n}\n");
}

/* What a site does: prefetching, or its work. In the loop, iterations may have several kernels. */
static void add_site(const schedule *c, schedule_loop l, uint32_t phase, bool prefetching, bool inside, str *out)
{
    bool one = !inside || has_one_kernel(c, l, phase);
    if (!one)
        str_addf(out, "{ let which = phase_word((time * %uu + %uu) * PHASE_WORDS, 1u);\n", l.period, phase);
    for (uint32_t time = 0; time < (one ? 1 : l.times); time++) {
        uint32_t kernel = kernel_in(c, l, phase, time);
        if (was_there(c, l, phase, time))
            continue;
        if (!one)
            str_addf(out, "if (which == %uu) {\n", kernel);
        if (prefetching)
            add_prefetch_of(c, l, phase, kernel, inside, out);
        else
            add_kernel(c, l, phase, kernel, inside, out);
        if (!one)
            str_add(out, "}\n");
    }
    if (!one)
        str_add(out, "}\n");
}

static void add_prefetch(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    if (!prefetches_at(c, l, phase, inside))
        return;
    add_forget(c, l, phase, inside, out);
    add_site(c, l, phase, true, inside, out);
}

static void add_body(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    add_site(c, l, phase, false, inside, out);
}

static bool is_epoch_only(const schedule *c, schedule_loop l, uint32_t phase)
{
    bool inside = phase >= l.first && phase < l.first + l.period, all = true;
    for (uint32_t time = 0; time < (inside ? l.times : 1); time++)
        all = all && c->kernels[kernel_in(c, l, phase, time)].epoch_only;
    return all;
}

/* Do epoch bits stand in for the barrier between two phases? */
static bool epochs_between(const schedule *c, schedule_loop l, uint32_t before, uint32_t after)
{
    return is_epoch_only(c, l, before) && is_epoch_only(c, l, after);
}

/* A profile that leaves phases out has no epoch bits to poll: then there is a barrier all the same. */
static void add_arrival(bool epoch_only, str *out)
{
    str_add(out, "passed += 1u;\n");
    if (epoch_only)
        str_add(out, "pass_without_barrier(group.x, passed);\nif (solo_params.launch.polls_epoch == 0u) {\n");
    str_add(out, "arrivals += 1u;\nsolo_arrive(group.x, local, passed);\n");
    if (epoch_only)
        str_add(out, "}\n");
}

static void add_waiting(bool epoch_only, str *out)
{
    static const char wait[] = "wait_for_all(local, arrivals * groups.x);\n";
    if (epoch_only)
        str_addf(out, "if (solo_params.launch.polls_epoch == 0u) {\n%s}\nworkgroupBarrier();\n", wait);
    else
        str_add(out, wait);
}

/* A phase with few weights leaves memory idle while all workgroups wait for its x. Meanwhile the first of the next
 * phase's many weights are prefetched into the cache. The words themselves are not used, and no thread waits for them
 * before that phase is done. */
static bool warms_next(const schedule *c, schedule_loop l, uint32_t phase)
{
    return phase > l.first && phase + 1 < l.first + l.period && c->kernels[c->phase_kernels[phase + 1]].warms_cache &&
           !c->kernels[c->phase_kernels[phase]].warms_cache && has_one_kernel(c, l, phase + 1);
}

static void add_warm_cache(const schedule *c, schedule_loop l, uint32_t phase, str *out)
{
    uint32_t kernel = c->phase_kernels[phase + 1];
    if (!warms_next(c, l, phase))
        return;
    str_addf(out, "warmed_by_%u = warmed_%u();\n", kernel, kernel);
    add_args(c, l, phase + 1, kernel, true, out);
    str_addf(out, "if (group.x < count) { warmed_by_%u = warm_cache_%u(args, group.x, local); } }\n", kernel, kernel);
}

static void add_warmed(const schedule *c, schedule_loop l, uint32_t phase, str *out)
{
    uint32_t kernel = c->phase_kernels[phase + 1];
    if (warms_next(c, l, phase))
        str_addf(out, "solo_exchanged |= warmed_bits_%u(warmed_by_%u);\n", kernel, kernel);
}

/* A phase, and the wait between it and the next. The next phase's weights are prefetched while the workgroups wait for
 * each other, but after arriving: issuing the loads takes time, too. */
static void add_phase(const schedule *c, schedule_loop l, uint32_t phase, bool inside, str *out)
{
    bool epoch_only = epochs_between(c, l, phase, phase + 1);
    add_body(c, l, phase, inside, out);
    if (inside)
        add_warmed(c, l, phase, out);
    add_arrival(epoch_only, out);
    add_prefetch(c, l, phase + 1, inside, out);
    if (inside)
        add_warm_cache(c, l, phase + 1, out);
    add_waiting(epoch_only, out);
}

/* The last phase of the loop: the next iteration follows, or the phase behind the loop. */
static void add_last_of_loop(const schedule *c, schedule_loop l, str *out)
{
    uint32_t last = l.first + l.period - 1, behind = l.first + l.period * l.times;
    bool is_end = behind == c->phases;
    bool epoch_only = !is_end && epochs_between(c, l, last, l.first) && epochs_between(c, l, last, behind);
    add_body(c, l, last, true, out);
    add_arrival(epoch_only, out);
    str_addf(out, "if (time + 1u < %uu) {\nlet next = time + 1u;\n{ let time = next;\n", l.times);
    add_forget(c, l, is_end ? 0 : behind, false, out);
    add_prefetch(c, l, l.first, true, out);
    str_add(out, "}\n} else {\n");
    add_forget(c, l, l.first, true, out);
    add_prefetch(c, l, is_end ? 0 : behind, false, out);
    str_add(out, "}\n");
    add_waiting(epoch_only, out);
    str_add(out, "going = solo_in_time();\n");
}

static void add_loop(const schedule *c, schedule_loop l, str *out)
{
    str_addf(out, "for (var time = 0u; time < %uu; time++) {\nif (!going) { break; }\n", l.times);
    for (uint32_t phase = l.first; phase + 1 < l.first + l.period; phase++)
        add_phase(c, l, phase, true, out);
    add_last_of_loop(c, l, out);
    str_add(out, "}\n");
}

/* No workgroup returns in the middle: compilers make slow code of that. After a time-out the loop ends, and no phase
 * outside of it starts: those may be the ones that write kept results. */
void schedule_add(const schedule *c, str *out)
{
    schedule_loop l = schedule_find_loop(c->phase_kinds ? c->phase_kinds : c->phase_kernels, c->phases);
    str_add(out, "\n@compute @workgroup_size(THREADS)\n"
                 "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, "
                 "@builtin(local_invocation_index) local: u32) {\n"
                 "if (solo_params.launch.roll_call != 0u) {\nsolo_roll_call(local);\n} else if (!is_stop(local)) {\n"
                 "var passed = 0u;\nvar arrivals = 0u;\nvar rounds = 0u;\nvar going = true;\n");
    for (uint32_t kernel = 0; kernel < c->kernel_count; kernel++) {
        if (c->kernels[kernel].prefetches && fetched_by(c, kernel) == kernel)
            str_addf(out, "var fetched_%u: prefetched_%u;\n", kernel, kernel);
        if (c->kernels[kernel].warms_cache)
            str_addf(out, "var warmed_by_%u: warmed_%u;\n", kernel, kernel);
    }
    add_prefetch(c, l, 0, false, out);
    str_add(out, "for (var left = solo_params.rounds; left > 0u; left--) {\nif (!going) { break; }\n"
                 "let round = solo_params.rounds - left;\nstart_round(round);\n");
    for (uint32_t phase = 0; phase < c->phases; phase++) {
        if (l.times > 1 && phase == l.first) {
            add_loop(c, l, out);
            phase += l.period * l.times - 1;
        } else {
            str_add(out, "if (going) {\n");
            if (phase + 1 < c->phases) {
                add_phase(c, l, phase, false, out);
                str_add(out, "going = solo_in_time();\n");
            } else
                add_body(c, l, phase, false, out);
            str_add(out, "}\n");
        }
    }
    str_add(out, "rounds = round + 1u;\nif (going && round + 1u < solo_params.rounds) {\n");
    add_arrival(false, out);
    add_prefetch(c, l, 0, false, out);
    add_waiting(false, out);
    str_add(out, "going = solo_in_time() && !is_stop(local);\n}\n}\nif (solo_in_time()) { solo_leave(local, groups.x, "
                 "rounds); }\n}\n}\n");
}
