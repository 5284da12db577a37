/* engine_single: one row, by a generation. Where logits have to be seen or changed, they are read back, and the choice is
 * made here.                                                                                                         */
#include "serve/engine_choice.h"
#include "serve/engine_internal.h"

#include <stdlib.h>

/* Prompts are fed in pieces that begin at multiples of this. */
enum { PIECE_TOK = 256 };

typedef struct engine_single {
    engine base;
    generation *n;
    float *logits; /* (vocabulary) */
    bool is_taken, chooses_here;
    engine_text text;
    uint32_t fed;
    engine_row seen;
    /* Of what the cache holds, so many tokens were fed in whole pieces. */
    uint32_t whole_tok;
} engine_single;

static void free_it(engine *base)
{
    engine_single *n = (engine_single *)base;
    if (n->n)
        generation_free(n->n);
    free(n->logits);
    free(n);
}

/* How many tokens the cache begins with that this text does, too, and that were fed in whole pieces. The last token is
 * always fed, so that a next one can follow. */
static uint32_t count_reusable(const engine_single *n, const engine_text *t)
{
    const uint32_t *cached = generation_text(n->n);
    uint32_t same = 0, most = n->whole_tok < t->count - 1 ? n->whole_tok : t->count - 1;
    while (same < most && cached[same] == t->tokens[same])
        same++;
    return same - same % PIECE_TOK;
}

static bool join(engine *base, uint32_t row, const engine_text *text, err *e)
{
    (void)row, (void)e;
    engine_single *n = (engine_single *)base;
    n->text = *text;
    n->is_taken = true;
    n->chooses_here = engine_needs_logits(text);
    n->fed = n->whole_tok = count_reusable(n, text);
    n->seen = (engine_row){.reused_tok = n->fed};
    generation_rewind(n->n, n->fed);
    generation_set_sampling(n->n, &text->how);
    generation_set_stops(n->n, base->ends, text->ignores_end ? 0 : base->end_count);
    return true;
}

static void leave(engine *base, uint32_t row)
{
    (void)row;
    ((engine_single *)base)->is_taken = false;
}

static engine_row look(const engine *base, uint32_t row)
{
    (void)row;
    return ((const engine_single *)base)->seen;
}

static bool feed_piece(engine_single *n, err *e)
{
    uint32_t left = n->text.count - n->fed, part = left < PIECE_TOK ? left : PIECE_TOK;
    if (!generation_feed(n->n, n->text.tokens + n->fed, part, e))
        return false;
    n->fed += part;
    if (part == PIECE_TOK)
        n->whole_tok = n->fed;
    if (n->fed == n->text.count && n->text.most_tok < n->base.context - n->fed)
        generation_set_limit(n->n, n->text.most_tok);
    return true;
}

/* False without an error: there is none. */
static bool choose_here(engine_single *n, made_token *token, err *e)
{
    return generation_logits(n->n, n->logits, e) &&
           engine_choose(&n->text, n->logits, n->base.vocab, generation_text(n->n), generation_position(n->n), token) &&
           generation_feed(n->n, &token->id, 1, e);
}

static bool step(engine *base, engine_made made, void *user, err *e)
{
    engine_single *n = (engine_single *)base;
    made_token token = {0};
    err fault = {0};
    if (!n->is_taken)
        return true;
    if (n->fed < n->text.count)
        return feed_piece(n, e);
    bool is_full = generation_position(n->n) >= base->context;
    bool came =
        !is_full && (n->chooses_here ? choose_here(n, &token, &fault) : generation_next(n->n, &token.id, &fault));
    if (!came && fault.kind != ERR_NONE)
        return err_set_kind(e, fault.kind, "%s", fault.text);
    n->seen.stepped_tok += came && n->chooses_here;
    made(user, 0, came ? &token : NULL);
    return true;
}

static const char *notice(engine *base, char *text, size_t size)
{
    return generation_take_notice(((engine_single *)base)->n, text, size);
}

engine *engine_single_new(const engine_options *o, err *e)
{
    static const engine_kind kind = {free_it, join, leave, step, look, notice};
    engine_single *n = mem_alloc(sizeof *n);
    *n = (engine_single){.base = {.kind = &kind, .rows = 1}, .n = generation_new(o->g, o->m, &o->generation, e)};
    if (!n->n) {
        free(n);
        return NULL;
    }
    n->base.context = generation_context(n->n);
    n->base.vocab = generation_vocab(n->n);
    n->logits = mem_alloc(n->base.vocab * sizeof *n->logits);
    return &n->base;
}
