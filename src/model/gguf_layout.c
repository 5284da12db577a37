/* gguf_layout: the tensors that follow from a configuration, and what a file cannot say. */
#include "model/gguf_layout_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

model_arch layout_arch_in_gguf(const model_config *c)
{
    return c->arch == ARCH_MISTRAL     ? ARCH_LLAMA
           : c->arch == ARCH_DEEPSEEK3 ? ARCH_DEEPSEEK2
           : c->arch == ARCH_OLMO3     ? ARCH_OLMO2
                                       : c->arch;
}

/* llama.cpp has no output of its own for some families, and for others it always has one. */
static bool never_has_output(const model_config *c)
{
    return c->arch == ARCH_GEMMA || c->arch == ARCH_GEMMA2 || c->arch == ARCH_COHERE || c->arch == ARCH_COHERE2;
}

static bool always_has_output(const model_config *c)
{
    return layout_arch_in_gguf(c) == ARCH_OLMO2 || c->arch == ARCH_PHI || c->arch == ARCH_GPT_NEOX ||
           c->arch == ARCH_STABLELM;
}

/* ---- what cannot be said ----------------------------------------------------- */

static bool cannot_say(const model_config *c, const char *what, err *e)
{
    return err_set(e, "a GGUF file cannot say that a %s has %s", config_arch_name(c->arch), what);
}

/* 1 / sqrt(head_dim), but for the largest gemmas (see config_gguf.c). */
float layout_usual_scale(const model_config *c)
{
    if (config_archs[c->arch].unscaled_attention)
        return 1;
    return (float)(1 / sqrt(config_gemma_largest(c) ? (double)c->embedding_dim / c->head_count : c->head_dim));
}

/* Are the windows those that follow from the architecture, if a file says nothing? */
bool layout_has_usual_windows(const model_config *c)
{
    const arch_info *a = &config_archs[c->arch];
    for (uint32_t i = 0; c->window_tok && i < c->layer_count; i++) {
        bool expected = a->window_period == 0 || (i + 1) % a->window_period != 0;
        if (c->is_windowed[i] != expected)
            return false;
    }
    return true;
}

/* Does llama.cpp read which layers have windows? */
static bool names_windows(const model_config *c)
{
    return c->arch == ARCH_GEMMA3 || c->arch == ARCH_GEMMA3N || c->arch == ARCH_GEMMA4 || c->arch == ARCH_EXAONE4 ||
           c->arch == ARCH_COHERE2;
}

static bool check_windows(const model_config *c, str *notes, err *e)
{
    bool qwen = config_archs[c->arch].windows == WINDOW_LATE, windowed = c->window_tok > 0;
    for (uint32_t i = 0; i < c->layer_count && c->arch == ARCH_SMOLLM3; i++)
        if (c->is_unrotated[i] != ((i + 1) % smollm3_period == 0))
            return cannot_say(c, "rope in these layers only", e);
    for (uint32_t i = 0; windowed && qwen && i < c->layer_count; i++)
        if (c->is_windowed[i])
            return cannot_say(c, "windows", e);
    if (windowed && !qwen && !names_windows(c) && !layout_has_usual_windows(c))
        return cannot_say(c, "windows in these layers only", e);
    bool known = qwen || c->arch == ARCH_GPT_OSS || c->arch == ARCH_OLMO3 || c->arch == ARCH_GEMMA2 ||
                 c->arch == ARCH_GEMMA3 || c->arch == ARCH_GEMMA3N || c->arch == ARCH_GEMMA4 ||
                 c->arch == ARCH_COHERE2 || (c->arch == ARCH_EXAONE4 && c->layer_count == 64);
    if (windowed && !known)
        str_addf(notes, "llama.cpp does not know a %s's window of %u positions: beyond them its logits differ\n",
                 config_arch_name(c->arch), c->window_tok);
    if (windowed && c->arch == ARCH_EXAONE4 && !known)
        str_addf(notes, "llama.cpp knows layers without rope only in an exaone4 of 64 layers: its logits differ\n");
    return true;
}

