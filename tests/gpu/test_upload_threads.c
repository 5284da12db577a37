/* Weights of every type, uploaded by many threads, one, or none, whole or in pieces: the same bytes on the GPU. And
 * uploads that fail half-way: one line, no thread left, nothing leaked. */
#include "base/rng.h"
#include "base/str.h"
#include "devices.h"
#include "graph/layout.h"
#include "graph/memory_internal.h"
#include "temporary.h"

#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

static const tensor_type TYPES[] = {TYPE_F32,  TYPE_F16,  TYPE_BF16, TYPE_Q4_0, TYPE_Q4_1, TYPE_Q5_0, TYPE_Q5_1,
                                    TYPE_Q8_0, TYPE_Q2_K, TYPE_Q3_K, TYPE_Q4_K, TYPE_Q5_K, TYPE_Q6_K};
enum {
    TYPE_COUNT = sizeof TYPES / sizeof *TYPES,
    COLUMNS = 768,
    LARGE = 6001, /* rows: several batches of most types, and an odd number */
    SMALL = 3,
    WEIGHTS = 2 * TYPE_COUNT,
};

/* ---- a source ----------------------------------------------------------------------------------- */

typedef struct weights {
    char names[WEIGHTS][16];
    tensor_type types[WEIGHTS];
    uint32_t rows[WEIGHTS];
    unsigned char *data[WEIGHTS];
    unsigned char *piece; /* not NULL: what is asked for comes in this memory, one after the other */
    size_t piece_bytes;
    int calls, last_call; /* 0: no limit; otherwise what happens then is in at_last */
    const void *(*at_last)(struct weights *w, const void *data, err *e);
} weights;

static uint64_t bytes_of(const weights *w, int i)
{
    return w->rows[i] * type_bytes(w->types[i], COLUMNS);
}

static const void *find_weight(void *user, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    weights *w = user;
    int i = 0;
    while (i < WEIGHTS && strcmp(w->names[i], name) != 0)
        i++;
    assert_true(i < WEIGHTS && first + bytes <= bytes_of(w, i));
    const void *data = w->data[i] + first;
    if (w->piece) {
        assert_true(bytes <= w->piece_bytes);
        memset(w->piece, 0xee, w->piece_bytes);
        data = memcpy(w->piece, data, bytes);
    }
    return ++w->calls == w->last_call ? w->at_last(w, data, e) : data;
}

static void make_weights(weights *w)
{
    rng r = rng_seed(77);
    *w = (weights){0};
    for (int i = 0; i < WEIGHTS; i++) {
        snprintf(w->names[i], sizeof w->names[i], "w%d", i);
        w->types[i] = TYPES[i % TYPE_COUNT];
        w->rows[i] = i < TYPE_COUNT ? LARGE : SMALL;
        w->data[i] = mem_alloc(bytes_of(w, i));
        for (uint64_t k = 0; k < bytes_of(w, i); k += 8) {
            uint64_t random = rng_next(&r);
            memcpy(w->data[i] + k, &random, bytes_of(w, i) - k < 8 ? bytes_of(w, i) - k : 8);
        }
    }
}

static void free_weights(weights *w)
{
    for (int i = 0; i < WEIGHTS; i++)
        free(w->data[i]);
    free(w->piece);
}

/* ---- a graph and its memory --------------------------------------------------------------------- */

typedef struct model {
    graph *g;
    plan *p;
    memory *m;
} model;

static model make_model(gpu *on, const weights *w)
{
    err e = {0};
    model made = {.g = graph_new()};
    node x = graph_input(made.g, "x", DTYPE_F32, shape2(1, COLUMNS));
    for (int i = 0; i < WEIGHTS; i++) {
        char out[16];
        snprintf(out, sizeof out, "y%d", i);
        graph_output(
            made.g, out,
            graph_matmul(made.g, x, graph_weight(made.g, w->names[i], w->types[i], shape2(w->rows[i], COLUMNS))));
    }
    made.p = plan_new(made.g, gpu_get_info(on)->max_storage_binding_bytes);
    made.m = memory_new(on, &made.p, 1, &e);
    if (!made.m)
        fail_msg("%s", e.text);
    return made;
}

