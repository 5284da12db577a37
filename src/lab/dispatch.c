/* dispatch: the dispatch experiment: what each device measures, in which process and in which order. */
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
    QUICK_PROCESSES = 4,
    FULL_ROUNDS = 20,
    FULL_PROCESSES = 5,
    FEWEST_IN_TIME = 2,  /* processes, however long they take: one would not show how they differ */
    SUBMITS_BATCH = 256, /* dispatches in the batch that is split into submits */
};
static const double QUICK_BUDGET_US = 3500, FULL_BUDGET_US = 12000, QUICK_LIMIT_S = 60;
/* Where the implementations took a larger share of the limit than this to set up, no variants of Dawn follow them. */
static const double SETUP_SHARE = 0.25;
/* A page waits through another process, for milliseconds: what is to be seen beside that takes longer. */
static const double PAGE_BUDGET = 6;

static double seconds_since(uint64_t start)
{
    return (double)(clock_ns() - start) / 1e9;
}

/* ---- what a bench_device measures (in the worker's process) ------------------- */

static void add_ladder(bench_device *s, chain *c)
{
    for (int submit = SUBMIT_SYNC; submit < SUBMIT_COUNT; submit++)
        bench_device_add_measurement(s, MEASURE_DISPATCH, c, (launch){.submit = submit}, 0);
    bench_device_add_measurement(s, MEASURE_DEVICE, c, (launch){.submit = SUBMIT_BATCH, .time_device = true}, 0);
    bench_device_add_measurement(s, MEASURE_DEVICE, c, (launch){.submit = SUBMIT_ONE, .time_device = true}, 0);
}

static void add_host_and_patterns(bench_device *s, chain *c)
{
    static const submit_policy seen_in[] = {SUBMIT_SYNC, SUBMIT_EACH, SUBMIT_BATCH};
    for (int i = 0; i < 3; i++)
        bench_device_add_measurement(s, MEASURE_HOST, c, (launch){.submit = seen_in[i], .time_calls = true}, 0);
    for (int other = 0; other < 2; other++)
        bench_device_add_measurement(s, MEASURE_WAIT, c, (launch){.submit = SUBMIT_SYNC, .other_wait = other}, 0);
    for (int h = 0; h < PATTERN_COUNT; h++)
        bench_device_add_measurement(s, MEASURE_PATTERN, c, (launch){.submit = SUBMIT_BATCH, .pattern = h}, 0);
    for (uint32_t n = 1; n <= SUBMITS_BATCH; n *= 2)
        bench_device_add_measurement(s, MEASURE_SUBMITS, c, (launch){.submit = SUBMIT_BATCH, .submits = n},
                                     SUBMITS_BATCH);
}

static bool add_barriers(bench_device *s, err *e)
{
    uint32_t resident = s->device.resident_workgroups, last = 0;
    uint32_t sizes[] = {1, resident / 8, resident / 4, resident / 2, resident};
    for (int i = 0; i < 5; i++) {
        if (sizes[i] <= last)
            continue;
        last = sizes[i];
        chain *c = bench_device_add_chain(s, &chain_neighbours, sizes[i], e);
        if (!c)
            return false;
        /* The device's clock where it has one: no launch is in it to begin with. */
        launch how = {.submit = SUBMIT_ONE, .time_device = s->device.info.has_timestamps};
        bench_device_add_measurement(s, MEASURE_BARRIER, c, how, 0);
    }
    return true;
}

static void add_safety(bench_device *s, chain *c)
{
    if (strcmp(s->device.info.family, "dawn") != 0 || (c->kind != &chain_add && c->kind != &chain_gemv))
        return;
    bench_device_add_measurement(s, MEASURE_SAFETY, c, (launch){.submit = SUBMIT_EACH}, 0);
    bench_device_add_measurement(s, MEASURE_SAFETY, c, (launch){.submit = SUBMIT_BATCH}, 0);
}

