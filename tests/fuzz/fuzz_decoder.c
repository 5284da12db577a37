/* Configuration, graph, plan, memory, dispatches: of a GGUF file's beginning, of which no weight is there. It is read in
 * pieces, as a page reads it; behind the input the file has zeros. Whatever is accepted can be lowered, or is refused by
 * one line. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "decoder"
#define FUZZ_MUTATIONS 3000
#include "base/str.h"
#include "fuzz/config_rules.h"
#include "graph/lower.h"
#include "model/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 256 << 10, CONTEXT_TOK = 32 };

typedef struct pretended {
    const uint8_t *bytes;
    size_t length;
} pretended;

static bool read_some(void *user, uint64_t offset, void *to, size_t bytes, err *e)
{
    (void)e;
    const pretended *p = user;
    require(offset <= FILE_BYTES && bytes <= FILE_BYTES - offset, "bytes behind the end are asked for");
    memset(to, 0, bytes);
    if (offset < p->length)
        memcpy(to, p->bytes + offset, bytes < p->length - offset ? bytes : p->length - offset);
    return true;
}

/* Every step reads what steps before it made, and every node that has a step is made by one. */
static void check_steps(const plan *p)
{
    const graph *g = p->g;
    node nodes[PLAN_MAX_NODES];
    bool *made = mem_alloc((graph_count(g) + 1) * sizeof *made);
    for (uint32_t i = 0; i < p->count; i++) {
        for (uint32_t k = 0, n = plan_reads(p, &p->steps[i], nodes); k < n; k++) {
            graph_op op = graph_at(g, nodes[k])->op;
            require(op == OP_INPUT || op == OP_WEIGHT || op == OP_STATE || op == OP_RESHAPE || made[nodes[k]],
                    "a step reads what is not there");
        }
        for (uint32_t k = 0, n = plan_writes(p, &p->steps[i], nodes); k < n; k++)
            made[nodes[k]] = true;
        plan_cost_of(p, &p->steps[i], CONTEXT_TOK);
    }
    free(made);
}

static void lower(gpu *g, const plan *p)
{
    err e = {0};
    const gpu_info *info = gpu_get_info(g);
    device_profile profile = device_profile_for(info);
    lowered_plan dispatches = {0};
    memory *m = memory_new(g, &(plan *){(plan *)(uintptr_t)p}, 1, &e);
    bool ok = m && lower_plan(&profile, &(launch_form){.row_threads = profile.row_threads}, m, 0, p, &dispatches, &e);
    require(ok == (e.kind == ERR_NONE), "an error beside a plan's dispatches, or neither");
    require(!ok || dispatches.count >= p->count, "a step without a dispatch");
    if (!ok)
        require_line(&e);
    lowered_plan_free(&dispatches);
    memory_free(m);
    gpu_take_error(g, NULL);
}

static void plan_it(gpu *device, const model *m, uint32_t rows, bool slots)
{
    err e = {0};
    bool whole = config_is_encoder(model_get_config(m));
    decoder_options o = {
        .rows = rows, .context_tok = CONTEXT_TOK, .cache = DTYPE_F16, .slots = slots && !whole, .whole = whole};
    graph *g = decoder_graph(m, &o, &e);
    require((g != NULL) == (e.kind == ERR_NONE), "an error beside a graph, or neither");
    if (!g) {
        require_line(&e);
        return;
    }
    for (fusion_level level = LEVEL_NONE; level <= LEVEL_OPS; level++) {
        plan *p = plan_new(g, 1 << 30);
        plan_fuse(p, level);
        check_steps(p);
        if (lower_possible(p, &e))
            lower(device, p);
        else
            require_line(&e);
        err_clear(&e);
        plan_free(p);
    }
    graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static gpu *device;
    err e = {0};
    pretended file = {bytes, length};
    if (!device)
        device = gpu_open_now(&(gpu_choice){.impl = "stub"}, &e);
    require(device != NULL, "the stub cannot be opened");
    model *m = model_open_reader(&(model_reader){FILE_BYTES, read_some, &file}, "input", &e);
    require((m != NULL) == (e.kind == ERR_NONE), "an error beside a model, or neither");
    if (!m) {
        require_line(&e);
        return 0;
    }
    check_config(model_get_config(m));
    plan_it(device, m, 1, false);
    plan_it(device, m, 8, false);
    plan_it(device, m, 3, true);
    model_close(m);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
