/* cpu: runs a graph on the CPU, operator by operator, with sums in double precision. */
#include "graph/cpu_internal.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cpu_run {
    const graph *g;
    cpu_result *values;   /* [node]; weights as floats */
    bool *borrowed;       /* [node]: the same memory as an operand's */
    const void **weights; /* [node] */
};

enum { LAST = GRAPH_MAX_DIMS - 1 };

static uint32_t row_length(const graph_node *n)
{
    return n->s.dims[LAST];
}

static uint64_t row_count(const graph_node *n)
{
    return shape_count(n->s) / n->s.dims[LAST];
}

/* ---- operators ----------------------------------------------------------- */

float cpu_unary(unary_kind kind, float x, float a, float b)
{
    switch (kind) {
    case UNARY_COPY: return x;
    case UNARY_NEG: return -x;
    case UNARY_ABS: return fabsf(x);
    case UNARY_SQUARE: return x * x;
    case UNARY_SQRT: return sqrtf(x);
    case UNARY_EXP: return expf(x);
    case UNARY_LOG: return logf(x);
    case UNARY_TANH: return tanhf(x);
    case UNARY_SIGMOID: return 1 / (1 + expf(-x));
    case UNARY_RELU: return x > 0 ? x : 0;
    case UNARY_SILU: return x / (1 + expf(-x));
    case UNARY_GELU: return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    case UNARY_SIN: return sinf(x);
    case UNARY_COS: return cosf(x);
    case UNARY_GELU_ERF: return (float)(0.5 * x * (1 + erf(x * M_SQRT1_2)));
    case UNARY_SCALE: return x * a + b;
    case UNARY_SOFTCAP: return a * tanhf(x / a);
    case UNARY_COUNT: break;
    }
    return NAN;
}

static float clamped_glu(float gate, float up)
{
    double g = gate < 7 ? gate : 7, u = up < -7 ? -7 : up < 7 ? up : 7;
    return (float)(g / (1 + exp(-1.702 * g)) * (u + 1));
}

static float apply_binary(binary_kind kind, float a, float b)
{
    switch (kind) {
    case BINARY_ADD: return a + b;
    case BINARY_SUB: return a - b;
    case BINARY_MUL: return a * b;
    case BINARY_DIV: return a / b;
    case BINARY_MAX: return a > b ? a : b;
    case BINARY_MIN: return a < b ? a : b;
    case BINARY_CLAMPED_GLU: return clamped_glu(a, b);
    case BINARY_COUNT: break;
    }
    return NAN;
}

/* The element of b that stands where element i of a does. */
static uint64_t broadcast_index(uint64_t i, shape a, shape b)
{
    uint64_t at = 0, stride = 1;
    for (int d = LAST; d >= 0; d--) {
        uint64_t coordinate = i % a.dims[d];
        i /= a.dims[d];
        at += (b.dims[d] == 1 ? 0 : coordinate) * stride;
        stride *= b.dims[d];
    }
    return at;
}

static void run_binary(const graph_node *n, const graph_node *b, const float *x, const float *y, float *out)
{
    for (uint64_t i = 0; i < shape_count(n->s); i++)
        out[i] = apply_binary(n->as.binary, x[i], y[broadcast_index(i, n->s, b->s)]);
}

static void reduce_row(const graph_node *n, const float *x, uint32_t length, cpu_result out, uint64_t row)
{
    double sum = 0;
    uint32_t best = 0;
    for (uint32_t i = 0; i < length; i++) {
        sum += x[i];
        if (x[i] > x[best])
            best = i;
    }
    switch (n->as.reduce) {
    case REDUCE_SUM: out.f[row] = (float)sum; break;
    case REDUCE_MEAN: out.f[row] = (float)(sum / length); break;
    case REDUCE_MAX: out.f[row] = x[best]; break;
    case REDUCE_ARGMAX: out.u[row] = best; break;
    case REDUCE_COUNT: break;
    }
}

static void softmax_row(const float *x, float *out, uint32_t length, float scale)
{
    double sum = 0, most = -INFINITY;
    for (uint32_t i = 0; i < length; i++)
        most = fmax(most, (double)x[i] * scale);
    for (uint32_t i = 0; i < length; i++)
        sum += exp((double)x[i] * scale - most);
    for (uint32_t i = 0; i < length; i++)
        out[i] = (float)(exp((double)x[i] * scale - most) / sum);
}

