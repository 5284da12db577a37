/* Logits and settings of all sorts, for the tests of choosing a token. */
#ifndef SOLO_TEST_SAMPLING_H
#define SOLO_TEST_SAMPLING_H

#include "base/rng.h"
#include "base/str.h"
#include "graph/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    PEAKED,
    FLAT,
    NORMAL,
    EQUAL,
    FEW_VALUES,
    MASKED,
    NOT_NUMBERS,
    ALL_MASKED,
    HUGE_ONES,
    LOGIT_KINDS
} logit_kind;

static float normal_number(rng *r)
{
    return (float)(sqrt(-2 * log(1 - rng_unit(r))) * cos(6.283185307179586 * rng_unit(r)));
}

static float make_logit(logit_kind kind, rng *r)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-42f, -1e-42f, 1, -1, 3e38f, -3e38f};
    float n = normal_number(r);
    switch (kind) {
    case PEAKED: return n * n * n * n * (n < 0 ? -0.1f : 0.25f); /* a long tail of likely ones */
    case FLAT: return 5 + n * 0.01f;
    case EQUAL: return -2.5f;
    case FEW_VALUES: return (float)rng_below(r, 12) - 8;
    case MASKED: return rng_below(r, 3) ? -INFINITY : n * 4;
    case NOT_NUMBERS: return rng_below(r, 8) ? n * 3 : odd[rng_below(r, sizeof odd / sizeof *odd)];
    case ALL_MASKED: return -INFINITY;
    case HUGE_ONES: return n * 1e33f;
    default: return n * 3;
    }
}

static void make_logits(float *logits, uint32_t vocab, logit_kind kind, rng *r)
{
    for (uint32_t i = 0; i < vocab; i++)
        logits[i] = make_logit(kind, r);
}

/* Each filter is on or off, near its bounds or in the middle. */
static sample_settings make_settings(uint32_t vocab, rng *r)
{
    static const float temperatures[] = {0, 0.01f, 0.5f, 0.8f, 1, 1.5f, 30, 1e-9f, 1e38f};
    static const float ps[] = {0, 1, 0.9f, 0.95f, 0.5f, 0.05f, 0.999f, 1e-9f, 0.99999994f};
    static const float min_ps[] = {0, 0, 0.05f, 0.5f, 1e-4f, 1, 1e-20f};
    static const float penalties[] = {0, 1, 1.1f, 1.5f, 0.7f, 100};
    const uint32_t ks[] = {0, 0, 1, 2, 40, 100, 1000, 1024, 1025, 1 + rng_below(r, vocab), vocab, vocab + 5};
#define ONE_OF(list) list[rng_below(r, sizeof list / sizeof *list)]
    sample_settings s = {ONE_OF(temperatures), ONE_OF(ks),           ONE_OF(ps),           ONE_OF(min_ps),
                         ONE_OF(penalties),    rng_below(r, 3) * 40, (uint32_t)rng_next(r)};
#undef ONE_OF
    return s;
}

#endif
