/* engine_batch: several rows, by a batch. Biases, penalties and filters are sent to the GPU, which chooses.
 *
 * What a filter lets come depends on the token before. Where one dispatch makes many tokens, they are made all the same,
 * and those that the filter would have chosen otherwise are taken back:
 *   - The most likely token (temperature 0) of all is also the most likely one of those that may come, if it is one of
 *     them. So the filter only looks at what was made. After one that may not come, the next is chosen by the filter.
 *   - A token that is drawn depends on all that may come. Where the same may come after the last token as before it (in a
 *     string, or in thoughts), many are made by that, and hold as long as it stays so.
 * Either way the text is the one that is made token by token.                                                       */
#include "llm/batch.h"
#include "serve/engine_choice.h"
#include "serve/engine_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TRIED = 64, MOST_REST = 16 };

typedef struct batch_row {
    bool is_taken, is_leaving, has_news;
    uint32_t slot;
    engine_row seen;
    /* With a filter: so many tokens are asked for at once; are those masked? */
    uint32_t most_tok;
    bool is_masked;
    uint32_t rest, next_rest; /* tokens to be masked before others are tried without; and when it fails again */
    engine_text text;
    uint32_t *so_far; /* (so_far_count) the whole text, if penalties need it */
    uint32_t so_far_count, so_far_capacity;
} batch_row;

typedef struct engine_batch {
    engine base;
    batch *b;
    batch_row rows[BATCH_MOST_SLOTS]; /* (base.rows) */
    bool in_step;
    float *logits;  /* (vocabulary) */
    uint32_t *bits; /* (vocabulary / 32) */
} engine_batch;

static void free_it(engine *base)
{
    engine_batch *n = (engine_batch *)base;
    for (uint32_t i = 0; i < base->rows; i++)
        free(n->rows[i].so_far);
    if (n->b)
        batch_free(n->b);
    free(n->logits);
    free(n->bits);
    free(n);
}

/* ---- steering ------------------------------------------------------------------------------------- */

static void remember(batch_row *r, uint32_t token)
{
    if (r->so_far_count == r->so_far_capacity) {
        r->so_far_capacity = r->so_far_capacity ? 2 * r->so_far_capacity : 256;
        r->so_far = mem_grow(r->so_far, r->so_far_capacity * sizeof *r->so_far);
    }
    r->so_far[r->so_far_count++] = token;
}

/* Can tokens be made before the filter has seen those before them? */
static bool can_try(const engine_batch *n, const engine_text *t)
{
    return t->filter && !t->wants_logprobs && t->frequency_penalty == 0 && t->presence_penalty == 0 &&
           batch_level(n->b) == LEVEL_LOOP && batch_can_take_back(n->b);
}

/* How many of the next tokens are asked for at once, and whether by a mask. False: by the one that was sent. */
static bool plan_tokens(const engine_batch *n, batch_row *r)
{
    const token_filter *f = r->text.filter;
    bool tries = can_try(n, &r->text), is_same = r->is_masked && tries && f->is_same(f->user);
    if (tries && r->text.how.temperature <= 0) {
        r->is_masked = r->rest > 0;
        r->rest -= r->rest > 0;
        r->most_tok = r->is_masked ? 1 : r->most_tok < MOST_TRIED / 2 ? 2 * r->most_tok : MOST_TRIED;
        return true;
    }
    r->is_masked = true;
    r->most_tok = !is_same ? 1 : r->most_tok < MOST_TRIED / 2 ? 2 * r->most_tok : MOST_TRIED;
    return !is_same;
}

/* What holds for the next tokens of this row. False without an error: none may come. */
static bool steer(engine_batch *n, batch_row *r, err *e)
{
    const engine_text *t = &r->text;
    bool adds = t->bias_count || t->frequency_penalty != 0 || t->presence_penalty != 0;
    if (!adds && !t->filter)
        return true;
    if (t->filter) {
        bool is_new = plan_tokens(n, r);
        batch_set_most(n->b, r->slot, r->most_tok);
        if (!is_new)
            return true;
    }
    if (t->filter && r->is_masked && !t->filter->allow(t->filter->user, n->bits, n->base.vocab))
        return false;
    if (adds) {
        memset(n->logits, 0, n->base.vocab * sizeof *n->logits);
        engine_add_penalties(t, r->so_far, r->so_far_count, n->logits, n->base.vocab);
    }
    return batch_steer(n->b, r->slot, t->filter && r->is_masked ? n->bits : NULL, adds ? n->logits : NULL, e);
}

/* ---- joining and leaving ---------------------------------------------------------------------------- */

static void leave(engine *base, uint32_t row)
{
    engine_batch *n = (engine_batch *)base;
    batch_row *r = &n->rows[row];
    if (!r->is_taken)
        return;
    r->is_leaving = n->in_step; /* what the step made is still being looked at */
    if (n->in_step)
        return;
    batch_leave(n->b, r->slot);
    r->is_taken = false;
}

