#include "model/config.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- architectures ------------------------------------------------------- */

/* Which layers see a window only, if the file says a window but not the layers. */
typedef enum {
    WINDOW_NEVER,
    WINDOW_ALL,
    WINDOW_LATE, /* from max_window_layers on, and only if use_sliding_window */
    WINDOW_EVEN  /* layers 0, 2, 4, ... */
} window_rule;

/* What a file leaves out stands here, as in the classes that first defined these
 * architectures (Hugging Face transformers). */
typedef struct arch_info {
    const char *name; /* in config.json and in GGUF */
    bool in_gguf;     /* GGUF calls mistral llama */
    uint32_t context_tok;
    uint32_t head_dim;   /* 0: embedding_dim / head_count */
    uint32_t window_tok; /* 0: none */
    window_rule windows;
    model_act act;
    float norm_epsilon;
    bool tied_embeddings;
} arch_info;

static const arch_info archs[] = {
    [ARCH_LLAMA] = {"llama", true, 2048, 0, 0, WINDOW_NEVER, ACT_SILU, 1e-6f, false},
    [ARCH_MISTRAL] = {"mistral", false, 131072, 0, 4096, WINDOW_ALL, ACT_SILU, 1e-6f, false},
    [ARCH_QWEN2] = {"qwen2", true, 32768, 0, 4096, WINDOW_LATE, ACT_SILU, 1e-6f, false},
    [ARCH_QWEN3] = {"qwen3", true, 32768, 128, 4096, WINDOW_LATE, ACT_SILU, 1e-6f, false},
    [ARCH_PHI3] = {"phi3", true, 4096, 0, 0, WINDOW_ALL, ACT_SILU, 1e-5f, false},
    [ARCH_GEMMA] = {"gemma", true, 8192, 256, 0, WINDOW_NEVER, ACT_GELU_TANH, 1e-6f, true},
    [ARCH_GEMMA2] = {"gemma2", true, 8192, 256, 4096, WINDOW_EVEN, ACT_GELU_TANH, 1e-6f, true},
};

enum { ARCH_COUNT = sizeof archs / sizeof *archs };

static const float default_rope_base = 10000;
static const float gemma2_attention_cap = 50, gemma2_logit_cap = 30;

/* Several times what the largest models have. */
enum { MAX_VOCAB = 1 << 22, MAX_CONTEXT = 1 << 26, MAX_EMBEDDING = 1 << 17, MAX_FFN = 1 << 20, MAX_HEADS = 1024 };

const char *config_arch_name(model_arch arch)
{
    return archs[arch].name;
}

uint32_t config_window(const model_config *c, uint32_t layer, uint32_t context_tok)
{
    return c->is_windowed[layer] && c->window_tok < context_tok ? c->window_tok : context_tok;
}

