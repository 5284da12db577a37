#include "graph/tune.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/str.h"
#include "gpu/identity.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 4, TRIES = 3 };

typedef struct search {
    gpu *g;
    const memory *m;
    uint32_t which_plan;
    one_teller tell;
    void *user;
    tell_tuning tuning; /* of the best so far */
    one *best;
    double best_us;
} search;

static one *make(const search *s, const tell_tuning *t)
{
    err unused = {0};
    one *o = one_new(s->g, s->m, s->which_plan, t, s->tell, s->user, &unused);
    if (!o)
        gpu_take_error(s->g, &unused); /* what cannot be had is not the best */
    return o;
}

/* The shortest time of a few dispatches; negative if one failed or gave up. */
static double time_of(const search *s, one *o)
{
    err unused = {0};
    double shortest = -1;
    bool gave_up = false;
    one_forget(o); /* another was here before */
    one_set_rounds(o, ROUNDS);
    for (int i = 0; i <= TRIES; i++) {
        double began = clock_us();
        one_dispatch(o);
        if (!gpu_wait(s->g, &unused) || !one_gave_up(o, &gave_up, &unused) || gave_up) {
            gpu_take_error(s->g, &unused);
            return -1;
        }
        double us = clock_us() - began;
        if (i == 1 || (i > 1 && us < shortest)) /* the first warms up */
            shortest = us;
    }
    one_set_rounds(o, 1);
    return shortest;
}

static void try(search *s, const tell_tuning *t, one *o)
{
    double us = o ? time_of(s, o) : -1;
    if (us < 0 || (s->best && us >= s->best_us)) {
        one_free(o);
        return;
    }
    one_free(s->best);
    s->best = o;
    s->best_us = us;
    s->tuning = *t;
}

/* Other numbers of threads, and of each half as many workgroups. */
static void try_all(search *s, const tell_tuning *first, one *o, uint32_t most_threads)
{
    static const uint32_t threads[] = {256, 1024};
    tell_tuning t = *first;
    uint32_t groups = one_groups(o);
    progress bar = progress_start("trying forms of one dispatch, once for this device", 4);
    try(s, first, o);
    progress_at(&bar, 1);
    t.one_groups = groups / 2;
    if (t.one_groups > 1)
        try(s, &t, make(s, &t));
    for (int i = 0; i < 2; i++) {
        progress_at(&bar, 2 + (size_t)i);
        t = *first;
        t.row_threads = threads[i];
        if (threads[i] <= most_threads && threads[i] != first->row_threads)
            try(s, &t, make(s, &t));
    }
    progress_end(&bar);
}

static bool recall(const char *key, tell_tuning *t)
{
    char *kept = cache_get(key);
    unsigned threads, groups;
    bool ok = kept && sscanf(kept, "%u threads, %u workgroups", &threads, &groups) == 2 && threads >= 64 &&
              threads <= 1024 && (threads & (threads - 1)) == 0;
    if (ok) {
        t->row_threads = threads;
        t->one_groups = groups;
    }
    free(kept);
    return ok;
}

one *one_tuned(gpu *g, const memory *m, uint32_t which_plan, tell_tuning *tuning, one_teller tell, void *user, err *e)
{
    one *o = one_new(g, m, which_plan, tuning, tell, user, e);
    if (!o || !tuning->by_shape || one_groups(o) == 1 || getenv("SOLO_ONE_GROUPS"))
        return o;
    str key = {0};
    str_addf(&key, "tuning of one dispatch, kernel %016llx\n", (unsigned long long)one_text_hash(o));
    gpu_add_identity(gpu_get_info(g), &key);
    search s = {.g = g, .m = m, .which_plan = which_plan, .tell = tell, .user = user, .tuning = *tuning};
    tell_tuning kept = *tuning;
    if (recall(key.data, &kept)) {
        if (kept.row_threads != tuning->row_threads || kept.one_groups != one_groups(o)) {
            one *other = make(&s, &kept);
            one_free(other ? o : NULL);
            o = other ? other : o;
            *tuning = other ? kept : *tuning;
        }
    } else {
        char text[64];
        try_all(&s, tuning, o, gpu_get_info(g)->max_workgroup_threads);
        memory_clear_states(m);
        o = s.best;
        *tuning = s.tuning;
        if (o) {
            snprintf(text, sizeof text, "%u threads, %u workgroups", tuning->row_threads, one_groups(o));
            cache_put(key.data, text);
        } else
            err_set(e, "one dispatch gave up in every form that was tried");
    }
    str_free(&key);
    return o;
}