/* Biases that llama.cpp does not load, or cannot do without. */
static void check_biases(const model_config *c, str *notes)
{
    bool output = c->arch == ARCH_LLAMA || c->arch == ARCH_GRANITE || c->arch == ARCH_STARCODER2 ||
                  c->arch == ARCH_GPT2 || c->arch == ARCH_GPT_NEOX || c->arch == ARCH_PHI || c->arch == ARCH_MISTRAL ||
                  c->arch == ARCH_GPT_OSS;
    bool ffn = output; /* the same families have both */
    bool all = c->arch == ARCH_STARCODER2 || c->arch == ARCH_GPT_NEOX;
    if ((c->output_bias && !output) || (c->ffn_bias && !ffn) || (all && !(c->qkv_bias && c->ffn_bias)))
        str_addf(notes, "llama.cpp does not load a %s with these biases\n", config_arch_name(c->arch));
}

/* llama.cpp takes the keys and values of the last two layers that have any: one with a window, one without. */
static void check_sharing(const model_config *c, str *notes)
{
    uint32_t own = c->layer_count - c->kv_shared_layers;
    for (uint32_t i = own; i < c->layer_count; i++)
        if (config_cache_layer(c, i) + (c->is_windowed[i] ? 2 : 1) != own) {
            str_addf(notes, "llama.cpp takes the keys and values of other layers for layer %u: its logits differ\n", i);
            return;
        }
}

/* llama.cpp has some of a gemma3n's numbers in its text. */
static void check_streams(const model_config *c, str *notes)
{
    enum { OWN_LAYERS = 20, LAUREL_RANK = 64 };
    bool known = c->kv_shared_layers + OWN_LAYERS == c->layer_count && layout_has_usual_windows(c) &&
                 c->scales_active && c->laurel_rank == LAUREL_RANK && c->logit_cap == gemma3n_logit_cap;
    if (!known)
        str_addf(notes,
                 "llama.cpp knows a gemma3n only with %d layers of own keys and values, windows in four of five, "
                 "a rank of %d and a limit of %g\n",
                 OWN_LAYERS, LAUREL_RANK, (double)gemma3n_logit_cap);
    if (c->per_layer_vocab_tok != c->vocab_tok)
        str_addf(notes, "llama.cpp does not load a gemma3n with inputs for %u of %u tokens\n", c->per_layer_vocab_tok,
                 c->vocab_tok);
}

