/* solo explain: what is launched for a token, and how fast it could be. */
#include "base/file.h"
#include "cli/cli.h"
#include "cli/model_name.h"
#include "graph/kernel_text.h"
#include "lab/device.h"
#include "lab/explain.h"
#include "llm/generation.h"
#include "llm/program_run.h"
#include "model/decoder.h"
#include "model/pt2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_DEPTH = 512, TIMED_RUNS = 8, MOST_ROWS = 4096, MOST_POSITIONS = 1 << 20 };

typedef struct options {
    cli_model model;
    long rows, depth, context; /* -1: not given */
    double gbps, gflops;
    const char *svg, *kernel, *type;
    bool json, timed;
} options;

static const option TABLE[] = {
    {.name = "rows",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = MOST_ROWS,
     INTO(options, rows),
     .help = "tokens in a run: 1 decodes, more read a prompt"},
    {.name = "depth",
     .value = "N",
     .kind = OPTION_WHOLE,
     .high = MOST_POSITIONS,
     INTO(options, depth),
     .help = "positions that are there before",
     .otherwise = "512, or what there is room for"},
    {.name = "context",
     .value = "N",
     .kind = OPTION_WHOLE,
     .low = 1,
     .high = MOST_POSITIONS,
     INTO(options, context),
     .help = "positions there is room for",
     .otherwise = "the model's, up to 2048"},
    {.name = "svg",
     .value = "FILE",
     .files = OPTION_FILES,
     .in_usage = true,
     INTO(options, svg),
     .help = "draw it: a layer and what stands around it, before and after fusion; - writes to standard output"},
    {.name = "json",
     .kind = OPTION_FLAG,
     .in_usage = true,
     INTO(options, json),
     .help = "the same as JSON, every step"},
    {.name = "time",
     .kind = OPTION_FLAG,
     INTO(options, timed),
     .help = "run it, and show the device's time beside the limit; of a phase, how much shorter the one dispatch is "
             "without all such phases"},
    {.name = "bandwidth",
     .value = "GBPS",
     .kind = OPTION_REAL,
     .above_low = true,
     .high = 1e9,
     INTO(options, gbps),
     .help = "of memory, in 1e9 bytes a second",
     .otherwise = "measured, if there is a device"},
    {.name = "gflops",
     .value = "N",
     .kind = OPTION_REAL,
     .above_low = true,
     .high = 1e9,
     INTO(options, gflops),
     .help = "1e9 operations a second",
     .otherwise = "16 for each byte"},
    {.name = "kernel",
     .value = "NAME",
     .in_usage = true,
     INTO(options, kernel),
     .help = "print the expanded WGSL of this kernel instead (kernels/graph/NAME.wgsl)"},
    {.name = "type", .value = "T", INTO(options, type), .help = "with --kernel: the type of its weights"},
    {0}};

/* Rows, depth and context that fit each other. */
static bool settle_sizes(const options *o, const model_config *c, explain_options *x, err *e)
{
    long default_context = c->context_tok < GENERATION_ENOUGH_CONTEXT ? c->context_tok : GENERATION_ENOUGH_CONTEXT;
    long context = o->context < 0 ? default_context : o->context, rows = o->rows, depth = o->depth;
    if (o->context < 0 && rows + (depth < 0 ? 0 : depth) > context)
        context = rows + (depth < 0 ? 0 : depth);
    if (depth < 0)
        depth = context - rows < DEFAULT_DEPTH ? context - rows : DEFAULT_DEPTH;
    if (depth < 0 || rows + depth > context)
        return err_set_kind(e, ERR_USAGE, "%ld rows after %ld positions do not fit a context of %ld", rows,
                            depth < 0 ? 0 : depth, context);
    x->rows = (uint32_t)rows;
    x->depth = (uint32_t)depth;
    x->context_tok = (uint32_t)context;
    return true;
}

