/* memory_upload: brings the weights into their buffers.
 *
 * The thread that calls finds the data of some rows and hands them to the workers in batches, one for each stage of
 * staging memory. A worker reads the rows from where they are, a mapped file as a rule, and orders them into the stage;
 * the caller has the GPU copy that, while other stages are being filled. The batches are a ring: they are handed out,
 * sent and used again in the same order.                                                                        */
#include "base/clock.h"
#include "base/map.h"
#include "base/progress.h"
#include "base/str.h"
#include "base/workers.h"
#include "graph/layout.h"
#include "graph/memory_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGE_BYTES = 4 << 20,
    MOST_STAGED_BYTES = 192 << 20, /* all stages together, unless single rows are so long that three take more */
    MOST_PARTS = 16,               /* of a batch */
    PART_ALIGN = 64,
    WORTH_SHOWING = 64 << 20, /* bytes from which an upload shows its progress */
};

/* Rows of a matrix, and their place in the stage. */
typedef struct part {
    const void *from; /* NULL: it is there already */
    tensor_type type;
    uint32_t rows, columns;
    unsigned char *planes[PLANE_COUNT];
} part;

typedef struct batch {
    workers_job job; /* first: the workers' pointers are this struct's */
    gpu_stage *stage;
    unsigned char *memory; /* the stage's, while it is open */
    uint64_t used;         /* bytes of it */
    part parts[MOST_PARTS];
    gpu_stage_copy copies[MOST_PARTS * PLANE_COUNT];
    uint32_t part_count, copy_count;
    uint64_t bytes; /* of the model */
    bool is_cut_short;
    uint64_t ns; /* that a worker took */
} batch;

typedef struct upload {
    memory *m;
    graph_weight_source source;
    void *user;
    workers *pool;
    batch *batches; /* a ring */
    uint32_t count;
    batch *open;          /* the one that is being put together, or NULL */
    uint64_t given, sent; /* batches so far */
    uint64_t stage_bytes;
    progress bar;
    uint64_t done;                                 /* bytes of the model */
    uint64_t worker_ns, pool_wait_ns, gpu_wait_ns; /* together; that the caller waited for workers, and for the GPU */
} upload;

/* ---- a batch ------------------------------------------------------------------------------------ */

static void order_part(const part *p)
{
    /* Half a word of scales is a word: the other half is zeros and not what was there before. */
    uint64_t factors = layout_plane_bytes(p->type, p->rows, p->columns, PLANE_FACTORS);
    if (factors)
        memset(p->planes[PLANE_FACTORS] + factors - 4, 0, 4);
    layout_pack(p->type, p->from, p->rows, p->columns, (void **)(void *)p->planes);
}

static void order_batch(workers_job *job)
{
    batch *b = (batch *)job;
    uint64_t start = clock_ns();
    for (uint32_t i = 0; i < b->part_count && !b->is_cut_short; i++) {
        const part *p = &b->parts[i];
        if (!p->from)
            continue;
        b->is_cut_short = !map_touch(p->from, (size_t)(p->rows * type_bytes(p->type, p->columns)));
        if (!b->is_cut_short)
            order_part(p);
    }
    b->ns = clock_ns() - start;
}

static batch *batch_at(const upload *u, uint64_t number)
{
    return &u->batches[number % u->count];
}

static bool send_oldest(upload *u, err *e)
{
    batch *b = batch_at(u, u->sent);
    uint64_t start = clock_ns();
    workers_wait(u->pool, &b->job);
    u->pool_wait_ns += clock_ns() - start;
    u->sent++;
    if (b->is_cut_short)
        return err_set(e, "the file of the model was cut short while it was read");
    gpu_stage_send(b->stage, b->copies, b->copy_count);
    u->worker_ns += b->ns;
    u->done += b->bytes;
    progress_at(&u->bar, u->done);
    return gpu_ok(u->m->g, e);
}

/* Hands out the batch that is being put together, and sends those that are done. */
static bool give(upload *u, err *e)
{
    bool ok = true;
    if (u->open) {
        workers_give(u->pool, &u->open->job);
        u->given++;
        u->open = NULL;
    }
    while (ok && u->sent < u->given && workers_is_done(u->pool, &batch_at(u, u->sent)->job))
        ok = send_oldest(u, e);
    return ok;
}

