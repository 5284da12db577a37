/* generation_next: makes new tokens: while the host reads one, the GPU makes those that follow, one by one or, at the
 * level `loop`, many in a dispatch. */
#include "base/clock.h"
#include "base/str.h"
#include "launch/chunk.h"
#include "llm/generation_internal.h"

#include <stdlib.h>
#include <string.h>

enum { HANG_S = 300 };

/* ---- reads in flight --------------------------------------------------------------- */

/* Computes the token at `position` once more, by separate dispatches, from the one before it. */
static void make_again(generation *n)
{
    uint32_t before = n->position - 1;
    err unused = {0}; /* it stays with the device */
    generation_mend(n, before, &unused);
    graph_run_put(n->run, n->tokens, &n->said[before], 1);
    graph_run_put(n->run, n->position_place, &before, 1);
    graph_run_once(n->run, n->programs[LEVEL_OPS][0], SUBMIT_BATCH);
    n->written = n->asked = n->absorbed = n->position;
}

/* At the level loop, the last token that was made may not have been fed yet. */
void generation_complete_rows(generation *n)
{
    if (n->position > 0 && n->written < n->position)
        make_again(n);
}

static void let_come(generation *n, const coming *c)
{
    enum { GRACE_NS = 1000000000 }; /* a lost device may never answer */
    for (uint64_t began = clock_ns(); !c->done && clock_ns() - began < GRACE_NS;)
        gpu_poll(n->g);
}

/* Reads in flight hold addresses in this struct: they must complete before the memory is reused or freed. */
static void drain(generation *n)
{
    err unused = {0};
    if (n->asked > n->position || n->chunk_count)
        gpu_wait(n->g, &unused);
    for (uint32_t p = n->position; p < n->asked && !n->chunk_count; p++)
        let_come(n, &n->reads[p % READS].state);
    for (uint32_t i = 0; i < n->chunk_count; i++)
        let_come(n, &n->chunks[(n->chunk_at + i) % 2].state);
}

void generation_sync(generation *n)
{
    bool in_chunks = n->chunk_count > 0;
    uint32_t next = NO_TOKEN;
    drain(n);
    for (uint32_t i = 0; i < n->chunk_count; i++) {
        const chunk *c = &n->chunks[(n->chunk_at + i) % 2];
        if (n->position >= c->first && n->position < c->first + c->count)
            next = c->tokens[n->position - c->first];
    }
    n->chunk_count = 0;
    n->asked = n->position;
    if (!n->run || !n->fed)
        return;
    generation_see_absorbed(n);
    /* The GPU may be ahead of the tokens that were returned: goes back to there. */
    if (n->written > n->position && in_chunks) {
        if (next != NO_TOKEN) {
            graph_run_put(n->run, n->tokens, &next, 1);
            graph_run_put(n->run, n->position_place, &n->position, 1);
        } else if (n->position > 0)
            make_again(n);
    }
}

static void on_arrival(void *user, bool ok)
{
    coming *c = user;
    c->ok = ok;
    c->done = true;
}

/* Starts reading the token at `asked`, which the GPU has made or is making. */
static void ask(generation *n)
{
    arriving *a = &n->reads[n->asked % READS];
    *a = (arriving){0};
    graph_run_get_later(n->run, n->history, n->asked, 1, &a->token, on_arrival, &a->state);
    n->asked++;
}

/* Waits until the read is complete, `ok` or not. */
static bool wait_for(generation *n, const coming *c, err *e)
{
    for (uint64_t began = clock_ns(); !c->done; gpu_poll(n->g))
        if (!gpu_ok(n->g, e))
            return false;
        else if (clock_ns() - began > HANG_S * 1000000000ull)
            return err_set(e, "the GPU did not answer for %d s", HANG_S);
    return gpu_ok(n->g, e) && (c->ok || err_set(e, "a token could not be read back"));
}

/* ---- new tokens ------------------------------------------------------------------ */

static bool slide(generation *n, err *e)
{
    uint32_t kept = n->context_tok / 2, stream = n->stream + 1, *tail = mem_alloc(kept * sizeof *tail);
    memcpy(tail, n->said + n->position - kept, kept * sizeof *tail);
    generation_rewind(n, 0);
    generation_set_stream(n, stream);
    bool ok = generation_feed(n, tail, kept, e);
    free(tail);
    return ok;
}

static bool is_stop(const generation *n, uint32_t token)
{
    for (uint32_t i = 0; i < n->stop_count; i++)
        if (n->stops[i] == token)
            return true;
    return false;
}

/* Starts reading a token that is made already; otherwise dispatches several tokens. */
static void launch_chunk(generation *n)
{
    chunk *c = &n->chunks[(n->chunk_at + n->chunk_count) % 2];
    *c = (chunk){.first = n->asked, .count = 1, .began_ns = clock_ns()};
    if (n->asked > n->written) {
        uint32_t left = n->limit > n->asked ? n->limit - n->asked : 1;
        c->count = left < n->chunk_tok ? left : n->chunk_tok;
        generation_set_rounds(n, c->count);
        graph_run_once(n->run, generation_program(n, 0), n->submit);
        n->written += c->count;
        n->absorbed = ABSORBED_ON_GPU;
    }
    graph_run_get_later(n->run, n->history, c->first, c->count, c->tokens, on_arrival, &c->state);
    n->asked += c->count;
    n->chunk_count++;
}