bool layout_check(const model_config *c, str *notes, err *e)
{
    bool llama = layout_arch_in_gguf(c) == ARCH_LLAMA;
    if (config_is_encoder(c) || c->embedding.pooling != POOLING_UNSAID)
        return err_set(e, "a model for embeddings is not converted from its folder (solo embed reads that)");
    if (c->act != config_archs[c->arch].act)
        return cannot_say(c, "another activation function than usual", e);
    if (never_has_output(c) && !c->tied_embeddings)
        return cannot_say(c, "an output of its own", e);
    if (c->arch == ARCH_GEMMA2 && (c->attention_cap <= 0 || c->logit_cap <= 0))
        return cannot_say(c, "no limit of its scores or logits", e);
    if (c->arch == ARCH_GEMMA3 && c->attention_cap > 0)
        return cannot_say(c, "a limit of its scores", e);
    if (c->rope_scaling == ROPE_LLAMA3 && !llama && c->arch != ARCH_EXAONE4 && c->arch != ARCH_GEMMA4)
        return cannot_say(c, "angles stretched as llama3's are", e);
    if (c->rope_scaling == ROPE_LONGROPE && !llama && c->arch != ARCH_PHI3)
        return cannot_say(c, "angles stretched by longrope", e);
    if (c->rope_scaling == ROPE_DYNAMIC)
        str_addf(notes, "a GGUF file cannot say how angles change beyond %u tokens: longer texts differ\n",
                 c->context_tok);
    if (c->rope_scaling == ROPE_PLAIN && c->arch == ARCH_GEMMA4)
        str_addf(notes, "llama.cpp does not load a %s without divisors of its angles\n", config_arch_name(c->arch));
    if (c->rope_scaling == ROPE_SHARE && c->arch != ARCH_GEMMA4)
        return cannot_say(c, "angles of some pairs only", e);
    if (c->rope_scaling == ROPE_YARN && c->arch == ARCH_GEMMA4)
        return cannot_say(c, "angles stretched by yarn", e);
    bool qwen3 = c->arch == ARCH_QWEN3_MOE;
    if (c->expert_count && (qwen3 || c->arch == ARCH_QWEN2_MOE) && c->expert_weights_normed != qwen3)
        return cannot_say(c, qwen3 ? "experts whose weights do not add up to 1" : "experts whose weights add up to 1",
                          e);
    if (c->rope_scaling == ROPE_YARN && !c->rope_whole_pairs && c->arch == ARCH_GPT_OSS)
        str_addf(notes, "llama.cpp rounds the bounds of yarn's angles to whole pairs: its logits differ a little\n");
    else if (c->rope_scaling == ROPE_YARN && !c->rope_whole_pairs)
        return cannot_say(c, "angles stretched by yarn between fractions of pairs", e);
    if (c->rope_scaling == ROPE_YARN && (c->rope_high_factor != 32 || c->rope_low_factor != 1))
        str_addf(notes, "llama.cpp takes yarn's beta_fast as 32 and beta_slow as 1: its logits may differ\n");
    if (c->kv_rank && (c->norm_epsilon != c->latent_epsilon || c->rope_order != ROPE_ADJACENT))
        return cannot_say(c, "norms of another epsilon inside of attention, or pairs that are not side by side", e);
    if (c->kv_rank && c->rope_scaling != ROPE_PLAIN && (c->rope_scaling != ROPE_YARN || c->rope_magnitude != 1))
        return cannot_say(c, "angles stretched otherwise than by yarn with two equal scales", e);
    if (c->kv_rank && !c->q_rank && c->layer_count != 26 && c->layer_count != 27)
        str_addf(notes, "llama.cpp knows q without a rank of its own only in models of 26 or 27 layers\n");
    if (c->arch == ARCH_PHI && c->qk_norm)
        return cannot_say(c, "norms of q and k", e);
    if (c->arch == ARCH_COHERE && c->qk_norm && c->layer_count < 64)
        str_addf(notes, "llama.cpp knows norms of q and k only in a cohere of 64 layers or more\n");
    if (c->expert_groups && !c->expert_sigmoid)
        str_addf(notes, "llama.cpp takes the groups with the best two experts, not with the best one\n");
    if (c->recurrent_key_dim != c->recurrent_value_dim)
        return cannot_say(c, "heads of keys and of values of different sizes", e);
    if (c->attention_scale != layout_usual_scale(c) && c->arch != ARCH_GRANITE && !c->kv_rank)
        str_addf(notes, "llama.cpp does not know this attention scale of %g: its logits differ\n",
                 (double)c->attention_scale);
    if (c->act == ACT_GELU)
        str_addf(notes, "llama.cpp approximates a %s's gelu: its logits differ a little\n", config_arch_name(c->arch));
    if (c->streams)
        check_streams(c, notes);
    check_biases(c, notes);
    if (!c->streams)
        check_sharing(c, notes);
    return check_windows(c, notes, e);
}

/* ---- tensors -------------------------------------------------------------------- */

static layout_tensor *add(tensor_list *l, tensor_role role, uint32_t rows, uint32_t columns, const char *name)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 64;
        l->tensors = mem_grow(l->tensors, l->capacity * sizeof *l->tensors);
    }
    layout_tensor *t = &l->tensors[l->count++];
    *t = (layout_tensor){.role = role, .rows = rows, .columns = columns};
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->source, sizeof t->source, "%s", name);
    return t;
}

static layout_tensor *add_part(tensor_list *l, tensor_role role, uint32_t rows, uint32_t columns, uint32_t layer,
                               const char *part)
{
    char name[LAYOUT_NAME_BYTES];
    snprintf(name, sizeof name, "blk.%u.%s", layer, part);
    return add(l, role, rows, columns, name);
}

static void add_norm(tensor_list *l, const model_config *c, uint32_t layer, const char *part)
{
    char name[32];
    snprintf(name, sizeof name, "%s.weight", part);
    add_part(l, ROLE_NORM, 1, c->embedding_dim, layer, name);
    snprintf(name, sizeof name, "%s.bias", part);
    if (c->norm_bias)
        add_part(l, ROLE_BIAS, 1, c->embedding_dim, layer, name);
}

