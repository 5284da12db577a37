#include "graph/tune.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/str.h"
#include "gpu/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FORMS = 3,
    PASSES = 6,
    WARM_US = 100000, /* a GPU that was idle while kernels were compiled has a low clock at first */
    WARM_PASSES = 3,  /* at least, until it is known how many rounds a try has */
    SLICE_US = 30000, /* what a try takes, about: long beside the wait for it, which is milliseconds in a browser */
    MOST_ROUNDS = 64,
    MUCH_BYTES = 1 << 20, /* for one workgroup to read in a round */
    LEAST_THREADS = 256,
};

typedef struct form {
    tell_tuning tuning;
    one *made; /* NULL: cannot be had, or gave up */
    double us; /* of a round, the shortest that counts; 0: not known yet */
} form;

typedef struct search {
    gpu *g;
    const memory *m;
    uint32_t which_plan;
    one_teller tell;
    void *user;
    form forms[MOST_FORMS]; /* the first is the usual one */
    uint32_t count;
} search;

static one *make(const search *s, const tell_tuning *t)
{
    err unused = {0};
    one *o = one_new(s->g, s->m, s->which_plan, t, s->tell, s->user, &unused);
    if (!o)
        gpu_take_error(s->g, &unused); /* what cannot be had is not the best */
    return o;
}

static void add_form(search *s, const tell_tuning *t, one *made)
{
    if (made)
        s->forms[s->count++] = (form){.tuning = *t, .made = made};
}

/* Of a round, in a dispatch that follows on a short one of the same kind; negative if one failed or gave up. */
static double time_of(const search *s, one *o, uint32_t rounds)
{
    err unused = {0};
    bool gave_up = false;
    double us = 0;
    one_forget(o); /* another was here before */
    one_set_rounds(o, 1);
    for (int i = 0; i < 2; i++) {
        double began = clock_us();
        one_dispatch(o);
        bool done = gpu_wait(s->g, &unused);
        us = clock_us() - began;
        if (!done || !one_gave_up(o, &gave_up, &unused) || gave_up) {
            gpu_take_error(s->g, &unused);
            return -1;
        }
        one_set_rounds(o, i == 0 ? rounds : 1);
    }
    return us / rounds;
}

/* All forms by turns, every other time backwards: none shall be the one that always finds the GPU faster than those before
 * it. The shortest of them. */
static double time_pass(search *s, bool backwards, uint32_t rounds, bool counts)
{
    double shortest = SLICE_US;
    for (uint32_t i = 0; i < s->count; i++) {
        form *f = &s->forms[backwards ? s->count - 1 - i : i];
        double us = f->made ? time_of(s, f->made, rounds) : -1;
        if (us < 0) {
            one_free(f->made);
            f->made = NULL;
            continue;
        }
        if (counts && (f->us <= 0 || us < f->us))
            f->us = us;
        if (us < shortest)
            shortest = us;
    }
    return shortest;
}

static void time_forms(search *s)
{
    progress bar = progress_start("trying forms of one dispatch, once for this device", PASSES);
    double began = clock_us();
    uint32_t rounds = 1;
    for (uint32_t pass = 0, counted = 0; counted < PASSES; pass++) {
        bool warm = pass >= WARM_PASSES && clock_us() - began >= WARM_US;
        double us = time_pass(s, pass % 2, rounds, warm);
        if (warm)
            progress_at(&bar, ++counted);
        else
            rounds = us * MOST_ROUNDS < SLICE_US ? MOST_ROUNDS : (uint32_t)(SLICE_US / us);
    }
    progress_end(&bar);
}

/* The usual form, unless another is clearly shorter; all others are freed. */
static form take_best(search *s)
{
    const double CLEARLY = 0.97;
    form best = {0};
    for (form *f = s->forms; f < s->forms + s->count; f++) {
        if (!f->made)
            continue;
        if (!best.made || f->us < CLEARLY * best.us) {
            one_free(best.made);
            best = *f;
        } else
            one_free(f->made);
    }
    return best;
}

static tell_tuning with_half_the_threads(const tell_tuning *t)
{
    tell_tuning fewer = *t;
    fewer.row_threads /= 2;
    return fewer;
}

/* Half as many workgroups, unless each of them has so much to read already that fewer would only wait longer for it (a form takes
 * some drivers five seconds to compile), or half as many threads. (Twice as many have too few registers each.) */
static void add_forms(search *s, const tell_tuning *first, one *o, bool with_fewer_threads)
{
    tell_tuning fewer_groups = *first, fewer_threads = with_half_the_threads(first);
    fewer_groups.one_groups = one_groups(o) / 2;
    add_form(s, first, o);
    if (fewer_groups.one_groups > 1 && memory_bytes(s->m) / one_groups(o) < MUCH_BYTES)
        add_form(s, &fewer_groups, make(s, &fewer_groups));
    if (fewer_threads.row_threads >= LEAST_THREADS && with_fewer_threads)
        add_form(s, &fewer_threads, make(s, &fewer_threads));
}

/* In a page kernels are made in the background: that of a form which will be wanted, while the first is waited for. */
static bool begin_another(const search *s, const tell_tuning *first)
{
    tell_tuning other = with_half_the_threads(first);
    return other.row_threads >= LEAST_THREADS && strcmp(gpu_get_info(s->g)->family, "web") == 0 &&
           one_look_ahead(s->g, s->m, s->which_plan, &other, s->tell, s->user, true);
}

static one *find_best(search *s, tell_tuning *tuning, err *e)
{
    bool begun = begin_another(s, tuning), failed = false;
    one *o = one_new(s->g, s->m, s->which_plan, tuning, s->tell, s->user, e);
    if (!o && begun) { /* the other's fault, perhaps: not that one, then */
        gpu_take_error(s->g, NULL);
        if (e)
            err_clear(e);
        failed = true;
        o = one_new(s->g, s->m, s->which_plan, tuning, s->tell, s->user, e);
    }
    if (o && one_groups(o) > 1) {
        add_forms(s, tuning, o, !failed);
        if (s->count > 1)
            time_forms(s);
        memory_clear_states(s->m);
        form best = take_best(s);
        o = best.made;
        if (o)
            *tuning = best.tuning;
        else
            err_set(e, "one dispatch gave up in every form that was tried");
    }
    return o;
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
    const char *wished = getenv("SOLO_ONE_THREADS");
    if (wished && tuning->by_shape && (strcmp(wished, "256") == 0 || strcmp(wished, "512") == 0))
        tuning->row_threads = (uint32_t)atoi(wished);
    if (!tuning->by_shape || wished || getenv("SOLO_ONE_GROUPS"))
        return one_new(g, m, which_plan, tuning, tell, user, e);
    search s = {.g = g, .m = m, .which_plan = which_plan, .tell = tell, .user = user};
    str key = {0};
    str_addf(&key, "tuning of one dispatch, kernel %016llx\n",
             (unsigned long long)one_look_ahead(g, m, which_plan, tuning, tell, user, false));
    gpu_add_identity(gpu_get_info(g), &key);
    tell_tuning kept = *tuning;
    one *o = recall(key.data, &kept) ? make(&s, &kept) : NULL;
    if (o)
        *tuning = kept;
    else if ((o = find_best(&s, tuning, e)) && one_groups(o) > 1) {
        char text[64];
        snprintf(text, sizeof text, "%u threads, %u workgroups", tuning->row_threads, one_groups(o));
        cache_put(key.data, text);
    }
    str_free(&key);
    return o;
}
