/* config_hf: a configuration from a Hugging Face config.json. */
#include "model/config_hf_internal.h"
#include "model/quantised.h"

#include <math.h>
#include <string.h>

enum { MAX_JSON_BYTES = 4 << 20 };

static bool hf_act(hf_source *s)
{
    static const struct {
        const char *name;
        model_act act;
    } acts[] = {{"silu", ACT_SILU},          {"swish", ACT_SILU},          {"gelu_pytorch_tanh", ACT_GELU_TANH},
                {"gelu_new", ACT_GELU_TANH}, {"gelu_fast", ACT_GELU_TANH}, {"gelu", ACT_GELU},
                {"relu", ACT_RELU},          {"relu2", ACT_RELU2}};
    model_config *c = s->c;
    const char *key = hf_one_of(s, "hidden_activation", "activation_function", "hidden_act"), *name;
    if (!hf_text(s, s->root, key, &name))
        return false;
    if (!name || (c->arch == ARCH_GPT_OSS && strcmp(name, "silu") == 0)) /* where it is a part of the function */
        return true;
    if (c->gated && strcmp(name, "swiglu") == 0)
        name = "silu";
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(name, acts[i].name) == 0) {
            c->act = acts[i].act;
            /* gemma's first files say gelu where the model was trained with the approximation */
            if (c->act == ACT_GELU && config_archs[c->arch].scales_embedding)
                c->act = ACT_GELU_TANH;
            return true;
        }
    return config_unsupported(s->file, key, "this function", s->e);
}

/* Biases, each family by other names. */
static bool hf_biases(hf_source *s)
{
    model_config *c = s->c;
    bool biased = false;
    switch (c->arch) {
    case ARCH_QWEN2:
    case ARCH_MISTRAL:
    case ARCH_PHI3:
    case ARCH_EXAONE4: return true;
    case ARCH_NOMIC_BERT: return true;
    case ARCH_PHI: c->head_bias = true; /* fall through */
    case ARCH_BERT:
    case ARCH_GPT2: c->qkv_bias = c->output_bias = c->ffn_bias = true; return true;
    case ARCH_STABLELM: return hf_bool(s, "use_qkv_bias", false, &c->qkv_bias);
    case ARCH_QWEN2_MOE: return hf_bool(s, "qkv_bias", true, &c->qkv_bias);
    case ARCH_GLM4: return hf_bool(s, "attention_bias", true, &c->qkv_bias);
    case ARCH_STARCODER2:
        if (!hf_bool(s, "use_bias", true, &biased))
            return false;
        c->qkv_bias = c->output_bias = c->ffn_bias = biased;
        return true;
    case ARCH_GPT_NEOX:
        c->ffn_bias = true;
        if (!hf_bool(s, "attention_bias", true, &biased))
            return false;
        break;
    case ARCH_LLAMA:
    case ARCH_GRANITE:
    case ARCH_SMOLLM3:
        if (!hf_bool(s, "mlp_bias", false, &c->ffn_bias))
            return false; /* fall through */
    default:
        if (!hf_bool(s, "attention_bias", c->arch == ARCH_GPT_OSS, &biased))
            return false;
    }
    c->qkv_bias = c->output_bias = biased;
    return true;
}

static bool hf_gemma(hf_source *s)
{
    model_config *c = s->c;
    float scalar, no_cap = 0;
    bool gemma2 = c->arch == ARCH_GEMMA2, caps_scores = gemma2 && !hf_is_null(s->root, "attn_logit_softcapping"),
         caps_logits = gemma2 && !hf_is_null(s->root, "final_logit_softcapping");
    if (!hf_float(s, "query_pre_attn_scalar", 1e-3, 1e6, 256, &scalar) ||
        !hf_float(s, "attn_logit_softcapping", 1e-3, 1e6, caps_scores ? gemma2_attention_cap : no_cap,
                  &c->attention_cap) ||
        !hf_float(s, "final_logit_softcapping", 1e-3, 1e6, caps_logits ? gemma2_logit_cap : no_cap, &c->logit_cap))
        return false;
    c->attention_scale = (float)(1 / sqrt(scalar));
    return true;
}