/* Doubles the tokens of a dispatch until it takes chunk_ns. */
static void choose_chunk_tok(generation *n, const chunk *c)
{
    n->chunk_tok = chunk_rounds(n->chunk_tok, MAX_CHUNK_TOK, clock_ns() - c->began_ns, n->chunk_ns);
}

/* A dispatch ended before the token at `position` was made: because the one before it is a stop token, or because a
 * wait timed out. Makes that token, and after a time-out all others, by separate dispatches. */
static bool go_on_apart(generation *n, uint32_t *token, err *e)
{
    drain(n);
    n->chunk_count = 0;
    n->asked = n->position;
    fusion_level level = n->level;
    if (!gpu_wait(n->g, e))
        return false;
    generation_see_absorbed(n);
    bool timed_out = false;
    megakernel *mega = graph_run_megakernel(n->run, generation_program(n, 0));
    if (mega && !megakernel_timed_out(mega, &timed_out, e))
        return false;
    if (timed_out)
        generation_fall_back(n, GENERATION_TIMED_OUT);
    else if (n->level == level && !is_stop(n, n->said[n->position - 1]))
        return err_set(e, "a dispatch ended without a token and without a time-out");
    generation_forget_beyond(n, n->position - 1);
    make_again(n);
    return graph_run_get(n->run, n->history, n->position, 1, token, e) &&
           (*token != NO_TOKEN || err_set(e, "no token was made"));
}

/* Returns the token at `position` from its chunk. */
static bool next_of_chunk(generation *n, uint32_t *token, err *e)
{
    chunk *c = &n->chunks[n->chunk_at];
    if (n->chunk_count && n->position == c->first + c->count) {
        n->chunk_at = 1 - n->chunk_at;
        n->chunk_count--;
        c = &n->chunks[n->chunk_at];
    }
    if (!n->chunk_count)
        launch_chunk(n);
    bool came = c->state.done;
    if (n->ahead && n->chunk_count < 2 && n->asked < n->limit)
        launch_chunk(n);
    if (!came) {
        if ((!n->ahead && !gpu_wait(n->g, e)) || !wait_for(n, &c->state, e))
            return false;
        choose_chunk_tok(n, c);
    }
    *token = c->tokens[n->position - c->first];
    return true;
}

/* From the token at `position` to the next. */
static void run_token(generation *n)
{
    graph_run_once(n->run, generation_program(n, 0), n->submit);
    n->written = n->position + 1;
    n->absorbed = n->level > LEVEL_OPS ? ABSORBED_ON_GPU : n->written;
}

/* The same with one dispatch, or several, for each token. */
static bool next_alone(generation *n, uint32_t *token, err *e)
{
    if (!n->ahead) {
        if (!graph_run_get(n->run, n->history, n->position, 1, token, e))
            return false;
        if (*token == NO_TOKEN)
            return true;
        run_token(n);
        n->asked = n->position + 1;
        return true;
    }
    /* While the host reads the token at `position`, the GPU already works on the next. */
    if (n->asked == n->position)
        ask(n);
    run_token(n);
    if (n->position + 1 < n->context_tok)
        ask(n);
    arriving *a = &n->reads[n->position % READS];
    if (!wait_for(n, &a->state, e))
        return false;
    *token = a->token;
    return true;
}

bool generation_next(generation *n, uint32_t *token, err *e)
{
    if (!n->fed)
        return err_set(e, "nothing was said yet that could be continued");
    if (generation_is_full(n))
        return err_set(e, "the context of %u tokens is full", n->context_tok);
    if (n->position == n->context_tok && !slide(n, e))
        return false;
    if (!generation_fit_angles(n, n->position, e))
        return false;
    if (n->asked == n->position && !n->chunk_count && !generation_mend(n, n->position, e))
        return false;
    if (n->compiling != LEVEL_AUTO && !n->text_waits && !generation_go_on_compiling(n, e))
        return false;
    n->text_waits = false;
    if (!(n->level == LEVEL_LOOP ? next_of_chunk : next_alone)(n, token, e))
        return false;
    if (*token == NO_TOKEN) {
        if (!go_on_apart(n, token, e))
            return false;
        if (n->level != LEVEL_LOOP) /* as next_alone leaves it */
            run_token(n);
    }
    if (*token & SAMPLE_NOT_FINITE)
        return err_set(e, "token %u: the model's logits are not finite: its weights may be damaged (--check-tensors)",
                       n->position);
    n->said[n->position++] = *token;
    generation_warn_beyond_trained(n);
    if (n->asked < n->position)
        n->asked = n->position;
    return gpu_ok(n->g, e);
}
