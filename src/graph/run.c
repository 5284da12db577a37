#include "graph/run.h"
#include "base/str.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAST = GRAPH_MAX_DIMS - 1,
    THREADS = 64,        /* as in kernels/include/graph.wgsl */
    ARGUMENTS = 32,      /* words an operator is told */
    MAX_ARENAS = 64,     /* of weights */
    WEIGHT_ALIGN = 256,  /* so that a binding may begin at any weight's arena */
    MAX_HEAD_SIZE = 256, /* as in kernels/graph/op_attention.wgsl */
    WIDEST_GRID = 32768, /* workgroups in x; more go to y */
};

/* Where a node's elements are. */
typedef struct place {
    uint32_t arena;  /* of weights: which; else 0 */
    uint64_t offset; /* in words for activations and states, in bytes for weights */
} place;

typedef struct step {
    gpu_kernel *kernel; /* shared: the run frees kernels by kind */
    gpu_bindings *bindings;
    uint32_t words[ARGUMENTS];
    uint32_t arena;
} step;

typedef struct arena {
    gpu_buffer *buffer;
    uint64_t bytes;
} arena;

struct graph_run {
    gpu *g;
    const graph *what;
    place *places; /* [node]: elements as activations or states, or bytes in a weight arena */
    place *floats; /* [node]: of weights that stand beside activations, their floats there; else no place */
    bool *has_floats;
    gpu_kernel *kernels[OP_COUNT];
    step *steps;
    uint32_t step_count;
    arena arenas[MAX_ARENAS];
    uint32_t arena_count;
    gpu_buffer *activations, *states, *arguments;
    uint64_t activation_words, state_words;
};

/* ---- where everything lies ----------------------------------------------- */

static uint64_t word_count(const graph_node *n)
{
    uint64_t count = shape_count(n->s);
    return n->type == DTYPE_F16 ? (count + 1) / 2 : count;
}

static bool place_matrix(graph_run *r, node at, uint64_t limit, err *e)
{
    const graph_node *n = graph_at(r->what, at);
    uint64_t bytes = type_bytes(n->as.weight, shape_count(n->s));
    bytes = (bytes + WEIGHT_ALIGN - 1) / WEIGHT_ALIGN * WEIGHT_ALIGN;
    if (bytes > limit)
        return err_set(e, "weight %s has %llu bytes and this device binds %llu at most", n->name,
                       (unsigned long long)bytes, (unsigned long long)limit);
    if (r->arena_count == 0 || r->arenas[r->arena_count - 1].bytes + bytes > limit) {
        if (r->arena_count == MAX_ARENAS)
            return err_set(e, "the weights do not fit %d buffers of %llu bytes", MAX_ARENAS, (unsigned long long)limit);
        r->arena_count++;
    }
    arena *a = &r->arenas[r->arena_count - 1];
    r->places[at] = (place){r->arena_count - 1, a->bytes};
    a->bytes += bytes;
    return true;
}

/* As floats beside the activations, as it is in an arena, or both: as it is used. */
static bool place_weight(graph_run *r, node at, uint64_t limit, err *e)
{
    int uses = graph_weight_uses(r->what, at);
    if (uses & WEIGHT_AS_FLOATS) {
        r->has_floats[at] = true;
        r->floats[at].offset = r->activation_words;
        r->activation_words += shape_count(graph_at(r->what, at)->s);
    }
    return uses == WEIGHT_AS_FLOATS || place_matrix(r, at, limit, e);
}

static bool place_all(graph_run *r, err *e)
{
    uint64_t limit = gpu_get_info(r->g)->max_storage_binding_bytes;
    if (limit > UINT32_MAX)
        limit = UINT32_MAX; /* bytes are counted in 32 bits in the kernels */
    limit = limit / WEIGHT_ALIGN * WEIGHT_ALIGN;
    for (node i = 1; i <= graph_count(r->what); i++) {
        const graph_node *n = graph_at(r->what, i);
        if (n->op == OP_RESHAPE || n->op == OP_STORE)
            r->places[i] = r->places[n->operands[0]];
        else if (n->op == OP_STATE) {
            r->places[i].offset = r->state_words;
            r->state_words += word_count(n);
        } else if (n->op != OP_WEIGHT) {
            r->places[i].offset = r->activation_words;
            r->activation_words += word_count(n);
        } else if (!place_weight(r, i, limit, e))
            return false;
    }
    if (r->activation_words * 4 > limit || r->state_words * 4 > limit)
        return err_set(e, "activations of %llu bytes and states of %llu do not fit this device's bindings of %llu",
                       (unsigned long long)r->activation_words * 4, (unsigned long long)r->state_words * 4,
                       (unsigned long long)limit);
    return true;
}