/* A gated delta net in all layers but each fourth, or in those that layer_types names. */
static bool hf_recurrence(hf_source *s)
{
    static const recurrence_keys keys = {"linear_num_value_heads", "linear_num_key_heads"};
    model_config *c = s->c;
    uint32_t period;
    bool gated;
    if (!hf_bool(s, "attn_output_gate", true, &gated) ||
        !hf_size(s, "linear_conv_kernel_dim", MAX_CONV_WIDTH, 4, &c->recurrent_width) ||
        !hf_size(s, "linear_key_head_dim", CONFIG_MAX_RECURRENT_KEY, 128, &c->recurrent_key_dim) ||
        !hf_size(s, "linear_value_head_dim", MAX_EMBEDDING, 128, &c->recurrent_value_dim) ||
        !hf_size(s, "linear_num_key_heads", MAX_HEADS, 16, &c->recurrent_key_heads) ||
        !hf_size(s, "linear_num_value_heads", MAX_HEADS, 32, &c->recurrent_heads) ||
        !hf_size(s, "full_attention_interval", CONFIG_MAX_LAYERS, qwen35_period, &period))
        return false;
    if (!gated)
        return config_unsupported(s->file, "attn_output_gate", "attention without a gate", s->e);
    if (c->recurrent_width < 2)
        return config_unsupported(s->file, "linear_conv_kernel_dim", "a convolution of one token", s->e);
    if (c->act != ACT_SILU)
        return config_unsupported(s->file, "hidden_act", "a function other than silu in this family", s->e);
    config_set_recurrent(c, period);
    return config_check_recurrence(s->file, &keys, c, s->e);
}

/* Sees a gemma3 later positions? Its window is that of both sides together then. A text says whose: "vision" is of
 * pictures, which are not read. */
static bool hf_bidirectional(hf_source *s)
{
    const char *whose = json_string_value(json_get_present(s->root, "use_bidirectional_attention"));
    bool both = whose != NULL;
    if (whose && strcmp(whose, "vision") == 0)
        return true;
    if (!whose && !hf_bool(s, "use_bidirectional_attention", false, &both))
        return false;
    if (both && s->c->arch != ARCH_GEMMA3)
        return config_unsupported(s->file, "use_bidirectional_attention", "attention to later positions", s->e);
    s->c->bidirectional |= both;
    if (both && s->c->window_tok)
        s->c->window_tok = s->c->window_tok / 2 + 1;
    return true;
}

/* roberta's first position is behind the number of the padding token. */
static bool hf_encoder(hf_source *s)
{
    model_config *c = s->c;
    const char *type, *positions;
    const json_t *types = json_get_present(s->root, "type_vocab_size");
    uint32_t padding = 0, trained;
    bool causal;
    double share, experts;
    if (!hf_text(s, s->root, "model_type", &type) || !hf_text(s, s->root, "position_embedding_type", &positions) ||
        !hf_bool(s, hf_one_of(s, "causal", "is_decoder", NULL), false, &causal) ||
        !hf_number_in(s, s->root, "rotary_emb_fraction", 0, 1, 1, &share) ||
        !hf_number_in(s, s->root, "moe_every_n_layers", 0, CONFIG_MAX_LAYERS, 0, &experts) ||
        !hf_size(s, "max_trained_positions", MAX_CONTEXT, c->context_tok, &trained))
        return false;
    if (causal)
        return config_unsupported(s->file, hf_one_of(s, "causal", "is_decoder", NULL),
                                  "an encoder that sees earlier positions only", s->e);
    if (share != 1 || experts != 0)
        return config_unsupported(s->file, share != 1 ? "rotary_emb_fraction" : "moe_every_n_layers",
                                  share != 1 ? "a part of a head" : "a mixture of experts", s->e);
    c->context_tok = trained < c->context_tok ? trained : c->context_tok;
    if (positions && c->learned_positions && strcmp(positions, "absolute") != 0)
        return config_unsupported(s->file, "position_embedding_type", "anything but absolute positions", s->e);
    if (types && json_is_integer(types) && json_integer_value(types) == 0)
        c->token_types = 0;
    else if (!hf_size(s, "type_vocab_size", MAX_VOCAB, 2, &c->token_types))
        return false;
    if (!strstr(type, "roberta"))
        return true;
    const json_t *zero = json_get_present(s->root, "pad_token_id");
    if (!(json_is_integer(zero) && json_integer_value(zero) == 0) &&
        !hf_size(s, "pad_token_id", c->context_tok, 1, &padding))
        return false;
    c->position_offset = padding + 1;
    if (c->position_offset >= c->context_tok)
        return hf_wrong(s, "pad_token_id", "leaves no positions");
    c->context_tok -= c->position_offset;
    return true;
}