static bool find_arch(const char *file, const char *key, const char *text, size_t length, bool in_gguf,
                      model_arch *arch, err *e)
{
    for (int i = 0; i < ARCH_COUNT; i++)
        if (strlen(archs[i].name) == length && memcmp(archs[i].name, text, length) == 0 &&
            (archs[i].in_gguf || !in_gguf)) {
            *arch = i;
            return true;
        }
    char shown[64];
    size_t n = 0;
    for (; n < length && n < sizeof shown - 1; n++)
        shown[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
    shown[n] = 0;
    str known = {0};
    for (int i = 0; i < ARCH_COUNT; i++)
        if (archs[i].in_gguf || !in_gguf)
            str_addf(&known, "%s%s", known.length ? ", " : "", archs[i].name);
    err_set(e, "%s: \"%s\": unknown architecture \"%s\" (known: %s)", file, key, shown, known.data);
    str_free(&known);
    return false;
}

/* ---- what both sources share --------------------------------------------- */

static bool unsupported(const char *file, const char *key, const char *what, err *e)
{
    return err_set(e, "%s: \"%s\": %s is not supported", file, key, what);
}

static bool check_number(const char *file, const char *key, double value, double low, double high, err *e)
{
    if (value >= low && value <= high) /* not true of NaN */
        return true;
    return err_set(e, "%s: \"%s\" is %g, must be %g to %g", file, key, value, low, high);
}

/* What an architecture is by itself, before the file is asked. */
static void set_defaults(model_config *c, model_arch arch)
{
    bool gemma = arch == ARCH_GEMMA || arch == ARCH_GEMMA2;
    *c = (model_config){
        .arch = arch,
        .act = archs[arch].act,
        .qkv_bias = arch == ARCH_QWEN2,
        .qk_norm = arch == ARCH_QWEN3,
        .norm_adds_one = gemma,
        .post_norms = arch == ARCH_GEMMA2,
        .rope_factor = 1,
        .rope_magnitude = 1,
        .embedding_scale = 1,
    };
    for (uint32_t i = 0; i < CONFIG_MAX_HEAD_DIM / 2; i++)
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = 1;
}

/* The names that a source has for what is checked. */
typedef struct shape_keys {
    const char *embedding, *heads, *kv_heads, *head_dim, *rope_dims;
} shape_keys;

/* Sizes that are right each by itself, but may not be together. */
static bool check_shape(const char *file, const shape_keys *k, const model_config *c, err *e)
{
    if (c->head_count % c->kv_head_count)
        return err_set(e, "%s: \"%s\" (%u) is not a multiple of \"%s\" (%u)", file, k->heads, c->head_count,
                       k->kv_heads, c->kv_head_count);
    if ((uint64_t)c->head_count * c->head_dim > MAX_EMBEDDING)
        return err_set(e, "%s: \"%s\" (%u) heads of \"%s\" (%u) are more than %d", file, k->heads, c->head_count,
                       k->head_dim, c->head_dim, MAX_EMBEDDING);
    if (c->rope_dims == 0 || c->rope_dims % 2 || c->rope_dims > c->head_dim)
        return err_set(e, "%s: \"%s\" makes %u of a head's %u numbers turn with the position; must be even and no more",
                       file, k->rope_dims, c->rope_dims, c->head_dim);
    return true;
}

/* embedding_dim / head_count, where a file does not say the head's size. */
static bool derive_head_dim(const char *file, const shape_keys *k, model_config *c, err *e)
{
    if (c->embedding_dim % c->head_count)
        return err_set(e, "%s: \"%s\" (%u) is not a multiple of \"%s\" (%u), and \"%s\" is missing", file, k->embedding,
                       c->embedding_dim, k->heads, c->head_count, k->head_dim);
    c->head_dim = c->embedding_dim / c->head_count;
    return check_number(file, k->embedding, c->embedding_dim, c->head_count,
                        (double)c->head_count * CONFIG_MAX_HEAD_DIM, e);
}

static void set_scales(model_config *c)
{
    c->attention_scale = (float)(1 / sqrt(c->head_dim));
    if (c->arch == ARCH_GEMMA || c->arch == ARCH_GEMMA2)
        c->embedding_scale = sqrtf((float)c->embedding_dim);
}

static void divide_all(model_config *c, double factor)
{
    c->rope_scaling = ROPE_LINEAR;
    c->rope_factor = (float)factor;
    for (uint32_t i = 0; i < c->rope_dims / 2; i++)
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = (float)factor;
}

/* ---- GGUF ---------------------------------------------------------------- */

typedef struct gguf_source {
    const gguf *g;
    const char *file;
    model_config *c;
    err *e;
    char key[128]; /* the one asked for last */
} gguf_source;

/* "llama" and "block_count" are "llama.block_count". Stays until the next call. */
static const char *arch_key(gguf_source *s, const char *name)
{
    snprintf(s->key, sizeof s->key, "%s.%s", archs[s->c->arch].name, name);
    return s->key;
}

/* Some files have one number per layer; one for all of them is what is supported. */
static bool gguf_layers_number(gguf_source *s, const char *key, uint32_t *value)
{
    err not_one = {0}, not_many = {0};
    if (gguf_get_u32(s->g, key, value, &not_one))
        return true;
    gguf_array array;
    if (!gguf_get_numbers(s->g, key, &array, &not_many) || array.count == 0)
        return err_set(s->e, "%s", not_one.text);
    int64_t first = gguf_array_int(&array, 0);
    for (size_t i = 1; i < array.count; i++)
        if (gguf_array_int(&array, i) != first)
            return unsupported(s->file, key, "a number that differs between layers", s->e);
    *value = first < 0 || first > UINT32_MAX ? UINT32_MAX : (uint32_t)first;
    return true;
}

/* 1 to `high`; `fallback` if missing, and if that is 0 it must be there. */
static bool gguf_size(gguf_source *s, const char *name, uint32_t high, uint32_t fallback, uint32_t *value)
{
    const char *key = arch_key(s, name);
    *value = fallback;
    if (fallback && !gguf_has(s->g, key))
        return true;
    return gguf_layers_number(s, key, value) && check_number(s->file, key, *value, 1, high, s->e);
}

static bool gguf_float(gguf_source *s, const char *name, double low, double high, float fallback, float *value)
{
    const char *key = arch_key(s, name);
    *value = fallback;
    if (!gguf_has(s->g, key))
        return true;
    return gguf_get_f32(s->g, key, value, s->e) && check_number(s->file, key, *value, low, high, s->e);
}

/* The embedding has a row for each token; the list of tokens may be shorter. */
static bool gguf_vocab(gguf_source *s)
{
    static const char list[] = "tokenizer.ggml.tokens", embedding[] = "token_embd.weight";
    gguf_array tokens = {0};
    if (gguf_has(s->g, list) && !gguf_get_texts(s->g, list, &tokens, s->e))
        return false;
    uint64_t rows = tokens.count;
    const char *key = list;
    const gguf_tensor *t = gguf_find_tensor(s->g, embedding);
    if (t) {
        if (t->dim_count != 2 || t->dims[0] != s->c->embedding_dim)
            return err_set(s->e, "%s: tensor %s: rows of %llu numbers, \"%s.embedding_length\" is %u", s->file,
                           embedding, (unsigned long long)t->dims[0], archs[s->c->arch].name, s->c->embedding_dim);
        rows = t->dims[1];
        key = embedding;
        if (tokens.count > rows)
            return err_set(s->e, "%s: \"%s\" has %zu tokens, %s only %llu rows", s->file, list, tokens.count, embedding,
                           (unsigned long long)rows);
    }
    if (!check_number(s->file, key, (double)rows, 1, MAX_VOCAB, s->e))
        return false;
    s->c->vocab_tok = (uint32_t)rows;
    return true;
}

static bool gguf_divisors(gguf_source *s, const gguf_tensor *t, const char *name, float *out)
{
    uint32_t count = s->c->rope_dims / 2;
    if (t->type != TYPE_F32 || t->dims[0] != count || t->dim_count != 1)
        return err_set(s->e, "%s: tensor %s: must be %u numbers of type f32", s->file, name, count);
    if (!t->data) {
        s->c->rope_divisors_missing = true;
        return true;
    }
    memcpy(out, t->data, count * sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        if (!check_number(s->file, name, out[i], 1e-6, 1e6, s->e))
            return false;
    return true;
}

bool config_give_divisors(model_config *c, const char *name, const float *values, err *e)
{
    uint32_t count = c->rope_dims / 2;
    bool near = strstr(name, "_long") == NULL, far = strstr(name, "_short") == NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!check_number("GGUF", name, values[i], 1e-6, 1e6, e))
            return false;
    if (near)
        memcpy(c->rope_divisors[0], values, count * sizeof *values);
    if (far)
        memcpy(c->rope_divisors[1], values, count * sizeof *values);
    return true;
}

/* Divisors that were computed by whoever wrote the file come as tensors. */
static bool gguf_rope_tensors(gguf_source *s)
{
    static const char freqs[] = "rope_freqs.weight", near[] = "rope_factors_short.weight",
                      far[] = "rope_factors_long.weight";
    model_config *c = s->c;
    const gguf_tensor *all = gguf_find_tensor(s->g, freqs), *close = gguf_find_tensor(s->g, near),
                      *wide = gguf_find_tensor(s->g, far);
    if (all) {
        c->rope_scaling = ROPE_GIVEN;
        return gguf_divisors(s, all, freqs, c->rope_divisors[0]) && gguf_divisors(s, all, freqs, c->rope_divisors[1]);
    }
    if (!close && !wide)
        return true;
    if (!close || !wide)
        return err_set(s->e, "%s: tensor %s: missing", s->file, close ? far : near);
    c->rope_scaling = ROPE_LONGROPE;
    return gguf_size(s, "rope.scaling.original_context_length", MAX_CONTEXT, c->context_tok, &c->rope_original_tok) &&
           gguf_float(s, "rope.scaling.attn_factor", 1e-3, 1e3, 1, &c->rope_magnitude) &&
           gguf_divisors(s, close, near, c->rope_divisors[0]) && gguf_divisors(s, wide, far, c->rope_divisors[1]);
}

static bool text_is(gguf_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}

static bool gguf_rope(gguf_source *s)
{
    model_config *c = s->c;
    c->rope_order = c->arch == ARCH_LLAMA ? ROPE_ADJACENT : ROPE_HALVES;
    if (!gguf_size(s, "rope.dimension_count", CONFIG_MAX_HEAD_DIM, c->head_dim, &c->rope_dims) ||
        !gguf_float(s, "rope.freq_base", 1, 1e12, default_rope_base, &c->rope_base))
        return false;

    /* a factor alone, or by its older name, means linear */
    gguf_text type = {"linear", 6};
    const char *key = arch_key(s, "rope.scaling.type");
    if (gguf_has(s->g, key) && !gguf_get_text(s->g, key, &type, s->e))
        return false;
    bool linear = text_is(type, "linear");
    if (!linear && !text_is(type, "none") && !text_is(type, "longrope"))
        return unsupported(s->file, key, text_is(type, "yarn") ? "yarn" : "this kind", s->e);
    float older, factor;
    if (!gguf_float(s, "rope.scale_linear", 0, 1e6, 0, &older) ||
        !gguf_float(s, "rope.scaling.factor", 0, 1e6, older, &factor))
        return false;
    if (linear && factor != 0 && factor != 1) {
        if (!check_number(s->file, s->key, factor, 1e-3, 1e6, s->e))
            return false;
        divide_all(c, factor);
    }
    return c->rope_dims > c->head_dim || gguf_rope_tensors(s); /* too many is told below */
}

static bool gguf_attention(gguf_source *s)
{
    model_config *c = s->c;
    c->qkv_bias = gguf_find_tensor(s->g, "blk.0.attn_q.bias") || gguf_find_tensor(s->g, "blk.0.attn_qkv.bias");
    c->output_bias = gguf_find_tensor(s->g, "blk.0.attn_output.bias");

    /* gemma2's largest does not scale by its head's size, and files do not say so */
    if (c->arch == ARCH_GEMMA2 && c->layer_count == 46)
        c->attention_scale = (float)(1 / sqrt((double)c->embedding_dim / c->head_count));
    float scale;
    if (!gguf_float(s, "attention.scale", 0, 1e3, 0, &scale))
        return false;
    if (scale > 0)
        c->attention_scale = scale;

    if (c->arch == ARCH_GEMMA2 &&
        (!gguf_float(s, "attn_logit_softcapping", 0, 1e6, gemma2_attention_cap, &c->attention_cap) ||
         !gguf_float(s, "final_logit_softcapping", 0, 1e6, gemma2_logit_cap, &c->logit_cap)))
        return false;

    /* qwen's files cannot say which layers, and models that use the window are not made: it stays off */
    const arch_info *a = &archs[c->arch];
    const char *key = arch_key(s, "attention.sliding_window");
    c->window_tok = a->windows == WINDOW_EVEN ? a->window_tok : 0;
    if (a->windows != WINDOW_LATE && gguf_has(s->g, key) &&
        (!gguf_layers_number(s, key, &c->window_tok) || !check_number(s->file, key, c->window_tok, 0, 1u << 31, s->e)))
        return false;
    for (uint32_t i = 0; c->window_tok && i < c->layer_count; i++)
        c->is_windowed[i] = a->windows != WINDOW_EVEN || i % 2 == 0;
    return true;
}

static bool gguf_refuse_unsupported(gguf_source *s)
{
    const char *key = arch_key(s, "expert_count");
    uint32_t experts = 0;
    if (gguf_has(s->g, key) && !gguf_get_u32(s->g, key, &experts, s->e))
        return false;
    if (experts)
        return unsupported(s->file, key, "a mixture of experts", s->e);
    key = arch_key(s, "attention.causal");
    bool causal = true;
    if (gguf_has(s->g, key) && !gguf_get_bool(s->g, key, &causal, s->e))
        return false;
    return causal || unsupported(s->file, key, "attention to later positions", s->e);
}

bool config_from_gguf(const gguf *g, model_config *c, err *e)
{
    static const char arch_is[] = "general.architecture";
    gguf_source source = {.g = g, .file = "GGUF", .c = c, .e = e}, *s = &source;
    gguf_text arch_name;
    model_arch arch;
    if (!gguf_get_text(g, arch_is, &arch_name, e) ||
        !find_arch(s->file, arch_is, arch_name.data, arch_name.length, true, &arch, e))
        return false;
    set_defaults(c, arch);
    c->norm_adds_one = false; /* in the weights already */
    c->tied_embeddings = !gguf_find_tensor(g, "output.weight");

    const char *a = archs[arch].name;
    char embedding[64], heads[64], kv_heads[64], head_dim[64], rope_dims[64];
    snprintf(embedding, sizeof embedding, "%s.embedding_length", a);
    snprintf(heads, sizeof heads, "%s.attention.head_count", a);
    snprintf(kv_heads, sizeof kv_heads, "%s.attention.head_count_kv", a);
    snprintf(head_dim, sizeof head_dim, "%s.attention.key_length", a);
    snprintf(rope_dims, sizeof rope_dims, "%s.rope.dimension_count", a);
    shape_keys keys = {embedding, heads, kv_heads, head_dim, rope_dims};

    if (!gguf_refuse_unsupported(s) || !gguf_size(s, "block_count", CONFIG_MAX_LAYERS, 0, &c->layer_count) ||
        !gguf_size(s, "context_length", MAX_CONTEXT, archs[arch].context_tok, &c->context_tok) ||
        !gguf_size(s, "embedding_length", MAX_EMBEDDING, 0, &c->embedding_dim) ||
        !gguf_size(s, "feed_forward_length", MAX_FFN, 0, &c->ffn_dim) ||
        !gguf_size(s, "attention.head_count", MAX_HEADS, 0, &c->head_count) ||
        !gguf_size(s, "attention.head_count_kv", MAX_HEADS, c->head_count, &c->kv_head_count) ||
        !gguf_float(s, "attention.layer_norm_rms_epsilon", 1e-12, 1, archs[arch].norm_epsilon, &c->norm_epsilon))
        return false;

    uint32_t value_dim;
    bool said = gguf_has(g, head_dim);
    if (!(said ? gguf_size(s, "attention.key_length", CONFIG_MAX_HEAD_DIM, 0, &c->head_dim)
               : derive_head_dim(s->file, &keys, c, e)) ||
        !gguf_size(s, "attention.value_length", CONFIG_MAX_HEAD_DIM, c->head_dim, &value_dim))
        return false;
    if (value_dim != c->head_dim)
        return unsupported(s->file, s->key, "a size other than the keys'", e);
    set_scales(c);
    return gguf_vocab(s) && gguf_rope(s) && gguf_attention(s) && check_shape(s->file, &keys, c, e);
}

/* ---- Hugging Face -------------------------------------------------------- */

#ifndef __wasm__ /* JSON is read natively only */

#include <jansson.h>

enum { MAX_JSON_BYTES = 4 << 20 };

typedef struct hf_source {
    const json_t *root, *rope; /* `rope`: rope_parameters, rope_scaling, or NULL */
    const char *file;
    model_config *c;
    err *e;
} hf_source;

static bool hf_wrong(hf_source *s, const char *key, const char *what)
{
    return err_set(s->e, "%s: \"%s\" %s", s->file, key, what);
}

/* null stands for absent, but where a default is not what null means. */
static const json_t *present(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static bool is_null(const json_t *object, const char *key)
{
    return json_is_null(json_object_get(object, key));
}

/* 1 to `high`; `fallback` if missing, and if that is 0 it must be there. */
static bool hf_size_in(hf_source *s, const json_t *object, const char *key, uint32_t high, uint32_t fallback,
                       uint32_t *out)
{
    const json_t *value = present(object, key);
    *out = fallback;
    if (!value)
        return fallback ? true : hf_wrong(s, key, "is missing");
    if (!json_is_integer(value))
        return hf_wrong(s, key, "must be a whole number");
    if (!check_number(s->file, key, (double)json_integer_value(value), 1, high, s->e))
        return false;
    *out = (uint32_t)json_integer_value(value);
    return true;
}

static bool hf_size(hf_source *s, const char *key, uint32_t high, uint32_t fallback, uint32_t *out)
{
    return hf_size_in(s, s->root, key, high, fallback, out);
}

static bool hf_number_in(hf_source *s, const json_t *object, const char *key, double low, double high, double fallback,
                         double *out)
{
    const json_t *value = present(object, key);
    *out = fallback;
    if (!value)
        return isnan(fallback) ? hf_wrong(s, key, "is missing") : true;
    if (!json_is_number(value))
        return hf_wrong(s, key, "must be a number");
    *out = json_number_value(value);
    return check_number(s->file, key, *out, low, high, s->e);
}

static bool hf_float(hf_source *s, const char *key, double low, double high, float fallback, float *out)
{
    double value;
    if (!hf_number_in(s, s->root, key, low, high, fallback, &value))
        return false;
    *out = (float)value;
    return true;
}

static bool hf_bool(hf_source *s, const char *key, bool fallback, bool *out)
{
    const json_t *value = present(s->root, key);
    *out = fallback;
    if (!value)
        return true;
    if (!json_is_boolean(value))
        return hf_wrong(s, key, "must be true or false");
    *out = json_is_true(value);
    return true;
}

/* NULL in `*out` if absent. */
static bool hf_text(hf_source *s, const json_t *object, const char *key, const char **out)
{
    const json_t *value = present(object, key);
    *out = json_string_value(value);
    return !value || *out ? true : hf_wrong(s, key, "must be a text");
}

static bool hf_list(hf_source *s, const char *key, uint32_t count, float *out)
{
    const json_t *list = present(s->rope, key);
    if (!list)
        return hf_wrong(s, key, "is missing");
    if (json_array_size(list) != count)
        return err_set(s->e, "%s: \"%s\" must be %u numbers, one per turned pair", s->file, key, count);
    for (uint32_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value))
            return hf_wrong(s, key, "must be numbers only");
        if (!check_number(s->file, key, json_number_value(value), 1e-6, 1e6, s->e))
            return false;
        out[i] = (float)json_number_value(value);
    }
    return true;
}

