/* quantised_words: weights of 4 or 8 bits that are packed into words, as GPTQ, AWQ and compressed-tensors have them. */
#include "base/str.h"
#include "model/quantised_internal.h"

#include <string.h>

enum { BLOCK = 32 };

typedef quantised_weight packed;

static uint32_t word_at(const safetensor *t, uint64_t i)
{
    uint32_t word;
    memcpy(&word, (const char *)t->data + 4 * i, 4);
    return word;
}

/* AWQ has the outputs of a word in this order. */
static uint32_t awq_shift(uint64_t out)
{
    static const uint8_t place[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    return place[out % 8] * 4u;
}

static uint32_t shift_of(const packed *p, uint64_t i)
{
    return p->s->method == METHOD_AWQ ? awq_shift(i) : (uint32_t)(i % p->per) * p->s->bits;
}

static int bits_of(const packed *p, uint32_t word)
{
    return (int)(word & ((1u << p->s->bits) - 1));
}

/* The numbers of BLOCK inputs of an output. */
static void numbers_at(const packed *p, uint64_t in, uint64_t out, uint8_t numbers[BLOCK])
{
    bool awq = p->s->method == METHOD_AWQ, gptq = p->s->method == METHOD_GPTQ;
    uint64_t per = awq ? 1 : p->per, shift = awq ? awq_shift(out) : 0;
    uint64_t step = awq ? p->out / p->per : gptq ? p->out : 1;
    uint64_t word = in / per * step + (awq ? out / p->per : gptq ? out : out * (p->in / p->per));
    for (uint64_t i = 0; i < BLOCK; i += per, word += step) {
        uint32_t bits = word_at(p->q, word) >> shift;
        for (uint64_t k = 0; k < per; k++, bits >>= p->s->bits)
            numbers[i + k] = (uint8_t)bits_of(p, bits);
    }
}

static int zero_at(const packed *p, uint64_t group, uint64_t out)
{
    if (!p->zeros)
        return 1 << (p->s->bits - 1);
    uint64_t line = out / p->per, lines = p->out / p->per;
    uint32_t word =
        word_at(p->zeros, p->s->method == METHOD_COMPRESSED ? line * p->groups + group : group * lines + line);
    return bits_of(p, (word >> shift_of(p, out)) + (p->s->zeros_less ? 1 : 0));
}

static float scale_at(const packed *p, uint64_t group, uint64_t out)
{
    float scale;
    uint64_t i = p->s->method == METHOD_COMPRESSED ? out * p->groups + group : group * p->out + out;
    type_to_f32(p->scales->type, (const char *)p->scales->data + i * type_bytes(p->scales->type, 1), &scale, 1);
    return scale;
}

static uint64_t group_of(const packed *p, uint64_t in)
{
    if (p->order)
        return word_at(p->order, in);
    return p->s->group ? in / p->s->group : 0;
}

/* ---- finding ---------------------------------------------------------------------------------- */

static bool is_shape(const safetensor *t, uint64_t rows, uint64_t columns)
{
    return t && t->dim_count == 2 && t->dims[0] == rows && t->dims[1] == columns;
}

static bool is_words(const safetensor *t, uint64_t rows, uint64_t columns)
{
    return is_shape(t, rows, columns) && strcmp(t->dtype, "I32") == 0;
}

static bool is_floats(const safetensor *t, uint64_t rows, uint64_t columns)
{
    return is_shape(t, rows, columns) && t->readable && type_find(t->type)->block_weights == 1;
}

/* Sizes by the shape of the words, and whether the other tensors have theirs. */
static bool fits(packed *p)
{
    const uint64_t *dims = p->q->dims;
    bool awq = p->s->method == METHOD_AWQ, rows = p->s->method == METHOD_COMPRESSED;
    p->per = 32 / p->s->bits;
    p->in = awq ? dims[0] : rows ? dims[1] * p->per : dims[0] * p->per;
    p->out = awq ? dims[1] * p->per : rows ? dims[0] : dims[1];
    p->groups = p->s->group ? p->in / p->s->group : 1;
    if (!p->in || !p->out || p->in % 32 || (p->s->group && p->in % p->s->group) || !is_words(p->q, dims[0], dims[1]))
        return false;
    if (rows)
        return is_floats(p->scales, p->out, p->groups) &&
               (!p->zeros || (p->out % p->per == 0 && is_words(p->zeros, p->out / p->per, p->groups)));
    return p->out % p->per == 0 && is_words(p->zeros, p->groups, p->out / p->per) &&
           is_floats(p->scales, p->groups, p->out);
}

static bool check_order(packed *p, const char *stem, err *e)
{
    if (!p->order)
        return true;
    if (strcmp(p->order->dtype, "I32") != 0 || p->order->dim_count != 1 || p->order->dims[0] != p->in)
        return err_set(e, "%s: tensor %s: should be %llu numbers of I32", p->s->path, p->order->name,
                       (unsigned long long)p->in);
    bool plain = true;
    for (uint64_t i = 0; i < p->in; i++) {
        uint32_t group = word_at(p->order, i);
        if (group >= p->groups)
            return err_set(e, "%s: %s: an input is of group %u, and there are %llu", p->s->path, stem, group,
                           (unsigned long long)p->groups);
        plain &= group == (p->s->group ? i / p->s->group : 0);
    }
    if (plain)
        p->order = NULL;
    return true;
}

static tensor_type type_for(const packed *p)
{
    int middle = 1 << (p->s->bits - 1);
    bool symmetric = true;
    for (uint64_t g = 0; p->zeros && g < p->groups; g++)
        for (uint64_t out = 0; out < p->out; out++)
            symmetric &= zero_at(p, g, out) == middle;
    if (p->order || !quantised_scales_fit_blocks(p->scales) || (p->s->bits == 8 && !symmetric))
        return TYPE_F16;
    return p->s->bits == 4 && symmetric ? TYPE_Q4_0 : TYPE_Q8_0;
}

bool quantised_find_words(const safetensors *folder, const quantised_scheme *s, const char *stem, quantised_weight *p,
                          err *e)
{
    bool compressed = s->method == METHOD_COMPRESSED;
    *p = (packed){.s = s, .q = quantised_find(folder, stem, compressed ? "weight_packed" : "qweight")};
    if (!p->q)
        return false;
    p->zeros = quantised_find(folder, stem, compressed ? "weight_zero_point" : "qzeros");
    p->scales = quantised_find(folder, stem, compressed ? "weight_scale" : "scales");
    p->order = quantised_find(folder, stem, compressed ? "weight_g_idx" : "g_idx");
    if (p->q->dim_count != 2 || p->q->dims[0] > UINT32_MAX / 8 || p->q->dims[1] > UINT32_MAX / 8)
        return err_set(e, "%s: tensor %s: is no matrix", s->path, p->q->name);
    if (!fits(p))
        return err_set(e, "%s: %s: packed weights, zeros and scales do not fit each other and the group size", s->path,
                       stem);
    if (!check_order(p, stem, e))
        return false;
    p->type = type_for(p);
    return true;
}

/* ---- unpacking -------------------------------------------------------------------------------- */

/* BLOCK inputs of an output, as a block of q4_0 or q8_0 has them: type.c. */
static void put_block(const packed *p, uint64_t in, uint64_t out, tensor_type type, uint8_t *to)
{
    uint8_t numbers[BLOCK];
    uint64_t group = group_of(p, in);
    uint16_t d = f32_to_f16(scale_at(p, group, out));
    int zero = zero_at(p, group, out);
    numbers_at(p, in, out, numbers);
    memcpy(to, &d, 2);
    for (int i = 0; type == TYPE_Q8_0 && i < BLOCK; i++)
        to[2 + i] = (uint8_t)(int8_t)(numbers[i] - zero);
    for (int i = 0; type == TYPE_Q4_0 && i < BLOCK / 2; i++)
        to[2 + i] = (uint8_t)(numbers[i] | numbers[i + BLOCK / 2] << 4);
}

static void put_halves(const packed *p, uint64_t in, uint64_t out, uint8_t *to)
{
    uint8_t numbers[BLOCK];
    numbers_at(p, in, out, numbers);
    for (uint64_t i = 0; i < BLOCK; i++) {
        uint64_t group = group_of(p, in + i);
        uint16_t h = f32_to_f16((float)(numbers[i] - zero_at(p, group, out)) * scale_at(p, group, out));
        memcpy(to + 2 * i, &h, 2);
    }
}

void quantised_put_words(const quantised_weight *p, tensor_type type, uint64_t first, uint64_t rows, uint8_t *to)
{
    for (uint64_t out = first; out < first + rows; out++)
        for (uint64_t in = 0; in < p->in; in += BLOCK, to += type_bytes(type, BLOCK)) {
            if (type == TYPE_F16)
                put_halves(p, in, out, to);
            else
                put_block(p, in, out, type, to);
        }
}
