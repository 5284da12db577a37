/* batch_join: requests that join a batch, are steered, and leave. */
#include "llm/batch_internal.h"

#include <string.h>

static bool check(const batch *b, const batch_request *r, err *e)
{
    if (r->count == 0)
        return err_set(e, "a request without tokens: there is nothing that could be continued");
    if (r->count > b->context_tok)
        return err_set(e, "a prompt of %u tokens does not fit the context of %u", r->count, b->context_tok);
    if (r->stop_count > BATCH_MOST_STOPS)
        return err_set(e, "%u stop tokens: %d are possible", r->stop_count, BATCH_MOST_STOPS);
    for (uint32_t i = 0; i < r->count; i++)
        if (r->tokens[i] >= b->vocab_tok)
            return err_set(e, "%u is no token of this model, which has %u", r->tokens[i], b->vocab_tok);
    return batch_free_slots(b) > 0 || err_set(e, "all %u slots are taken", b->slots);
}

/* Of the free slots the one that was used least recently; one whose cache the request can use comes last. */
static uint32_t choose_slot(const batch *b, const batch_request *r)
{
    uint32_t best = b->slots;
    bool best_useful = false;
    for (uint32_t i = 0; i < b->slots; i++) {
        const batch_row *row = &b->rows[i];
        if (row->state != BATCH_FREE)
            continue;
        uint32_t most = row->whole_tok < r->count ? row->whole_tok : r->count;
        bool useful = batch_common_pieces(b, r->tokens, row->text, most) > 0;
        if (best == b->slots || useful < best_useful || (useful == best_useful && row->used < b->rows[best].used)) {
            best = i;
            best_useful = useful;
        }
    }
    return best;
}

bool batch_join(batch *b, const batch_request *r, uint32_t *slot, err *e)
{
    if (!check(b, r, e))
        return false;
    *slot = choose_slot(b, r);
    batch_row *row = &b->rows[*slot];
    uint32_t *text = row->text, room = b->context_tok + 1 - r->count, there = batch_take_prefix(b, r, *slot);
    *row = (batch_row){.state = BATCH_READING,
                       .text = text,
                       .prompt_tok = r->count,
                       .read_tok = there,
                       .whole_tok = there,
                       .reused_tok = there,
                       .left = r->max_tok && r->max_tok < room ? r->max_tok : room,
                       .joined = ++b->clock,
                       .used = b->clock,
                       .most_tok = r->stepwise,
                       .how = sample_pack(&r->how)};
    memcpy(text, r->tokens, r->count * sizeof *text);
    row->control.stop_count = r->stop_count;
    if (r->stop_count)
        memcpy(row->control.stops, r->stops, r->stop_count * sizeof *r->stops);
    return true;
}

void batch_leave(batch *b, uint32_t slot)
{
    batch_row *r = &b->rows[slot];
    if (r->state == BATCH_MAKING)
        batch_idle_row(b, slot);
    r->state = BATCH_FREE;
    r->end = BATCH_GOES_ON;
    r->news_tok = 0;
    r->used = ++b->clock;
}

bool batch_steer(batch *b, uint32_t slot, const uint32_t *allowed, const float *added, err *e)
{
    uint32_t flags = (b->vocab_tok + 31) / 32, at = b->steering.word + slot * sample_steering_words(b->vocab_tok);
    batch_row *r = &b->rows[slot];
    if (!b->steering.words)
        return err_set(e, "this batch was made for requests that are not steered");
    if (r->state == BATCH_FREE)
        return err_set(e, "slot %u is free: there is no request to steer", slot);
    if (allowed)
        graph_run_put(b->run, (graph_place){at, flags}, allowed, flags);
    if (added)
        graph_run_put(b->run, (graph_place){at + flags, b->vocab_tok}, added, b->vocab_tok);
    r->control.steered = (allowed ? SAMPLE_ONLY_SET : 0) | (added ? SAMPLE_ADDED : 0);
    if (r->state == BATCH_MAKING)
        graph_run_put(b->run, (graph_place){b->control.word + slot * SAMPLE_CONTROL_WORDS + 1, 1}, &r->control.steered,
                      1);
    return gpu_ok(b->g, e);
}
