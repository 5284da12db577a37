/* cpu_recurrent: operators whose state goes from row to row, on the CPU. */
#include "base/str.h"
#include "graph/cpu_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

/* Rows of a text in a run: how many there are, how many count, and whether they begin the text. */
typedef struct some_rows {
    uint32_t first, all, count;
    bool from_the_start;
} some_rows;

/* The position is the operand at this place; the one after it may say which row is the last that counts. With a position
 * for each row, these are texts of their own: which one is meant says `text`. */
static some_rows rows_of(const graph_node *n, const cpu_operand *operands, uint32_t position, uint32_t texts,
                         uint32_t text)
{
    uint32_t all = n->s.dims[LAST - 1] / texts, count = all;
    if (position + 1 < n->operand_count && operands[position + 1].u[0] < count)
        count = operands[position + 1].u[0] + 1;
    return (some_rows){text * all, all, count, operands[position].u[text] == 0};
}

/* A column of the rows, with a kernel of its own. */
static void conv_column(some_rows rows, const float *x, const float *kernel, uint32_t width, uint32_t columns,
                        float *state, float *out)
{
    uint32_t before = width - 1;
    float *line = mem_alloc((before + rows.all) * sizeof *line);
    for (uint32_t i = 0; i < before; i++)
        line[i] = rows.from_the_start ? 0 : state[i * columns];
    for (uint32_t t = 0; t < rows.all; t++)
        line[before + t] = x[t * columns];
    for (uint32_t t = 0; t < rows.all; t++) {
        double sum = 0;
        for (uint32_t i = 0; i < width; i++)
            sum += (double)kernel[i] * line[t + i];
        out[t * columns] = (float)(sum / (1 + exp(-sum)));
    }
    for (uint32_t i = 0; i < before; i++)
        state[i * columns] = line[rows.count + i];
    free(line);
}

void cpu_conv(const graph_node *n, const graph_node *second, const cpu_operand *operands, uint32_t texts, float *out)
{
    uint32_t width = second->s.dims[LAST], columns = n->s.dims[LAST];
    for (uint32_t text = 0; text < texts; text++) {
        some_rows rows = rows_of(n, operands, 3, texts, text);
        size_t first = (size_t)rows.first * columns;
        for (uint32_t c = 0; c < columns; c++)
            conv_column(rows, operands[0].f + first + c, operands[1].f + c * width, width, columns,
                        operands[2].f + (size_t)text * (width - 1) * columns + c, out + first + c);
    }
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

/* The rows of a text, whose matrices are (heads, key_size, value_size). */
static void delta_text(const graph_node *n, const cpu_operand *operands, some_rows rows, float *matrices, float *out)
{
    const delta_spec *d = &n->as.delta;
    const float *x = operands[0].f, *alpha = operands[1].f, *beta = operands[2].f, *rate = operands[3].f;
    uint32_t key_width = d->key_heads * d->key_size, width = 2 * key_width + n->s.dims[LAST];
    if (rows.from_the_start)
        memset(matrices, 0, (size_t)d->heads * d->key_size * d->value_size * sizeof *matrices);
    for (uint32_t t = rows.first; t < rows.first + rows.count; t++)
        for (uint32_t h = 0; h < d->heads; h++) {
            uint32_t shared = d->tiled ? h % d->key_heads : h / (d->heads / d->key_heads);
            const float *q = x + (size_t)t * width + shared * d->key_size;
            const float *v = x + (size_t)t * width + 2 * key_width + h * d->value_size;
            double a = alpha[t * d->heads + h], softplus = a > 30 ? a : log1p(exp(a));
            delta_row(d, q, q + key_width, v, exp(rate[h] * softplus), 1 / (1 + exp(-(double)beta[t * d->heads + h])),
                      matrices + (size_t)h * d->key_size * d->value_size,
                      out + (size_t)t * n->s.dims[LAST] + h * d->value_size);
        }
}

void cpu_delta(const graph_node *n, const graph_node *second, const cpu_operand *operands, uint32_t texts, float *out)
{
    const delta_spec *d = &n->as.delta;
    (void)second;
    memset(out, 0, shape_count(n->s) * sizeof *out);
    for (uint32_t text = 0; text < texts; text++)
        delta_text(n, operands, rows_of(n, operands, 5, texts, text),
                   operands[4].f + (size_t)text * d->heads * d->key_size * d->value_size, out);
}
