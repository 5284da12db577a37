/* The public API's runs: a graph on a device, what goes into it and what comes out. */
#include "api/graph.h"
#include "base/str.h"
#include "graph/run_state.h"
#include "llm/program_run.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS_PER_DISPATCH = 64 }; /* a watchdog ends dispatches that take too long */

typedef struct binding {
    char *name;
    graph_tensor tensor;
    solo_buffer *buffer;
} binding;

struct solo_run {
    gpu *g;
    graph_run *r;
    submit_policy submit;
    binding *bindings;
    uint32_t count;
    gpu_buffer *together; /* of what is read at once */
};

static const void *find_weight(void *user, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    const solo_graph *g = user;
    if (g->program)
        return aten_program_weight(g->program, name, first, bytes, e);
    for (uint32_t i = 0; i < g->count; i++)
        if (strcmp(g->weights[i].name, name) == 0 && g->weights[i].data)
            return (const char *)g->weights[i].data + first;
    err_set_kind(e, ERR_USAGE, "the weight %s has no data", name);
    return NULL;
}

static bool are_known(const solo_run_options *o, err *e)
{
    return ((unsigned)o->level <= SOLO_LEVEL_LOOP && (unsigned)o->submit <= SOLO_SUBMIT_BATCH) ||
           err_set_kind(e, ERR_USAGE, "there is no such level or submit policy");
}

solo_run *solo_run_new(solo_device *d, const solo_graph *g, const solo_run_options *o, solo_error *to)
{
    static const solo_run_options none = {0};
    err e = {0};
    o = o ? o : &none;
    if (!api_is_here(d, to) || !api_is_here(g, to) || !api_result(to, &e, are_known(o, &e)))
        return NULL;
    solo_run *r = mem_alloc(sizeof *r);
    *r = (solo_run){.g = d->g, .submit = (submit_policy)o->submit};
    r->r = graph_run_new(d->g, &(graph_use){.g = g->g, .level = (fusion_level)o->level}, 1, find_weight, (void *)g, &e);
    if (api_result(to, &e,
                   r->r && graph_run_possible(r->r, 0, &e) &&
                       (!g->program || program_run_begin(d->g, r->r, g->program, &e))))
        return r;
    solo_run_free(r);
    return NULL;
}

void solo_run_free(solo_run *r)
{
    if (!r)
        return;
    graph_run_free(r->r);
    gpu_buffer_free(r->together);
    while (r->count)
        free(r->bindings[--r->count].name);
    free(r->bindings);
    free(r);
}

/* ---- what goes in and out ---------------------------------------------------------------------- */

static bool find(const solo_run *r, const char *name, uint64_t bytes, bool writes, graph_tensor *t, err *e)
{
    if (!graph_run_find(r->r, 0, name, t, e))
        return false;
    if (writes && !t->is_input && !t->is_state)
        return err_set_kind(e, ERR_USAGE, "%s is an output: runs write it", name);
    return bytes == t->bytes || err_set_kind(e, ERR_USAGE, "%s has %llu bytes, not %llu", name,
                                             (unsigned long long)t->bytes, (unsigned long long)bytes);
}

bool solo_run_write(solo_run *r, const char *name, const void *data, size_t bytes, solo_error *to)
{
    err e = {0};
    graph_tensor t;
    return api_is_here(r, to) && api_is_here(name, to) &&
           api_result(to, &e, find(r, name, bytes, true, &t, &e) && graph_tensor_write(r->g, &t, data, &e));
}

bool solo_run_read(solo_run *r, const char *name, void *data, size_t bytes, solo_error *to)
{
    err e = {0};
    graph_tensor t;
    return api_is_here(r, to) && api_is_here(name, to) &&
           api_result(to, &e, find(r, name, bytes, false, &t, &e) && graph_tensor_read(r->g, &t, data, &e));
}

