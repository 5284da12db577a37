/* src/graph/type: what the bits of weights mean. tests/data/types.bin holds what
 * another implementation makes of them (tests/make_type_vectors.py). */
#include "base/err.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "graph/type.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* ---- halves ---------------------------------------------------------------- */

/* What a half means, by its definition. */
static double half_value(uint32_t h)
{
    int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
    double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return h & 0x8000 ? -magnitude : magnitude;
}

static void every_half_means_what_it_says(void **unused)
{
    (void)unused;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = f16_to_f32((uint16_t)h);
        assert_int_equal(signbit(f) != 0, h >> 15);
        if ((h & 0x7c00) != 0x7c00)
            assert_true((double)f == half_value(h));
        else if (h & 0x3ff)
            assert_true(isnan(f));
        else
            assert_true(isinf(f));
    }
}

static void every_half_comes_back(void **unused)
{
    (void)unused;
    for (uint32_t h = 0; h < 0x10000; h++) {
        bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff);
        assert_int_equal(f32_to_f16(f16_to_f32((uint16_t)h)), nan ? h | 0x200 : h);
        nan = (h & 0x7f80) == 0x7f80 && (h & 0x7f);
        assert_int_equal(f32_to_bf16(bf16_to_f32((uint16_t)h)), nan ? h | 0x40 : h);
    }
}

/* The nearest half, by looking for it. `half_value(0x7c00)` is 65536, the number
 * that the next half would be, so that what rounds to it becomes infinity. */
static uint16_t nearest_half(float f)
{
    double x = fabs((double)f);
    uint32_t sign = signbit(f) ? 0x8000 : 0, below = 0, above = 0x7c00;
    if (x >= half_value(above))
        return (uint16_t)(sign | 0x7c00);
    while (above - below > 1) {
        uint32_t middle = (below + above) / 2;
        if (half_value(middle) <= x)
            below = middle;
        else
            above = middle;
    }
    double down = x - half_value(below), up = half_value(above) - x;
    bool round_up = up < down || (up == down && (below & 1));
    return (uint16_t)(sign | (round_up ? above : below));
}

static void check_half_of(float f)
{
    uint16_t got = f32_to_f16(f), expected = nearest_half(f);
    if (got != expected)
        print_message("%a: %04x, expected %04x\n", (double)f, got, expected);
    assert_int_equal(got, expected);
}

static void floats_round_to_the_nearest_half(void **unused)
{
    (void)unused;
    /* every half, every middle between two, and the floats beside them */
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float middle = (float)((half_value(h) + half_value(h + 1)) / 2);
        for (int side = -1; side <= 1; side++) {
            check_half_of(float_of(bits_of(middle) + (uint32_t)side));
            check_half_of(-float_of(bits_of(middle) + (uint32_t)side));
            if (h || side >= 0)
                check_half_of(float_of(bits_of((float)half_value(h)) + (uint32_t)side));
        }
    }
    rng r = rng_seed(1);
    for (int i = 0; i < 300000; i++) {
        float f = float_of((uint32_t)rng_next(&r));
        if (!isnan(f))
            check_half_of(f);
    }
    check_half_of(65519.996f);
    check_half_of(65520);
    check_half_of(3.4e38f);
    check_half_of(INFINITY);
    check_half_of(-INFINITY);
    check_half_of(1e-45f);
    assert_int_equal(f32_to_f16(NAN) & 0x7e00, 0x7e00);
    assert_int_equal(f32_to_f16(float_of(0x7f800001)) & 0x7e00, 0x7e00); /* not infinity */
    assert_int_equal(f32_to_f16(float_of(0xffc00000)), 0xfe00);
}

static void floats_round_to_the_nearest_bf16(void **unused)
{
    (void)unused;
    rng r = rng_seed(2);
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)rng_next(&r);
        if (i % 4 == 0)
            bits = (bits & 0xffff0000) | 0x8000; /* a tie */
        float f = float_of(bits);
        uint32_t got = f32_to_bf16(f);
        if (isnan(f)) {
            assert_true(isnan(bf16_to_f32((uint16_t)got)));
            continue;
        }
        uint32_t below = bits >> 16, low = bits & 0xffff;
        bool up = low > 0x8000 || (low == 0x8000 && (below & 1));
        assert_int_equal(got, below + up);
    }
    assert_int_equal(f32_to_bf16(INFINITY), 0x7f80);
    assert_int_equal(f32_to_bf16(float_of(0x7f7fffff)), 0x7f80);
    assert_true(isnan(bf16_to_f32(f32_to_bf16(float_of(0x7f800001)))));
}