/* What a bench_device is built from. The second and later processes of an
 * implementation take over what the first one found out, so that all measure
 * the same. */
typedef struct bench_device_plan {
    bool quick;
    bool is_known; /* otherwise it has to find out */
    lab_device known_device;
    uint32_t known_count;
    measurement_spec known_specs[];
} bench_device_plan;

static bool open_device(lab_device *d, const gpu_choice *choice, const bench_device_plan *plan, bool variant, err *e)
{
    if (!plan->is_known)
        return lab_device_open(d, choice, !variant, e);
    *d = plan->known_device;
    d->g = gpu_open_now(choice, e);
    if (d->g)
        strcpy(d->info.device, gpu_get_info(d->g)->device); /* the caller compares */
    return d->g != NULL;
}

static bool choose_lengths(bench_device *s, const bench_device_plan *plan, err *e)
{
    bool quick = plan->quick;
    if (!plan->is_known) {
        double budget_us = quick ? QUICK_BUDGET_US : FULL_BUDGET_US;
        bool page = strcmp(s->device.info.family, "web") == 0;
        return bench_device_choose_lengths(s, page ? PAGE_BUDGET * budget_us : budget_us, quick, e);
    }
    for (uint32_t i = 0; i < s->measurement_count && i < plan->known_count; i++) {
        s->measurements[i].spec = plan->known_specs[i];
        s->measurements[i].c->one_workgroups = s->measurements[i].spec.one_workgroups;
    }
    return true;
}

/* A variant, with safety switched off, is there for the safety measurements alone. */
static bool build_device(bench_device *s, const gpu_choice *choice, const void *context, err *e)
{
    const bench_device_plan *plan = context;
    bool variant = choice->no_validation || choice->no_robustness;
    if (!open_device(&s->device, choice, plan, variant, e))
        return false;
    bool computes = s->device.info.type != GPU_TYPE_NONE;
    for (int i = 0; i < DISPATCH_KINDS; i++) {
        chain *c = bench_device_add_chain(s, dispatch_kinds[i], s->device.resident_workgroups, e);
        if (!c)
            return false;
        add_safety(s, c);
        if (variant)
            continue;
        add_ladder(s, c);
        if (c->kind == &chain_add)
            add_host_and_patterns(s, c);
    }
    if (computes && !(bench_device_check_waits(s, e) && (variant || add_barriers(s, e))))
        return false;
    return choose_lengths(s, plan, e);
}

/* ---- starting the workers ------------------------------------------------ */

typedef struct workers {
    dispatch_lab *lab;
    worker workers[DISPATCH_MAX_DEVICES];
    gpu_choice choices[DISPATCH_MAX_DEVICES];
    uint32_t first_measurement[DISPATCH_MAX_DEVICES]; /* of each device, in the lab */
    char *impl_words;                                 /* the list taken apart */
    progress p;
} workers;

static void take_over_measurements(workers *c, const worker *w, uint32_t device)
{
    dispatch_lab *lab = c->lab;
    const dispatch_options *o = &lab->options;
    c->first_measurement[device] = lab->measurement_count;
    lab->measurements =
        mem_grow(lab->measurements, (lab->measurement_count + w->measurement_count) * sizeof *lab->measurements);
    for (uint32_t i = 0; i < w->measurement_count; i++) {
        measurement *k = &lab->measurements[lab->measurement_count++];
        *k = (measurement){.spec = w->measurements[i], .device = device};
        measurement_prepare(k, o->rounds, o->rounds / o->processes);
    }
}

/* The implementation's name and its safety identify a result. */
static bool already_here(const dispatch_lab *lab, const lab_device *d)
{
    for (uint32_t i = 0; i < lab->device_count; i++)
        if (strcmp(lab->devices[i].info.impl, d->info.impl) == 0 && lab->devices[i].no_validation == d->no_validation &&
            lab->devices[i].no_robustness == d->no_robustness)
            return true;
    return false;
}