bool solo_run_read_many(solo_run *r, const char *const *names, void *const *data, const size_t *bytes, uint32_t count,
                        solo_error *to)
{
    err e = {0};
    if (!api_is_here(r, to) || (count && !(api_is_here(names, to) && api_is_here(data, to) && api_is_here(bytes, to))))
        return false;
    graph_tensor *tensors = mem_alloc((count + 1) * sizeof *tensors);
    bool there = true, ok = true;
    for (uint32_t i = 0; there && ok && i < count; i++) {
        there = api_is_here(names[i], to) && api_is_here(data[i], to);
        ok = there && find(r, names[i], bytes[i], false, &tensors[i], &e);
    }
    ok = there && api_result(to, &e, ok && graph_tensors_read(r->g, tensors, data, count, &r->together, &e));
    free(tensors);
    return ok;
}

static void unbind(solo_run *r, const char *name)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (strcmp(r->bindings[i].name, name) == 0) {
            free(r->bindings[i].name);
            r->bindings[i] = r->bindings[--r->count];
            return;
        }
}

bool solo_run_bind(solo_run *r, const char *name, solo_buffer *b, solo_error *to)
{
    err e = {0};
    graph_tensor t;
    if (!api_is_here(r, to) || !api_is_here(name, to) || !api_result(to, &e, graph_run_find(r->r, 0, name, &t, &e)))
        return false;
    uint64_t bytes = (t.bytes + 3) / 4 * 4;
    if (b && (b->g != r->g || gpu_buffer_bytes(b->b) != bytes))
        return api_result(to, &e,
                          err_set_kind(&e, ERR_USAGE, "%s takes a buffer of %llu bytes on the same device", name,
                                       (unsigned long long)bytes));
    unbind(r, name);
    if (b) {
        r->bindings = mem_grow(r->bindings, (r->count + 1) * sizeof *r->bindings);
        r->bindings[r->count++] = (binding){mem_dup(name), t, b};
    }
    return true;
}

/* Copies between callers' memory and the run's, on the device. */
static void copy_bound(solo_run *r, bool before)
{
    if (!r->count)
        return;
    gpu_recording *recording = gpu_record(r->g, false);
    for (uint32_t i = 0; i < r->count; i++) {
        const graph_tensor *t = &r->bindings[i].tensor;
        gpu_buffer *theirs = r->bindings[i].buffer->b;
        uint64_t bytes = gpu_buffer_bytes(theirs);
        if (before && (t->is_input || t->is_state))
            gpu_copy(recording, theirs, 0, t->buffer, t->offset_bytes, bytes);
        if (!before && !t->is_input)
            gpu_copy(recording, t->buffer, t->offset_bytes, theirs, 0, bytes);
    }
    gpu_submit(r->g, gpu_finish(recording));
}

/* ---- running ------------------------------------------------------------------------------------- */

static bool go(solo_run *r, uint32_t times, err *e)
{
    const megakernel *mega = graph_run_megakernel(r->r, 0);
    uint32_t most = mega && graph_run_level_of(r->r, 0) == LEVEL_LOOP ? MAX_RUNS_PER_DISPATCH : 1;
    for (uint32_t some; times && gpu_ok(r->g, e); times -= some) {
        some = times < most ? times : most;
        graph_run_set_rounds(r->r, 0, some);
        graph_run_once(r->r, 0, r->submit);
    }
    return mega ? graph_run_wait(r->r, 0, e) : gpu_ok(r->g, e);
}

bool solo_run_go(solo_run *r, uint32_t times, solo_error *to)
{
    err e = {0};
    if (!api_is_here(r, to))
        return false;
    copy_bound(r, true);
    bool ok = go(r, times, &e);
    if (ok)
        copy_bound(r, false);
    return api_result(to, &e, ok && gpu_ok(r->g, &e));
}

solo_level solo_run_level(const solo_run *r)
{
    return r ? (solo_level)graph_run_level_of(r->r, 0) : SOLO_LEVEL_AUTO;
}

uint32_t solo_run_dispatches(const solo_run *r)
{
    return r ? graph_run_dispatches(r->r, 0) : 0;
}
