/* config_hf_latent: what a config.json says about latent attention, and about the router of such a model. */
#include "model/config_hf_internal.h"

#include <math.h>
#include <string.h>

/* 0 if it is absent or null. */
static bool size_or_none(hf_source *s, const char *key, uint32_t high, uint32_t *out)
{
    *out = 0;
    return !json_get_present(s->root, key) || hf_size(s, key, high, 0, out);
}

bool hf_latent(hf_source *s)
{
    model_config *c = s->c;
    uint32_t flat;
    bool biased, adjacent;
    if (!hf_size(s, "kv_lora_rank", MAX_RANK, 512, &c->kv_rank) ||
        !size_or_none(s, "q_lora_rank", MAX_RANK, &c->q_rank) ||
        !hf_size(s, "qk_rope_head_dim", CONFIG_MAX_HEAD_DIM, 64, &c->rope_dims) ||
        !hf_size(s, "qk_nope_head_dim", CONFIG_MAX_HEAD_DIM / 2, 128, &flat) ||
        !hf_size(s, "v_head_dim", CONFIG_MAX_HEAD_DIM, 128, &c->value_dim) ||
        !hf_bool(s, "attention_bias", false, &biased) || !hf_bool(s, "rope_interleave", true, &adjacent))
        return false;
    if (!json_object_get(s->root, "q_lora_rank"))
        c->q_rank = 1536;
    if (biased)
        return config_unsupported(s->file, "attention_bias", "a bias in latent attention", s->e);
    if (c->rope_dims > CONFIG_MAX_HEAD_DIM / 2)
        return config_check_number(s->file, "qk_rope_head_dim", c->rope_dims, 1, CONFIG_MAX_HEAD_DIM / 2, s->e);
    c->kv_head_count = 1;
    c->head_dim = flat + c->rope_dims;
    c->latent_epsilon = 1e-6f; /* whatever other norms have */
    c->rope_order = adjacent ? ROPE_ADJACENT : ROPE_HALVES;
    return config_check_latent(s->file, "qk_rope_head_dim", c, s->e);
}

bool hf_latent_scale(hf_source *s)
{
    model_config *c = s->c;
    double scale_all;
    config_set_scales(c);
    if (c->rope_scaling == ROPE_PLAIN)
        return true;
    if (!hf_number_in(s, s->rope, "mscale_all_dim", 0, 1e3, 0, &scale_all))
        return false;
    double magnitude = scale_all > 0 ? config_yarn_magnitude((double)c->rope_factor, scale_all) : 1;
    c->attention_scale *= (float)(magnitude * magnitude);
    return true;
}

/* deepseek_v3 has sigmoids, a bias and groups by their best two; deepseek_v2 a softmax, and groups if it says so. */
static bool hf_choice(hf_source *s, bool v3)
{
    model_config *c = s->c;
    const char *method, *scores;
    if (!hf_text(s, s->root, "topk_method", &method) || !hf_text(s, s->root, "scoring_func", &scores) ||
        !hf_bool(s, "norm_topk_prob", v3, &c->expert_weights_normed))
        return false;
    if (scores && strcmp(scores, v3 ? "sigmoid" : "softmax") != 0)
        return config_unsupported(s->file, "scoring_func", "another function than the family's", s->e);
    if (!v3 && c->expert_weights_normed)
        return config_unsupported(s->file, "norm_topk_prob", "a deepseek_v2 whose weights add up to 1", s->e);
    bool limited = v3 || (method && strcmp(method, "group_limited_greedy") == 0);
    if (method && strcmp(method, v3 ? "noaux_tc" : limited ? method : "greedy") != 0)
        return config_unsupported(s->file, "topk_method", "this method", s->e);
    c->expert_sigmoid = c->expert_choice_bias = v3;
    if (!limited)
        return true;
    if (!hf_size(s, "n_group", c->expert_count, v3 ? 8 : 0, &c->expert_groups) ||
        !hf_size(s, "topk_group", c->expert_groups, v3 ? 4 : 0, &c->expert_groups_used))
        return false;
    if (c->expert_groups_used == c->expert_groups)
        c->expert_groups = c->expert_groups_used = 0;
    return config_check_groups(s->file, &(group_keys){"n_group", "topk_group"}, c, s->e);
}

bool hf_latent_experts(hf_source *s)
{
    model_config *c = s->c;
    bool v3 = c->arch == ARCH_DEEPSEEK3;
    uint32_t shared, frequency;
    const json_t *dense = json_get_present(s->root, "first_k_dense_replace");
    if (hf_is_null(s->root, "n_routed_experts"))
        return true;
    if (dense && (!json_is_integer(dense) || json_integer_value(dense) < 0))
        return hf_wrong(s, "first_k_dense_replace", "must be a whole number");
    double first = dense ? (double)json_integer_value(dense) : v3 ? 3 : 0;
    c->dense_layers = first < c->layer_count ? (uint32_t)first : c->layer_count;
    if (c->dense_layers == c->layer_count)
        return true;
    if (!hf_size(s, "n_routed_experts", CONFIG_MAX_EXPERTS, v3 ? 256 : 64, &c->expert_count) ||
        !hf_size(s, "num_experts_per_tok", c->expert_count, v3 ? 8 : 0, &c->expert_used) ||
        !hf_size(s, "moe_intermediate_size", MAX_FFN, v3 ? 2048 : 1407, &c->expert_ffn_dim) ||
        !size_or_none(s, "n_shared_experts", MAX_FFN / c->expert_ffn_dim, &shared) ||
        !hf_size(s, "moe_layer_freq", CONFIG_MAX_LAYERS, 1, &frequency) ||
        !hf_float(s, "routed_scaling_factor", 1e-6, 1e6, v3 ? 2.5f : 1, &c->expert_scale) || !hf_choice(s, v3))
        return false;
    if (frequency != 1)
        return config_unsupported(s->file, "moe_layer_freq", "layers without experts in between", s->e);
    c->shared_ffn_dim = shared * c->expert_ffn_dim;
    return config_check_experts(s->file, c, s->e);
}