/* ---- blocks ---------------------------------------------------------------- */

static void types_are_found(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t number;
        const char *name;
        uint32_t weights, bytes;
    } known[] = {
        {0, "f32", 1, 4},         {1, "f16", 1, 2},         {30, "bf16", 1, 2},      {2, "q4_0", 32, 18},
        {3, "q4_1", 32, 20},      {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},     {8, "q8_0", 32, 34},
        {10, "q2_k", 256, 84},    {11, "q3_k", 256, 110},   {12, "q4_k", 256, 144},  {13, "q5_k", 256, 176},
        {14, "q6_k", 256, 210},   {16, "iq2_xxs", 256, 66}, {17, "iq2_xs", 256, 74}, {18, "iq3_xxs", 256, 98},
        {19, "iq1_s", 256, 50},   {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110}, {22, "iq2_s", 256, 82},
        {23, "iq4_xs", 256, 136}, {29, "iq1_m", 256, 56},   {34, "tq1_0", 256, 54},  {35, "tq2_0", 256, 66},
        {39, "mxfp4", 32, 17},
    };
    size_t count = sizeof known / sizeof known[0], found = 0;
    for (size_t i = 0; i < count; i++) {
        const type_info *info = type_find(known[i].number);
        assert_non_null(info);
        assert_string_equal(info->name, known[i].name);
        assert_int_equal(info->block_weights, known[i].weights);
        assert_int_equal(info->block_bytes, known[i].bytes);
        assert_ptr_equal(type_named(known[i].name), info);
        assert_int_equal(type_bytes(known[i].number, 512), 512 / known[i].weights * known[i].bytes);
    }
    for (uint32_t i = 0; i < 1000; i++)
        found += type_find(i) != NULL;
    assert_int_equal(found, count);
    assert_null(type_find(UINT32_MAX));
    assert_null(type_named("q9_9"));
    assert_null(type_named(""));
    assert_int_equal(type_bytes((tensor_type)4, 512), 0);
}

static uint32_t u32_at(const char *p)
{
    uint32_t value;
    memcpy(&value, p, 4);
    return value;
}

static uint32_t distance_in_ulps(float a, float b)
{
    uint32_t x = bits_of(a), y = bits_of(b);
    if (x >> 31 != y >> 31)
        return a == b ? 0 : UINT32_MAX;
    return x > y ? x - y : y - x;
}

/* The bytes are copied to odd addresses: tensors need not be aligned. */
static void check_read(tensor_type type, const float *floats, size_t count, const char *bytes, size_t byte_count)
{
    char *odd = mem_alloc(byte_count + 1);
    float *got = mem_alloc(count * sizeof *got);
    memcpy(odd + 1, bytes, byte_count);
    type_to_f32(type, odd + 1, got, count);
    for (size_t i = 0; i < count; i++)
        if (distance_in_ulps(got[i], floats[i]) > 1)
            fail_msg("%s, weight %zu: %.9g, expected %.9g", type_find(type)->name, i, (double)got[i],
                     (double)floats[i]);
    free(odd);
    free(got);
}

static void check_write(tensor_type type, const float *floats, size_t count, const char *bytes, size_t byte_count)
{
    char *got = mem_alloc(byte_count + 1);
    assert_true(type_from_f32(type, floats, got + 1, count));
    for (size_t i = 0; i < byte_count; i++)
        if (got[i + 1] != bytes[i])
            fail_msg("%s, byte %zu: %02x, expected %02x", type_find(type)->name, i, got[i + 1] & 255, bytes[i] & 255);
    free(got);
}