static bool join(engine *base, uint32_t row, const engine_text *text, err *e)
{
    engine_batch *n = (engine_batch *)base;
    batch_row *r = &n->rows[row];
    batch_request q = {.tokens = text->tokens,
                       .count = text->count,
                       .how = text->how,
                       .max_tok = text->most_tok,
                       .stops = base->ends,
                       .stop_count = text->ignores_end ? 0 : base->end_count,
                       .stepwise = text->wants_logprobs || engine_steers(text)};
    if (!batch_join(n->b, &q, &r->slot, e))
        return false;
    r->text = *text;
    r->is_taken = true;
    r->is_leaving = false;
    r->seen = (engine_row){0};
    r->most_tok = 1;
    r->is_masked = false;
    r->rest = 0;
    r->next_rest = 1;
    r->so_far_count = 0;
    for (uint32_t i = 0; engine_steers(text) && i < text->count; i++)
        remember(r, text->tokens[i]);
    err fault = {0};
    if (steer(n, r, &fault))
        return true;
    leave(base, row);
    return err_set(e, "%s", fault.kind ? fault.text : "the grammar lets no token come");
}

static engine_row look(const engine *base, uint32_t row)
{
    return ((const engine_batch *)base)->rows[row].seen;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* A token that the step made for this row. */
static bool pass_token(engine_batch *n, uint32_t row, uint32_t id, engine_made made, void *user, err *e)
{
    batch_row *r = &n->rows[row];
    made_token token = {.id = id};
    if (r->text.wants_logprobs) {
        if (!batch_logits(n->b, r->slot, n->logits, e))
            return false;
        engine_see_likelihoods(&r->text, n->logits, n->base.vocab, &token);
    }
    if (r->text.filter)
        r->text.filter->chosen(r->text.filter->user, id);
    if (engine_steers(&r->text))
        remember(r, id);
    made(user, row, &token);
    return true;
}

/* Would the filter have had this token, number `i` of those that were made at once? */
static bool holds(const batch_row *r, uint32_t i, uint32_t token)
{
    const token_filter *f = r->text.filter;
    if (!f)
        return true;
    return r->is_masked ? i == 0 || f->is_same(f->user) : f->may_come(f->user, token);
}

/* From number `i` on the filter wants other tokens. */
static void take_back(engine_batch *n, batch_row *r, uint32_t i, uint32_t count)
{
    batch_take_back(n->b, r->slot, count - i);
    r->seen.vain_tok += count - i;
    r->most_tok = 1;
    r->next_rest = i ? 1 : r->next_rest < MOST_REST / 2 ? 2 * r->next_rest : MOST_REST;
    r->rest = r->next_rest;
}

static bool pass_news(engine_batch *n, uint32_t row, engine_made made, void *user, err *e)
{
    batch_row *r = &n->rows[row];
    batch_news news = batch_look(n->b, r->slot);
    uint32_t i = 0;
    r->seen.reused_tok = news.reused_tok;
    r->has_news = news.count > 0;
    for (; i < news.count && !r->is_leaving && holds(r, i, news.tokens[i]); i++) {
        r->seen.stepped_tok += engine_steers(&r->text) && r->most_tok == 1;
        if (!pass_token(n, row, news.tokens[i], made, user, e))
            return false;
    }
    if (r->is_leaving)
        return true;
    if (i < news.count)
        take_back(n, r, i, news.count);
    else if (news.state == BATCH_ENDED)
        made(user, row, NULL);
    return true;
}

/* Before the next step: who leaves does, and what holds for the next tokens of those that have new ones is sent. */
static bool leave_and_steer(engine_batch *n, engine_made made, void *user, err *e)
{
    for (uint32_t row = 0; row < n->base.rows; row++) {
        batch_row *r = &n->rows[row];
        err fault = {0};
        if (r->is_taken && r->is_leaving)
            leave(&n->base, row);
        if (!r->is_taken || !r->has_news || !engine_steers(&r->text) || steer(n, r, &fault))
            continue;
        if (fault.kind != ERR_NONE)
            return err_set_kind(e, fault.kind, "%s", fault.text);
        made(user, row, NULL);
    }
    return true;
}

static bool step(engine *base, engine_made made, void *user, err *e)
{
    engine_batch *n = (engine_batch *)base;
    if (!batch_step(n->b, e))
        return false;
    bool ok = true;
    n->in_step = true;
    for (uint32_t row = 0; ok && row < base->rows; row++)
        if (n->rows[row].is_taken)
            ok = pass_news(n, row, made, user, e);
    n->in_step = false;
    return ok && leave_and_steer(n, made, user, e);
}

static const char *notice(engine *base, char *text, size_t size)
{
    return batch_take_notice(((engine_batch *)base)->b, text, size);
}

engine *engine_batch_new(const engine_options *o, uint32_t rows, err *e)
{
    static const engine_kind kind = {free_it, join, leave, step, look, notice};
    engine_batch *n = mem_alloc(sizeof *n);
    batch_options how = {.slots = rows,
                         .context_tok = o->generation.context_tok,
                         .cache = o->generation.cache,
                         .level = o->generation.level,
                         .submit = o->generation.submit,
                         .chunk_ms = o->generation.chunk_ms,
                         .compile = o->generation.compile,
                         .steered = true};
    *n = (engine_batch){.base = {.kind = &kind, .rows = rows}, .b = batch_new(o->g, o->m, &how, e)};
    if (!n->b) {
        free(n);
        return NULL;
    }
    n->base.context = batch_context(n->b);
    n->base.vocab = batch_vocab(n->b);
    n->logits = mem_alloc(n->base.vocab * sizeof *n->logits);
    n->bits = mem_alloc((n->base.vocab + 31) / 32 * sizeof *n->bits);
    return &n->base;
}