/* q or k: a weight and perhaps a bias, whose rows some families' files have in another order. */
static void add_turned(tensor_list *l, const model_config *c, uint32_t layer, uint32_t heads, const char *part)
{
    char name[32];
    bool gated = c->attention_gated && strcmp(part, "attn_q") == 0;
    uint32_t rows = (gated ? 2 : 1) * heads * config_head_dim(c, layer);
    uint32_t turned = config_archs[c->arch].adjacent_in_gguf && c->rope_order == ROPE_HALVES ? heads : 0;
    snprintf(name, sizeof name, "%s.weight", part);
    add_part(l, ROLE_MATRIX, rows, c->embedding_dim, layer, name)->turned_heads = turned;
    snprintf(name, sizeof name, "%s.bias", part);
    if (c->qkv_bias)
        add_part(l, ROLE_BIAS, 1, rows, layer, name)->turned_heads = turned;
}

static void add_qkv(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t kv_heads = config_kv_head_count(c, layer), head_dim = config_head_dim(c, layer);
    uint32_t q = c->head_count * head_dim, kv = kv_heads * head_dim;
    if (config_archs[c->arch].fused_qkv) {
        add_part(l, ROLE_MATRIX, q + 2 * kv, c->embedding_dim, layer, "attn_qkv.weight");
        if (c->qkv_bias)
            add_part(l, ROLE_BIAS, 1, q + 2 * kv, layer, "attn_qkv.bias");
        return;
    }
    add_turned(l, c, layer, c->head_count, "attn_q");
    if (config_cache_layer(c, layer) != layer)
        return;
    add_turned(l, c, layer, kv_heads, "attn_k");
    if (c->value_is_key && !c->is_windowed[layer])
        return;
    add_part(l, ROLE_MATRIX, kv, c->embedding_dim, layer, "attn_v.weight");
    if (c->qkv_bias)
        add_part(l, ROLE_BIAS, 1, kv, layer, "attn_v.bias");
}

/* The heads of v in the order in which llama.cpp repeats those of q and k. */
static layout_tiling tiled(const model_config *c, uint32_t first, uint32_t size, bool of_columns)
{
    if (c->recurrent_tiled || c->recurrent_heads == c->recurrent_key_heads)
        return (layout_tiling){0};
    return (layout_tiling){first, c->recurrent_key_heads, c->recurrent_heads / c->recurrent_key_heads, size,
                           of_columns};
}

static void add_recurrence(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t keys = 2 * c->recurrent_key_heads * c->recurrent_key_dim, size = c->recurrent_value_dim;
    uint32_t heads = c->recurrent_heads, inner = heads * size, dim = c->embedding_dim;
    add_norm(l, c, layer, "attn_norm");
    add_part(l, ROLE_MATRIX, keys + inner, dim, layer, "attn_qkv.weight")->tiling = tiled(c, keys, size, false);
    add_part(l, ROLE_MATRIX, inner, dim, layer, "attn_gate.weight")->tiling = tiled(c, 0, size, false);
    add_part(l, ROLE_FLOATS, keys + inner, c->recurrent_width, layer, "ssm_conv1d.weight")->tiling =
        tiled(c, keys, size, false);
    add_part(l, ROLE_BIAS, 1, heads, layer, "ssm_dt.bias")->tiling = tiled(c, 0, 1, false);
    add_part(l, ROLE_BIAS, 1, heads, layer, "ssm_a")->tiling = tiled(c, 0, 1, false);
    add_part(l, ROLE_MATRIX, heads, dim, layer, "ssm_beta.weight")->tiling = tiled(c, 0, 1, false);
    add_part(l, ROLE_MATRIX, heads, dim, layer, "ssm_alpha.weight")->tiling = tiled(c, 0, 1, false);
    add_part(l, ROLE_BIAS, 1, size, layer, "ssm_norm.weight"); /* a norm that never adds one */
    add_part(l, ROLE_MATRIX, dim, inner, layer, "ssm_out.weight")->tiling = tiled(c, 0, size, true);
}