/* Without one everything but times and limits is known all the same. */
static bool find_device(const options *o, lab_device *d, explain_options *x, char *about, size_t room, err *e)
{
    gpu_choice choice = cli_choice(&o->model);
    err why = {0};
    x->gbps = o->gbps;
    x->gflops = o->gflops;
    if (o->gbps > 0 && !o->timed && !o->model.impl) {
        snprintf(about, room, "limits at %g GB/s", o->gbps);
        return true;
    }
    if (!lab_device_open(d, &choice, o->gbps <= 0, &why)) {
        if (o->timed || o->model.impl)
            return err_set_kind(e, why.kind, "%s", why.text);
        snprintf(about, room, "no GPU here, so no limits are shown (--bandwidth GBPS says how fast one would be)");
        return true;
    }
    if (o->gbps <= 0)
        x->gbps = d->copy_gbps;
    x->most_matrix_bytes = d->info.max_storage_binding_bytes;
    snprintf(about, room, "%.100s (%s): %s %.*f GB/s", d->info.device, d->info.impl,
             o->gbps > 0 ? "taken to move" : "a copy moves", x->gbps < 100, x->gbps);
    return true;
}

/* Runs at the same depth, over a cache of zeros: what is in it takes no other time. */
static bool run_timed(explain *x, const graph *g, const model *m, gpu *on, err *e)
{
    decoder_weights weights = {.m = m, .context_tok = x->o.context_tok};
    graph_run *r = graph_run_new(on, &(graph_use){.g = g, .level = x->o.level}, 1, decoder_find_weight, &weights, e);
    bool ok = r && graph_run_possible(r, 0, e);
    sample_words settings = sample_pack(&(sample_settings){0});
    uint32_t *tokens = mem_alloc(x->o.rows * sizeof *tokens), last = x->o.rows - 1;
    for (int i = 0; ok && i < TIMED_RUNS; i++) {
        ok = graph_run_write(r, "tokens", tokens, e) && graph_run_write(r, "position", &x->o.depth, e) &&
             graph_run_write(r, "sampling", &settings, e);
        if (x->o.rows > 1)
            ok = ok && graph_run_write(r, "last", &last, e) && graph_run_write(r, "count", &x->o.rows, e);
        ok = ok && explain_time(x, r, e);
    }
    free(tokens);
    decoder_weights_free(&weights);
    graph_run_free(r);
    return ok;
}

static void describe_model(explain *x, const char *path, const model_config *c)
{
    snprintf(x->model, sizeof x->model, "%s", cli_short_name(path));
    snprintf(x->about, sizeof x->about, "%s, %u layers of %u, %u heads of %u (%u stored), feed-forward %u, %u tokens",
             config_arch_name(c->arch), c->layer_count, c->embedding_dim, c->head_count, c->head_dim, c->kv_head_count,
             c->ffn_dim, c->vocab_tok);
}

static bool print_explained(const options *o, const explain *x, err *e)
{
    str text = {0}, picture = {0};
    bool ok = true;
    if (o->svg) {
        explain_svg(x, &picture);
        ok = file_write(o->svg, picture.data, picture.length, e);
    }
    if (ok && !(o->svg && strcmp(o->svg, "-") == 0)) {
        (o->json ? explain_json : explain_print)(x, &text);
        cli_print_text(text.data, text.length); /* names in it are a file's */
    }
    str_free(&text);
    str_free(&picture);
    return ok;
}

static bool run(const options *o, const model *m, err *e)
{
    explain_options how = {.level = o->model.level};
    lab_device d = {0};
    char about[sizeof(((explain *)NULL)->device)] = "";
    if (!settle_sizes(o, model_get_config(m), &how, e) || !find_device(o, &d, &how, about, sizeof about, e))
        return false;
    decoder_options decoder = {
        .rows = how.rows, .context_tok = how.context_tok, .cache = DTYPE_F16, .one_row = how.rows > 1};
    graph *g = decoder_graph(m, &decoder, e);
    bool ok = g != NULL;
    if (ok) {
        generation_add_choice(g, how.rows, how.context_tok);
        ok = graph_ok(g, e);
    }
    explain *x = ok ? explain_new(g, &how) : NULL;
    if (x) {
        describe_model(x, o->model.path, model_get_config(m));
        snprintf(x->device, sizeof x->device, "%s", about);
        ok = (!o->timed || run_timed(x, g, m, d.g, e)) && print_explained(o, x, e);
    }
    explain_free(x);
    graph_free(g);
    lab_device_close(&d);
    return ok;
}

