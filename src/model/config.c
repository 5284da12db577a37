/* config: the architectures, and the checks and defaults of a configuration wherever it comes from. */
#include "base/str.h"
#include "graph/graph.h"
#include "model/config_internal.h"
#include "model/config_test.h"

#include <math.h>
#include <string.h>

#ifdef __wasm__ /* a page reads no folders */
#define IN_FOLDERS(name) NULL
#else
#define IN_FOLDERS(name) name
#endif
#define EPSILON_6  .norm_epsilon = 1e-6f
#define EPSILON_5  .norm_epsilon = 1e-5f
#define LAYER_NORM EPSILON_5, .layer_norm = true
#define GEMMA      EPSILON_6, .act = ACT_GELU_TANH, .tied_embeddings = true, .norm_adds_one = true, .scales_embedding = true
#define ENCODER \
    .norm_epsilon = 1e-12f, .layer_norm = true, .norm_bias = true, .tied_embeddings = true, .no_pre_norms = true, \
    .norms_after_sum = true, .bidirectional = true
#define EVERY(n) .windows = WINDOW_PERIOD, .window_period = n

const arch_info config_archs[] = {
    [ARCH_LLAMA] = {"llama", "llama", 2048, EPSILON_6, .adjacent_in_gguf = true},
    [ARCH_QWEN2] = {"qwen2", "qwen2", 32768, EPSILON_6, .window_tok = 4096, .windows = WINDOW_LATE},
    [ARCH_QWEN3] = {"qwen3", "qwen3", 32768, 128, EPSILON_6, .window_tok = 4096, .windows = WINDOW_LATE,
                    .qk_norm = QK_NORM_HEADS},
    [ARCH_PHI3] = {"phi3", "phi3", 4096, EPSILON_5, .windows = WINDOW_ALL, .fused_qkv = true, .fused_gate = true},
    [ARCH_GEMMA] = {"gemma", "gemma", 8192, 256, GEMMA},
    [ARCH_GEMMA2] = {"gemma2", "gemma2", 8192, 256, 4096, EVERY(2), GEMMA, .post_norms = true},
    [ARCH_GEMMA3] = {IN_FOLDERS("gemma3_text"), "gemma3", 131072, 256, 4096, EVERY(6), GEMMA, .rope_base = 1e6f,
                     .post_norms = true, .qk_norm = QK_NORM_HEADS},
    [ARCH_GEMMA3N] = {IN_FOLDERS("gemma3n_text"), "gemma3n", 32768, 256, 512, EVERY(5), EPSILON_6, .act = ACT_GELU_TANH,
                      .tied_embeddings = true, .scales_embedding = true, .rope_base = 1e6f, .post_norms = true,
                      .qk_norm = QK_NORM_HEADS, .value_norm = true, .unscaled_attention = true},
    [ARCH_GEMMA4] = {IN_FOLDERS("gemma4_text"), "gemma4", 131072, 256, 512, EVERY(6), EPSILON_6, .act = ACT_GELU_TANH,
                     .tied_embeddings = true, .scales_embedding = true, .rope_base = 1e6f, .post_norms = true,
                     .qk_norm = QK_NORM_HEADS, .value_norm = true, .unscaled_attention = true},
    [ARCH_SMOLLM3] = {"smollm3", "smollm3", 32768, EPSILON_6, .rope_base = 2e6f, .tied_embeddings = true,
                      .adjacent_in_gguf = true},
    [ARCH_OLMO2] = {"olmo2", "olmo2", 2048, EPSILON_5, .qk_norm = QK_NORM_ROWS, .no_pre_norms = true,
                    .post_norms = true},
    [ARCH_GRANITE] = {"granite", "granite", 2048, EPSILON_6, .adjacent_in_gguf = true},
    [ARCH_STARCODER2] = {"starcoder2", "starcoder2", 4096, LAYER_NORM, .windows = WINDOW_ALL, .act = ACT_GELU_TANH,
                         .norm_bias = true, .tied_embeddings = true, .ungated = true},
    [ARCH_GPT2] = {"gpt2", "gpt2", 1024, LAYER_NORM, .act = ACT_GELU_TANH, .norm_bias = true, .tied_embeddings = true,
                   .ungated = true, .learned_positions = true, .fused_qkv = true},
    [ARCH_GPT_NEOX] = {IN_FOLDERS("gpt_neox"), "gptneox", 2048, LAYER_NORM, .act = ACT_GELU, .norm_bias = true,
                       .rotary_share = 0.25f, .parallel = true, .ungated = true, .fused_qkv = true},
    [ARCH_PHI] = {IN_FOLDERS("phi"), "phi2", 2048, LAYER_NORM, .act = ACT_GELU_TANH, .norm_bias = true,
                  .rotary_share = 0.5f, .parallel = true, .one_norm = true, .ungated = true},
    [ARCH_GLM4] = {"glm4", "glm4", 131072, 128, .norm_epsilon = 1.5625e-7f, .rotary_share = 0.5f, .post_norms = true,
                   .adjacent = true, .fused_gate = true},
    [ARCH_EXAONE4] = {"exaone4", "exaone4", 2048, 0, 4096, EVERY(4), EPSILON_5, .qk_norm = QK_NORM_HEADS,
                      .no_pre_norms = true, .post_norms = true},
    [ARCH_COHERE] = {IN_FOLDERS("cohere"), "command-r", 8192, LAYER_NORM, .rope_base = 5e5f, .tied_embeddings = true,
                     .parallel = true, .one_norm = true, .adjacent = true},
    [ARCH_COHERE2] = {"cohere2", "cohere2", 8192, 0, 4096, EVERY(4), LAYER_NORM, .tied_embeddings = true,
                      .parallel = true, .one_norm = true, .adjacent = true},
    [ARCH_STABLELM] = {"stablelm", "stablelm", 4096, LAYER_NORM, .norm_bias = true, .rotary_share = 0.25f},
    [ARCH_QWEN2_MOE] = {IN_FOLDERS("qwen2_moe"), "qwen2moe", 32768, EPSILON_6, .window_tok = 4096,
                        .windows = WINDOW_LATE},
    [ARCH_GPT_OSS] = {IN_FOLDERS("gpt_oss"), "gpt-oss", 131072, 64, 128, EVERY(2), EPSILON_5, .act = ACT_CLAMPED_GLU,
                      .rope_base = 150000},
    [ARCH_QWEN3_MOE] = {IN_FOLDERS("qwen3_moe"), "qwen3moe", 32768, 128, EPSILON_6, .window_tok = 4096,
                        .windows = WINDOW_LATE, .qk_norm = QK_NORM_HEADS},
    [ARCH_QWEN35] = {IN_FOLDERS("qwen3_5_text"), "qwen35", 32768, 256, EPSILON_6, .qk_norm = QK_NORM_HEADS,
                     .rotary_share = 0.25f, .norm_adds_one = true, .attention_gated = true},
    [ARCH_QWEN35_MOE] = {IN_FOLDERS("qwen3_5_moe_text"), "qwen35moe", 32768, 256, EPSILON_6, .qk_norm = QK_NORM_HEADS,
                         .rotary_share = 0.25f, .norm_adds_one = true, .attention_gated = true},
    [ARCH_DEEPSEEK2] = {IN_FOLDERS("deepseek_v2"), "deepseek2", 2048, EPSILON_6, .adjacent = true},
    [ARCH_BERT] = {"bert", "bert", 512, ENCODER, .act = ACT_GELU, .learned_positions = true, .ungated = true},
    [ARCH_NOMIC_BERT] = {IN_FOLDERS("nomic_bert"), "nomic-bert", 2048, ENCODER, .rope_base = 1000, .fused_qkv = true},
    [ARCH_GEMMA_EMBEDDING] = {NULL, "gemma-embedding", 2048, 256, 512, EVERY(6), GEMMA, .rope_base = 1e6f,
                              .post_norms = true, .qk_norm = QK_NORM_HEADS, .bidirectional = true},
#ifndef __wasm__
    [ARCH_MISTRAL] = {"mistral", NULL, 131072, EPSILON_6, .window_tok = 4096, .windows = WINDOW_ALL,
                      .adjacent_in_gguf = true},
    [ARCH_OLMO3] = {"olmo3", NULL, 2048, 0, 4096, EVERY(4), EPSILON_5, .rope_base = 5e5f, .qk_norm = QK_NORM_ROWS,
                    .no_pre_norms = true, .post_norms = true},
    [ARCH_DEEPSEEK3] = {"deepseek_v3", NULL, 4096, EPSILON_6, .adjacent = true},
#endif
};

