/* src/graph/layout: weights in planes, read back as kernels/weight/NAME.wgsl read
 * them, against what type_to_f32 makes of the file's bytes. */
#include "base/rng.h"
#include "base/str.h"
#include "graph/layout.h"
#include "graph/type_iq.h"
#include "weight_blocks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a shader's view: words, and a matrix in them ---------------------------------- */

typedef struct matrix {
    const uint32_t *words; /* from the matrix's first on */
    uint32_t chunks;       /* in all its rows */
} matrix;

static uint32_t byte_of(uint32_t word, uint32_t i)
{
    return word >> 8 * i & 255;
}

static float half_of(uint32_t word, uint32_t i)
{
    return f16_to_f32((uint16_t)(word >> 16 * (i & 1)));
}

/* The i-th half from word `at` on. */
static float half_at(const matrix *m, uint32_t at, uint32_t i)
{
    return half_of(m->words[at + i / 2], i);
}

/* Weight i of 32 in four words of nibbles: eight to a word, low ones first. */
static uint32_t nibble(const uint32_t *words, uint32_t i)
{
    return byte_of(words[i / 8], i % 4) >> (i % 8 / 4 * 4) & 15;
}

/* Of two words: sixteen to a word. */
static uint32_t pair_of_bits(const uint32_t *words, uint32_t i)
{
    return byte_of(words[i / 16], i % 4) >> (i % 16 / 4 * 2) & 3;
}

static uint32_t bit(uint32_t word, uint32_t i)
{
    return word >> i & 1;
}

/* Weight i's bit of a chunk's 32: four neighbours' are in four bytes. */
static uint32_t one_bit(uint32_t word, uint32_t i)
{
    return byte_of(word, i % 4) >> i / 4 & 1;
}

static float signed_byte(uint32_t word, uint32_t i)
{
    return (float)(int8_t)byte_of(word, i);
}

/* ---- the kernels' unpack, weight i of chunk c ---------------------------------------- */

static float read_float(const matrix *m, uint32_t c, uint32_t i)
{
    float f;
    memcpy(&f, &m->words[c * 4 + i], 4);
    return f;
}

static float read_f16(const matrix *m, uint32_t c, uint32_t i)
{
    return half_of(m->words[c * 4 + i / 2], i);
}

static float read_bf16(const matrix *m, uint32_t c, uint32_t i)
{
    return bf16_to_f32((uint16_t)(m->words[c * 4 + i / 2] >> 16 * (i & 1)));
}

static float read_q4_0(const matrix *m, uint32_t c, uint32_t i)
{
    return ((float)nibble(m->words + c * 4, i) - 8) * half_at(m, m->chunks * 4, c);
}

static float read_q4_1(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t f = m->words[m->chunks * 4 + c];
    return (float)nibble(m->words + c * 4, i) * half_of(f, 0) + half_of(f, 1);
}

static float read_q5_0(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t high = one_bit(m->words[m->chunks * 4 + c], i);
    return ((float)(nibble(m->words + c * 4, i) + 16 * high) - 16) * half_at(m, m->chunks * 5, c);
}

static float read_q5_1(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t high = one_bit(m->words[m->chunks * 4 + c], i), f = m->words[m->chunks * 5 + c];
    return (float)(nibble(m->words + c * 4, i) + 16 * high) * half_of(f, 0) + half_of(f, 1);
}

static float read_q8_0(const matrix *m, uint32_t c, uint32_t i)
{
    return signed_byte(m->words[c * 8 + i / 4], i % 4) * half_at(m, m->chunks * 8, c);
}

/* Scales of q2_k, q3_k and q6_k: two to a chunk, one for each sixteen weights. */
static uint32_t scale_of_sixteen(const matrix *m, uint32_t scales, uint32_t c, uint32_t i)
{
    return byte_of(m->words[scales + c / 2], c % 2 * 2 + i / 16);
}

static float read_q2_k(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t scales = m->chunks * 2, s = scale_of_sixteen(m, scales, c, i);
    uint32_t f = m->words[scales + m->chunks / 2 + c / 8];
    return (float)pair_of_bits(m->words + c * 2, i) * (half_of(f, 0) * (float)(s & 15)) -
           half_of(f, 1) * (float)(s >> 4);
}