/* A matrix for each head. */
static void add_heads(tensor_list *l, const model_config *c, uint32_t rows, uint32_t columns, uint32_t layer,
                      const char *part)
{
    add_part(l, ROLE_MATRIX, c->head_count * rows, columns, layer, part)->experts = c->head_count;
}

static void add_latent(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t q = c->head_count * c->head_dim, dim = c->embedding_dim;
    add_norm(l, c, layer, "attn_norm");
    if (c->q_rank) {
        add_part(l, ROLE_NORM, 1, c->q_rank, layer, "attn_q_a_norm.weight");
        add_part(l, ROLE_MATRIX, c->q_rank, dim, layer, "attn_q_a.weight");
        add_part(l, ROLE_MATRIX, q, c->q_rank, layer, "attn_q_b.weight");
    } else
        add_part(l, ROLE_MATRIX, q, dim, layer, "attn_q.weight");
    add_part(l, ROLE_NORM, 1, c->kv_rank, layer, "attn_kv_a_norm.weight");
    add_part(l, ROLE_MATRIX, c->kv_rank + c->rope_dims, dim, layer, "attn_kv_a_mqa.weight");
    add_heads(l, c, c->kv_rank, c->head_dim - c->rope_dims, layer, "attn_k_b.weight");
    add_heads(l, c, c->value_dim, c->kv_rank, layer, "attn_v_b.weight");
    add_part(l, ROLE_MATRIX, dim, c->head_count * c->value_dim, layer, "attn_output.weight");
}

static void add_attention(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t head_dim = config_head_dim(c, layer), q = c->head_count * head_dim;
    if (c->is_recurrent[layer] || c->kv_rank) {
        (c->kv_rank ? add_latent : add_recurrence)(l, c, layer);
        return;
    }
    if (c->pre_norms)
        add_norm(l, c, layer, "attn_norm");
    add_qkv(l, c, layer);
    if (c->qk_norm == QK_NORM_EACH) {
        add_part(l, ROLE_FLOATS, c->head_count, head_dim, layer, "attn_q_norm.weight");
        add_part(l, ROLE_FLOATS, c->kv_head_count, head_dim, layer, "attn_k_norm.weight");
    } else if (c->qk_norm) {
        bool rows = c->qk_norm == QK_NORM_ROWS;
        uint32_t k = config_kv_head_count(c, layer) * head_dim;
        add_part(l, ROLE_NORM, 1, rows ? q : head_dim, layer, "attn_q_norm.weight");
        if (config_cache_layer(c, layer) == layer)
            add_part(l, ROLE_NORM, 1, rows ? k : head_dim, layer, "attn_k_norm.weight");
    }
    add_part(l, ROLE_MATRIX, c->embedding_dim, q, layer, "attn_output.weight");
    if (c->output_bias)
        add_part(l, ROLE_BIAS, 1, c->embedding_dim, layer, "attn_output.bias");
    if (c->attention_sinks)
        add_part(l, ROLE_BIAS, 1, c->head_count, layer, "attn_sinks.weight");
    if (c->post_norms)
        add_norm(l, c, layer, "post_attention_norm");
}

/* All matrices of a kind, and their biases. */
static void add_chosen(tensor_list *l, const model_config *c, uint32_t layer, const char *part, uint32_t rows,
                       uint32_t columns)
{
    char name[32];
    snprintf(name, sizeof name, "%s.weight", part);
    add_part(l, ROLE_EXPERTS, c->expert_count * rows, columns, layer, name)->experts = c->expert_count;
    snprintf(name, sizeof name, "%s.bias", part);
    if (c->expert_bias)
        add_part(l, ROLE_FLOATS, c->expert_count, rows, layer, name);
}

