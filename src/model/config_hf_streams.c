/* config_hf_streams: what a gemma3n's config.json says about its streams and its sparse layers. */
#include "model/config_hf_internal.h"

#include <math.h>

/* The number below which a share of all numbers lies, if they are distributed normally. From 0, steps do not
 * overshoot. */
static double normal_quantile(double share)
{
    double x = 0;
    for (int i = 0; i < 200; i++)
        x += (share - 0.5 * erfc(-x / sqrt(2))) * sqrt(2 * M_PI) * exp(x * x / 2);
    return x;
}

/* A share for each layer; the first ten are sparse if it is not said. */
static bool hf_sparsity(hf_source *s)
{
    static const char key[] = "activation_sparsity_pattern";
    enum { USUAL_LAYERS = 10 };
    model_config *c = s->c;
    const json_t *pattern = json_get_present(s->root, key);
    if (pattern && json_array_size(pattern) != c->layer_count)
        return err_set(s->e, "%s: \"%s\" must be %u numbers, one per layer", s->file, key, c->layer_count);
    for (uint32_t i = 0; i < c->layer_count; i++) {
        const json_t *one = json_array_get(pattern, i);
        double share = c->layer_count > USUAL_LAYERS && i < USUAL_LAYERS ? 0.95 : 0;
        if (pattern && !json_is_number(one))
            return hf_wrong(s, key, "must be numbers");
        if (pattern)
            share = json_number_value(one);
        if (!config_check_number(s->file, key, share, 0, 0.9999, s->e))
            return false;
        c->is_sparse[i] = share > 0;
        c->cutoff_deviations[i] = c->is_sparse[i] ? (float)normal_quantile((double)(float)share) : 0;
    }
    return true;
}

bool hf_ffn_of_layers(hf_source *s, const char *key, uint32_t *out)
{
    const json_t *list = json_get_present(s->root, key), *first = json_array_get(list, 0);
    if (!json_is_array(list))
        return hf_size(s, key, MAX_FFN, 0, out);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_integer(first) || !json_equal(json_array_get(list, i), first))
            return config_unsupported(s->file, key, "a number that differs between layers", s->e);
    if (json_array_size(list) != s->c->layer_count)
        return err_set(s->e, "%s: \"%s\" must be %u numbers, one per layer", s->file, key, s->c->layer_count);
    if (!config_check_number(s->file, key, (double)json_integer_value(first), 1, MAX_FFN, s->e))
        return false;
    *out = (uint32_t)json_integer_value(first);
    return true;
}

bool hf_streams(hf_source *s)
{
    model_config *c = s->c;
    const uint32_t tokens = 262144;
    bool capped = !hf_is_null(s->root, "final_logit_softcapping");
    if (!hf_size(s, "altup_num_inputs", MAX_STREAMS, 4, &c->streams) ||
        !hf_count(s, "altup_active_idx", c->streams - 1, 0, &c->active_stream) ||
        !hf_bool(s, "altup_correct_scale", true, &c->scales_active) ||
        !hf_size(s, "laurel_rank", MAX_EMBEDDING, 64, &c->laurel_rank) ||
        !hf_count(s, "num_kv_shared_layers", c->layer_count, 15, &c->kv_shared_layers) ||
        !hf_size(s, "hidden_size_per_layer_input", MAX_EMBEDDING / c->layer_count, 256, &c->per_layer_dim) ||
        !hf_size(s, "vocab_size_per_layer_input", MAX_VOCAB, tokens, &c->per_layer_vocab_tok) ||
        !hf_float(s, "final_logit_softcapping", 1e-3, 1e6, capped ? gemma3n_logit_cap : 0, &c->logit_cap))
        return false;
    return config_check_streams(s->file, "altup_num_inputs", c, s->e) && hf_sparsity(s);
}