/* LayerNorms of the heads of q and k: of each by weights of its own, but for phi. */
static bool hf_head_norms(hf_source *s, const char *key)
{
    bool normed;
    if (!hf_bool(s, key, false, &normed))
        return false;
    if (normed)
        s->c->qk_norm = s->c->arch == ARCH_PHI ? QK_NORM_HEADS : QK_NORM_EACH;
    return true;
}

/* Scales and other things that only some families have. */
static bool hf_own_keys(hf_source *s)
{
    model_config *c = s->c;
    float divisor;
    switch (c->arch) {
    case ARCH_GEMMA2:
    case ARCH_GEMMA3: return hf_gemma(s);
    case ARCH_GEMMA3N: return hf_streams(s);
    case ARCH_GEMMA4: return hf_layer_sizes(s);
    case ARCH_BERT:
    case ARCH_NOMIC_BERT: return hf_encoder(s);
    case ARCH_GRANITE:
        if (!hf_float(s, "logits_scaling", 1e-6, 1e6, 1, &divisor))
            return false;
        c->logit_scale = 1 / divisor;
        return hf_float(s, "embedding_multiplier", 1e-6, 1e6, 1, &c->embedding_scale) &&
               hf_float(s, "residual_multiplier", 1e-6, 1e6, 1, &c->residual_scale) &&
               hf_float(s, "attention_multiplier", 1e-6, 1e6, 1, &c->attention_scale);
    case ARCH_COHERE:
    case ARCH_COHERE2: /* which refuses it */
        return hf_float(s, "logit_scale", 1e-6, 1e6, 0.0625f, &c->logit_scale) && hf_head_norms(s, "use_qk_norm");
    case ARCH_PHI: return hf_head_norms(s, "qk_layernorm");
    case ARCH_QWEN35:
    case ARCH_QWEN35_MOE: return hf_recurrence(s);
    case ARCH_GPT_NEOX: return hf_bool(s, "use_parallel_residual", true, &c->parallel);
    case ARCH_STABLELM:
        if (!hf_bool(s, "use_parallel_residual", false, &c->parallel))
            return false;
        c->one_norm = c->parallel;
        return hf_head_norms(s, "qk_layernorm");
    default: return true;
    }
}

/* What some families may have. */
static bool is_known_switch(model_arch arch, const char *key)
{
    switch (arch) {
    case ARCH_PHI:
    case ARCH_STABLELM: return strcmp(key, "qk_layernorm") == 0;
    case ARCH_COHERE: return strcmp(key, "use_qk_norm") == 0;
    case ARCH_GEMMA4: return strcmp(key, "enable_moe_block") == 0;
    default: return false;
    }
}

/* Switches that must be off, or on. */
static bool hf_refuse_unsupported(hf_source *s)
{
    static const struct {
        const char *key;
        bool usual;
        const char *what;
    } switches[] = {
        {"enable_moe_block", false, "a mixture of experts beside the feed-forward layer"},
        {"qk_layernorm", false, "a LayerNorm of q and k"},
        {"use_qk_norm", false, "a LayerNorm of q and k"},
        {"scale_attn_weights", true, "attention without a scale"},
        {"scale_attn_by_inverse_layer_idx", false, "a scale for each layer"},
        {"add_cross_attention", false, "attention to another text"},
        {"prenorm", false, "norms before attention in this family"},
        {"qkv_proj_bias", false, "biases in this family"},
        {"mlp_fc1_bias", false, "biases in this family"},
        {"mlp_fc2_bias", false, "biases in this family"},
        {"rotary_emb_interleaved", false, "rotated pairs side by side"},
    };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        bool set;
        if (is_known_switch(s->c->arch, switches[i].key))
            continue;
        if (!hf_bool(s, switches[i].key, switches[i].usual, &set))
            return false;
        if (set != switches[i].usual)
            return config_unsupported(s->file, switches[i].key, switches[i].what, s->e);
    }
    bool mlp_bias;
    if (!hf_bool(s, "mlp_bias", false, &mlp_bias))
        return false;
    if (mlp_bias && s->c->arch != ARCH_LLAMA && s->c->arch != ARCH_GRANITE && s->c->arch != ARCH_SMOLLM3)
        return config_unsupported(s->file, "mlp_bias", "a bias in the feed-forward layers of this family", s->e);
    const json_t *quantised = json_get_present(s->root, "quantization_config");
    if (quantised && !quantised_is_known(quantised, s->file, s->e))
        return false;
    return true;
}