static float read_q3_k(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t scales = m->chunks * 3, high = one_bit(m->words[m->chunks * 2 + c], i);
    float s = (float)(int8_t)scale_of_sixteen(m, scales, c, i) * half_at(m, scales + m->chunks / 2, c / 8);
    return ((float)(pair_of_bits(m->words + c * 2, i) + 4 * high) - 4) * s;
}

/* Two bytes to a chunk, its scale and its minimum. */
static float read_q45_k(const matrix *m, uint32_t scales, uint32_t c, uint32_t q)
{
    uint32_t f = m->words[scales + m->chunks / 2 + c / 8];
    uint32_t pair = m->words[scales + c / 2] >> c % 2 * 16;
    float scale = (float)byte_of(pair, 0), minimum = (float)byte_of(pair, 1);
    return (float)q * (half_of(f, 0) * scale) - half_of(f, 1) * minimum;
}

static float read_q4_k(const matrix *m, uint32_t c, uint32_t i)
{
    return read_q45_k(m, m->chunks * 4, c, nibble(m->words + c * 4, i));
}

static float read_q5_k(const matrix *m, uint32_t c, uint32_t i)
{
    return read_q45_k(m, m->chunks * 5, c, nibble(m->words + c * 4, i) + 16 * one_bit(m->words[m->chunks * 4 + c], i));
}

static float read_q6_k(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t high = m->chunks * 4, scales = m->chunks * 6;
    float s = (float)(int8_t)scale_of_sixteen(m, scales, c, i) * half_at(m, scales + m->chunks / 2, c / 8);
    return ((float)(nibble(m->words + c * 4, i) + 16 * pair_of_bits(m->words + high + c * 2, i)) - 32) * s;
}

static float read_iq4_nl(const matrix *m, uint32_t c, uint32_t i)
{
    return (float)iq4_values[nibble(m->words + c * 4, i)] * half_at(m, m->chunks * 4, c);
}

static float read_mxfp4(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t exponent = byte_of(m->words[m->chunks * 4 + c / 4], c % 4);
    return ldexpf((float)mxfp4_values[nibble(m->words + c * 4, i)], (int)exponent - 128);
}

static float read_iq4_xs(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t scales = m->chunks * 4;
    float d = half_at(m, scales + m->chunks / 4, c / 8) * signed_byte(m->words[scales + c / 4], c % 4);
    return (float)iq4_values[nibble(m->words + c * 4, i)] * d;
}

static float read_tq(const matrix *m, uint32_t c, uint32_t i)
{
    return ((float)pair_of_bits(m->words + c * 2, i) - 1) * half_at(m, m->chunks * 2, c / 8);
}

/* Weight i of entry k of the grid, which the matrix begins with: bytes, four or eight to an entry; or of iq1 four bits. */
static float of_grid(const matrix *m, uint32_t k, uint32_t i, uint32_t entry)
{
    return (float)byte_of(m->words[k * entry / 4 + i / 4], i % 4);
}

static float of_iq1_grid(const matrix *m, uint32_t k, uint32_t i)
{
    return (float)(byte_of(m->words[k], i % 4) >> i / 4 * 4 & 15);
}

static float sign(uint32_t signs, uint32_t i)
{
    return 1 - 2 * (float)one_bit(signs, i);
}

/* Each eighth makes the number of those set even. */
static float sign_of_seven(uint32_t signs, uint32_t i)
{
    if (i % 8 < 7)
        return sign(signs, i);
    float all = 1;
    for (uint32_t k = 0; k < 7; k++)
        all *= sign(signs, i / 8 * 8 + k);
    return all;
}

/* In place of each eighth sign. */
static uint32_t scale_of_signs(uint32_t signs)
{
    return one_bit(signs, 7) | one_bit(signs, 15) << 1 | one_bit(signs, 23) << 2 | one_bit(signs, 31) << 3;
}

static float read_iq2_xxs(const matrix *m, uint32_t c, uint32_t i)
{
    const uint32_t at = 512, *q = m->words + at + c * 2;
    float d = half_at(m, at + m->chunks * 2, c / 8) * (0.5f + (float)scale_of_signs(q[1])) * 0.25f;
    return of_grid(m, byte_of(q[0], i / 8), i % 8, 8) * sign_of_seven(q[1], i) * d;
}

