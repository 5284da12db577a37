/* Autotuning: candidates of a megakernel timed against each other. */
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
    WARM_US = 100000, /* a GPU that was idle while kernels compiled has a low clock at first */
    WARM_PASSES = 3,  /* at least, before the number of rounds per trial is known */
    SLICE_US =
        30000, /* duration of a trial, about: long compared with the wait for it, which is milliseconds in a browser */
    MOST_ROUNDS = 64,
    MUCH_BYTES = 1 << 20, /* for one workgroup to read in a round */
    LEAST_THREADS = 256,
};

typedef struct candidate {
    launch_form form;
    megakernel *made; /* NULL: not possible, or timed out */
    double us;        /* of a round, the shortest valid one; 0: not known yet */
} candidate;

typedef struct search {
    megakernel_source from;
    candidate candidates[MOST_FORMS]; /* the first has the default form */
    uint32_t count;
} search;

static megakernel *make(const search *s, const launch_form *f)
{
    err unused = {0};
    megakernel *o = megakernel_new(&s->from, f, &unused);
    if (!o)
        gpu_take_error(s->from.g, &unused); /* a candidate that is not possible is not the best */
    return o;
}

static void add_candidate(search *s, const launch_form *f, megakernel *made)
{
    if (made)
        s->candidates[s->count++] = (candidate){.form = *f, .made = made};
}

/* Time of a round, in a dispatch after a short one of the same kind; negative if one failed or timed out. */
static double time_of(const search *s, megakernel *o, uint32_t rounds)
{
    err unused = {0};
    bool timed_out = false;
    double us = 0;
    megakernel_forget(o); /* another candidate used the memory before */
    megakernel_set_rounds(o, 1);
    for (int i = 0; i < 2; i++) {
        double began = clock_us();
        megakernel_dispatch(o);
        bool done = gpu_wait(s->from.g, &unused);
        us = clock_us() - began;
        if (!done || !megakernel_timed_out(o, &timed_out, &unused) || timed_out) {
            gpu_take_error(s->from.g, &unused);
            return -1;
        }
        megakernel_set_rounds(o, i == 0 ? rounds : 1);
    }
    return us / rounds;
}

/* Times all forms in turn, every other time in reverse order, so that a rising clock favours none. Keeps the shortest
 * time of each. */
