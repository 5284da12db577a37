/* src/graph/layout: weights in planes, read back as kernels/weight/NAME.wgsl read
 * them, against what type_to_f32 makes of the file's bytes. */
#include "base/rng.h"
#include "base/str.h"
#include "graph/layout.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const tensor_type TYPES[] = {TYPE_F32,  TYPE_F16,  TYPE_BF16, TYPE_Q4_0, TYPE_Q4_1, TYPE_Q5_0, TYPE_Q5_1,
                                    TYPE_Q8_0, TYPE_Q2_K, TYPE_Q3_K, TYPE_Q4_K, TYPE_Q5_K, TYPE_Q6_K};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

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
    uint32_t high = bit(m->words[m->chunks * 4 + c], i);
    return ((float)(nibble(m->words + c * 4, i) + 16 * high) - 16) * half_at(m, m->chunks * 5, c);
}

static float read_q5_1(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t high = bit(m->words[m->chunks * 4 + c], i), f = m->words[m->chunks * 5 + c];
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
    uint32_t scales = m->chunks * 3, high = bit(m->words[m->chunks * 2 + c], i);
    float s = (float)(int8_t)scale_of_sixteen(m, scales, c, i) * half_at(m, scales + m->chunks / 2, c / 8);
    return ((float)(pair_of_bits(m->words + c * 2, i) + 4 * high) - 4) * s;
}

/* Eight scales and eight minima to a block, a byte each. */
static float read_q45_k(const matrix *m, uint32_t scales, uint32_t c, uint32_t q)
{
    uint32_t f = m->words[scales + m->chunks / 2 + c / 8];
    const uint32_t *block = m->words + scales + c / 8 * 4;
    float scale = (float)byte_of(block[c % 8 / 4], c % 4), minimum = (float)byte_of(block[2 + c % 8 / 4], c % 4);
    return (float)q * (half_of(f, 0) * scale) - half_of(f, 1) * minimum;
}

static float read_q4_k(const matrix *m, uint32_t c, uint32_t i)
{
    return read_q45_k(m, m->chunks * 4, c, nibble(m->words + c * 4, i));
}

static float read_q5_k(const matrix *m, uint32_t c, uint32_t i)
{
    return read_q45_k(m, m->chunks * 5, c, nibble(m->words + c * 4, i) + 16 * bit(m->words[m->chunks * 4 + c], i));
}

static float read_q6_k(const matrix *m, uint32_t c, uint32_t i)
{
    uint32_t high = m->chunks * 4, scales = m->chunks * 6;
    float s = (float)(int8_t)scale_of_sixteen(m, scales, c, i) * half_at(m, scales + m->chunks / 2, c / 8);
    return ((float)(nibble(m->words + c * 4, i) + 16 * pair_of_bits(m->words + high + c * 2, i)) - 32) * s;
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
    default: return read_q6_k;
    }
}

/* ---- packing as memory_upload.c does: planes, some rows at a time ------------------------------ */

/* Where halves stand in a block: no NaN there, so that numbers can be compared. */
static void make_halves_finite(tensor_type type, unsigned char *data, uint64_t bytes)
{
    static const struct {
        tensor_type type;
        int at[2];
    } halves[] = {{TYPE_Q4_0, {0, -1}}, {TYPE_Q4_1, {0, 2}},    {TYPE_Q5_0, {0, -1}},   {TYPE_Q5_1, {0, 2}},
                  {TYPE_Q8_0, {0, -1}}, {TYPE_Q2_K, {80, 82}},  {TYPE_Q3_K, {108, -1}}, {TYPE_Q4_K, {0, 2}},
                  {TYPE_Q5_K, {0, 2}},  {TYPE_Q6_K, {208, -1}}, {TYPE_F16, {0, -1}},    {TYPE_BF16, {0, -1}},
                  {TYPE_F32, {2, -1}}};
    uint32_t block = type_find(type)->block_bytes;
    for (size_t h = 0; h < sizeof halves / sizeof *halves; h++)
        for (int k = 0; halves[h].type == type && k < 2 && halves[h].at[k] >= 0; k++)
            for (uint64_t b = 0; b < bytes / block; b++)
                data[b * block + (uint64_t)halves[h].at[k] + 1] &= 0xbb;
}

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
        layout_pack(type, data + row * type_bytes(type, columns), some, columns, planes);
        for (int k = 0; k < PLANE_COUNT; k++) {
            layout_plane plane = (layout_plane)k;
            if (planes[k])
                memcpy(words + layout_plane_at(type, rows, columns, plane) +
                           layout_plane_bytes(type, row, columns, plane),
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
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)rng_next(r);
    make_halves_finite(type, data, bytes);
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
    for (int t = 0; t < TYPE_COUNT; t++) {
        uint32_t block = type_find(TYPES[t])->block_weights;
        for (uint32_t rows = 1; rows <= 7; rows += 2)
            for (uint32_t blocks = 1; blocks <= 3; blocks++)
                check_matrix(TYPES[t], rows, block == 1 ? 8 * blocks : block * blocks, rows, &r);
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
    for (int t = 0; t < TYPE_COUNT; t++) {
        uint32_t block = type_find(TYPES[t])->block_weights;
        for (uint32_t rows = 5; rows <= 6; rows++)
            check_matrix(TYPES[t], rows, block == 1 ? 13 : block, 2, &r);
    }
}

static void planes_follow_each_other(void **unused)
{
    (void)unused;
    for (int t = 0; t < TYPE_COUNT; t++)
        for (uint32_t rows = 1; rows < 6; rows++) {
            tensor_type type = TYPES[t];
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
            assert_true(at >= in_file && at <= in_file + more + 2);
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
    for (uint32_t number = 0; number < 1000; number++) {
        bool listed = false;
        for (int t = 0; t < TYPE_COUNT; t++)
            listed |= TYPES[t] == number;
        if (type_find(number) && !listed)
            fail_msg("%s is not in TYPES here: has it a row in layout.c?", type_find(number)->name);
    }
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
