/* gguf_layout_keys: the keys that follow from a configuration. */
#include "model/gguf_layout_internal.h"

#include <math.h>
#include <stdio.h>

void layout_write_file_type(gguf_writer *w, uint32_t file_type)
{
    gguf_write_u32(w, "general.file_type", file_type);
    gguf_write_u32(w, "general.quantization_version", 2); /* of the blocks' layout: the only one in use */
}

typedef struct keys {
    gguf_writer *w;
    const char *arch;
    char key[96];
} keys;

static const char *key_of(keys *k, const char *name)
{
    snprintf(k->key, sizeof k->key, "%s.%s", k->arch, name);
    return k->key;
}

static void key_u32(keys *k, const char *name, uint32_t value)
{
    gguf_write_u32(k->w, key_of(k, name), value);
}

static void key_f32(keys *k, const char *name, float value)
{
    gguf_write_f32(k->w, key_of(k, name), value);
}

/* What yarn adds to 1 for the scale of latent attention, whose square it becomes. */
static double latent_magnitude(const model_config *c)
{
    return sqrt((double)c->attention_scale * sqrt(c->head_dim)) - 1;
}

static void write_rope(keys *k, const model_config *c)
{
    key_u32(k, "rope.dimension_count", c->rope_dims);
    key_f32(k, "rope.freq_base", c->rope_base);
    if (c->rope_scaling == ROPE_LINEAR && c->arch != ARCH_GEMMA4) { /* whose divisors say all */
        gguf_write_text(k->w, key_of(k, "rope.scaling.type"), "linear");
        key_f32(k, "rope.scaling.factor", c->rope_factor);
    }
    if (c->rope_scaling == ROPE_YARN) {
        gguf_write_text(k->w, key_of(k, "rope.scaling.type"), "yarn");
        key_f32(k, "rope.scaling.factor", c->rope_factor);
        key_u32(k, "rope.scaling.original_context_length", c->rope_original_tok);
        if (c->kv_rank)
            key_f32(k, "rope.scaling.yarn_log_multiplier", (float)(latent_magnitude(c) / log((double)c->rope_factor)));
        else
            key_f32(k, "rope.scaling.attn_factor",
                    (float)(c->rope_magnitude / config_yarn_magnitude((double)c->rope_factor, 1)));
        key_f32(k, "rope.scaling.yarn_beta_fast", c->rope_high_factor);
        key_f32(k, "rope.scaling.yarn_beta_slow", c->rope_low_factor);
    }
    if (c->rope_scaling == ROPE_LONGROPE) {
        gguf_write_text(k->w, key_of(k, "rope.scaling.type"), "longrope");
        key_u32(k, "rope.scaling.original_context_length", c->rope_original_tok);
        key_f32(k, "rope.scaling.attn_factor", c->rope_magnitude);
    }
}