static bool hf_rope_linear(hf_source *s)
{
    double factor;
    if (!hf_number_in(s, s->rope, "factor", 1e-3, 1e6, NAN, &factor))
        return false;
    divide_all(s->c, factor);
    return true;
}

/* Angles that turn less than low_freq_factor times within the positions trained at
 * first are slowed by the factor; those that turn more than high_freq_factor times
 * stay; between them the frequency goes over from one to the other. */
static bool hf_rope_llama3(hf_source *s)
{
    model_config *c = s->c;
    double factor, low, high;
    if (!hf_number_in(s, s->rope, "factor", 1, 1e6, NAN, &factor) ||
        !hf_number_in(s, s->rope, "low_freq_factor", 1e-3, 1e6, NAN, &low) ||
        !hf_number_in(s, s->rope, "high_freq_factor", 1e-3, 1e6, NAN, &high) ||
        !hf_size_in(s, s->rope, "original_max_position_embeddings", MAX_CONTEXT, 0, &c->rope_original_tok))
        return false;
    if (low >= high)
        return hf_wrong(s, "low_freq_factor", "must be less than \"high_freq_factor\"");
    c->rope_scaling = ROPE_LLAMA3;
    c->rope_factor = (float)factor;
    c->rope_low_factor = (float)low;
    c->rope_high_factor = (float)high;
    for (uint32_t i = 0; i < c->rope_dims / 2; i++) {
        double wavelength = 2 * M_PI * pow(c->rope_base, 2.0 * i / c->rope_dims);
        double turns = c->rope_original_tok / wavelength;
        double keep = turns < low ? 0 : turns > high ? 1 : (turns - low) / (high - low);
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = (float)(1 / ((1 - keep) / factor + keep));
    }
    return true;
}

