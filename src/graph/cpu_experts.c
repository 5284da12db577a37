/* cpu_experts: a mixture of experts on the CPU: elements by their places, products with chosen matrices, weighted sums. */
#include "base/str.h"
#include "graph/cpu_internal.h"

#include <stdlib.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

bool cpu_take(const graph_node *n, const graph_node *from, const float *x, const uint32_t *ids, float *out, err *e)
{
    uint32_t slots = n->s.dims[LAST], length = from->s.dims[LAST];
    for (uint64_t i = 0; i < shape_count(n->s); i++) {
        if (ids[i] >= length)
            return err_set(e, "cpu: place %u of a row of %u", ids[i], length);
        out[i] = x[i / slots * length + ids[i]];
    }
    return true;
}

bool cpu_experts(const graph_node *n, const graph_node *w, const void *weights, const float *x, bool own_rows,
                 const uint32_t *ids, float *out, err *e)
{
    uint32_t rows = n->s.dims[LAST], k = w->s.dims[LAST], slots = n->s.dims[2];
    uint64_t row_bytes = type_bytes(w->as.weight, k);
    float *row = mem_alloc(k * sizeof *row);
    bool ok = true;
    for (uint64_t slot = 0; ok && slot < (uint64_t)n->s.dims[1] * slots; slot++) {
        ok = ids[slot] < n->as.expert_count || err_set(e, "cpu: expert %u of %u", ids[slot], n->as.expert_count);
        const float *in = x + (own_rows ? slot : slot / slots) * k;
        for (uint32_t r = 0; ok && r < rows; r++) {
            double sum = 0;
            type_to_f32(w->as.weight, (const char *)weights + ((uint64_t)ids[slot] * rows + r) * row_bytes, row, k);
            for (uint32_t i = 0; i < k; i++)
                sum += (double)row[i] * in[i];
            out[slot * rows + r] = (float)sum;
        }
    }
    free(row);
    return ok;
}

void cpu_mix(const graph_node *n, uint32_t slots, const float *x, const float *weights, float *out)
{
    uint32_t length = n->s.dims[LAST];
    for (uint64_t i = 0; i < shape_count(n->s); i++) {
        uint64_t row = i / length * slots;
        double sum = 0;
        for (uint32_t s = 0; s < slots; s++)
            sum += (double)weights[row + s] * x[(row + s) * length + i % length];
        out[i] = (float)sum;
    }
}
