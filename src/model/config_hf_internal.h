/* config_hf_internal: what the readers of a config.json share (config_hf*.c). */
#ifndef SOLO_CONFIG_HF_INTERNAL_H
#define SOLO_CONFIG_HF_INTERNAL_H

#include "model/config_internal.h"
#include "model/json_values.h"

typedef struct hf_source {
    const json_t *root, *rope; /* `rope`: rope_parameters, rope_scaling, or NULL */
    const char *file;
    model_config *c;
    err *e;
} hf_source;

/* ---- config_hf_read.c: errors name the file and the key; what is absent or null is the fallback ------- */

bool hf_wrong(hf_source *s, const char *key, const char *what);
/* Where a default is not what null means. */
bool hf_is_null(const json_t *object, const char *key);
/* 1 to `high`; `fallback` if missing, and if that is 0 it must be there. */
bool hf_size_in(hf_source *s, const json_t *object, const char *key, uint32_t high, uint32_t fallback, uint32_t *out);
bool hf_size(hf_source *s, const char *key, uint32_t high, uint32_t fallback, uint32_t *out);
/* 0 to `high`. */
bool hf_count(hf_source *s, const char *key, uint32_t high, uint32_t fallback, uint32_t *out);
/* A fallback that is not a number: it must be there. */
bool hf_number_in(hf_source *s, const json_t *object, const char *key, double low, double high, double fallback,
                  double *out);
bool hf_float(hf_source *s, const char *key, double low, double high, float fallback, float *out);
bool hf_bool(hf_source *s, const char *key, bool fallback, bool *out);
/* NULL in `*out` if absent. */
bool hf_text(hf_source *s, const json_t *object, const char *key, const char **out);
/* The first of two or three names that the file has; the last if it has none. */
const char *hf_one_of(hf_source *s, const char *a, const char *b, const char *c);
/* Numbers of the rope's object. */
bool hf_list(hf_source *s, const char *key, uint32_t count, float *out);

/* ---- config_hf_rope.c ------------------------------------------------------------------------------------ */

bool hf_rope(hf_source *s);
bool hf_unrotated(hf_source *s);
bool hf_windows(hf_source *s); /* after hf_unrotated */

/* ---- config_hf_experts.c --------------------------------------------------------------------------------- */

bool hf_experts(hf_source *s);

/* ---- config_hf_layers.c ---------------------------------------------------------------------------------- */

bool hf_layer_sizes(hf_source *s);       /* gemma4's, after the sizes that all have */
bool hf_check_layer_sizes(hf_source *s); /* after hf_windows */

/* ---- config_hf_streams.c --------------------------------------------------------------------------------- */

bool hf_streams(hf_source *s); /* gemma3n's, after the sizes that all have */
/* One number, or a list with the same for each layer. */
bool hf_ffn_of_layers(hf_source *s, const char *key, uint32_t *out);

/* ---- config_hf_latent.c ---------------------------------------------------------------------------------- */

bool hf_latent(hf_source *s);         /* the sizes, */
bool hf_latent_scale(hf_source *s);   /* once hf_rope has read how angles are stretched, */
bool hf_latent_experts(hf_source *s); /* and the router */

#endif
