/* decoder: the graph of a transformer, layer by layer, from its configuration. */
#include "model/decoder_internal.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TUNING_HINT_POSITION = 512 }; /* of a conversation that has begun */

static void mark(building *b, const model_weight *w)
{
    b->used[w->tensor < model_tensor_count(b->m) ? w->tensor : model_tensor_count(b->m)] = true;
    if (w->rows_from)
        model_rows_mark(w->rows_from, b->used);
}

node decoder_weight(building *b, uint32_t rows, uint32_t columns, const char *fmt, ...)
{
    char name[96];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    model_weight w;
    if (b->e->kind != ERR_NONE || !model_find_weight(b->m, name, &w, b->e))
        return 0;
    if (w.rows != rows || w.columns != columns) {
        err_set(b->e, "weight %s is %u x %u and should be %u x %u", name, w.rows, w.columns, rows, columns);
        return 0;
    }
    mark(b, &w);
    return graph_weight(b->g, name, w.type, rows == 1 ? shape1(columns) : shape2(rows, columns));
}

node decoder_norm(building *b, node x, uint32_t width, const char *fmt, uint32_t layer)
{
    char name[64];
    const model_config *c = b->c;
    snprintf(name, sizeof name, fmt, layer);
    node scale = decoder_weight(b, 1, width, "%s.weight", name);
    if (!c->layer_norm)
        return graph_rmsnorm(b->g, x, scale, c->norm_epsilon, c->norm_adds_one ? 1 : 0);
    node bias = c->norm_bias ? decoder_weight(b, 1, width, "%s.bias", name) : 0;
    return graph_layernorm(b->g, x, scale, bias, c->norm_epsilon);
}

node decoder_linear(building *b, node x, uint32_t rows, uint32_t columns, const char *part, uint32_t layer, bool biased)
{
    node y = graph_matmul(b->g, x, decoder_weight(b, rows, columns, "blk.%u.%s.weight", layer, part));
    return biased ? graph_binary(b->g, BINARY_ADD, y, decoder_weight(b, 1, rows, "blk.%u.%s.bias", layer, part)) : y;
}

/* Heads of q or k: apart, normed where they are, and rotated. */
static node rotated_heads(building *b, node x, uint32_t heads, const char *norm_name, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t head_dim = config_head_dim(c, layer);
    if (c->qk_norm == QK_NORM_ROWS)
        x = decoder_norm(b, x, heads * head_dim, norm_name, layer);
    node h = graph_reshape(b->g, x, shape3(b->o->rows, heads, head_dim));
    if (c->qk_norm == QK_NORM_HEADS)
        h = decoder_norm(b, h, head_dim, norm_name, layer);
    if (c->qk_norm == QK_NORM_EACH) {
        char name[64];
        snprintf(name, sizeof name, norm_name, layer);
        h = graph_layernorm(b->g, h, decoder_ones(b, layer), 0, c->norm_epsilon);
        h = graph_binary(b->g, BINARY_MUL, h, decoder_weight(b, heads, head_dim, "%s.weight", name));
    }
    return c->rope_dims == 0 || c->is_unrotated[layer] ? h : decoder_rope(b, h, layer);
}

node decoder_rope(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    bool local = decoder_has_local_angles(c, layer);
    rope_spec spec = {.rotated = local ? decoder_local_rope_dims(c) : c->rope_dims,
                      .interleaved = c->rope_order == ROPE_ADJACENT,
                      .base = 1, /* the factors are all */
                      .factors = local ? b->local_angles : b->angles,
                      .factors_from = c->context_tok - 1,
                      .magnitude = local ? 1 : c->rope_magnitude};
    return graph_rope(b->g, x, b->position, spec);
}

node decoder_cached(building *b, node rows, const char *fmt, uint32_t layer)
{
    char name[32];
    shape s = graph_at(b->g, rows)->s;
    int prefix = snprintf(name, sizeof name, "%s", b->o->slots ? "slot_" : "");
    snprintf(name + prefix, sizeof name - (size_t)prefix, fmt, layer);
    node state = graph_state(b->g, name, b->o->cache,
                             shape4(b->o->slots ? b->o->rows : 1, b->o->context_tok, s.dims[2], s.dims[3]));
    return graph_store(b->g, state, rows, b->position);
}

