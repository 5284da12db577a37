/* quantised: GPTQ, AWQ and fp8 folders, weight by weight. */
#include "model/quantised.h"
#include "base/str.h"
#include "model/json_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { METHOD_GPTQ, METHOD_AWQ, METHOD_FP8, METHOD_MXFP4 /* of experts: folder_experts.c */ } method;

typedef struct scheme {
    method method;
    uint32_t group;    /* inputs that share a scale; 0: all */
    bool zeros_less;   /* GPTQ's first format has zeros that are one less */
    uint32_t block[2]; /* fp8: rows and columns that share a scale; 0: all */
    const char *path;
} scheme;

/* ---- what config.json says ------------------------------------------------------------- */

static bool refuse(const char *file, const char *what, err *e)
{
    return err_set(e, "%s: \"quantization_config\": %s is not supported (GGUF files are)", file, what);
}

static bool read_fp8(const json_t *q, scheme *s, const char *file, err *e)
{
    const json_t *block = json_get_present(q, "weight_block_size");
    if (block &&
        (json_array_size(block) != 2 || json_integer_value(json_array_get(block, 0)) < 1 ||
         json_integer_value(json_array_get(block, 1)) < 1 || json_integer_value(json_array_get(block, 0)) > 65536 ||
         json_integer_value(json_array_get(block, 1)) > 65536))
        return refuse(file, "this \"weight_block_size\"", e);
    for (size_t i = 0; block && i < 2; i++)
        s->block[i] = (uint32_t)json_integer_value(json_array_get(block, i));
    s->method = METHOD_FP8;
    return true;
}

static bool read_scheme(const json_t *q, scheme *s, const char *file, err *e)
{
    if (json_key_equals(q, "quant_method", "fp8"))
        return read_fp8(q, s, file, e);
    if (json_key_equals(q, "quant_method", "mxfp4")) {
        s->method = METHOD_MXFP4;
        return true;
    }
    bool gptq = json_key_equals(q, "quant_method", "gptq"), awq = json_key_equals(q, "quant_method", "awq");
    if (!gptq && !awq) {
        const char *name = json_string_value(json_object_get(q, "quant_method"));
        char what[64];
        snprintf(what, sizeof what, "the method %.40s",
                 name && strlen(name) < 40 && !strpbrk(name, "\n\r\x1b") ? name : "it names");
        return refuse(file, what, e);
    }
    const json_t *bits = json_object_get(q, "bits"), *group = json_object_get(q, "group_size");
    if (!json_is_integer(bits) || json_integer_value(bits) != 4)
        return refuse(file, "another number of bits than 4", e);
    if (!json_is_integer(group) ||
        (json_integer_value(group) != -1 &&
         (json_integer_value(group) < 32 || json_integer_value(group) > 65536 || json_integer_value(group) % 32)))
        return refuse(file, "a \"group_size\" that is no multiple of 32", e);
    s->group = json_integer_value(group) == -1 ? 0 : (uint32_t)json_integer_value(group);
    s->method = gptq ? METHOD_GPTQ : METHOD_AWQ;
    s->zeros_less = gptq && !json_key_equals(q, "checkpoint_format", "gptq_v2");
    if (gptq && json_get_present(q, "checkpoint_format") && !json_key_equals(q, "checkpoint_format", "gptq") &&
        !json_key_equals(q, "checkpoint_format", "gptq_v2"))
        return refuse(file, "this \"checkpoint_format\"", e);
    if (awq && json_get_present(q, "version") && !json_key_equals(q, "version", "gemm") &&
        !json_key_equals(q, "version", "GEMM"))
        return refuse(file, "a \"version\" other than gemm", e);
    return true;
}

bool quantised_is_known(const json_t *config, const char *file, err *e)
{
    return read_scheme(config, &(scheme){0}, file, e);
}

/* ---- int4 ---------------------------------------------------------------------------------- */

static uint32_t word_at(const safetensor *t, uint64_t i)
{
    uint32_t word;
    memcpy(&word, (const char *)t->data + 4 * i, 4);
    return word;
}

static uint16_t half_at(const safetensor *t, uint64_t i)
{
    uint16_t half;
    memcpy(&half, (const char *)t->data + 2 * i, 2);
    return half;
}

/* The tensors of one weight, `in` x `out`. */
typedef struct packed {
    const safetensor *q, *zeros, *scales, *order; /* `order` may be NULL */
    uint64_t in, out, groups;
    bool by_output; /* words have eight outputs, not eight inputs */
} packed;

