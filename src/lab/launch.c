/* Running a chain by one launch strategy, timed and checked. */
#include "lab/launch.h"
#include "base/clock.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const char *const pattern_names[PATTERN_COUNT] = {"baseline", "bind_group", "param_write", "indirect", "replay"};
const char *const call_names[CALL_COUNT] = {
    "encoder", "begin_pass", "set_pipeline", "set_bind_group", "dispatch", "end_pass", "finish", "submit", "wait"};

bool launch_possible(const gpu_info *info, const launch *how)
{
    if (how->submit == SUBMIT_PASS && !info->has_passes)
        return false;
    if (how->time_device && !info->has_timestamps)
        return false;
    if (how->pattern == PATTERN_INDIRECT && !info->can_indirect)
        return false;
    if (how->pattern == PATTERN_REPLAY && !info->can_replay)
        return false;
    if (how->other_wait && !info->can_block)
        return false;
    return true;
}

gpu_wait_mode launch_wait_mode(const gpu *g, const launch *how)
{
    gpu_wait_mode default_mode = gpu_get_wait_mode(g);
    if (!how->other_wait)
        return default_mode;
    return default_mode == GPU_WAIT_POLLING ? GPU_WAIT_BLOCKING : GPU_WAIT_POLLING;
}

/* A run in progress. */
typedef struct run {
    chain *c;
    const launch *how;
    uint32_t steps;
    launch_time *t;
    gpu_timer *timer;
    gpu_recording *recording;
    gpu_bindings **fresh; /* bind groups the pattern made, freed after the run */
    err *e;
} run;

/* Every call goes through here: with time_calls the clock is read on both
 * sides, and what reading it costs is taken off. */
#define TIMED(r, call, statement) \
    do { \
        if ((r)->how->time_calls) { \
            uint64_t before_ = clock_ns(); \
            statement; \
            (r)->t->call_us[call] += ((double)(clock_ns() - before_) - clock_cost_ns()) / 1e3; \
        } else { \
            statement; \
        } \
    } while (0)

static void begin_recording(run *r)
{
    TIMED(r, CALL_ENCODER, r->recording = gpu_record(r->c->g, r->how->pattern == PATTERN_REPLAY));
}

static void begin_pass(run *r, int edges)
{
    TIMED(r, CALL_BEGIN_PASS, gpu_pass_begin(r->recording, r->timer, r->timer ? edges : 0));
}

static void end_pass(run *r)
{
    TIMED(r, CALL_END_PASS, gpu_pass_end(r->recording));
}

static void submit_recording(run *r)
{
    gpu_commands *commands;
    TIMED(r, CALL_FINISH, commands = gpu_finish(r->recording));
    TIMED(r, CALL_SUBMIT, gpu_submit(r->c->g, commands));
}

static bool wait_done(run *r)
{
    bool ok;
    TIMED(r, CALL_WAIT, ok = gpu_wait(r->c->g, r->e));
    return ok;
}

static gpu_bindings *bindings_for(run *r, uint32_t step)
{
    chain *c = r->c;
    if (r->how->pattern != PATTERN_BIND_GROUP)
        return c->step[step % 2];
    gpu_part parts[CHAIN_BINDINGS];
    chain_parts(c, step % 2, parts);
    return r->fresh[step] = gpu_bindings_new(c->g, c->each, parts, CHAIN_BINDINGS);
}

/* One step as a dispatch of its own, inside a pass. */
static void dispatch_step(run *r, uint32_t step)
{
    chain *c = r->c;
    if (r->how->pattern == PATTERN_PARAM_WRITE) {
        chain_params p = chain_params_for(c, step % 2, 1);
        gpu_write(c->g, c->params, chain_slot_offset(c, step % 2), &p, sizeof p);
    }
    gpu_bindings *bindings = bindings_for(r, step);
    TIMED(r, CALL_SET_PIPELINE, gpu_set_kernel(r->recording, c->each));
    TIMED(r, CALL_SET_BIND_GROUP, gpu_set_bindings(r->recording, bindings));
    if (r->how->pattern == PATTERN_INDIRECT)
        gpu_dispatch_indirect(r->recording, c->indirect, 0);
    else
        TIMED(r, CALL_DISPATCH, gpu_dispatch(r->recording, c->kind->workgroups, 1, 1));
}

static int edges_of(uint32_t step, uint32_t steps)
{
    return (step == 0 ? GPU_TIME_BEGIN : 0) | (step + 1 == steps ? GPU_TIME_END : 0);
}

static bool run_submits_each(run *r)
{
    for (uint32_t i = 0; i < r->steps; i++) {
        begin_recording(r);
        begin_pass(r, edges_of(i, r->steps));
        dispatch_step(r, i);
        end_pass(r);
        submit_recording(r);
        if (r->how->submit == SUBMIT_SYNC && !wait_done(r))
            return false;
    }
    return r->how->submit == SUBMIT_SYNC || wait_done(r);
}

static bool run_pass_each(run *r)
{
    begin_recording(r);
    for (uint32_t i = 0; i < r->steps; i++) {
        begin_pass(r, edges_of(i, r->steps));
        dispatch_step(r, i);
        end_pass(r);
    }
    submit_recording(r);
    return wait_done(r);
}

