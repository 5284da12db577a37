/* config_gguf_internal: what the readers of a GGUF file's configuration share (config_gguf*.c). */
#ifndef SOLO_CONFIG_GGUF_INTERNAL_H
#define SOLO_CONFIG_GGUF_INTERNAL_H

#include "model/config_internal.h"

typedef struct gguf_source {
    const gguf *g;
    const char *file;
    model_config *c;
    err *e;
    char key[128]; /* the one asked for last */
} gguf_source;

/* "llama" and "block_count" are "llama.block_count". Stays until the next call. */
const char *gguf_arch_key(gguf_source *s, const char *name);
/* 1 to `high`; `fallback` if missing, and if that is 0 it must be there. A list must have the same number for all layers. */
bool gguf_size(gguf_source *s, const char *name, uint32_t high, uint32_t fallback, uint32_t *value);
bool gguf_float(gguf_source *s, const char *name, double low, double high, float fallback, float *value);

/* ---- config_gguf_layers.c: gemma4's layers ---------------------------------------------------------------- */

/* ffn_dim and kv_head_count of the first layer, where layers may differ. */
bool gguf_first_layer(gguf_source *s);
/* After the windows are known. */
bool gguf_layer_sizes(gguf_source *s);

/* A number that may be 0, and is if it is missing. */
bool gguf_count(gguf_source *s, const char *name, uint32_t high, uint32_t *value);

/* ---- config_gguf_streams.c ------------------------------------------------------------------------------- */

bool gguf_streams(gguf_source *s); /* gemma3n's */

/* ---- config_gguf_families.c ------------------------------------------------------------------------------ */

bool gguf_recurrence(gguf_source *s);
bool gguf_latent(gguf_source *s); /* once rope is read */
bool gguf_router(gguf_source *s); /* once the numbers of experts are */

#endif
