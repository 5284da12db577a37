/* Autotuning: candidates of a megakernel timed against each other. */
#include "graph/autotune.h"
#include "graph/autotune_test.h"
#include "base/cache.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/scan.h"
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

struct autotune {
    megakernel_source from;
    bool in_background, waits; /* row_threads do not change; calls wait for the compiler */
    launch_form default_form;
    str key;
    bool is_remembered; /* the form being made is the cache's */
    /* Made one after the other; the first has the default form. */
    launch_form forms[MOST_FORMS];
    uint32_t form_count, next_form;
    megakernel *making; /* in the background */
    candidate candidates[MOST_FORMS];
    uint32_t count;
    /* Timing: passes over all candidates. */
    bool is_timing, has_timed, is_over;
    uint32_t pass, counted, rounds, at; /* of a pass: the candidate */
    double began_us, shortest_us;
    progress bar;
    candidate best;
    err why_not;
};

bool autotune_times_twice;

/* ---- timing ----------------------------------------------------------------------- */

/* Time of a round, in a dispatch after a short one of the same kind; negative if one failed or timed out. */
static double time_of(const autotune *a, megakernel *o, uint32_t rounds)
{
    err unused = {0};
    bool timed_out = false;
    double us = 0;
    megakernel_forget(o); /* another candidate used the memory before */
    megakernel_set_rounds(o, 1);
    for (int i = 0; i < 2; i++) {
        double began = clock_us();
        megakernel_dispatch(o);
        bool done = gpu_wait(a->from.g, &unused);
        us = clock_us() - began;
        if (!done || !megakernel_timed_out(o, &timed_out, &unused) || timed_out) {
            gpu_take_error(a->from.g, &unused);
            return -1;
        }
        megakernel_set_rounds(o, i == 0 ? rounds : 1);
    }
    return us / rounds;
}

static void begin_timing(autotune *a)
{
    a->is_timing = a->has_timed = true;
    a->rounds = 1;
    a->began_us = clock_us();
    a->shortest_us = SLICE_US;
    if (!a->in_background)
        a->bar = progress_start("trying forms of one dispatch, once for this device", PASSES);
}

/* A pass is over: the first ones find how many rounds a trial has. */
static void end_pass(autotune *a, bool warm)
{
    if (warm)
        progress_at(&a->bar, ++a->counted);
    else
        a->rounds = a->shortest_us * MOST_ROUNDS < SLICE_US ? MOST_ROUNDS : (uint32_t)(SLICE_US / a->shortest_us);
    a->pass++;
    a->at = 0;
    a->shortest_us = SLICE_US;
    a->is_timing = a->counted < PASSES;
}

/* Times the next form. All are timed in turn, every other time in reverse order, so that a rising clock favours none; the
 * shortest time of each is kept. */
static void time_next(autotune *a, uint32_t most_rounds)
{
    bool warm = a->pass >= WARM_PASSES && clock_us() - a->began_us >= WARM_US;
    candidate *f = &a->candidates[a->pass % 2 ? a->count - 1 - a->at : a->at];
    uint32_t rounds = a->rounds < most_rounds ? a->rounds : most_rounds - 1; /* one more is not timed */
    double us = f->made ? time_of(a, f->made, rounds) : -1;
    if (us < 0) {
        megakernel_free(f->made);
        f->made = NULL;
    } else {
        if (warm && (f->us <= 0 || us < f->us))
            f->us = us;
        if (us < a->shortest_us)
            a->shortest_us = us;
    }
    if (++a->at == a->count)
        end_pass(a, warm);
}

/* Returns the default form unless another is clearly faster; frees all others. */
static candidate take_best(autotune *a)
{
    const double CLEARLY = 0.97;
    candidate best = {0};
    for (candidate *f = a->candidates; f < a->candidates + a->count; f++) {
        if (!f->made)
            continue;
        if (!best.made || f->us < CLEARLY * best.us) {
            megakernel_free(best.made);
            best = *f;
        } else
            megakernel_free(f->made);
    }
    a->count = 0;
    return best;
}

/* ---- candidates --------------------------------------------------------------------- */