static bool hf_rope_longrope(hf_source *s)
{
    model_config *c = s->c;
    uint32_t inner, pairs = c->rope_dims / 2, trained_phi3 = 4096;
    double stretch, magnitude;
    /* written in either place; outside of the object it counts more */
    if (!hf_size_in(s, s->rope, "original_max_position_embeddings", MAX_CONTEXT,
                    c->arch == ARCH_PHI3 ? trained_phi3 : c->context_tok, &inner) ||
        !hf_size(s, "original_max_position_embeddings", MAX_CONTEXT, inner, &c->rope_original_tok) ||
        !hf_list(s, "short_factor", pairs, c->rope_divisors[0]) ||
        !hf_list(s, "long_factor", pairs, c->rope_divisors[1]))
        return false;
    c->rope_scaling = ROPE_LONGROPE;

    /* both factors are seldom written: they follow from the two lengths */
    stretch = (double)c->context_tok / c->rope_original_tok;
    if (!hf_number_in(s, s->rope, "factor", 1e-3, 1e6, stretch, &stretch))
        return false;
    magnitude = stretch > 1 && c->rope_original_tok > 1 ? sqrt(1 + log(stretch) / log(c->rope_original_tok)) : 1;
    if (!hf_number_in(s, s->rope, "attention_factor", 1e-3, 1e3, magnitude, &magnitude))
        return false;
    c->rope_magnitude = (float)magnitude;
    return true;
}