static double time_pass(search *s, bool backwards, uint32_t rounds, bool counts)
{
    double shortest = SLICE_US;
    for (uint32_t i = 0; i < s->count; i++) {
        candidate *f = &s->candidates[backwards ? s->count - 1 - i : i];
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

/* Returns the default form unless another is clearly faster; frees all others. */
static candidate take_best(search *s)
{
    const double CLEARLY = 0.97;
    candidate best = {0};
    for (candidate *f = s->candidates; f < s->candidates + s->count; f++) {
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

/* The candidates: the default form; half as many workgroups, unless each already reads so much that fewer would only
 * wait longer for memory (some drivers compile a form for five seconds); half as many threads. (Twice as many would
 * have too few registers each.) */
static uint32_t list_forms(const search *s, const launch_form *default_form, uint32_t resident,
                           launch_form forms[MOST_FORMS])
{
    uint32_t count = 0, groups = resident < s->from.profile->busy_groups ? resident : s->from.profile->busy_groups;
    forms[count++] = *default_form;
    if (groups / 2 > 1 && memory_bytes(s->from.m) / groups < MUCH_BYTES) {
        forms[count] = *default_form;
        forms[count++].groups = groups / 2;
    }
    if (default_form->row_threads / 2 >= LEAST_THREADS) {
        forms[count] = *default_form;
        forms[count++].row_threads /= 2;
    }
    return count;
}

/* The number of workgroups or threads was set by hand, or there is only one form. */
static bool is_fixed(const search *s)
{
    return !s->from.profile->specialize || getenv("SOLO_ONE_THREADS") || getenv("SOLO_ONE_GROUPS");
}

static bool in_page(const search *s)
{
    return strcmp(gpu_get_info(s->from.g)->family, "web") == 0;
}

/* In a page, all forms compile at the same time, in the background. */
static void compile_forms(const search *s, const launch_form *forms, uint32_t count)
{
    for (uint32_t i = 0; in_page(s) && i < count; i++)
        megakernel_look_ahead(&s->from, &forms[i], true);
}

/* Compiles the forms that follow from the likely number of resident workgroups. */
static void compile_likely_forms(const search *s, const launch_form *default_form)
{
    launch_form forms[MOST_FORMS];
    uint32_t count = list_forms(s, default_form, s->from.profile->busy_groups, forms);
    compile_forms(s, forms, is_fixed(s) ? 1 : count);
}

static megakernel *find_best(search *s, launch_form *form, err *e)
{
    launch_form forms[MOST_FORMS];
    compile_likely_forms(s, form);
    megakernel *o = megakernel_new(&s->from, form, e);
    if (!o || megakernel_form(o)->groups == 1)
        return o;
    uint32_t count = list_forms(s, form, megakernel_form(o)->groups, forms);
    if (megakernel_form(o)->groups < s->from.profile->busy_groups) /* then the forms differ from the likely ones */
        compile_forms(s, forms + 1, count - 1);
    for (uint32_t i = 0; i < count; i++)
        add_candidate(s, &forms[i], i == 0 ? o : make(s, &forms[i]));
    if (s->count > 1)
        time_forms(s);
    memory_clear_states(s->from.m);
    candidate best = take_best(s);
    if (best.made)
        *form = best.form;
    else
        err_set(e, "one dispatch timed out in every form that was tried");
    return best.made;
}

static bool recall(const char *key, launch_form *f)
{
    char *kept = cache_get(key);
    unsigned threads, groups;
    bool ok = kept && sscanf(kept, "%u threads, %u workgroups", &threads, &groups) == 2 && threads >= 64 &&
              threads <= 1024 && (threads & (threads - 1)) == 0;
    if (ok) {
        f->row_threads = threads;
        f->groups = groups;
    }
    free(kept);
    return ok;
}

static str key_of(const search *s, const launch_form *default_form)
{
    str key = {0};
    str_addf(&key, "tuning of one dispatch, kernel %016llx\n",
             (unsigned long long)megakernel_look_ahead(&s->from, default_form, false));
    gpu_add_identity(gpu_get_info(s->from.g), &key);
    return key;
}

bool megakernel_compile_ahead(const megakernel_source *from, const launch_form *form)
{
    search s = {.from = *from};
    if (!in_page(&s))
        return false;
    launch_form unused = *form;
    str key = key_of(&s, form);
    bool known = !is_fixed(&s) && recall(key.data, &unused);
    str_free(&key);
    if (!known)
        compile_likely_forms(&s, form);
    return !known;
}

megakernel *megakernel_autotuned(const megakernel_source *from, launch_form *form, err *e)
{
    const char *wished = getenv("SOLO_ONE_THREADS");
    search s = {.from = *from};
    if (wished && from->profile->specialize && (strcmp(wished, "256") == 0 || strcmp(wished, "512") == 0))
        form->row_threads = (uint32_t)atoi(wished);
    if (is_fixed(&s))
        return megakernel_new(from, form, e);
    str key = key_of(&s, form);
    launch_form kept = *form;
    megakernel *o = recall(key.data, &kept) ? make(&s, &kept) : NULL;
    if (o)
        *form = kept;
    else if ((o = find_best(&s, form, e)) && megakernel_form(o)->groups > 1) {
        char text[64];
        snprintf(text, sizeof text, "%u threads, %u workgroups", form->row_threads, megakernel_form(o)->groups);
        cache_put(key.data, text);
    }
    str_free(&key);
    return o;
}