static bool run_batch(run *r)
{
    uint32_t pieces = r->how->submits > 1 ? r->how->submits : 1, done = 0;
    for (uint32_t p = 0; p < pieces; p++) {
        uint32_t end = (uint32_t)((uint64_t)r->steps * (p + 1) / pieces);
        begin_recording(r);
        begin_pass(r, edges_of(p, pieces));
        for (; done < end; done++)
            dispatch_step(r, done);
        end_pass(r);
        submit_recording(r);
    }
    return wait_done(r);
}

static bool run_one(run *r)
{
    chain *c = r->c;
    begin_recording(r);
    begin_pass(r, GPU_TIME_BEGIN | GPU_TIME_END);
    TIMED(r, CALL_SET_PIPELINE, gpu_set_kernel(r->recording, c->one));
    TIMED(r, CALL_SET_BIND_GROUP, gpu_set_bindings(r->recording, c->persistent));
    TIMED(r, CALL_DISPATCH, gpu_dispatch(r->recording, c->one_workgroups, 1, 1));
    end_pass(r);
    submit_recording(r);
    return wait_done(r);
}

/* Recorded before the clock starts; only the submit is in the time. */
static bool run_replay(run *r)
{
    begin_recording(r);
    begin_pass(r, 0);
    for (uint32_t i = 0; i < r->steps; i++)
        dispatch_step(r, i);
    end_pass(r);
    gpu_commands *commands = gpu_finish(r->recording);
    double start = clock_us();
    gpu_submit(r->c->g, commands);
    bool ok = gpu_wait(r->c->g, r->e);
    r->t->total_us = clock_us() - start;
    gpu_commands_free(commands);
    return ok;
}

static bool run_timed(run *r)
{
    if (r->how->pattern == PATTERN_REPLAY)
        return run_replay(r);
    double start = clock_us();
    bool ok = false;
    switch (r->how->submit) {
    case SUBMIT_ONE: ok = run_one(r); break;
    case SUBMIT_PASS: ok = run_pass_each(r); break;
    case SUBMIT_SYNC:
    case SUBMIT_EACH: ok = run_submits_each(r); break;
    default: ok = run_batch(r);
    }
    r->t->total_us = clock_us() - start;
    return ok;
}

/* Browsers round timestamps, so that pages learn less from them. */
static double timestamp_step_us(const gpu *g)
{
    return strcmp(gpu_get_info(g)->family, "web") == 0 ? 100 : 0;
}

static bool read_device_time(run *r)
{
    double ns = 0, step_us = timestamp_step_us(r->c->g);
    if (!r->timer)
        return true;
    if (!gpu_timer_read_now(r->timer, &ns, r->e))
        return false;
    r->t->device_us = ns / 1e3;
    if (!(ns > 0) && step_us == 0)
        return err_set(r->e, "%s: its timestamps do not move", gpu_get_info(r->c->g)->impl);
    /* A wait that comes back early would make everything look fast. The work is
     * inside the time taken, so the device cannot have needed longer; a percent
     * is for two clocks that do not run alike. */
    if (r->t->device_us > r->t->total_us * 1.01 + step_us)
        return err_set(r->e, "%s: the wait ended after %.1f us, but the device worked for %.1f",
                       gpu_get_info(r->c->g)->impl, r->t->total_us, r->t->device_us);
    r->t->wait_checked = true;
    return true;
}

static bool check_output(run *r)
{
    bool timed_out = false;
    persistent p = chain_persistent(r->c);
    if (gpu_get_info(r->c->g)->type == GPU_TYPE_NONE) /* the stub computes nothing */
        return true;
    if (r->how->submit == SUBMIT_ONE && !persistent_timed_out(&p, &timed_out, r->e))
        return false;
    r->t->timed_out = timed_out;
    if (timed_out)
        return err_set(r->e, "%s: kernel %s: the grid barrier timed out with %u workgroups",
                       gpu_get_info(r->c->g)->impl, r->c->kind->name, r->c->one_workgroups);
    return r->t->output_checked = chain_check(r->c, r->steps, r->e);
}

bool launch_run(chain *c, const launch *how, uint32_t steps, launch_time *t, err *e)
{
    *t = (launch_time){0};
    clock_cost_ns(); /* measured now if it was not yet, and not inside the run */
    run r = {.c = c, .how = how, .steps = steps, .t = t, .e = e};
    if (!chain_reset(c, steps, e))
        return false;
    if (how->time_device)
        r.timer = gpu_timer_new(c->g);
    if (how->pattern == PATTERN_BIND_GROUP)
        r.fresh = mem_alloc(steps * sizeof *r.fresh);
    gpu_wait_mode default_mode = gpu_get_wait_mode(c->g);
    if (how->other_wait)
        gpu_set_wait_mode(c->g, launch_wait_mode(c->g, how));
    gpu_counters before = gpu_get_counters(c->g);
    bool ok = run_timed(&r);
    gpu_set_wait_mode(c->g, default_mode);
    t->counted = gpu_counters_since(c->g, before);
    ok = ok && read_device_time(&r) && check_output(&r);
    for (uint32_t i = 0; r.fresh && i < steps; i++)
        gpu_bindings_free(r.fresh[i]);
    free(r.fresh);
    gpu_timer_free(r.timer);
    if (!ok) {
        *t = (launch_time){.timed_out = t->timed_out}; /* what failed took no time */
        err_context(e, "%s, %s, %u dispatches", c->kind->name, submit_names[how->submit], steps);
    }
    return ok;
}
