/* config_internal: what the readers of a configuration share (config.c, config_gguf.c, config_hf.c). */
#ifndef SOLO_CONFIG_INTERNAL_H
#define SOLO_CONFIG_INTERNAL_H

#include "model/config.h"

/* Which layers see a window only, if the file says a window but not the layers. */
typedef enum {
    WINDOW_NEVER,
    WINDOW_ALL,
    WINDOW_LATE, /* from max_window_layers on, and only if use_sliding_window */
    WINDOW_EVEN  /* layers 0, 2, 4, ... */
} window_rule;

/* What a file leaves out stands here, as in the classes that first defined these
 * architectures (Hugging Face transformers). */
typedef struct arch_info {
    const char *name; /* in config.json and in GGUF */
    bool in_gguf;     /* GGUF calls mistral llama */
    uint32_t context_tok;
    uint32_t head_dim;   /* 0: embedding_dim / head_count */
    uint32_t window_tok; /* 0: none */
    window_rule windows;
    model_act act;
    float norm_epsilon;
    bool tied_embeddings;
} arch_info;

extern const arch_info config_archs[]; /* by model_arch */

static const float default_rope_base = 10000;
static const float gemma2_attention_cap = 50, gemma2_logit_cap = 30;

/* Several times what the largest models have. */
enum { MAX_VOCAB = 1 << 22, MAX_CONTEXT = 1 << 26, MAX_EMBEDDING = 1 << 17, MAX_FFN = 1 << 20, MAX_HEADS = 1024 };

/* Errors name the file and the key. */
bool config_find_arch(const char *file, const char *key, const char *text, size_t length, bool in_gguf,
                      model_arch *arch, err *e);
bool config_unsupported(const char *file, const char *key, const char *what, err *e);
bool config_check_number(const char *file, const char *key, double value, double low, double high, err *e);

/* What an architecture is by itself, before anything is read from the file. */
void config_set_defaults(model_config *c, model_arch arch);
/* The scales that follow from the sizes. */
void config_set_scales(model_config *c);
/* All angles of rope slower by this factor. */
void config_divide_angles(model_config *c, double factor);
/* llama3: angles that turn less than `low` times within rope_original_tok positions are slowed by the factor; those that
 * turn more than `high` times stay; between them the frequency goes over from one to the other. */
void config_stretch_slow_angles(model_config *c, double factor, double low, double high);
/* From layer `from` on, those that the architecture windows see window_tok only. */
void config_set_windows(model_config *c, uint32_t from);

/* The names that a source has for what is checked. */
typedef struct shape_keys {
    const char *embedding, *heads, *kv_heads, *head_dim, *rope_dims;
} shape_keys;

/* Sizes that are right each by itself, but may not be together. */
bool config_check_shape(const char *file, const shape_keys *k, const model_config *c, err *e);
/* embedding_dim / head_count, where a file does not say the head's size. */
bool config_derive_head_dim(const char *file, const shape_keys *k, model_config *c, err *e);

#endif