static void free_model(model *made)
{
    memory_free(made->m);
    plan_free(made->p);
    graph_free(made->g);
}

/* All bytes of a matrix's piece as they should be: ordered in one go. */
static unsigned char *ordered(const weights *w, int i, const memory_piece *piece)
{
    tensor_type type = w->types[i];
    unsigned char *all = mem_alloc(layout_bytes(type, piece->rows, COLUMNS));
    void *planes[PLANE_COUNT];
    for (int k = 0; k < PLANE_COUNT; k++)
        planes[k] = all + layout_plane_at(type, piece->rows, COLUMNS, (layout_plane)k);
    layout_pack(type, w->data[i] + piece->first * type_bytes(type, COLUMNS), piece->rows, COLUMNS, planes);
    return all;
}

/* Everything in the arenas, padding as well. */
static void check_bytes(gpu *on, const model *made, const weights *w)
{
    err e = {0};
    for (int i = 0; i < WEIGHTS; i++) {
        const named *n = memory_find_named(made->m, w->names[i]);
        for (uint32_t k = 0; k < n->matrix.piece_count; k++) {
            const memory_piece *piece = &n->matrix.pieces[k];
            uint64_t bytes = layout_bytes(w->types[i], piece->rows, COLUMNS);
            unsigned char *want = ordered(w, i, piece), *got = mem_alloc(bytes);
            if (!gpu_read_now(on, memory_weights(made->m, piece->arena), piece->at * 4ull, got, bytes, &e))
                fail_msg("%s", e.text);
            for (uint64_t b = 0; b < bytes; b++)
                if (got[b] != want[b])
                    fail_msg("%s, piece %u of %u: byte %llu is %02x instead of %02x", type_find(w->types[i])->name, k,
                             n->matrix.piece_count, (unsigned long long)b, got[b], want[b]);
            free(want);
            free(got);
        }
    }
}

static void upload_and_check(gpu *on, weights *w, const char *threads)
{
    err e = {0};
    setenv("SOLO_THREADS", threads, 1);
    model made = make_model(on, w);
    if (!memory_upload(made.m, find_weight, w, &e))
        fail_msg("%s", e.text);
    check_bytes(on, &made, w);
    free_model(&made);
    unsetenv("SOLO_THREADS");
}

static uint32_t threads_now(void)
{
    uint32_t count = 0;
    DIR *d = opendir("/proc/self/task");
    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    return count;
}

/* The system may list a thread for a while after its end. */
static void expect_no_more_threads(uint32_t than)
{
    for (int i = 0; i < 10000 && threads_now() > than; i++)
        usleep(1000);
    assert_in_range(threads_now(), 1, than);
}

/* ---- the same bytes ----------------------------------------------------------------------------- */

static void any_number_of_threads(void **unused)
{
    (void)unused;
    weights w;
    make_weights(&w);
    upload_and_check(device, &w, "0");
    upload_and_check(device, &w, "1");
    uint32_t before = threads_now();
    upload_and_check(device, &w, "13");
    expect_no_more_threads(before);
    free_weights(&w);
}

/* From a source that has memory for some rows only: no thread may read there later. */
static void from_a_source_in_pieces(void **unused)
{
    (void)unused;
    weights w;
    make_weights(&w);
    w.piece_bytes = 4 << 20;
    w.piece = mem_alloc(w.piece_bytes);
    upload_and_check(device, &w, "5");
    free_weights(&w);
}

/* Matrices that a device binds only in parts. */
static void matrices_in_parts(void **unused)
{
    (void)unused;
    weights w;
    make_weights(&w);
    gpu_info *info = (gpu_info *)(uintptr_t)gpu_get_info(device);
    uint64_t limit = info->max_storage_binding_bytes;
    info->max_storage_binding_bytes = 3 << 20;
    model made = make_model(device, &w);
    assert_true(memory_find_named(made.m, "w0")->matrix.piece_count > 2);
    free_model(&made);
    upload_and_check(device, &w, "5");
    info->max_storage_binding_bytes = limit;
    free_weights(&w);
}

