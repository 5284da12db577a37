/* cpu_state: rows that go into states, and tokens that are sampled, on the CPU. */
#include "base/str.h"
#include "graph/cpu_internal.h"
#include "graph/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* 32 elements as op_store.wgsl rounds them. */
static void quantise_32(dtype type, const float *from, float *to)
{
    float most = 0;
    for (int i = 0; i < 32; i++)
        if (fabsf(from[i]) > fabsf(most))
            most = from[i];
    bool four_bits = type == DTYPE_Q4_0;
    float factor = f16_to_f32(f32_to_f16(four_bits ? most * -0.125f : fabsf(most) / 127));
    for (int i = 0; i < 32; i++) {
        float n = factor != 0 ? rintf(from[i] / factor) : 0;
        float low = four_bits ? -8 : -127, high = four_bits ? 7 : 127;
        to[i] = factor * (n < low ? low : n > high ? high : n);
    }
}

void cpu_store(dtype type, const float *from, uint64_t width, float *to)
{
    for (uint64_t i = 0; type >= DTYPE_Q8_0 && i < width; i += 32)
        quantise_32(type, from + i, to + i);
    for (uint64_t i = 0; type < DTYPE_Q8_0 && i < width; i++)
        to[i] = type == DTYPE_F16 ? f16_to_f32(f32_to_f16(from[i])) : from[i];
}

/* A row that is a text of its own: its token, and on to the next position. */
static void sample_row(const graph *g, const graph_node *n, const cpu_operand *o, uint32_t row, uint32_t rows)
{
    uint32_t vocab = graph_at(g, n->operands[0])->s.dims[GRAPH_MAX_DIMS - 1];
    uint32_t length = (uint32_t)shape_count(graph_at(g, n->operands[4])->s) / rows, *history = o[4].u + row * length;
    sample_control *control = (sample_control *)o[5].u + row;
    uint32_t *position = &o[3].u[row], so_far = *position + 1;
    if (*position >= length - 1)
        return;
    float *logits = mem_alloc(vocab * sizeof *logits);
    memcpy(logits, o[0].f + (size_t)row * vocab, vocab * sizeof *logits);
    for (uint32_t i = 0; n->operand_count > 6 && control->steered && i < vocab; i++) {
        const uint32_t *steering = o[6].u + (size_t)row * sample_steering_words(vocab);
        float added;
        memcpy(&added, &steering[(vocab + 31) / 32 + i], sizeof added);
        if (control->steered & SAMPLE_ONLY_SET && !(steering[i / 32] >> i % 32 & 1))
            logits[i] = -INFINITY;
        else if (control->steered & SAMPLE_ADDED)
            logits[i] += added;
    }
    sample_words words;
    memcpy(&words, o[2].u + row * SAMPLE_WORDS, sizeof words);
    uint32_t token = sample_on_cpu(logits, vocab, &words, history, length, so_far, NULL);
    bool ends = --control->left == 0 || token & SAMPLE_NOT_FINITE;
    for (uint32_t i = 0; i < control->stop_count; i++)
        ends |= control->stops[i] == token;
    history[so_far] = control->tokens[so_far % SAMPLE_RING_TOK] = token;
    o[1].u[row] = token & ~SAMPLE_NOT_FINITE;
    *position = ends ? UINT32_MAX : so_far;
    free(logits);
}

void cpu_sample(const graph *g, const graph_node *n, const cpu_operand *o)
{
    const graph_node *logits = graph_at(g, n->operands[0]), *ring = graph_at(g, n->operands[4]);
    uint32_t rows = logits->s.dims[GRAPH_MAX_DIMS - 2];
    for (uint32_t row = 0; n->operand_count > 5 && row < rows; row++)
        sample_row(g, n, o, row, rows);
    if (n->operand_count > 5)
        return;
    sample_words words;
    memcpy(&words, o[2].u, sizeof words);
    uint32_t so_far = o[3].u[0], *history = o[4].u, length = (uint32_t)shape_count(ring->s);
    uint32_t token = sample_on_cpu(o[0].f, logits->s.dims[GRAPH_MAX_DIMS - 1], &words, history, length, so_far, NULL);
    history[so_far % length] = token;
    o[1].u[0] = token & ~SAMPLE_NOT_FINITE;
}