/* A program of PyTorch has no rows and no depth of its own: its shapes are fixed. */
static bool run_program(const options *o, err *e)
{
    explain_options how = {.level = o->model.level, .rows = 1};
    lab_device d = {0};
    pt2 *file = pt2_open(o->model.path, e);
    aten_program *p = file ? pt2_program(file) : NULL;
    explain *x = NULL;
    char about[sizeof x->device] = "";
    uint32_t needed, inputs, outputs, states;
    bool ok = p && find_device(o, &d, &how, about, sizeof about, e);
    if (ok) {
        x = explain_new(aten_program_graph(p), &how);
        aten_program_inputs(p, &inputs);
        aten_program_outputs(p, &outputs);
        aten_program_states(p, &states);
        snprintf(x->model, sizeof x->model, "%s", cli_short_name(o->model.path));
        uint32_t nodes = aten_program_nodes(p, &needed);
        snprintf(x->about, sizeof x->about,
                 "PyTorch, %u ATen nodes, of which %u are needed; inputs: %u, outputs: %u, "
                 "states: %u",
                 nodes, needed, inputs, outputs, states);
        snprintf(x->device, sizeof x->device, "%s", about);
        graph_run *r = o->timed ? program_run_new(d.g, p, how.level, e) : NULL;
        ok = !o->timed || r;
        for (int i = 0; ok && r && i < TIMED_RUNS; i++)
            ok = explain_time(x, r, e);
        graph_run_free(r);
        ok = ok && print_explained(o, x, e);
    }
    explain_free(x);
    pt2_free(file);
    lab_device_close(&d);
    return ok;
}

static bool print_kernel(const options *o, err *e)
{
    str text = {0};
    bool ok = kernel_print(o->kernel, o->type, &text, e) && file_write("-", text.data, text.length, e);
    str_free(&text);
    return ok;
}

static int run_command(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    if (o->type && !o->kernel) {
        err_set_kind(&e, ERR_USAGE, "--type goes with --kernel");
        return cli_fail(&e);
    }
    if (o->json && o->svg && strcmp(o->svg, "-") == 0) {
        err_set_kind(&e, ERR_USAGE, "--json and --svg - both go to standard output: give the picture a file");
        return cli_fail(&e);
    }
    if (o->kernel)
        return print_kernel(o, &e) ? 0 : cli_fail(&e);
    if (!cli_keeps_input("--svg", o->svg, o->model.path, &e) ||
        (o->svg && strcmp(o->svg, "-") != 0 && !file_writable(o->svg, &e)))
        return cli_fail(&e);
    if (o->model.path && pt2_is_path(o->model.path))
        return run_program(o, &e) ? 0 : cli_fail(&e);
    model *m = cli_open_model(&o->model, &e);
    bool ok = m && run(o, m, &e);
    model_close(m);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {.model.level = LEVEL_OPS, .rows = 1, .depth = -1, .context = -1};

const cli_command command_explain = {
    .name = "explain",
    .summary = "what is launched for a token: steps, bytes, limits",
    .about =
        "Shows what is launched to make a token: how many steps fusion takes away, what is in those that stay, what "
        "each moves and computes, and how long the memory takes for that at least. No weight is read, unless --time. "
        "MODEL may be a program of PyTorch, too: a .pt2 file.",
    .groups = {{NULL, MODEL_TABLE, offsetof(options, model)},
               {NULL, TABLE, 0},
               {"How it runs", LEVEL_TABLE, offsetof(options, model)},
               {NULL, DEVICE_TABLE, offsetof(options, model)}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run_command};
