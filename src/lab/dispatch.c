#include "lab/dispatch.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/str.h"
#include "lab/worker.h"

#include <stdlib.h>
#include <string.h>

const chain_kind *const dispatch_kinds[DISPATCH_KINDS] = {&chain_empty, &chain_add, &chain_rmsnorm, &chain_gemv};

enum {
    QUICK_ROUNDS = 8,
    FULL_ROUNDS = 25,
    SUBMITS_BATCH = 256, /* dispatches in the batch that is split into submits */
};
static const double QUICK_BUDGET_US = 3500, FULL_BUDGET_US = 12000;

/* ---- what a station measures (in the worker's process) ------------------- */

static void add_ladder(station *s, chain *c)
{
    for (int submit = 0; submit < SUBMIT_COUNT; submit++)
        station_add_cell(s, CELL_DISPATCH, c, (launch){.submit = submit}, 0);
    station_add_cell(s, CELL_DEVICE, c, (launch){.submit = SUBMIT_BATCH, .time_device = true}, 0);
    station_add_cell(s, CELL_DEVICE, c, (launch){.submit = SUBMIT_ONE, .time_device = true}, 0);
}

static void add_host_and_habits(station *s, chain *c)
{
    static const submit_policy seen_in[] = {SUBMIT_SYNC, SUBMIT_EACH, SUBMIT_BATCH};
    for (int i = 0; i < 3; i++)
        station_add_cell(s, CELL_HOST, c, (launch){.submit = seen_in[i], .time_calls = true}, 0);
    for (int other = 0; other < 2; other++)
        station_add_cell(s, CELL_WAIT, c, (launch){.submit = SUBMIT_SYNC, .other_wait = other}, 0);
    for (int h = 0; h < HABIT_COUNT; h++)
        station_add_cell(s, CELL_HABIT, c, (launch){.submit = SUBMIT_BATCH, .habit = h}, 0);
    for (uint32_t n = 1; n <= SUBMITS_BATCH; n *= 2)
        station_add_cell(s, CELL_SUBMITS, c, (launch){.submit = SUBMIT_BATCH, .submits = n}, SUBMITS_BATCH);
}

static bool add_barriers(station *s, err *e)
{
    uint32_t resident = s->device.resident_workgroups, last = 0;
    uint32_t sizes[] = {1, resident / 8, resident / 4, resident / 2, resident};
    for (int i = 0; i < 5; i++) {
        if (sizes[i] <= last)
            continue;
        last = sizes[i];
        chain *c = station_add_chain(s, &chain_neighbours, sizes[i], e);
        if (!c)
            return false;
        /* The device's clock where it has one: no launch is in it to begin with. */
        launch how = {.submit = SUBMIT_ONE, .time_device = s->device.info.has_timestamps};
        station_add_cell(s, CELL_BARRIER, c, how, 0);
    }
    return true;
}

static void add_safety(station *s, chain *c)
{
    if (strcmp(s->device.info.family, "dawn") != 0 || (c->kind != &chain_add && c->kind != &chain_gemv))
        return;
    station_add_cell(s, CELL_SAFETY, c, (launch){.submit = SUBMIT_EACH}, 0);
    station_add_cell(s, CELL_SAFETY, c, (launch){.submit = SUBMIT_BATCH}, 0);
}

/* A variant, with safety switched off, is there for the safety cells alone. */
static bool build_station(station *s, const gpu_choice *choice, const void *context, err *e)
{
    const dispatch_options *o = context;
    bool variant = choice->no_validation || choice->no_robustness;
    if (!lab_device_open(&s->device, choice, !variant, e))
        return false;
    bool computes = s->device.info.type != GPU_TYPE_NONE;
    for (int i = 0; i < DISPATCH_KINDS; i++) {
        chain *c = station_add_chain(s, dispatch_kinds[i], s->device.resident_workgroups, e);
        if (!c)
            return false;
        add_safety(s, c);
        if (variant)
            continue;
        add_ladder(s, c);
        if (c->kind == &chain_add)
            add_host_and_habits(s, c);
    }
    if (computes && !variant && !(station_check_waits(s, e) && add_barriers(s, e)))
        return false;
    return station_choose_lengths(s, o->quick ? QUICK_BUDGET_US : FULL_BUDGET_US, o->quick, e);
}

