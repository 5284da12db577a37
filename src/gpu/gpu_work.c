/* gpu_work: recording, counting, submitting and timing work, and waiting for it. */
#include "gpu/backend.h"

gpu_recording *gpu_record(gpu *g, bool replayable)
{
    if (replayable && !g->info.can_replay)
        gpu_fail(g, "commands cannot be submitted twice here");
    gpu_recording *r = g->backend->record(g, replayable);
    r->owner = g;
    r->replayable = replayable;
    return r;
}

void gpu_pass_begin(gpu_recording *r, gpu_timer *timer, int edges)
{
    r->owner->counters.passes += r->owner->info.has_passes;
    r->owner->backend->pass_begin(r, timer, edges);
}

void gpu_set_kernel(gpu_recording *r, gpu_kernel *k)
{
    r->owner->backend->set_kernel(r, k);
}

void gpu_set_bindings(gpu_recording *r, gpu_bindings *b)
{
    r->owner->backend->set_bindings(r, b);
}

void gpu_dispatch(gpu_recording *r, uint32_t x, uint32_t y, uint32_t z)
{
    r->owner->counters.dispatches++;
    r->owner->backend->dispatch(r, x, y, z);
}

void gpu_dispatch_indirect(gpu_recording *r, gpu_buffer *b, uint64_t offset)
{
    r->owner->counters.dispatches++;
    r->owner->backend->dispatch_indirect(r, b, offset);
}

void gpu_pass_end(gpu_recording *r)
{
    r->owner->backend->pass_end(r);
}

void gpu_copy(gpu_recording *r, gpu_buffer *from, uint64_t from_offset, gpu_buffer *to, uint64_t to_offset,
              uint64_t bytes)
{
    if (from == to)
        gpu_fail(r->owner, "a copy from a buffer to itself");
    else if (gpu_in_buffer(r->owner, from, from_offset, bytes, "a copy") &&
             gpu_in_buffer(r->owner, to, to_offset, bytes, "a copy"))
        r->owner->backend->copy(r, from, from_offset, to, to_offset, bytes);
}

gpu_commands *gpu_finish(gpu_recording *r)
{
    gpu *g = r->owner;
    bool replayable = r->replayable;
    gpu_commands *c = g->backend->finish(r);
    c->owner = g;
    c->replayable = replayable;
    return c;
}

void gpu_submit(gpu *g, gpu_commands *c)
{
    g->counters.submits++;
    g->backend->submit(g, c);
}

void gpu_commands_free(gpu_commands *c)
{
    if (c)
        c->owner->backend->commands_free(c);
}

void gpu_launch(gpu *g, gpu_kernel *k, gpu_bindings *b, uint32_t groups)
{
    gpu_recording *r = gpu_record(g, false);
    gpu_pass_begin(r, NULL, 0);
    gpu_set_kernel(r, k);
    gpu_set_bindings(r, b);
    gpu_dispatch(r, groups, 1, 1);
    gpu_pass_end(r);
    gpu_submit(g, gpu_finish(r));
}

/* ---- waiting ------------------------------------------------------------- */

void gpu_when_done(gpu *g, gpu_done done, void *user)
{
    if (g->error.kind != ERR_NONE)
        done(user, false);
    else
        g->backend->when_done(g, done, user);
}

void gpu_poll(gpu *g)
{
    g->backend->poll(g);
}

bool gpu_wait(gpu *g, err *e)
{
    if (g->error.kind != ERR_NONE)
        return gpu_ok(g, e);
    g->backend->wait(g);
    return gpu_ok(g, e);
}

/* ---- device time --------------------------------------------------------- */

gpu_timer *gpu_timer_new(gpu *g)
{
    if (!g->info.has_timestamps)
        gpu_fail(g, "no timestamps on this device");
    gpu_timer *t = g->backend->timer_new(g);
    t->owner = g;
    return t;
}

void gpu_timer_free(gpu_timer *t)
{
    if (t)
        t->owner->backend->timer_free(t);
}

bool gpu_timer_read_now(gpu_timer *t, double *ns, err *e)
{
    if (!gpu_ok(t->owner, e))
        return false;
    return t->owner->backend->timer_read(t, ns, e) && gpu_ok(t->owner, e);
}