/* The second half of each head is the gate of what attention makes. */
static node gate_of(building *b, node *q)
{
    const model_config *c = b->c;
    node both = graph_reshape(b->g, *q, shape3(b->o->rows, c->head_count, 2 * c->head_dim));
    node gate = graph_unary(b->g, UNARY_SIGMOID, graph_slice(b->g, both, c->head_dim, c->head_dim));
    *q = graph_slice(b->g, both, 0, c->head_dim);
    return graph_reshape(b->g, gate, shape2(b->o->rows, c->head_count * c->head_dim));
}

typedef struct pair {
    node k, v;
} pair;

static pair products_of_keys_and_values(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t dim = config_kv_head_count(c, layer) * config_head_dim(c, layer);
    bool same = c->value_is_key && !c->is_windowed[layer];
    node k = decoder_linear(b, x, dim, c->embedding_dim, "attn_k", layer, c->qkv_bias);
    return (pair){k, same ? k : decoder_linear(b, x, dim, c->embedding_dim, "attn_v", layer, c->qkv_bias)};
}

static void keep_keys_and_values(building *b, pair p, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t heads = config_kv_head_count(c, layer);
    node k = rotated_heads(b, p.k, heads, "blk.%u.attn_k_norm", layer);
    node v = graph_reshape(b->g, p.v, shape3(b->o->rows, heads, config_head_dim(c, layer)));
    if (c->value_norm)
        v = graph_rmsnorm(b->g, v, decoder_ones(b, layer), c->norm_epsilon, 0);
    b->keys[layer] = b->o->whole ? k : decoder_cached(b, k, "keys.%u", layer);
    b->values[layer] = b->o->whole ? v : decoder_cached(b, v, "values.%u", layer);
}

node decoder_attention(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t q_dim = c->head_count * config_head_dim(c, layer), from = config_cache_layer(c, layer);
    node q =
        decoder_linear(b, x, c->attention_gated ? 2 * q_dim : q_dim, c->embedding_dim, "attn_q", layer, c->qkv_bias);
    pair own = from == layer ? products_of_keys_and_values(b, x, layer) : (pair){0};
    node gate = c->attention_gated ? gate_of(b, &q) : 0;
    q = rotated_heads(b, q, c->head_count, "blk.%u.attn_q_norm", layer);
    if (from == layer)
        keep_keys_and_values(b, own, layer);
    else
        decoder_leave_keys_and_values(b, layer);
    attention_spec spec = {
        .scale = c->attention_scale,
        .softcap = c->attention_cap,
        .window = c->is_windowed[layer] ? c->window_tok : 0,
        .sinks = c->attention_sinks ? decoder_weight(b, 1, c->head_count, "blk.%u.attn_sinks.weight", layer) : 0};
    spec.whole = b->o->whole;
    spec.causal = !c->bidirectional;
    node a = graph_attention(b->g, q, b->keys[from], b->values[from], b->o->whole ? b->last : b->position, spec);
    if (gate)
        a = graph_binary(b->g, BINARY_MUL, a, gate);
    return decoder_linear(b, a, c->embedding_dim, q_dim, "attn_output", layer, c->output_bias);
}

node decoder_activated(building *b, node x)
{
    switch (b->c->act) {
    case ACT_SILU: return graph_unary(b->g, UNARY_SILU, x);
    case ACT_GELU_TANH: return graph_unary(b->g, UNARY_GELU, x);
    case ACT_GELU: return graph_unary(b->g, UNARY_GELU_ERF, x);
    case ACT_RELU: return graph_unary(b->g, UNARY_RELU, x);
    case ACT_CLAMPED_GLU: break; /* of a gate and what it multiplies */
    case ACT_RELU2: return graph_unary(b->g, UNARY_SQUARE, graph_unary(b->g, UNARY_RELU, x));
    }
    return 0;
}

static node multiplied(building *b, node gate, node up)
{
    if (b->c->act == ACT_CLAMPED_GLU)
        return graph_binary(b->g, BINARY_CLAMPED_GLU, gate, up);
    return graph_binary(b->g, BINARY_MUL, decoder_activated(b, gate), up);
}

