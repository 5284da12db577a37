/* quantised: all weights of a folder that are quantised, one by one. */
#include "model/quantised_internal.h"
#include "base/str.h"
#include "model/json_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const safetensor *quantised_find(const safetensors *folder, const char *stem, const char *ending)
{
    char name[MODEL_NAME_BYTES + 20];
    snprintf(name, sizeof name, "%s.%s", stem, ending);
    return safetensors_any(folder, name);
}

bool quantised_scales_fit_blocks(const safetensor *scales)
{
    static const float least = 6.104e-5f, most = 65504; /* of halves that have all their bits */
    uint64_t bytes = type_bytes(scales->type, 1);
    for (uint64_t i = 0; scales->type != TYPE_F16 && i < scales->bytes / bytes; i++) {
        float scale;
        type_to_f32(scales->type, (const char *)scales->data + i * bytes, &scale, 1);
        if (!(scale == 0 || (fabsf(scale) >= least && fabsf(scale) <= most)))
            return false;
    }
    return true;
}

static bool unpack_weight(model *m, const safetensors *folder, const quantised_scheme *s, const char *name, err *e)
{
    char stem[MODEL_NAME_BYTES];
    if (!model_name_in_folder(m, name, stem))
        return true;
    char *dot = strrchr(stem, '.');
    if (!dot)
        return true;
    *dot = 0;
    bool bytes = s->method == METHOD_FP8 || s->method == METHOD_INT8;
    return (bytes ? quantised_unpack_bytes : quantised_unpack_words)(m, folder, s, name, stem, e);
}

bool quantised_unpack(model *m, const safetensors *folder, const char *config, size_t length, err *e)
{
    static const char *const parts[] = {"attn_q",      "attn_k",         "attn_v",       "attn_output",
                                        "attn_qkv",    "attn_gate",      "ssm_alpha",    "ssm_beta",
                                        "ssm_out",     "ffn_gate",       "ffn_up",       "ffn_down",
                                        "ffn_gate_up", "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"};
    quantised_scheme s = {.path = model_get_path(m)};
    json_t *root = json_loadb(config, length, 0, NULL);
    const json_t *q = json_get_present(root, "quantization_config");
    bool ok = !q || quantised_read_scheme(q, &s, s.path, e);
    bool wanted = ok && q && s.method != METHOD_MXFP4;
    json_decref(root);
    ok = ok && (!wanted || unpack_weight(m, folder, &s, "output.weight", e));
    for (uint32_t layer = 0; ok && wanted && layer < model_get_config(m)->layer_count; layer++)
        for (size_t p = 0; ok && p < sizeof parts / sizeof *parts; p++) {
            char name[MODEL_NAME_BYTES];
            snprintf(name, sizeof name, "blk.%u.%s.weight", layer, parts[p]);
            ok = unpack_weight(m, folder, &s, name, e);
        }
    return ok;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), most = strlen(end);
    return length >= most && strcmp(name + length - most, end) == 0;
}

static bool is_zero(const safetensor *t)
{
    const char *data = t->data;
    for (uint64_t i = 0; i < t->bytes; i++)
        if (data[i])
            return false;
    return true;
}

bool quantised_leaves_out(const safetensors *folder, size_t tensor)
{
    static const char *const ends[] = {
        ".qzeros",       ".scales",       ".g_idx",       ".weight_scale", ".weight_scale_inv", ".weight_zero_point",
        ".weight_g_idx", ".weight_shape", ".input_scale", ".k_scale",      ".v_scale"};
    const safetensor *t = safetensors_at(folder, tensor);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(t->name, ends[i]))
            return true;
    return ends_with(t->name, ".bias") && is_zero(t);
}