static gpu_buffer *make_buffer(graph_run *r, uint64_t bytes)
{
    return gpu_buffer_new(r->g, bytes ? bytes : 4, GPU_USE_STORAGE);
}

static bool upload(graph_run *r, node at, graph_weight_source source, void *user, err *e)
{
    const graph_node *n = graph_at(r->what, at);
    const void *data = source(user, n->name);
    if (!data)
        return err_set(e, "weight %s is missing", n->name);
    uint64_t count = shape_count(n->s), bytes = type_bytes(n->as.weight, count);
    if (r->has_floats[at]) {
        float *floats = mem_alloc(count * sizeof *floats);
        type_to_f32(n->as.weight, data, floats, count);
        gpu_write(r->g, r->activations, r->floats[at].offset * 4, floats, count * sizeof *floats);
        free(floats);
    }
    if (graph_weight_uses(r->what, at) == WEIGHT_AS_FLOATS)
        return true;
    /* Writes come in words; the last bytes of an odd length go by themselves. */
    gpu_buffer *to = r->arenas[r->places[at].arena].buffer;
    uint64_t whole = bytes / 4 * 4;
    if (whole)
        gpu_write(r->g, to, r->places[at].offset, data, whole);
    if (bytes > whole) {
        uint32_t rest = 0;
        memcpy(&rest, (const char *)data + whole, bytes - whole);
        gpu_write(r->g, to, r->places[at].offset + whole, &rest, 4);
    }
    return true;
}

/* ---- what each operator is told ------------------------------------------ */

static uint32_t as_word(float f)
{
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    return w;
}

static uint32_t offset_of(const graph_run *r, node n)
{
    return (uint32_t)(r->has_floats[n] ? r->floats[n].offset : r->places[n].offset);
}

static uint32_t groups_for(uint64_t threads)
{
    return (uint32_t)((threads + THREADS - 1) / THREADS);
}

static void tell_weight(graph_run *r, step *s, node weight)
{
    const graph_node *w = graph_at(r->what, weight);
    s->arena = r->places[weight].arena;
    s->words[5] = (uint32_t)r->places[weight].offset;
    s->words[6] = (uint32_t)type_bytes(w->as.weight, w->s.dims[LAST]);
    s->words[7] = w->as.weight;
}

static void tell_binary(const graph_run *r, step *s, const graph_node *n)
{
    shape y = graph_at(r->what, n->operands[1])->s;
    uint32_t stride = 1;
    s->words[3] = offset_of(r, n->operands[1]);
    s->words[4] = (uint32_t)shape_count(n->s);
    s->words[5] = n->as.binary;
    for (int d = LAST; d >= 0; d--) {
        s->words[8 + d] = n->s.dims[d];
        s->words[12 + d] = y.dims[d] == 1 ? 0 : stride;
        stride *= y.dims[d];
    }
    s->words[0] = groups_for(s->words[4]);
}

static void tell_rope(const graph_run *r, step *s, const graph_node *n)
{
    const rope_spec *spec = &n->as.rope;
    uint32_t rest[] = {n->s.dims[3],
                       n->s.dims[2],
                       offset_of(r, n->operands[1]),
                       spec->rotated,
                       spec->interleaved,
                       as_word(log2f(spec->base)),
                       as_word(spec->magnitude > 0 ? spec->magnitude : 1),
                       n->operand_count > 2,
                       n->operand_count > 2 ? offset_of(r, n->operands[2]) : 0};
    s->words[0] = n->s.dims[1] * n->s.dims[2];
    memcpy(s->words + 3, rest, sizeof rest);
}

static void tell_store(const graph_run *r, step *s, const graph_node *n)
{
    const graph_node *x = graph_at(r->what, n->operands[1]);
    uint32_t count = (uint32_t)shape_count(x->s);
    uint32_t rest[] = {offset_of(r, n->operands[0]), offset_of(r, n->operands[1]), count,
                       n->s.dims[2] * n->s.dims[3],  offset_of(r, n->operands[2]), n->s.dims[1],
                       n->type == DTYPE_F16};
    s->words[0] = groups_for(count / 2);
    memcpy(s->words + 1, rest, sizeof rest);
}

static void tell_attention(const graph_run *r, step *s, const graph_node *n)
{
    const graph_node *q = graph_at(r->what, n->operands[0]), *k = graph_at(r->what, n->operands[1]);
    bool half = k->type == DTYPE_F16;
    uint32_t scale = half ? 2 : 1; /* states are counted in words, the kernel counts elements */
    uint32_t rest[] = {q->s.dims[3],
                       q->s.dims[2],
                       k->s.dims[2],
                       offset_of(r, n->operands[3]),
                       as_word(n->as.attention.scale),
                       as_word(n->as.attention.softcap),
                       n->as.attention.window,
                       offset_of(r, n->operands[1]) * scale,
                       offset_of(r, n->operands[2]) * scale,
                       half,
                       k->s.dims[1]};
    s->words[0] = q->s.dims[1] * q->s.dims[2];
    memcpy(s->words + 3, rest, sizeof rest);
}