static void add_experts(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t dim = c->embedding_dim, inner = c->expert_ffn_dim, shared = c->shared_ffn_dim;
    add_part(l, ROLE_FLOATS, c->expert_count, dim, layer, "ffn_gate_inp.weight");
    if (c->expert_bias)
        add_part(l, ROLE_BIAS, 1, c->expert_count, layer, "ffn_gate_inp.bias");
    add_chosen(l, c, layer, "ffn_gate_exps", inner, dim);
    add_chosen(l, c, layer, "ffn_up_exps", inner, dim);
    add_chosen(l, c, layer, "ffn_down_exps", dim, inner);
    if (c->expert_choice_bias)
        add_part(l, ROLE_BIAS, 1, c->expert_count, layer, "exp_probs_b.bias");
    if (!shared)
        return;
    if (c->shared_gated)
        add_part(l, ROLE_BIAS, 1, dim, layer, "ffn_gate_inp_shexp.weight");
    add_part(l, ROLE_MATRIX, shared, dim, layer, "ffn_gate_shexp.weight");
    add_part(l, ROLE_MATRIX, shared, dim, layer, "ffn_up_shexp.weight");
    add_part(l, ROLE_MATRIX, dim, shared, layer, "ffn_down_shexp.weight");
}

/* What belongs to experts that are beside a feed-forward layer. */
static void add_beside(tensor_list *l, const model_config *c, uint32_t layer)
{
    add_part(l, ROLE_BIAS, 1, c->embedding_dim, layer, "ffn_gate_inp.scale");
    add_part(l, ROLE_BIAS, 1, c->expert_count, layer, "ffn_down_exps.scale");
    add_norm(l, c, layer, "pre_ffw_norm_2");
    add_norm(l, c, layer, "post_ffw_norm_1");
    add_norm(l, c, layer, "post_ffw_norm_2");
}

static void add_feed_forward(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t inner = config_ffn_dim(c, layer);
    if (c->arch == ARCH_GPT_OSS) {
        layout_tensor *t = add_part(l, ROLE_NORM, 1, c->embedding_dim, layer, "post_attention_norm.weight");
        snprintf(t->source, sizeof t->source, "blk.%u.ffn_norm.weight", layer);
    } else if (c->pre_norms && !c->one_norm)
        add_norm(l, c, layer, c->recurrent_heads ? "post_attention_norm" : "ffn_norm");
    bool routed = c->expert_count && layer >= c->dense_layers;
    if (routed)
        add_experts(l, c, layer);
    if (c->experts_beside)
        add_beside(l, c, layer);
    else if (routed)
        return;
    if (config_archs[c->arch].fused_gate) {
        layout_tensor *t = add_part(l, ROLE_MATRIX, 2 * inner, c->embedding_dim, layer, "ffn_up.weight");
        snprintf(t->source, sizeof t->source, "blk.%u.ffn_gate_up.weight", layer);
    } else {
        if (c->gated)
            add_part(l, ROLE_MATRIX, inner, c->embedding_dim, layer, "ffn_gate.weight");
        add_part(l, ROLE_MATRIX, inner, c->embedding_dim, layer, "ffn_up.weight");
    }
    add_part(l, ROLE_MATRIX, c->embedding_dim, inner, layer, "ffn_down.weight");
    if (c->ffn_bias) {
        if (c->gated)
            add_part(l, ROLE_BIAS, 1, inner, layer, "ffn_gate.bias");
        add_part(l, ROLE_BIAS, 1, inner, layer, "ffn_up.bias");
        add_part(l, ROLE_BIAS, 1, c->embedding_dim, layer, "ffn_down.bias");
    }
    if (c->post_norms)
        add_norm(l, c, layer, "post_ffw_norm");
}

/* An input for the layer alone, and the number that multiplies what it makes. */
static void add_own_input(tensor_list *l, const model_config *c, uint32_t layer)
{
    if (c->per_layer_dim) {
        add_part(l, ROLE_MATRIX, c->per_layer_dim, c->embedding_dim, layer, "inp_gate.weight");
        add_part(l, ROLE_MATRIX, c->embedding_dim, c->per_layer_dim, layer, "proj.weight");
        add_norm(l, c, layer, "post_norm");
    }
    if (c->layer_scales)
        add_part(l, ROLE_BIAS, 1, 1, layer, "layer_output_scale.weight");
}

