/* config_gguf: a configuration from the metadata and the tensors of a GGUF file. */
#include "model/config_gguf_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *gguf_arch_key(gguf_source *s, const char *name)
{
    snprintf(s->key, sizeof s->key, "%s.%s", config_archs[s->c->arch].in_gguf, name);
    return s->key;
}

/* Some files have one number per layer; one for all of them is what is supported. */
static bool gguf_layers_number(gguf_source *s, const char *key, uint32_t *value)
{
    err not_one = {0}, not_many = {0};
    if (gguf_get_u32(s->g, key, value, &not_one))
        return true;
    gguf_array array;
    if (!gguf_get_whole_numbers(s->g, key, &array, &not_many) || array.count == 0)
        return err_set(s->e, "%s", not_one.text);
    int64_t first = gguf_array_int(&array, 0);
    for (size_t i = 1; i < array.count; i++)
        if (gguf_array_int(&array, i) != first)
            return config_unsupported(s->file, key, "a number that differs between layers", s->e);
    *value = first < 0 || first > UINT32_MAX ? UINT32_MAX : (uint32_t)first;
    return true;
}

bool gguf_size(gguf_source *s, const char *name, uint32_t high, uint32_t fallback, uint32_t *value)
{
    const char *key = gguf_arch_key(s, name);
    *value = fallback;
    if (fallback && !gguf_has(s->g, key))
        return true;
    return gguf_layers_number(s, key, value) && config_check_number(s->file, key, *value, 1, high, s->e);
}

bool gguf_float(gguf_source *s, const char *name, double low, double high, float fallback, float *value)
{
    const char *key = gguf_arch_key(s, name);
    *value = fallback;
    if (!gguf_has(s->g, key))
        return true;
    return gguf_get_f32(s->g, key, value, s->e) && config_check_number(s->file, key, *value, low, high, s->e);
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
                           embedding, (unsigned long long)t->dims[0], config_archs[s->c->arch].in_gguf,
                           s->c->embedding_dim);
        rows = t->dims[1];
        key = embedding;
        if (tokens.count > rows)
            return err_set(s->e, "%s: \"%s\" has %zu tokens, %s only %llu rows", s->file, list, tokens.count, embedding,
                           (unsigned long long)rows);
    }
    if (!config_check_number(s->file, key, (double)rows, 1, MAX_VOCAB, s->e))
        return false;
    s->c->vocab_tok = (uint32_t)rows;
    return true;
}

/* A factor for all angles is in effect beside divisors for each. The values need not be aligned. */
static bool give_divisors(const model_config *c, const char *file, const char *name, const void *values, float *out,
                          err *e)
{
    float factor = c->rope_scaling == ROPE_YARN ? 1 : c->rope_factor;
    for (uint32_t i = 0; i < c->rope_dims / 2; i++) {
        float value;
        memcpy(&value, (const char *)values + i * sizeof value, sizeof value);
        if (!config_check_number(file, name, value, 1e-6, 2 * (double)config_endless, e))
            return false;
        out[i] = value * factor;
    }
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
    return give_divisors(s->c, s->file, name, t->data, out, s->e);
}

bool config_give_divisors(model_config *c, const char *name, const float *values, err *e)
{
    bool near = strstr(name, "_long") == NULL, far = strstr(name, "_short") == NULL;
    return (!near || give_divisors(c, "GGUF", name, values, c->rope_divisors[0], e)) &&
           (!far || give_divisors(c, "GGUF", name, values, c->rope_divisors[1], e));
}

