/* batch_compile: changes from ops to the megakernel between two steps, once it has compiled in the background.
 *
 * Trials run the megakernel from where the texts are: that writes into places of the cache that no text has reached, and
 * into inputs and recurrent states that are sent and brought back after it. Some trials time its forms; the tokens of the
 * last one are compared with those that separate dispatches then make, and the faster of both goes on. Levels compute the
 * same bits, so a text is the same whatever token the change comes before. */
#include "base/clock.h"
#include "llm/batch_internal.h"
#include "llm/generation_internal.h"

#include <stdio.h>
#include <string.h>

static const char SLOWER[] =
    "one dispatch is slower than many for these texts on this device; each step has a dispatch of its own";

static uint32_t program_of(const batch *b)
{
    return b->programs[b->compiling];
}

static void give_up(batch *b, const char *why)
{
    b->compiling = LEVEL_AUTO;
    snprintf(b->notice, sizeof b->notice, "%s", why);
}

static void give_up_because(batch *b, const char *why)
{
    char text[sizeof b->notice];
    snprintf(text, sizeof text, GENERATION_NOT_POSSIBLE, why);
    give_up(b, text);
}

static void change_over(batch *b)
{
    b->level = b->compiling;
    b->has_level[b->level] = true;
    b->compiling = LEVEL_AUTO;
    b->chunk_tok = 1;
    b->rounds = 0;
}

/* There are texts, and none for which somebody has to look at each token. */
static bool can_try(const batch *b)
{
    bool any = false, limited = false;
    for (uint32_t i = 0; i < b->slots; i++) {
        any |= b->rows[i].state == BATCH_MAKING;
        limited |= b->rows[i].state == BATCH_MAKING && b->rows[i].most_tok;
    }
    return any && !limited;
}

static void keep_states(batch *b)
{
    if (b->before)
        graph_snapshot_keep(b->before);
}

/* ---- comparing ------------------------------------------------------------------------ */

/* What the megakernel makes of the texts, and how long it takes; false: it failed, and there will be none. */
static bool try_tokens(batch *b, uint32_t rounds, sample_control *made, double *us)
{
    bool timed_out = false;
    err why = {0};
    keep_states(b);
    graph_run_set_rounds(b->run, program_of(b), rounds);
    double began = clock_us();
    graph_run_once(b->run, program_of(b), b->submit);
    bool ok = graph_run_get(b->run, b->control, 0, b->slots * SAMPLE_CONTROL_WORDS, made, &why) &&
              megakernel_timed_out(graph_run_megakernel(b->run, program_of(b)), &timed_out, &why);
    *us = clock_us() - began;
    if (!ok) {
        gpu_take_error(b->g, NULL);
        give_up_because(b, why.text);
    } else if (timed_out)
        give_up(b, GENERATION_TIMED_OUT);
    batch_restore(b);
    return ok && !timed_out;
}

/* Separate dispatches have made tokens since: are they those of the trial? */
static bool agree(batch *b, const sample_control *tried, const batch_row *before)
{
    for (uint32_t i = 0; i < b->slots; i++) {
        const batch_row *was = &before[i], *is = &b->rows[i];
        uint32_t first = was->prompt_tok + was->made_tok;
        if (was->state != BATCH_MAKING)
            continue;
        if (tried[i].left != is->left)
            return false;
        for (uint32_t k = 0; k < is->made_tok - was->made_tok; k++, b->compared_tok++)
            if (tried[i].tokens[(first + k) % SAMPLE_RING_TOK] != is->text[first + k])
                return false;
    }
    return true;
}

static void use_verdict(batch *b, generation_verdict verdict, bool is_new)
{
    if (is_new)
        generation_keep_verdict(b->g, graph_run_megakernel(b->run, program_of(b)), verdict);
    if (verdict == VERDICT_SAME)
        change_over(b);
    else
        give_up(b, verdict == VERDICT_SLOWER ? SLOWER : GENERATION_OTHER_TOKENS);
}

static bool compare(batch *b, err *e)
{
    sample_control tried[BATCH_MOST_SLOTS];
    batch_row before[BATCH_MOST_SLOTS];
    memcpy(before, b->rows, sizeof before);
    double us, began;
    if (!try_tokens(b, COMPARED_TOK, tried, &us))
        return gpu_ok(b->g, e);
    began = clock_us();
    uint32_t steps = 0;
    for (; steps < COMPARED_TOK && can_try(b); steps++)
        if (!batch_make(b, 1, e))
            return false;
    /* Software is not asked: one dispatch is used there only where somebody wants it. */
    bool slower = us / COMPARED_TOK > (clock_us() - began) / steps && gpu_get_info(b->g)->type != GPU_TYPE_SOFTWARE;
    bool same = agree(b, tried, before);
    if (same && b->compared_tok < COMPARED_TOK) /* texts have ended: others will show it */
        return true;
    use_verdict(b, same && slower ? VERDICT_SLOWER : same ? VERDICT_SAME : VERDICT_DIFFERENT, true);
    return true;
}

/* ---- step by step ----------------------------------------------------------------------- */

static bool use_compiled(batch *b, err *e)
{
    const megakernel *mega = graph_run_megakernel(b->run, program_of(b));
    if (!mega) {
        give_up_because(b, graph_run_why_not(b->run, program_of(b)));
        return true;
    }
    generation_verdict verdict =
        b->always_compares ? VERDICT_UNKNOWN : generation_verdict_of(b->g, mega, b->context_tok);
    if (verdict == VERDICT_UNKNOWN)
        return !can_try(b) || compare(b, e);
    use_verdict(b, verdict, false);
    return true;
}

bool batch_go_on_compiling(batch *b, err *e)
{
    bool times = b->compile_state == GRAPH_TIMING;
    if (b->compile_state != GRAPH_COMPILED && (!times || can_try(b))) {
        if (times)
            keep_states(b);
        b->compile_state = graph_run_go_on(b->run, program_of(b), times ? GRAPH_MOST_ROUNDS : 0);
        if (times)
            batch_restore(b);
    }
    return b->compile_state == GRAPH_COMPILED ? use_compiled(b, e) : gpu_ok(b->g, e);
}