enum { ARCH_COUNT = sizeof config_archs / sizeof *config_archs };

#ifndef __wasm__
/* What config.json also calls some of them. */
static const struct {
    const char *name;
    model_arch arch;
} ALIASES[] = {{"ministral", ARCH_MISTRAL}, {"mixtral", ARCH_MISTRAL},  {"gemma3", ARCH_GEMMA3},
               {"gemma3n", ARCH_GEMMA3N},   {"gemma4", ARCH_GEMMA4},    {"qwen3_5", ARCH_QWEN35},
               {"roberta", ARCH_BERT},      {"xlm-roberta", ARCH_BERT}, {"qwen3_5_moe", ARCH_QWEN35_MOE}};
#endif

const char *config_arch_name(model_arch arch)
{
    return config_archs[arch].name ? config_archs[arch].name : config_archs[arch].in_gguf;
}

bool config_is_encoder(const model_config *c)
{
    return c->bidirectional;
}

uint32_t config_window(const model_config *c, uint32_t layer, uint32_t context_tok)
{
    return c->is_windowed[layer] && c->window_tok < context_tok ? c->window_tok : context_tok;
}

static bool is_local(const model_config *c, uint32_t layer, uint32_t local_size)
{
    return c->is_windowed[layer] && local_size > 0;
}