static node feed_forward(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t inner = config_ffn_dim(c, layer);
    node gate = c->gated ? decoder_linear(b, x, inner, c->embedding_dim, "ffn_gate", layer, c->ffn_bias) : 0;
    node up = decoder_linear(b, x, inner, c->embedding_dim, "ffn_up", layer, c->ffn_bias);
    node y = c->gated ? multiplied(b, gate, up) : decoder_activated(b, up);
    return decoder_linear(b, y, c->embedding_dim, inner, "ffn_down", layer, c->ffn_bias);
}

/* All matrices of one kind, one after the other; their product with the chosen ones. */
static node chosen_of(building *b, node x, node routes, uint32_t rows, uint32_t columns, const char *part,
                      uint32_t layer)
{
    uint32_t count = b->c->expert_count;
    node w = decoder_weight(b, count * rows, columns, "blk.%u.%s.weight", layer, part);
    node bias = b->c->expert_bias ? decoder_weight(b, count, rows, "blk.%u.%s.bias", layer, part) : 0;
    return graph_experts(b->g, x, w, bias, count, routes);
}

node decoder_chosen(building *b, node x, node routes, uint32_t layer)
{
    uint32_t dim = b->c->embedding_dim, inner = b->c->expert_ffn_dim;
    node gate = chosen_of(b, x, routes, inner, dim, "ffn_gate_exps", layer);
    node up = chosen_of(b, x, routes, inner, dim, "ffn_up_exps", layer);
    return graph_mix(b->g, chosen_of(b, multiplied(b, gate, up), routes, dim, inner, "ffn_down_exps", layer), routes);
}

/* The router's scores choose experts and weigh what they make; one more, for all tokens, has a gate of its own. */
static node experts(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    uint32_t dim = c->embedding_dim, shared = c->shared_ffn_dim;
    node scores = decoder_linear(b, x, c->expert_count, dim, "ffn_gate_inp", layer, c->expert_bias);
    bool simple = !c->expert_sigmoid && !c->expert_choice_bias && !c->expert_groups && c->expert_scale == 1;
    node routes =
        simple ? graph_route(b->g, scores, c->expert_used, c->expert_weights_normed ? ROUTE_OF_CHOSEN : ROUTE_OF_ALL)
               : decoder_route(b, scores, layer);
    node y = decoder_chosen(b, x, routes, layer);
    if (!shared)
        return y;
    node share = c->shared_gated ? decoder_linear(b, x, 1, dim, "ffn_gate_inp_shexp", layer, false) : 0;
    if (share)
        share = graph_unary(b->g, UNARY_SIGMOID, share);
    node gate = decoder_linear(b, x, shared, dim, "ffn_gate_shexp", layer, false);
    node z = multiplied(b, gate, decoder_linear(b, x, shared, dim, "ffn_up_shexp", layer, false));
    z = decoder_linear(b, z, dim, shared, "ffn_down_shexp", layer, false);
    return graph_binary(b->g, BINARY_ADD, y, share ? graph_binary(b->g, BINARY_MUL, z, share) : z);
}

/* x + y, y normed and scaled where it is, or the sum normed. */
static node added(building *b, node x, node y, const char *norm_name, uint32_t layer)
{
    const model_config *c = b->c;
    if (c->post_norms)
        y = decoder_norm(b, y, c->embedding_dim, norm_name, layer);
    if (c->residual_scale != 1)
        y = graph_scale(b->g, y, c->residual_scale, 0);
    y = graph_binary(b->g, BINARY_ADD, x, y);
    return c->norms_after_sum ? decoder_norm(b, y, c->embedding_dim, norm_name, layer) : y;
}