/* ---- starting the workers ------------------------------------------------ */

typedef struct crew {
    dispatch_lab *lab;
    worker workers[DISPATCH_MAX_DEVICES];
    char *impl_words; /* the list taken apart */
    progress p;
} crew;

static void take_over_cells(crew *c, const worker *w, uint32_t device)
{
    dispatch_lab *lab = c->lab;
    lab->cells = mem_grow(lab->cells, (lab->cell_count + w->cell_count) * sizeof *lab->cells);
    for (uint32_t i = 0; i < w->cell_count; i++) {
        cell *k = &lab->cells[lab->cell_count++];
        *k = (cell){.spec = w->cells[i], .device = device};
        cell_prepare(k, lab->options.rounds);
    }
}

/* One after the other: two that set up at once would disturb each other. */
static bool start(crew *c, const gpu_choice *choice, err *e)
{
    dispatch_lab *lab = c->lab;
    if (lab->device_count == DISPATCH_MAX_DEVICES)
        return err_set_kind(e, ERR_USAGE, "at most %d implementations in one run", DISPATCH_MAX_IMPLS);
    worker *w = &c->workers[lab->device_count];
    if (!worker_start(w, build_station, choice, &lab->options, e))
        return false;
    lab->devices[lab->device_count] = w->device;
    take_over_cells(c, w, lab->device_count++);
    progress_at(&c->p, lab->device_count);
    return true;
}

static bool start_listed(crew *c, err *e)
{
    dispatch_lab *lab = c->lab;
    char *save;
    c->impl_words = mem_dup(lab->options.impl_list);
    for (char *name = strtok_r(c->impl_words, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        if (lab->device_count == DISPATCH_MAX_IMPLS)
            return err_set_kind(e, ERR_USAGE, "at most %d implementations in one run", DISPATCH_MAX_IMPLS);
        if (!start(c, &(gpu_choice){.impl = name, .adapter = lab->options.adapter}, e))
            return false;
    }
    return lab->device_count > 0 || err_set_kind(e, ERR_USAGE, "--impl names no implementation");
}

/* One that is not here is left out; one that is here and fails is an error. */
static bool start_all(crew *c, err *e)
{
    dispatch_lab *lab = c->lab;
    bool real = false;
    for (int i = 0; gpu_impl_names[i]; i++) {
        err why = {0};
        if (start(c, &(gpu_choice){.impl = gpu_impl_names[i], .adapter = lab->options.adapter}, &why))
            real = real || lab->devices[lab->device_count - 1].info.type != GPU_TYPE_NONE;
        else if (why.kind != ERR_NO_GPU)
            return err_set_kind(e, why.kind, "%s", why.text);
        else
            lab->missing[lab->missing_count++] = why;
    }
    if (real)
        return true;
    str tried = {0};
    for (uint32_t i = 0; i < lab->missing_count; i++)
        str_addf(&tried, "%s%s", i ? "; " : "", lab->missing[i].text);
    err_set_kind(e, ERR_NO_GPU, "no usable GPU: %s", tried.data);
    str_free(&tried);
    return false;
}

/* Dawn again with validation off, robustness off, both off. */
static bool start_variants(crew *c, err *e)
{
    dispatch_lab *lab = c->lab;
    bool here = false;
    for (uint32_t i = 0; i < lab->impl_count; i++)
        here = here || strcmp(lab->devices[i].info.impl, "dawn") == 0;
    for (int off = 1; here && off <= 3; off++)
        if (!start(c,
                   &(gpu_choice){.impl = "dawn",
                                 .adapter = lab->options.adapter,
                                 .no_validation = off & 1,
                                 .no_robustness = off & 2},
                   e))
            return false;
    return true;
}

static bool start_crew(crew *c, err *e)
{
    dispatch_lab *lab = c->lab;
    c->p = progress_start("setting up", DISPATCH_MAX_IMPLS);
    bool ok = lab->options.impl_list ? start_listed(c, e) : start_all(c, e);
    lab->impl_count = lab->device_count;
    ok = ok && start_variants(c, e);
    progress_end(&c->p);
    return ok;
}

static void stop_crew(crew *c)
{
    for (uint32_t i = 0; i < c->lab->device_count; i++)
        worker_stop(&c->workers[i]);
    free(c->impl_words);
}

/* ---- measuring ----------------------------------------------------------- */

typedef struct task {
    uint32_t cell;   /* of the lab */
    uint32_t theirs; /* the same cell, as its worker counts */
    uint32_t point;
} task;

static task *list_tasks(const dispatch_lab *lab, uint32_t *count)
{
    uint32_t theirs[DISPATCH_MAX_DEVICES] = {0}, n = 0;
    task *tasks = mem_alloc(lab->cell_count * CELL_MAX_POINTS * sizeof *tasks);
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        const cell *k = &lab->cells[i];
        for (uint32_t point = 0; point < k->spec.points; point++)
            tasks[n++] = (task){i, theirs[k->device], point};
        theirs[k->device]++;
    }
    *count = n;
    return tasks;
}