static float read_iq2_xs(const matrix *m, uint32_t c, uint32_t i)
{
    const uint32_t at = 1024, *q = m->words + at + c * 2, scales = at + m->chunks * 2;
    float s = (float)(byte_of(m->words[scales + c / 4], c % 4) >> i / 16 * 4 & 15);
    return of_grid(m, byte_of(q[0], i / 8) | one_bit(q[1], i / 8 * 8 + 7) << 8, i % 8, 8) * sign_of_seven(q[1], i) *
           (half_at(m, scales + m->chunks / 4, c / 8) * (0.5f + s) * 0.25f);
}

static float read_iq2_s(const matrix *m, uint32_t c, uint32_t i)
{
    const uint32_t at = 2048, *q = m->words + at + c * 2, scales = at + m->chunks * 2;
    uint32_t more = m->words[scales + c / 2] >> c % 2 * 16, k = byte_of(q[0], i / 8) | (more >> i / 8 * 2 & 3) << 8;
    float d = half_at(m, scales + m->chunks / 2, c / 8) * (0.5f + (float)(more >> (8 + i / 16 * 4) & 15)) * 0.25f;
    return of_grid(m, k, i % 8, 8) * sign(q[1], i) * d;
}

static float read_iq3_xxs(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t at = 256, k = byte_of(m->words[at + c * 2 + i / 16], i % 16 / 4), more = m->words[at + m->chunks * 2 + c];
    float d = half_at(m, at + m->chunks * 3, c / 8) * (0.5f + (float)scale_of_signs(more)) * 0.5f;
    return of_grid(m, k, i % 4, 4) * sign_of_seven(more, i) * d;
}

static float read_iq3_s(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t at = 512, scales = at + m->chunks * 3, more = m->words[scales + c / 2] >> c % 2 * 16;
    uint32_t k = byte_of(m->words[at + c * 2 + i / 16], i % 16 / 4) | bit(more, i / 4) << 8;
    float d = half_at(m, scales + m->chunks / 2, c / 8) * (float)(2 * (more >> 8 & 15) + 1);
    return of_grid(m, k, i % 4, 4) * sign(m->words[at + m->chunks * 2 + c], i) * d;
}

static float read_iq1_s(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t at = 2048, scales = at + m->chunks, more = m->words[scales + c / 2] >> c % 2 * 16;
    uint32_t k = byte_of(m->words[at + c], i / 8) | (more >> i / 8 * 3 & 7) << 8;
    float d = half_at(m, scales + m->chunks / 2, c / 8) * (float)(2 * (more >> 12 & 7) + 1);
    return (of_iq1_grid(m, k, i % 8) - 1 + (bit(more, 15) ? -0.125f : 0.125f)) * d;
}

static float read_iq1_m(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t at = 2048, scales = at + m->chunks + c / 8 * 6;
    uint32_t more = m->words[scales + c % 8 / 2] >> (c % 2 * 16 + i / 8 * 4) & 15;
    uint32_t k = byte_of(m->words[at + c], i / 8) | (more & 7) << 8;
    uint32_t s = byte_of(m->words[scales + 4 + c % 8 / 4], c % 4) >> i / 16 * 3 & 7;
    float d = half_at(m, at + m->chunks + m->chunks / 8 * 6, c / 8) * (float)(2 * s + 1);
    return (of_iq1_grid(m, k, i % 8) - 1 + (more & 8 ? -0.125f : 0.125f)) * d;
}

typedef float (*reader)(const matrix *m, uint32_t c, uint32_t i);

static reader reader_of(tensor_type type)
{
    switch (type) {
    case TYPE_F32: return read_float;
    case TYPE_F16: return read_f16;
    case TYPE_BF16: return read_bf16;
    case TYPE_Q4_0: return read_q4_0;
    case TYPE_Q4_1: return read_q4_1;
    case TYPE_Q5_0: return read_q5_0;
    case TYPE_Q5_1: return read_q5_1;
    case TYPE_Q8_0: return read_q8_0;
    case TYPE_Q2_K: return read_q2_k;
    case TYPE_Q3_K: return read_q3_k;
    case TYPE_Q4_K: return read_q4_k;
    case TYPE_Q5_K: return read_q5_k;
    case TYPE_Q6_K: return read_q6_k;
    case TYPE_IQ4_NL: return read_iq4_nl;
    case TYPE_MXFP4: return read_mxfp4;
    case TYPE_IQ4_XS: return read_iq4_xs;
    case TYPE_TQ1_0:
    case TYPE_TQ2_0: return read_tq;
    case TYPE_IQ2_XXS: return read_iq2_xxs;
    case TYPE_IQ2_XS: return read_iq2_xs;
    case TYPE_IQ2_S: return read_iq2_s;
    case TYPE_IQ3_XXS: return read_iq3_xxs;
    case TYPE_IQ3_S: return read_iq3_s;
    case TYPE_IQ1_S: return read_iq1_s;
    case TYPE_IQ1_M: return read_iq1_m;
    }
    return NULL;
}

