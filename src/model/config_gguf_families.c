/* config_gguf_families: keys of families that have something of their own in place of attention. */
#include "model/config_gguf_internal.h"

#include <stdio.h>

/* A gated delta net in all layers but each fourth, or in those that the file names. */
bool gguf_recurrence(gguf_source *s)
{
    model_config *c = s->c;
    uint32_t inner, period;
    if (!gguf_size(s, "ssm.conv_kernel", MAX_CONV_WIDTH, 0, &c->recurrent_width) ||
        !gguf_size(s, "ssm.state_size", CONFIG_MAX_RECURRENT_KEY, 0, &c->recurrent_key_dim) ||
        !gguf_size(s, "ssm.group_count", MAX_HEADS, 0, &c->recurrent_key_heads) ||
        !gguf_size(s, "ssm.time_step_rank", MAX_HEADS, 0, &c->recurrent_heads) ||
        !gguf_size(s, "ssm.inner_size", MAX_EMBEDDING, 0, &inner) ||
        !gguf_size(s, "full_attention_interval", CONFIG_MAX_LAYERS, qwen35_period, &period))
        return false;
    if (c->recurrent_width < 2)
        return config_unsupported(s->file, gguf_arch_key(s, "ssm.conv_kernel"), "a convolution of one token", s->e);
    if (inner % c->recurrent_heads)
        return err_set(s->e, "%s: \"%s\" (%u) is not a multiple of the heads (%u)", s->file,
                       gguf_arch_key(s, "ssm.inner_size"), inner, c->recurrent_heads);
    c->recurrent_value_dim = inner / c->recurrent_heads;
    c->recurrent_tiled = true;
    config_set_recurrent(c, period);
    const char *key = gguf_arch_key(s, "attention.recurrent_layers");
    gguf_array layers;
    if (gguf_has(s->g, key)) {
        if (!gguf_get_numbers(s->g, key, &layers, s->e))
            return false;
        if (layers.count < c->layer_count)
            return err_set(s->e, "%s: \"%s\" names %zu layers of %u", s->file, key, layers.count, c->layer_count);
        for (uint32_t i = 0; i < c->layer_count; i++)
            c->is_recurrent[i] = gguf_array_int(&layers, i) != 0;
    }
    char heads[64], key_heads[64];
    snprintf(heads, sizeof heads, "%s", gguf_arch_key(s, "ssm.time_step_rank"));
    snprintf(key_heads, sizeof key_heads, "%s", gguf_arch_key(s, "ssm.group_count"));
    return config_check_recurrence(s->file, &(recurrence_keys){heads, key_heads}, c, s->e);
}

/* Latent attention. Newer files describe the heads as they are computed, all on one vector, and have the sizes of a
 * model's heads under names of their own. */
bool gguf_latent(gguf_source *s)
{
    model_config *c = s->c;
    const char *key = gguf_arch_key(s, "leading_dense_block_count"), *mla = "attention.key_length_mla";
    float scale_all = 0;
    if (gguf_has(s->g, key) && (!gguf_get_u32(s->g, key, &c->dense_layers, s->e) ||
                                !config_check_number(s->file, key, c->dense_layers, 0, c->layer_count, s->e)))
        return false;
    bool newer = gguf_has(s->g, gguf_arch_key(s, mla));
    if (!gguf_size(s, "attention.kv_lora_rank", MAX_RANK, 0, &c->kv_rank) ||
        (gguf_has(s->g, gguf_arch_key(s, "attention.q_lora_rank")) &&
         !gguf_size(s, "attention.q_lora_rank", MAX_RANK, 0, &c->q_rank)) ||
        !gguf_size(s, newer ? "attention.value_length_mla" : "attention.value_length", CONFIG_MAX_HEAD_DIM, 0,
                   &c->value_dim) ||
        !gguf_size(s, newer ? mla : "attention.key_length", CONFIG_MAX_HEAD_DIM, 0, &c->head_dim))
        return false;
    c->kv_head_count = 1;
    c->latent_epsilon = c->norm_epsilon;
    config_set_scales(c);
    if (c->rope_scaling == ROPE_YARN) { /* written as a tenth of it */
        if (!gguf_float(s, "rope.scaling.yarn_log_multiplier", 0, 1e2, 0, &scale_all))
            return false;
        double magnitude = config_yarn_magnitude((double)c->rope_factor, (double)scale_all * 10);
        c->attention_scale *= (float)(magnitude * magnitude);
    }
    return config_check_latent(s->file, gguf_arch_key(s, mla), c, s->e);
}

/* deepseek: how experts are chosen, and what each has beside them. */
bool gguf_router(gguf_source *s)
{
    model_config *c = s->c;
    const char *key = gguf_arch_key(s, "expert_gating_func");
    uint32_t gating = 0, shared = 0;
    if ((gguf_has(s->g, key) && !gguf_get_u32(s->g, key, &gating, s->e)))
        return false;
    if (gating > GGUF_GATING_SIGMOID)
        return config_unsupported(s->file, key, "a router of this kind", s->e);
    c->expert_sigmoid = gating == GGUF_GATING_SIGMOID;
    key = gguf_arch_key(s, "expert_shared_count");
    if (gguf_has(s->g, key) &&
        (!gguf_get_u32(s->g, key, &shared, s->e) ||
         !config_check_number(s->file, key, shared, 0, (double)MAX_FFN / c->expert_ffn_dim, s->e)))
        return false;
    c->shared_ffn_dim = shared * c->expert_ffn_dim;
    key = gguf_arch_key(s, "expert_weights_norm");
    if (gguf_has(s->g, key) && !gguf_get_bool(s->g, key, &c->expert_weights_normed, s->e))
        return false;
    if (!gguf_float(s, "expert_weights_scale", 0, 1e6, 1, &c->expert_scale))
        return false;
    c->expert_scale = c->expert_scale > 0 ? c->expert_scale : 1;
    char name[64], groups[64], used[64];
    snprintf(name, sizeof name, "blk.%u.exp_probs_b.bias", c->dense_layers);
    c->expert_choice_bias = gguf_find_tensor(s->g, name);
    snprintf(groups, sizeof groups, "%s", gguf_arch_key(s, "expert_group_count"));
    snprintf(used, sizeof used, "%s", gguf_arch_key(s, "expert_group_used_count"));
    if (!gguf_has(s->g, groups))
        return true;
    if (!gguf_size(s, "expert_group_count", c->expert_count, 0, &c->expert_groups) ||
        (c->expert_groups > 1 && !gguf_size(s, "expert_group_used_count", c->expert_groups, 0, &c->expert_groups_used)))
        return false;
    if (c->expert_groups == 1 || c->expert_groups == c->expert_groups_used)
        c->expert_groups = c->expert_groups_used = 0; /* no limit */
    return config_check_groups(s->file, &(group_keys){groups, used}, c, s->e);
}
