/* cpu_experts: a mixture of experts on the CPU: who is chosen, products with chosen matrices, weighted
 * sums; and products with a matrix for each head. */
#include "base/str.h"
#include "graph/cpu_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

void cpu_topk_row(const float *x, uint32_t length, uint32_t *out, uint32_t count)
{
    bool *taken = mem_alloc(length * sizeof *taken);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t best = length;
        for (uint32_t i = 0; i < length; i++)
            if (!taken[i] && (best == length || x[i] > x[best]))
                best = i;
        taken[best] = true;
        out[k] = best;
    }
    free(taken);
}

void cpu_route(const graph_node *n, const float *scores, uint32_t count, float *out)
{
    uint32_t slots = n->s.dims[LAST] / 2, *places = mem_alloc(slots * sizeof *places);
    cpu_topk_row(scores, count, places, slots);
    double most = scores[places[0]], sum = 0;
    for (uint32_t i = 0; i < (n->as.route == ROUTE_OF_ALL ? count : slots); i++)
        sum += exp(scores[n->as.route == ROUTE_OF_ALL ? i : places[i]] - most);
    for (uint32_t s = 0; s < slots; s++) {
        out[s] = (float)places[s];
        out[slots + s] = (float)(exp(scores[places[s]] - most) / sum);
    }
    free(places);
}

void cpu_experts(const graph *g, const graph_node *n, const void *weights, const float *x, const float *routes,
                 const float *bias, float *out)
{
    const graph_node *w = graph_at(g, n->operands[1]);
    uint32_t rows = n->s.dims[LAST], k = w->s.dims[LAST], slots = n->s.dims[2];
    bool own_rows = shape_count(graph_at(g, n->operands[0])->s) == (uint64_t)n->s.dims[1] * slots * k;
    uint64_t row_bytes = type_bytes(w->as.weight, k);
    float *row = mem_alloc(k * sizeof *row);
    for (uint64_t i = 0; i < (uint64_t)n->s.dims[1] * slots; i++) {
        uint64_t expert = (uint64_t)routes[i / slots * 2 * slots + i % slots];
        const float *in = x + (own_rows ? i : i / slots) * k;
        for (uint32_t r = 0; r < rows; r++) {
            double sum = bias ? bias[expert * rows + r] : 0;
            type_to_f32(w->as.weight, (const char *)weights + (expert * rows + r) * row_bytes, row, k);
            for (uint32_t j = 0; j < k; j++)
                sum += (double)row[j] * in[j];
            out[i * rows + r] = (float)sum;
        }
    }
    free(row);
}

void cpu_mix(const graph_node *n, uint32_t slots, const float *x, const float *routes, float *out)
{
    uint32_t length = n->s.dims[LAST];
    for (uint64_t i = 0; i < shape_count(n->s); i++) {
        const float *weights = routes + i / length * 2 * slots + slots;
        double sum = 0;
        for (uint32_t s = 0; s < slots; s++)
            sum += (double)weights[s] * x[(i / length * slots + s) * length + i % length];
        out[i] = (float)sum;
    }
}

static bool is_one_of(uint32_t group, const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == group)
            return true;
    return false;
}

void cpu_topk(const graph_node *n, const graph_node *from, const float *x, const graph_node *groups,
              const uint32_t *group_ids, uint32_t *out)
{
    uint32_t count = n->s.dims[LAST], length = from->s.dims[LAST], named = groups ? groups->s.dims[LAST] : 0;
    uint32_t each = groups ? length / n->as.topk_groups : length;
    bool *taken = mem_alloc(length * sizeof *taken);
    for (uint64_t t = 0; t < shape_count(from->s) / length; t++) {
        for (uint32_t i = 0; i < length; i++)
            taken[i] = named && !is_one_of(i / each, group_ids + t * named, named);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t best = length;
            for (uint32_t i = 0; i < length; i++)
                if (!taken[i] && (best == length || x[t * length + i] > x[t * length + best]))
                    best = i;
            out[t * count + k] = best < length ? best : 0;
            if (best < length)
                taken[best] = true;
        }
    }
    free(taken);
}

void cpu_heads(const graph_node *n, const graph_node *w, const void *weights, const float *x, float *out)
{
    uint32_t rows = n->s.dims[LAST], heads = n->s.dims[2], k = w->s.dims[LAST];
    float *row = mem_alloc(k * sizeof *row);
    for (uint64_t r = 0; r < (uint64_t)heads * rows; r++) {
        type_to_f32(w->as.weight, (const char *)weights + r * type_bytes(w->as.weight, k), row, k);
        for (uint64_t t = 0; t < n->s.dims[1]; t++) {
            double sum = 0;
            for (uint32_t i = 0; i < k; i++)
                sum += (double)row[i] * x[(t * heads + r / rows) * k + i];
            out[t * heads * rows + r] = (float)sum;
        }
    }
    free(row);
}

void cpu_join(uint32_t length, const graph_node *second, const float *x, const float *y, float *out)
{
    uint32_t more = second->s.dims[LAST];
    for (uint64_t t = 0; t < shape_count(second->s) / more; t++) {
        memcpy(out + t * (length + more), x + t * length, length * sizeof *out);
        memcpy(out + t * (length + more) + length, y + t * more, more * sizeof *out);
    }
}

bool cpu_weigh(const graph_node *n, const graph_node *from, const float *x, const uint32_t *places, float *out, err *e)
{
    uint32_t slots = n->s.dims[LAST] / 2, length = from->s.dims[LAST];
    for (uint64_t t = 0; t < n->s.dims[LAST - 1]; t++) {
        double sum = 1e-20;
        for (uint32_t i = 0; i < slots; i++) {
            if (places[t * slots + i] >= length)
                return err_set(e, "cpu: place %u of a row of %u", places[t * slots + i], length);
            sum += x[t * length + places[t * slots + i]];
        }
        for (uint32_t i = 0; i < slots; i++) {
            uint32_t place = places[t * slots + i];
            out[2 * t * slots + i] = (float)place;
            out[(2 * t + 1) * slots + i] =
                (float)(x[t * length + place] * n->as.weigh.scale / (n->as.weigh.normed ? sum : 1));
        }
    }
    return true;
}
