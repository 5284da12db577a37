#include "lab/dispatch.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const chain_kind *const dispatch_kinds[DISPATCH_KINDS] = {&chain_empty, &chain_add, &chain_rmsnorm, &chain_gemv};

enum {
    QUICK_ROUNDS = 8,
    FULL_ROUNDS = 25,
    SUBMITS_BATCH = 256, /* dispatches in the batch that is split into submits */
};
static const double QUICK_BUDGET_US = 3500, FULL_BUDGET_US = 12000;

/* ---- devices ------------------------------------------------------------- */

static bool open_one(dispatch_lab *lab, const char *impl, bool must, err *e)
{
    err why = {0};
    lab_device *d = &lab->devices[lab->device_count];
    gpu_choice choice = {.impl = impl, .adapter = lab->options.adapter};
    if (lab->device_count == DISPATCH_MAX_DEVICES)
        return err_set_kind(e, ERR_USAGE, "at most %d implementations in one run", DISPATCH_MAX_DEVICES);
    if (lab_device_open(d, &choice, true, &why)) {
        lab->device_count++;
        return true;
    }
    /* One that is not here is left out, unless it was asked for by name. One
     * that is here and fails is an error either way. */
    if (must || why.kind != ERR_NO_GPU)
        return err_set_kind(e, why.kind, "%s", why.text);
    dispatch_missing *m = &lab->missing[lab->missing_count++];
    strncpy(m->impl, impl, sizeof m->impl - 1);
    m->why = why;
    return true;
}

static bool open_listed(dispatch_lab *lab, err *e)
{
    char *save;
    bool ok = true;
    lab->impl_words = mem_dup(lab->options.impl_list);
    for (char *name = strtok_r(lab->impl_words, ",", &save); ok && name; name = strtok_r(NULL, ",", &save))
        ok = open_one(lab, name, true, e);
    if (ok && lab->device_count == 0)
        return err_set_kind(e, ERR_USAGE, "--impl names no implementation");
    return ok;
}

static bool open_all(dispatch_lab *lab, err *e)
{
    bool real = false;
    for (int i = 0; gpu_impl_names[i]; i++)
        if (!open_one(lab, gpu_impl_names[i], false, e))
            return false;
    for (uint32_t i = 0; i < lab->device_count; i++)
        real = real || gpu_get_info(lab->devices[i].g)->type != GPU_TYPE_NONE;
    if (real)
        return true;
    str tried = {0};
    for (uint32_t i = 0; i < lab->missing_count; i++)
        str_addf(&tried, "%s%s", i ? "; " : "", lab->missing[i].why.text);
    err_set_kind(e, ERR_NO_GPU, "no usable GPU: %s", tried.data);
    str_free(&tried);
    return false;
}

/* Dawn again with validation off, robustness off, both off. */
static bool open_variants(dispatch_lab *lab, const lab_device *dawn, err *e)
{
    for (int i = 1; i <= DISPATCH_MAX_VARIANTS; i++) {
        gpu_choice choice = dawn->choice;
        choice.no_validation = i & 1;
        choice.no_robustness = i & 2;
        if (!lab_device_open(&lab->variants[lab->variant_count], &choice, false, e))
            return false;
        lab->variant_count++;
    }
    return true;
}

static const lab_device *find_dawn(const dispatch_lab *lab)
{
    for (uint32_t i = 0; i < lab->device_count; i++)
        if (strcmp(gpu_get_info(lab->devices[i].g)->family, "dawn") == 0)
            return &lab->devices[i];
    return NULL;
}

/* ---- chains -------------------------------------------------------------- */

/* How many workgroups of this very kernel are resident: start from what a small
 * kernel had and halve until its own barrier passes. */
static bool fit_workgroups(chain *c, err *e)
{
    uint32_t patient = c->spin_limit;
    c->spin_limit = patient >> 5;
    for (; c->one_workgroups > 1; c->one_workgroups /= 2) {
        err why = {0};
        launch_time t;
        if (launch_run(c, &(launch){.submit = SUBMIT_ONE}, 4, &t, &why))
            break;
        if (!gpu_ok(c->g, e))
            return false;
    }
    c->spin_limit = patient;
    return true;
}

static chain *add_chain(dispatch_lab *lab, const lab_device *d, const chain_kind *kind, uint32_t workgroups, err *e)
{
    chain *c = chain_new(d->g, kind, workgroups ? workgroups : 1);
    lab->chains = mem_grow(lab->chains, (lab->chain_count + 1) * sizeof *lab->chains);
    lab->chains[lab->chain_count++] = c;
    bool computes = gpu_get_info(d->g)->type != GPU_TYPE_NONE;
    if (!gpu_wait(d->g, e) || (computes && !fit_workgroups(c, e)))
        return NULL;
    return c;
}