static void tell(graph_run *r, step *s, node at)
{
    const graph_node *n = graph_at(r->what, at);
    const graph_node *x = graph_at(r->what, n->operands[0]);
    uint32_t count = (uint32_t)shape_count(n->s), length = x->s.dims[LAST];
    uint32_t rows = (uint32_t)(shape_count(x->s) / length);
    s->words[0] = groups_for(count);
    s->words[1] = offset_of(r, at);
    s->words[2] = offset_of(r, n->operands[0]);
    s->words[3] = count;
    switch (n->op) {
    case OP_UNARY:
        s->words[4] = n->as.unary.kind;
        s->words[5] = as_word(n->as.unary.a);
        s->words[6] = as_word(n->as.unary.b);
        break;
    case OP_BINARY: tell_binary(r, s, n); break;
    case OP_REDUCE:
    case OP_SOFTMAX:
    case OP_RMSNORM:
        s->words[0] = rows;
        s->words[3] = length;
        s->words[4] = n->op == OP_REDUCE    ? n->as.reduce
                      : n->op == OP_SOFTMAX ? as_word(n->as.softmax_scale)
                                            : offset_of(r, n->operands[1]);
        s->words[5] = as_word(n->as.rmsnorm.epsilon);
        s->words[6] = as_word(n->as.rmsnorm.weight_offset);
        break;
    case OP_MATMUL:
        s->words[0] = count;
        s->words[3] = length;
        s->words[4] = n->s.dims[LAST];
        tell_weight(r, s, n->operands[1]);
        break;
    case OP_GATHER:
        s->words[0] = n->s.dims[LAST - 1];
        s->words[2] = offset_of(r, n->operands[1]);
        s->words[3] = n->s.dims[LAST];
        s->words[4] = x->s.dims[LAST - 1];
        tell_weight(r, s, n->operands[0]);
        break;
    case OP_ROPE: tell_rope(r, s, n); break;
    case OP_STORE: tell_store(r, s, n); break;
    case OP_ATTENTION: tell_attention(r, s, n); break;
    case OP_SLICE:
        s->words[4] = n->s.dims[LAST];
        s->words[5] = length;
        s->words[6] = n->as.slice_start;
        break;
    default: break;
    }
}

/* ---- building ------------------------------------------------------------ */

static const gpu_source *source_of(graph_op op)
{
    switch (op) {
    case OP_UNARY: return &kernel_op_unary;
    case OP_BINARY: return &kernel_op_binary;
    case OP_REDUCE: return &kernel_op_reduce;
    case OP_SOFTMAX: return &kernel_op_softmax;
    case OP_RMSNORM: return &kernel_op_rmsnorm;
    case OP_MATMUL: return &kernel_op_matmul;
    case OP_GATHER: return &kernel_op_gather;
    case OP_ROPE: return &kernel_op_rope;
    case OP_STORE: return &kernel_op_store;
    case OP_ATTENTION: return &kernel_op_attention;
    case OP_SLICE: return &kernel_op_slice;
    default: return NULL; /* nothing moves */
    }
}

static gpu_kernel *kernel_of(graph_run *r, graph_op op)
{
    if (!r->kernels[op])
        r->kernels[op] = gpu_kernel_new(
            r->g, &(gpu_kernel_desc){.source = source_of(op),
                                     .entry = "main",
                                     .workgroup_size = THREADS,
                                     .binding_count = 4,
                                     .bindings = {GPU_BIND_UNIFORM, GPU_BIND_READ, GPU_BIND_WRITE, GPU_BIND_WRITE}});
    return r->kernels[op];
}

/* What the kernels take for granted. */
static bool kernels_can(const graph *g, err *e)
{
    for (node i = 1; i <= graph_count(g); i++) {
        const graph_node *n = graph_at(g, i);
        if (n->op == OP_ATTENTION && graph_at(g, n->operands[0])->s.dims[LAST] > MAX_HEAD_SIZE)
            return err_set(e, "heads of %u elements: %d is the most here", graph_at(g, n->operands[0])->s.dims[LAST],
                           MAX_HEAD_SIZE);
        if (n->op == OP_STORE && n->s.dims[2] * n->s.dims[3] % 2 != 0)
            return err_set(e, "rows of a state must have an even number of elements");
    }
    return true;
}

