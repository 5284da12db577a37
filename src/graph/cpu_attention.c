/* cpu_attention: attention among the rows of a whole text, and their pooling, on the CPU. */
#include "base/str.h"
#include "graph/cpu_internal.h"

#include <math.h>
#include <stdlib.h>

/* Which rows a row sees. Those behind the last one that counts see what that one sees. */
static void seen_by(const attention_spec *spec, uint32_t row, uint32_t last, uint32_t *first, uint32_t *end)
{
    uint32_t own = row < last ? row : last;
    *first = spec->window && own + 1 > spec->window ? own + 1 - spec->window : 0;
    *end = spec->window && spec->window < last + 1 - own ? own + spec->window : last + 1;
    if (spec->causal)
        *end = own + 1;
}

void cpu_attention_whole(const graph_node *n, const graph_node *q_of, const graph_node *k_of, const float *q,
                         const float *k, const float *v, uint32_t last, float *out)
{
    const attention_spec *spec = &n->as.attention;
    uint32_t rows = q_of->s.dims[1], heads = q_of->s.dims[2], size = q_of->s.dims[3], kv_heads = k_of->s.dims[2];
    size_t stride = (size_t)kv_heads * size;
    last = last < k_of->s.dims[1] ? last : k_of->s.dims[1] - 1;
    double *scores = mem_alloc(k_of->s.dims[1] * sizeof *scores);
    for (uint32_t at = 0; at < rows * heads; at++, q += size, out += size) {
        uint32_t first, end, kv = at % heads / (heads / kv_heads) * size;
        double most = -INFINITY, sum = 0;
        seen_by(spec, at / heads, last, &first, &end);
        for (uint32_t p = first; p < end; p++) {
            double dot = 0;
            for (uint32_t i = 0; i < size; i++)
                dot += (double)q[i] * k[p * stride + kv + i];
            dot *= spec->scale;
            scores[p] = spec->softcap > 0 ? spec->softcap * tanh(dot / spec->softcap) : dot;
            most = fmax(most, scores[p]);
        }
        for (uint32_t p = first; p < end; p++)
            sum += scores[p] = exp(scores[p] - most);
        for (uint32_t i = 0; i < size; i++) {
            double value = 0;
            for (uint32_t p = first; p < end; p++)
                value += scores[p] * v[p * stride + kv + i];
            out[i] = (float)(value / sum);
        }
    }
    free(scores);
}

void cpu_pool(const graph_node *n, uint32_t rows, const float *x, const float *weights, float *out)
{
    uint32_t length = n->s.dims[GRAPH_MAX_DIMS - 1];
    for (uint32_t i = 0; i < length; i++) {
        double sum = 0;
        for (uint32_t t = 0; t < rows; t++)
            sum += (double)weights[t] * x[(size_t)t * length + i];
        out[i] = (float)sum;
    }
}