/* Old: rope_theta, and rope_scaling if there is any. New: all in rope_parameters. */
static bool hf_rope(hf_source *s)
{
    model_config *c = s->c;
    const char *where = present(s->root, "rope_parameters") ? "rope_parameters" : "rope_scaling";
    s->rope = present(s->root, where);
    if (s->rope && !json_is_object(s->rope))
        return hf_wrong(s, where, "must be an object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)s->rope, key, value)
    {
        if (json_is_object(value))
            return unsupported(s->file, where, "a rope for each type of layer", s->e);
    }

    double base, share;
    if (!hf_number_in(s, s->root, "rope_theta", 1, 1e12, default_rope_base, &base) ||
        !hf_number_in(s, s->rope, "rope_theta", 1, 1e12, base, &base) ||
        !hf_number_in(s, s->root, "partial_rotary_factor", 0, 1, 1, &share) ||
        !hf_number_in(s, s->rope, "partial_rotary_factor", 0, 1, share, &share))
        return false;
    if (share != 1 && c->arch != ARCH_PHI3)
        return unsupported(s->file, "partial_rotary_factor", "a part of a head (but for phi3)", s->e);
    c->rope_order = ROPE_HALVES;
    c->rope_base = (float)base;
    c->rope_dims = (uint32_t)(c->head_dim * share);

    const char *type, *older;
    if (!hf_text(s, s->rope, "rope_type", &type) || !hf_text(s, s->rope, "type", &older))
        return false;
    type = type ? type : older ? older : "default";
    if (strcmp(type, "default") == 0)
        return true;
    if (strcmp(type, "linear") == 0)
        return hf_rope_linear(s);
    if (strcmp(type, "llama3") == 0)
        return hf_rope_llama3(s);
    if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0)
        return hf_rope_longrope(s);
    bool named = strcmp(type, "yarn") == 0 || strcmp(type, "dynamic") == 0 || strcmp(type, "mrope") == 0;
    return unsupported(s->file, where, named ? type : "this type", s->e);
}

