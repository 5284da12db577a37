/* run_state: finds inputs, outputs and states of a run, reads and writes them. */
#include "graph/run_state.h"
#include "base/str.h"
#include "graph/memory.h"

#include <stdlib.h>
#include <string.h>

/* The state behind a node, or 0. */
static node state_of(const graph *g, node n)
{
    n = plan_root(g, n);
    if (graph_at(g, n)->op == OP_STORE)
        n = graph_at(g, n)->operands[0];
    return graph_at(g, n)->op == OP_STATE ? n : 0;
}

static bool find_state(const graph_run *r, uint32_t which, node state, graph_tensor *out)
{
    const memory *m = graph_run_memory(r);
    const graph_node *n = graph_at(graph_run_plan(r, which)->g, state);
    uint32_t arena = memory_state_arena(m, which, state);
    if (arena == UINT32_MAX) /* no step reads or writes it */
        return false;
    *out = (graph_tensor){.buffer = memory_states(m, arena),
                          .offset_bytes = (uint64_t)memory_at(m, which, state) * 4,
                          .bytes = dtype_bytes(n->type, shape_count(n->s)),
                          .is_state = true};
    return true;
}

bool graph_run_find(const graph_run *r, uint32_t which, const char *name, graph_tensor *out, err *e)
{
    const graph *g = graph_run_plan(r, which)->g;
    node n = graph_find(g, name), state = n ? state_of(g, n) : 0;
    graph_place p = graph_run_place(r, name);
    *out = (graph_tensor){.buffer = memory_activations(graph_run_memory(r)),
                          .offset_bytes = (uint64_t)p.word * 4,
                          .bytes = p.words * 4,
                          .is_input = n && graph_at(g, n)->op == OP_INPUT};
    if (state ? find_state(r, which, state, out) : p.words > 0)
        return true;
    return err_set_kind(e, ERR_USAGE, "there is no input, output or state %s that is used", name);
}

static uint64_t whole_words(uint64_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

bool graph_tensor_read(gpu *g, const graph_tensor *t, void *elements, err *e)
{
    uint64_t bytes = whole_words(t->bytes);
    if (bytes == t->bytes)
        return gpu_read_now(g, t->buffer, t->offset_bytes, elements, bytes, e);
    char *words = mem_alloc(bytes);
    bool ok = gpu_read_now(g, t->buffer, t->offset_bytes, words, bytes, e);
    if (ok)
        memcpy(elements, words, t->bytes);
    free(words);
    return ok;
}

/* Copies tensors one behind the other into `all`, and reads that. */
static bool read_together(gpu *g, const graph_tensor *tensors, void *const *elements, uint32_t count, gpu_buffer *all,
                          uint64_t bytes, err *e)
{
    gpu_recording *r = gpu_record(g, false);
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        gpu_copy(r, tensors[i].buffer, tensors[i].offset_bytes, all, at, whole_words(tensors[i].bytes));
        at += whole_words(tensors[i].bytes);
    }
    gpu_submit(g, gpu_finish(r));
    char *words = mem_alloc(bytes);
    bool ok = gpu_read_now(g, all, 0, words, bytes, e);
    at = 0;
    for (uint32_t i = 0; ok && i < count; i++) {
        memcpy(elements[i], words + at, tensors[i].bytes);
        at += whole_words(tensors[i].bytes);
    }
    free(words);
    return ok;
}

bool graph_tensors_read(gpu *g, const graph_tensor *tensors, void *const *elements, uint32_t count, gpu_buffer **kept,
                        err *e)
{
    enum { MOST_BYTES = 64 << 20 }; /* together: more are read one by one, which then is copying, not waiting */
    uint64_t bytes = 0;
    bool ok = true;
    for (uint32_t i = 0; i < count; i++)
        bytes += whole_words(tensors[i].bytes);
    if (count < 2 || bytes > MOST_BYTES) {
        for (uint32_t i = 0; ok && i < count; i++)
            ok = graph_tensor_read(g, &tensors[i], elements[i], e);
        return ok;
    }
    if (!*kept || gpu_buffer_bytes(*kept) < bytes) {
        gpu_buffer_free(*kept);
        *kept = gpu_buffer_new(g, bytes, GPU_USE_STORAGE);
    }
    return gpu_ok(g, e) && read_together(g, tensors, elements, count, *kept, bytes, e);
}

bool graph_tensor_write(gpu *g, const graph_tensor *t, const void *elements, err *e)
{
    uint64_t bytes = whole_words(t->bytes);
    char *words = mem_alloc(bytes);
    memcpy(words, elements, t->bytes);
    gpu_write(g, t->buffer, t->offset_bytes, words, bytes);
    free(words);
    return gpu_ok(g, e);
}