static void write_recurrence(keys *k, const model_config *c)
{
    /* Positions of a text are one number, not three as those of a picture: so it does not matter which pair has which. */
    uint32_t pairs = c->rope_dims / 2, sections[] = {(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3, 0};
    key_u32(k, "ssm.conv_kernel", c->recurrent_width);
    key_u32(k, "ssm.state_size", c->recurrent_key_dim);
    key_u32(k, "ssm.group_count", c->recurrent_key_heads);
    key_u32(k, "ssm.time_step_rank", c->recurrent_heads);
    key_u32(k, "ssm.inner_size", c->recurrent_heads * c->recurrent_value_dim);
    gguf_write_array(k->w, key_of(k, "attention.recurrent_layers"), GGUF_KIND_BOOL, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++)
        gguf_write_item_whole(k->w, c->is_recurrent[i]);
    gguf_write_array(k->w, key_of(k, "rope.dimension_sections"), GGUF_KIND_I32, 4);
    for (int i = 0; i < 4; i++)
        gguf_write_item_whole(k->w, sections[i]);
}

static void write_latent(keys *k, const model_config *c)
{
    key_u32(k, "attention.kv_lora_rank", c->kv_rank);
    if (c->q_rank)
        key_u32(k, "attention.q_lora_rank", c->q_rank);
    key_u32(k, "attention.key_length_mla", c->head_dim);
    key_u32(k, "attention.value_length_mla", c->value_dim);
    key_u32(k, "leading_dense_block_count", c->expert_count ? c->dense_layers : c->layer_count);
    if (!c->expert_count) { /* which llama.cpp asks for all the same */
        key_u32(k, "expert_feed_forward_length", c->ffn_dim);
        key_u32(k, "expert_shared_count", 0);
        return;
    }
    key_u32(k, "expert_shared_count", c->shared_ffn_dim / c->expert_ffn_dim);
    key_f32(k, "expert_weights_scale", c->expert_scale);
    gguf_write_bool(k->w, key_of(k, "expert_weights_norm"), c->expert_weights_normed);
    key_u32(k, "expert_gating_func", c->expert_sigmoid ? GGUF_GATING_SIGMOID : GGUF_GATING_SOFTMAX);
    if (c->expert_groups) {
        key_u32(k, "expert_group_count", c->expert_groups);
        key_u32(k, "expert_group_used_count", c->expert_groups_used);
    }
}

/* One number, or a list where layers differ. */
static void key_of_layers(keys *k, const char *name, const model_config *c,
                          uint32_t (*of_layer)(const model_config *, uint32_t))
{
    bool same = true;
    for (uint32_t i = 1; i < c->layer_count; i++)
        same &= of_layer(c, i) == of_layer(c, 0);
    if (same) {
        key_u32(k, name, of_layer(c, 0));
        return;
    }
    gguf_write_array(k->w, key_of(k, name), GGUF_KIND_U32, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++)
        gguf_write_item_whole(k->w, of_layer(c, i));
}

static void write_layer_sizes(keys *k, const model_config *c)
{
    uint32_t local = c->local_head_dim ? c->local_head_dim : c->head_dim;
    key_u32(k, "attention.key_length_swa", local);
    key_u32(k, "attention.value_length_swa", local);
    key_u32(k, "rope.dimension_count_swa", local);
    key_f32(k, "rope.freq_base_swa", c->rope_local_base);
    key_u32(k, "attention.shared_kv_layers", c->kv_shared_layers);
    key_u32(k, "embedding_length_per_layer_input", c->per_layer_dim);
}

static void write_streams(keys *k, const model_config *c)
{
    key_u32(k, "altup.num_inputs", c->streams);
    key_u32(k, "altup.active_idx", c->active_stream);
    key_u32(k, "attention.shared_kv_layers", c->kv_shared_layers);
    key_u32(k, "embedding_length_per_layer_input", c->per_layer_dim);
    key_f32(k, "rope.freq_base_swa", c->rope_local_base);
    gguf_write_array(k->w, key_of(k, "activation_sparsity_scale"), GGUF_KIND_F32, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++)
        gguf_write_item_real(k->w, c->is_sparse[i] ? (double)c->cutoff_deviations[i] : -INFINITY);
}

static void write_own_keys(keys *k, const model_config *c)
{
    switch (c->arch) {
    case ARCH_GRANITE:
        key_f32(k, "embedding_scale", c->embedding_scale);
        key_f32(k, "residual_scale", c->residual_scale);
        key_f32(k, "logit_scale", 1 / c->logit_scale);
        break;
    case ARCH_COHERE:
    case ARCH_COHERE2: key_f32(k, "logit_scale", c->logit_scale); break;
    case ARCH_GPT_NEOX:
    case ARCH_STABLELM: gguf_write_bool(k->w, key_of(k, "use_parallel_residual"), c->parallel); break;
    case ARCH_GEMMA3N: write_streams(k, c); break;
    case ARCH_GEMMA4: write_layer_sizes(k, c); break;
    case ARCH_QWEN35:
    case ARCH_QWEN35_MOE: write_recurrence(k, c); break;
    case ARCH_DEEPSEEK2:
    case ARCH_DEEPSEEK3: write_latent(k, c); break;
    case ARCH_OLMO3:
        if (c->rope_local_base != c->rope_base)
            key_f32(k, "rope.freq_base_swa", c->rope_local_base);
        break;
    case ARCH_GEMMA3:
        if (c->rope_local_base != default_rope_base)
            key_f32(k, "rope.freq_base_swa", c->rope_local_base);
        break;
    default: break;
    }
}

void layout_write_keys(gguf_writer *w, const model_config *c, const char *name, uint32_t file_type)
{
    keys k = {.w = w, .arch = config_archs[layout_arch_in_gguf(c)].in_gguf};
    gguf_write_text(w, "general.architecture", k.arch);
    gguf_write_text(w, "general.type", "model");
    gguf_write_text(w, "general.name", name);
    layout_write_file_type(w, file_type);
    key_u32(&k, "vocab_size", c->vocab_tok);
    key_u32(&k, "context_length", c->context_tok);
    key_u32(&k, "embedding_length", c->embedding_dim);
    key_u32(&k, "block_count", c->layer_count);
    key_of_layers(&k, "feed_forward_length", c, config_ffn_dim);
    key_u32(&k, "attention.head_count", c->head_count);
    key_of_layers(&k, "attention.head_count_kv", c, config_kv_head_count);
    key_u32(&k, "attention.key_length", c->kv_rank ? c->kv_rank + c->rope_dims : c->head_dim);
    key_u32(&k, "attention.value_length", c->kv_rank ? c->kv_rank : c->head_dim);
    key_f32(&k, c->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", c->norm_epsilon);
    if (c->window_tok || c->arch == ARCH_PHI3) /* phi3: 0 says that there is none */
        key_u32(&k, "attention.sliding_window", c->window_tok);
    if (c->window_tok && (!layout_has_usual_windows(c) || c->value_norm)) { /* gemma3n and gemma4 */
        gguf_write_array(w, key_of(&k, "attention.sliding_window_pattern"), GGUF_KIND_BOOL, c->layer_count);
        for (uint32_t i = 0; i < c->layer_count; i++)
            gguf_write_item_whole(w, c->is_windowed[i]);
    }
    if ((c->attention_scale != layout_usual_scale(c) && !c->kv_rank) || c->arch == ARCH_GRANITE)
        key_f32(&k, "attention.scale", c->attention_scale);
    if (c->arch == ARCH_GEMMA2)
        key_f32(&k, "attn_logit_softcapping", c->attention_cap);
    if (c->logit_cap > 0 || c->arch == ARCH_GEMMA3N) /* which has one unless it says 0 */
        key_f32(&k, "final_logit_softcapping", c->logit_cap);
    write_own_keys(&k, c);
    if (c->expert_count) {
        key_u32(&k, "expert_count", c->expert_count);
        key_u32(&k, "expert_used_count", c->expert_used);
        key_u32(&k, "expert_feed_forward_length", c->expert_ffn_dim);
    }
    if (c->shared_ffn_dim && !c->kv_rank)
        key_u32(&k, "expert_shared_feed_forward_length", c->shared_ffn_dim);
    if (c->rope_dims)
        write_rope(&k, c);
}
