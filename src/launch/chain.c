/* A chain of dependent steps: its buffers, its launches, its answer. */
#include "launch/chain.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 3 };

/* f32 against f64 over thousands of steps that keep lengths. */
static const double TOLERANCE = 2e-3;

struct chain_expected {
    uint32_t steps, workgroups;
    double *state;
    struct chain_expected *next;
};

static uint32_t workgroups_per_step(const chain *c)
{
    return c->kind->workgroups ? c->kind->workgroups : c->one_workgroups;
}

uint64_t chain_slot_offset(const chain *c, int slot)
{
    uint32_t align = gpu_get_info(c->g)->uniform_align_bytes;
    return (uint64_t)slot * ((sizeof(chain_params) + align - 1) / align * align);
}

chain_params chain_params_for(const chain *c, int slot, uint32_t steps)
{
    return (chain_params){
        .launch.spin_limit = c->spin_limit, .step = slot == 1, .steps = steps, .workgroups = workgroups_per_step(c)};
}

void chain_parts(const chain *c, int slot, gpu_part parts[CHAIN_BINDINGS])
{
    parts[0] = (gpu_part){c->params, chain_slot_offset(c, slot), sizeof(chain_params)};
    parts[1] = (gpu_part){.buffer = c->weights};
    parts[2] = (gpu_part){.buffer = c->state};
    parts[3] = (gpu_part){.buffer = c->grid};
}

static void write_params(chain *c, int slot, uint32_t steps)
{
    chain_params p = chain_params_for(c, slot, steps);
    gpu_write(c->g, c->params, chain_slot_offset(c, slot), &p, sizeof p);
}

static gpu_kernel *make_kernel(gpu *g, const chain_kind *kind, const char *entry)
{
    return gpu_kernel_new(
        g, &(gpu_kernel_desc){.source = kind->source,
                              .entry = entry,
                              .workgroup_size = kind->threads,
                              .binding_count = CHAIN_BINDINGS,
                              .bindings = {GPU_BIND_UNIFORM, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE}});
}

static void upload_weights(chain *c)
{
    if (!c->kind->weights)
        return;
    float *w = mem_alloc(c->kind->weight_count * sizeof *w);
    c->kind->weights(w);
    gpu_write(c->g, c->weights, 0, w, c->kind->weight_count * sizeof *w);
    free(w);
}

chain *chain_new(gpu *g, const chain_kind *kind, uint32_t one_workgroups)
{
    chain *c = mem_alloc(sizeof *c);
    *c = (chain){.g = g, .kind = kind, .one_workgroups = one_workgroups, .spin_limit = persistent_spin_limit(g, NULL)};
    if (kind->workgroups && kind->workgroups < one_workgroups)
        c->one_workgroups = kind->workgroups;
    c->each = make_kernel(g, kind, "each");
    c->one = make_kernel(g, kind, "one");
    c->params = gpu_buffer_new(g, chain_slot_offset(c, SLOTS), GPU_USE_UNIFORM);
    c->weights = gpu_buffer_new(g, kind->weight_count * sizeof(float), GPU_USE_STORAGE);
    c->state = gpu_buffer_new(g, 2 * kind->width * sizeof(uint32_t), GPU_USE_STORAGE);
    c->grid = gpu_buffer_new(g, GRID_WORDS * sizeof(uint32_t), GPU_USE_STORAGE);
    c->indirect = gpu_buffer_new(g, 3 * sizeof(uint32_t), GPU_USE_INDIRECT);
    gpu_write(g, c->indirect, 0, (uint32_t[]){workgroups_per_step(c), 1, 1}, 3 * sizeof(uint32_t));
    upload_weights(c);
    for (int slot = 0; slot < SLOTS; slot++) {
        gpu_part parts[CHAIN_BINDINGS];
        write_params(c, slot, 1);
        chain_parts(c, slot, parts);
        gpu_bindings *b = gpu_bindings_new(g, slot < 2 ? c->each : c->one, parts, CHAIN_BINDINGS);
        *(slot < 2 ? &c->step[slot] : &c->persistent) = b;
    }
    return c;
}

void chain_free(chain *c)
{
    if (!c)
        return;
    while (c->expected) {
        struct chain_expected *next = c->expected->next;
        free(c->expected->state);
        free(c->expected);
        c->expected = next;
    }
    gpu_bindings_free(c->step[0]);
    gpu_bindings_free(c->step[1]);
    gpu_bindings_free(c->persistent);
    gpu_kernel_free(c->each);
    gpu_kernel_free(c->one);
    gpu_buffer_free(c->params);
    gpu_buffer_free(c->weights);
    gpu_buffer_free(c->state);
    gpu_buffer_free(c->grid);
    gpu_buffer_free(c->indirect);
    free(c);
}

bool chain_reset(chain *c, uint32_t steps, err *e)
{
    size_t bytes = 2 * c->kind->width * sizeof(uint32_t);
    uint32_t *state = mem_alloc(bytes);
    if (c->kind->start)
        c->kind->start(state);
    gpu_write(c->g, c->state, 0, state, bytes);
    persistent p = chain_persistent(c);
    persistent_reset(&p);
    write_params(c, 2, steps);
    free(state);
    return gpu_wait(c->g, e);
}

static const double *expected(chain *c, uint32_t steps)
{
    for (struct chain_expected *known = c->expected; known; known = known->next)
        if (known->steps == steps && known->workgroups == workgroups_per_step(c))
            return known->state;
    struct chain_expected *x = mem_alloc(sizeof *x);
    x->steps = steps;
    x->workgroups = workgroups_per_step(c);
    x->state = mem_alloc(c->kind->width * sizeof *x->state);
    c->kind->after(x->state, steps, workgroups_per_step(c));
    x->next = c->expected;
    c->expected = x;
    return x->state;
}

static double word_value(const chain_kind *kind, uint32_t word)
{
    float f;
    memcpy(&f, &word, sizeof f);
    return kind->is_float ? (double)f : (double)word;
}

bool chain_check(chain *c, uint32_t steps, err *e)
{
    const chain_kind *k = c->kind;
    /* `empty` has one generation only: it counts in place. */
    uint64_t offset = k->width > 1 && steps % 2 ? k->width * sizeof(uint32_t) : 0;
    uint32_t *words = mem_alloc(k->width * sizeof *words);
    bool ok = gpu_read_now(c->g, c->state, offset, words, k->width * sizeof *words, e);
    const double *right = expected(c, steps);
    for (uint32_t i = 0; ok && i < k->width; i++) {
        double got = word_value(k, words[i]);
        double margin = k->is_float ? TOLERANCE * (1 + fabs(right[i])) : 0;
        if (!(fabs(got - right[i]) <= margin))
            ok = err_set(e, "%s: kernel %s: wrong result: element %u is %.9g instead of %.9g after %u steps",
                         gpu_get_info(c->g)->impl, k->name, i, got, right[i], steps);
    }
    free(words);
    return ok;
}

persistent chain_persistent(const chain *c)
{
    return (persistent){.g = c->g,
                        .kernel = c->one,
                        .bindings = c->persistent,
                        .params = c->params,
                        .params_at = chain_slot_offset(c, SLOTS - 1),
                        .grid = c->grid};
}
