/* latent: splits attn_kv_b into attn_k_b and attn_v_b. */
#include "model/latent.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows of values, as they are. */
static void keep_values(model *m, const model_weight *both, uint32_t keys, uint32_t layer)
{
    const model_config *c = model_get_config(m);
    uint64_t row = type_bytes(both->type, both->columns), part = c->value_dim * row;
    char name[MODEL_NAME_BYTES], *to = mem_alloc(c->head_count * part);
    for (uint64_t h = 0; h < c->head_count; h++)
        memcpy(to + h * part, (const char *)both->data + (h * (keys + c->value_dim) + keys) * row, part);
    model_weight w = {.type = both->type,
                      .rows = c->head_count * c->value_dim,
                      .columns = both->columns,
                      .data = to,
                      .bytes = c->head_count * part,
                      .tensor = both->tensor};
    snprintf(name, sizeof name, "blk.%u.attn_v_b.weight", layer);
    model_replace_weight(m, name, &w);
}

/* The rows of keys as columns; what is quantised by rows becomes f16. */
static void turn_keys(model *m, const model_weight *both, uint32_t keys, uint32_t layer)
{
    const model_config *c = model_get_config(m);
    tensor_type type = type_find(both->type)->block_weights == 1 ? both->type : TYPE_F16;
    uint64_t row = type_bytes(both->type, both->columns), count = (uint64_t)c->head_count * both->columns * keys;
    float *floats = mem_alloc(count * sizeof *floats), *line = mem_alloc(both->columns * sizeof *line);
    for (uint64_t r = 0; r < (uint64_t)c->head_count * keys; r++) {
        uint64_t h = r / keys;
        type_to_f32(both->type, (const char *)both->data + (r + h * c->value_dim) * row, line, both->columns);
        for (uint64_t i = 0; i < both->columns; i++)
            floats[(h * both->columns + i) * keys + r % keys] = line[i];
    }
    free(line);
    model_weight w = {.type = type,
                      .rows = c->head_count * both->columns,
                      .columns = keys,
                      .bytes = type_bytes(type, count),
                      .tensor = both->tensor};
    void *data = mem_alloc(w.bytes);
    type_from_f32(type, floats, data, count);
    free(floats);
    w.data = data;
    char name[MODEL_NAME_BYTES];
    snprintf(name, sizeof name, "blk.%u.attn_k_b.weight", layer);
    model_replace_weight(m, name, &w);
}

bool latent_split(model *m, err *e)
{
    const model_config *c = model_get_config(m);
    uint32_t keys = c->head_dim - c->rope_dims;
    for (uint32_t layer = 0; c->kv_rank && layer < c->layer_count; layer++) {
        char name[MODEL_NAME_BYTES];
        model_weight both;
        snprintf(name, sizeof name, "blk.%u.attn_kv_b.weight", layer);
        if (!model_has_whole(m, name, &both))
            continue; /* the two are there, or missing, which the decoder says */
        if (both.rows != c->head_count * (keys + c->value_dim) || both.columns != c->kv_rank || !both.data)
            return err_set(e, "%s: weight %s is %u x %u and should be %u x %u", model_get_path(m), name, both.rows,
                           both.columns, c->head_count * (keys + c->value_dim), c->kv_rank);
        keep_values(m, &both, keys, layer);
        turn_keys(m, &both, keys, layer);
    }
    return true;
}