/* ---- cells --------------------------------------------------------------- */

static cell *add_cell(dispatch_lab *lab, cell_name name, const lab_device *d, chain *c, launch how)
{
    if (!launch_possible(gpu_get_info(d->g), &how))
        return NULL;
    lab->cells = mem_grow(lab->cells, (lab->cell_count + 1) * sizeof *lab->cells);
    cell *k = &lab->cells[lab->cell_count++];
    *k = (cell){.name = name, .device = d, .c = c, .how = how};
    return k;
}

static void fix_length(cell *k, uint32_t n)
{
    if (k) {
        k->points = 1;
        k->n[0] = n;
    }
}

static void add_ladder(dispatch_lab *lab, const lab_device *d, chain *c)
{
    for (int s = 0; s < SUBMIT_COUNT; s++)
        add_cell(lab, CELL_DISPATCH, d, c, (launch){.submit = s});
    add_cell(lab, CELL_DEVICE, d, c, (launch){.submit = SUBMIT_BATCH, .time_device = true});
    add_cell(lab, CELL_DEVICE, d, c, (launch){.submit = SUBMIT_ONE, .time_device = true});
}

static void add_host_and_habits(dispatch_lab *lab, const lab_device *d, chain *c)
{
    static const submit_policy seen_in[] = {SUBMIT_SYNC, SUBMIT_EACH, SUBMIT_BATCH};
    for (int i = 0; i < 3; i++)
        add_cell(lab, CELL_HOST, d, c, (launch){.submit = seen_in[i], .time_calls = true});
    for (int other = 0; other < 2; other++)
        add_cell(lab, CELL_WAIT, d, c, (launch){.submit = SUBMIT_SYNC, .other_wait = other});
    for (int h = 0; h < HABIT_COUNT; h++)
        add_cell(lab, CELL_HABIT, d, c, (launch){.submit = SUBMIT_BATCH, .habit = h});
    for (uint32_t s = 1; s <= SUBMITS_BATCH; s *= 2)
        fix_length(add_cell(lab, CELL_SUBMITS, d, c, (launch){.submit = SUBMIT_BATCH, .submits = s}), SUBMITS_BATCH);
}

/* Both ways of waiting must end after the device's own clock says the work did:
 * launch_run compares them. Long enough that a wait which does not wait is seen. */
static bool waits_wait(dispatch_lab *lab, const lab_device *d, err *e)
{
    chain *c = add_chain(lab, d, &chain_rmsnorm, 1, e);
    if (!c || !gpu_get_info(d->g)->has_timestamps)
        return c != NULL;
    for (int other = 0; other < 2; other++) {
        launch how = {.submit = SUBMIT_ONE, .time_device = true, .other_wait = other};
        launch_time t;
        if (!launch_run(c, &how, 2000, &t, e))
            return false;
    }
    return true;
}

static bool add_barriers(dispatch_lab *lab, const lab_device *d, err *e)
{
    uint32_t resident = d->resident_workgroups, sizes[] = {1, resident / 8, resident / 4, resident / 2, resident};
    uint32_t last = 0;
    for (int i = 0; i < 5; i++) {
        if (sizes[i] <= last)
            continue;
        last = sizes[i];
        chain *c = add_chain(lab, d, &chain_neighbours, sizes[i], e);
        if (!c)
            return false;
        /* The device's clock where it has one: no launch is in it to begin with. */
        add_cell(lab, CELL_BARRIER, d, c,
                 (launch){.submit = SUBMIT_ONE, .time_device = gpu_get_info(d->g)->has_timestamps});
    }
    return true;
}

static bool add_device_cells(dispatch_lab *lab, const lab_device *d, err *e)
{
    for (int i = 0; i < DISPATCH_KINDS; i++) {
        chain *c = add_chain(lab, d, dispatch_kinds[i], d->resident_workgroups, e);
        if (!c)
            return false;
        add_ladder(lab, d, c);
        if (dispatch_kinds[i] == &chain_add)
            add_host_and_habits(lab, d, c);
    }
    return gpu_get_info(d->g)->type == GPU_TYPE_NONE || (waits_wait(lab, d, e) && add_barriers(lab, d, e));
}