static void rmsnorm_row(const graph_node *n, const float *x, const float *w, float *out)
{
    uint32_t length = row_length(n);
    double squares = 0;
    for (uint32_t i = 0; i < length; i++)
        squares += (double)x[i] * x[i];
    double scale = 1 / sqrt(squares / length + n->as.rmsnorm.epsilon);
    for (uint32_t i = 0; i < length; i++)
        out[i] = (float)(x[i] * scale * (w[i] + n->as.rmsnorm.weight_offset));
}

static void layernorm_row(const graph_node *n, const float *x, const float *w, const float *bias, float *out)
{
    uint32_t length = row_length(n);
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < length; i++)
        sum += x[i];
    double mean = sum / length;
    for (uint32_t i = 0; i < length; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    double scale = 1 / sqrt(squares / length + n->as.layernorm_epsilon);
    for (uint32_t i = 0; i < length; i++)
        out[i] = (float)((x[i] - mean) * scale * w[i] + (bias ? bias[i] : 0));
}

/* Weight rows are turned into floats one at a time, whatever their type. */
static void weight_row(const cpu_run *r, node weight, uint64_t row, float *out)
{
    const graph_node *w = graph_at(r->g, weight);
    uint32_t length = row_length(w);
    type_to_f32(w->as.weight, (const char *)r->weights[weight] + row * type_bytes(w->as.weight, length), out, length);
}

static void run_matmul(cpu_run *r, const graph_node *n, float *out)
{
    const graph_node *x = graph_at(r->g, n->operands[0]);
    const float *in = r->values[n->operands[0]].f;
    uint32_t k = row_length(x), columns = row_length(n);
    float *w = mem_alloc(k * sizeof *w);
    for (uint32_t c = 0; c < columns; c++) {
        weight_row(r, n->operands[1], c, w);
        for (uint64_t t = 0; t < row_count(x); t++) {
            double sum = 0;
            for (uint32_t i = 0; i < k; i++)
                sum += (double)in[t * k + i] * w[i];
            out[t * columns + c] = (float)sum;
        }
    }
    free(w);
}

static bool run_gather(cpu_run *r, const graph_node *n, float *out, err *e)
{
    const graph_node *w = graph_at(r->g, n->operands[0]);
    const uint32_t *rows = r->values[n->operands[1]].u;
    for (uint64_t t = 0; t < row_count(n); t++) {
        uint64_t row = n->as.gather_consecutive ? rows[0] + t : rows[t];
        if (row >= w->s.dims[LAST - 1])
            return err_set(e, "cpu: row %llu of %s is out of range: it has %u", (unsigned long long)row, w->name,
                           w->s.dims[LAST - 1]);
        weight_row(r, n->operands[0], row, out + t * row_length(n));
    }
    return true;
}

static void rope_head(const rope_spec *spec, const float *factors, const float *x, float *out, uint32_t size,
                      double position)
{
    uint32_t half = spec->rotated / 2;
    double magnitude = spec->magnitude > 0 ? spec->magnitude : 1;
    memcpy(out, x, size * sizeof *out);
    for (uint32_t i = 0; i < half; i++) {
        uint32_t a = spec->interleaved ? 2 * i : i, b = spec->interleaved ? 2 * i + 1 : i + half;
        double angle = position * pow(spec->base, -2.0 * i / spec->rotated) * (factors ? factors[i] : 1);
        double c = cos(angle) * magnitude, s = sin(angle) * magnitude;
        out[a] = (float)(x[a] * c - x[b] * s);
        out[b] = (float)(x[a] * s + x[b] * c);
    }
}

/* The position of row t: the one of row 0 and what follows, or its own. */
static uint32_t position_at(const cpu_run *r, node position, uint32_t t)
{
    const uint32_t *at = r->values[position].u;
    return shape_count(graph_at(r->g, position)->s) > 1 ? at[t] : at[0] + t;
}

static void run_rope(cpu_run *r, const graph_node *n, float *out)
{
    uint32_t heads = n->s.dims[2], size = n->s.dims[3];
    const float *x = r->values[n->operands[0]].f;
    const float *factors = n->operand_count > 2 ? r->values[n->operands[2]].f : NULL;
    uint32_t rows = graph_rope_factor_rows(r->g, n);
    for (uint32_t t = 0; t < n->s.dims[1]; t++)
        for (uint32_t h = 0; h < heads; h++) {
            size_t at = ((size_t)t * heads + h) * size;
            uint32_t position = position_at(r, n->operands[1], t), from = n->as.rope.factors_from;
            uint32_t row = position > from ? position - from : 0;
            row = row < rows ? row : rows - 1;
            rope_head(&n->as.rope, factors ? factors + (size_t)row * (n->as.rope.rotated / 2) : NULL, x + at, out + at,
                      size, position);
        }
}

