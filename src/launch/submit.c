/* Submitting dispatches: one loop for models and simulations. */
#include "launch/submit.h"
#include "base/clock.h"

enum {
    WIDEST_GRID = 32768, /* workgroups in x; more go to y */
    MAX_BATCH = 4096,    /* dispatches of one submit */
};

const char *const submit_names[SUBMIT_COUNT] = {"auto", "sync", "each", "pass", "batch", "one"};

void submit_record(gpu_recording *r, const submit_dispatch *d)
{
    uint32_t x = d->groups < WIDEST_GRID ? d->groups : WIDEST_GRID;
    gpu_set_kernel(r, d->kernel);
    gpu_set_bindings(r, d->bindings);
    gpu_dispatch(r, x, x ? (d->groups + x - 1) / x : 1, 1);
}

bool submit_all(const submit_work *w, submit_policy policy, err *e)
{
    bool own_submit = policy == SUBMIT_SYNC || policy == SUBMIT_EACH, own_pass = own_submit || policy == SUBMIT_PASS;
    const submit_dispatch *d = w->dispatches, *end = d + w->count;
    gpu_recording *r = NULL;
    for (uint32_t n = 0, again = 0; d < end; n++) {
        const submit_dispatch *now = d;
        if (again++ == d->more) {
            again = 0;
            d++;
        }
        bool first = n % MAX_BATCH == 0, last = d == end || (n + 1) % MAX_BATCH == 0;
        if (!r)
            r = gpu_record(w->g, false);
        if (own_pass || first)
            gpu_pass_begin(r, NULL, 0);
        submit_record(r, now);
        if (own_pass || last)
            gpu_pass_end(r);
        if (own_submit || last) {
            gpu_submit(w->g, gpu_finish(r));
            r = NULL;
        }
        if (policy == SUBMIT_SYNC && !(w->wait ? w->wait(w->user, e) : gpu_wait(w->g, e)))
            return false;
    }
    return true;
}

bool submit_is_stopped(const submit_stop *s)
{
    return s->is_asked && s->is_asked(s->user);
}

bool submit_in_pieces(const submit_work *w, submit_policy policy, const submit_stop *stop, uint32_t *piece)
{
    const uint64_t SHORT_NS = 30000000, LONG_NS = 100000000;
    err unused = {0};
    for (uint32_t at = 0; at < w->count;) {
        if (submit_is_stopped(stop))
            return false;
        submit_work part = *w;
        part.dispatches += at;
        part.count = *piece < w->count - at ? *piece : w->count - at;
        at += part.count;
        uint64_t began_ns = clock_ns();
        if (!submit_all(&part, policy, &unused) || !gpu_wait(w->g, &unused))
            return true;
        uint64_t took_ns = clock_ns() - began_ns;
        if (took_ns < SHORT_NS && part.count == *piece && *piece < MAX_BATCH)
            *piece *= 2;
        else if (took_ns > LONG_NS && *piece > 1)
            *piece /= 2;
    }
    return true;
}
