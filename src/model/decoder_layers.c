/* decoder_layers: what a decoder makes itself (angles, ones), and what each layer has for itself beside its weights. */
#include "base/str.h"
#include "model/decoder_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONES       "ones"
#define LOCAL_ONES "local_ones"

/* ---- angles ---------------------------------------------------------------------- */

bool decoder_has_local_angles(const model_config *c, uint32_t layer)
{
    return c->rope_local_base > 0 && c->is_windowed[layer];
}

uint32_t decoder_local_rope_dims(const model_config *c)
{
    return c->local_head_dim ? c->local_head_dim : c->rope_dims;
}

static void plain_angles(float base, uint32_t dims, float *out)
{
    for (uint32_t i = 0; i < dims / 2; i++)
        out[i] = 1 / powf(base, (float)(2 * i) / (float)dims);
}

/* Of both angles a part, not one angle divided: that differs in the last bit. */
static void yarn_angles(const model_config *c, float *out)
{
    for (uint32_t i = 0; i < c->rope_dims / 2; i++) {
        float slow = 1 / (c->rope_factor * powf(c->rope_base, (float)(2 * i) / (float)c->rope_dims));
        float kept = config_yarn_kept(c, i), slowed = slow * (1 - kept);
        out[i] = slowed + out[i] * kept;
    }
}

void decoder_angles(const model_config *c, bool long_text, float *out)
{
    plain_angles(c->rope_base, c->rope_dims, out);
    if (c->rope_scaling == ROPE_YARN) {
        yarn_angles(c, out);
        return;
    }
    for (uint32_t i = 0; i < c->rope_dims / 2; i++)
        out[i] /= c->rope_divisors[long_text][i];
}

/* How many rows of angles: one for all positions up to context_tok, and where it depends on the position one for each of
 * those beyond. */
static uint32_t angle_rows(const model_config *c, uint32_t context_tok)
{
    return c->rope_scaling == ROPE_DYNAMIC && context_tok > c->context_tok ? context_tok - c->context_tok + 1 : 1;
}

/* A position is the last one of the text then, and the base is that for a text of this length (NTK). */
static void dynamic_angles(const model_config *c, uint32_t context_tok, float *out)
{
    uint32_t pairs = c->rope_dims / 2, rows = angle_rows(c, context_tok);
    for (uint32_t row = 0; row < rows; row++) {
        float length = (float)(c->context_tok + row) * c->rope_factor / (float)c->context_tok - (c->rope_factor - 1);
        float base = c->rope_base * powf(length, (float)c->rope_dims / ((float)c->rope_dims - 2));
        plain_angles(row ? base : c->rope_base, c->rope_dims, out + (size_t)row * pairs);
    }
}

void decoder_add_angles(building *b)
{
    const model_config *c = b->c;
    bool global = false, local = false;
    for (uint32_t i = 0; c->rope_dims && i < c->layer_count; i++)
        *(decoder_has_local_angles(c, i) ? &local : &global) |= !c->is_unrotated[i] && !c->is_recurrent[i];
    uint32_t rows = angle_rows(c, b->o->context_tok);
    shape s = rows > 1 ? shape2(rows, c->rope_dims / 2) : shape1(c->rope_dims / 2);
    if (global && b->o->angles_given && decoder_changes_angles(c, b->o->context_tok))
        b->angles = graph_input(b->g, DECODER_ROPE_ANGLES, DTYPE_F32, s);
    else if (global)
        b->angles = graph_weight(b->g, DECODER_ROPE_ANGLES, TYPE_F32, s);
    if (local)
        b->local_angles =
            graph_weight(b->g, DECODER_ROPE_LOCAL_ANGLES, TYPE_F32, shape1(decoder_local_rope_dims(c) / 2));
}

/* ---- weights that no file has ------------------------------------------------------ */

