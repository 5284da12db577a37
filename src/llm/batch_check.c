/* batch_check: compares the tokens that the megakernel makes for several texts with those of separate dispatches. */
#include "llm/batch_internal.h"
#include "llm/generation_internal.h"

#include <string.h>

/* Texts of different lengths, in all slots. */
static bool make_compared(batch *b, fusion_level level, uint32_t tokens[][COMPARED_TOK], err *e)
{
    const uint32_t words[] = {1 % b->vocab_tok, 2 % b->vocab_tok, 3 % b->vocab_tok, 4 % b->vocab_tok};
    bool ok = true;
    b->level = level;
    for (uint32_t i = 0, slot; ok && i < b->slots; i++)
        ok = batch_join(b, &(batch_request){.tokens = words, .count = 1 + i % 4, .max_tok = COMPARED_TOK}, &slot, e);
    while (ok && batch_busy(b))
        ok = batch_step(b, e);
    for (uint32_t i = 0; i < b->slots; i++) {
        if (ok)
            memcpy(tokens[i], b->rows[i].text + b->rows[i].prompt_tok, sizeof tokens[i]);
        batch_leave(b, i);
    }
    return ok;
}

bool batch_compare_with_ops(batch *b, err *e)
{
    fusion_level level = b->level;
    uint32_t right[BATCH_MOST_SLOTS][COMPARED_TOK] = {{0}}, tokens[BATCH_MOST_SLOTS][COMPARED_TOK] = {{0}};
    const megakernel *mega = graph_run_megakernel(b->run, b->programs[level]);
    generation_verdict verdict = generation_verdict_of(b->g, mega, b->context_tok);
    if (verdict == VERDICT_UNKNOWN) {
        if (!make_compared(b, LEVEL_OPS, right, e) || !make_compared(b, level, tokens, e))
            return false;
        verdict = memcmp(right, tokens, sizeof right) == 0 && b->level == level ? VERDICT_SAME : VERDICT_DIFFERENT;
        if (b->level == level) /* a time-out is no verdict: the next run may differ */
            generation_keep_verdict(b->g, mega, verdict);
    }
    if (verdict == VERDICT_DIFFERENT && b->has_level[level])
        batch_fall_back(b, GENERATION_OTHER_TOKENS);
    return true;
}
