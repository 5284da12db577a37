/* cpu_recurrent: operators whose state goes from row to row, on the CPU. */
#include "base/str.h"
#include "graph/cpu_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

/* Of a run's rows: how many count, and whether they begin a text. */
typedef struct some_rows {
    uint32_t count;
    bool from_the_start;
} some_rows;

/* The position is the operand at this place; the one after it may say which row is the last that counts. */
static some_rows rows_of(const graph_node *n, const cpu_operand *operands, uint32_t position)
{
    uint32_t count = n->s.dims[LAST - 1];
    if (position + 1 < n->operand_count && operands[position + 1].u[0] < count)
        count = operands[position + 1].u[0] + 1;
    return (some_rows){count, operands[position].u[0] == 0};
}

void cpu_conv(const graph_node *n, const graph_node *second, const cpu_operand *operands, float *out)
{
    const float *x = operands[0].f, *weight = operands[1].f;
    float *state = operands[2].f;
    some_rows rows = rows_of(n, operands, 3);
    uint32_t width = second->s.dims[LAST], columns = n->s.dims[LAST], before = width - 1, all = n->s.dims[LAST - 1];
    float *line = mem_alloc((before + all) * sizeof *line);
    for (uint32_t c = 0; c < columns; c++) {
        for (uint32_t i = 0; i < before; i++)
            line[i] = rows.from_the_start ? 0 : state[i * columns + c];
        for (uint32_t t = 0; t < all; t++)
            line[before + t] = x[t * columns + c];
        for (uint32_t t = 0; t < all; t++) {
            double sum = 0;
            for (uint32_t i = 0; i < width; i++)
                sum += (double)weight[c * width + i] * line[t + i];
            out[t * columns + c] = (float)(sum / (1 + exp(-sum)));
        }
        for (uint32_t i = 0; i < before; i++)
            state[i * columns + c] = line[rows.count + i];
    }
    free(line);
}

static double inverse_length(const float *x, uint32_t size)
{
    double squares = 0;
    for (uint32_t i = 0; i < size; i++)
        squares += (double)x[i] * x[i];
    return 1 / sqrt(squares + 1e-6);
}

/* A row of a head, whose matrix is (key_size, value_size). */
static void delta_row(const delta_spec *d, const float *q, const float *k, const float *v, double decay, double share,
                      float *matrix, float *out)
{
    double q_scale = inverse_length(q, d->key_size) / sqrt(d->key_size), k_scale = inverse_length(k, d->key_size);
    for (uint32_t c = 0; c < d->value_size; c++) {
        double known = 0, sum = 0;
        for (uint32_t i = 0; i < d->key_size; i++)
            known += k[i] * k_scale * decay * matrix[i * d->value_size + c];
        for (uint32_t i = 0; i < d->key_size; i++) {
            float *at = &matrix[i * d->value_size + c];
            *at = (float)(*at * decay + k[i] * k_scale * (v[c] - known) * share);
            sum += q[i] * q_scale * *at;
        }
        out[c] = (float)sum;
    }
}

void cpu_delta(const graph_node *n, const graph_node *second, const cpu_operand *operands, float *out)
{
    const delta_spec *d = &n->as.delta;
    const float *x = operands[0].f, *alpha = operands[1].f, *beta = operands[2].f, *rate = operands[3].f;
    float *state = operands[4].f;
    some_rows rows = rows_of(n, operands, 5);
    (void)second;
    uint32_t key_width = d->key_heads * d->key_size, width = 2 * key_width + n->s.dims[LAST];
    if (rows.from_the_start)
        memset(state, 0, (size_t)d->heads * d->key_size * d->value_size * sizeof *state);
    memset(out, 0, shape_count(n->s) * sizeof *out);
    for (uint32_t t = 0; t < rows.count; t++)
        for (uint32_t h = 0; h < d->heads; h++) {
            uint32_t shared = d->tiled ? h % d->key_heads : h / (d->heads / d->key_heads);
            const float *q = x + (size_t)t * width + shared * d->key_size;
            const float *v = x + (size_t)t * width + 2 * key_width + h * d->value_size;
            double a = alpha[t * d->heads + h], softplus = a > 30 ? a : log1p(exp(a));
            delta_row(d, q, q + key_width, v, exp(rate[h] * softplus), 1 / (1 + exp(-(double)beta[t * d->heads + h])),
                      state + (size_t)h * d->key_size * d->value_size,
                      out + (size_t)t * n->s.dims[LAST] + h * d->value_size);
        }
}
