/* context_fit: how long a context is if nobody says: as the model was made for, or as long as there is memory for. */
#include "graph/layout.h"
#include "llm/generation_internal.h"
#include "model/decoder.h"

enum {
    LEAST_TOK = 64, /* a shorter one is no use: then the model is refused with what it needs */
    ROUNDED_TO = 4, /* parts of a power of two: few lengths, since kernels are compiled for each */
    RESERVE_SHARE = 8,
    LAST = GRAPH_MAX_DIMS - 1,
};
static const uint64_t RESERVE_BYTES = 256 << 20; /* activations, kernels, uploads in flight */
/* Where memory is the host's, or nobody knows how much there is: all of the cache is touched when it is made. */
static const uint64_t MODEST_BYTES = 256 << 20;

typedef struct need {
    uint64_t weight_bytes, state_bytes;
} need;

static bool need_of(const model *m, dtype cache, uint32_t context_tok, need *out, err *e)
{
    graph *g = decoder_graph(m, &(decoder_options){.rows = 1, .context_tok = context_tok, .cache = cache}, e);
    *out = (need){0};
    for (node i = 1; g && i <= graph_count(g); i++) {
        const graph_node *n = graph_at(g, i);
        uint64_t count = shape_count(n->s);
        if (n->op == OP_STATE)
            out->state_bytes += dtype_bytes(n->type, count);
        else if (n->op == OP_WEIGHT)
            out->weight_bytes += layout_bytes(n->as.weight, (uint32_t)(count / n->s.dims[LAST]), n->s.dims[LAST]);
    }
    graph_free(g);
    return g != NULL;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t rounded_down(uint64_t tokens)
{
    uint64_t power = 1;
    while (power * 2 <= tokens)
        power *= 2;
    uint64_t step = power / ROUNDED_TO ? power / ROUNDED_TO : 1;
    return (uint32_t)(tokens / step * step);
}

/* Half of the memory that the weights leave free; more only for a context that is not enough otherwise. */
static uint64_t tokens_in_memory(const gpu_info *info, const need *n, uint64_t token_bytes, uint64_t enough)
{
    uint64_t has = info->memory_free_bytes ? info->memory_free_bytes : info->memory_bytes;
    if (!has)
        return MODEST_BYTES / token_bytes;
    uint64_t taken = n->weight_bytes + lesser(RESERVE_BYTES, has / RESERVE_SHARE), room = has > taken ? has - taken : 0;
    uint64_t most = info->type == GPU_TYPE_SOFTWARE ? lesser(room / 2, MODEST_BYTES) : room / 2;
    uint64_t tokens = most / token_bytes;
    return tokens < enough ? lesser(enough, room / token_bytes) : tokens;
}

bool generation_choose_context(generation *n, const model *m, const generation_options *o, err *e)
{
    const model_config *c = model_get_config(m);
    const gpu_info *info = gpu_ask_memory(n->g);
    uint64_t enough = lesser(c->context_tok, GENERATION_ENOUGH_CONTEXT);
    n->context_tok = o->context_tok;
    if (o->context_tok)
        return true;
    dtype cache;
    need whole, half;
    n->context_tok = (uint32_t)enough;
    if (c->context_tok < 2)
        return true;
    if (!generation_find_cache(o->cache, &cache, e) || !need_of(m, cache, c->context_tok, &whole, e) ||
        !need_of(m, cache, c->context_tok / 2, &half, e))
        return false;
    uint64_t token_bytes = (whole.state_bytes - half.state_bytes) / (c->context_tok - c->context_tok / 2);
    if (!token_bytes)
        return true;
    uint64_t tokens = tokens_in_memory(info, &whole, token_bytes, enough);
    /* one dispatch binds one buffer of states */
    uint64_t bound = lesser(lesser(info->max_storage_binding_bytes, info->max_buffer_bytes), UINT32_MAX) / token_bytes;
    tokens = lesser(tokens, bound > enough ? bound : enough);
    if (tokens < LEAST_TOK)
        tokens = enough;
    n->context_tok = tokens >= c->context_tok ? c->context_tok : rounded_down(tokens);
    n->context_is_short = n->context_tok < c->context_tok;
    /* a text whose length is known needs no more; again few lengths */
    uint64_t needed = enough;
    while (o->longest_tok && needed < o->longest_tok)
        needed *= 2;
    if (o->longest_tok && needed < n->context_tok) {
        n->context_tok = (uint32_t)needed;
        n->context_is_short = false;
    }
    return true;
}