/* ---- packing as memory_upload.c does: planes, some rows at a time ------------------------------ */

static uint32_t *packed(tensor_type type, const unsigned char *data, uint32_t rows, uint32_t columns, uint32_t batch)
{
    unsigned char *words = mem_alloc(layout_bytes(type, rows, columns));
    memset(words, 0xee, layout_bytes(type, rows, columns));
    for (uint32_t row = 0; row < rows; row += batch) {
        uint32_t some = rows - row < batch ? rows - row : batch;
        void *planes[PLANE_COUNT];
        for (int k = 0; k < PLANE_COUNT; k++) {
            uint64_t bytes = layout_plane_bytes(type, some, columns, (layout_plane)k);
            planes[k] = bytes ? malloc(bytes) : NULL; /* exactly: the sanitizer sees what goes beyond */
            if (bytes)
                memset(planes[k], 0, bytes);
        }
        if (row > 0) { /* one grid is enough */
            free(planes[PLANE_GRID]);
            planes[PLANE_GRID] = NULL;
        }
        layout_pack(type, data + row * type_bytes(type, columns), some, columns, planes);
        for (int k = 0; k < PLANE_COUNT; k++) {
            layout_plane plane = (layout_plane)k;
            if (planes[k])
                memcpy(words + layout_plane_at(type, rows, columns, plane) +
                           (plane == PLANE_GRID ? 0 : layout_plane_bytes(type, row, columns, plane)),
                       planes[k], layout_plane_bytes(type, some, columns, plane));
            free(planes[k]);
        }
    }
    return (uint32_t *)(void *)words;
}

static void check_matrix(tensor_type type, uint32_t rows, uint32_t columns, uint32_t batch, rng *r)
{
    uint64_t count = (uint64_t)rows * columns, bytes = type_bytes(type, count);
    unsigned char *data = mem_alloc(bytes);
    float *right = mem_alloc(count * sizeof *right);
    if (type_find(type)->block_weights > 1)
        random_blocks(type, data, bytes / type_find(type)->block_bytes, r);
    for (uint64_t i = 0; type_find(type)->block_weights == 1 && i < count; i++) {
        float x = (float)(rng_unit(r) * 4 - 2);
        type_from_f32(type, &x, data + i * type_find(type)->block_bytes, 1);
    }
    for (uint32_t row = 0; row < rows; row++)
        type_to_f32(type, data + row * type_bytes(type, columns), right + (uint64_t)row * columns, columns);
    uint32_t *words = packed(type, data, rows, columns, batch);
    uint32_t chunk = layout_of(type)->chunk_weights, chunks = layout_chunks(type, columns);
    matrix m = {words, rows * chunks};
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < chunks * chunk; i++) {
            float got = reader_of(type)(&m, row * chunks + i / chunk, i % chunk);
            float want = i < columns ? right[(uint64_t)row * columns + i] : 0;
            if (!(fabsf(got - want) <= 1e-6f * fabsf(want) + 1e-30f))
                fail_msg("%s %u x %u by %u: row %u, weight %u is %g instead of %g", type_find(type)->name, rows,
                         columns, batch, row, i, (double)got, (double)want);
        }
    free(words);
    free(right);
    free(data);
}

static void every_type_as_kernels_read_it(void **unused)
{
    (void)unused;
    rng r = rng_seed(21);
    tensor_type types[TYPE_NUMBERS];
    uint32_t type_count = all_types(types);
    for (uint32_t t = 0; t < type_count; t++) {
        uint32_t block = type_find(types[t])->block_weights;
        for (uint32_t rows = 1; rows <= 7; rows += 2)
            for (uint32_t blocks = 1; blocks <= 3; blocks++)
                check_matrix(types[t], rows, block == 1 ? 8 * blocks : block * blocks, rows, &r);
    }
}