/* ---- failures half-way -------------------------------------------------------------------------- */

static const void *fail_reading(weights *w, const void *data, err *e)
{
    (void)w, (void)data;
    err_set(e, "the disk is gone");
    return NULL;
}

static gpu *losing;
static const void *lose_device(weights *w, const void *data, err *e)
{
    (void)w, (void)e;
    gpu_lose(losing);
    return data;
}

static void fails_half_way(gpu *on, weights *w, const char *expected)
{
    err e = {0};
    setenv("SOLO_THREADS", "5", 1);
    uint32_t before = threads_now();
    model made = make_model(on, w);
    assert_false(memory_upload(made.m, find_weight, w, &e));
    if (!strstr(e.text, expected) || strchr(e.text, '\n'))
        fail_msg("\"%s\" instead of \"%s\"", e.text, expected);
    expect_no_more_threads(before); /* a lost device's own may be gone */
    free_model(&made);
    unsetenv("SOLO_THREADS");
}

static void a_source_that_fails(void **unused)
{
    (void)unused;
    weights w;
    make_weights(&w);
    w.last_call = 20; /* whole weights take two calls: this is the tenth of them */
    w.at_last = fail_reading;
    fails_half_way(device, &w, "the disk is gone");
    w.calls = 0;
    w.piece_bytes = 4 << 20;
    w.piece = mem_alloc(w.piece_bytes);
    fails_half_way(device, &w, "the disk is gone");
    /* the device goes on */
    w.last_call = 0;
    upload_and_check(device, &w, "5");
    free_weights(&w);
}

/* At once, and half-way with rows in a stage; not while a thread fills one, as gpu.h says. */
static void a_device_that_is_lost(void **unused)
{
    (void)unused;
    weights w;
    make_weights(&w);
    w.at_last = lose_device;
    w.last_call = 1;
    losing = open_or_fail(gpu_get_info(device)->family);
    fails_half_way(losing, &w, "lost");
    gpu_close(losing);
    w.calls = 0;
    w.last_call = 20;
    w.piece_bytes = 4 << 20;
    w.piece = mem_alloc(w.piece_bytes);
    losing = open_or_fail(gpu_get_info(device)->family);
    fails_half_way(losing, &w, "lost");
    gpu_close(losing);
    free_weights(&w);
}

/* A mapped file that becomes shorter while it is read. */
static int shrinking = -1;
static const void *shrink(weights *w, const void *data, err *e)
{
    (void)w, (void)e;
    assert_int_equal(ftruncate(shrinking, 4096), 0);
    return data;
}

static void a_file_that_is_cut_short(void **unused)
{
    (void)unused;
    weights w;
    make_weights(&w);
#ifndef MADV_POPULATE_READ
    skip();
#else
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (madvise(page, 4096, MADV_POPULATE_READ) != 0) {
        print_message("this kernel cannot tell\n");
        skip();
    }
    munmap(page, 4096);
    char path[TEMPORARY_BYTES];
    shrinking = temporary_file(path, "upload");
    assert_true(shrinking >= 0);
    unlink(path);
    unsigned char *own = w.data[TYPE_COUNT - 1];
    uint64_t bytes = bytes_of(&w, TYPE_COUNT - 1);
    assert_int_equal(write(shrinking, own, bytes), bytes);
    w.data[TYPE_COUNT - 1] = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, shrinking, 0);
    w.last_call = 2 * TYPE_COUNT; /* the last row of that weight */
    w.at_last = shrink;
    fails_half_way(device, &w, "cut short");
    munmap(w.data[TYPE_COUNT - 1], bytes);
    close(shrinking);
    w.data[TYPE_COUNT - 1] = own;
#endif
    free_weights(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads),    cmocka_unit_test(from_a_source_in_pieces),
        cmocka_unit_test(matrices_in_parts),        cmocka_unit_test(a_source_that_fails),
        cmocka_unit_test(a_file_that_is_cut_short), cmocka_unit_test(a_device_that_is_lost),
    };
    return RUN_ON_EACH(tests);
}