/* The newer files name every layer's type. */
static bool hf_layer_types(hf_source *s, const json_t *types)
{
    model_config *c = s->c;
    if (json_array_size(types) != c->layer_count)
        return err_set(s->e, "%s: \"layer_types\" must be %u texts, one per layer", s->file, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        bool windowed = type && strcmp(type, "sliding_attention") == 0;
        if (!windowed && !(type && strcmp(type, "full_attention") == 0))
            return unsupported(s->file, "layer_types", "a layer other than full_attention or sliding_attention", s->e);
        if (windowed && archs[c->arch].windows == WINDOW_NEVER)
            return unsupported(s->file, "layer_types", "a window in this architecture", s->e);
        c->is_windowed[i] = windowed && c->window_tok;
    }
    return true;
}

static bool hf_windows(hf_source *s)
{
    model_config *c = s->c;
    const arch_info *a = &archs[c->arch];
    bool used = a->windows != WINDOW_NEVER;
    uint32_t from = 0;
    if (a->windows == WINDOW_LATE) {
        const json_t *late = present(s->root, "max_window_layers");
        if (!hf_bool(s, "use_sliding_window", false, &used))
            return false;
        if (late && (!json_is_integer(late) || json_integer_value(late) < 0))
            return hf_wrong(s, "max_window_layers", "must be a whole number");
        from = !late                                          ? 28
               : json_integer_value(late) > CONFIG_MAX_LAYERS ? CONFIG_MAX_LAYERS
                                                              : (uint32_t)json_integer_value(late);
    }
    uint32_t fallback = is_null(s->root, "sliding_window") ? 0 : a->window_tok;
    if (used && (fallback || present(s->root, "sliding_window")) &&
        !hf_size(s, "sliding_window", 1u << 31, fallback, &c->window_tok))
        return false;

    const json_t *types = present(s->root, "layer_types");
    if (types)
        return hf_layer_types(s, types);
    for (uint32_t i = from; c->window_tok && i < c->layer_count; i++)
        c->is_windowed[i] = a->windows != WINDOW_EVEN || i % 2 == 0;
    return true;
}

