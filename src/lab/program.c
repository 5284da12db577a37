/* program: runs of a program, interleaved, and the comparison of their outputs. */
#include "lab/program.h"

#include "base/clock.h"
#include "base/rng.h"
#include "lab/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums in another order: far below what a wrong kernel does. */
static const double SAME = 1e-3;

static bool open_level(program_lab *lab, fusion_level level, err *e)
{
    const program_lab_options *o = &lab->options;
    uint32_t count;
    const aten_port *inputs = aten_program_inputs(o->program, &count);
    program_cell *c = &lab->cells[lab->cell_count];
    *c = (program_cell){.level = level, .run = program_run_new(lab->device.g, o->program, level, e)};
    if (!c->run)
        return err_context(e, "%s", fusion_names[level]);
    lab->cell_count++;
    c->ms = mem_alloc(o->repetitions * sizeof *c->ms);
    c->dispatches = graph_run_dispatches(c->run, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *words = mem_alloc(inputs[i].count * sizeof *words);
        program_run_fill(&inputs[i], o->seed, words);
        bool ok = graph_run_write(c->run, inputs[i].name, words, e);
        free(words);
        if (!ok)
            return false;
    }
    return true;
}

/* The largest difference of an output to that of the first level, relative to its spread. */
static bool compare_outputs(program_lab *lab, program_cell *c, err *e)
{
    uint32_t count;
    const aten_port *outputs = aten_program_outputs(lab->options.program, &count);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        float *one = mem_alloc(outputs[i].count * sizeof *one), *other = mem_alloc(outputs[i].count * sizeof *other);
        ok = graph_run_read(lab->cells[0].run, outputs[i].name, one, e) &&
             graph_run_read(c->run, outputs[i].name, other, e);
        double sum = 0, squares = 0, most = 0, n = (double)outputs[i].count;
        bool floats = outputs[i].type == ATEN_F32;
        for (uint64_t k = 0; ok && k < outputs[i].count; k++) {
            sum += one[k];
            squares += (double)one[k] * one[k];
            most = fmax(most, fabs((double)one[k] - other[k]));
        }
        double spread = sqrt(fmax(squares / n - sum / n * (sum / n), 0)) + 1e-6 + fabs(sum / n) * 1e-3;
        if (ok && floats && !(most / spread <= SAME))
            ok = err_set(e, "%s at %s differs from %s by %.2g of its spread", outputs[i].name, fusion_names[c->level],
                         fusion_names[lab->cells[0].level], most / spread);
        if (ok && floats)
            lab->largest_difference = fmax(lab->largest_difference, most / spread);
        if (ok && !floats && memcmp(one, other, outputs[i].count * sizeof *one) != 0)
            ok = err_set(e, "%s at %s differs from %s", outputs[i].name, fusion_names[c->level],
                         fusion_names[lab->cells[0].level]);
        free(one);
        free(other);
    }
    return ok;
}

/* As many runs as a repetition has, from the states that the program begins with. */
static bool repeat(program_lab *lab, program_cell *c, double *ms, err *e)
{
    gpu *g = lab->device.g;
    uint32_t runs = lab->options.runs;
    if (!program_run_begin(g, c->run, lab->options.program, e) || !gpu_wait(g, e))
        return false;
    gpu_counters before = gpu_get_counters(g);
    double began = clock_us();
    if (c->level == LEVEL_LOOP) {
        graph_run_set_rounds(c->run, 0, runs);
        graph_run_once(c->run, 0, SUBMIT_BATCH);
    } else
        for (uint32_t i = 0; i < runs; i++)
            graph_run_once(c->run, 0, SUBMIT_BATCH);
    bool ok = gpu_wait(g, e);
    *ms = (clock_us() - began) * 1e-3 / runs;
    c->counted = gpu_counters_since(g, before);
    return ok && graph_run_wait(c->run, 0, e);
}