static void make_steps(graph_run *r)
{
    uint32_t align = gpu_get_info(r->g)->uniform_align_bytes, bytes = ARGUMENTS * sizeof(uint32_t);
    uint64_t slot = align > bytes ? align : bytes;
    r->steps = mem_alloc(graph_count(r->what) * sizeof *r->steps);
    for (node i = 1; i <= graph_count(r->what); i++)
        if (source_of(graph_at(r->what, i)->op)) {
            step *s = &r->steps[r->step_count++];
            s->kernel = kernel_of(r, graph_at(r->what, i)->op);
            tell(r, s, i);
        }
    r->arguments = gpu_buffer_new(r->g, slot * (r->step_count ? r->step_count : 1), GPU_USE_UNIFORM);
    for (uint32_t i = 0; i < r->step_count; i++) {
        step *s = &r->steps[i];
        gpu_write(r->g, r->arguments, i * slot, s->words, sizeof s->words);
        gpu_part parts[] = {{r->arguments, i * slot, bytes},
                            {.buffer = r->arenas[s->arena].buffer},
                            {.buffer = r->activations},
                            {.buffer = r->states}};
        s->bindings = gpu_bindings_new(r->g, s->kernel, parts, 4);
    }
}

graph_run *graph_run_new(gpu *g, const graph *what, graph_weight_source source, void *user, err *e)
{
    if (!graph_ok(what, e) || !kernels_can(what, e))
        return NULL;
    size_t slots = graph_count(what) + 1;
    graph_run *r = mem_alloc(sizeof *r);
    *r = (graph_run){.g = g, .what = what};
    r->places = mem_alloc(slots * sizeof *r->places);
    r->floats = mem_alloc(slots * sizeof *r->floats);
    r->has_floats = mem_alloc(slots * sizeof *r->has_floats);
    bool ok = place_all(r, e);
    if (ok) {
        if (r->arena_count == 0)
            r->arena_count = 1; /* there must be something to bind */
        for (uint32_t i = 0; i < r->arena_count; i++)
            r->arenas[i].buffer = make_buffer(r, r->arenas[i].bytes);
        r->activations = make_buffer(r, r->activation_words * 4);
        r->states = make_buffer(r, r->state_words * 4);
        for (node i = 1; ok && i < slots; i++)
            ok = graph_at(what, i)->op != OP_WEIGHT || upload(r, i, source, user, e);
        make_steps(r);
        ok = ok && gpu_wait(g, e);
    }
    if (ok)
        return r;
    graph_run_free(r);
    return NULL;
}

void graph_run_free(graph_run *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->step_count; i++)
        gpu_bindings_free(r->steps[i].bindings);
    for (int op = 0; op < OP_COUNT; op++)
        gpu_kernel_free(r->kernels[op]);
    for (uint32_t i = 0; i < r->arena_count; i++)
        gpu_buffer_free(r->arenas[i].buffer);
    gpu_buffer_free(r->activations);
    gpu_buffer_free(r->states);
    gpu_buffer_free(r->arguments);
    free(r->steps);
    free(r->places);
    free(r->floats);
    free(r->has_floats);
    free(r);
}

/* ---- running ------------------------------------------------------------- */

bool graph_run_write(graph_run *r, const char *input, const void *elements, err *e)
{
    node n = graph_find(r->what, input);
    if (!n || graph_at(r->what, n)->op != OP_INPUT)
        return err_set(e, "there is no input %s", input);
    gpu_write(r->g, r->activations, r->places[n].offset * 4, elements, shape_count(graph_at(r->what, n)->s) * 4);
    return gpu_ok(r->g, e);
}

void graph_run_once(graph_run *r)
{
    gpu_recording *recording = gpu_record(r->g, false);
    gpu_pass_begin(recording, NULL, 0);
    for (uint32_t i = 0; i < r->step_count; i++) {
        const step *s = &r->steps[i];
        uint32_t groups = s->words[0], x = groups < WIDEST_GRID ? groups : WIDEST_GRID;
        gpu_set_kernel(recording, s->kernel);
        gpu_set_bindings(recording, s->bindings);
        gpu_dispatch(recording, x, (groups + x - 1) / x, 1);
    }
    gpu_pass_end(recording);
    gpu_submit(r->g, gpu_finish(recording));
}

bool graph_run_read(graph_run *r, const char *output, void *elements, err *e)
{
    node n = graph_find(r->what, output);
    if (!n || graph_at(r->what, n)->op == OP_WEIGHT || graph_at(r->what, n)->op == OP_STATE)
        return err_set(e, "there is no output %s", output);
    return gpu_read_now(r->g, r->activations, r->places[n].offset * 4, elements,
                        shape_count(graph_at(r->what, n)->s) * 4, e);
}

uint32_t graph_run_dispatches(const graph_run *r)
{
    return r->step_count;
}