static node layer_of(building *b, node x, uint32_t layer)
{
    const model_config *c = b->c;
    node y = c->pre_norms ? decoder_norm(b, x, c->embedding_dim, "blk.%u.attn_norm", layer) : x;
    node a = c->is_recurrent[layer] ? decoder_recurrence(b, y, layer)
             : c->kv_rank           ? decoder_latent(b, y, layer)
                                    : decoder_attention(b, y, layer);
    bool sums = c->norms_after_sum;
    node z = added(b, x, a, sums ? "blk.%u.attn_output_norm" : "blk.%u.post_attention_norm", layer);
    if (!c->parallel)
        x = z;
    /* a name that GGUF otherwise has for a norm of what attention makes */
    const char *ffn_norm = c->recurrent_heads ? "blk.%u.post_attention_norm" : "blk.%u.ffn_norm";
    if (!c->one_norm)
        y = c->pre_norms ? decoder_norm(b, x, c->embedding_dim, ffn_norm, layer) : x;
    bool routed = c->expert_count && layer >= c->dense_layers;
    y = routed && !c->experts_beside ? experts(b, y, layer) : feed_forward(b, y, layer);
    if (c->experts_beside)
        y = decoder_experts_beside(b, x, y, layer);
    x = added(b, z, y, sums ? "blk.%u.layer_output_norm" : "blk.%u.post_ffw_norm", layer);
    if (c->per_layer_dim)
        x = decoder_with_per_layer_input(b, x, layer);
    if (c->layer_scales)
        x = graph_binary(b->g, BINARY_MUL, x, decoder_weight(b, 1, 1, "blk.%u.layer_output_scale.weight", layer));
    return x;
}

bool decoder_changes_angles(const model_config *c, uint32_t context_tok)
{
    return c->rope_original_tok && context_tok > c->rope_original_tok &&
           memcmp(c->rope_divisors[0], c->rope_divisors[1], c->rope_dims / 2 * sizeof(float)) != 0;
}

node decoder_last(building *b)
{
    if (b->o->one_row && !b->last)
        b->last = graph_input(b->g, "last", DTYPE_U32, shape1(1));
    return b->last;
}

static node output(building *b, node x, node embedding)
{
    const model_config *c = b->c;
    if (b->o->one_row)
        x = graph_pick(b->g, x, decoder_last(b));
    if (c->streams)
        x = decoder_streams_close(b, x);
    x = decoder_norm(b, x, c->embedding_dim, "output_norm", 0);
    node head = c->tied_embeddings ? embedding : decoder_weight(b, c->vocab_tok, c->embedding_dim, "output.weight");
    node logits = graph_matmul(b->g, x, head);
    if (c->head_bias)
        logits = graph_binary(b->g, BINARY_ADD, logits, decoder_weight(b, 1, c->vocab_tok, "output.bias"));
    if (c->logit_scale != 1)
        logits = graph_scale(b->g, logits, c->logit_scale, 0);
    return c->logit_cap > 0 ? graph_softcap(b->g, logits, c->logit_cap) : logits;
}

uint32_t decoder_first_position(const model_config *c)
{
    return c->position_offset;
}

uint32_t decoder_embedding_dim(const model_config *c)
{
    const model_embedding *o = &c->embedding;
    return o->dense_count ? o->dense[o->dense_count - 1].rows : c->embedding_dim;
}

/* What makes logits, which nobody asked for; the norm before it is wanted in embeddings. */
static void leave_head(building *b)
{
    static const char *const parts[] = {"output.weight", "output.bias", "output_norm.weight", "output_norm.bias"};
    model_weight head;
    for (size_t i = 0; i < (b->o->whole ? 2 : sizeof parts / sizeof *parts); i++)
        if (model_has_whole(b->m, parts[i], &head))
            mark(b, &head);
    if (b->c->streams && model_find_weight(b->m, "altup_unembd_proj.weight", &head, b->e))
        mark(b, &head);
}

/* The rows of a whole text; of them, by the shares that the caller gives, the embedding. */
static void embed(building *b, node x)
{
    const model_config *c = b->c;
    if (!c->norms_after_sum)
        x = decoder_norm(b, x, c->embedding_dim, "output_norm", 0);
    graph_output(b->g, "rows", x);
    node shares = graph_input(b->g, "pooling", DTYPE_F32, shape2(1, b->o->rows));
    node y = graph_pool(b->g, x, shares);
    for (uint32_t i = 0; i < c->embedding.dense_count; i++) {
        const dense_layer *d = &c->embedding.dense[i];
        y = graph_matmul(b->g, y, decoder_weight(b, d->rows, d->columns, "dense_%u.weight", i + 2));
        if (d->biased)
            y = graph_binary(b->g, BINARY_ADD, y, decoder_weight(b, 1, d->rows, "dense_%u.bias", i + 2));
        if (d->tanh)
            y = graph_unary(b->g, UNARY_TANH, y);
    }
    graph_output(b->g, "embedding", y);
    leave_head(b);
}