/* Every round measures every point of every cell once, in an order of its own,
 * so that whatever drifts (clocks, heat, other programs) falls on all alike. */
static bool run_rounds(crew *c, err *e)
{
    dispatch_lab *lab = c->lab;
    uint32_t count;
    task *tasks = list_tasks(lab, &count);
    uint32_t *order = mem_alloc(count * sizeof *order);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    rng r = rng_seed(lab->options.seed);
    c->p = progress_start("measuring", (size_t)count * (lab->options.rounds + 1));
    bool ok = true;
    /* Round 0 is the warm-up: its figures are written over by the next. */
    for (uint32_t round = 0; ok && round <= lab->options.rounds; round++) {
        rng_shuffle(&r, order, count);
        for (uint32_t i = 0; ok && i < count; i++) {
            task t = tasks[order[i]];
            cell *k = &lab->cells[t.cell];
            cell_time time;
            ok = worker_measure(&c->workers[k->device], t.theirs, t.point, &time, e);
            if (ok)
                cell_store(k, round ? round - 1 : 0, t.point, &time);
            progress_at(&c->p, ++lab->runs_checked);
        }
    }
    progress_end(&c->p);
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
    crew c = {.lab = lab};
    bool ok = start_crew(&c, e) && run_rounds(&c, e);
    stop_crew(&c);
    for (uint32_t i = 0; ok && i < lab->cell_count; i++)
        cell_finish(&lab->cells[i]);
    lab->seconds = (double)(clock_ns() - start) / 1e9;
    return ok;
}

void dispatch_free(dispatch_lab *lab)
{
    for (uint32_t i = 0; i < lab->cell_count; i++)
        cell_free(&lab->cells[i]);
    free(lab->cells);
}

const char *dispatch_impl(const dispatch_lab *lab, const cell *k)
{
    return lab->devices[k->device].info.impl;
}

const cell *dispatch_find(const dispatch_lab *lab, cell_name name, const char *impl, submit_policy submit,
                          const char *kernel)
{
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        const cell *k = &lab->cells[i];
        if (k->spec.name == name && k->spec.how.submit == submit && strcmp(dispatch_impl(lab, k), impl) == 0 &&
            strcmp(k->spec.kernel, kernel) == 0)
            return k;
    }
    return NULL;
}
