/* gguf_layout: the keys and the tensors that follow from a configuration. */
#include "model/gguf_layout.h"
#include "model/config_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GGUF calls mistral llama. */
static model_arch arch_in_gguf(const model_config *c)
{
    return c->arch == ARCH_MISTRAL ? ARCH_LLAMA : c->arch;
}

/* llama.cpp has no output of its own for some families, and for others it always has one. */
static bool never_has_output(const model_config *c)
{
    return c->arch == ARCH_GEMMA || c->arch == ARCH_GEMMA2 || c->arch == ARCH_COHERE || c->arch == ARCH_COHERE2;
}

static bool always_has_output(const model_config *c)
{
    return c->arch == ARCH_OLMO2 || c->arch == ARCH_PHI || c->arch == ARCH_GPT_NEOX || c->arch == ARCH_STABLELM;
}

/* ---- what cannot be said ----------------------------------------------------- */

static bool cannot_say(const model_config *c, const char *what, err *e)
{
    return err_set(e, "a GGUF file cannot say that a %s has %s", config_arch_name(c->arch), what);
}

/* 1 / sqrt(head_dim), but for the largest gemmas (see config_gguf.c). */
static float usual_scale(const model_config *c)
{
    return (float)(1 / sqrt(config_gemma_largest(c) ? (double)c->embedding_dim / c->head_count : c->head_dim));
}

/* Are the windows those that follow from the architecture, if a file says nothing? */
static bool has_usual_windows(const model_config *c)
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
    return c->arch == ARCH_GEMMA3 || c->arch == ARCH_EXAONE4 || c->arch == ARCH_COHERE2;
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
    if (windowed && !qwen && !names_windows(c) && !has_usual_windows(c))
        return cannot_say(c, "windows in these layers only", e);
    bool known = qwen || c->arch == ARCH_GPT_OSS || c->arch == ARCH_GEMMA2 || c->arch == ARCH_GEMMA3 ||
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

bool layout_check(const model_config *c, str *notes, err *e)
{
    bool llama = arch_in_gguf(c) == ARCH_LLAMA;
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
    if (c->rope_scaling == ROPE_LLAMA3 && !llama && c->arch != ARCH_EXAONE4)
        return cannot_say(c, "angles stretched as llama3's are", e);
    if (c->rope_scaling == ROPE_LONGROPE && !llama && c->arch != ARCH_PHI3)
        return cannot_say(c, "angles stretched by longrope", e);
    bool qwen3 = c->arch == ARCH_QWEN3_MOE;
    if (c->expert_count && (qwen3 || c->arch == ARCH_QWEN2_MOE) && c->expert_weights_normed != qwen3)
        return cannot_say(c, qwen3 ? "experts whose weights do not add up to 1" : "experts whose weights add up to 1",
                          e);
    if (c->rope_scaling == ROPE_YARN && !c->rope_whole_pairs && c->arch == ARCH_GPT_OSS)
        str_addf(notes, "llama.cpp rounds the bounds of yarn's angles to whole pairs: its logits differ a little\n");
    else if (c->rope_scaling == ROPE_YARN && !c->rope_whole_pairs)
        return cannot_say(c, "angles stretched by yarn between fractions of pairs", e);
    if (c->attention_scale != usual_scale(c) && c->arch != ARCH_GRANITE)
        str_addf(notes, "llama.cpp does not know this attention scale of %g: its logits differ\n",
                 (double)c->attention_scale);
    if (c->act == ACT_GELU)
        str_addf(notes, "llama.cpp approximates a %s's gelu: its logits differ a little\n", config_arch_name(c->arch));
    check_biases(c, notes);
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
    uint32_t rows = heads * c->head_dim;
    uint32_t turned = config_archs[c->arch].adjacent_in_gguf && c->rope_order == ROPE_HALVES ? heads : 0;
    snprintf(name, sizeof name, "%s.weight", part);
    add_part(l, ROLE_MATRIX, rows, c->embedding_dim, layer, name)->turned_heads = turned;
    snprintf(name, sizeof name, "%s.bias", part);
    if (c->qkv_bias)
        add_part(l, ROLE_BIAS, 1, rows, layer, name)->turned_heads = turned;
}

static void add_qkv(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t q = c->head_count * c->head_dim, kv = c->kv_head_count * c->head_dim;
    if (config_archs[c->arch].fused_qkv) {
        add_part(l, ROLE_MATRIX, q + 2 * kv, c->embedding_dim, layer, "attn_qkv.weight");
        if (c->qkv_bias)
            add_part(l, ROLE_BIAS, 1, q + 2 * kv, layer, "attn_qkv.bias");
        return;
    }
    add_turned(l, c, layer, c->head_count, "attn_q");
    add_turned(l, c, layer, c->kv_head_count, "attn_k");
    add_part(l, ROLE_MATRIX, kv, c->embedding_dim, layer, "attn_v.weight");
    if (c->qkv_bias)
        add_part(l, ROLE_BIAS, 1, kv, layer, "attn_v.bias");
}

