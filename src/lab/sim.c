/* sim: the simulation experiment: its runs, interleaved, and the comparison of their bits. */
#include "lab/sim.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_measurements(sim_lab *lab)
{
    const sim_lab_options *o = &lab->options;
    for (uint32_t i = 0; i < o->item_count; i++) {
        if (o->fused)
            lab->measurements[lab->measurement_count++] =
                (sim_cell){.item = i, .level = LEVEL_LOOP, .submit = SUBMIT_BATCH};
        for (int submit = SUBMIT_BATCH; o->separate && submit >= SUBMIT_SYNC; submit--)
            if (o->submits[submit])
                lab->measurements[lab->measurement_count++] =
                    (sim_cell){.item = i, .level = LEVEL_NONE, .submit = (submit_policy)submit};
    }
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        lab->measurements[i].seconds = mem_alloc(o->repetitions * sizeof(double));
}

/* The result of a run in two numbers: a hash to compare runs here, and one to compare with other programs. */
static bool note_results(sim_lab *lab, sim_cell *c, err *e)
{
    sim *s = lab->sims[c->item];
    size_t n = sim_population(s), words = n * sim_get_source(s)->state->words;
    float *scores = mem_alloc(n * 4);
    uint32_t *states = mem_alloc(words * 4);
    bool ok = sim_read_scores(s, scores, e) && sim_check(s, scores, e) && sim_read_states(s, states, e);
    if (ok) {
        c->hash = str_hash(STR_HASH_BEGIN, (const char *)scores, n * 4);
        c->hash = str_hash(c->hash, (const char *)states, words * 4);
        c->mean_score = 0;
        for (size_t i = 0; i < n; i++)
            c->mean_score += (double)scores[i] / (double)n;
    }
    free(scores);
    free(states);
    return ok;
}

/* The time before, and the others of the same simulation, if any ran, say what is right. */
static bool check_bits(sim_lab *lab, const sim_cell *c, uint64_t before, err *e)
{
    if (before && before != c->hash)
        return err_set(e, "%s: %s by %s gave other bits than the time before", lab->options.items[c->item].source->path,
                       fusion_names[c->level], submit_names[c->submit]);
    for (const sim_cell *other = lab->measurements; other < lab->measurements + lab->measurement_count; other++)
        if (other->item == c->item && other->hash && other->hash != c->hash && !lab->differs[0])
            snprintf(lab->differs, sizeof lab->differs, "%s: %s by %s gave other bits than %s by %s",
                     lab->options.items[c->item].source->path, fusion_names[c->level], submit_names[c->submit],
                     fusion_names[other->level], submit_names[other->submit]);
    return true;
}

/* Runs of less than a millisecond were seen to take ten times as long every other time: a GPU that has little to do lowers its
 * clocks. So what is short is run for a while before it is timed. */
static bool wake(sim_lab *lab, const sim_cell *c, err *e)
{
    const double SHORT_S = 0.02, AWAKE_US = 30e3;
    double began = clock_us();
    bool is_short = c->last_s < SHORT_S || c->last_s == c->first_s; /* the first run compiles, and is not timed */
    bool ok = true, sleeps = lab->device.info.type != GPU_TYPE_SOFTWARE && c->last_s > 0 && is_short;
    while (ok && sleeps && clock_us() - began < AWAKE_US)
        ok = sim_run(lab->sims[c->item], c->level, c->submit, e);
    return ok;
}

static bool run_measurement(sim_lab *lab, sim_cell *c, double *seconds, err *e)
{
    sim *s = lab->sims[c->item];
    if (!wake(lab, c, e))
        return false;
    char notice[300];
    uint64_t hash = c->hash;
    gpu_counters before = gpu_get_counters(lab->device.g);
    double began = clock_us();
    bool ok = sim_run(s, c->level, c->submit, e);
    *seconds = c->last_s = (clock_us() - began) * 1e-6;
    c->counted = gpu_counters_since(lab->device.g, before);
    if (ok && sim_take_notice(s, notice, sizeof notice))
        return err_set(e, "%s", notice);
    return ok && note_results(lab, c, e) && check_bits(lab, c, hash, e);
}

/* Everything once to warm up, then all of it again and again in a new order each time. */
static bool run_all(sim_lab *lab, err *e)
{
    uint32_t order[SIM_LAB_MAX_CELLS], repetitions = lab->options.repetitions;
    rng r = rng_seed(lab->options.seed);
    progress bar = progress_start("measuring", (size_t)lab->measurement_count * (repetitions + 1));
    size_t done = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < lab->measurement_count; i++) {
        ok = run_measurement(lab, &lab->measurements[order[i] = i], &lab->measurements[i].first_s, e);
        sim_skip_watchdog(lab->sims[lab->measurements[i].item]);
        progress_at(&bar, ++done);
    }
    for (uint32_t k = 0; ok && k < repetitions; k++) {
        rng_shuffle(&r, order, lab->measurement_count);
        for (uint32_t i = 0; ok && i < lab->measurement_count; i++) {
            ok = run_measurement(lab, &lab->measurements[order[i]], &lab->measurements[order[i]].seconds[k], e);
            progress_at(&bar, ++done);
        }
    }
    progress_end(&bar);
    return ok;
}

static void sum_up(sim_lab *lab)
{
    uint32_t n = lab->options.repetitions;
    double *rates = mem_alloc(n * sizeof *rates);
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        for (uint32_t k = 0; k < n; k++)
            rates[k] = 1 / lab->measurements[i].seconds[k];
        lab->measurements[i].rate = stats_summary((samples){rates, n, 0});
    }
    free(rates);
}

bool sim_lab_measure(sim_lab *lab, const sim_lab_options *o, err *e)
{
    *lab = (sim_lab){.options = *o};
    busy_begin(&lab->busy);
    double began = clock_us();
    if (!lab_device_open(&lab->device, &o->choice, false, e))
        return false;
    add_measurements(lab);
    for (uint32_t i = 0; i < o->item_count; i++) {
        lab->sims[i] = sim_new(lab->device.g, o->items[i].source, &o->items[i].options, e);
        if (!lab->sims[i])
            return err_context(e, "%s", o->items[i].source->path);
        if (o->items[i].genomes)
            sim_set_genome_table(lab->sims[i], o->items[i].genomes);
    }
    bool ok = run_all(lab, e);
    if (ok)
        sum_up(lab);
    lab->seconds = (clock_us() - began) * 1e-6;
    busy_end(&lab->busy);
    return ok;
}

bool sim_lab_free(sim_lab *lab)
{
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        free(lab->measurements[i].seconds);
    for (uint32_t i = 0; i < lab->options.item_count; i++)
        if (lab->sims[i] && sim_is_stuck(lab->sims[i]))
            return false;
    for (uint32_t i = 0; i < lab->options.item_count; i++)
        sim_free(lab->sims[i]);
    if (lab->device.g)
        lab_device_close(&lab->device);
    return true;
}
