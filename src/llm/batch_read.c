/* batch_read: prompts, piece by piece: what is read, in which order, and what need not be read. */
#include "llm/batch_internal.h"

#include <string.h>

/* ---- what need not be read --------------------------------------------------------- */

uint32_t batch_common_pieces(const batch *b, const uint32_t *a, const uint32_t *c, uint32_t most)
{
    uint32_t same = 0;
    if (b->before)
        return 0;
    while (same < most && a[same] == c[same])
        same++;
    return same / batch_piece(b) * batch_piece(b);
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Of all caches the one that has most of a text's beginning. The last token is not read: the first one is made from it. */
static uint32_t find_prefix(const batch *b, const batch_request *r, uint32_t *from)
{
    uint32_t wanted = r->count - 1, most = 0;
    for (uint32_t i = 0; i <= b->slots; i++) {
        bool is_slot = i < b->slots;
        const uint32_t *text = is_slot ? b->rows[i].text : b->reading;
        uint32_t has = is_slot ? b->rows[i].whole_tok : b->reading_tok;
        uint32_t same = batch_common_pieces(b, r->tokens, text, lesser(wanted, has));
        if (same > most) {
            most = same;
            *from = is_slot ? i : BATCH_READING_CACHE;
        }
    }
    return most;
}

uint32_t batch_take_prefix(batch *b, const batch_request *r, uint32_t slot)
{
    uint32_t from = slot, count = r->read_all ? 0 : find_prefix(b, r, &from);
    if (count && from != slot) {
        batch_copy(b, from, slot, 0, count);
        if (from != BATCH_READING_CACHE)
            b->rows[from].used = b->clock;
    }
    return count;
}

/* What the slot has already goes into the reading cache, unless that has it. */
static void begin(batch *b, uint32_t slot)
{
    batch_row *r = &b->rows[slot];
    uint32_t has = batch_common_pieces(b, r->text, b->reading, lesser(r->whole_tok, b->reading_tok));
    batch_copy(b, slot, BATCH_READING_CACHE, has, r->whole_tok);
    memcpy(b->reading, r->text, r->whole_tok * sizeof *b->reading);
    b->reading_tok = r->whole_tok;
    r->begun = true;
}

/* ---- reading ------------------------------------------------------------------------- */

/* The program for the next of `left` tokens. What is less than a piece is read by as few programs as possible, unless too
 * many of their rows were in vain. It depends on `left` only, so that a text's cache is the same every time. */
static uint32_t reader_for(const batch *b, uint32_t left)
{
    uint32_t i = 0;
    while (i + 1 < b->reader_count && left > b->reader_rows[i])
        i++;
    bool in_vain = i > 0 && b->reader_rows[i] > left && b->reader_rows[i] - left > left;
    return in_vain ? i - 1 : i;
}

/* The next tokens of a prompt into the reading cache, and from there into the slot's. */
static void read_piece(batch *b, uint32_t slot)
{
    batch_row *r = &b->rows[slot];
    uint32_t from = r->read_tok, left = r->prompt_tok - 1 - from, piece = batch_piece(b);
    uint32_t end = from + lesser(left, piece);
    bool whole = left >= piece;
    for (uint32_t at = from; at < end;) {
        uint32_t reader = reader_for(b, end - at), count = lesser(end - at, b->reader_rows[reader]);
        graph_run_put(b->run, b->read_tokens, r->text + at, count);
        graph_run_put(b->run, b->read_position, &at, 1);
        if (b->before)
            graph_run_put(b->run, b->read_last, &(uint32_t){count - 1}, 1);
        graph_run_once(b->run, b->reader_programs[reader], b->submit);
        at += count;
    }
    batch_copy(b, BATCH_READING_CACHE, slot, from, end);
    r->read_tok = end;
    if (whole) {
        memcpy(b->reading + from, r->text + from, piece * sizeof *b->reading);
        b->reading_tok = r->whole_tok = end;
    }
}

bool batch_read(batch *b, err *e)
{
    uint32_t first = b->slots;
    for (uint32_t i = 0; i < b->slots; i++)
        if (b->rows[i].state == BATCH_READING && (first == b->slots || b->rows[i].joined < b->rows[first].joined))
            first = i;
    if (first == b->slots)
        return true;
    batch_row *r = &b->rows[first];
    if (!r->begun)
        begin(b, first);
    if (r->read_tok < r->prompt_tok - 1)
        read_piece(b, first);
    if (r->read_tok == r->prompt_tok - 1) {
        r->whole_tok = r->read_tok / batch_piece(b) * batch_piece(b);
        batch_copy_recurrent(b, first);
        r->state = BATCH_MAKING;
        batch_send_row(b, first);
    }
    return gpu_ok(b->g, e);
}