static void blocks_mean_what_another_implementation_says(void **unused)
{
    (void)unused;
    err e = {0};
    size_t length, at = 0, records = 0;
    char *file = file_read("tests/data/types.bin", 1 << 20, &length, &e);
    if (!file)
        fail_msg("%s", e.text);
    while (at < length) {
        assert_true(length - at >= 16);
        tensor_type type = u32_at(file + at);
        uint32_t way = u32_at(file + at + 4), count = u32_at(file + at + 8), bytes = u32_at(file + at + 12);
        assert_true(length - at - 16 >= (size_t)count * 4 + bytes);
        assert_int_equal(type_bytes(type, count), bytes);
        float *floats = mem_alloc(count * sizeof *floats);
        memcpy(floats, file + at + 16, count * sizeof *floats);
        (way ? check_write : check_read)(type, floats, count, file + at + 16 + (size_t)count * 4, bytes);
        free(floats);
        at += 16 + (size_t)count * 4 + bytes;
        records++;
    }
    assert_int_equal(records, 25 + 8 + 6);
    free(file);
}

static void written_weights_come_back_close(void **unused)
{
    (void)unused;
    static const struct {
        tensor_type type;
        double steps; /* the error is at most half a step, and a bit for the rounded scale */
    } types[] = {{TYPE_F32, 1e9},  {TYPE_F16, 1000}, {TYPE_BF16, 120}, {TYPE_Q8_0, 127}, {TYPE_Q4_0, 8},
                 {TYPE_Q4_1, 7},   {TYPE_Q5_0, 16},  {TYPE_Q5_1, 15},  {TYPE_IQ4_NL, 7}, {TYPE_MXFP4, 4},
                 {TYPE_Q2_K, 1.2}, {TYPE_Q3_K, 3},   {TYPE_Q4_K, 6},   {TYPE_Q5_K, 13},  {TYPE_Q6_K, 25}};
    enum { N = 2560 };
    static float in[N], out[N];
    static uint8_t packed[N * 4];
    rng r = rng_seed(3);
    for (int i = 0; i < N; i++)
        in[i] = (float)(2 * rng_unit(&r) - 1);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        assert_true(type_from_f32(types[t].type, in, packed, N));
        type_to_f32(types[t].type, packed, out, N);
        double worst = 0;
        for (int i = 0; i < N; i++)
            worst = fmax(worst, fabs((double)in[i] - (double)out[i]));
        /* q4_0 and q5_0 lack the last step on one side: a whole step there */
        assert_true(worst <= 1.02 / types[t].steps);
    }
}

static void odd_numbers_do_no_harm(void **unused)
{
    (void)unused;
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f, 1e-38f, 1, -1};
    rng r = rng_seed(4);
    float in[256], out[256];
    uint8_t packed[1024];
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < 256; i++)
            in[i] = odd[rng_below(&r, round % 2 ? 12 : 1 + (uint32_t)(round % 12))];
        for (uint32_t t = 0; t < TYPE_NUMBERS; t++) {
            uint32_t count = type_find(t) && type_find(t)->block_weights == 256 ? 256 : 32;
            if (count == 256 && round % 10)
                continue;
            if (type_find(t) && type_from_f32((tensor_type)t, in, packed, count))
                type_to_f32((tensor_type)t, packed, out, count);
        }
    }
}

static void types_one_cannot_write_say_so(void **unused)
{
    (void)unused;
    float in[256] = {0};
    uint8_t out[256] = {0};
    assert_false(type_from_f32(TYPE_IQ4_XS, in, out, 256));
    assert_false(type_from_f32(TYPE_IQ2_S, in, out, 256));
    assert_false(type_from_f32((tensor_type)5, in, out, 256));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_means_what_it_says),
        cmocka_unit_test(every_half_comes_back),
        cmocka_unit_test(floats_round_to_the_nearest_half),
        cmocka_unit_test(floats_round_to_the_nearest_bf16),
        cmocka_unit_test(types_are_found),
        cmocka_unit_test(blocks_mean_what_another_implementation_says),
        cmocka_unit_test(written_weights_come_back_close),
        cmocka_unit_test(odd_numbers_do_no_harm),
        cmocka_unit_test(types_one_cannot_write_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