/* What a layer of several streams has beside all that others have. */
static void add_streams(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t n = c->streams, dim = c->embedding_dim;
    add_part(l, ROLE_FLOATS, n, n, layer, "altup_correct_coef.weight");
    if (c->scales_active)
        add_part(l, ROLE_BIAS, 1, dim, layer, "altup_correct_scale.weight");
    add_part(l, ROLE_FLOATS, n * n, n, layer, "altup_predict_coef.weight");
    add_part(l, ROLE_FLOATS, n, dim, layer, "altup_router.weight");
    add_norm(l, c, layer, "altup_router_norm");
    add_part(l, ROLE_MATRIX, c->laurel_rank, dim, layer, "laurel_l.weight");
    add_part(l, ROLE_MATRIX, dim, c->laurel_rank, layer, "laurel_r.weight");
    add_norm(l, c, layer, "laurel_post_norm");
}

static void add_divisors(tensor_list *l, const model_config *c, const char *name, int which)
{
    add(l, ROLE_DIVISORS, 1, c->rope_dims / 2, name)->divisors = c->rope_divisors[which];
}

tensor_list gguf_layout_of(const model_config *c)
{
    tensor_list l = {0};
    add(&l, c->tied_embeddings ? ROLE_OUTPUT : ROLE_EMBEDDING, c->vocab_tok, c->embedding_dim, "token_embd.weight");
    if (c->learned_positions)
        add(&l, ROLE_POSITIONS, c->context_tok, c->embedding_dim, "position_embd.weight");
    if (c->per_layer_dim) {
        uint32_t all = c->layer_count * c->per_layer_dim;
        add(&l, ROLE_EMBEDDING, c->per_layer_vocab_tok, all, "per_layer_token_embd.weight");
        add(&l, ROLE_MATRIX, all, c->embedding_dim, "per_layer_model_proj.weight");
        add(&l, ROLE_NORM, 1, c->per_layer_dim, "per_layer_proj_norm.weight");
    }
    if (c->streams) {
        uint32_t others = c->streams - 1, dim = c->embedding_dim;
        add(&l, ROLE_MATRIX, others * dim, dim, "altup_proj.weight")->experts = others;
        add(&l, ROLE_MATRIX, others * dim, dim, "altup_unembd_proj.weight")->experts = others;
    }
    if (c->rope_scaling == ROPE_LLAMA3 || (c->arch == ARCH_GEMMA4 && c->rope_scaling != ROPE_PLAIN))
        add_divisors(&l, c, "rope_freqs.weight", 0);
    if (c->rope_scaling == ROPE_LONGROPE) {
        add_divisors(&l, c, "rope_factors_short.weight", 0);
        add_divisors(&l, c, "rope_factors_long.weight", 1);
    }
    for (uint32_t layer = 0; layer < c->layer_count; layer++) {
        add_attention(&l, c, layer);
        add_feed_forward(&l, c, layer);
        add_own_input(&l, c, layer);
        if (c->streams)
            add_streams(&l, c, layer);
    }
    add(&l, ROLE_NORM, 1, c->embedding_dim, "output_norm.weight");
    if (c->norm_bias)
        add(&l, ROLE_BIAS, 1, c->embedding_dim, "output_norm.bias");
    if (!c->tied_embeddings || always_has_output(c)) {
        layout_tensor *t = add(&l, ROLE_OUTPUT, c->vocab_tok, c->embedding_dim, "output.weight");
        if (c->tied_embeddings)
            snprintf(t->source, sizeof t->source, "token_embd.weight");
    }
    if (c->head_bias)
        add(&l, ROLE_BIAS, 1, c->vocab_tok, "output.bias");
    for (size_t i = 0; i < l.count; i++)
        l.tensors[i].beside_experts = c->expert_count && l.tensors[i].role != ROLE_EXPERTS;
    return l;
}

void tensor_list_free(tensor_list *l)
{
    free(l->tensors);
    *l = (tensor_list){0};
}

void layout_write_tensor(gguf_writer *w, const layout_tensor *t)
{
    uint64_t dims[3] = {t->columns, t->experts ? t->rows / t->experts : t->rows, t->experts};
    bool vector = t->role == ROLE_NORM || t->role == ROLE_BIAS || t->role == ROLE_DIVISORS;
    gguf_write_tensor(w, t->name, t->type, vector ? 1 : t->experts ? 3 : 2, dims);
}
