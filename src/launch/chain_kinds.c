/* The chains' data and answers, on the CPU. */
#include "base/rng.h"
#include "launch/chain.h"
#include "kernels.h"

#include <math.h>
#include <string.h>

enum { ADD_N = 1024, MODEL_N = 896, NEIGHBOURS_MAX = 4096 };

static void put_floats(uint32_t *state, const float *values, uint32_t n)
{
    memcpy(state, values, n * sizeof *values);
}

/* ---- empty: counts ------------------------------------------------------- */

static void empty_after(double *state, uint32_t steps, uint32_t workgroups)
{
    (void)workgroups;
    state[0] = steps;
}

const chain_kind chain_empty = {.name = "empty",
                                .source = &kernel_empty,
                                .threads = 1,
                                .workgroups = 1,
                                .width = 1,
                                .weight_count = 1,
                                .after = empty_after};

/* ---- add: x[i] = x[i + 257] + 1 ------------------------------------------ */

static void add_start(uint32_t *state)
{
    float x[ADD_N];
    for (int i = 0; i < ADD_N; i++)
        x[i] = (float)i;
    put_floats(state, x, ADD_N);
}

static void add_after(double *state, uint32_t steps, uint32_t workgroups)
{
    (void)workgroups;
    for (uint32_t i = 0; i < ADD_N; i++)
        state[i] = (double)((i + 257ull * steps) % ADD_N) + steps;
}

const chain_kind chain_add = {.name = "add",
                              .source = &kernel_add,
                              .threads = 64,
                              .workgroups = ADD_N / 64,
                              .width = ADD_N,
                              .weight_count = 1,
                              .start = add_start,
                              .after = add_after,
                              .is_float = true};

/* ---- rmsnorm ------------------------------------------------------------- */

/* Near one, and with a product of one over a full turn, so that the elements
 * stay within a small factor of each other however long the chain is. */
static void rmsnorm_weights(float *w)
{
    for (int i = 0; i < MODEL_N; i++)
        w[i] = i % 2 ? 1.25f : 0.8f;
}

static void model_start_f64(double *x)
{
    rng r = rng_seed(896);
    for (int i = 0; i < MODEL_N; i++)
        x[i] = (float)(rng_unit(&r) * 2 - 1);
}

static void model_start(uint32_t *state)
{
    double x[MODEL_N];
    float f[MODEL_N];
    model_start_f64(x);
    for (int i = 0; i < MODEL_N; i++)
        f[i] = (float)x[i];
    put_floats(state, f, MODEL_N);
}

static void rmsnorm_after(double *x, uint32_t steps, uint32_t workgroups)
{
    (void)workgroups;
    float w[MODEL_N];
    rmsnorm_weights(w);
    model_start_f64(x);
    for (uint32_t s = 0; s < steps; s++) {
        double squares = 0, first = x[0];
        for (int i = 0; i < MODEL_N; i++)
            squares += x[i] * x[i];
        double scale = 1 / sqrt(squares / MODEL_N + 1e-6);
        for (int i = 0; i < MODEL_N; i++)
            x[i] = (i + 1 < MODEL_N ? x[i + 1] : first) * scale * w[i];
    }
}

const chain_kind chain_rmsnorm = {.name = "rmsnorm",
                                  .source = &kernel_rmsnorm,
                                  .threads = 256,
                                  .workgroups = 1,
                                  .width = MODEL_N,
                                  .weight_count = MODEL_N,
                                  .weights = rmsnorm_weights,
                                  .start = model_start,
                                  .after = rmsnorm_after,
                                  .is_float = true};

/* ---- gemv ---------------------------------------------------------------- */

/* A reflection, I - 2 v v' with |v| = 1, whose rows are moved down by one: dense,
 * and it keeps lengths, so a chain of any length neither grows nor dies out. The
 * CPU can apply it without multiplying the matrix out. */
static void gemv_mirror(double *v)
{
    double squares = 0;
    rng r = rng_seed(1);
    for (int i = 0; i < MODEL_N; i++) {
        v[i] = rng_unit(&r) * 2 - 1;
        squares += v[i] * v[i];
    }
    for (int i = 0; i < MODEL_N; i++)
        v[i] /= sqrt(squares);
}

static void gemv_weights(float *w)
{
    double v[MODEL_N];
    gemv_mirror(v);
    for (int i = 0; i < MODEL_N; i++) {
        int row = (i + 1) % MODEL_N;
        for (int j = 0; j < MODEL_N; j++)
            w[row * MODEL_N + j] = (float)((i == j) - 2 * v[i] * v[j]);
    }
}

static void gemv_after(double *x, uint32_t steps, uint32_t workgroups)
{
    (void)workgroups;
    double v[MODEL_N], y[MODEL_N];
    gemv_mirror(v);
    model_start_f64(x);
    for (uint32_t s = 0; s < steps; s++) {
        double along = 0;
        for (int i = 0; i < MODEL_N; i++)
            along += v[i] * x[i];
        for (int i = 0; i < MODEL_N; i++)
            y[(i + 1) % MODEL_N] = x[i] - 2 * v[i] * along;
        memcpy(x, y, sizeof y);
    }
}

const chain_kind chain_gemv = {.name = "gemv",
                               .source = &kernel_gemv,
                               .threads = 256,
                               .workgroups = MODEL_N / 8,
                               .width = MODEL_N,
                               .weight_count = MODEL_N * MODEL_N,
                               .weights = gemv_weights,
                               .start = model_start,
                               .after = gemv_after,
                               .is_float = true};

/* ---- neighbours ---------------------------------------------------------- */

static void neighbours_after(double *state, uint32_t steps, uint32_t workgroups)
{
    for (uint32_t i = 0; i < workgroups; i++)
        state[i] = steps;
}

const chain_kind chain_neighbours = {.name = "neighbours",
                                     .source = &kernel_neighbours,
                                     .threads = 256,
                                     .workgroups = 0,
                                     .width = NEIGHBOURS_MAX,
                                     .weight_count = 1,
                                     .after = neighbours_after};
