/* batch_step: tokens for all texts whose prompts are read. */
#include "base/clock.h"
#include "launch/chunk.h"
#include "llm/batch_internal.h"
#include "llm/generation_internal.h"

#include <string.h>

/* ---- rows -------------------------------------------------------------------------- */

static void put(batch *b, graph_place all, uint32_t slot, uint32_t stride, const void *words, uint32_t count)
{
    graph_run_put(b->run, (graph_place){all.word + slot * stride, count}, words, count);
}

void batch_idle_row(batch *b, uint32_t slot)
{
    uint32_t idle = BATCH_IDLE;
    put(b, b->positions, slot, 1, &idle, 1);
}

void batch_send_row(batch *b, uint32_t slot)
{
    batch_row *r = &b->rows[slot];
    uint32_t position = r->prompt_tok + r->made_tok - 1;
    r->control.left = r->left;
    put(b, b->history, slot, b->context_tok + 1, r->text, position + 1);
    put(b, b->settings, slot, SAMPLE_WORDS, &r->how, SAMPLE_WORDS);
    put(b, b->control, slot, SAMPLE_CONTROL_WORDS, &r->control, SAMPLE_CONTROL_WORDS);
    put(b, b->tokens, slot, 1, &r->text[position], 1);
    put(b, b->positions, slot, 1, &position, 1);
}

static bool is_stop(const batch_row *r, uint32_t token)
{
    for (uint32_t i = 0; i < r->control.stop_count; i++)
        if (r->control.stops[i] == token)
            return true;
    return false;
}

/* The tokens that a row has made since the last time. */
static bool take_tokens(batch *b, batch_row *r, const sample_control *now, uint32_t rounds, err *e)
{
    uint32_t count = r->left - now->left, text_tok = r->prompt_tok + r->made_tok;
    if (count == 0 || count > rounds || count > b->context_tok + 1 - text_tok)
        return err_set(e, "a dispatch of %u tokens left %u of %u to be made", rounds, now->left, r->left);
    for (uint32_t i = 0; i < count; i++)
        r->text[text_tok + i] = now->tokens[(text_tok + i) % SAMPLE_RING_TOK];
    bool finite = !(r->text[text_tok + count - 1] & SAMPLE_NOT_FINITE);
    count -= !finite;
    r->made_tok += count;
    r->news_tok += count;
    r->left = now->left;
    r->end = !finite                                     ? BATCH_NOT_FINITE
             : is_stop(r, r->text[text_tok + count - 1]) ? BATCH_STOPPED
             : text_tok + count > b->context_tok         ? BATCH_FULL
             : r->left == 0                              ? BATCH_LIMIT
                                                         : BATCH_GOES_ON;
    if (r->end != BATCH_GOES_ON)
        r->state = BATCH_ENDED;
    return true;
}

/* ---- a chunk of tokens --------------------------------------------------------------- */

/* How many tokens the next dispatch makes: one while a prompt waits, since a step reads a single piece of it, and texts
 * that begin long after each other are few at a time. */
static uint32_t rounds_of(const batch *b, uint32_t most)
{
    uint32_t longest = 0, rounds = b->chunk_tok < most ? b->chunk_tok : most;
    for (uint32_t i = 0; i < b->slots; i++) {
        const batch_row *r = &b->rows[i];
        if (r->state == BATCH_READING && rounds > 1)
            rounds = 1;
        if (r->state != BATCH_MAKING)
            continue;
        longest = r->left > longest ? r->left : longest;
        rounds = r->most_tok && r->most_tok < rounds ? r->most_tok : rounds;
    }
    return longest == 0 ? 0 : b->level != LEVEL_LOOP ? 1 : rounds < longest ? rounds : longest;
}

void batch_set_rounds(batch *b, uint32_t rounds)
{
    if (b->level == LEVEL_LOOP && b->rounds != rounds)
        graph_run_set_rounds(b->run, b->programs[LEVEL_LOOP], b->rounds = rounds);
}

static void run(batch *b, uint32_t rounds)
{
    batch_set_rounds(b, rounds);
    if (b->before && b->level > LEVEL_OPS)
        graph_snapshot_keep(b->before);
    graph_run_once(b->run, b->programs[b->level], b->submit);
}

void batch_restore(batch *b)
{
    if (b->before)
        graph_snapshot_bring_back(b->before);
    for (uint32_t i = 0; i < b->slots; i++)
        if (b->rows[i].state == BATCH_MAKING)
            batch_send_row(b, i);
        else
            batch_idle_row(b, i);
}

/* After a time-out nothing of the dispatch counts. */
static bool begin_again(batch *b)
{
    batch_fall_back(b, GENERATION_TIMED_OUT);
    batch_restore(b);
    return true;
}

static bool timed_out(batch *b, bool *did, err *e)
{
    megakernel *mega = graph_run_megakernel(b->run, b->programs[b->level]);
    *did = false;
    return !mega || megakernel_timed_out(mega, did, e);
}

bool batch_make(batch *b, uint32_t most, err *e)
{
    sample_control now[BATCH_MOST_SLOTS];
    uint32_t rounds = rounds_of(b, most);
    bool again;
    if (rounds == 0)
        return gpu_ok(b->g, e);
    uint64_t began = clock_ns();
    do {
        run(b, rounds);
        if (!graph_run_get(b->run, b->control, 0, b->slots * SAMPLE_CONTROL_WORDS, now, e) || !timed_out(b, &again, e))
            return false;
        rounds = again ? 1 : rounds;
    } while (again && begin_again(b));
    if (rounds == b->chunk_tok)
        b->chunk_tok = chunk_rounds(rounds, SAMPLE_RING_TOK, clock_ns() - began, b->chunk_ns);
    bool ok = true;
    for (uint32_t i = 0; ok && i < b->slots; i++)
        ok = b->rows[i].state != BATCH_MAKING || take_tokens(b, &b->rows[i], &now[i], rounds, e);
    return ok;
}

void batch_set_most(batch *b, uint32_t slot, uint32_t tokens)
{
    b->rows[slot].most_tok = tokens;
}

bool batch_can_take_back(const batch *b)
{
    return !b->before;
}

void batch_take_back(batch *b, uint32_t slot, uint32_t count)
{
    batch_row *r = &b->rows[slot];
    r->left += count + (r->end == BATCH_NOT_FINITE); /* which is no token, but was to be one */
    r->made_tok -= count;
    r->news_tok -= count;
    r->state = BATCH_MAKING;
    r->end = BATCH_GOES_ON;
    batch_send_row(b, slot);
}

bool batch_step(batch *b, err *e)
{
    b->clock++;
    for (uint32_t i = 0; i < b->slots; i++)
        b->rows[i].news_tok = 0;
    if (b->compiling != LEVEL_AUTO && !batch_go_on_compiling(b, e))
        return false;
    return batch_read(b, e) && batch_make(b, SAMPLE_RING_TOK, e);
}
