/* The simulation experiment to a person and to a file. */
#include "lab/record.h"
#include "lab/sim.h"

#include <stdlib.h>
#include <string.h>

/* The fused one of the same simulation; NULL: it was not measured. */
static const sim_cell *fused_of(const sim_lab *lab, const sim_cell *c)
{
    for (const sim_cell *other = lab->measurements; other < lab->measurements + lab->measurement_count; other++)
        if (other->item == c->item && other->level == LEVEL_LOOP)
            return other;
    return NULL;
}

static ratio slower_than_fused(const sim_lab *lab, const sim_cell *c, const sim_cell *fused)
{
    uint32_t n = lab->options.repetitions;
    return stats_ratio((samples){fused->seconds, n, 0}, (samples){c->seconds, n, 0});
}

static void print_cell(const sim_lab *lab, const sim_cell *c, FILE *to)
{
    const sim_lab_item *item = &lab->options.items[c->item];
    const sim_cell *fused = fused_of(lab, c);
    char times[40] = "";
    if (fused && fused != c) {
        ratio r = slower_than_fused(lab, c, fused);
        snprintf(times, sizeof times, "%.2f [%.2f %.2f]", r.value, r.lo, r.hi);
    }
    fprintf(to, "  %-12s %10u %6u  %-5s %-6s %11.3f %10.4g %10llu %8llu  %s\n", item->source->path,
            item->options.population, item->options.steps, fusion_names[c->level],
            c->level == LEVEL_LOOP ? "" : submit_names[c->submit], 1e3 / c->rate.median, c->rate.median,
            (unsigned long long)c->counted.dispatches, (unsigned long long)c->counted.submits, times);
}

/* Whether every simulation was run in more than one way: only then do its bits say anything about ways. */
static bool has_several_ways(const sim_lab *lab)
{
    for (uint32_t i = 0; i < lab->options.item_count; i++) {
        uint32_t ways = 0;
        for (uint32_t k = 0; k < lab->measurement_count; k++)
            ways += lab->measurements[k].item == i;
        if (ways < 2)
            return false;
    }
    return true;
}

void sim_lab_print(const sim_lab *lab, FILE *to)
{
    fprintf(to, "%s (%s, %s), %u samples of each, in random order; %s gave the same bits\n\n", lab->device.info.device,
            lab->device.info.impl, lab->device.info.driver, lab->options.repetitions,
            lab->differs[0]         ? "not all ways"
            : has_several_ways(lab) ? "all ways"
                                    : "all of them");
    fprintf(to, "  %-12s %10s %6s  %-5s %-6s %11s %10s %10s %8s  %s\n", "", "population", "steps", "fuse", "submit",
            "ms", "gen/s", "dispatches", "submits", "times one dispatch [95%]");
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        print_cell(lab, &lab->measurements[i], to);
    busy_print(&lab->busy, to);
}

/* NAME=VALUE of each, as --param takes them. */
static void write_overrides(const sim_source *source, jsonw *j)
{
    str all = {0};
    str_add(&all, "");
    for (uint32_t i = 0; i < source->file.constant_count; i++) {
        const wgsl_constant *c = &source->file.constants[i];
        double value;
        if (c->is_override && wgsl_constant_value(&source->file, c, &value))
            str_addf(&all, "%s%s=%.9g", all.length ? " " : "", c->name, value);
    }
    jsonw_text(j, "overrides", all.data);
    str_free(&all);
}

static void write_cell(const sim_lab *lab, const sim_cell *c, jsonw *j)
{
    const sim_lab_item *item = &lab->options.items[c->item];
    uint32_t n = lab->options.repetitions;
    double *rates = mem_alloc(n * sizeof *rates);
    for (uint32_t k = 0; k < n; k++)
        rates[k] = 1 / c->seconds[k];
    jsonw_object(j, NULL);
    jsonw_text(j, "name", item->source->path);
    jsonw_object(j, "params");
    jsonw_text(j, "sim", item->source->path);
    jsonw_text(j, "impl", lab->device.info.impl);
    jsonw_text(j, "fuse", fusion_names[c->level]);
    jsonw_text(j, "submit", submit_names[c->submit]);
    jsonw_count(j, "population", item->options.population);
    jsonw_count(j, "steps", item->options.steps);
    jsonw_count(j, "state_words", item->source->state->words);
    jsonw_count(j, "genes", item->source->genes);
    jsonw_bool(j, "coupled", item->source->is_coupled);
    jsonw_count(j, "seed", item->options.seed);
    jsonw_count(j, "chunk_ms", item->options.chunk_ms);
    write_overrides(item->source, j);
    if (strcmp(lab->device.info.family, "cuda") == 0) {
        jsonw_text(j, "functions", sim_cuda_chosen().fast ? "approximate" : "exact");
        jsonw_text(j, "loops_over_units", sim_cuda_chosen().loops ? "kept" : "written out");
    }
    jsonw_end(j);
    record_samples(j, "gen/s", (samples){rates, n, 0}, &c->rate, c->counted);
    jsonw_number(j, "first_seconds", c->first_s);
    jsonw_number(j, "mean_score", c->mean_score);
    jsonw_end(j);
    free(rates);
}

void sim_lab_record(const sim_lab *lab, str *out)
{
    const sim_lab_options *o = &lab->options;
    jsonw j = jsonw_to(out);
    record_begin(&j, "sim", &lab->device, 1, &lab->busy);
    jsonw_object(&j, "params");
    jsonw_flat(&j);
    jsonw_count(&j, "repetitions", o->repetitions);
    jsonw_count(&j, "seed", o->seed);
    jsonw_number(&j, "seconds", lab->seconds);
    jsonw_end(&j);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        write_cell(lab, &lab->measurements[i], &j);
    jsonw_end(&j);
    jsonw_array(&j, "checks");
    record_check(&j,
                 has_several_ways(lab) ? "all ways to launch a simulation gave the same bits, in every repetition"
                                       : "every repetition gave the same bits",
                 !lab->differs[0], lab->differs[0] ? lab->differs : "scores and last states of every individual");
    record_check(&j, "every score is a finite number", true, "");
    record_check(&j, "errors seen: none", true, "validation, shader, memory and device-loss errors end the run");
    jsonw_end(&j);
    jsonw_end(&j);
}