/* The candidates: the default form; half as many workgroups, unless each already reads so much that fewer would only
 * wait longer for memory (some drivers compile a form for five seconds); half as many threads, unless other kernels
 * have the default number already. (Twice as many would have too few registers each.) */
static uint32_t list_forms(const autotune *a, uint32_t resident, launch_form forms[MOST_FORMS])
{
    const device_profile *profile = a->from.profile;
    uint32_t count = 0, groups = resident < profile->busy_groups ? resident : profile->busy_groups;
    forms[count++] = a->default_form;
    if (autotune_times_twice)
        forms[count++] = a->default_form;
    else if (groups / 2 > 1 && memory_bytes(a->from.m) / groups < MUCH_BYTES) {
        forms[count] = a->default_form;
        forms[count++].groups = groups / 2;
    }
    if (!a->in_background && a->default_form.row_threads / 2 >= LEAST_THREADS && !autotune_times_twice) {
        forms[count] = a->default_form;
        forms[count++].row_threads /= 2;
    }
    return count;
}

/* The number of workgroups or threads was set by hand, or there is only one form. */
static bool is_fixed(const autotune *a)
{
    return !a->from.profile->specialize || getenv("SOLO_ONE_THREADS") || getenv("SOLO_ONE_GROUPS");
}

/* All forms compile at the same time, where the device compiles in the background. */
static void compile_forms(const autotune *a, const launch_form *forms, uint32_t count)
{
    for (uint32_t i = 0; gpu_get_info(a->from.g)->can_compile_ahead && i < count; i++)
        megakernel_look_ahead(&a->from, &forms[i], true);
}

/* ---- the cache ------------------------------------------------------------------------ */

/* Behind what was found in the background: forms with other threads were not tried. */
static const char THESE_THREADS[] = ", of these threads";

static bool recall(const autotune *a, launch_form *f)
{
    char *kept = cache_get(a->key.data);
    uint32_t found[2] = {0};
    bool read = kept && scan_numbers(kept, "# threads, # workgroups", found);
    uint32_t threads = found[0], groups = found[1];
    bool ok = read && threads >= 64 && threads <= 1024 && (threads & (threads - 1)) == 0 &&
              (a->in_background || !strstr(kept, THESE_THREADS));
    if (ok) {
        f->row_threads = threads;
        f->groups = groups;
    }
    free(kept);
    return ok;
}

static void remember(const autotune *a)
{
    char text[80];
    snprintf(text, sizeof text, "%u threads, %u workgroups%s", a->best.form.row_threads,
             megakernel_form(a->best.made)->groups, a->in_background ? THESE_THREADS : "");
    cache_put(a->key.data, text);
}

static str key_of(const autotune *a)
{
    str key = {0};
    launch_form usual = a->default_form; /* whatever threads the cache has given it */
    usual.row_threads = a->from.profile->row_threads;
    str_addf(&key, "tuning of one dispatch, kernel %016llx\n",
             (unsigned long long)megakernel_look_ahead(&a->from, &usual, false));
    gpu_add_identity(gpu_get_info(a->from.g), &key);
    return key;
}

void autotune_recall_threads(const megakernel_source *from, launch_form *form)
{
    autotune a = {.from = *from, .in_background = true, .default_form = *form, .forms = {*form}};
    if (is_fixed(&a))
        return;
    a.key = key_of(&a);
    if (recall(&a, &a.forms[0]))
        form->row_threads = a.forms[0].row_threads;
    str_free(&a.key);
}

/* ---- from the first candidate to the best ------------------------------------------------- */

autotune *autotune_new(const megakernel_source *from, launch_form *form, bool in_background)
{
    const char *wished = getenv("SOLO_ONE_THREADS");
    autotune *a = mem_alloc(sizeof *a);
    if (wished && from->profile->specialize && (strcmp(wished, "256") == 0 || strcmp(wished, "512") == 0))
        form->row_threads = (uint32_t)atoi(wished);
    *a = (autotune){
        .from = *from, .in_background = in_background, .waits = !in_background, .default_form = *form, .form_count = 1};
    a->forms[0] = *form;
    if (!is_fixed(a)) {
        a->key = key_of(a);
        a->is_remembered = recall(a, &a->forms[0]);
    }
    if (a->is_remembered)
        form->row_threads = a->forms[0].row_threads;
    if (in_background)
        a->default_form.row_threads = form->row_threads;
    launch_form likely[MOST_FORMS] = {a->forms[0]};
    compile_forms(a, likely, a->is_remembered || is_fixed(a) ? 1 : list_forms(a, from->profile->busy_groups, likely));
    if (in_background)
        a->making = megakernel_begin(from, &a->forms[0]);
    return a;
}