/* The next batch, empty. Its stage may still be in use by the batch that had it before. */
static bool open_batch(upload *u, err *e)
{
    while (u->given - u->sent >= u->count)
        if (!send_oldest(u, e))
            return false;
    batch *b = batch_at(u, u->given);
    uint64_t start = clock_ns();
    gpu_stage *stage = b->stage ? b->stage : gpu_stage_new(u->m->g, u->stage_bytes);
    *b = (batch){.job = {.run = order_batch}, .stage = stage, .memory = gpu_stage_open(stage)};
    u->gpu_wait_ns += clock_ns() - start;
    u->open = b->memory ? b : NULL;
    return gpu_ok(u->m->g, e);
}

static uint64_t staged_bytes(tensor_type type, uint32_t rows, uint32_t columns)
{
    uint64_t bytes = 0;
    for (int k = 0; k < PLANE_COUNT; k++)
        bytes += (layout_plane_bytes(type, rows, columns, (layout_plane)k) + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    return bytes;
}

static bool make_room(upload *u, uint64_t bytes, err *e)
{
    if (u->open && u->open->part_count < MOST_PARTS && u->open->used + bytes <= u->stage_bytes)
        return true;
    return give(u, e) && open_batch(u, e);
}

/* ---- weights ------------------------------------------------------------------------------------ */

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

static uint32_t rows_at_a_time(const named *w, const memory_piece *piece)
{
    uint32_t together = layout_rows_together(w->what->as.weight);
    uint64_t some = staged_bytes(w->what->as.weight, together, w->what->s.dims[LAST]);
    uint64_t rows = STAGE_BYTES / some ? STAGE_BYTES / some * together : together;
    return rows < piece->rows ? (uint32_t)rows : piece->rows;
}

/* `rows` rows of a piece from `row` on. `lasts`: the data stays where it is, and a worker may read it later. */
static bool add_rows(upload *u, const named *w, const memory_piece *piece, uint32_t row, uint32_t rows,
                     const void *from, bool lasts, err *e)
{
    tensor_type type = w->what->as.weight;
    uint32_t columns = w->what->s.dims[LAST];
    if (!gpu_ok(u->m->g, e) || !make_room(u, staged_bytes(type, rows, columns), e))
        return false;
    batch *b = u->open;
    part p = {.from = from, .type = type, .rows = rows, .columns = columns};
    for (int k = 0; k < PLANE_COUNT; k++) {
        layout_plane plane = (layout_plane)k;
        uint64_t at = (uint64_t)piece->at * 4 + layout_plane_at(type, piece->rows, columns, plane);
        if (plane != PLANE_GRID)
            at += layout_plane_bytes(type, row, columns, plane);
        uint64_t bytes = layout_plane_bytes(type, rows, columns, plane);
        if (!bytes || (plane == PLANE_GRID && row > 0))
            continue;
        p.planes[k] = b->memory + b->used;
        b->copies[b->copy_count++] = (gpu_stage_copy){b->used, u->m->weights[piece->arena].buffer, at, bytes};
        b->used += (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    }
    b->bytes += rows * type_bytes(type, columns);
    if (!lasts) {
        order_part(&p);
        p.from = NULL;
    }
    b->parts[b->part_count++] = p;
    return true;
}

/* The weight's data, if the source has all of it in memory; graph.h says how that shows. */
static const char *find_whole(const upload *u, const named *w, uint64_t row_bytes, uint32_t rows, err *e)
{
    if (workers_count(u->pool) == 0 || rows < 2)
        return NULL;
    const char *first = bring(u, w, 0, row_bytes, e);
    const char *last = first ? bring(u, w, (rows - 1) * row_bytes, row_bytes, e) : NULL;
    return last && (uintptr_t)last == (uintptr_t)first + (rows - 1) * row_bytes ? first : NULL;
}

static bool upload_matrix(upload *u, const named *w, err *e)
{
    const memory_piece *pieces = w->matrix.pieces, *end = pieces + w->matrix.piece_count;
    uint64_t row_bytes = type_bytes(w->what->as.weight, w->what->s.dims[LAST]);
    const char *whole = find_whole(u, w, row_bytes, end[-1].first + end[-1].rows, e);
    bool ok = e->kind == ERR_NONE;
    for (const memory_piece *piece = pieces; piece < end; piece++) {
        uint32_t most = rows_at_a_time(w, piece);
        for (uint32_t row = 0; ok && row < piece->rows; row += most) {
            uint32_t rows = piece->rows - row < most ? piece->rows - row : most;
            uint64_t first = (piece->first + row) * row_bytes;
            const void *data = whole ? whole + first : bring(u, w, first, rows * row_bytes, e);
            ok = data && add_rows(u, w, piece, row, rows, data, whole != NULL, e);
        }
    }
    return ok;
}

/* ---- all of them -------------------------------------------------------------------------------- */

/* Bytes of the largest batch, which need not be a whole stage in a small model. */
static uint64_t find_stage_bytes(const memory *m, uint64_t total)
{
    uint64_t most = total < STAGE_BYTES ? total + (uint64_t)m->name_count * PLANE_COUNT * PART_ALIGN : STAGE_BYTES;
    for (uint32_t i = 0; i < m->name_count; i++) {
        const named *w = &m->names[i];
        for (uint32_t k = 0; w->what->op == OP_WEIGHT && k < w->matrix.piece_count; k++) {
            uint64_t bytes =
                staged_bytes(w->what->as.weight, rows_at_a_time(w, &w->matrix.pieces[k]), w->what->s.dims[LAST]);
            most = bytes > most ? bytes : most;
        }
    }
    return (most + 3) / 4 * 4;
}

static void begin(upload *u, uint64_t total)
{
    u->stage_bytes = find_stage_bytes(u->m, total);
    uint64_t worth = total / STAGE_BYTES, wanted = workers_wanted();
    u->pool = workers_new((uint32_t)(wanted < worth ? wanted : worth));
    uint32_t threads = workers_count(u->pool);
    /* One for each thread, and half as many again on their way to the GPU or waiting for a thread. */
    uint64_t most = MOST_STAGED_BYTES / u->stage_bytes;
    u->count = threads ? threads + threads / 2 + 2 : 1;
    u->count = u->count > 3 && most < u->count ? (uint32_t)(most < 3 ? 3 : most) : u->count;
    u->batches = mem_alloc(u->count * sizeof *u->batches);
}

static bool finish(upload *u, err *e)
{
    bool ok = give(u, e);
    while (ok && u->sent < u->given)
        ok = send_oldest(u, e);
    uint64_t start = clock_ns();
    ok = ok && gpu_wait(u->m->g, e);
    u->gpu_wait_ns += clock_ns() - start;
    return ok;
}

/* Workers first: what they write to lies in the stages. */
static void end(upload *u)
{
    workers_free(u->pool);
    for (uint32_t i = 0; i < u->count; i++)
        gpu_stage_free(u->batches[i].stage);
    free(u->batches);
    progress_end(&u->bar);
}

static void print_times(const upload *u, uint32_t threads)
{
    double s = (double)(clock_ns() - u->bar.started_ns) / 1e9, gb = (double)u->done / 1e9;
    fprintf(stderr,
            "weights: %.3f GB in %.3f s, %.2f GB/s; %u threads worked %.3f s together, "
            "the caller waited %.3f s for them and %.3f s for the GPU\n",
            gb, s, gb / s, threads, (double)u->worker_ns / 1e9, (double)u->pool_wait_ns / 1e9,
            (double)u->gpu_wait_ns / 1e9);
}

bool memory_upload(memory *m, graph_weight_source source, void *user, err *e)
{
    uint64_t total = memory_arena_bytes(m->weights, m->weight_arenas);
    upload u = {.m = m, .source = source, .user = user, .bar = progress_start("loading the model", total)};
    u.bar.on = u.bar.on && total >= WORTH_SHOWING;
    begin(&u, total);
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->name_count; i++) {
        const named *w = &m->names[i];
        if (w->what->op != OP_WEIGHT)
            continue;
        if (w->at != NO_PLACE)
            ok = upload_floats(&u, w, e);
        if (w->matrix.piece_count)
            ok = ok && upload_matrix(&u, w, e);
    }
    ok = ok && finish(&u, e);
    if (ok && getenv("SOLO_LOAD_TIMES"))
        print_times(&u, workers_count(u.pool));
    end(&u);
    return ok;
}
