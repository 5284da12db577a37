/* type_k_write: floats as K-quants, chosen as llama.cpp chooses them, so that files are the same. Not in a page.
 *
 * Each 16 or 32 weights get a scale (and a minimum, which is subtracted) that leaves the least error, where large weights
 * count more; then scales and minima are rounded themselves, by the largest of the block, and the weights once more with
 * what is left of them. */
#include "graph/type.h"
#include "graph/type_k.h"

#include <math.h>
#include <string.h>

enum { MOST_RUN = 32 };
static const float SMALLEST = 1e-15f; /* weights below are zero */

static int clamped(float x, int low, int high)
{
    int n = x >= (float)high ? high : x <= (float)low ? low : (int)lrintf(x);
    return n > high ? high : n < low ? low : n;
}

static float put_half(uint8_t *to, float x)
{
    uint16_t h = f32_to_f16(x);
    to[0] = (uint8_t)h;
    to[1] = (uint8_t)(h >> 8);
    return f16_to_f32(h);
}

static bool all_finite(const float *x)
{
    for (int i = 0; i < K_WEIGHTS; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* ---- scale and minimum -------------------------------------------------------------- */

/* How a type looks for its scales: `steps` of them, from the one whose range is `first` numbers wider than `top`. */
typedef struct search {
    int count, top, steps;
    float first;
    bool by_distance; /* errors count as they are, not squared */
} search;

static float error_of(const search *s, const float *x, const float *weights, const uint8_t *q, float scale, float low)
{
    float sum = 0;
    for (int i = 0; i < s->count; i++) {
        float off = scale * (float)q[i] + low - x[i];
        off = s->by_distance ? fabsf(off) : off * off;
        sum += weights[i] * off;
    }
    return sum;
}

/* weight i is about scale * q[i] - minimum. */
static float with_minimum(const search *s, const float *x, const float *weights, uint8_t *q, float *minimum)
{
    float low = x[0], high = x[0], sum_w = weights[0], sum_x = sum_w * x[0];
    for (int i = 1; i < s->count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
        sum_w += weights[i];
        sum_x += weights[i] * x[i];
    }
    low = low > 0 ? 0 : low;
    memset(q, 0, (size_t)s->count);
    *minimum = -low;
    if (high == low)
        return 0;
    float by = (float)s->top / (high - low), scale = 1 / by;
    for (int i = 0; i < s->count; i++)
        q[i] = (uint8_t)clamped(by * (x[i] - low), 0, s->top);
    float best = error_of(s, x, weights, q, scale, low);
    for (int step = 0; step <= s->steps; step++) { /* from the best minimum so far */
        uint8_t trial[MOST_RUN];
        float sum_q = 0, sum_qq = 0, sum_xq = 0;
        by = (s->first + 0.1f * (float)step + (float)s->top) / (high - low);
        for (int i = 0; i < s->count; i++) {
            int n = clamped(by * (x[i] - low), 0, s->top);
            trial[i] = (uint8_t)n;
            sum_q += weights[i] * (float)n;
            sum_qq += weights[i] * (float)n * (float)n;
            sum_xq += weights[i] * (float)n * x[i];
        }
        float determinant = sum_w * sum_qq - sum_q * sum_q;
        if (!(determinant > 0))
            continue;
        float trial_scale = (sum_w * sum_xq - sum_x * sum_q) / determinant;
        float trial_low = (sum_qq * sum_x - sum_q * sum_xq) / determinant;
        if (trial_low > 0) {
            trial_low = 0;
            trial_scale = sum_xq / sum_qq;
        }
        float error = error_of(s, x, weights, trial, trial_scale, trial_low);
        if (error < best) {
            memcpy(q, trial, (size_t)s->count);
            best = error;
            scale = trial_scale;
            low = trial_low;
        }
    }
    *minimum = -low;
    return scale;
}

static float largest(const float *x, int count)
{
    float most = 0;
    for (int i = 0; i < count; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

void q2_k_from_f32(const float *from, uint8_t *to, size_t blocks)
{
    static const search how = {16, 3, 15, -0.5f, true};
    for (; blocks; blocks--, from += K_WEIGHTS, to += Q2_K_BYTES) {
        uint8_t q[K_WEIGHTS];
        float scales[16], minima[16], weights[16];
        memset(to, 0, Q2_K_BYTES);
        if (!all_finite(from))
            continue;
        for (int run = 0; run < 16; run++) {
            for (int i = 0; i < 16; i++)
                weights[i] = fabsf(from[16 * run + i]);
            scales[run] = with_minimum(&how, from + 16 * run, weights, q + 16 * run, &minima[run]);
        }
        float scale = largest(scales, 16), minimum = largest(minima, 16);
        float d = put_half(to + 80, scale > 0 ? scale / 15 : 0),
              dmin = put_half(to + 82, minimum > 0 ? minimum / 15 : 0);
        for (int run = 0; run < 16; run++) {
            int s = scale > 0 ? clamped(15 / scale * scales[run], 0, 15) : 0;
            int m = minimum > 0 ? clamped(15 / minimum * minima[run], 0, 15) : 0;
            to[run] = (uint8_t)(s | m << 4);
            float run_scale = d * (float)s, run_minimum = dmin * (float)m;
            for (int i = 16 * run; run_scale != 0 && i < 16 * run + 16; i++)
                q[i] = (uint8_t)clamped((from[i] + run_minimum) / run_scale, 0, 3);
        }
        for (int i = 0; i < K_WEIGHTS; i++)
            to[16 + i / 128 * 32 + i % 32] |= (uint8_t)(q[i] << i % 128 / 32 * 2);
    }
}

/* Scales and minima of six bits: type_k.c has them the other way. */
static void put_six_bits(uint8_t *packed, int run, int scale, int minimum)
{
    if (run < 4) {
        packed[run] |= (uint8_t)scale;
        packed[run + 4] |= (uint8_t)minimum;
    } else {
        packed[run + 4] = (uint8_t)((scale & 15) | (minimum & 15) << 4);
        packed[run - 4] |= (uint8_t)(scale >> 4 << 6);
        packed[run] |= (uint8_t)(minimum >> 4 << 6);
    }
}

/* q4_k and q5_k up to where their weights are. */
static void with_six_bits(const search *how, const float *from, uint8_t *to, uint8_t *q)
{
    float scales[8], minima[8], weights[32];
    for (int run = 0; run < 8; run++) {
        const float *x = from + 32 * run;
        float squares = 0;
        for (int i = 0; i < 32; i++)
            squares += x[i] * x[i];
        float average = sqrtf(squares / 32);
        for (int i = 0; i < 32; i++)
            weights[i] = average + fabsf(x[i]);
        scales[run] = with_minimum(how, x, weights, q + 32 * run, &minima[run]);
    }
    float scale = largest(scales, 8), minimum = largest(minima, 8);
    float by_scale = scale > 0 ? 63 / scale : 0, by_minimum = minimum > 0 ? 63 / minimum : 0;
    float d = put_half(to, scale / 63), dmin = put_half(to + 2, minimum / 63);
    for (int run = 0; run < 8; run++) {
        int s = clamped(by_scale * scales[run], 0, 63), m = clamped(by_minimum * minima[run], 0, 63);
        put_six_bits(to + 4, run, s, m);
        float run_scale = d * (float)s, run_minimum = dmin * (float)m;
        for (int i = 32 * run; run_scale != 0 && i < 32 * run + 32; i++)
            q[i] = (uint8_t)clamped((from[i] + run_minimum) / run_scale, 0, how->top);
    }
}

/* Runs 2 k and 2 k + 1 in the low and high nibbles of 32 bytes. */
static void put_runs(uint8_t *to, const uint8_t *q)
{
    for (int i = 0; i < K_WEIGHTS; i++)
        to[i / 64 * 32 + i % 32] |= (uint8_t)((q[i] & 15) << i % 64 / 32 * 4);
}

void q4_k_from_f32(const float *from, uint8_t *to, size_t blocks)
{
    static const search how = {32, 15, 20, -1, false};
    for (; blocks; blocks--, from += K_WEIGHTS, to += Q4_K_BYTES) {
        uint8_t q[K_WEIGHTS];
        memset(to, 0, Q4_K_BYTES);
        if (!all_finite(from))
            continue;
        with_six_bits(&how, from, to, q);
        put_runs(to + 16, q);
    }
}

void q5_k_from_f32(const float *from, uint8_t *to, size_t blocks)
{
    static const search how = {32, 31, 15, -0.5f, false};
    for (; blocks; blocks--, from += K_WEIGHTS, to += Q5_K_BYTES) {
        uint8_t q[K_WEIGHTS];
        memset(to, 0, Q5_K_BYTES);
        if (!all_finite(from))
            continue;
        with_six_bits(&how, from, to, q);
        for (int i = 0; i < K_WEIGHTS; i++)
            to[16 + i % 32] |= (uint8_t)((q[i] >> 4) << i / 32);
        put_runs(to + 48, q);
    }
}

/* ---- a scale alone -------------------------------------------------------------------- */

static float farthest(const float *x, int count)
{
    float most = 0;
    for (int i = 0; i < count; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    return most;
}

/* Weights count by their squares. q: -half to half - 1. */
static float symmetric(const float *x, int half, int8_t *q)
{
    float most = farthest(x, 16), scale = 0, best = 0;
    memset(q, -half, 16); /* where all are zero, the number does not matter: llama.cpp's */
    if (fabsf(most) < SMALLEST)
        return 0;
    for (int attempt = -1; attempt < 19; attempt++) { /* first the middle */
        int off = attempt - 9;
        if (attempt >= 0 && off == 0)
            continue;
        float by = attempt < 0 ? -(float)half / most : -((float)half + 0.1f * (float)off) / most;
        float products = 0, squares = 0;
        int8_t trial[16];
        for (int i = 0; i < 16; i++) {
            int n = clamped(by * x[i], -half, half - 1);
            float weight = x[i] * x[i];
            trial[i] = (int8_t)n;
            products += weight * x[i] * (float)n;
            squares += weight * (float)n * (float)n;
        }
        if (attempt < 0 ? squares != 0 : squares > 0 && products * products > best * squares) {
            scale = products / squares;
            best = scale * products;
            memcpy(q, trial, 16);
        }
    }
    return scale;
}

void q6_k_from_f32(const float *from, uint8_t *to, size_t blocks)
{
    for (; blocks; blocks--, from += K_WEIGHTS, to += Q6_K_BYTES) {
        int8_t q[K_WEIGHTS];
        float scales[16];
        memset(to, 0, Q6_K_BYTES);
        if (!all_finite(from))
            continue;
        for (int run = 0; run < 16; run++)
            scales[run] = symmetric(from + 16 * run, 32, q + 16 * run);
        float most = farthest(scales, 16);
        if (fabsf(most) < SMALLEST)
            continue;
        float by = -128 / most, d = put_half(to + 208, 1 / by);
        for (int run = 0; run < 16; run++) {
            int s = clamped(by * scales[run], -128, 127);
            to[192 + run] = (uint8_t)(int8_t)s;
            float run_scale = d * (float)s;
            for (int i = 16 * run; run_scale != 0 && i < 16 * run + 16; i++)
                q[i] = (int8_t)clamped(from[i] / run_scale, -32, 31);
        }
        for (int i = 0; i < K_WEIGHTS; i++) {
            int n = q[i] + 32, in = i % 128;
            to[i / 128 * 64 + in % 64] |= (uint8_t)((n & 15) << in / 64 * 4);
            to[128 + i / 128 * 32 + in % 32] |= (uint8_t)((n >> 4) << in / 32 * 2);
        }
    }
}

/* As symmetric, but each weight's number is improved by itself, in up to five rounds. */
static float one_by_one(const float *x, int half, int8_t *q)
{
    float most = farthest(x, 16), products = 0, squares = 0;
    memset(q, -half, 16); /* where all are zero, the number does not matter: llama.cpp's */
    if (fabsf(most) < SMALLEST)
        return 0;
    for (int i = 0; i < 16; i++) {
        int n = clamped(-(float)half / most * x[i], -half, half - 1);
        float weight = x[i] * x[i];
        q[i] = (int8_t)n;
        products += weight * x[i] * (float)n;
        squares += weight * (float)n * (float)n;
    }
    bool changed = true;
    for (int round = 0; changed && round < 5; round++) {
        changed = false;
        for (int i = 0; i < 16; i++) {
            float weight = x[i] * x[i], p = products - weight * x[i] * (float)q[i];
            if (!(p > 0))
                continue;
            float s = squares - weight * (float)q[i] * (float)q[i];
            int n = clamped(x[i] * s / p, -half, half - 1);
            if (n == q[i])
                continue;
            p += weight * x[i] * (float)n;
            s += weight * (float)n * (float)n;
            if (s > 0 && p * p * squares > products * products * s) {
                q[i] = (int8_t)n;
                products = p;
                squares = s;
                changed = true;
            }
        }
    }
    return squares > 0 ? products / squares : 0;
}

void q3_k_from_f32(const float *from, uint8_t *to, size_t blocks)
{
    for (; blocks; blocks--, from += K_WEIGHTS, to += Q3_K_BYTES) {
        int8_t q[K_WEIGHTS];
        float scales[16];
        memset(to, 0, Q3_K_BYTES);
        if (!all_finite(from))
            continue;
        for (int run = 0; run < 16; run++)
            scales[run] = one_by_one(from + 16 * run, 4, q + 16 * run);
        float most = farthest(scales, 16), by = most != 0 ? -32 / most : 0;
        float d = put_half(to + 108, most != 0 ? 1 / by : 0);
        for (int run = 0; run < 16; run++) {
            int s = most != 0 ? clamped(by * scales[run], -32, 31) + 32 : 0;
            to[96 + run % 8] |= (uint8_t)((s & 15) << run / 8 * 4);
            to[104 + run % 4] |= (uint8_t)((s >> 4) << run / 4 * 2);
            float run_scale = d * (float)(s - 32);
            for (int i = 16 * run; run_scale != 0 && i < 16 * run + 16; i++)
                q[i] = (int8_t)clamped(from[i] / run_scale, -4, 3);
        }
        for (int i = 0; i < K_WEIGHTS; i++) {
            int n = q[i] + 4;
            to[i % 32] |= (uint8_t)((n >> 2) << i / 32);
            to[32 + i / 128 * 32 + i % 32] |= (uint8_t)((n & 3) << i % 128 / 32 * 2);
        }
    }
}
