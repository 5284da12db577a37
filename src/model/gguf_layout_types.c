/* gguf_layout_types: which type a tensor of a file gets. */
#include "model/gguf_layout.h"

#include <stdio.h>
#include <string.h>

static bool fits(tensor_type type, uint32_t columns)
{
    return columns % type_find(type)->block_weights == 0;
}

tensor_type layout_wanted_type(const layout_tensor *t, tensor_type wanted)
{
    return wanted == TYPE_MXFP4 && t->beside_experts ? TYPE_Q8_0 : wanted;
}

bool layout_stays_f32(tensor_role role)
{
    return role == ROLE_NORM || role == ROLE_BIAS || role == ROLE_DIVISORS || role == ROLE_POSITIONS ||
           role == ROLE_FLOATS;
}

tensor_type layout_choose_type(tensor_role role, uint32_t columns, tensor_type wanted, tensor_type finer)
{
    if (layout_stays_f32(role))
        return TYPE_F32;
    bool coarse = type_find(wanted)->block_weights > 1 && wanted != TYPE_Q8_0 && wanted != TYPE_Q6_K;
    tensor_type type = coarse && role == ROLE_OUTPUT ? finer : wanted;
    while (!fits(type, columns))
        type = type_find(type)->smaller_blocks;
    return type;
}

static const layout_mix MIXES[] = {{"q4_k_m", TYPE_Q4_K, TYPE_Q6_K, TYPE_Q5_K, 15},
                                   {"q5_k_m", TYPE_Q5_K, TYPE_Q6_K, TYPE_Q6_K, 17}};

const char *layout_mix_name(uint32_t i)
{
    return i < sizeof MIXES / sizeof *MIXES ? MIXES[i].name : NULL;
}

const layout_mix *layout_find_mix(const char *name)
{
    for (size_t i = 0; i < sizeof MIXES / sizeof *MIXES; i++)
        if (strcmp(MIXES[i].name, name) == 0)
            return &MIXES[i];
    return NULL;
}

/* The first and the last eighth of the layers, and every third between. */
static bool matters_more(uint32_t layer, uint32_t layers)
{
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

tensor_type layout_mixed_type(const layout_mix *mix, const char *name, uint32_t columns, uint32_t layers,
                              tensor_type type)
{
    unsigned layer;
    char part[32];
    if (!mix || sscanf(name, "blk.%u.%31[^.].weight", &layer, part) != 2)
        return type;
    if (strcmp(part, "attn_qkv") == 0)
        type = mix->fused;
    else if ((strcmp(part, "attn_v") == 0 || strcmp(part, "ffn_down") == 0) && matters_more(layer, layers))
        type = mix->finer;
    while (!fits(type, columns))
        type = type_find(type)->smaller_blocks;
    return type;
}