static void add_attention(tensor_list *l, const model_config *c, uint32_t layer)
{
    uint32_t q = c->head_count * c->head_dim;
    if (c->pre_norms)
        add_norm(l, c, layer, "attn_norm");
    add_qkv(l, c, layer);
    if (c->qk_norm) {
        bool rows = c->qk_norm == QK_NORM_ROWS;
        add_part(l, ROLE_NORM, 1, rows ? q : c->head_dim, layer, "attn_q_norm.weight");
        add_part(l, ROLE_NORM, 1, rows ? c->kv_head_count * c->head_dim : c->head_dim, layer, "attn_k_norm.weight");
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
    if (!shared)
        return;
    add_part(l, ROLE_BIAS, 1, dim, layer, "ffn_gate_inp_shexp.weight");
    add_part(l, ROLE_MATRIX, shared, dim, layer, "ffn_gate_shexp.weight");
    add_part(l, ROLE_MATRIX, shared, dim, layer, "ffn_up_shexp.weight");
    add_part(l, ROLE_MATRIX, dim, shared, layer, "ffn_down_shexp.weight");
}

static void add_feed_forward(tensor_list *l, const model_config *c, uint32_t layer)
{
    if (c->arch == ARCH_GPT_OSS) {
        layout_tensor *t = add_part(l, ROLE_NORM, 1, c->embedding_dim, layer, "post_attention_norm.weight");
        snprintf(t->source, sizeof t->source, "blk.%u.ffn_norm.weight", layer);
    } else if (c->pre_norms && !c->one_norm)
        add_norm(l, c, layer, "ffn_norm");
    if (c->expert_count) {
        add_experts(l, c, layer);
        return;
    }
    if (config_archs[c->arch].fused_gate) {
        layout_tensor *t = add_part(l, ROLE_MATRIX, 2 * c->ffn_dim, c->embedding_dim, layer, "ffn_up.weight");
        snprintf(t->source, sizeof t->source, "blk.%u.ffn_gate_up.weight", layer);
    } else {
        if (c->gated)
            add_part(l, ROLE_MATRIX, c->ffn_dim, c->embedding_dim, layer, "ffn_gate.weight");
        add_part(l, ROLE_MATRIX, c->ffn_dim, c->embedding_dim, layer, "ffn_up.weight");
    }
    add_part(l, ROLE_MATRIX, c->embedding_dim, c->ffn_dim, layer, "ffn_down.weight");
    if (c->ffn_bias) {
        if (c->gated)
            add_part(l, ROLE_BIAS, 1, c->ffn_dim, layer, "ffn_gate.bias");
        add_part(l, ROLE_BIAS, 1, c->ffn_dim, layer, "ffn_up.bias");
        add_part(l, ROLE_BIAS, 1, c->embedding_dim, layer, "ffn_down.bias");
    }
    if (c->post_norms)
        add_norm(l, c, layer, "post_ffw_norm");
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
    if (c->rope_scaling == ROPE_LLAMA3)
        add_divisors(&l, c, "rope_freqs.weight", 0);
    if (c->rope_scaling == ROPE_LONGROPE) {
        add_divisors(&l, c, "rope_factors_short.weight", 0);
        add_divisors(&l, c, "rope_factors_long.weight", 1);
    }
    for (uint32_t layer = 0; layer < c->layer_count; layer++) {
        add_attention(&l, c, layer);
        add_feed_forward(&l, c, layer);
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

static bool fits(tensor_type type, uint32_t columns)
{
    return columns % type_find(type)->block_weights == 0;
}

tensor_type layout_wanted_type(const layout_tensor *t, tensor_type wanted)
{
    return wanted == TYPE_MXFP4 && t->beside_experts ? TYPE_Q8_0 : wanted;
}

bool layout_stays_f32(tensor_role role)
{
    return role == ROLE_NORM || role == ROLE_BIAS || role == ROLE_DIVISORS || role == ROLE_POSITIONS ||
           role == ROLE_FLOATS;
}

tensor_type layout_choose_type(tensor_role role, uint32_t columns, tensor_type wanted, tensor_type finer)
{
    if (layout_stays_f32(role))
        return TYPE_F32;
    bool coarse = type_find(wanted)->block_weights > 1 && wanted != TYPE_Q8_0 && wanted != TYPE_Q6_K;
    tensor_type type = coarse && role == ROLE_OUTPUT ? finer : wanted;
    while (!fits(type, columns))
        type = type_find(type)->smaller_blocks;
    return type;
}

static const layout_mix MIXES[] = {{"q4_k_m", TYPE_Q4_K, TYPE_Q6_K, TYPE_Q5_K, 15},
                                   {"q5_k_m", TYPE_Q5_K, TYPE_Q6_K, TYPE_Q6_K, 17}};

const char *layout_mix_name(uint32_t i)
{
    return i < sizeof MIXES / sizeof *MIXES ? MIXES[i].name : NULL;
}

const layout_mix *layout_find_mix(const char *name)
{
    for (size_t i = 0; i < sizeof MIXES / sizeof *MIXES; i++)
        if (strcmp(MIXES[i].name, name) == 0)
            return &MIXES[i];
    return NULL;
}

/* The first and the last eighth of the layers, and every third between. */
static bool matters_more(uint32_t layer, uint32_t layers)
{
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

tensor_type layout_mixed_type(const layout_mix *mix, const char *name, uint32_t columns, uint32_t layers,
                              tensor_type type)
{
    unsigned layer;
    char part[32];
    if (!mix || sscanf(name, "blk.%u.%31[^.].weight", &layer, part) != 2)
        return type;
    if (strcmp(part, "attn_qkv") == 0)
        type = mix->fused;
    else if ((strcmp(part, "attn_v") == 0 || strcmp(part, "ffn_down") == 0) && matters_more(layer, layers))
        type = mix->finer;
    while (!fits(type, columns))
        type = type_find(type)->smaller_blocks;
    return type;
}

void layout_write_tensor(gguf_writer *w, const layout_tensor *t)
{
    uint64_t dims[3] = {t->columns, t->experts ? t->rows / t->experts : t->rows, t->experts};
    bool vector = t->role == ROLE_NORM || t->role == ROLE_BIAS || t->role == ROLE_DIVISORS;
    gguf_write_tensor(w, t->name, t->type, vector ? 1 : t->experts ? 3 : 2, dims);
}

/* ---- keys ------------------------------------------------------------------------ */

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

static void write_rope(keys *k, const model_config *c)
{
    key_u32(k, "rope.dimension_count", c->rope_dims);
    key_f32(k, "rope.freq_base", c->rope_base);
    if (c->rope_scaling == ROPE_LINEAR) {
        gguf_write_text(k->w, key_of(k, "rope.scaling.type"), "linear");
        key_f32(k, "rope.scaling.factor", c->rope_factor);
    }
    if (c->rope_scaling == ROPE_YARN) {
        gguf_write_text(k->w, key_of(k, "rope.scaling.type"), "yarn");
        key_f32(k, "rope.scaling.factor", c->rope_factor);
        key_u32(k, "rope.scaling.original_context_length", c->rope_original_tok);
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
    case ARCH_GEMMA3:
        if (c->rope_local_base != default_rope_base)
            key_f32(k, "rope.freq_base_swa", c->rope_local_base);
        break;
    default: break;
    }
}

void layout_write_keys(gguf_writer *w, const model_config *c, const char *name, uint32_t file_type)
{
    keys k = {.w = w, .arch = config_archs[arch_in_gguf(c)].in_gguf};
    gguf_write_text(w, "general.architecture", k.arch);
    gguf_write_text(w, "general.type", "model");
    gguf_write_text(w, "general.name", name);
    layout_write_file_type(w, file_type);
    key_u32(&k, "vocab_size", c->vocab_tok);
    key_u32(&k, "context_length", c->context_tok);
    key_u32(&k, "embedding_length", c->embedding_dim);
    key_u32(&k, "block_count", c->layer_count);
    key_u32(&k, "feed_forward_length", c->ffn_dim);
    key_u32(&k, "attention.head_count", c->head_count);
    key_u32(&k, "attention.head_count_kv", c->kv_head_count);
    key_u32(&k, "attention.key_length", c->head_dim);
    key_u32(&k, "attention.value_length", c->head_dim);
    key_f32(&k, c->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", c->norm_epsilon);
    if (c->window_tok || c->arch == ARCH_PHI3) /* phi3: 0 says that there is none */
        key_u32(&k, "attention.sliding_window", c->window_tok);
    if (c->window_tok && !has_usual_windows(c)) {
        gguf_write_array(w, key_of(&k, "attention.sliding_window_pattern"), GGUF_KIND_BOOL, c->layer_count);
        for (uint32_t i = 0; i < c->layer_count; i++)
            gguf_write_item_whole(w, c->is_windowed[i]);
    }
    if (c->attention_scale != usual_scale(c) || c->arch == ARCH_GRANITE)
        key_f32(&k, "attention.scale", c->attention_scale);
    if (c->arch == ARCH_GEMMA2)
        key_f32(&k, "attn_logit_softcapping", c->attention_cap);
    if (c->logit_cap > 0)
        key_f32(&k, "final_logit_softcapping", c->logit_cap);
    write_own_keys(&k, c);
    if (c->expert_count) {
        key_u32(&k, "expert_count", c->expert_count);
        key_u32(&k, "expert_used_count", c->expert_used);
        key_u32(&k, "expert_feed_forward_length", c->expert_ffn_dim);
    }
    if (c->shared_ffn_dim)
        key_u32(&k, "expert_shared_feed_forward_length", c->shared_ffn_dim);
    if (c->rope_dims)
        write_rope(&k, c);
}
