/* What whoever has a model_config may rely on, wherever it came from: for the fuzz targets. */
#include "fuzz/require.h"
#include "model/config_test.h"

#include <math.h>

static void check_config(const model_config *c)
{
    require(c->layer_count > 0 && c->layer_count <= CONFIG_MAX_LAYERS, "a number of layers that cannot be");
    require(c->vocab_tok > 0 && c->context_tok > 0 && c->embedding_dim > 0, "a size is 0");
    require(isfinite(c->norm_epsilon) && isfinite(c->rope_base) && isfinite(c->attention_scale), "no number");
    require(c->kv_shared_layers < c->layer_count, "no layer has keys of its own");
    require(c->rope_dims % 2 == 0 && c->rope_dims <= CONFIG_MAX_HEAD_DIM, "more is turned than a head has");
    require(c->expert_used <= c->expert_count && c->expert_count <= CONFIG_MAX_EXPERTS, "more experts than there are");
    for (uint32_t i = 0; i < c->layer_count; i++) {
        uint32_t kv_heads = config_kv_head_count(c, i), head = config_head_dim(c, i);
        require(kv_heads > 0 && c->head_count % kv_heads == 0, "heads that cannot share keys");
        require(head > 0 && head <= CONFIG_MAX_HEAD_DIM, "a head's size that cannot be");
        require(config_cache_layer(c, i) <= i, "keys of a later layer");
        require(config_window(c, i, 64) <= 64, "a window larger than all");
    }
    for (uint32_t i = 0; !c->rope_divisors_missing && i < c->rope_dims / 2; i++)
        require(isfinite(c->rope_divisors[0][i]) && isfinite(c->rope_divisors[1][i]), "an angle is no number");
}