void autotune_free(autotune *a)
{
    if (!a)
        return;
    for (uint32_t i = 0; i < a->count; i++)
        megakernel_free(a->candidates[i].made);
    megakernel_free(a->making);
    megakernel_free(a->best.made);
    str_free(&a->key);
    free(a);
}

static void end(autotune *a)
{
    a->best = take_best(a);
    a->is_over = true;
    progress_end(&a->bar);
    if (!a->best.made && a->why_not.kind == ERR_NONE)
        err_set(&a->why_not, "one dispatch timed out in every form that was tried");
    if (a->best.made && a->key.data && !a->is_remembered && megakernel_form(a->best.made)->groups > 1)
        remember(a);
}

/* The first one is there: how many of its workgroups are resident decides what the others are. */
static void list_others(autotune *a, const megakernel *first)
{
    uint32_t groups = megakernel_form(first)->groups;
    if (a->is_remembered || ((is_fixed(a) || groups == 1) && !autotune_times_twice))
        return;
    a->form_count = list_forms(a, groups, a->forms);
    if (groups < a->from.profile->busy_groups) /* then the forms differ from the likely ones */
        compile_forms(a, a->forms + 1, a->form_count - 1);
}

/* The form at hand is made, or is not possible. */
static void take_in(autotune *a, megakernel *made, const err *why)
{
    if (made) {
        a->candidates[a->count++] = (candidate){.form = a->forms[a->next_form], .made = made};
        if (a->next_form == 0)
            list_others(a, made);
    } else {
        gpu_take_error(a->from.g, NULL); /* a candidate that is not possible is not the best */
        if (a->is_remembered) {          /* as if there were none in the cache */
            a->is_remembered = false;
            a->forms[0] = a->default_form;
            return;
        }
        if (a->next_form == 0)
            a->why_not = *why;
    }
    a->next_form++;
}

/* False: it still compiles. */
static bool make_next(autotune *a)
{
    err why = {0};
    const launch_form *form = &a->forms[a->next_form];
    megakernel *made = NULL;
    if (a->waits && !a->making)
        made = megakernel_new(&a->from, form, &why);
    else {
        if (!a->making)
            a->making = megakernel_begin(&a->from, form);
        megakernel_state state = megakernel_go_on(a->making, &why);
        if (state == MEGAKERNEL_COMPILING)
            return false;
        if (state == MEGAKERNEL_READY)
            made = a->making;
        else
            megakernel_free(a->making);
        a->making = NULL;
    }
    take_in(a, made, &why);
    return true;
}

autotune_state autotune_go_on(autotune *a, uint32_t rounds)
{
    if (a->is_over)
        return AUTOTUNE_OVER;
    if (a->is_timing) {
        if (rounds < AUTOTUNE_LEAST_ROUNDS)
            return AUTOTUNE_TIMING;
        time_next(a, rounds);
        if (a->is_timing)
            return AUTOTUNE_TIMING;
        end(a);
        return AUTOTUNE_OVER;
    }
    if (!make_next(a) || a->next_form < a->form_count)
        return AUTOTUNE_COMPILING;
    if (a->count > 1) {
        begin_timing(a);
        return AUTOTUNE_TIMING;
    }
    end(a);
    return AUTOTUNE_OVER;
}

void autotune_wait(autotune *a)
{
    a->waits = true;
    if (a->making)
        megakernel_wait(a->making);
}

bool autotune_has_timed(const autotune *a)
{
    return a->has_timed;
}

megakernel *autotune_take(autotune *a, launch_form *form, err *e)
{
    megakernel *o = a->best.made;
    a->best.made = NULL;
    if (o)
        *form = a->best.form;
    else
        err_set_kind(e, a->why_not.kind, "%s", a->why_not.text);
    return o;
}
