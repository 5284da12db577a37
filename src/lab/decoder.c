/* decoder: runs the small decoder by every launch strategy. */
#include "lab/decoder.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/str.h"

#include <stdlib.h>

static bool run_way(decoder_lab *lab, chain *c, submit_policy submit, double *us, err *e)
{
    launch_time t = {0};
    if (!launch_run(c, &(launch){.submit = submit}, CHAIN_DECODER_STEPS, &t, e))
        return false;
    *us = t.total_us;
    lab->ways[submit].counted = t.counted;
    lab->outputs_checked += t.output_checked;
    return true;
}

/* Everything once to warm up, then all of it again and again in a new order each time. */
static bool run_all(decoder_lab *lab, chain *c, err *e)
{
    uint32_t order[SUBMIT_COUNT], count = 0, repetitions = lab->options.repetitions;
    rng r = rng_seed(lab->options.seed);
    double unused;
    bool ok = true;
    for (uint32_t i = 0; i < SUBMIT_COUNT; i++)
        if (lab->ways[i].measured)
            order[count++] = i;
    progress bar = progress_start("measuring", (size_t)count * (repetitions + 1));
    for (uint32_t i = 0; ok && i < count; i++)
        ok = run_way(lab, c, (submit_policy)order[i], &unused, e);
    for (uint32_t k = 0; ok && k < repetitions; k++) {
        rng_shuffle(&r, order, count);
        for (uint32_t i = 0; ok && i < count; i++) {
            ok = run_way(lab, c, (submit_policy)order[i], &lab->ways[order[i]].us[k], e);
            progress_at(&bar, (size_t)(k + 1) * count + i + 1);
        }
    }
    progress_end(&bar);
    return ok;
}

static void choose_ways(decoder_lab *lab)
{
    for (int i = SUBMIT_SYNC; i < SUBMIT_COUNT; i++) {
        lab->ways[i].us = mem_alloc(lab->options.repetitions * sizeof(double));
        lab->ways[i].measured = launch_possible(&lab->device.info, &(launch){.submit = (submit_policy)i});
    }
}

static samples samples_of(const decoder_lab *lab, submit_policy submit)
{
    return (samples){lab->ways[submit].us, lab->options.repetitions, 0};
}

bool decoder_measure(decoder_lab *lab, const decoder_lab_options *o, err *e)
{
    uint64_t began = clock_ns();
    *lab = (decoder_lab){.options = *o};
    busy_begin(&lab->busy);
    if (!lab_device_open(&lab->device, &o->choice, true, e))
        return false;
    choose_ways(lab);
    chain *c = chain_new(lab->device.g, &chain_decoder, 1);
    bool ok = gpu_ok(lab->device.g, e) && run_all(lab, c, e);
    chain_free(c);
    for (int i = 0; ok && i < SUBMIT_COUNT; i++)
        if (lab->ways[i].measured)
            lab->ways[i].time = stats_summary(samples_of(lab, (submit_policy)i));
    lab->seconds = (double)(clock_ns() - began) / 1e9;
    busy_end(&lab->busy);
    return ok;
}

void decoder_free(decoder_lab *lab)
{
    for (int i = 0; i < SUBMIT_COUNT; i++)
        free(lab->ways[i].us);
    if (lab->device.g)
        gpu_close(lab->device.g);
}

ratio decoder_over_one(const decoder_lab *lab, submit_policy submit)
{
    return stats_ratio(samples_of(lab, SUBMIT_ONE), samples_of(lab, submit));
}
