/* answer: from tokens to text, piece by piece. */
#include "llm/answer.h"
#include "base/clock.h"

bool answer_interrupted(const answer_options *o)
{
    return o->interrupted && *o->interrupted;
}

answer_stream answer_of(generation *n, const tokenizer *t, const answer_options *o, bool begins_text)
{
    return (answer_stream){.n = n,
                           .t = t,
                           .o = o,
                           .began_us = clock_us(),
                           .characters = {.strip_space = begins_text},
                           .stops = stops_of(o->stops, o->stop_count)};
}

static void pass_on(answer_stream *a)
{
    if (a->passed.length) {
        a->o->print(a->o->context, a->passed.data, a->passed.length);
        str_add_bytes(&a->text, a->passed.data, a->passed.length);
    }
    a->passed.length = 0;
}

void answer_show(answer_stream *a, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        decode_stream_add(&a->characters, a->t, ids[i], &a->passed);
    pass_on(a);
}

/* True if a stop text was found. */
static bool add_token(answer_stream *a, int32_t id)
{
    a->piece.length = 0;
    decode_stream_add(&a->characters, a->t, id, &a->piece);
    bool stopped = stops_add(&a->stops, a->piece.data, a->piece.length, &a->passed);
    pass_on(a);
    return stopped;
}

static double since_s(double began_us)
{
    return (clock_us() - began_us) * 1e-6;
}

/* The wait for the first token includes the prompt: only the others measure the time per token. */
static double rate_of(const answer_report *report, double all_s)
{
    if (report->answer_tok > 1 && all_s > report->first_s) /* clocks of browsers are coarse */
        return (report->answer_tok - 1) / (all_s - report->first_s);
    return report->first_s > 0 ? report->answer_tok / report->first_s : 0;
}

static bool make_tokens(answer_stream *a, answer_report *report, err *e)
{
    const answer_options *o = a->o;
    bool compiling = generation_is_compiling(a->n);
    for (;;) {
        uint32_t token;
        if (answer_interrupted(o))
            report->end = ANSWER_INTERRUPTED;
        else if (o->most_tok && report->answer_tok == o->most_tok)
            report->end = ANSWER_LONG;
        else if (generation_is_full(a->n))
            report->end = ANSWER_FULL;
        else if (!generation_next(a->n, &token, e))
            return false;
        else {
            if (compiling && !generation_is_compiling(a->n)) {
                compiling = false;
                report->changed_tok = report->answer_tok;
                report->changed_s = since_s(a->began_us);
            }
            if (++report->answer_tok == 1)
                report->first_s = since_s(a->began_us);
            token_list_add(&a->tokens, (int32_t)token);
            if (tokenizer_ends(a->t, (int32_t)token))
                report->end = ANSWER_ENDED;
            else if (add_token(a, (int32_t)token))
                report->end = ANSWER_STOPPED;
            else
                continue;
        }
        return true;
    }
}

bool answer_make(answer_stream *a, answer_report *report, err *e)
{
    bool ok = make_tokens(a, report, e);
    report->tok_per_s = rate_of(report, since_s(a->began_us));
    return ok;
}

void answer_finish(answer_stream *a)
{
    a->piece.length = 0;
    decode_stream_end(&a->characters, &a->piece);
    stops_add(&a->stops, a->piece.data, a->piece.length, &a->passed);
    stops_end(&a->stops, &a->passed);
    pass_on(a);
}

void answer_free(answer_stream *a)
{
    stops_free(&a->stops);
    token_list_free(&a->tokens);
    str_free(&a->piece);
    str_free(&a->passed);
    str_free(&a->text);
}