/* Rows that end within a chunk are filled up with zeros. */
static void rows_of_any_length(void **unused)
{
    (void)unused;
    rng r = rng_seed(22);
    static const tensor_type floats[] = {TYPE_F32, TYPE_F16, TYPE_BF16};
    for (int t = 0; t < 3; t++)
        for (uint32_t columns = 1; columns <= 19; columns++)
            for (uint32_t rows = 1; rows <= 3; rows++)
                check_matrix(floats[t], rows, columns, rows, &r);
}

/* An even number of rows at a time, as matrices are uploaded. */
static void a_few_rows_at_a_time(void **unused)
{
    (void)unused;
    rng r = rng_seed(23);
    tensor_type types[TYPE_NUMBERS];
    uint32_t type_count = all_types(types);
    for (uint32_t t = 0; t < type_count; t++) {
        uint32_t block = type_find(types[t])->block_weights;
        for (uint32_t rows = 9; rows <= 10; rows++)
            check_matrix(types[t], rows, block == 1 ? 13 : block, layout_rows_together(types[t]), &r);
    }
}

static void planes_follow_each_other(void **unused)
{
    (void)unused;
    tensor_type types[TYPE_NUMBERS];
    uint32_t type_count = all_types(types);
    for (uint32_t t = 0; t < type_count; t++)
        for (uint32_t rows = 1; rows < 6; rows++) {
            tensor_type type = types[t];
            uint32_t block = type_find(type)->block_weights, columns = block == 1 ? 9 : 3 * block;
            uint64_t at = 0;
            for (int k = 0; k < PLANE_COUNT; k++) {
                uint64_t bytes = layout_plane_bytes(type, rows, columns, (layout_plane)k);
                assert_int_equal(layout_plane_at(type, rows, columns, (layout_plane)k), at);
                assert_int_equal(bytes % 4, 0);
                at += bytes;
            }
            uint64_t all = layout_bytes(type, rows, columns);
            assert_true(all >= at && all < at + LAYOUT_ALIGN_BYTES && all % LAYOUT_ALIGN_BYTES == 0);
            /* Nothing grows but for whole chunks, whole words, and the packed scales of the K types. */
            uint64_t in_file = type_bytes(type, (uint64_t)rows * columns), blocks = (uint64_t)rows * columns / block;
            uint64_t more = block == 256 ? blocks * 4 : block == 1 ? rows * 16 : 0;
            more += type == TYPE_TQ1_0 ? blocks * 12 : 0; /* unpacked */
            at -= layout_of(type)->grid_bytes;
            assert_true(at >= in_file && at <= in_file + more + 3);
        }
    /* by hand: q5_0, 3 rows of 2 blocks */
    assert_int_equal(layout_plane_at(TYPE_Q5_0, 3, 64, PLANE_HIGH), 6 * 16);
    assert_int_equal(layout_plane_at(TYPE_Q5_0, 3, 64, PLANE_SCALES), 6 * 20);
    assert_int_equal(layout_plane_at(TYPE_Q5_0, 3, 64, PLANE_FACTORS), 6 * 20);
    assert_int_equal(layout_plane_bytes(TYPE_Q5_0, 3, 64, PLANE_FACTORS), 12);
    assert_int_equal(layout_plane_bytes(TYPE_Q5_0, 1, 32, PLANE_FACTORS), 4); /* half a word is a word */
    assert_int_equal(layout_bytes(TYPE_Q5_0, 3, 64), 256);
}

/* A type without a layout would divide by zero on its way to a GPU. */
static void no_type_is_forgotten(void **unused)
{
    (void)unused;
    tensor_type types[TYPE_NUMBERS];
    uint32_t type_count = all_types(types);
    for (uint32_t t = 0; t < type_count; t++)
        if (!layout_of(types[t])->chunk_weights || !reader_of(types[t]))
            fail_msg("%s has no row in layout.c, or no reader here", type_find(types[t])->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_as_kernels_read_it), cmocka_unit_test(rows_of_any_length),
        cmocka_unit_test(a_few_rows_at_a_time),          cmocka_unit_test(planes_follow_each_other),
        cmocka_unit_test(no_type_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