static bool run_store(const cpu_run *r, const graph_node *n, err *e)
{
    const graph_node *rows = graph_at(r->g, n->operands[1]), *positions = graph_at(r->g, n->operands[2]);
    uint64_t width = (uint64_t)n->s.dims[2] * n->s.dims[3];
    bool slots = shape_count(positions->s) > 1;
    uint32_t first = position_at(r, n->operands[2], 0), count = rows->s.dims[1], capacity = n->s.dims[1];
    if (!slots && (first > capacity || count > capacity - first))
        return err_set(e, "cpu: rows %u to %u do not fit %s, which has %u", first, first + count - 1,
                       graph_at(r->g, n->operands[0])->name, capacity);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t position = position_at(r, n->operands[2], t);
        if (position < capacity)
            cpu_store(n->type, r->values[n->operands[1]].f + t * width, width,
                      r->values[n->operands[0]].f + ((slots ? (uint64_t)t * capacity : 0) + position) * width);
    }
    return true;
}

/* One head of one row over the positions it sees. */
static void attend(const attention_spec *spec, const float *q, const float *k, const float *v, float *out,
                   uint32_t size, uint32_t stride, uint32_t last, const float *sink, double *scores)
{
    uint32_t value_size = spec->value_size ? spec->value_size : size;
    uint32_t first = spec->window && last + 1 > spec->window ? last + 1 - spec->window : 0;
    double most = sink ? *sink : -INFINITY, sum = 0;
    for (uint32_t p = first; p <= last; p++) {
        double dot = 0;
        for (uint32_t i = 0; i < size; i++)
            dot += (double)q[i] * k[(size_t)p * stride + i];
        dot *= spec->scale;
        scores[p] = spec->softcap > 0 ? spec->softcap * tanh(dot / spec->softcap) : dot;
        most = fmax(most, scores[p]);
    }
    for (uint32_t p = first; p <= last; p++)
        sum += scores[p] = exp(scores[p] - most);
    sum += sink ? exp(*sink - most) : 0;
    for (uint32_t i = 0; i < value_size; i++) {
        double value = 0;
        for (uint32_t p = first; p <= last; p++)
            value += scores[p] * v[(size_t)p * stride + i];
        out[i] = (float)(value / sum);
    }
}

static bool run_attention(cpu_run *r, const graph_node *n, float *out, err *e)
{
    const graph_node *q = graph_at(r->g, n->operands[0]), *k = graph_at(r->g, n->operands[1]);
    uint32_t rows = q->s.dims[1], heads = q->s.dims[2], size = q->s.dims[3], kv_heads = k->s.dims[2];
    uint32_t stride = kv_heads * size, capacity = k->s.dims[1];
    bool slots = k->s.dims[0] > 1, ok = true;
    double *scores = mem_alloc(capacity * sizeof *scores);
    for (uint32_t t = 0; ok && t < rows; t++) {
        uint32_t position = position_at(r, n->operands[3], t);
        if (position >= capacity && slots) /* an idle row */
            continue;
        ok = position < capacity || err_set(e, "cpu: attention at position %u of a cache of %u", position, capacity);
        for (uint32_t h = 0; ok && h < heads; h++) {
            size_t kv = h / (heads / kv_heads) * size + (slots ? (size_t)t * capacity * stride : 0);
            size_t row = (size_t)t * heads + h;
            attend(&n->as.attention, r->values[n->operands[0]].f + row * size, r->values[n->operands[1]].f + kv,
                   r->values[n->operands[2]].f + kv, out + row * (row_length(n) / heads), size, stride, position,
                   n->operand_count > 4 ? r->values[n->operands[4]].f + h : NULL, scores);
        }
    }
    free(scores);
    return ok;
}

static void run_slice(const cpu_run *r, const graph_node *n, float *out)
{
    const graph_node *x = graph_at(r->g, n->operands[0]);
    for (uint64_t t = 0; t < row_count(n); t++)
        memcpy(out + t * row_length(n), r->values[n->operands[0]].f + t * row_length(x) + n->as.slice_start,
               row_length(n) * sizeof *out);
}

