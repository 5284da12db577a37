/* The chain that is a small decoder: its weights, and what it computes, on the CPU. */
#include "base/rng.h"
#include "base/str.h"
#include "kernels.h"
#include "launch/chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As in kernels/lab/decoder.wgsl. */
enum {
    D = 64,
    HEADS = 2,
    HEAD = D / HEADS,
    LAYERS = CHAIN_DECODER_LAYERS,
    TOKENS = CHAIN_DECODER_TOKENS,
    HIDDEN = 4 * D,
    X = 1,
    Y = X + D,
    CACHE = Y + D,
    WIDTH = CACHE + LAYERS * TOKENS * 2 * D,
    QKV = TOKENS * D,
    OUTPUT = 3 * D * D,
    UP = OUTPUT + D * D,
    DOWN = UP + HIDDEN * D,
    LAYER = DOWN + D * HIDDEN,
    WEIGHTS = QKV + LAYERS * LAYER,
};

/* Small enough for x to stay of the size that it begins with. */
static void decoder_weights(float *w)
{
    rng r = rng_seed(64);
    for (uint32_t i = 0; i < WEIGHTS; i++)
        w[i] = (float)(rng_unit(&r) * 2 - 1) * (i < QKV ? 1.0f : 0.1f);
}

/* A row of a matrix times x. */
static double product(const float *row, const double *x, uint32_t length)
{
    double sum = 0;
    for (uint32_t i = 0; i < length; i++)
        sum += row[i] * x[i];
    return sum;
}

static void layer_norm(const double *x, double *y)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < D; i++)
        mean += x[i] / D;
    for (int i = 0; i < D; i++)
        squares += (x[i] - mean) * (x[i] - mean) / D;
    for (int i = 0; i < D; i++)
        y[i] = (x[i] - mean) / sqrt(squares + 1e-5);
}

/* A head over the tokens so far; `cache` is the layer's: keys, then values, of each token. */
static void mix_head(const double *q, const double *cache, uint32_t tokens, double *mixed)
{
    double shares[TOKENS], total = 0;
    memset(mixed, 0, HEAD * sizeof *mixed);
    for (uint32_t t = 0; t < tokens; t++) {
        double score = 0;
        for (int i = 0; i < HEAD; i++)
            score += q[i] * cache[(size_t)t * 2 * D + i];
        total += shares[t] = exp(score / sqrt(HEAD));
    }
    for (uint32_t t = 0; t < tokens; t++)
        for (int i = 0; i < HEAD; i++)
            mixed[i] += shares[t] / total * cache[(size_t)t * 2 * D + D + i];
}

static void attend(const float *w, const double *y, double *cache, uint32_t token, double *x)
{
    double q[D], mixed[D], *kept = cache + (size_t)token * 2 * D;
    for (int i = 0; i < D; i++)
        q[i] = product(w + i * D, y, D);
    for (int i = 0; i < 2 * D; i++)
        kept[i] = product(w + (D + i) * D, y, D);
    for (int h = 0; h < HEADS; h++)
        mix_head(q + h * HEAD, cache + h * HEAD, token + 1, mixed + h * HEAD);
    for (int i = 0; i < D; i++)
        x[i] += product(w + OUTPUT + i * D, mixed, D);
}

static void feed_forward(const float *w, const double *y, double *x)
{
    double hidden[HIDDEN];
    for (int i = 0; i < HIDDEN; i++) {
        double up = product(w + UP + i * D, y, D);
        hidden[i] = up / (1 + exp(-up));
    }
    for (int i = 0; i < D; i++)
        x[i] += product(w + DOWN + i * HIDDEN, hidden, HIDDEN);
}

static void decoder_after(double *state, uint32_t steps, uint32_t workgroups)
{
    (void)workgroups;
    float *w = mem_alloc(WEIGHTS * sizeof *w);
    double *x = state + X, y[2][D] = {{0}}, *cache = mem_alloc((WIDTH - CACHE) * sizeof *cache);
    decoder_weights(w);
    memset(state, 0, WIDTH * sizeof *state);
    for (uint32_t s = 0; s < steps; s++) {
        uint32_t token = s / (4 * LAYERS), layer = s / 4 % LAYERS;
        const float *of_layer = w + QKV + (size_t)layer * LAYER;
        for (int i = 0; s % (4 * LAYERS) == 0 && i < D; i++)
            x[i] = w[token * D + i];
        /* a norm is written into the other generation than the one it is read from */
        if (s % 2 == 0)
            layer_norm(x, y[1]);
        else if (s % 4 == 1)
            attend(of_layer, y[1], cache + (size_t)layer * TOKENS * 2 * D, token, x);
        else
            feed_forward(of_layer, y[1], x);
    }
    state[0] = steps;
    memcpy(state + Y, y[steps % 2], sizeof y[0]);
    if (steps % 2 == 0) /* where the cache is */
        memcpy(state + CACHE, cache, (WIDTH - CACHE) * sizeof *cache);
    free(cache);
    free(w);
}

const chain_kind chain_decoder = {.name = "decoder",
                                  .source = &kernel_decoder,
                                  .threads = 64,
                                  .workgroups = 1,
                                  .width = WIDTH,
                                  .weight_count = WEIGHTS,
                                  .weights = decoder_weights,
                                  .after = decoder_after,
                                  .is_float = true};
