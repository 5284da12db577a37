/* quantised_scheme: what a config.json says about a folder's quantised weights. */
#include "model/json_values.h"
#include "model/quantised_internal.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BLOCK = 65536 };

static bool refuse(const char *file, const char *what, err *e)
{
    return err_set(e, "%s: \"quantization_config\": %s is not supported (GGUF files are)", file, what);
}

/* A name of the file, which can be anything. */
static bool refuse_named(const char *file, const char *kind, const char *name, err *e)
{
    char what[64];
    snprintf(what, sizeof what, "the %s %.40s", kind,
             name && strlen(name) < 40 && !strpbrk(name, "\n\r\x1b") ? name : "it names");
    return refuse(file, what, e);
}

/* Two numbers, or nothing. */
static bool read_block(const json_t *block, const char *key, quantised_scheme *s, const char *file, err *e)
{
    char what[64];
    snprintf(what, sizeof what, "this \"%s\"", key);
    if (block && json_array_size(block) != 2)
        return refuse(file, what, e);
    for (size_t i = 0; block && i < 2; i++) {
        json_int_t size = json_integer_value(json_array_get(block, i));
        if (size < 1 || size > MOST_BLOCK)
            return refuse(file, what, e);
        s->block[i] = (uint32_t)size;
    }
    return true;
}

static bool read_bits(const json_t *object, const char *key, bool eight, quantised_scheme *s, const char *file, err *e)
{
    const json_t *bits = json_object_get(object, key);
    json_int_t number = json_is_integer(bits) ? json_integer_value(bits) : 0;
    if (number != 4 && !(eight && number == 8))
        return refuse(file, eight ? "another number of bits than 4 or 8" : "another number of bits than 4", e);
    s->bits = (uint32_t)number;
    return true;
}

static bool read_group(const json_t *object, quantised_scheme *s, const char *file, err *e)
{
    const json_t *group = json_object_get(object, "group_size");
    json_int_t size = json_is_integer(group) ? json_integer_value(group) : 0;
    if (size != -1 && (size < 32 || size > MOST_BLOCK || size % 32))
        return refuse(file, "a \"group_size\" that is no multiple of 32", e);
    s->group = size == -1 ? 0 : (uint32_t)size;
    return true;
}

/* ---- compressed-tensors ------------------------------------------------------------------- */

static bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_object(value) && !json_object_size(value));
}

/* What the weights of a group are, by the format that they are in. */
static bool read_weights(const json_t *weights, const char *format, quantised_scheme *s, const char *file, err *e)
{
    bool floats = json_key_equals(weights, "type", "float"), packed = strcmp(format, "pack-quantized") == 0;
    bool whole = json_key_equals(weights, "strategy", "channel") || json_key_equals(weights, "strategy", "tensor");
    if (!packed && strcmp(format, "float-quantized") != 0 && strcmp(format, "int-quantized") != 0 &&
        strcmp(format, "naive-quantized") != 0)
        return refuse_named(file, "format", format, e);
    if (packed && floats)
        return refuse(file, "floats in words", e);
    if (!read_bits(weights, "num_bits", true, s, file, e))
        return false;
    if (!packed && s->bits != 8)
        return refuse(file, "another number of bits than 8 in bytes", e);
    s->method = packed ? METHOD_COMPRESSED : floats ? METHOD_FP8 : METHOD_INT8;
    if (s->method == METHOD_INT8 && json_is_false(json_object_get(weights, "symmetric")))
        return refuse(file, "bytes with zeros of their own", e);
    if (packed && json_key_equals(weights, "strategy", "group"))
        return read_group(weights, s, file, e);
    if (s->method == METHOD_FP8 && json_key_equals(weights, "strategy", "block"))
        return read_block(json_get_present(weights, "block_structure"), "block_structure", s, file, e) &&
               (s->block[0] || refuse(file, "a block without \"block_structure\"", e));
    return whole || refuse(file, "this \"strategy\"", e);
}

static bool read_compressed(const json_t *q, quantised_scheme *s, const char *file, err *e)
{
    json_t *groups = json_object_get(q, "config_groups"), *group;
    const json_t *sparse = json_get_present(q, "sparsity_config");
    const char *name, *usual = json_string_value(json_object_get(q, "format"));
    bool first = true;
    if (!is_nothing(sparse) && !json_key_equals(sparse, "format", "dense"))
        return refuse(file, "\"sparsity_config\"", e);
    if (!is_nothing(json_object_get(q, "transform_config")))
        return refuse(file, "\"transform_config\"", e);
    json_object_foreach(groups, name, group)
    {
        const char *format = json_string_value(json_object_get(group, "format"));
        quantised_scheme own = {.path = s->path};
        format = format ? format : usual;
        if (!read_weights(json_object_get(group, "weights"), format ? format : "", &own, file, e))
            return false;
        if (!first && (own.method != s->method || own.bits != s->bits || own.group != s->group ||
                       own.block[0] != s->block[0] || own.block[1] != s->block[1]))
            return refuse(file, "more than one kind of weights", e);
        *s = own;
        first = false;
    }
    return !first || refuse(file, "a file without \"config_groups\"", e);
}

/* ---- the others ------------------------------------------------------------------------------ */

static bool read_int4(const json_t *q, bool gptq, quantised_scheme *s, const char *file, err *e)
{
    s->method = gptq ? METHOD_GPTQ : METHOD_AWQ;
    s->zeros_less = gptq && !json_key_equals(q, "checkpoint_format", "gptq_v2");
    if (!read_bits(q, "bits", gptq, s, file, e) || !read_group(q, s, file, e))
        return false;
    if (gptq && json_get_present(q, "checkpoint_format") && !json_key_equals(q, "checkpoint_format", "gptq") &&
        !json_key_equals(q, "checkpoint_format", "gptq_v2"))
        return refuse(file, "this \"checkpoint_format\"", e);
    if (!gptq && json_get_present(q, "version") && !json_key_equals(q, "version", "gemm") &&
        !json_key_equals(q, "version", "GEMM"))
        return refuse(file, "a \"version\" other than gemm", e);
    return true;
}

bool quantised_read_scheme(const json_t *q, quantised_scheme *s, const char *file, err *e)
{
    const char *method = json_string_value(json_object_get(q, "quant_method"));
    bool gptq = json_key_equals(q, "quant_method", "gptq");
    if (gptq || json_key_equals(q, "quant_method", "awq"))
        return read_int4(q, gptq, s, file, e);
    if (json_key_equals(q, "quant_method", "compressed-tensors"))
        return read_compressed(q, s, file, e);
    s->method = METHOD_FP8;
    if (json_key_equals(q, "quant_method", "fp8"))
        return read_block(json_get_present(q, "weight_block_size"), "weight_block_size", s, file, e);
    s->method = METHOD_MXFP4;
    return json_key_equals(q, "quant_method", "mxfp4") || refuse_named(file, "method", method, e);
}

bool quantised_is_known(const json_t *config, const char *file, err *e)
{
    return quantised_read_scheme(config, &(quantised_scheme){0}, file, e);
}
