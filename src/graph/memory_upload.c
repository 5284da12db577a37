/* memory_upload: writes the weights into their buffers, a few megabytes at a time. */
#include "base/progress.h"
#include "base/str.h"
#include "graph/layout.h"
#include "graph/memory_internal.h"

#include <stdlib.h>

enum {
    UPLOAD_BYTES = 4 << 20, /* at a time */
    IN_FLIGHT_BYTES = 32 << 20,
    WORTH_SHOWING = 64 << 20, /* bytes from which an upload shows its progress */
};

typedef struct upload {
    memory *m;
    graph_weight_source source;
    void *user;
    progress bar;
    uint64_t done, waited_at; /* bytes of the model: uploaded; uploaded when the queue was last empty */
} upload;

/* The WebGPU library stages written data in its own memory until the queue has run: this bounds it. */
static bool uploaded(upload *u, uint64_t bytes, err *e)
{
    u->done += bytes;
    progress_at(&u->bar, u->done);
    if (u->done - u->waited_at < IN_FLIGHT_BYTES)
        return true;
    u->waited_at = u->done;
    return gpu_wait(u->m->g, e);
}

static const void *bring(const upload *u, const named *w, uint64_t first, uint64_t bytes, err *e)
{
    const void *data = u->source(u->user, w->name, first, bytes, e);
    if (!data)
        err_set(e, "weight %s is missing", w->name);
    return data;
}

static bool upload_floats(upload *u, const named *w, err *e)
{
    uint64_t count = shape_count(w->what->s);
    const void *data = bring(u, w, 0, graph_weight_bytes(w->what), e);
    if (!data)
        return false;
    float *floats = mem_alloc(count * sizeof *floats);
    type_to_f32(w->what->as.weight, data, floats, count);
    gpu_write(u->m->g, u->m->activations, (uint64_t)w->at * 4, floats, count * sizeof *floats);
    free(floats);
    return true;
}

/* Uploads a batch of rows at a time; an even number of rows, so that each plane's share is whole words. */
static bool upload_piece(upload *u, const named *w, const memory_piece *piece, err *e)
{
    memory *m = u->m;
    tensor_type type = w->what->as.weight;
    uint32_t columns = w->what->s.dims[LAST];
    uint64_t row_bytes = type_bytes(type, columns);
    uint32_t batch = (uint32_t)(UPLOAD_BYTES / row_bytes) / 2 * 2;
    if (batch < 2)
        batch = 2;
    if (batch > piece->rows)
        batch = piece->rows;
    void *planes[PLANE_COUNT];
    for (int k = 0; k < PLANE_COUNT; k++)
        planes[k] = mem_alloc(layout_plane_bytes(type, batch, columns, (layout_plane)k) + 4);
    bool ok = true;
    for (uint32_t row = 0; ok && row < piece->rows; row += batch) {
        uint32_t rows = piece->rows - row < batch ? piece->rows - row : batch;
        const void *data = bring(u, w, (piece->first + row) * row_bytes, rows * row_bytes, e);
        ok = data != NULL;
        if (ok)
            layout_pack(type, data, rows, columns, planes);
        for (int k = 0; ok && k < PLANE_COUNT; k++) {
            layout_plane plane = (layout_plane)k;
            uint64_t at = (uint64_t)piece->at * 4 + layout_plane_at(type, piece->rows, columns, plane) +
                          layout_plane_bytes(type, row, columns, plane);
            uint64_t bytes = layout_plane_bytes(type, rows, columns, plane);
            if (bytes)
                gpu_write(m->g, m->weights[piece->arena].buffer, at, planes[k], bytes);
        }
        ok = ok && uploaded(u, rows * row_bytes, e);
    }
    for (int k = 0; k < PLANE_COUNT; k++)
        free(planes[k]);
    return ok;
}

bool memory_upload(memory *m, graph_weight_source source, void *user, err *e)
{
    uint64_t total = memory_arena_bytes(m->weights, m->weight_arenas);
    upload u = {.m = m, .source = source, .user = user, .bar = progress_start("loading the model", total)};
    u.bar.on = u.bar.on && total >= WORTH_SHOWING;
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->name_count; i++) {
        const named *w = &m->names[i];
        if (w->what->op != OP_WEIGHT)
            continue;
        if (w->at != NO_PLACE)
            ok = upload_floats(&u, w, e);
        for (uint32_t k = 0; ok && k < w->matrix.piece_count; k++)
            ok = upload_piece(&u, w, &w->matrix.pieces[k], e);
    }
    progress_end(&u.bar);
    return ok && gpu_wait(m->g, e);
}