node decoder_ones(building *b, uint32_t layer)
{
    bool local = b->c->local_head_dim && b->c->is_windowed[layer];
    node *n = local ? &b->local_ones : &b->ones;
    if (!*n)
        *n = graph_weight(b->g, local ? LOCAL_ONES : ONES, TYPE_F32, shape1(config_head_dim(b->c, layer)));
    return *n;
}

const void *decoder_made_weight(decoder_weights *d, const char *name)
{
    const model_config *c = model_get_config(d->m);
    if (strcmp(name, DECODER_ROPE_ANGLES) == 0 && angle_rows(c, d->context_tok) > 1) {
        if (!d->angles) {
            d->angles = mem_alloc((size_t)angle_rows(c, d->context_tok) * (c->rope_dims / 2) * sizeof *d->angles);
            dynamic_angles(c, d->context_tok, d->angles);
        }
        return d->angles;
    }
    if (strcmp(name, DECODER_ROPE_ANGLES) == 0) {
        decoder_angles(c, c->rope_original_tok && d->context_tok > c->rope_original_tok, d->made[0]);
        return d->made[0];
    }
    if (strcmp(name, DECODER_ROPE_LOCAL_ANGLES) == 0) {
        plain_angles(c->rope_local_base, decoder_local_rope_dims(c), d->made[1]);
        return d->made[1];
    }
    if (strcmp(name, ONES) != 0 && strcmp(name, LOCAL_ONES) != 0)
        return NULL;
    for (uint32_t i = 0; i < CONFIG_MAX_HEAD_DIM; i++)
        d->made[2][i] = 1;
    return d->made[2];
}

void decoder_weights_free(decoder_weights *w)
{
    free(w->angles);
    w->angles = NULL;
}

/* ---- layers --------------------------------------------------------------------------- */

void decoder_leave_keys_and_values(building *b, uint32_t layer)
{
    static const char *const parts[] = {"attn_k", "attn_v", "attn_k_norm", "attn_v_norm"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        model_weight w;
        err missing = {0};
        snprintf(name, sizeof name, "blk.%u.%s.weight", layer, parts[i]);
        if (model_find_weight(b->m, name, &w, &missing))
            b->used[w.tensor] = true;
    }
}

/* A part of what the tokens are looked up as, and of what they have become. */
node decoder_per_layer_inputs(building *b, node tokens, node x)
{
    const model_config *c = b->c;
    uint32_t dim = c->per_layer_dim, all = c->layer_count * dim;
    node table = decoder_weight(b, c->per_layer_vocab_tok, all, "per_layer_token_embd.weight");
    if (c->per_layer_vocab_tok < c->vocab_tok)
        tokens = decoder_tokens_of_table(b, tokens);
    node looked_up = graph_scale(b->g, graph_gather(b->g, table, tokens), sqrtf((float)dim), 0);
    node made = graph_matmul(b->g, x, decoder_weight(b, all, c->embedding_dim, "per_layer_model_proj.weight"));
    made = graph_scale(b->g, made, 1 / sqrtf((float)c->embedding_dim), 0);
    made = graph_reshape(b->g, made, shape3(b->o->rows, c->layer_count, dim));
    made = decoder_norm(b, made, dim, "per_layer_proj_norm", 0);
    made = graph_binary(b->g, BINARY_ADD, graph_reshape(b->g, made, shape2(b->o->rows, all)), looked_up);
    return graph_scale(b->g, made, sqrtf(0.5f), 0);
}

node decoder_per_layer_part(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t dim = c->per_layer_dim;
    node gate = decoder_activated(b, decoder_linear(b, x, dim, c->embedding_dim, "inp_gate", layer, false));
    node y = graph_binary(b->g, BINARY_MUL, gate, graph_slice(b->g, b->per_layer, layer * dim, dim));
    y = decoder_linear(b, y, c->embedding_dim, dim, "proj", layer, false);
    return decoder_norm(b, y, c->embedding_dim, "blk.%u.post_norm", layer);
}

node decoder_with_per_layer_input(building *b, node x, uint32_t layer)
{
    return graph_binary(b->g, BINARY_ADD, x, decoder_per_layer_part(b, x, layer));
}
