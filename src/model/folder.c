/* folder: names of weights at Hugging Face, for each architecture. */
#include "model/folder.h"
#include "base/file.h"
#include "base/str.h"
#include "model/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_MAX_BYTES = 4 << 20, NAME_MAX_BYTES = 160 };

struct folder {
    const model_config *c;
    safetensors *parts;
};

/* ---- names --------------------------------------------------------------- */

/* The part of a layer's weight after "blk.N.", here and at Hugging Face. */
typedef struct renamed {
    const char *ours, *theirs;
} renamed;

static const renamed LAYER_NAMES[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_gate_up", "mlp.gate_up_proj"},
    {NULL, NULL},
};
/* Which norm is which depends on how many there are. */
static const renamed TWO_NORMS[] = {{"ffn_norm", "post_attention_layernorm"}, {NULL, NULL}};
static const renamed FOUR_NORMS[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {NULL, NULL},
};
static const renamed MODEL_NAMES[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
    {NULL, NULL},
};

static const char *look_up(const renamed *names, const char *ours, size_t length)
{
    for (; names->ours; names++)
        if (strlen(names->ours) == length && memcmp(names->ours, ours, length) == 0)
            return names->theirs;
    return NULL;
}

/* "blk.3.attn_q.weight" as Hugging Face calls it; false if there is no such thing. */
static bool name_at_hugging_face(const model_config *c, const char *ours, char out[NAME_MAX_BYTES])
{
    unsigned layer;
    int prefix = 0;
    const char *whole = look_up(MODEL_NAMES, ours, strlen(ours));
    if (whole)
        return snprintf(out, NAME_MAX_BYTES, "%s", whole) < NAME_MAX_BYTES;
    if (sscanf(ours, "blk.%u.%n", &layer, &prefix) != 1 || prefix == 0)
        return false;
    const char *part = ours + prefix, *dot = strrchr(part, '.');
    if (!dot)
        return false;
    const char *theirs = look_up(c->post_norms ? FOUR_NORMS : TWO_NORMS, part, (size_t)(dot - part));
    if (!theirs)
        theirs = look_up(LAYER_NAMES, part, (size_t)(dot - part));
    return theirs && snprintf(out, NAME_MAX_BYTES, "model.layers.%u.%s%s", layer, theirs, dot) < NAME_MAX_BYTES;
}

/* ---- opening ------------------------------------------------------------- */

folder *folder_open(const char *path, model_config *c, err *e)
{
    str config = {0};
    str_addf(&config, "%s/config.json", path);
    size_t length;
    char *text = file_read(config.data, CONFIG_MAX_BYTES, &length, e);
    bool ok = text && config_from_hf(text, length, config.data, c, e);
    free(text);
    str_free(&config);
    safetensors *parts = ok ? safetensors_open(path, e) : NULL;
    if (!parts)
        return NULL;
    folder *f = mem_alloc(sizeof *f);
    *f = (folder){.c = c, .parts = parts};
    return f;
}

void folder_close(folder *f)
{
    if (!f)
        return;
    safetensors_close(f->parts);
    free(f);
}

/* ---- weights ------------------------------------------------------------- */

bool folder_find(const folder *f, const char *name, model_weight *w)
{
    char theirs[NAME_MAX_BYTES];
    if (!name_at_hugging_face(f->c, name, theirs) || !safetensors_has(f->parts, theirs))
        return false;
    const safetensor *t = safetensors_find(f->parts, theirs, NULL);
    if (!t || t->dim_count < 1 || t->dim_count > 2)
        return false;
    uint64_t rows = t->dim_count == 2 ? t->dims[0] : 1, columns = t->dims[t->dim_count - 1];
    if (rows > UINT32_MAX || columns > UINT32_MAX)
        return false;
    *w = (model_weight){.type = t->type,
                        .rows = (uint32_t)rows,
                        .columns = (uint32_t)columns,
                        .data = t->data,
                        .bytes = t->bytes,
                        .tensor = (size_t)(t - safetensors_at(f->parts, 0))};
    return true;
}

size_t folder_tensor_count(const folder *f)
{
    return safetensors_count(f->parts);
}

const char *folder_tensor_name(const folder *f, size_t i)
{
    return safetensors_at(f->parts, i)->name;
}