/* Divisors that were computed by whoever wrote the file come as tensors. */
static bool gguf_rope_tensors(gguf_source *s)
{
    static const char freqs[] = "rope_freqs.weight", near[] = "rope_factors_short.weight",
                      far[] = "rope_factors_long.weight";
    model_config *c = s->c;
    const gguf_tensor *all = gguf_find_tensor(s->g, freqs), *close = gguf_find_tensor(s->g, near),
                      *wide = gguf_find_tensor(s->g, far);
    if (all && (close || wide)) /* each alone says all there is to say */
        return err_set(s->e, "%s: tensor %s: and %s, which says something else", s->file, freqs, close ? near : far);
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

static bool gguf_yarn(gguf_source *s, float factor)
{
    model_config *c = s->c;
    float fast, slow, scale, scale_all, total, extrapolated;
    if (!gguf_size(s, "rope.scaling.original_context_length", MAX_CONTEXT, c->context_tok, &c->rope_original_tok) ||
        !gguf_float(s, "rope.scaling.yarn_beta_fast", 1e-3, 1e6, 32, &fast) ||
        !gguf_float(s, "rope.scaling.yarn_beta_slow", 1e-3, 1e6, 1, &slow) ||
        !gguf_float(s, "rope.scaling.yarn_log_multiplier", 0, 1e3, 0, &scale_all) ||
        !gguf_float(s, "rope.scaling.attn_factor", 1e-3, 1e3, 1, &scale) ||
        !gguf_float(s, "rope.scaling.yarn_ext_factor", 0, 1e3, 1, &extrapolated))
        return false;
    if (extrapolated != 1)
        return config_unsupported(s->file, s->key, "a number other than 1", s->e);
    if (factor <= 0)
        return err_set(s->e, "%s: \"%s\" is missing", s->file, gguf_arch_key(s, "rope.scaling.factor"));
    double magnitude = config_yarn_magnitude(factor, 1);
    if (scale_all > 0) /* deepseek's files have a tenth of it, and mean both scales */
        magnitude = c->arch == ARCH_DEEPSEEK2 ? 1 : magnitude / config_yarn_magnitude(factor, scale_all);
    /* written by some, and not read by llama.cpp: it must say the same */
    if (!gguf_float(s, "rope.scaling.yarn_attn_factor", 1e-3, 1e3, (float)magnitude, &total))
        return false;
    if (fabs(total - magnitude) > 1e-3)
        return config_unsupported(s->file, s->key, "another number than follows from the factor", s->e);
    c->rope_magnitude = (float)(magnitude * scale);
    config_stretch_yarn(c, factor, fast, slow, c->arch != ARCH_GPT_OSS); /* which was trained with fractions */
    return true;
}

static bool gguf_rope(gguf_source *s)
{
    model_config *c = s->c;
    const arch_info *a = &config_archs[c->arch];
    c->rope_order = a->adjacent || a->adjacent_in_gguf ? ROPE_ADJACENT : ROPE_HALVES;
    if (!gguf_size(s, "rope.dimension_count", CONFIG_MAX_HEAD_DIM, c->head_dim, &c->rope_dims) ||
        !gguf_float(s, "rope.freq_base", 1, 1e12, default_rope_base, &c->rope_base))
        return false;

    /* a factor alone, or by its older name, means linear */
    gguf_text type = {"linear", 6};
    const char *key = gguf_arch_key(s, "rope.scaling.type");
    if (gguf_has(s->g, key) && !gguf_get_text(s->g, key, &type, s->e))
        return false;
    bool linear = text_is(type, "linear"), yarn = text_is(type, "yarn");
    if (!linear && !yarn && !text_is(type, "none") && !text_is(type, "longrope"))
        return config_unsupported(s->file, key, "this kind", s->e);
    float older, factor;
    if (!gguf_float(s, "rope.scale_linear", 0, 1e6, 0, &older) ||
        !gguf_float(s, "rope.scaling.factor", 0, 1e6, older, &factor))
        return false;
    if (linear && factor != 0 && factor != 1) {
        if (!config_check_number(s->file, s->key, factor, 1e-3, 1e6, s->e))
            return false;
        config_divide_angles(c, factor);
    }
    if (yarn && c->rope_dims <= c->head_dim && !gguf_yarn(s, factor))
        return false;
    return c->rope_dims > c->head_dim || gguf_rope_tensors(s); /* too many is told below */
}

/* Files name the layers, or how many there are from one that sees all to the next, or nothing. */
static bool gguf_windows(gguf_source *s)
{
    model_config *c = s->c;
    const arch_info *a = &config_archs[c->arch];
    const char *key = gguf_arch_key(s, "attention.sliding_window");
    c->window_tok = c->arch == ARCH_GEMMA2 || c->arch == ARCH_COHERE2 ? a->window_tok : 0;
    /* qwen's files cannot say which layers, and models that use the window are not made: it stays off */
    if (a->windows != WINDOW_LATE && gguf_has(s->g, key) &&
        (!gguf_layers_number(s, key, &c->window_tok) ||
         !config_check_number(s->file, key, c->window_tok, 0, 1u << 31, s->e)))
        return false;
    key = gguf_arch_key(s, "attention.sliding_window_pattern");
    gguf_array layers;
    err no_list = {0};
    if (c->window_tok && gguf_has(s->g, key) && gguf_get_numbers(s->g, key, &layers, &no_list)) {
        if (layers.count < c->layer_count)
            return err_set(s->e, "%s: \"%s\" names %zu layers of %u", s->file, key, layers.count, c->layer_count);
        for (uint32_t i = 0; i < c->layer_count; i++)
            c->is_windowed[i] = gguf_array_int(&layers, i) != 0;
        return true;
    }
    uint32_t period = c->arch == ARCH_OLMO2 ? 4 : a->window_period; /* olmo3 */
    if (c->window_tok && gguf_has(s->g, key) &&
        (!gguf_get_u32(s->g, key, &period, s->e) ||
         !config_check_number(s->file, key, period, 1, CONFIG_MAX_LAYERS, s->e)))
        return false;
    config_set_windows(c, 0, period);
    return true;
}

static bool gguf_attention(gguf_source *s)
{
    model_config *c = s->c;
    c->qkv_bias = gguf_find_tensor(s->g, "blk.0.attn_q.bias") || gguf_find_tensor(s->g, "blk.0.attn_qkv.bias");
    c->output_bias = gguf_find_tensor(s->g, "blk.0.attn_output.bias");
    c->ffn_bias = gguf_find_tensor(s->g, "blk.0.ffn_up.bias");
    c->norm_bias = gguf_find_tensor(s->g, c->norms_after_sum ? "token_embd_norm.bias" : "output_norm.bias");
    c->head_bias = gguf_find_tensor(s->g, "output.bias");
    if (c->layer_norm && gguf_find_tensor(s->g, "blk.0.attn_q_norm.weight")) /* command-r, stablelm */
        c->qk_norm = QK_NORM_EACH;

    /* the largest of gemma2 and gemma3 do not scale by their heads' size, and files do not say so */
    if (config_gemma_largest(c))
        c->attention_scale = (float)(1 / sqrt((double)c->embedding_dim / c->head_count));
    float scale;
    if (!gguf_float(s, "attention.scale", 0, 1e3, 0, &scale))
        return false;
    if (scale > 0)
        c->attention_scale = scale;

    bool capped = c->arch == ARCH_GEMMA2;
    if ((capped && !gguf_float(s, "attn_logit_softcapping", 0, 1e6, gemma2_attention_cap, &c->attention_cap)) ||
        ((capped || c->arch == ARCH_GEMMA3 || c->arch == ARCH_GEMMA_EMBEDDING) &&
         !gguf_float(s, "final_logit_softcapping", 0, 1e6, capped ? gemma2_logit_cap : 0, &c->logit_cap)))
        return false;
    return gguf_windows(s);
}

/* What only some families have. */
static bool gguf_own_keys(gguf_source *s)
{
    model_config *c = s->c;
    config_set_unrotated(c);
    switch (c->arch) {
    case ARCH_GRANITE: {
        float divisor;
        const char *key = gguf_arch_key(s, "rope.scaling.finetuned"); /* which here says whether there is rope */
        bool rotated = true;
        if (gguf_has(s->g, key) && !gguf_get_bool(s->g, key, &rotated, s->e))
            return false;
        memset(c->is_unrotated, !rotated, sizeof c->is_unrotated);
        if (!gguf_float(s, "logit_scale", 1e-6, 1e6, 1, &divisor))
            return false;
        c->logit_scale = 1 / divisor;
        return gguf_float(s, "embedding_scale", 1e-6, 1e6, 1, &c->embedding_scale) &&
               gguf_float(s, "residual_scale", 1e-6, 1e6, 1, &c->residual_scale);
    }
    case ARCH_COHERE:
    case ARCH_COHERE2: return gguf_float(s, "logit_scale", 1e-6, 1e6, 1, &c->logit_scale);
    case ARCH_GEMMA3N: return gguf_streams(s);
    case ARCH_GEMMA4: return gguf_layer_sizes(s);
    case ARCH_GEMMA3:
    case ARCH_GEMMA_EMBEDDING:
        if (c->bidirectional) /* the window is that of both sides together */
            c->window_tok = c->window_tok / 2 + 1;
        return gguf_float(s, "rope.freq_base_swa", 1, 1e12, default_rope_base, &c->rope_local_base);
    case ARCH_OLMO2: /* olmo3's windowed layers do not stretch their angles */
        return !c->window_tok || gguf_float(s, "rope.freq_base_swa", 1, 1e12, c->rope_base, &c->rope_local_base);
    case ARCH_SMOLLM3:
        for (uint32_t i = smollm3_period - 1; i < c->layer_count; i += smollm3_period)
            c->is_unrotated[i] = true;
        return true;
    case ARCH_GPT_NEOX: {
        const char *key = gguf_arch_key(s, "use_parallel_residual");
        return !gguf_has(s->g, key) || gguf_get_bool(s->g, key, &c->parallel, s->e);
    }
    case ARCH_QWEN35:
    case ARCH_QWEN35_MOE: return gguf_recurrence(s);
    case ARCH_DEEPSEEK2: return gguf_latent(s);
    case ARCH_STABLELM: c->parallel = c->one_norm = !gguf_find_tensor(s->g, "blk.0.ffn_norm.weight"); return true;
    default: return true;
    }
}

/* A number that must be one of two, if it is there. */
static bool gguf_must_be(gguf_source *s, const char *name, float value, float or_else)
{
    float number;
    if (!gguf_float(s, name, -1e9, 1e9, value, &number))
        return false;
    return number == value || number == or_else || config_unsupported(s->file, s->key, "this number", s->e);
}

static bool gguf_experts(gguf_source *s)
{
    model_config *c = s->c;
    const char *key = gguf_arch_key(s, "expert_count");
    bool gpt_oss = c->arch == ARCH_GPT_OSS, shared = c->shared_gated, /* qwen2moe and qwen35moe */
        always = gpt_oss || shared || c->arch == ARCH_QWEN3_MOE;
    bool deepseek = c->arch == ARCH_DEEPSEEK2, gemma4 = c->arch == ARCH_GEMMA4;
    uint32_t gating = GGUF_GATING_SOFTMAX;
    if (gguf_has(s->g, key) && !gguf_get_u32(s->g, key, &c->expert_count, s->e))
        return false;
    if (!c->expert_count)
        return !always || err_set(s->e, "%s: \"%s\" is missing", s->file, key);
    c->experts_beside = gemma4;
    if (!always && !deepseek && !gemma4 && c->arch != ARCH_LLAMA)
        return config_unsupported(s->file, key, "a mixture of experts in this family", s->e);
    if (!config_check_number(s->file, key, c->expert_count, 1, CONFIG_MAX_EXPERTS, s->e) ||
        !gguf_size(s, "expert_used_count", c->expert_count, 0, &c->expert_used) ||
        !gguf_size(s, "expert_feed_forward_length", MAX_FFN, c->ffn_dim, &c->expert_ffn_dim) ||
        !config_check_experts(s->file, c, s->e))
        return false;
    if (deepseek)
        return gguf_router(s);
    if (!gguf_must_be(s, "expert_weights_scale", 1, 0))
        return false;
    if (shared && !gguf_size(s, "expert_shared_feed_forward_length", MAX_FFN, c->ffn_dim, &c->shared_ffn_dim))
        return false;
    key = gguf_arch_key(s, "expert_gating_func");
    if (!gpt_oss && gguf_has(s->g, key) && !gguf_get_u32(s->g, key, &gating, s->e))
        return false;
    c->attention_sinks = c->expert_bias = gpt_oss;
    c->expert_weights_normed = c->arch != ARCH_QWEN2_MOE;
    return gating == GGUF_GATING_SOFTMAX || config_unsupported(s->file, key, "a router without softmax", s->e);
}

/* A layer behind pooling, if the file has it. */
static bool gguf_dense(gguf_source *s, uint32_t number, uint32_t width, dense_layer *d)
{
    char name[32];
    snprintf(name, sizeof name, "dense_%u.weight", number);
    const gguf_tensor *t = gguf_find_tensor(s->g, name);
    *d = (dense_layer){0};
    if (!t)
        return true;
    if (t->dim_count != 2 || t->dims[0] != width || t->dims[1] == 0 || t->dims[1] > MAX_EMBEDDING)
        return err_set(s->e, "%s: tensor %s: rows of %llu numbers, where %u are pooled", s->file, name,
                       (unsigned long long)t->dims[0], width);
    *d = (dense_layer){(uint32_t)t->dims[1], width, false, false};
    return true;
}

static bool gguf_embedding(gguf_source *s)
{
    model_config *c = s->c;
    model_embedding *o = &c->embedding;
    static const model_pooling kinds[] = {POOLING_NONE, POOLING_MEAN, POOLING_CLS, POOLING_LAST};
    const char *key = gguf_arch_key(s, "pooling_type");
    uint32_t kind;
    if (gguf_has(s->g, key)) {
        if (!gguf_get_u32(s->g, key, &kind, s->e))
            return false;
        if (kind >= sizeof kinds / sizeof *kinds)
            return config_unsupported(s->file, key, "this kind (none, mean, the first and the last token are)", s->e);
        o->pooling = kinds[kind];
    }
    uint32_t width = c->embedding_dim;
    for (uint32_t i = 0; i < CONFIG_MAX_DENSE; i++) {
        dense_layer d;
        if (!gguf_dense(s, i + 2, width, &d))
            return false;
        if (!d.rows)
            break;
        o->dense[o->dense_count++] = d;
        width = d.rows;
    }
    const gguf_tensor *types = c->norms_after_sum ? gguf_find_tensor(s->g, "token_types.weight") : NULL;
    c->token_types = !types ? 0 : types->dim_count == 1 ? 1 : types->dims[1] > MAX_VOCAB ? 0 : (uint32_t)types->dims[1];
    return true;
}

static bool gguf_refuse_unsupported(gguf_source *s)
{
    const char *key;
    key = gguf_arch_key(s, "attention.causal");
    bool causal = true;
    if (gguf_has(s->g, key) && !gguf_get_bool(s->g, key, &causal, s->e))
        return false;
    return causal != s->c->bidirectional || !gguf_has(s->g, key) ||
           config_unsupported(s->file, key,
                              causal ? "an encoder without later positions" : "attention to later positions", s->e);
}

/* The last ones may be there to guess more tokens at a time. */
static bool gguf_layers(gguf_source *s)
{
    model_config *c = s->c;
    const char *key = gguf_arch_key(s, "nextn_predict_layers");
    if (gguf_has(s->g, key) && !gguf_get_u32(s->g, key, &c->extra_layers, s->e))
        return false;
    if (!gguf_size(s, "block_count", CONFIG_MAX_LAYERS, 0, &c->layer_count))
        return false;
    if (c->extra_layers >= c->layer_count)
        return err_set(s->e, "%s: \"%s\" is %u: no layer is left", s->file, gguf_arch_key(s, "nextn_predict_layers"),
                       c->extra_layers);
    c->layer_count -= c->extra_layers;
    return true;
}

bool config_from_gguf(const gguf *g, model_config *c, err *e)
{
    static const char arch_is[] = "general.architecture";
    gguf_source source = {.g = g, .file = "GGUF", .c = c, .e = e}, *s = &source;
    gguf_text arch_name;
    model_arch arch;
    if (!gguf_get_text(g, arch_is, &arch_name, e) ||
        !config_find_arch(s->file, arch_is, arch_name.data, arch_name.length, true, &arch, e))
        return false;
    config_set_defaults(c, arch);
    c->norm_adds_one = false; /* in the weights already */
    c->tied_embeddings = !gguf_find_tensor(g, "output.weight");

    const char *a = config_archs[arch].in_gguf;
    char embedding[64], heads[64], kv_heads[64], head_dim[64], rope_dims[64];
    snprintf(embedding, sizeof embedding, "%s.embedding_length", a);
    snprintf(heads, sizeof heads, "%s.attention.head_count", a);
    snprintf(kv_heads, sizeof kv_heads, "%s.attention.head_count_kv", a);
    snprintf(head_dim, sizeof head_dim, "%s.attention.key_length", a);
    snprintf(rope_dims, sizeof rope_dims, "%s.rope.dimension_count", a);
    shape_keys keys = {embedding, heads, kv_heads, head_dim, rope_dims};

    if (!gguf_refuse_unsupported(s) || !gguf_layers(s) ||
        !gguf_size(s, "context_length", MAX_CONTEXT, config_archs[arch].context_tok, &c->context_tok) ||
        !gguf_size(s, "embedding_length", MAX_EMBEDDING, 0, &c->embedding_dim) ||
        !gguf_size(s, "attention.head_count", MAX_HEADS, 0, &c->head_count) ||
        !(arch == ARCH_GEMMA4
              ? gguf_first_layer(s)
              : gguf_size(s, "feed_forward_length", MAX_FFN, arch == ARCH_QWEN35_MOE ? c->embedding_dim : 0,
                          &c->ffn_dim) &&
                    gguf_size(s, "attention.head_count_kv", MAX_HEADS, c->head_count, &c->kv_head_count)) ||
        !gguf_float(s, c->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 0.9e-12, 1,
                    config_archs[arch].norm_epsilon, &c->norm_epsilon))
        return false;

    uint32_t value_dim;
    bool said = gguf_has(g, head_dim);
    if (!(said ? gguf_size(s, "attention.key_length", CONFIG_MAX_HEAD_DIM, 0, &c->head_dim)
               : config_derive_head_dim(s->file, &keys, c, e)) ||
        !gguf_size(s, "attention.value_length", CONFIG_MAX_HEAD_DIM, c->head_dim, &value_dim))
        return false;
    if (value_dim != c->head_dim && arch != ARCH_DEEPSEEK2)
        return config_unsupported(s->file, s->key, "a size other than the keys'", e);
    config_set_scales(c);
    return gguf_vocab(s) && (c->learned_positions || gguf_rope(s)) && gguf_attention(s) && gguf_own_keys(s) &&
           gguf_experts(s) && gguf_embedding(s) && config_check_shape(s->file, &keys, c, e);
}
