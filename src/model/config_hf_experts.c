/* config_hf_experts: what a config.json says about a mixture of experts. */
#include "model/config_hf_internal.h"

#include <string.h>

/* Families call the same things by other names, and leave out other numbers. */
typedef struct expert_keys {
    const char *count, *inner;
    uint32_t usual_count, usual_used, usual_inner;
} expert_keys;

static expert_keys keys_of(model_arch arch)
{
    switch (arch) {
    case ARCH_QWEN2_MOE: return (expert_keys){"num_experts", "moe_intermediate_size", 60, 4, 1408};
    case ARCH_QWEN3_MOE: return (expert_keys){"num_experts", "moe_intermediate_size", 128, 8, 768};
    case ARCH_QWEN35_MOE: return (expert_keys){"num_experts", "moe_intermediate_size", 256, 8, 512};
    case ARCH_GPT_OSS: return (expert_keys){"num_local_experts", "intermediate_size", 0, 4, 0};
    default: return (expert_keys){"num_local_experts", "intermediate_size", 8, 2, 0};
    }
}

/* Some layers may be without experts. */
static bool refuse_dense_layers(hf_source *s)
{
    const json_t *layers = json_get_present(s->root, "mlp_only_layers");
    uint32_t step;
    if (!hf_size(s, "decoder_sparse_step", CONFIG_MAX_LAYERS, 1, &step))
        return false;
    if (step != 1)
        return config_unsupported(s->file, "decoder_sparse_step", "a layer without experts", s->e);
    if (layers && (!json_is_array(layers) || json_array_size(layers)))
        return config_unsupported(s->file, "mlp_only_layers", "a layer without experts", s->e);
    return true;
}

static bool is_one(hf_source *s, const char *key, double usual)
{
    double value;
    if (!hf_number_in(s, s->root, key, -1e9, 1e9, usual, &value))
        return false;
    return value == usual || config_unsupported(s->file, key, "another number than usual", s->e);
}

static bool hf_gpt_oss(hf_source *s)
{
    model_config *c = s->c;
    c->attention_sinks = c->expert_bias = c->expert_weights_normed = true;
    return is_one(s, "swiglu_limit", 7) && is_one(s, "swiglu_alpha", 1.702);
}

bool hf_experts(hf_source *s)
{
    model_config *c = s->c;
    const char *type;
    bool mixtral = hf_text(s, s->root, "model_type", &type) && type && strcmp(type, "mixtral") == 0;
    bool qwen35 = c->arch == ARCH_QWEN35_MOE;
    if (!mixtral && !qwen35 && c->arch != ARCH_QWEN2_MOE && c->arch != ARCH_QWEN3_MOE && c->arch != ARCH_GPT_OSS)
        return true;
    expert_keys k = keys_of(c->arch);
    k.count = hf_one_of(s, "num_local_experts", k.count, NULL); /* newer files call it so everywhere */
    if (!hf_size(s, k.count, CONFIG_MAX_EXPERTS, k.usual_count, &c->expert_count) ||
        !hf_size(s, hf_one_of(s, "num_experts_per_tok", "experts_per_token", NULL), c->expert_count, k.usual_used,
                 &c->expert_used) ||
        !hf_size(s, k.inner, MAX_FFN, k.usual_inner, &c->expert_ffn_dim) || !config_check_experts(s->file, c, s->e))
        return false;
    if (c->arch == ARCH_GPT_OSS)
        return hf_gpt_oss(s);
    c->expert_weights_normed = true;
    if (mixtral)
        return true;
    if (qwen35)
        return hf_size(s, "shared_expert_intermediate_size", MAX_FFN, 512, &c->shared_ffn_dim);
    if (c->arch == ARCH_QWEN2_MOE && !hf_size(s, "shared_expert_intermediate_size", MAX_FFN, 5632, &c->shared_ffn_dim))
        return false;
    return hf_bool(s, "norm_topk_prob", false, &c->expert_weights_normed) && refuse_dense_layers(s);
}
