/* What a page calls for simulations (web/sim.js): include/solo.h as exports of a wasm module of its own, which is fetched
 * only by pages that simulate.
 *
 * One device and one simulation at a time. A call returns a status of solo_error's; its reply, JSON or an error's text,
 * is then at solo_said(). Calls may suspend, and only one may be in progress.                                       */
#include "api/internal.h"
#include "base/clock.h"
#include "base/jsonw.h"
#include "base/str.h"
#include "web/host.h"
#include "web/reply.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMETERS = 64, STATUS_FAILED = 1 };

static solo_device device;
static solo_sim *made;

static int failed(const solo_error *e)
{
    str_add(reply_text(), e->text);
    return e->status ? e->status : STATUS_FAILED;
}

/* A call whose only result is its status. */
static int ended(bool ok, const solo_error *e)
{
    if (!ok)
        return failed(e);
    reply_text();
    return 0;
}

/* ---- the device ----------------------------------------------------------------- */

EXPORT(sim_forget) void sim_forget(void)
{
    solo_sim_free(made);
    made = NULL;
}

EXPORT(sim_close) void sim_close(void)
{
    sim_forget();
    if (device.g)
        gpu_close(device.g);
    device.g = NULL;
}

EXPORT(sim_open) int sim_open(int adapter)
{
    err why = {0};
    solo_error e = {0};
    sim_close();
    device.g = gpu_open_now(&(gpu_choice){.impl = "web", .adapter = (gpu_adapter_want)adapter}, &why);
    if (!api_result(&e, &why, device.g != NULL))
        return failed(&e);
    jsonw j = reply_begin();
    jsonw_text(&j, "device", gpu_get_info(device.g)->device);
    jsonw_end(&j);
    return 0;
}

EXPORT(sim_lose) void sim_lose(void)
{
    if (device.g)
        gpu_lose(device.g);
}

/* ---- a simulation ----------------------------------------------------------------- */

static void report_progress(void *unused, uint32_t step)
{
    (void)unused;
    page_progress("simulating", step, solo_sim_steps(made));
}

static void write_made(void)
{
    jsonw j = reply_begin();
    jsonw_count(&j, "population", solo_sim_population(made));
    jsonw_count(&j, "steps", solo_sim_steps(made));
    jsonw_count(&j, "genes", solo_sim_genes(made));
    jsonw_count(&j, "trace_rows", solo_sim_trace_rows(made));
    jsonw_array(&j, "words");
    for (uint32_t i = 0; i < solo_sim_words(made); i++)
        jsonw_text(&j, NULL, solo_sim_word_name(made, i));
    jsonw_end(&j);
    jsonw_end(&j);
}

/* `parameters` has a NAME=VALUE in each line, and is cut at their ends; an empty `wgsl` means the built-in one of the name. */
EXPORT(sim_make)
int sim_make(const char *name, const char *wgsl, char *parameters, uint32_t population, uint32_t steps, uint32_t seed,
             const float *data, uint32_t data_rows, uint32_t data_columns, uint32_t trace_count, uint32_t trace_every,
             uint32_t chunk_ms, int evolves)
{
    solo_error e = {0};
    const char *list[MAX_PARAMETERS + 1] = {0};
    uint32_t count = 0;
    for (char *one = strtok(parameters, "\n"); one && count < MAX_PARAMETERS; one = strtok(NULL, "\n"))
        list[count++] = one;
    sim_forget();
    /* an earlier simulation's error is cleared, unless the device is lost */
    gpu_poll(device.g);
    gpu_take_error(device.g, NULL);
    made = solo_sim_new(&device, name, wgsl[0] ? wgsl : NULL,
                        &(solo_sim_options){.population = population,
                                            .steps = steps,
                                            .seed = seed,
                                            .parameters = list,
                                            .data = data_rows ? data : NULL,
                                            .data_rows = data_rows,
                                            .data_columns = data_columns,
                                            .trace_count = trace_count,
                                            .trace_every = trace_every,
                                            .chunk_ms = chunk_ms,
                                            .evolves = evolves != 0},
                        &e);
    if (!made)
        return failed(&e);
    solo_sim_set_progress(made, report_progress, NULL);
    write_made();
    return 0;
}

EXPORT(sim_set_genes) void sim_set_genes(const float *genomes)
{
    solo_sim_set_genomes(made, genomes);
}

/* The time since then. */
static int say_what_it_took(double began_us, gpu_counters before)
{
    char notice[300];
    uint32_t generations;
    const double *best = solo_sim_best(made, &generations);
    gpu_counters c = gpu_counters_since(device.g, before);
    jsonw j = reply_begin();
    jsonw_count(&j, "dispatches", c.dispatches);
    jsonw_count(&j, "submits", c.submits);
    jsonw_number(&j, "seconds", (clock_us() - began_us) * 1e-6);
    jsonw_text(&j, "notice", solo_sim_take_notice(made, notice, sizeof notice) ? notice : NULL);
    if (best) {
        jsonw_array(&j, "best");
        for (uint32_t i = 0; i < generations; i++)
            jsonw_number(&j, NULL, best[i]);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    return 0;
}

EXPORT(sim_run_all) int sim_run_all(int each_step)
{
    solo_error e = {0};
    gpu_counters before = gpu_get_counters(device.g);
    double began_us = clock_us();
    if (!solo_sim_run(made, each_step ? SOLO_DISPATCH_A_STEP : SOLO_ONE_DISPATCH, &e))
        return failed(&e);
    return say_what_it_took(began_us, before);
}

static bool report_generation(void *generations, uint32_t generation, double best)
{
    (void)best;
    page_progress("evolving", generation, *(uint32_t *)generations);
    return true;
}

/* 0 of the others: the default. */
EXPORT(sim_evolve)
int sim_evolve(uint32_t generations, uint32_t tournament, uint32_t elite, float crossover, float mutation, float sigma)
{
    solo_error e = {0};
    gpu_counters before = gpu_get_counters(device.g);
    double began_us = clock_us();
    solo_sim_set_progress(made, NULL, NULL); /* of steps */
    if (!solo_sim_evolve(made, generations, &(solo_evolution){tournament, elite, crossover, mutation, sigma},
                         report_generation, &generations, &e))
        return failed(&e);
    return say_what_it_took(began_us, before);
}

EXPORT(sim_evolved) int sim_evolved(float *genomes, float *scores)
{
    solo_error e = {0};
    return ended(solo_sim_evolved(made, genomes, scores, &e), &e);
}

EXPORT(sim_scores) int sim_scores(float *scores)
{
    solo_error e = {0};
    return ended(solo_sim_scores(made, scores, &e), &e);
}

EXPORT(sim_states) int sim_states(double *states)
{
    solo_error e = {0};
    return ended(solo_sim_states(made, states, &e), &e);
}

EXPORT(sim_traced) int sim_traced(double *states)
{
    solo_error e = {0};
    return ended(solo_sim_trace(made, states, &e), &e);
}
