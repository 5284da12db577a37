/* A simulation run on the device of a group of tests, with what came of it. */
#ifndef SOLO_TEST_SIM_RUN_H
#define SOLO_TEST_SIM_RUN_H

#include "base/str.h"
#include "gpu/devices.h"
#include "sim/builtin.h"
#include "sim/sim.h"

typedef struct run {
    sim_source source;
    table data;
    sim_options options;
    float *scores;
    uint32_t *states;
    uint64_t dispatches;
} run;

static inline run open_run(const char *name, uint32_t population, uint32_t steps)
{
    err e = {0};
    run r = {.options = {.population = population, .steps = steps, .seed = 7}};
    if (!sim_source_read(&r.source, name, sim_builtin(name), &e))
        fail_msg("%s", e.text);
    if (r.source.uses_data)
        sim_make_prices(&r.data, SIM_PRICE_ROWS, 1);
    r.scores = mem_alloc(population * sizeof *r.scores);
    r.states = mem_alloc((size_t)population * r.source.state->words * sizeof *r.states);
    return r;
}

static inline void close_run(run *r)
{
    sim_source_free(&r->source);
    table_free(&r->data);
    free(r->scores);
    free(r->states);
}

static inline sim *new_sim(run *r)
{
    err e = {0};
    if (r->data.rows)
        r->options.data = &r->data;
    sim *s = sim_new(device, &r->source, &r->options, &e);
    if (!s)
        fail_msg("%s", e.text);
    return s;
}

static inline void go(run *r, sim *s, fusion_level level, submit_policy submit)
{
    err e = {0};
    gpu_counters before = gpu_get_counters(device);
    if (!sim_run(s, level, submit, &e))
        fail_msg("%s", e.text);
    r->dispatches = gpu_counters_since(device, before).dispatches;
    if (!sim_read_scores(s, r->scores, &e) || !sim_read_states(s, r->states, &e) || !sim_check(s, r->scores, &e))
        fail_msg("%s", e.text);
}

static inline void run_once(run *r)
{
    sim *s = new_sim(r);
    go(r, s, LEVEL_LOOP, SUBMIT_BATCH);
    sim_free(s);
}

#endif
