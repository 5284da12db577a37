/* gguf_layout_internal: what gguf_layout.c and gguf_layout_keys.c share. */
#ifndef SOLO_GGUF_LAYOUT_INTERNAL_H
#define SOLO_GGUF_LAYOUT_INTERNAL_H

#include "model/config_internal.h"
#include "model/gguf_layout.h"

/* GGUF calls mistral llama, and deepseek_v3 as the one before it. */
model_arch layout_arch_in_gguf(const model_config *c);
/* 1 / sqrt(head_dim), but for the largest gemmas (see config_gguf.c); 1 where there is no scale. */
float layout_usual_scale(const model_config *c);
/* Are the windows those that follow from the architecture, if a file says nothing? */
bool layout_has_usual_windows(const model_config *c);

#endif