/* AWQ has the outputs of a word in this order. */
static uint32_t awq_shift(uint64_t out)
{
    static const uint8_t place[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    return place[out % 8] * 4u;
}

static int number_at(const packed *p, uint64_t in, uint64_t out)
{
    if (p->by_output)
        return (int)(word_at(p->q, in * (p->out / 8) + out / 8) >> awq_shift(out) & 15);
    return (int)(word_at(p->q, in / 8 * p->out + out) >> in % 8 * 4 & 15);
}

static int zero_at(const packed *p, const scheme *s, uint64_t group, uint64_t out)
{
    uint32_t word = word_at(p->zeros, group * (p->out / 8) + out / 8);
    if (p->by_output)
        return (int)(word >> awq_shift(out) & 15);
    return (int)((word >> out % 8 * 4) + (s->zeros_less ? 1 : 0)) & 15;
}

static uint64_t group_of(const packed *p, const scheme *s, uint64_t in)
{
    if (p->order)
        return word_at(p->order, in);
    return s->group ? in / s->group : 0;
}

static bool is_shape(const safetensor *t, const char *dtype, uint64_t rows, uint64_t columns)
{
    return t && strcmp(t->dtype, dtype) == 0 && t->dim_count == 2 && t->dims[0] == rows && t->dims[1] == columns;
}

static const safetensor *find_of(const safetensors *folder, const char *stem, const char *ending)
{
    char name[MODEL_NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s.%s", stem, ending);
    return safetensors_any(folder, name);
}

static size_t number_of(const safetensors *folder, const safetensor *t)
{
    return (size_t)(t - safetensors_at(folder, 0));
}

/* False without an error: there is no such weight. */
static bool find_packed(const safetensors *folder, const scheme *s, const char *stem, packed *p, err *e)
{
    *p = (packed){.q = find_of(folder, stem, "qweight"), .by_output = s->method == METHOD_AWQ};
    if (!p->q)
        return false;
    p->zeros = find_of(folder, stem, "qzeros");
    p->scales = find_of(folder, stem, "scales");
    p->order = find_of(folder, stem, "g_idx");
    if (p->q->dim_count != 2 || p->q->dims[0] > UINT32_MAX / 8 || p->q->dims[1] > UINT32_MAX / 8)
        return err_set(e, "%s: tensor %s.qweight: is no matrix", s->path, stem);
    p->in = p->by_output ? p->q->dims[0] : p->q->dims[0] * 8;
    p->out = p->by_output ? p->q->dims[1] * 8 : p->q->dims[1];
    p->groups = s->group ? p->in / s->group : 1;
    if (!p->in || !p->out || p->in % 32 || p->out % 8 || (s->group && p->in % s->group) ||
        !is_shape(p->q, "I32", p->q->dims[0], p->q->dims[1]) || !is_shape(p->zeros, "I32", p->groups, p->out / 8) ||
        !is_shape(p->scales, "F16", p->groups, p->out))
        return err_set(e, "%s: %s: qweight, qzeros and scales do not fit each other and the group size", s->path, stem);
    if (!p->order)
        return true;
    if (strcmp(p->order->dtype, "I32") != 0 || p->order->dim_count != 1 || p->order->dims[0] != p->in)
        return err_set(e, "%s: tensor %s.g_idx: should be %llu numbers of I32", s->path, stem,
                       (unsigned long long)p->in);
    bool plain = true;
    for (uint64_t i = 0; i < p->in; i++) {
        uint32_t group = word_at(p->order, i);
        if (group >= p->groups)
            return err_set(e, "%s: tensor %s.g_idx: group %u, and there are %llu", s->path, stem, group,
                           (unsigned long long)p->groups);
        plain &= group == (s->group ? i / s->group : 0);
    }
    if (plain)
        p->order = NULL;
    return true;
}

static tensor_type type_for(const packed *p, const scheme *s)
{
    if (p->order)
        return TYPE_F16;
    for (uint64_t g = 0; g < p->groups; g++)
        for (uint64_t out = 0; out < p->out; out++)
            if (zero_at(p, s, g, out) != 8)
                return TYPE_Q8_0;
    return TYPE_Q4_0;
}

/* 32 inputs of an output, as a block of q4_0 or q8_0 has them: type.c. */
static void put_block(const packed *p, const scheme *s, uint64_t in, uint64_t out, tensor_type type, uint8_t *to)
{
    uint64_t group = group_of(p, s, in);
    uint16_t d = half_at(p->scales, group * p->out + out);
    memcpy(to, &d, 2);
    int zero = zero_at(p, s, group, out);
    for (uint64_t i = 0; type == TYPE_Q8_0 && i < 32; i++)
        to[2 + i] = (uint8_t)(int8_t)(number_at(p, in + i, out) - zero);
    for (uint64_t i = 0; type == TYPE_Q4_0 && i < 16; i++)
        to[2 + i] = (uint8_t)(number_at(p, in + i, out) | number_at(p, in + 16 + i, out) << 4);
}

static void unpack_int4(model *m, const safetensors *folder, const char *name, const packed *p, const scheme *s)
{
    tensor_type type = type_for(p, s);
    model_weight w = {.type = type,
                      .rows = (uint32_t)p->out,
                      .columns = (uint32_t)p->in,
                      .bytes = type_bytes(type, p->in * p->out),
                      .tensor = number_of(folder, p->q)};
    uint64_t row_bytes = type_bytes(type, p->in);
    uint8_t *data = mem_alloc(w.bytes);
    for (uint64_t out = 0; out < p->out; out++)
        for (uint64_t in = 0; in < p->in; in += type == TYPE_F16 ? 1 : 32) {
            uint8_t *row = data + out * row_bytes;
            if (type == TYPE_F16) {
                uint64_t group = group_of(p, s, in);
                float d = f16_to_f32(half_at(p->scales, group * p->out + out));
                uint16_t h = f32_to_f16((float)(number_at(p, in, out) - zero_at(p, s, group, out)) * d);
                memcpy(row + 2 * in, &h, 2);
            } else
                put_block(p, s, in, out, type, row + type_bytes(type, in));
        }
    w.data = data;
    model_replace_weight(m, name, &w);
}

/* ---- fp8 ------------------------------------------------------------------------------------ */

/* Four bits of exponent, three of fraction; no infinity. */
static float fp8_to_f32(uint8_t b)
{
    int exponent = b >> 3 & 15, fraction = b & 7;
    float x = exponent ? ldexpf((float)(8 + fraction), exponent - 10) : ldexpf((float)fraction, -9);
    x = exponent == 15 && fraction == 7 ? NAN : x;
    return b & 0x80 ? -x : x;
}

static float scale_at(const safetensor *t, uint64_t i)
{
    float f;
    type_to_f32(t->type, (const char *)t->data + i * type_find(t->type)->block_bytes, &f, 1);
    return f;
}

/* 1: replaced; 0: it is not fp8; -1: it is wrong. */
static int unpack_fp8(model *m, const safetensors *folder, const scheme *s, const char *name, const char *stem, err *e)
{
    const safetensor *t = find_of(folder, stem, "weight"), *scale = find_of(folder, stem, "weight_scale_inv");
    scale = scale ? scale : find_of(folder, stem, "weight_scale");
    if (!t || strcmp(t->dtype, "F8_E4M3") != 0)
        return 0;
    if (t->dim_count != 2 || t->dims[0] > UINT32_MAX || t->dims[1] > UINT32_MAX || !scale || !scale->readable)
        return err_set(e, "%s: tensor %s.weight: fp8 needs a matrix with a scale beside it", s->path, stem), -1;
    uint64_t rows = t->dims[0], columns = t->dims[1];
    uint64_t down = s->block[0] ? s->block[0] : rows, across = s->block[1] ? s->block[1] : columns;
    if (!rows || !columns)
        return err_set(e, "%s: tensor %s.weight: is empty", s->path, stem), -1;
    uint64_t lines = (rows + down - 1) / down, line = (columns + across - 1) / across;
    uint64_t scales = scale->bytes / type_find(scale->type)->block_bytes;
    bool by_row = !s->block[0] && scales == rows && rows > 1; /* one for each output */
    if (by_row)
        down = 1;
    else if (scales != lines * line)
        return err_set(e, "%s: tensor %s.weight: has %llu scales, and should have %llu", s->path, stem,
                       (unsigned long long)scales, (unsigned long long)(lines * line)),
               -1;
    model_weight w = {.type = TYPE_F16,
                      .rows = (uint32_t)rows,
                      .columns = (uint32_t)columns,
                      .bytes = rows * columns * 2,
                      .tensor = number_of(folder, t)};
    uint16_t *data = mem_alloc(w.bytes);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < columns; c++)
            data[r * columns + c] = f32_to_f16(fp8_to_f32(((const uint8_t *)t->data)[r * columns + c]) *
                                               scale_at(scale, r / down * line + c / across));
    w.data = data;
    model_replace_weight(m, name, &w);
    return 1;
}

/* ---- all weights ------------------------------------------------------------------------------ */

static bool unpack_weight(model *m, const safetensors *folder, const scheme *s, const char *name, err *e)
{
    char stem[MODEL_NAME_BYTES];
    packed p;
    if (!model_name_in_folder(m, name, stem))
        return true;
    char *dot = strrchr(stem, '.');
    if (!dot)
        return true;
    *dot = 0;
    if (s->method == METHOD_FP8)
        return unpack_fp8(m, folder, s, name, stem, e) >= 0;
    if (find_packed(folder, s, stem, &p, e))
        unpack_int4(m, folder, name, &p, s);
    return e->kind == ERR_NONE;
}

bool quantised_unpack(model *m, const safetensors *folder, const char *config, size_t length, err *e)
{
    static const char *const parts[] = {"attn_q",   "attn_k", "attn_v",   "attn_output", "attn_qkv",
                                        "ffn_gate", "ffn_up", "ffn_down", "ffn_gate_up"};
    scheme s = {.path = model_get_path(m)};
    json_t *root = json_loadb(config, length, 0, NULL);
    const json_t *q = json_get_present(root, "quantization_config");
    bool ok = !q || read_scheme(q, &s, s.path, e);
    bool wanted = ok && q && s.method != METHOD_MXFP4;
    json_decref(root);
    ok = ok && (!wanted || unpack_weight(m, folder, &s, "output.weight", e));
    for (uint32_t layer = 0; ok && wanted && layer < model_get_config(m)->layer_count; layer++)
        for (size_t p = 0; ok && p < sizeof parts / sizeof *parts; p++) {
            char name[MODEL_NAME_BYTES];
            snprintf(name, sizeof name, "blk.%u.%s.weight", layer, parts[p]);
            ok = unpack_weight(m, folder, &s, name, e);
        }
    return ok;
}
