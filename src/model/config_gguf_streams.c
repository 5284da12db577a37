/* config_gguf_streams: what a gemma3n's GGUF file says about its streams and its sparse layers. */
#include "model/config_gguf_internal.h"

#include <math.h>

/* The rows of a matrix, 0 if it is not there. */
static uint32_t rows_of(const gguf *g, const char *name)
{
    const gguf_tensor *t = gguf_find_tensor(g, name);
    return t && t->dims[1] <= MAX_VOCAB ? (uint32_t)t->dims[1] : 0;
}

/* Deviations for each layer; less than all numbers: the layer is not sparse. */
static bool gguf_sparsity(gguf_source *s)
{
    model_config *c = s->c;
    const char *key = gguf_arch_key(s, "activation_sparsity_scale");
    gguf_array list;
    if (!gguf_has(s->g, key))
        return true;
    if (!gguf_get_reals(s->g, key, &list, s->e))
        return false;
    if (list.count < c->layer_count)
        return err_set(s->e, "%s: \"%s\" has %zu numbers for %u layers", s->file, key, list.count, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++) {
        double deviations = gguf_array_float(&list, i);
        c->is_sparse[i] = deviations != -INFINITY;
        if (c->is_sparse[i] && !config_check_number(s->file, key, deviations, -10, 10, s->e))
            return false;
        c->cutoff_deviations[i] = c->is_sparse[i] ? (float)deviations : 0;
    }
    return true;
}

bool gguf_streams(gguf_source *s)
{
    model_config *c = s->c;
    if (!gguf_size(s, "altup.num_inputs", MAX_STREAMS, 0, &c->streams) ||
        !gguf_count(s, "altup.active_idx", c->streams - 1, &c->active_stream) ||
        !gguf_count(s, "attention.shared_kv_layers", c->layer_count, &c->kv_shared_layers) ||
        !gguf_size(s, "embedding_length_per_layer_input", MAX_EMBEDDING / c->layer_count, 0, &c->per_layer_dim) ||
        !gguf_float(s, "final_logit_softcapping", 0, 1e6, gemma3n_logit_cap, &c->logit_cap) ||
        !gguf_float(s, "rope.freq_base_swa", 1, 1e12, default_rope_base, &c->rope_local_base))
        return false;
    c->scales_active = gguf_find_tensor(s->g, "blk.0.altup_correct_scale.weight");
    c->laurel_rank = rows_of(s->g, "blk.0.laurel_l.weight");
    if (!c->laurel_rank)
        return err_set(s->e, "%s: tensor blk.0.laurel_l.weight is missing", s->file);
    uint32_t table = rows_of(s->g, "per_layer_token_embd.weight");
    c->per_layer_vocab_tok = table ? table : c->vocab_tok;
    return config_check_streams(s->file, gguf_arch_key(s, "altup.num_inputs"), c, s->e) && gguf_sparsity(s);
}