/* What encoders add to the embedding of a token: the first of the token types, and a norm. */
static node typed(building *b, node x)
{
    const model_config *c = b->c;
    if (c->token_types) {
        node types = decoder_weight(b, c->token_types, c->embedding_dim, "token_types.weight");
        node zero = graph_input(b->g, "token_type", DTYPE_U32, shape1(1));
        x = graph_binary(b->g, BINARY_ADD, x, graph_gather(b->g, types, zero));
    }
    return decoder_norm(b, x, c->embedding_dim, "token_embd_norm", 0);
}

graph *decoder_graph(const model *m, const decoder_options *o, err *e)
{
    const model_config *c = model_get_config(m);
    if (config_is_encoder(c) && !o->whole) {
        err_set(e, "%s: a %s makes embeddings (solo embed), not text", model_get_path(m), config_arch_name(c->arch));
        return NULL;
    }
    const char *cached_only = c->kv_rank           ? "latent attention"
                              : c->recurrent_heads ? "recurrent states"
                              : c->attention_sinks ? "attention sinks"
                              : c->streams         ? "several streams"
                                                   : NULL;
    if (o->whole && cached_only) {
        err_set(e, "%s: embeddings of a model with %s are not supported", model_get_path(m), cached_only);
        return NULL;
    }
    if (c->learned_positions && o->context_tok > c->context_tok) {
        err_set(e, "a context of %u tokens: %s has learned %u positions", o->context_tok, model_get_path(m),
                c->context_tok);
        return NULL;
    }
    building b = {.g = graph_new(), .m = m, .c = c, .o = o, .e = e};
    b.used = mem_alloc((model_tensor_count(m) + 1) * sizeof *b.used);
    node tokens = graph_input(b.g, o->slots ? "slot_tokens" : "tokens", DTYPE_U32, shape1(o->rows));
    b.position = graph_input(b.g, o->slots ? "slot_positions" : "position", DTYPE_U32, shape1(o->slots ? o->rows : 1));
    graph_set_tuning_hint(b.g, b.position,
                          o->context_tok / 2 < TUNING_HINT_POSITION ? o->context_tok / 2 : TUNING_HINT_POSITION);
    if (o->whole)
        b.last = graph_input(b.g, "last", DTYPE_U32, shape1(1));
    decoder_add_angles(&b);
    node embedding = decoder_weight(&b, c->vocab_tok, c->embedding_dim, "token_embd.weight");
    node x = graph_gather(b.g, embedding, tokens);
    if (c->embedding_scale != 1)
        x = graph_scale(b.g, x, c->embedding_scale, 0);
    if (c->learned_positions) {
        node table = decoder_weight(&b, c->context_tok + c->position_offset, c->embedding_dim, "position_embd.weight");
        x = graph_binary(b.g, BINARY_ADD, x,
                         o->slots ? graph_gather(b.g, table, b.position)
                                  : graph_gather_from(b.g, table, b.position, o->rows));
    }
    if (c->per_layer_dim)
        b.per_layer = decoder_per_layer_inputs(&b, tokens, x);
    if (c->norms_after_sum)
        x = typed(&b, x);
    if (c->streams)
        x = decoder_streams_open(&b, x);
    for (uint32_t layer = 0; layer < c->layer_count && e->kind == ERR_NONE; layer++)
        x = c->streams ? decoder_streams_layer(&b, x, layer) : layer_of(&b, x, layer);
    if (o->whole)
        embed(&b, x);
    else if (o->cache_only)
        leave_head(&b);
    else
        graph_output(b.g, o->slots ? "slot_logits" : "logits", output(&b, x, embedding));
    bool ok = e->kind == ERR_NONE && graph_ok(b.g, e) && model_refuse_unused(m, b.used, e);
    free(b.used);
    if (ok)
        return b.g;
    graph_free(b.g);
    return NULL;
}

const void *decoder_find_weight(void *weights, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    decoder_weights *d = weights;
    const char *made = decoder_made_weight(d, name);
    if (made)
        return made + first;
    model_weight w;
    return model_find_weight(d->m, name, &w, e) ? model_read_weight(d->m, &w, first, bytes, e) : NULL;
}