/* A model that also sees has its decoder in an object of its own, where much is left out. */
static bool hf_text_config(hf_source *s)
{
    const json_t *text = json_get_present(s->root, "text_config");
    if ((s->c->arch != ARCH_GEMMA3 && s->c->arch != ARCH_GEMMA3N && s->c->arch != ARCH_GEMMA4 &&
         s->c->arch != ARCH_QWEN35 && s->c->arch != ARCH_QWEN35_MOE) ||
        !text)
        return true;
    if (!json_is_object(text))
        return hf_wrong(s, "text_config", "must be an object");
    s->root = text;
    return true;
}

/* The size of feed-forward layers, where a file need not say it; 0: it must. qwen3_5_moe has none but experts. */
static uint32_t ffn_dim_unsaid(const model_config *c)
{
    return c->arch == ARCH_GPT2 ? 4 * c->embedding_dim : c->arch == ARCH_QWEN35_MOE ? c->embedding_dim : 0;
}

static bool hf_sizes(hf_source *s)
{
    model_config *c = s->c;
    const arch_info *a = &config_archs[c->arch];
    bool gemma3n = c->arch == ARCH_GEMMA3N, gemma4 = c->arch == ARCH_GEMMA4,
         gemma3 = c->arch == ARCH_GEMMA3 || gemma3n || gemma4; /* leave out more than others */
    const char *inner = hf_one_of(s, "n_inner", "intermediate_size", NULL),
               *epsilon = hf_one_of(s, "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon");
    if (!json_get_present(s->root, epsilon))
        epsilon = hf_one_of(s, "norm_epsilon", "norm_eps", NULL);
    return hf_size(s, hf_one_of(s, "n_layer", "num_hidden_layers", NULL), CONFIG_MAX_LAYERS, 0, &c->layer_count) &&
           hf_size(s, "vocab_size", MAX_VOCAB,
                   gemma4    ? 262144
                   : gemma3n ? 262400
                   : gemma3  ? 262208
                             : 0,
                   &c->vocab_tok) &&
           hf_size(s, hf_one_of(s, "n_positions", "max_position_embeddings", NULL), MAX_CONTEXT, a->context_tok,
                   &c->context_tok) &&
           hf_size(s, hf_one_of(s, "n_embd", "hidden_size", NULL), MAX_EMBEDDING, 0, &c->embedding_dim) &&
           (gemma3n ? hf_ffn_of_layers(s, inner, &c->ffn_dim)
                    : hf_size(s, inner, MAX_FFN, ffn_dim_unsaid(c), &c->ffn_dim)) &&
           hf_size(s, hf_one_of(s, "n_head", "num_attention_heads", NULL), MAX_HEADS, gemma3 ? 8 : 0, &c->head_count) &&
           hf_size(s, "num_key_value_heads", MAX_HEADS,
                   gemma3n  ? 2
                   : gemma3 ? 4
                            : c->head_count,
                   &c->kv_head_count) &&
           hf_float(s, epsilon, 0.9e-12, 1, a->norm_epsilon, &c->norm_epsilon) &&
           hf_bool(s, "tie_word_embeddings", a->tied_embeddings, &c->tied_embeddings);
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
    if (!hf_refuse_unsupported(s) || !hf_text_config(s) || !hf_refuse_unsupported(s) || !hf_sizes(s))
        return false;

    bool latent = arch == ARCH_DEEPSEEK2 || arch == ARCH_DEEPSEEK3;
    bool derived = !json_get_present(s->root, "head_dim") && (a->head_dim == 0 || hf_is_null(s->root, "head_dim"));
    if (latent ? !hf_latent(s)
               : !(derived ? config_derive_head_dim(s->file, &keys, c, s->e)
                           : hf_size(s, "head_dim", CONFIG_MAX_HEAD_DIM, a->head_dim, &c->head_dim)))
        return false;
    if (c->head_dim % 2)
        return err_set(s->e, "%s: \"head_dim\" is %u, must be even for rope", s->file, c->head_dim);
    config_set_scales(c);
    if (!hf_act(s) || !hf_experts(s) || !hf_biases(s) || !hf_own_keys(s) || !(c->learned_positions || hf_rope(s)) ||
        !hf_unrotated(s) || !hf_windows(s) || !hf_bidirectional(s) || !hf_check_layer_sizes(s))
        return false;
    if (latent && (!hf_latent_scale(s) || !hf_latent_experts(s)))
        return false;
    config_set_unrotated(c);
    return config_check_shape(s->file, &keys, c, s->e);
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
