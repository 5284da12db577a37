#include "graph/autotune.h"
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
    device_profile tuning;
    one *made; /* NULL: cannot be had, or gave up */
    double us; /* of a round, the shortest that counts; 0: not known yet */
} form;

typedef struct search {
    gpu *g;
    const memory *m;
    uint32_t which_plan;
    megakernel_lower tell;
    void *user;
    form forms[MOST_FORMS]; /* the first is the usual one */
    uint32_t count;
} search;

static one *make(const search *s, const device_profile *t)
{
    err unused = {0};
    one *o = megakernel_new(s->g, s->m, s->which_plan, t, s->tell, s->user, &unused);
    if (!o)
        gpu_take_error(s->g, &unused); /* what cannot be had is not the best */
    return o;
}

static void add_form(search *s, const device_profile *t, one *made)
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
    megakernel_forget(o); /* another was here before */
    megakernel_set_rounds(o, 1);
    for (int i = 0; i < 2; i++) {
        double began = clock_us();
        megakernel_dispatch(o);
        bool done = gpu_wait(s->g, &unused);
        us = clock_us() - began;
        if (!done || !megakernel_timed_out(o, &gave_up, &unused) || gave_up) {
            gpu_take_error(s->g, &unused);
            return -1;
        }
        megakernel_set_rounds(o, i == 0 ? rounds : 1);
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
            megakernel_free(f->made);
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
            megakernel_free(best.made);
            best = *f;
        } else
            megakernel_free(f->made);
    }
    return best;
}

/* The usual form; half as many workgroups, unless each of them has so much to read already that fewer would only wait longer for it (a form
 * takes some drivers five seconds to compile); half as many threads. (Twice as many have too few registers each.) */
static uint32_t list_forms(const search *s, const device_profile *usual, uint32_t resident,
                           device_profile forms[MOST_FORMS])
{
    uint32_t count = 0, groups = resident < usual->busy_groups ? resident : usual->busy_groups;
    forms[count++] = *usual;
    if (groups / 2 > 1 && memory_bytes(s->m) / groups < MUCH_BYTES) {
        forms[count] = *usual;
        forms[count++].one_groups = groups / 2;
    }
    if (usual->row_threads / 2 >= LEAST_THREADS) {
        forms[count] = *usual;
        forms[count++].row_threads /= 2;
    }
    return count;
}

/* Someone said how many there shall be, or there is only one form. */
static bool is_fixed(const device_profile *t)
{
    return !t->specialize || getenv("SOLO_ONE_THREADS") || getenv("SOLO_ONE_GROUPS");
}

static bool in_page(const search *s)
{
    return strcmp(gpu_get_info(s->g)->family, "web") == 0;
}

/* In a page, all at the same time, in the background. */
static void begin_forms(const search *s, const device_profile *forms, uint32_t count)
{
    for (uint32_t i = 0; in_page(s) && i < count; i++)
        megakernel_look_ahead(s->g, s->m, s->which_plan, &forms[i], s->tell, s->user, true);
}

/* Those that it will be if so many workgroups are resident as seems likely. */
static void begin_likely_forms(const search *s, const device_profile *usual)
{
    device_profile forms[MOST_FORMS];
    uint32_t count = list_forms(s, usual, usual->busy_groups, forms);
    begin_forms(s, forms, is_fixed(usual) ? 1 : count);
}

static one *find_best(search *s, device_profile *tuning, err *e)
{
    device_profile forms[MOST_FORMS];
    begin_likely_forms(s, tuning);
    one *o = megakernel_new(s->g, s->m, s->which_plan, tuning, s->tell, s->user, e);
    if (!o || one_groups(o) == 1)
        return o;
    uint32_t count = list_forms(s, tuning, one_groups(o), forms);
    if (one_groups(o) < tuning->busy_groups) /* then they are others than those that were likely */
        begin_forms(s, forms + 1, count - 1);
    for (uint32_t i = 0; i < count; i++)
        add_form(s, &forms[i], i == 0 ? o : make(s, &forms[i]));
    if (s->count > 1)
        time_forms(s);
    memory_clear_states(s->m);
    form best = take_best(s);
    if (best.made)
        *tuning = best.tuning;
    else
        err_set(e, "one dispatch gave up in every form that was tried");
    return best.made;
}

static bool recall(const char *key, device_profile *t)
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

static str key_of(const search *s, const device_profile *usual)
{
    str key = {0};
    str_addf(&key, "tuning of one dispatch, kernel %016llx\n",
             (unsigned long long)megakernel_look_ahead(s->g, s->m, s->which_plan, usual, s->tell, s->user, false));
    gpu_add_identity(gpu_get_info(s->g), &key);
    return key;
}

bool megakernel_compile_ahead(gpu *g, const memory *m, uint32_t which_plan, const device_profile *tuning,
                              megakernel_lower tell, void *user)
{
    search s = {.g = g, .m = m, .which_plan = which_plan, .tell = tell, .user = user};
    if (!in_page(&s))
        return false;
    device_profile unused = *tuning;
    str key = key_of(&s, tuning);
    bool known = !is_fixed(tuning) && recall(key.data, &unused);
    str_free(&key);
    if (!known)
        begin_likely_forms(&s, tuning);
    return !known;
}

one *megakernel_autotuned(gpu *g, const memory *m, uint32_t which_plan, device_profile *tuning, megakernel_lower tell,
                          void *user, err *e)
{
    const char *wished = getenv("SOLO_ONE_THREADS");
    if (wished && tuning->specialize && (strcmp(wished, "256") == 0 || strcmp(wished, "512") == 0))
        tuning->row_threads = (uint32_t)atoi(wished);
    if (is_fixed(tuning))
        return megakernel_new(g, m, which_plan, tuning, tell, user, e);
    search s = {.g = g, .m = m, .which_plan = which_plan, .tell = tell, .user = user};
    str key = key_of(&s, tuning);
    device_profile kept = *tuning;
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
