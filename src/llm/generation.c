#include "llm/generation.h"
#include "base/str.h"
#include "graph/run.h"
#include "model/decoder.h"

#include <stdlib.h>

struct generation {
    graph *what;
    graph_run *run;
    uint32_t position, context_tok, vocab_tok;
    bool fed; /* the logits of the last token are there */
};

generation *generation_new(gpu *g, const model *m, const generation_options *o, err *e)
{
    const model_config *c = model_get_config(m);
    generation *n = mem_alloc(sizeof *n);
    uint32_t made_for = c->context_tok < GENERATION_DEFAULT_CONTEXT ? c->context_tok : GENERATION_DEFAULT_CONTEXT;
    n->context_tok = o->context_tok ? o->context_tok : made_for;
    n->vocab_tok = c->vocab_tok;
    n->what = decoder_graph(m, &(decoder_options){1, n->context_tok, DTYPE_F16}, e);
    if (n->what) {
        /* The choice is made on the GPU; only its number comes back. */
        node next = graph_reduce(n->what, REDUCE_ARGMAX, graph_find(n->what, "logits"));
        graph_output(n->what, "next", next);
        n->run = graph_run_new(g, n->what, decoder_find_weight, &(decoder_weights){m, n->context_tok}, e);
    }
    if (n->run)
        return n;
    generation_free(n);
    return NULL;
}

void generation_free(generation *n)
{
    if (!n)
        return;
    graph_run_free(n->run);
    graph_free(n->what);
    free(n);
}

void generation_set_sampling(generation *n, const sampling *s)
{
    (void)n, (void)s;
}

bool generation_feed(generation *n, const uint32_t *tokens, uint32_t count, err *e)
{
    if (count > n->context_tok - n->position)
        return err_set(e, "%u tokens more do not fit the context: %u of %u are taken", count, n->position,
                       n->context_tok);
    for (uint32_t i = 0; i < count; i++)
        if (tokens[i] >= n->vocab_tok)
            return err_set(e, "%u is no token of this model, which has %u", tokens[i], n->vocab_tok);
    for (uint32_t i = 0; i < count; i++) {
        if (!graph_run_write(n->run, "tokens", &tokens[i], e) || !graph_run_write(n->run, "position", &n->position, e))
            return false;
        graph_run_once(n->run);
        n->position++;
    }
    n->fed = true;
    return true;
}

bool generation_next(generation *n, uint32_t *token, err *e)
{
    if (!n->fed)
        return err_set(e, "nothing was said yet that could be continued");
    if (n->position == n->context_tok)
        return err_set(e, "the context of %u tokens is full", n->context_tok);
    return graph_run_read(n->run, "next", token, e) && generation_feed(n, token, 1, e);
}

void generation_rewind(generation *n, uint32_t position)
{
    if (position < n->position)
        n->position = position;
    n->fed = false;
}

uint32_t generation_position(const generation *n)
{
    return n->position;
}

uint32_t generation_context(const generation *n)
{
    return n->context_tok;
}

uint32_t generation_dispatches(const generation *n)
{
    return graph_run_dispatches(n->run);
}
