/* config_hf_layers: layers of more than one size, and what they share, as a gemma4's config.json says it. */
#include "model/config_hf_internal.h"

#include <stdio.h>
#include <string.h>

/* What the layers that see all have: the newer files name each of them. */
static bool sizes_of_some_layers(hf_source *s, const json_t *layers, uint32_t *head_dim, uint32_t *kv_heads)
{
    static const char name[] = "per_layer_config";
    const char *layer, *key;
    json_t *sizes, *value;
    bool first = true;
    if (!json_is_object(layers))
        return hf_wrong(s, name, "must be an object");
    json_object_foreach((json_t *)layers, layer, sizes)
    {
        uint32_t dim, heads;
        json_object_foreach(sizes, key, value)
        {
            if (strcmp(key, "head_dim") != 0 && strcmp(key, "num_key_value_heads") != 0)
                return config_unsupported(s->file, name, key, s->e);
        }
        if (!hf_size_in(s, sizes, "head_dim", CONFIG_MAX_HEAD_DIM, s->c->head_dim, &dim) ||
            !hf_size_in(s, sizes, "num_key_value_heads", MAX_HEADS, s->c->kv_head_count, &heads))
            return false;
        if (!first && (dim != *head_dim || heads != *kv_heads))
            return config_unsupported(s->file, name, "more than two sizes of layers", s->e);
        *head_dim = dim;
        *kv_heads = heads;
        first = false;
    }
    return true;
}

bool hf_layer_sizes(hf_source *s)
{
    model_config *c = s->c;
    const json_t *layers = json_get_present(s->root, "per_layer_config");
    uint32_t head_dim = c->head_dim, kv_heads = c->kv_head_count, usual = 512, tokens = 262144, input = 256;
    bool wide;
    if (!hf_bool(s, "attention_k_eq_v", false, &c->value_is_key) || !hf_bool(s, "use_double_wide_mlp", false, &wide) ||
        !hf_count(s, "num_kv_shared_layers", c->layer_count - 1, 0, &c->kv_shared_layers) ||
        !hf_count(s, "hidden_size_per_layer_input", MAX_EMBEDDING / c->layer_count,
                  hf_is_null(s->root, "hidden_size_per_layer_input") ? 0 : input, &c->per_layer_dim) ||
        !hf_size(s, "vocab_size_per_layer_input", MAX_VOCAB, tokens, &c->per_layer_vocab_tok) ||
        !hf_float(s, "final_logit_softcapping", 1e-3, 1e6, 0, &c->logit_cap))
        return false;
    if (layers) {
        if (!sizes_of_some_layers(s, layers, &head_dim, &kv_heads))
            return false;
    } else if (!hf_size(s, "global_head_dim", CONFIG_MAX_HEAD_DIM, usual, &head_dim) ||
               (c->value_is_key && !hf_size(s, "num_global_key_value_heads", MAX_HEADS, kv_heads, &kv_heads)))
        return false;
    c->local_head_dim = head_dim == c->head_dim ? 0 : c->head_dim;
    c->local_kv_head_count = kv_heads == c->kv_head_count ? 0 : c->kv_head_count;
    c->head_dim = head_dim;
    c->kv_head_count = kv_heads;
    c->late_ffn_dim = wide && c->kv_shared_layers ? 2 * c->ffn_dim : 0;
    c->layer_scales = true;
    if (!hf_bool(s, "enable_moe_block", false, &c->experts_beside))
        return false;
    if (!c->experts_beside)
        return true;
    c->expert_weights_normed = true;
    return hf_size(s, "num_experts", CONFIG_MAX_EXPERTS, 0, &c->expert_count) &&
           hf_size(s, "top_k_experts", c->expert_count, 0, &c->expert_used) &&
           hf_size(s, "moe_intermediate_size", MAX_FFN, 0, &c->expert_ffn_dim) &&
           config_check_experts(s->file, c, s->e);
}

bool hf_check_layer_sizes(hf_source *s)
{
    const model_config *c = s->c;
    const json_t *layers = json_get_present(s->root, "per_layer_config");
    for (uint32_t i = 0; layers && json_object_size(layers) && i < c->layer_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        if ((json_object_get(layers, name) != NULL) == (c->is_windowed[i] != 0))
            return config_unsupported(s->file, "per_layer_config", "sizes that do not follow the layers' windows",
                                      s->e);
    }
    return true;
}