static bool run_pick(const cpu_run *r, const graph_node *n, float *out, err *e)
{
    const graph_node *x = graph_at(r->g, n->operands[0]);
    const uint32_t *rows = r->values[n->operands[1]].u;
    for (uint32_t t = 0; t < n->s.dims[LAST - 1]; t++) {
        if (rows[t] >= x->s.dims[LAST - 1])
            return err_set(e, "cpu: row %u of %u is out of range", rows[t], x->s.dims[LAST - 1]);
        memcpy(out + (size_t)t * row_length(n), r->values[n->operands[0]].f + (size_t)rows[t] * row_length(x),
               row_length(n) * sizeof *out);
    }
    return true;
}

static void run_assign(const cpu_run *r, const graph_node *n)
{
    const assign_spec *spec = &n->as.assign;
    const uint32_t *from = r->values[n->operands[0]].u;
    uint32_t *to = r->values[n->operands[1]].u, added = spec->added + (spec->more ? r->values[spec->more].u[0] : 0);
    uint64_t count = shape_count(n->s);
    if (!spec->index)
        for (uint64_t i = 0; i < shape_count(graph_at(r->g, n->operands[0])->s); i++)
            to[i] = from[i] + added;
    else if (r->values[spec->index].u[0] + added < count)
        to[r->values[spec->index].u[0] + added] = from[0];
}

static void find_operands(const cpu_run *r, const graph_node *n, cpu_operand *operands)
{
    for (uint32_t i = 0; i < n->operand_count; i++)
        operands[i] = (cpu_operand){r->values[n->operands[i]].f, r->values[n->operands[i]].u};
}

static void run_recurrent(const cpu_run *r, const graph_node *n, float *out)
{
    cpu_operand operands[GRAPH_MAX_OPERANDS] = {{0}};
    find_operands(r, n, operands);
    uint32_t texts = (uint32_t)shape_count(graph_at(r->g, n->operands[n->op == OP_CONV ? 3 : 5])->s);
    (n->op == OP_CONV ? cpu_conv : cpu_delta)(n, graph_at(r->g, n->operands[1]), operands, texts, out);
}

static bool run_node(cpu_run *r, node at, err *e)
{
    const graph_node *n = graph_at(r->g, at);
    cpu_result out = r->values[at];
    const float *x = n->operand_count ? r->values[n->operands[0]].f : NULL;
    const graph_node *first = n->operand_count ? graph_at(r->g, n->operands[0]) : NULL;
    uint32_t length = first ? row_length(first) : 0;
    switch (n->op) {
    case OP_INPUT:
    case OP_WEIGHT:
    case OP_STATE:
    case OP_RESHAPE: break; /* a reshape moves no data */
    case OP_UNARY:
        for (uint64_t i = 0; i < shape_count(n->s); i++)
            out.f[i] = cpu_unary(n->as.unary.kind, x[i], n->as.unary.a, n->as.unary.b);
        break;
    case OP_BINARY: run_binary(n, graph_at(r->g, n->operands[1]), x, r->values[n->operands[1]].f, out.f); break;
    case OP_REDUCE:
        for (uint64_t t = 0; t < row_count(first); t++)
            reduce_row(n, x + t * length, length, out, t);
        break;
    case OP_SOFTMAX:
        for (uint64_t t = 0; t < row_count(first); t++)
            softmax_row(x + t * length, out.f + t * length, length, n->as.softmax_scale);
        break;
    case OP_RMSNORM:
        for (uint64_t t = 0; t < row_count(first); t++)
            rmsnorm_row(n, x + t * length, r->values[n->operands[1]].f, out.f + t * length);
        break;
    case OP_LAYERNORM:
        for (uint64_t t = 0; t < row_count(first); t++)
            layernorm_row(n, x + t * length, r->values[n->operands[1]].f,
                          n->operand_count > 2 ? r->values[n->operands[2]].f : NULL, out.f + t * length);
        break;
    case OP_MATMUL: run_matmul(r, n, out.f); break;
    case OP_GATHER: return run_gather(r, n, out.f, e);
    case OP_ROPE: run_rope(r, n, out.f); break;
    case OP_STORE: return run_store(r, n, e);
    case OP_ATTENTION: return run_attention(r, n, out.f, e);
    case OP_ATTENTION_WHOLE:
        cpu_attention_whole(n, first, graph_at(r->g, n->operands[1]), x, r->values[n->operands[1]].f,
                            r->values[n->operands[2]].f, r->values[n->operands[3]].u[0], out.f);
        break;
    case OP_SLICE: run_slice(r, n, out.f); break;
    case OP_PICK: return run_pick(r, n, out.f, e);
    case OP_TOPK: {
        const graph_node *groups = n->operand_count > 1 ? graph_at(r->g, n->operands[1]) : NULL;
        cpu_topk(n, first, x, groups, r->values[n->operands[1]].u, out.u);
        break;
    }
    case OP_HEADS: cpu_heads(n, first, r->weights[n->operands[0]], r->values[n->operands[1]].f, out.f); break;
    case OP_JOIN: cpu_join(length, graph_at(r->g, n->operands[1]), x, r->values[n->operands[1]].f, out.f); break;
    case OP_WEIGH: return cpu_weigh(n, first, x, r->values[n->operands[1]].u, out.f, e);
    case OP_ROUTE:
        for (uint64_t t = 0; t < row_count(first); t++)
            cpu_route(n, x + t * length, length, out.f + t * row_length(n));
        break;
    case OP_EXPERTS:
        cpu_experts(r->g, n, r->weights[n->operands[1]], x, r->values[n->operands[2]].f,
                    n->operand_count > 3 ? r->values[n->operands[3]].f : NULL, out.f);
        break;
    case OP_POOL: cpu_pool(n, first->s.dims[LAST - 1], x, r->values[n->operands[1]].f, out.f); break;
    case OP_MAP: return cpu_map(r->g, n, r->values, out, e);
    case OP_CONTRACT: cpu_contract(n, x, r->values[n->operands[1]].f, out.f); break;
    case OP_MIX: cpu_mix(n, first->s.dims[2], x, r->values[n->operands[1]].f, out.f); break;
    case OP_CONV:
    case OP_DELTA: run_recurrent(r, n, out.f); break;
    case OP_ASSIGN: run_assign(r, n); break;
    case OP_SAMPLE: {
        cpu_operand operands[GRAPH_MAX_OPERANDS] = {{0}};
        find_operands(r, n, operands);
        cpu_sample(r->g, n, operands);
        break;
    }
    case OP_COUNT: break;
    }
    return true;
}