uint32_t config_head_dim(const model_config *c, uint32_t layer)
{
    return is_local(c, layer, c->local_head_dim) ? c->local_head_dim : c->head_dim;
}

uint32_t config_kv_head_count(const model_config *c, uint32_t layer)
{
    return is_local(c, layer, c->local_kv_head_count) ? c->local_kv_head_count : c->kv_head_count;
}

uint32_t config_ffn_dim(const model_config *c, uint32_t layer)
{
    return c->late_ffn_dim && layer >= c->layer_count - c->kv_shared_layers ? c->late_ffn_dim : c->ffn_dim;
}

uint32_t config_cache_layer(const model_config *c, uint32_t layer)
{
    uint32_t own = c->layer_count - c->kv_shared_layers, from = layer;
    if (layer < own)
        return layer;
    for (from = own - 1; from > 0 && c->is_windowed[from] != c->is_windowed[layer]; from--) {
    }
    return from;
}

static bool is_text(const char *name, const char *text, size_t length)
{
    return name && strlen(name) == length && memcmp(name, text, length) == 0;
}

bool config_find_arch(const char *file, const char *key, const char *text, size_t length, bool in_gguf,
                      model_arch *arch, err *e)
{
    for (int i = 0; i < ARCH_COUNT; i++)
        if (is_text(in_gguf ? config_archs[i].in_gguf : config_archs[i].name, text, length)) {
            *arch = i;
            return true;
        }
#ifndef __wasm__
    for (size_t i = 0; !in_gguf && i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (is_text(ALIASES[i].name, text, length)) {
            *arch = ALIASES[i].arch;
            return true;
        }
#endif
    char shown[64];
    size_t n = 0;
    for (; n < length && n < sizeof shown - 1; n++)
        shown[n] = text[n] >= 0x20 && text[n] < 0x7f ? text[n] : '?';
    shown[n] = 0;
    str known = {0};
    for (int i = 0; i < ARCH_COUNT; i++)
        if (in_gguf ? config_archs[i].in_gguf : config_archs[i].name)
            str_addf(&known, "%s%s", known.length ? ", " : "",
                     in_gguf ? config_archs[i].in_gguf : config_archs[i].name);
    err_set(e, "%s: \"%s\": unknown architecture \"%s\" (known: %s)", file, key, shown, known.data);
    str_free(&known);
    return false;
}

bool config_unsupported(const char *file, const char *key, const char *what, err *e)
{
    return err_set(e, "%s: \"%s\": %s is not supported", file, key, what);
}

bool config_check_number(const char *file, const char *key, double value, double low, double high, err *e)
{
    if (value >= low && value <= high) /* not true of NaN */
        return true;
    return err_set(e, "%s: \"%s\" is %g, must be %g to %g", file, key, value, low, high);
}

bool config_check_experts(const char *file, const model_config *c, err *e)
{
    return c->expert_used <= GRAPH_MAX_EXPERTS_USED ||
           err_set(e, "%s: %u experts for a token: more than %d are not supported", file, c->expert_used,
                   GRAPH_MAX_EXPERTS_USED);
}

void config_set_defaults(model_config *c, model_arch arch)
{
    const arch_info *a = &config_archs[arch];
    *c = (model_config){
        .arch = arch,
        .act = a->act,
        .qkv_bias = arch == ARCH_QWEN2,
        .qk_norm = a->qk_norm,
        .value_norm = a->value_norm,
        .layer_norm = a->layer_norm,
        .norm_bias = a->norm_bias,
        .norm_adds_one = a->norm_adds_one,
        .pre_norms = !a->no_pre_norms,
        .post_norms = a->post_norms,
        .parallel = a->parallel,
        .one_norm = a->one_norm,
        .gated = !a->ungated,
        .learned_positions = a->learned_positions,
        .attention_gated = a->attention_gated,
        .expert_scale = 1,
        .shared_gated = arch == ARCH_QWEN2_MOE || arch == ARCH_QWEN35_MOE,
        .bidirectional = a->bidirectional,
        .norms_after_sum = a->norms_after_sum,
        .rope_factor = 1,
        .rope_magnitude = 1,
        .embedding_scale = 1,
        .residual_scale = 1,
        .logit_scale = 1,
    };
    for (uint32_t i = 0; i < CONFIG_MAX_HEAD_DIM / 2; i++)
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = 1;
}

/* Layers without keys and values of their own need one before them to take them from. */
static bool check_sharing(const char *file, const model_config *c, err *e)
{
    if (c->kv_shared_layers >= c->layer_count && c->kv_shared_layers > 0)
        return err_set(e, "%s: %u of %u layers share keys and values: one must have its own", file, c->kv_shared_layers,
                       c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++)
        if (c->is_windowed[config_cache_layer(c, i)] != c->is_windowed[i])
            return err_set(e, "%s: layer %u shares keys and values, and none before it has the same window", file, i);
    return true;
}

bool config_check_shape(const char *file, const shape_keys *k, const model_config *c, err *e)
{
    uint32_t local = c->local_kv_head_count ? c->local_kv_head_count : c->kv_head_count;
    if (c->head_count % c->kv_head_count || c->head_count % local)
        return err_set(e, "%s: \"%s\" (%u) is not a multiple of \"%s\" (%u)", file, k->heads, c->head_count,
                       k->kv_heads, c->head_count % local ? local : c->kv_head_count);
    if (!check_sharing(file, c, e))
        return false;
    if (c->local_head_dim % 2)
        return err_set(e, "%s: heads of %u in layers with a window: must be even for rope", file, c->local_head_dim);
    if ((uint64_t)c->head_count * c->head_dim > MAX_EMBEDDING)
        return err_set(e, "%s: \"%s\" (%u) heads of \"%s\" (%u) are more than %d", file, k->heads, c->head_count,
                       k->head_dim, c->head_dim, MAX_EMBEDDING);
    if (c->rope_dims == 0 && c->learned_positions)
        return true;
    if (c->rope_dims == 0 || c->rope_dims % 2 || c->rope_dims > c->head_dim)
        return err_set(e, "%s: \"%s\" makes %u of a head's %u numbers turn with the position; must be even and no more",
                       file, k->rope_dims, c->rope_dims, c->head_dim);
    return true;
}

bool config_check_groups(const char *file, const group_keys *k, const model_config *c, err *e)
{
    if (!c->expert_groups)
        return true;
    uint32_t each = c->expert_count / c->expert_groups;
    if (c->expert_count % c->expert_groups || each < 2)
        return err_set(e, "%s: \"%s\" (%u) groups of %u experts: two or more must be in each", file, k->groups,
                       c->expert_groups, c->expert_count);
    if (c->expert_groups_used > c->expert_groups || c->expert_used > c->expert_groups_used * each)
        return err_set(e, "%s: \"%s\" (%u) groups of %u experts are not there, or less than the %u that are chosen",
                       file, k->used, c->expert_groups_used, each, c->expert_used);
    return true;
}

bool config_check_streams(const char *file, const char *key, const model_config *c, err *e)
{
    return (c->streams > 1 && c->active_stream < c->streams) ||
           err_set(e, "%s: \"%s\": %u streams, of which number %u is computed on", file, key, c->streams,
                   c->active_stream);
}

bool config_check_latent(const char *file, const char *key, const model_config *c, err *e)
{
    if (c->rope_dims >= c->head_dim)
        return err_set(e, "%s: \"%s\": %u numbers turn of a head's %u, and none is left", file, key, c->rope_dims,
                       c->head_dim);
    if ((uint64_t)c->head_count * c->value_dim > MAX_EMBEDDING || (uint64_t)c->head_count * c->kv_rank > 1 << 22)
        return err_set(e, "%s: \"%s\": %u heads of values of %u are too many", file, key, c->head_count, c->value_dim);
    return true;
}

bool config_check_recurrence(const char *file, const recurrence_keys *k, const model_config *c, err *e)
{
    if (c->recurrent_heads % c->recurrent_key_heads)
        return err_set(e, "%s: \"%s\" (%u) is not a multiple of \"%s\" (%u)", file, k->heads, c->recurrent_heads,
                       k->key_heads, c->recurrent_key_heads);
    if ((uint64_t)c->recurrent_heads * c->recurrent_value_dim > MAX_EMBEDDING ||
        (uint64_t)c->recurrent_key_heads * c->recurrent_key_dim > MAX_EMBEDDING)
        return err_set(e, "%s: \"%s\" (%u) heads are more than %d numbers", file, k->heads, c->recurrent_heads,
                       MAX_EMBEDDING);
    return true;
}

void config_set_recurrent(model_config *c, uint32_t period)
{
    for (uint32_t i = 0; i < c->layer_count; i++)
        c->is_recurrent[i] = (i + 1) % period != 0;
}

bool config_derive_head_dim(const char *file, const shape_keys *k, model_config *c, err *e)
{
    if (c->embedding_dim % c->head_count)
        return err_set(e, "%s: \"%s\" (%u) is not a multiple of \"%s\" (%u), and \"%s\" is missing", file, k->embedding,
                       c->embedding_dim, k->heads, c->head_count, k->head_dim);
    c->head_dim = c->embedding_dim / c->head_count;
    return config_check_number(file, k->embedding, c->embedding_dim, c->head_count,
                               (double)c->head_count * CONFIG_MAX_HEAD_DIM, e);
}

bool config_gemma_largest(const model_config *c)
{
    return (c->arch == ARCH_GEMMA2 && c->layer_count == 46) || (c->arch == ARCH_GEMMA3 && c->layer_count == 62);
}

void config_set_scales(model_config *c)
{
    c->attention_scale = config_archs[c->arch].unscaled_attention ? 1 : (float)(1 / sqrt(c->head_dim));
    if (config_archs[c->arch].scales_embedding)
        c->embedding_scale = sqrtf((float)c->embedding_dim);
}

void config_divide_angles(model_config *c, double factor)
{
    c->rope_scaling = ROPE_LINEAR;
    c->rope_factor = (float)factor;
    for (uint32_t i = 0; i < c->rope_dims / 2; i++)
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = (float)factor;
}

void config_turn_share(model_config *c, double share, double factor)
{
    uint32_t rotated = (uint32_t)(share * c->rope_dims / 2);
    config_divide_angles(c, factor);
    c->rope_scaling = ROPE_SHARE;
    for (uint32_t i = rotated; i < c->rope_dims / 2; i++)
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = config_endless;
}

void config_stretch_slow_angles(model_config *c, double factor, double low, double high)
{
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
}

/* The pair, in fractions, that turns so many times. */
static double pair_that_turns(const model_config *c, double times)
{
    return c->rope_dims * log(c->rope_original_tok / (times * 2 * M_PI)) / (2 * log(c->rope_base));
}

float config_yarn_kept(const model_config *c, uint32_t pair)
{
    double low = pair_that_turns(c, (double)c->rope_high_factor), high = pair_that_turns(c, (double)c->rope_low_factor);
    if (c->rope_whole_pairs) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, c->rope_dims - 1);
    if (low == high)
        high += 0.001;
    return 1 - fminf(fmaxf(((float)pair - (float)low) / (float)(high - low), 0), 1);
}

