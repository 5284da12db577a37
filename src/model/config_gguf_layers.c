/* config_gguf_layers: layers of more than one size, and what they share, as a gemma4's GGUF file says it. */
#include "model/config_gguf_internal.h"

#include <stdio.h>

/* The number of one layer: from a list, or one for all. */
static bool number_of_layer(gguf_source *s, const char *name, uint32_t layer, uint32_t high, uint32_t *value)
{
    const char *key = gguf_arch_key(s, name);
    err no_list = {0};
    gguf_array list;
    if (!gguf_get_whole_numbers(s->g, key, &list, &no_list))
        return gguf_size(s, name, high, 0, value);
    if (layer >= list.count)
        return err_set(s->e, "%s: \"%s\" has %zu numbers for %u layers", s->file, key, list.count, s->c->layer_count);
    int64_t number = gguf_array_int(&list, layer);
    *value = number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    return config_check_number(s->file, key, *value, 1, high, s->e);
}

bool gguf_first_layer(gguf_source *s)
{
    return number_of_layer(s, "feed_forward_length", 0, MAX_FFN, &s->c->ffn_dim) &&
           number_of_layer(s, "attention.head_count_kv", 0, MAX_HEADS, &s->c->kv_head_count);
}

/* Keys and values of windowed layers and of the others; of layers that share them, feed-forward layers of another size. */
static bool check_lists(gguf_source *s)
{
    const model_config *c = s->c;
    for (uint32_t i = 0; i < c->layer_count; i++) {
        uint32_t inner, heads;
        if (!number_of_layer(s, "attention.head_count_kv", i, MAX_HEADS, &heads))
            return false;
        if (heads != config_kv_head_count(c, i))
            return config_unsupported(s->file, s->key, "a number that does not follow the layers' windows", s->e);
        if (!number_of_layer(s, "feed_forward_length", i, MAX_FFN, &inner))
            return false;
        if (inner != config_ffn_dim(c, i))
            return config_unsupported(s->file, s->key, "a number of its own for this layer", s->e);
    }
    return true;
}

static bool has_weight(const gguf *g, uint32_t layer, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "blk.%u.%s.weight", layer, part);
    return gguf_find_tensor(g, name);
}

bool gguf_count(gguf_source *s, const char *name, uint32_t high, uint32_t *value)
{
    const char *key = gguf_arch_key(s, name);
    *value = 0;
    return !gguf_has(s->g, key) ||
           (gguf_get_u32(s->g, key, value, s->e) && config_check_number(s->file, key, *value, 0, high, s->e));
}

bool gguf_layer_sizes(gguf_source *s)
{
    model_config *c = s->c;
    uint32_t last = c->layer_count - 1, windowed = c->layer_count, all = c->layer_count, late, value_dim;
    for (uint32_t i = c->layer_count; i-- > 0;)
        *(c->is_windowed[i] ? &windowed : &all) = i;
    if (!gguf_count(s, "attention.shared_kv_layers", last, &c->kv_shared_layers) ||
        !gguf_count(s, "embedding_length_per_layer_input", MAX_EMBEDDING / c->layer_count, &c->per_layer_dim) ||
        !gguf_size(s, "attention.key_length_swa", CONFIG_MAX_HEAD_DIM, c->head_dim, &c->local_head_dim) ||
        !gguf_size(s, "attention.value_length_swa", CONFIG_MAX_HEAD_DIM, c->local_head_dim, &value_dim))
        return false;
    if (value_dim != c->local_head_dim)
        return config_unsupported(s->file, s->key, "a size other than the keys'", s->e);
    uint32_t rotated;
    if (!gguf_size(s, "rope.dimension_count_swa", CONFIG_MAX_HEAD_DIM, c->local_head_dim, &rotated))
        return false;
    if (rotated != c->local_head_dim)
        return config_unsupported(s->file, s->key, "a part of a head", s->e);
    if (c->local_head_dim == c->head_dim)
        c->local_head_dim = 0;
    if ((windowed <= last &&
         !number_of_layer(s, "attention.head_count_kv", windowed, MAX_HEADS, &c->local_kv_head_count)) ||
        (all <= last && !number_of_layer(s, "attention.head_count_kv", all, MAX_HEADS, &c->kv_head_count)) ||
        !number_of_layer(s, "feed_forward_length", last, MAX_FFN, &late))
        return false;
    if (c->local_kv_head_count == c->kv_head_count)
        c->local_kv_head_count = 0;
    c->late_ffn_dim = c->kv_shared_layers && late != c->ffn_dim ? late : 0;
    c->layer_scales = has_weight(s->g, 0, "layer_output_scale");
    c->value_is_key = all <= last && !has_weight(s->g, all, "attn_v") && has_weight(s->g, all, "attn_k");
    const gguf_tensor *table = gguf_find_tensor(s->g, "per_layer_token_embd.weight");
    c->per_layer_vocab_tok = table && table->dims[1] <= MAX_VOCAB ? (uint32_t)table->dims[1] : c->vocab_tok;
    return check_lists(s) && gguf_float(s, "final_logit_softcapping", 0, 1e6, 0, &c->logit_cap) &&
           gguf_float(s, "rope.freq_base_swa", 1, 1e12, default_rope_base, &c->rope_local_base);
}
