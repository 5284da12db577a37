/* sim_result: scores and states of a simulation as text, JSON and CSV. */
#include "lab/sim_result.h"
#include "lab/record.h"

#include <math.h>
#include <stdlib.h>

static double *as_doubles(const sim_result *r)
{
    double *values = mem_alloc(r->population * sizeof *values);
    for (uint32_t i = 0; i < r->population; i++)
        values[i] = (double)r->scores[i];
    return values;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct spread {
    double mean, sd, min, median, max;
    uint32_t best;
} spread;

/* Bootstrap intervals would take longer than the simulation; a population is large enough for a standard error. */
static spread scores_spread(const sim_result *r)
{
    spread s = {0};
    uint32_t n = r->population;
    double *values = as_doubles(r), sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += values[i];
        if (r->scores[i] > r->scores[s.best])
            s.best = i;
    }
    s.mean = sum / n;
    for (uint32_t i = 0; i < n; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    s.sd = n > 1 ? sqrt(squares / (n - 1)) : 0;
    qsort(values, n, sizeof *values, ascending);
    s.min = values[0];
    s.max = values[n - 1];
    s.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    free(values);
    return s;
}

void sim_result_print(const sim_result *r, FILE *to)
{
    const gpu_info *info = gpu_get_info(r->g);
    spread s = scores_spread(r);
    fprintf(to, "%s on %s (%s)\n", r->source->path, info->device, info->impl);
    fprintf(to, "%u individuals, %u steps%s", r->population, r->steps, r->source->is_coupled ? ", coupled" : "");
    if (r->generations)
        fprintf(to, ", %u generations", r->generations);
    fprintf(to, ": %.3f s, %llu dispatches in %llu submits", r->seconds, (unsigned long long)r->counted.dispatches,
            (unsigned long long)r->counted.submits);
    double steps = (double)r->population * r->steps * r->scored;
    fprintf(to, ", %.3g steps a second\n", steps / r->seconds);
    fprintf(to, "score: mean %.6g +- %.2g (standard error), median %.6g, %.6g to %.6g, the best is individual %u\n",
            s.mean, s.sd / sqrt(r->population), s.median, s.min, s.max, s.best);
    if (r->generations)
        fprintf(to, "best of a generation: %.6g at first, %.6g at last\n", r->best[0], r->best[r->generations]);
}

static void write_parameters(const sim_result *r, jsonw *j)
{
    const wgsl_file *f = &r->source->file;
    jsonw_object(j, "parameters");
    jsonw_flat(j);
    for (uint32_t i = 0; i < f->constant_count; i++) {
        double value;
        if (!f->constants[i].is_override)
            continue;
        if (wgsl_constant_value(f, &f->constants[i], &value))
            jsonw_number(j, f->constants[i].name, value);
        else
            jsonw_null(j, f->constants[i].name);
    }
    jsonw_end(j);
}

static void write_series(jsonw *j, const char *key, const double *values, uint32_t count)
{
    jsonw_array(j, key);
    jsonw_flat(j);
    for (uint32_t i = 0; i < count; i++)
        jsonw_number(j, NULL, values[i]);
    jsonw_end(j);
}

static void write_states(const sim_result *r, jsonw *j)
{
    jsonw_object(j, "states");
    for (uint32_t w = 0; w < r->source->state->words; w++) {
        jsonw_array(j, r->source->words[w].name);
        jsonw_flat(j);
        for (uint32_t i = 0; i < r->population; i++)
            jsonw_number(j, NULL, sim_word_value(r->states[(size_t)w * r->population + i], r->source->words[w].type));
        jsonw_end(j);
    }
    jsonw_end(j);
}

void sim_result_json(const sim_result *r, str *out)
{
    lab_device device = {.g = r->g, .info = *gpu_get_info(r->g), .wait_mode = gpu_get_wait_mode(r->g)};
    jsonw j = jsonw_to(out);
    spread s = scores_spread(r);
    record_begin(&j, "sim", &device, 1, NULL);
    jsonw_object(&j, "params");
    jsonw_text(&j, "sim", r->source->path);
    jsonw_text(&j, "fuse", fusion_names[r->level]);
    jsonw_text(&j, "submit", submit_names[r->submit]);
    jsonw_count(&j, "population", r->population);
    jsonw_count(&j, "steps", r->steps);
    jsonw_count(&j, "seed", r->seed);
    jsonw_count(&j, "generations", r->generations);
    write_parameters(r, &j);
    jsonw_end(&j);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "name", "run");
    jsonw_object(&j, "params");
    jsonw_end(&j);
    summary one = stats_summary((samples){&r->seconds, 1, 0});
    record_samples(&j, "s", (samples){&r->seconds, 1, 0}, &one, r->counted);
    jsonw_end(&j);
    jsonw_end(&j);
    jsonw_array(&j, "checks");
    record_check(&j, "every score is a finite number", true, "");
    jsonw_end(&j);
    jsonw_object(&j, "score");
    jsonw_flat(&j);
    jsonw_number(&j, "mean", s.mean);
    jsonw_number(&j, "sd", s.sd);
    jsonw_number(&j, "min", s.min);
    jsonw_number(&j, "median", s.median);
    jsonw_number(&j, "max", s.max);
    jsonw_count(&j, "best", s.best);
    jsonw_end(&j);
    if (r->generations)
        write_series(&j, "best_of_generation", r->best, r->generations + 1);
    double *scores = as_doubles(r);
    write_series(&j, "scores", scores, r->population);
    free(scores);
    write_states(r, &j);
    jsonw_end(&j);
}

static void add_value(str *out, uint32_t word, sim_scalar type)
{
    if (type == SIM_F32)
        str_addf(out, ",%.9g", sim_word_value(word, type));
    else
        str_addf(out, ",%.0f", sim_word_value(word, type));
}

static void add_names(const sim_source *source, str *out)
{
    for (uint32_t w = 0; w < source->state->words; w++)
        str_addf(out, ",%s", source->words[w].name);
    str_add(out, "\n");
}

void sim_result_csv(const sim_result *r, str *out)
{
    str_add(out, "individual,score");
    add_names(r->source, out);
    for (uint32_t i = 0; i < r->population; i++) {
        str_addf(out, "%u,%.9g", i, (double)r->scores[i]);
        for (uint32_t w = 0; w < r->source->state->words; w++)
            add_value(out, r->states[(size_t)w * r->population + i], r->source->words[w].type);
        str_add(out, "\n");
    }
}

void sim_trace_csv(const sim_source *source, const uint32_t *words, uint32_t rows, uint32_t count, uint32_t every,
                   str *out)
{
    str_add(out, "t,individual");
    add_names(source, out);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < count; i++) {
            str_addf(out, "%u,%u", row * every, i);
            for (uint32_t w = 0; w < source->state->words; w++)
                add_value(out, words[((size_t)row * source->state->words + w) * count + i], source->words[w].type);
            str_add(out, "\n");
        }
}