/* ---- a run --------------------------------------------------------------- */

static bool take_weight(cpu_run *r, node at, graph_weight_source weight, void *user, err *e)
{
    const graph_node *n = graph_at(r->g, at);
    r->weights[at] = weight(user, n->name, 0, graph_weight_bytes(n), e);
    if (!r->weights[at])
        return err_set(e, "weight %s is missing", n->name);
    if (!(graph_weight_uses(r->g, at) & WEIGHT_AS_FLOATS))
        return true;
    r->values[at].f = mem_floats(shape_count(n->s));
    type_to_f32(n->as.weight, r->weights[at], r->values[at].f, shape_count(n->s));
    return true;
}

cpu_run *cpu_run_new(const graph *g, graph_weight_source weight, void *user, err *e)
{
    if (!graph_ok(g, e))
        return NULL;
    size_t slots = graph_count(g) + 1;
    cpu_run *r = mem_alloc(sizeof *r);
    *r = (cpu_run){g, mem_alloc(slots * sizeof *r->values), mem_alloc(slots * sizeof *r->borrowed),
                   mem_alloc(slots * sizeof *r->weights)};
    for (node i = 1; i < slots; i++) {
        const graph_node *n = graph_at(g, i);
        r->borrowed[i] = n->op == OP_RESHAPE || n->op == OP_STORE || n->op == OP_ASSIGN || n->op == OP_SAMPLE;
        if (r->borrowed[i])
            r->values[i] = r->values[n->operands[n->op == OP_ASSIGN || n->op == OP_SAMPLE]];
        else if (n->op != OP_WEIGHT)
            r->values[i].f = mem_floats(shape_count(n->s));
        else if (!take_weight(r, i, weight, user, e)) {
            cpu_run_free(r);
            return NULL;
        }
    }
    return r;
}

void cpu_run_free(cpu_run *r)
{
    if (!r)
        return;
    for (node i = 1; i <= graph_count(r->g); i++)
        if (!r->borrowed[i])
            free(r->values[i].f);
    free(r->values);
    free(r->borrowed);
    free(r->weights);
    free(r);
}

float *cpu_floats(cpu_run *r, const char *name)
{
    node n = graph_find(r->g, name);
    return n && graph_at(r->g, n)->type != DTYPE_U32 ? r->values[n].f : NULL;
}

uint32_t *cpu_words(cpu_run *r, const char *name)
{
    node n = graph_find(r->g, name);
    return n && graph_at(r->g, n)->type == DTYPE_U32 ? r->values[n].u : NULL;
}

bool cpu_run_once(cpu_run *r, err *e)
{
    for (node i = 1; i <= graph_count(r->g); i++)
        if (!run_node(r, i, e))
            return false;
    return true;
}
