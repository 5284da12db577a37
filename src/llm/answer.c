/* answer: from tokens to text, piece by piece. */
#include "llm/answer.h"
#include "base/clock.h"

#include <string.h>

bool answer_interrupted(const answer_options *o)
{
    return (o->interrupted && *o->interrupted) || (o->unheard && *o->unheard);
}

static bool is_interrupted(void *options)
{
    return answer_interrupted(options);
}

submit_stop answer_stop(const answer_options *o)
{
    return o->interrupted ? (submit_stop){is_interrupted, (void *)(uintptr_t)o} : (submit_stop){0};
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

void answer_look_at_prompt(answer_stream *a, const int32_t *ids, size_t count)
{
    enum { LOOKED_AT = 12 }; /* tokens: the tag in small pieces, and line ends */
    str end = {0};
    for (size_t i = count < LOOKED_AT ? 0 : count - LOOKED_AT; i < count; i++)
        tokenizer_piece(a->t, ids[i], true, &end);
    size_t length = end.length, tag = strlen(THOUGHTS_BEGIN);
    while (length && strchr(" \n", end.data[length - 1]))
        length--;
    if (length >= tag && memcmp(end.data + length - tag, THOUGHTS_BEGIN, tag) == 0)
        a->thoughts.state = THOUGHTS_THINKING;
    str_free(&end);
}

static void show_part(void *context, bool is_thought, const char *text, size_t bytes)
{
    const answer_options *o = context;
    if (o->print_thought)
        (is_thought ? o->print_thought : o->print)(o->context, text, bytes);
}

static void pass_on(answer_stream *a)
{
    if (a->passed.length) {
        thoughts_add(&a->thoughts, a->passed.data, a->passed.length, show_part, (void *)a->o);
        if (!a->o->print_thought)
            a->o->print(a->o->context, a->passed.data, a->passed.length);
        str_add_bytes(&a->text, a->passed.data, a->passed.length);
    }
    a->passed.length = 0;
}

void answer_show(answer_stream *a, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        markup_add(&a->markup, &a->characters, a->t, ids[i], &a->passed);
    pass_on(a);
}

/* True if a stop text was found. */
static bool add_token(answer_stream *a, int32_t id)
{
    a->piece.length = 0;
    markup_add(&a->markup, &a->characters, a->t, id, &a->piece);
    bool stopped = stops_add(&a->stops, a->piece.data, a->piece.length, &a->passed);
    pass_on(a);
    return stopped;
}

/* The tag that ends the thoughts is fed as if the model had written it. */
static bool end_thoughts(answer_stream *a, answer_report *report, err *e)
{
    const char *end = markup_end_of_thoughts(&a->markup);
    token_list tokens = {0};
    bool ok = tokenizer_encode(a->t, end, strlen(end), true, false, &tokens, e);
    size_t room = generation_context(a->n) - generation_position(a->n);
    if (ok && tokens.count < room) {
        ok = generation_feed(a->n, (const uint32_t *)tokens.ids, (uint32_t)tokens.count, e);
        for (size_t i = 0; ok && i < tokens.count; i++) {
            token_list_add(&a->tokens, tokens.ids[i]);
            report->answer_tok++;
            add_token(a, tokens.ids[i]);
        }
    }
    token_list_free(&tokens);
    return ok;
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
            else if (a->thoughts.state == THOUGHTS_THINKING && ++report->thought_tok == o->think_tok &&
                     !end_thoughts(a, report, e))
                return false;
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
    markup_end(&a->markup, &a->piece);
    stops_add(&a->stops, a->piece.data, a->piece.length, &a->passed);
    stops_end(&a->stops, &a->passed);
    pass_on(a);
    thoughts_end(&a->thoughts, show_part, (void *)a->o);
}

void answer_free(answer_stream *a)
{
    stops_free(&a->stops);
    token_list_free(&a->tokens);
    str_free(&a->piece);
    str_free(&a->passed);
    str_free(&a->text);
    thoughts_free(&a->thoughts);
    markup_free(&a->markup);
}