/* One after the other: two that set up at once would disturb each other. */
static bool start(workers *c, const gpu_choice *choice, err *e)
{
    dispatch_lab *lab = c->lab;
    worker *w = &c->workers[lab->device_count];
    bench_device_plan plan = {.quick = lab->options.quick};
    if (!worker_start(w, build_device, choice, &plan, sizeof plan, e))
        return false;
    if (already_here(lab, &w->device)) {
        err_set_kind(e, ERR_USAGE, "%s is named twice", w->device.info.impl);
        worker_stop(w);
        return false;
    }
    c->choices[lab->device_count] = *choice;
    lab->devices[lab->device_count] = w->device;
    take_over_measurements(c, w, lab->device_count++);
    progress_at(&c->p, lab->device_count);
    return true;
}

/* With what its first process found out. */
static bool start_again(workers *c, uint32_t device, err *e)
{
    dispatch_lab *lab = c->lab;
    uint32_t count = c->workers[device].measurement_count;
    size_t bytes = sizeof(bench_device_plan) + count * sizeof(measurement_spec);
    bench_device_plan *plan = mem_alloc(bytes);
    plan->quick = lab->options.quick;
    plan->is_known = true;
    plan->known_device = lab->devices[device];
    plan->known_count = count;
    for (uint32_t i = 0; i < count; i++)
        plan->known_specs[i] = lab->measurements[c->first_measurement[device] + i].spec;
    worker_stop(&c->workers[device]);
    bool ok = worker_start(&c->workers[device], build_device, &c->choices[device], plan, bytes, e);
    free(plan);
    return ok;
}

/* All again, in new processes. */
static bool restart(workers *c, err *e)
{
    dispatch_lab *lab = c->lab;
    for (uint32_t i = 0; i < lab->device_count; i++) {
        uint32_t measurements = c->workers[i].measurement_count;
        if (!start_again(c, i, e))
            return false;
        if (strcmp(c->workers[i].device.info.device, lab->devices[i].info.device) != 0)
            return err_set(e, "%s: started anew, it is on %s instead of %s", lab->devices[i].info.impl,
                           c->workers[i].device.info.device, lab->devices[i].info.device);
        if (c->workers[i].measurement_count != measurements)
            return err_set(e, "%s: started anew, it offers other things to measure", lab->devices[i].info.impl);
    }
    return true;
}

static bool start_listed(workers *c, err *e)
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

static bool build_nothing(bench_device *s, const gpu_choice *choice, const void *context, err *e)
{
    (void)context;
    s->device.g = gpu_open_now(choice, e);
    if (s->device.g)
        s->device.info = *gpu_get_info(s->device.g);
    return s->device.g != NULL;
}

/* A GPU was asked for and this implementation was not to be had: because there is
 * only software for it? Then the run must fail, not go on without it. */
static bool has_only_software(const char *impl)
{
    worker w;
    if (!worker_start(&w, build_nothing, &(gpu_choice){.impl = impl}, NULL, 0, NULL))
        return false;
    bool software = w.device.info.type == GPU_TYPE_SOFTWARE;
    worker_stop(&w);
    return software;
}