void config_stretch_yarn(model_config *c, double factor, double fast, double slow, bool whole_pairs)
{
    c->rope_scaling = ROPE_YARN;
    c->rope_factor = (float)factor;
    c->rope_low_factor = (float)slow;
    c->rope_high_factor = (float)fast;
    c->rope_whole_pairs = whole_pairs;
    for (uint32_t i = 0; i < c->rope_dims / 2; i++) {
        double keep = (double)config_yarn_kept(c, i);
        c->rope_divisors[0][i] = c->rope_divisors[1][i] = (float)(1 / ((1 - keep) / factor + keep));
    }
}

double config_yarn_magnitude(double factor, double scale)
{
    return factor <= 1 ? 1 : 0.1 * scale * log(factor) + 1;
}

void config_set_windows(model_config *c, uint32_t from, uint32_t period)
{
    for (uint32_t i = from; c->window_tok && i < c->layer_count; i++)
        c->is_windowed[i] = period == 0 || (i + 1) % period != 0;
}

void config_set_unrotated(model_config *c)
{
    bool where_windowed = c->arch == ARCH_COHERE2 || (c->arch == ARCH_EXAONE4 && c->window_tok);
    for (uint32_t i = 0; where_windowed && i < c->layer_count; i++)
        c->is_unrotated[i] = !c->is_windowed[i];
}