static bool add_safety_cells(dispatch_lab *lab, const lab_device *d, err *e)
{
    static const chain_kind *const kinds[] = {&chain_add, &chain_gemv};
    static const submit_policy policies[] = {SUBMIT_EACH, SUBMIT_BATCH};
    for (int i = 0; i < 2; i++) {
        chain *c = add_chain(lab, d, kinds[i], d->resident_workgroups, e);
        if (!c)
            return false;
        for (int p = 0; p < 2; p++)
            add_cell(lab, CELL_SAFETY, d, c, (launch){.submit = policies[p]});
    }
    return true;
}

static bool build(dispatch_lab *lab, err *e)
{
    if (!(lab->options.impl_list ? open_listed(lab, e) : open_all(lab, e)))
        return false;
    const lab_device *dawn = find_dawn(lab);
    if (dawn && !open_variants(lab, dawn, e))
        return false;
    for (uint32_t i = 0; i < lab->device_count; i++)
        if (!add_device_cells(lab, &lab->devices[i], e))
            return false;
    if (dawn && !add_safety_cells(lab, dawn, e))
        return false;
    for (uint32_t i = 0; i < lab->variant_count; i++)
        if (!add_safety_cells(lab, &lab->variants[i], e))
            return false;
    return true;
}

/* ---- measuring ----------------------------------------------------------- */

static bool choose_lengths(dispatch_lab *lab, err *e)
{
    double budget = lab->options.quick ? QUICK_BUDGET_US : FULL_BUDGET_US;
    progress p = progress_start("choosing lengths", lab->cell_count);
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        cell *k = &lab->cells[i];
        if (k->points == 0 && !cell_choose_lengths(k, budget, lab->options.quick, e))
            return false;
        cell_prepare(k, lab->options.rounds);
        progress_at(&p, i + 1);
    }
    progress_end(&p);
    return true;
}

/* Every round measures every point of every cell once, in an order of its own,
 * so that whatever drifts (clocks, heat, other programs) falls on all alike. */
static bool run_rounds(dispatch_lab *lab, err *e)
{
    typedef struct task {
        uint32_t cell, point;
    } task;
    task *tasks = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        tasks = mem_grow(tasks, (count + lab->cells[i].points) * sizeof *tasks);
        for (uint32_t point = 0; point < lab->cells[i].points; point++)
            tasks[count++] = (task){i, point};
    }
    uint32_t *order = mem_alloc(count * sizeof *order);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    rng r = rng_seed(lab->options.seed);
    progress p = progress_start("measuring", (size_t)count * (lab->options.rounds + 1));
    bool ok = true;
    /* Round 0 is the warm-up: its figures are written over by the next. */
    for (uint32_t round = 0; ok && round <= lab->options.rounds; round++) {
        rng_shuffle(&r, order, count);
        for (uint32_t i = 0; ok && i < count; i++) {
            task t = tasks[order[i]];
            ok = cell_measure(&lab->cells[t.cell], round ? round - 1 : 0, t.point, e);
            progress_at(&p, ++lab->runs_checked);
        }
    }
    progress_end(&p);
    free(order);
    free(tasks);
    return ok;
}

bool dispatch_measure(dispatch_lab *lab, const dispatch_options *options, err *e)
{
    *lab = (dispatch_lab){.options = *options};
    uint64_t start = clock_ns();
    if (!lab->options.rounds)
        lab->options.rounds = options->quick ? QUICK_ROUNDS : FULL_ROUNDS;
    if (!lab->options.seed)
        lab->options.seed = start;
    if (!build(lab, e) || !choose_lengths(lab, e) || !run_rounds(lab, e))
        return false;
    for (uint32_t i = 0; i < lab->cell_count; i++)
        cell_finish(&lab->cells[i]);
    lab->seconds = (double)(clock_ns() - start) / 1e9;
    return true;
}

void dispatch_free(dispatch_lab *lab)
{
    for (uint32_t i = 0; i < lab->cell_count; i++)
        cell_free(&lab->cells[i]);
    for (uint32_t i = 0; i < lab->chain_count; i++)
        chain_free(lab->chains[i]);
    for (uint32_t i = 0; i < lab->device_count; i++)
        lab_device_close(&lab->devices[i]);
    for (uint32_t i = 0; i < lab->variant_count; i++)
        lab_device_close(&lab->variants[i]);
    free(lab->cells);
    free(lab->chains);
    free(lab->impl_words);
}

const cell *dispatch_find(const dispatch_lab *lab, cell_name name, const char *impl, submit_policy submit,
                          const char *kind)
{
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        const cell *k = &lab->cells[i];
        if (k->name == name && k->how.submit == submit && strcmp(gpu_get_info(k->device->g)->impl, impl) == 0 &&
            strcmp(k->c->kind->name, kind) == 0)
            return k;
    }
    return NULL;
}
