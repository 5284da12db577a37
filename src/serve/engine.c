/* engine: one row, by a generation. */
#include "serve/engine.h"
#include "serve/engine_choice.h"

#include <stdlib.h>
#include <string.h>

struct engine {
    generation *n;
    float *logits; /* (vocabulary) */
    bool is_taken, chooses_here;
    engine_text text;
    uint32_t fed, reused;
    /* Of what the cache holds, so many tokens were fed in whole pieces. */
    uint32_t whole_tok;
};

engine *engine_new(const engine_options *o, err *e)
{
    uint32_t ends[TOKENIZER_MAX_ENDS];
    engine *n = mem_alloc(sizeof *n);
    *n = (engine){.n = generation_new(o->g, o->m, &o->generation, e)};
    if (!n->n) {
        engine_free(n);
        return NULL;
    }
    generation_set_stops(n->n, ends, tokenizer_list_ends(o->t, ends));
    n->logits = mem_alloc(generation_vocab(n->n) * sizeof *n->logits);
    return n;
}

void engine_free(engine *n)
{
    if (!n)
        return;
    if (n->n)
        generation_free(n->n);
    free(n->logits);
    free(n);
}

uint32_t engine_rows(const engine *n)
{
    (void)n;
    return 1;
}

uint32_t engine_context(const engine *n)
{
    return generation_context(n->n);
}

uint32_t engine_vocab(const engine *n)
{
    return generation_vocab(n->n);
}

fusion_level engine_level(const engine *n)
{
    return generation_level(n->n);
}

generation *engine_generation(engine *n)
{
    return n->n;
}

/* How many tokens the cache begins with that this text does, too, and that were fed in whole pieces. The last token is
 * always fed, so that a next one can follow. */
static uint32_t count_reusable(const engine *n, const engine_text *t)
{
    const uint32_t *cached = generation_text(n->n);
    uint32_t same = 0, most = n->whole_tok < t->count - 1 ? n->whole_tok : t->count - 1;
    while (same < most && cached[same] == t->tokens[same])
        same++;
    return same - same % ENGINE_PIECE_TOK;
}

bool engine_join(engine *n, uint32_t row, const engine_text *text, err *e)
{
    (void)row;
    if (text->count == 0 || text->count >= engine_context(n))
        return err_set(e, "%u tokens do not fit a context of %u", text->count, engine_context(n));
    n->text = *text;
    n->is_taken = true;
    n->chooses_here = engine_chooses_here(text);
    n->fed = n->reused = n->whole_tok = count_reusable(n, text);
    generation_rewind(n->n, n->fed);
    generation_set_sampling(n->n, &text->how);
    return true;
}

void engine_leave(engine *n, uint32_t row)
{
    (void)row;
    n->is_taken = false;
}

uint32_t engine_reused(const engine *n, uint32_t row)
{
    (void)row;
    return n->reused;
}

static bool feed_piece(engine *n, err *e)
{
    uint32_t left = n->text.count - n->fed, part = left < ENGINE_PIECE_TOK ? left : ENGINE_PIECE_TOK;
    if (!generation_feed(n->n, n->text.tokens + n->fed, part, e))
        return false;
    n->fed += part;
    if (part == ENGINE_PIECE_TOK)
        n->whole_tok = n->fed;
    if (n->fed == n->text.count && n->text.most_tok < engine_context(n) - n->fed)
        generation_set_limit(n->n, n->text.most_tok);
    return true;
}

/* False without an error: there is none. */
static bool choose_here(engine *n, made_token *token, err *e)
{
    return generation_logits(n->n, n->logits, e) &&
           engine_choose(&n->text, n->logits, engine_vocab(n), generation_text(n->n), generation_position(n->n),
                         token) &&
           generation_feed(n->n, &token->id, 1, e);
}

bool engine_step(engine *n, engine_made made, void *user, err *e)
{
    made_token token = {0};
    err fault = {0};
    if (!n->is_taken)
        return true;
    if (n->fed < n->text.count)
        return feed_piece(n, e);
    bool is_full = generation_position(n->n) >= engine_context(n);
    bool came =
        !is_full && (n->chooses_here ? choose_here(n, &token, &fault) : generation_next(n->n, &token.id, &fault));
    if (!came && fault.kind != ERR_NONE)
        return err_set_kind(e, fault.kind, "%s", fault.text);
    made(user, 0, came ? &token : NULL);
    return true;
}
