/* config_hf: a configuration from a Hugging Face config.json. */
#include "model/config_internal.h"
#include "model/json_values.h"
#include "model/quantised.h"

#include <math.h>
#include <string.h>

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

/* Where a default is not what null means. */
static bool is_null(const json_t *object, const char *key)
{
    return json_is_null(json_object_get(object, key));
}

/* 1 to `high`; `fallback` if missing, and if that is 0 it must be there. */
static bool hf_size_in(hf_source *s, const json_t *object, const char *key, uint32_t high, uint32_t fallback,
                       uint32_t *out)
{
    const json_t *value = json_get_present(object, key);
    *out = fallback;
    if (!value)
        return fallback ? true : hf_wrong(s, key, "is missing");
    if (!json_is_integer(value))
        return hf_wrong(s, key, "must be a whole number");
    if (!config_check_number(s->file, key, (double)json_integer_value(value), 1, high, s->e))
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
    const json_t *value = json_get_present(object, key);
    *out = fallback;
    if (!value)
        return isnan(fallback) ? hf_wrong(s, key, "is missing") : true;
    if (!json_is_number(value))
        return hf_wrong(s, key, "must be a number");
    *out = json_number_value(value);
    return config_check_number(s->file, key, *out, low, high, s->e);
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
    const json_t *value = json_get_present(s->root, key);
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
    const json_t *value = json_get_present(object, key);
    *out = json_string_value(value);
    return !value || *out ? true : hf_wrong(s, key, "must be a text");
}

static bool hf_list(hf_source *s, const char *key, uint32_t count, float *out)
{
    const json_t *list = json_get_present(s->rope, key);
    if (!list)
        return hf_wrong(s, key, "is missing");
    if (json_array_size(list) != count)
        return err_set(s->e, "%s: \"%s\" must be %u numbers, one per turned pair", s->file, key, count);
    for (uint32_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value))
            return hf_wrong(s, key, "must be numbers only");
        if (!config_check_number(s->file, key, json_number_value(value), 1e-6, 1e6, s->e))
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
    config_divide_angles(s->c, factor);
    return true;
}

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
    config_stretch_slow_angles(c, factor, low, high);
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
    const char *where = json_get_present(s->root, "rope_parameters") ? "rope_parameters" : "rope_scaling";
    s->rope = json_get_present(s->root, where);
    if (s->rope && !json_is_object(s->rope))
        return hf_wrong(s, where, "must be an object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)s->rope, key, value)
    {
        if (json_is_object(value))
            return config_unsupported(s->file, where, "a rope for each type of layer", s->e);
    }

    double base, share;
    if (!hf_number_in(s, s->root, "rope_theta", 1, 1e12, default_rope_base, &base) ||
        !hf_number_in(s, s->rope, "rope_theta", 1, 1e12, base, &base) ||
        !hf_number_in(s, s->root, "partial_rotary_factor", 0, 1, 1, &share) ||
        !hf_number_in(s, s->rope, "partial_rotary_factor", 0, 1, share, &share))
        return false;
    if (share != 1 && c->arch != ARCH_PHI3)
        return config_unsupported(s->file, "partial_rotary_factor", "a part of a head (but for phi3)", s->e);
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
    return config_unsupported(s->file, where, named ? type : "this type", s->e);
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
            return config_unsupported(s->file, "layer_types", "a layer other than full_attention or sliding_attention",
                                      s->e);
        if (windowed && config_archs[c->arch].windows == WINDOW_NEVER)
            return config_unsupported(s->file, "layer_types", "a window in this architecture", s->e);
        c->is_windowed[i] = windowed && c->window_tok;
    }
    return true;
}

static bool hf_windows(hf_source *s)
{
    model_config *c = s->c;
    const arch_info *a = &config_archs[c->arch];
    bool used = a->windows != WINDOW_NEVER;
    uint32_t from = 0;
    if (a->windows == WINDOW_LATE) {
        const json_t *late = json_get_present(s->root, "max_window_layers");
        if (!hf_bool(s, "use_sliding_window", false, &used))
            return false;
        if (late && (!json_is_integer(late) || json_integer_value(late) < 0))
            return hf_wrong(s, "max_window_layers", "must be a whole number");
        from = !late                                          ? 28
               : json_integer_value(late) > CONFIG_MAX_LAYERS ? CONFIG_MAX_LAYERS
                                                              : (uint32_t)json_integer_value(late);
    }
    uint32_t fallback = is_null(s->root, "sliding_window") ? 0 : a->window_tok;
    if (used && (fallback || json_get_present(s->root, "sliding_window")) &&
        !hf_size(s, "sliding_window", 1u << 31, fallback, &c->window_tok))
        return false;

    const json_t *types = json_get_present(s->root, "layer_types");
    if (types)
        return hf_layer_types(s, types);
    config_set_windows(c, from);
    return true;
}

static bool hf_act(hf_source *s)
{
    model_config *c = s->c;
    const char *key = json_get_present(s->root, "hidden_activation") ? "hidden_activation" : "hidden_act", *name;
    if (!hf_text(s, s->root, key, &name))
        return false;
    if (!name)
        return true;
    /* gemma's first files say gelu where the model was trained with the approximation */
    bool gelu = strcmp(name, "gelu_pytorch_tanh") == 0 || strcmp(name, "gelu_new") == 0 ||
                (strcmp(name, "gelu") == 0 && config_archs[c->arch].act == ACT_GELU_TANH);
    if (!gelu && strcmp(name, "silu") != 0 && strcmp(name, "swish") != 0)
        return config_unsupported(s->file, key, strcmp(name, "gelu") == 0 ? "gelu (without tanh)" : "this function",
                                  s->e);
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
        return config_unsupported(s->file, "use_bidirectional_attention", "attention to later positions", s->e);
    if (mlp_bias)
        return config_unsupported(s->file, "mlp_bias", "a bias in the feed-forward layers", s->e);
    const json_t *quantised = json_get_present(s->root, "quantization_config");
    if (quantised && !quantised_is_known(quantised, s->file, s->e))
        return false;
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
    if (!config_find_arch(s->file, "model_type", type, strlen(type), false, &arch, s->e))
        return false;
    config_set_defaults(c, arch);

    const arch_info *a = &config_archs[arch];
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

    bool derived = !json_get_present(s->root, "head_dim") && (a->head_dim == 0 || is_null(s->root, "head_dim"));
    if (!(derived ? config_derive_head_dim(s->file, &keys, c, s->e)
                  : hf_size(s, "head_dim", CONFIG_MAX_HEAD_DIM, a->head_dim, &c->head_dim)))
        return false;
    if (c->head_dim % 2)
        return err_set(s->e, "%s: \"head_dim\" is %u, must be even for rope", s->file, c->head_dim);
    config_set_scales(c);
    return hf_act(s) && hf_attention(s) && hf_rope(s) && hf_windows(s) && config_check_shape(s->file, &keys, c, s->e);
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