static bool hf_act(hf_source *s)
{
    model_config *c = s->c;
    const char *key = present(s->root, "hidden_activation") ? "hidden_activation" : "hidden_act", *name;
    if (!hf_text(s, s->root, key, &name))
        return false;
    if (!name)
        return true;
    /* gemma's first files say gelu where the model was trained with the approximation */
    bool gelu = strcmp(name, "gelu_pytorch_tanh") == 0 || strcmp(name, "gelu_new") == 0 ||
                (strcmp(name, "gelu") == 0 && archs[c->arch].act == ACT_GELU_TANH);
    if (!gelu && strcmp(name, "silu") != 0 && strcmp(name, "swish") != 0)
        return unsupported(s->file, key, strcmp(name, "gelu") == 0 ? "gelu (without tanh)" : "this function", s->e);
    c->act = gelu ? ACT_GELU_TANH : ACT_SILU;
    return true;
}

static bool hf_attention(hf_source *s)
{
    model_config *c = s->c;
    bool biased = false;
    if (c->arch != ARCH_QWEN2 && c->arch != ARCH_MISTRAL && c->arch != ARCH_PHI3) {
        if (!hf_bool(s, "attention_bias", false, &biased))
            return false;
        c->qkv_bias = c->output_bias = biased;
    }
    if (c->arch != ARCH_GEMMA2)
        return true;
    float scalar, no_cap = 0;
    bool caps_scores = !is_null(s->root, "attn_logit_softcapping"),
         caps_logits = !is_null(s->root, "final_logit_softcapping");
    if (!hf_float(s, "query_pre_attn_scalar", 1e-3, 1e6, 256, &scalar) ||
        !hf_float(s, "attn_logit_softcapping", 1e-3, 1e6, caps_scores ? gemma2_attention_cap : no_cap,
                  &c->attention_cap) ||
        !hf_float(s, "final_logit_softcapping", 1e-3, 1e6, caps_logits ? gemma2_logit_cap : no_cap, &c->logit_cap))
        return false;
    c->attention_scale = (float)(1 / sqrt(scalar));
    return true;
}

