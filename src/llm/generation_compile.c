/* generation_compile: changes from ops to the megakernel in the middle of a text, once it has compiled in the background.
 *
 * The GPU makes the tokens after the current one by the megakernel, on trial: this writes only places of the KV cache and
 * of the history that the text has not reached, and recurrent states, which are put aside before. Trials time the megakernel's forms; the last one's tokens are kept, and the
 * text goes on by separate dispatches until it has shown whether they are right. Levels compute the same bits, so the text
 * is the same whatever token the change comes before. */
#include "llm/generation_internal.h"
#include "llm/generation_test.h"

#include <stdio.h>
#include <string.h>

static uint32_t program_of(const generation *n)
{
    return n->programs[n->compiling][0];
}

/* The text goes on by ops, and there will be no megakernel. */
static void give_up(generation *n, const char *why)
{
    n->compiling = LEVEL_AUTO;
    snprintf(n->notice, sizeof n->notice, "%s", why);
}

static void give_up_because(generation *n, const char *why)
{
    char text[sizeof n->notice];
    snprintf(text, sizeof text, GENERATION_NOT_POSSIBLE, why);
    give_up(n, text);
}

static void change_over(generation *n)
{
    fusion_level level = n->compiling;
    n->compiling = LEVEL_AUTO;
    n->has_level[level] = true;
    generation_set_stops_of_levels(n);
    graph_run_set_rounds(n->run, n->programs[level][0], 1);
    n->rounds = 1;
    if (n->wanted == LEVEL_AUTO || n->wanted == level)
        generation_change_level(n, level);
}

/* Brings the GPU back to the token at `position` after a trial of so many rounds. */
static void restore(generation *n, uint32_t token, uint32_t rounds)
{
    n->written = n->position + rounds;
    generation_bring_back(n);
    generation_forget_beyond(n, n->position);
    graph_run_put(n->run, n->tokens, &token, 1);
    graph_run_put(n->run, n->position_place, &n->position, 1);
}

/* The token at `position`, which the next run takes in; what a trial changes is put aside. */
static bool begin_trial(generation *n, uint32_t *token, err *e)
{
    generation_sync(n);
    if (!generation_mend(n, n->position, e))
        return false;
    generation_keep_snapshot(n);
    return graph_run_get(n->run, n->history, n->position, 1, token, e);
}

/* ---- comparing -------------------------------------------------------------------------- */

/* What the text has shown of the last trial. */
static bool agrees(generation *n)
{
    trial *t = &n->on_trial;
    for (; t->count && t->first < n->position; t->first++, t->count--) {
        if (n->said[t->first] != t->tokens[0])
            return false;
        memmove(t->tokens, t->tokens + 1, (t->count - 1) * sizeof *t->tokens);
        n->compared++;
    }
    return true;
}

void generation_forget_trial(generation *n)
{
    n->on_trial.count = 0;
}

/* Makes the tokens after the current one by the megakernel, for the text to be compared with. False: a failure. */
static bool make_trial(generation *n, err *e)
{
    trial *t = &n->on_trial;
    uint32_t token, rounds = COMPARED_TOK - n->compared, room = n->context_tok - n->position;
    rounds = rounds < room ? rounds : room;
    bool timed_out = false;
    err why = {0};
    if (!begin_trial(n, &token, e))
        return false;
    graph_run_set_rounds(n->run, program_of(n), rounds);
    graph_run_once(n->run, program_of(n), n->submit);
    bool ok = gpu_wait(n->g, &why) &&
              megakernel_timed_out(graph_run_megakernel(n->run, program_of(n)), &timed_out, &why) &&
              graph_run_get(n->run, n->history, n->position + 1, rounds, t->tokens, &why);
    if (!ok) {
        gpu_take_error(n->g, NULL);
        give_up_because(n, why.text);
    } else if (timed_out)
        give_up(n, GENERATION_TIMED_OUT);
    t->first = n->position + 1;
    t->count = rounds;
    restore(n, token, rounds);
    return gpu_ok(n->g, e);
}

static bool compare(generation *n, err *e)
{
    bool same = agrees(n);
    if (same && n->compared < COMPARED_TOK)
        return n->on_trial.count > 0 || make_trial(n, e);
    generation_put_verdict(n, program_of(n), same ? VERDICT_SAME : VERDICT_DIFFERENT);
    if (same)
        change_over(n);
    else
        give_up(n, GENERATION_OTHER_TOKENS);
    return true;
}

/* ---- compiling and timing ------------------------------------------------------------------ */

/* The megakernel has compiled, or there is none. */
static void begin_comparing(generation *n)
{
    if (!graph_run_megakernel(n->run, program_of(n))) {
        give_up_because(n, graph_run_why_not(n->run, program_of(n)));
        return;
    }
    n->stage = STAGE_COMPARING;
    generation_verdict verdict = n->always_compares ? VERDICT_UNKNOWN : generation_get_verdict(n, program_of(n));
    if (verdict == VERDICT_SAME)
        change_over(n);
    else if (verdict == VERDICT_DIFFERENT)
        give_up(n, GENERATION_OTHER_TOKENS);
}

static void see(generation *n, graph_compile state)
{
    n->stage = state == GRAPH_TIMING ? STAGE_TIMING : STAGE_COMPILING;
    if (state == GRAPH_COMPILED)
        begin_comparing(n);
}

/* Rounds that a trial may have. */
static uint32_t room(const generation *n)
{
    uint32_t left = n->context_tok - n->position;
    return left < GRAPH_MOST_ROUNDS ? left : GRAPH_MOST_ROUNDS;
}

static bool time_forms(generation *n, err *e)
{
    uint32_t token, rounds = room(n);
    if (rounds < GRAPH_LEAST_ROUNDS) /* a later text may have more room */
        return true;
    if (!begin_trial(n, &token, e))
        return false;
    graph_compile state = graph_run_go_on(n->run, program_of(n), rounds);
    restore(n, token, rounds);
    see(n, state);
    return gpu_ok(n->g, e);
}

/* ---- step by step ------------------------------------------------------------------------- */

static bool take_step(generation *n, err *e)
{
    switch (n->stage) {
    case STAGE_COMPILING: see(n, graph_run_go_on(n->run, program_of(n), 0)); return true;
    case STAGE_TIMING: return time_forms(n, e);
    case STAGE_COMPARING: break;
    }
    return compare(n, e);
}

/* For tests: is there nothing more to be done before the next token? */
static bool must_wait_for_text(const generation *n)
{
    return n->compiling == LEVEL_AUTO || n->on_trial.count > 0 ||
           (n->stage == STAGE_TIMING && room(n) < GRAPH_LEAST_ROUNDS);
}

bool generation_go_on_compiling(generation *n, err *e)
{
    if (n->held_tok > 0) {
        n->held_tok--;
        return true;
    }
    bool ok = take_step(n, e);
    while (ok && n->hurries && !must_wait_for_text(n))
        ok = take_step(n, e);
    return ok;
}

void generation_hold_compile(generation *n, uint32_t tokens, bool compares)
{
    n->held_tok = tokens;
    n->hurries = true;
    n->always_compares = compares;
}