/* One that is not here is left out; one that is here and fails is an error. */
static bool start_all(workers *c, err *e)
{
    dispatch_lab *lab = c->lab;
    bool real = false;
    for (int i = 0; gpu_impl_names[i]; i++) {
        err why = {0};
        if (start(c, &(gpu_choice){.impl = gpu_impl_names[i], .adapter = lab->options.adapter}, &why))
            real = real || lab->devices[lab->device_count - 1].info.type != GPU_TYPE_NONE;
        else if (why.kind != ERR_NO_GPU ||
                 (lab->options.adapter == GPU_ADAPTER_GPU && has_only_software(gpu_impl_names[i])))
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

/* Dawn again with validation off, robustness off, both off, if there is time. */
static bool start_variants(workers *c, uint64_t start_ns, err *e)
{
    dispatch_lab *lab = c->lab;
    double limit = lab->options.limit_s;
    bool here = false;
    for (uint32_t i = 0; i < lab->impl_count; i++)
        here = here || strcmp(lab->devices[i].info.impl, "dawn") == 0;
    lab->left_out_variants = here && limit > 0 && seconds_since(start_ns) > SETUP_SHARE * limit;
    for (int off = 1; here && !lab->left_out_variants && off <= 3; off++)
        if (!start(c,
                   &(gpu_choice){.impl = "dawn",
                                 .adapter = lab->options.adapter,
                                 .no_validation = off & 1,
                                 .no_robustness = off & 2},
                   e))
            return false;
    return true;
}

static bool start_workers(workers *c, uint64_t start_ns, err *e)
{
    dispatch_lab *lab = c->lab;
    c->p = progress_start("setting up", DISPATCH_MAX_IMPLS);
    bool ok = lab->options.impl_list ? start_listed(c, e) : start_all(c, e);
    lab->impl_count = lab->device_count;
    ok = ok && start_variants(c, start_ns, e);
    progress_end(&c->p);
    return ok;
}

static void stop_workers(workers *c)
{
    for (uint32_t i = 0; i < c->lab->device_count; i++)
        worker_stop(&c->workers[i]);
    free(c->impl_words);
}

/* ---- measuring ----------------------------------------------------------- */

/* What a round runs: points of measurements, each as measurement * MEASURE_MAX_POINTS + point. */
typedef struct round_plan {
    uint32_t *tasks, count;
} round_plan;

/* The first `points` of each measurement, or as many as it has. */
static round_plan plan_round(const dispatch_lab *lab, uint32_t points)
{
    round_plan p = {mem_alloc(lab->measurement_count * MEASURE_MAX_POINTS * sizeof *p.tasks), 0};
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        for (uint32_t point = 0; point < points && point < lab->measurements[i].spec.points; point++)
            p.tasks[p.count++] = i * MEASURE_MAX_POINTS + point;
    return p;
}

/* All of it once, in an order of its own, so that whatever drifts (clocks, heat, other programs) falls on all alike. */
static bool run_round(workers *c, const round_plan *p, rng *r, uint32_t round, err *e)
{
    dispatch_lab *lab = c->lab;
    rng_shuffle(r, p->tasks, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t number = p->tasks[i] / MEASURE_MAX_POINTS, point = p->tasks[i] % MEASURE_MAX_POINTS;
        measurement *k = &lab->measurements[number];
        measurement_time time;
        if (!worker_measure(&c->workers[k->device], number - c->first_measurement[k->device], point, &time, e))
            return false;
        measurement_store(k, round, point, &time);
        lab->outputs_checked += time.output_checked;
        lab->waits_checked += time.wait_checked;
        progress_at(&c->p, ++lab->runs);
    }
    return true;
}

/* Would one more process of each implementation take longer than there is time? `start`: before the first. */
static bool out_of_time(const dispatch_lab *lab, uint64_t start, uint32_t processes)
{
    double limit = lab->options.limit_s, taken = seconds_since(start);
    return limit > 0 && processes >= FEWEST_IN_TIME && taken + taken / processes > limit;
}

/* The first process had its warm-up and a round, which took `so_far`: is there time for the rest of its rounds,
 * and for as many in the next one, which takes about as long to start? */
static bool rounds_fit(const dispatch_lab *lab, uint64_t start, double so_far, uint32_t block)
{
    double limit = lab->options.limit_s;
    return limit <= 0 || seconds_since(start) + 2 * block * so_far <= limit;
}

/* So many are all. */
static void limit_rounds(dispatch_lab *lab, uint32_t rounds, uint32_t processes)
{
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        measurement_limit_rounds(&lab->measurements[i], rounds, rounds / processes);
    lab->left_out += lab->options.processes - processes;
    lab->options.rounds = rounds;
    lab->options.processes = processes;
}

/* Each block of rounds has new processes, and begins with a round that only
 * warms up: the next one writes over it. */
static bool run_rounds(workers *c, uint64_t start, err *e)
{
    dispatch_lab *lab = c->lab;
    const dispatch_options *o = &lab->options;
    uint32_t block = o->rounds / o->processes;
    round_plan all = plan_round(lab, MEASURE_MAX_POINTS),
               warm_up = plan_round(lab, o->limit_s > 0 ? 1 : MEASURE_MAX_POINTS);
    rng r = rng_seed(o->seed);
    c->p = progress_start("measuring", (size_t)all.count * o->rounds + (size_t)warm_up.count * o->processes);
    bool ok = true;
    uint64_t measuring = clock_ns();
    for (uint32_t round = 0; ok && round < o->rounds; round++) {
        bool first = round % block == 0;
        if (first && out_of_time(lab, start, round / block)) {
            limit_rounds(lab, round, round / block);
            break;
        }
        ok = (!first || round == 0 || restart(c, e)) && (!first || run_round(c, &warm_up, &r, round, e)) &&
             run_round(c, &all, &r, round, e);
        if (round == 0 && block > 1 && !rounds_fit(lab, start, seconds_since(measuring), block)) {
            block = 1;
            limit_rounds(lab, o->processes, o->processes);
        }
    }
    progress_end(&c->p);
    free(warm_up.tasks);
    free(all.tasks);
    return ok;
}

/* As many rounds in every process. */
static void fill_in_options(dispatch_options *o)
{
    if (o->quick && !o->limit_s && !o->rounds && !o->processes)
        o->limit_s = QUICK_LIMIT_S;
    if (!o->rounds)
        o->rounds = o->quick ? QUICK_ROUNDS : FULL_ROUNDS;
    if (!o->processes)
        o->processes = o->quick ? QUICK_PROCESSES : FULL_PROCESSES;
    if (o->processes > o->rounds)
        o->processes = o->rounds;
    o->rounds = (o->rounds + o->processes - 1) / o->processes * o->processes;
    if (!o->seed)
        o->seed = clock_ns();
}

bool dispatch_measure(dispatch_lab *lab, const dispatch_options *options, err *e)
{
    *lab = (dispatch_lab){.options = *options};
    busy_begin(&lab->busy);
    uint64_t start = clock_ns();
    fill_in_options(&lab->options);
    workers c = {.lab = lab};
    bool ok = start_workers(&c, start, e) && run_rounds(&c, start, e);
    stop_workers(&c);
    for (uint32_t i = 0; ok && i < lab->measurement_count; i++)
        measurement_finish(&lab->measurements[i]);
    lab->seconds = seconds_since(start);
    busy_end(&lab->busy);
    return ok;
}

void dispatch_free(dispatch_lab *lab)
{
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        measurement_free(&lab->measurements[i]);
    free(lab->measurements);
}

const char *dispatch_impl(const dispatch_lab *lab, const measurement *k)
{
    return lab->devices[k->device].info.impl;
}

const measurement *dispatch_find(const dispatch_lab *lab, measurement_name name, const char *impl, submit_policy submit,
                                 const char *kernel)
{
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const measurement *k = &lab->measurements[i];
        if (k->spec.name == name && k->spec.how.submit == submit && strcmp(dispatch_impl(lab, k), impl) == 0 &&
            strcmp(k->spec.kernel, kernel) == 0)
            return k;
    }
    return NULL;
}

bool dispatch_one_device(const dispatch_lab *lab)
{
    const char *first = NULL;
    for (uint32_t i = 0; i < lab->impl_count; i++) {
        const gpu_info *info = &lab->devices[i].info;
        if (info->type == GPU_TYPE_NONE)
            continue;
        if (first && strcmp(first, info->device) != 0)
            return false;
        first = info->device;
    }
    return true;
}
