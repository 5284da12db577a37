/* config_internal: what the readers of a configuration share (config.c, config_gguf.c, config_hf.c). */
#ifndef SOLO_CONFIG_INTERNAL_H
#define SOLO_CONFIG_INTERNAL_H

#include "model/config.h"

/* Which layers see a window only, if the file says a window but not the layers. */
typedef enum {
    WINDOW_NEVER,
    WINDOW_ALL,
    WINDOW_LATE,  /* from max_window_layers on, and only if use_sliding_window */
    WINDOW_PERIOD /* all but each window_period-th layer */
} window_rule;

/* What a file leaves out stands here, as in the classes that first defined these
 * architectures (Hugging Face transformers). */
typedef struct arch_info {
    const char *name;    /* in config.json; NULL: that calls it otherwise (gemma-embedding: gemma3_text) */
    const char *in_gguf; /* NULL: GGUF calls it otherwise (mistral: llama) */
    uint32_t context_tok;
    uint32_t head_dim;   /* 0: embedding_dim / head_count */
    uint32_t window_tok; /* 0: none */
    window_rule windows;
    uint32_t window_period;
    model_act act;
    float norm_epsilon;
    float rope_base;    /* 0: 10000 */
    float rotary_share; /* of a head; 0: all of it */
    /* What it always has, or never. */
    qk_norms qk_norm;
    bool tied_embeddings;
    bool layer_norm, norm_bias; /* of GGUF, norm_bias is read from the tensors */
    bool norm_adds_one, scales_embedding;
    bool value_norm, unscaled_attention;
    bool no_pre_norms, post_norms, parallel, one_norm, ungated, learned_positions, attention_gated;
    bool bidirectional, norms_after_sum;
    bool adjacent;              /* pairs are side by side, */
    bool adjacent_in_gguf;      /* or are in GGUF, which has reordered them */
    bool fused_qkv, fused_gate; /* in GGUF: attn_qkv; gate and up as ffn_up */
} arch_info;

extern const arch_info config_archs[]; /* by model_arch */

static const float default_rope_base = 10000;
static const float config_endless = 1e30f; /* a divisor that leaves no angle; llama.cpp writes the same */
static const float gemma2_attention_cap = 50, gemma2_logit_cap = 30, gemma3n_logit_cap = 30;
enum { smollm3_period = 4, qwen35_period = 4, MAX_CONV_WIDTH = 64 }; /* each fourth layer has no rope */

/* What turns a router's scores into shares, as expert_gating_func says it; 0: unsaid. */
enum { GGUF_GATING_SOFTMAX = 1, GGUF_GATING_SIGMOID = 2 };

/* Several times what the largest models have. */
enum {
    MAX_VOCAB = 1 << 22,
    MAX_CONTEXT = 1 << 26,
    MAX_EMBEDDING = 1 << 17,
    MAX_FFN = 1 << 20,
    MAX_HEADS = 1024,
    MAX_RANK = 1 << 14,
    MAX_STREAMS = 16
};

/* Errors name the file and the key. */
bool config_find_arch(const char *file, const char *key, const char *text, size_t length, bool in_gguf,
                      model_arch *arch, err *e);
bool config_unsupported(const char *file, const char *key, const char *what, err *e);
bool config_check_number(const char *file, const char *key, double value, double low, double high, err *e);

/* What an architecture is by itself, before anything is read from the file. */
void config_set_defaults(model_config *c, model_arch arch);
/* gemma2-27b and gemma3-27b, which scale attention by embedding_dim / head_count: known by their layers. */
bool config_gemma_largest(const model_config *c);
/* The scales that follow from the sizes. */
void config_set_scales(model_config *c);
/* All angles of rope slower by this factor. */
void config_divide_angles(model_config *c, double factor);
/* Only this share of the pairs turns, the first ones, each as it would if all did. */
void config_turn_share(model_config *c, double share, double factor);
/* llama3: angles that turn less than `low` times within rope_original_tok positions are slowed by the factor; those that
 * turn more than `high` times stay; between them the frequency goes over from one to the other. */
void config_stretch_slow_angles(model_config *c, double factor, double low, double high);
/* yarn: angles that turn less than `slow` times within rope_original_tok positions are slowed by the factor; those that
 * turn more than `fast` times stay. Which pairs that are is rounded to whole numbers, if the file does not say otherwise. */
void config_stretch_yarn(model_config *c, double factor, double fast, double slow, bool whole_pairs);
/* The magnitude that comes with a factor. */
double config_yarn_magnitude(double factor, double scale);
/* From layer `from` on, all but each period-th layer see window_tok only; with a period of 0 all. */
void config_set_windows(model_config *c, uint32_t from, uint32_t period);
/* The layers without rope, where that follows from their windows. */
void config_set_unrotated(model_config *c);

/* As many experts for a token as kernels have room for? */
bool config_check_experts(const char *file, const model_config *c, err *e);

/* The names that a source has for what is checked. */
typedef struct shape_keys {
    const char *embedding, *heads, *kv_heads, *head_dim, *rope_dims;
} shape_keys;

/* Sizes that are right each by itself, but may not be together. */
bool config_check_shape(const char *file, const shape_keys *k, const model_config *c, err *e);
/* Groups of experts that are there, and enough in them. */
typedef struct group_keys {
    const char *groups, *used;
} group_keys;
bool config_check_groups(const char *file, const group_keys *k, const model_config *c, err *e);
/* There is more than one. */
bool config_check_streams(const char *file, const char *key, const model_config *c, err *e);
/* The sizes of latent attention. */
bool config_check_latent(const char *file, const char *key, const model_config *c, err *e);
typedef struct recurrence_keys {
    const char *heads, *key_heads;
} recurrence_keys;
bool config_check_recurrence(const char *file, const recurrence_keys *k, const model_config *c, err *e);
/* All but each period-th layer are recurrent. */
void config_set_recurrent(model_config *c, uint32_t period);
/* embedding_dim / head_count, where a file does not say the head's size. */
bool config_derive_head_dim(const char *file, const shape_keys *k, model_config *c, err *e);

#endif