bool program_lab_measure(program_lab *lab, const program_lab_options *o, err *e)
{
    uint32_t order[LEVEL_COUNT];
    double unused;
    *lab = (program_lab){.options = *o};
    busy_begin(&lab->busy);
    rng r = rng_seed(o->seed);
    bool ok = lab_device_open(&lab->device, &o->choice, false, e);
    for (int level = LEVEL_NONE; ok && level < LEVEL_COUNT; level++)
        ok = !o->levels[level] || open_level(lab, (fusion_level)level, e);
    for (uint32_t i = 0; ok && i < lab->cell_count; i++) {
        order[i] = i;
        ok = repeat(lab, &lab->cells[i], &unused, e);
    }
    for (uint32_t k = 0; ok && k < o->repetitions; k++) {
        rng_shuffle(&r, order, lab->cell_count);
        for (uint32_t i = 0; ok && i < lab->cell_count; i++)
            ok = repeat(lab, &lab->cells[order[i]], &lab->cells[order[i]].ms[k], e);
        for (uint32_t i = 1; ok && i < lab->cell_count; i++)
            ok = compare_outputs(lab, &lab->cells[i], e);
    }
    for (uint32_t i = 0; ok && i < lab->cell_count; i++)
        lab->cells[i].time = stats_summary((samples){lab->cells[i].ms, o->repetitions, 0});
    busy_end(&lab->busy);
    return ok;
}

void program_lab_free(program_lab *lab)
{
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        graph_run_free(lab->cells[i].run);
        free(lab->cells[i].ms);
    }
    if (lab->device.g)
        lab_device_close(&lab->device);
}

void program_lab_print(const program_lab *lab, FILE *to)
{
    uint32_t needed, nodes = aten_program_nodes(lab->options.program, &needed);
    fprintf(to, "%s: %u ATen nodes, on %s (%s), %u samples of each, in random order\n\n", lab->options.path, nodes,
            lab->device.info.device, lab->device.info.impl, lab->options.repetitions);
    fprintf(to, "  %-6s %11s %12s  %s\n", "fuse", "dispatches", "ms a run", "[95%]");
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        const program_cell *c = &lab->cells[i];
        fprintf(to, "  %-6s %11u %12.4g  [%.4g %.4g]\n", fusion_names[c->level], c->dispatches, c->time.median,
                c->time.ci95[0], c->time.ci95[1]);
    }
    busy_print(&lab->busy, to);
}

void program_lab_record(const program_lab *lab, str *out)
{
    const program_lab_options *o = &lab->options;
    uint32_t needed, nodes = aten_program_nodes(o->program, &needed);
    char detail[80];
    jsonw j = jsonw_to(out);
    record_begin(&j, "graph", &lab->device, 1, &lab->busy);
    jsonw_object(&j, "params");
    jsonw_flat(&j);
    jsonw_count(&j, "repetitions", o->repetitions);
    jsonw_count(&j, "runs", o->runs);
    jsonw_count(&j, "seed", o->seed);
    jsonw_end(&j);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    for (uint32_t i = 0; i < lab->cell_count; i++) {
        const program_cell *c = &lab->cells[i];
        jsonw_object(&j, NULL);
        jsonw_text(&j, "name", o->path);
        jsonw_object(&j, "params");
        jsonw_text(&j, "program", o->path);
        jsonw_text(&j, "impl", lab->device.info.impl);
        jsonw_text(&j, "fuse", fusion_names[c->level]);
        jsonw_count(&j, "nodes", nodes);
        jsonw_count(&j, "needed", needed);
        jsonw_end(&j);
        record_samples(&j, "ms", (samples){c->ms, o->repetitions, 0}, &c->time, c->counted);
        jsonw_count(&j, "dispatches_per_run", c->dispatches);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_array(&j, "checks");
    snprintf(detail, sizeof detail, "the largest difference is %.2g of an output's spread", lab->largest_difference);
    record_check(&j, "all levels gave the same outputs, in every repetition", true, detail);
    record_check(&j, "errors seen: none", true, "validation, shader, memory and device-loss errors end the run");
    jsonw_end(&j);
    jsonw_end(&j);
}