static bool hf_refuse_unsupported(hf_source *s)
{
    bool later, mlp_bias;
    if (!hf_bool(s, "use_bidirectional_attention", false, &later) || !hf_bool(s, "mlp_bias", false, &mlp_bias))
        return false;
    if (later)
        return unsupported(s->file, "use_bidirectional_attention", "attention to later positions", s->e);
    if (mlp_bias)
        return unsupported(s->file, "mlp_bias", "a bias in the feed-forward layers", s->e);
    if (present(s->root, "quantization_config"))
        return unsupported(s->file, "quantization_config", "a quantised folder (GGUF is)", s->e);
    return true;
}

static bool read_hf(hf_source *s)
{
    static const shape_keys keys = {"hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim",
                                    "partial_rotary_factor"};
    model_config *c = s->c;
    const char *type;
    model_arch arch;
    if (!hf_text(s, s->root, "model_type", &type))
        return false;
    if (!type)
        return hf_wrong(s, "model_type", "is missing");
    if (!find_arch(s->file, "model_type", type, strlen(type), false, &arch, s->e))
        return false;
    set_defaults(c, arch);

    const arch_info *a = &archs[arch];
    if (!hf_refuse_unsupported(s) || !hf_size(s, "num_hidden_layers", CONFIG_MAX_LAYERS, 0, &c->layer_count) ||
        !hf_size(s, "vocab_size", MAX_VOCAB, 0, &c->vocab_tok) ||
        !hf_size(s, "max_position_embeddings", MAX_CONTEXT, a->context_tok, &c->context_tok) ||
        !hf_size(s, "hidden_size", MAX_EMBEDDING, 0, &c->embedding_dim) ||
        !hf_size(s, "intermediate_size", MAX_FFN, 0, &c->ffn_dim) ||
        !hf_size(s, "num_attention_heads", MAX_HEADS, 0, &c->head_count) ||
        !hf_size(s, "num_key_value_heads", MAX_HEADS, c->head_count, &c->kv_head_count) ||
        !hf_float(s, "rms_norm_eps", 1e-12, 1, a->norm_epsilon, &c->norm_epsilon) ||
        !hf_bool(s, "tie_word_embeddings", a->tied_embeddings, &c->tied_embeddings))
        return false;

    bool derived = !present(s->root, "head_dim") && (a->head_dim == 0 || is_null(s->root, "head_dim"));
    if (!(derived ? derive_head_dim(s->file, &keys, c, s->e)
                  : hf_size(s, "head_dim", CONFIG_MAX_HEAD_DIM, a->head_dim, &c->head_dim)))
        return false;
    if (c->head_dim % 2)
        return err_set(s->e, "%s: \"head_dim\" is %u, must be even for rope", s->file, c->head_dim);
    set_scales(c);
    return hf_act(s) && hf_attention(s) && hf_rope(s) && hf_windows(s) && check_shape(s->file, &keys, c, s->e);
}

bool config_from_hf(const char *text, size_t length, const char *name, model_config *c, err *e)
{
    if (length > MAX_JSON_BYTES)
        return err_set(e, "%s: larger than %d bytes", name, MAX_JSON_BYTES);
    json_error_t why;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        for (char *p = why.text; *p; p++)
            if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
                *p = '?';
        return err_set(e, "%s: not JSON: %s (line %d, column %d)", name, why.text, why.line, why.column);
    }
    hf_source source = {.root = root, .file = name, .c = c, .e = e};
    bool ok = json_is_object(root) ? read_hf(&source) : err_set(e, "%s: not a JSON object", name);
    json_decref(root);
    return ok;
}

#endif
