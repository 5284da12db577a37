/* session: a model, its tokenizer, its conversation and its settings together. */
#include "llm/session.h"
#include "llm/session_internal.h"
#include "model/model_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------------------- */

static bool find_named_template(session *s, const char *name, err *e)
{
    if (strcmp(name, "none") == 0)
        return true;
    s->template =
        strstr(name, "{{") || strstr(name, "{%") ? chat_template_new(name, strlen(name), e) : chat_template_named(name);
    return s->template || err_set_kind(e, ERR_USAGE, "there is no template '%s'", name);
}

/* Without a template, texts are continued without turns. One that cannot be run matters only to conversations. */
static bool find_template(session *s, err *e)
{
    str text = {0};
    bool ok = chat_template_of_model(s->m, &text, e);
    if (ok && text.length)
        s->template = chat_template_new(text.data, text.length, &s->template_error);
    str_free(&text);
    return ok;
}

session *session_new(gpu *g, const model *m, const session_options *o, err *e)
{
    session *s = mem_alloc(sizeof *s);
    *s = (session){.g = g,
                   .m = m,
                   .options = o->generation,
                   .t = o->tokenizer,
                   .template_is_given = o->template != NULL,
                   .think = o->think};
    if (!o->template || find_named_template(s, o->template, e))
        return s;
    session_free(s);
    return NULL;
}

bool session_read_texts(session *s, err *e)
{
    if (s->has_texts)
        return true;
    if (!s->t)
        s->t = s->own = tokenizer_of_model(s->m, e);
    s->has_texts = s->t && (s->template_is_given || find_template(s, e));
    s->has_turns = s->template != NULL;
    return s->has_texts;
}

void session_forget_stops(session *s)
{
    while (s->stop_count)
        free(s->stops[--s->stop_count]);
}

void session_free(session *s)
{
    if (!s)
        return;
    session_forget_stops(s);
    free(s->stops);
    conversation_free(s->talk);
    generation_free(s->n);
    graph_run_free(s->logits_run);
    graph_free(s->logits_graph);
    tokenizer_free(s->own);
    chat_template_free(s->template);
    free(s);
}

static conversation *new_conversation(const session *s)
{
    conversation *c = conversation_new(s->n, s->t, s->has_turns ? s->template : NULL);
    conversation_set_think(c, s->think);
    return c;
}

bool session_expect(session *s, const char *text, size_t bytes, uint32_t most_tok, err *e)
{
    token_list prompt = {0};
    bool ok =
        session_read_texts(s, e) && tokenizer_encode(s->t, text, bytes, true, tokenizer_adds_bos(s->t), &prompt, e);
    if (ok) {
        s->options.prompt_tok = (uint32_t)prompt.count;
        s->options.longest_tok = (uint32_t)prompt.count + most_tok;
    }
    token_list_free(&prompt);
    return ok;
}

bool session_prepare(session *s, err *e)
{
    uint32_t ends[TOKENIZER_MAX_ENDS];
    if (s->n)
        return true;
    if (!session_read_texts(s, e))
        return false;
    s->n = generation_new(s->g, s->m, &s->options, e);
    if (!s->n)
        return false;
    s->talk = new_conversation(s);
    generation_set_sampling(s->n, &s->how);
    generation_set_stops(s->n, ends, tokenizer_list_ends(s->t, ends));
    return true;
}

/* ---- asking and setting --------------------------------------------------------------- */

const tokenizer *session_tokenizer(const session *s)
{
    return s->t;
}

const chat_template *session_template(const session *s)
{
    return s->template;
}

const char *session_template_error(const session *s)
{
    return s->template_error.kind != ERR_NONE ? s->template_error.text : NULL;
}

generation *session_generation(session *s)
{
    return s->n;
}

conversation *session_conversation(session *s)
{
    return s->talk;
}

void session_set_sampling(session *s, const sampling *how)
{
    s->how = *how;
    if (s->n)
        generation_set_sampling(s->n, how);
}

const sampling *session_sampling(const session *s)
{
    return &s->how;
}

void session_set_think(session *s, chat_think think)
{
    s->think = think;
    if (s->talk)
        conversation_set_think(s->talk, think);
}

void session_add_stop(session *s, const char *text)
{
    s->stops = mem_grow(s->stops, (s->stop_count + 1) * sizeof *s->stops);
    s->stops[s->stop_count++] = mem_dup(text);
}

void session_set_level(session *s, fusion_level level)
{
    generation_set_launch(s->n, level, s->options.submit);
}

bool session_finish(session *s, err *e)
{
    if (!generation_is_compiling(s->n))
        return true;
    conversation_forget_cache(s->talk);
    bool ok = generation_finish_compile(s->n, e);
    generation_set_sampling(s->n, &s->how);
    return ok;
}

/* ---- texts ------------------------------------------------------------------------------ */

/* After the first `kept` tokens of the text so far. */
static bool continue_tokens(session *s, uint32_t kept, const token_list *prompt, bool echo, const answer_options *o,
                            answer_report *report, err *e)
{
    *report = (answer_report){.fed_tok = (uint32_t)prompt->count, .reused_tok = kept};
    uint32_t stream = kept ? generation_stream(s->n) : 0;
    conversation_forget_cache(s->talk);
    generation_rewind(s->n, kept);
    generation_set_stream(s->n, stream);
    answer_stream a = answer_of(s->n, s->t, o, echo && !kept);
    generation_stop_when(s->n, answer_stop(o));
    bool ok = generation_feed(s->n, (const uint32_t *)prompt->ids, (uint32_t)prompt->count, e);
    generation_stop_when(s->n, (submit_stop){0});
    if (!ok && answer_interrupted(o) && e->kind == ERR_NONE) {
        report->fed_tok = 0;
        report->end = ANSWER_INTERRUPTED;
        ok = true;
    } else if (ok) {
        if (echo)
            answer_show(&a, prompt->ids, prompt->count);
        if (o->most_tok && !s->options.slide)
            generation_set_limit(s->n, o->most_tok);
        ok = answer_make(&a, report, e);
        answer_finish(&a);
    }
    answer_free(&a);
    return ok;
}

/* The options with the session's stops. */
static answer_options with_stops(const session *s, const answer_options *o)
{
    answer_options mine = *o;
    mine.stops = (const char *const *)s->stops;
    mine.stop_count = s->stop_count;
    return mine;
}

bool session_continue(session *s, const char *text, size_t bytes, bool echo, const answer_options *o,
                      answer_report *report, err *e)
{
    token_list prompt = {0};
    answer_options mine = with_stops(s, o);
    bool ok =
        session_read_texts(s, e) && tokenizer_encode(s->t, text, bytes, true, tokenizer_adds_bos(s->t), &prompt, e);
    if (ok && prompt.count == 0)
        ok = err_set(e, "the text is empty, and this model begins no text by itself");
    s->options.prompt_tok = (uint32_t)prompt.count;
    ok = ok && session_prepare(s, e) && continue_tokens(s, 0, &prompt, echo, &mine, report, e);
    token_list_free(&prompt);
    return ok;
}

bool session_continue_on(session *s, const char *text, size_t bytes, bool echo, const answer_options *o,
                         answer_report *report, err *e)
{
    token_list prompt = {0};
    answer_options mine = with_stops(s, o);
    uint32_t kept = generation_position(s->n);
    if (kept == 0)
        return session_continue(s, text, bytes, echo, o, report, e);
    bool ok = tokenizer_encode(s->t, text, bytes, true, false, &prompt, e);
    if (ok && prompt.count == 0) { /* the last one is fed again, so that a next one can follow */
        kept--;
        echo = false;
        token_list_add(&prompt, (int32_t)generation_text(s->n)[kept]);
    }
    ok = ok && continue_tokens(s, kept, &prompt, echo, &mine, report, e);
    token_list_free(&prompt);
    return ok;
}

/* A template that cannot be run is no reason to go on without turns. */
static bool can_converse(const session *s, err *e)
{
    return s->template_error.kind == ERR_NONE || s->is_plain || err_set(e, "%s", s->template_error.text);
}

bool session_say(session *s, const char *text, const answer_options *o, answer_report *report, err *e)
{
    answer_options mine = with_stops(s, o);
    return can_converse(s, e) && conversation_say(s->talk, text, &mine, report, e);
}

bool session_again(session *s, const answer_options *o, answer_report *report, err *e)
{
    answer_options mine = with_stops(s, o);
    return can_converse(s, e) && conversation_again(s->talk, &mine, report, e);
}

bool session_answer(session *s, const answer_options *o, answer_report *report, err *e)
{
    answer_options mine = with_stops(s, o);
    return can_converse(s, e) && conversation_answer(s->talk, &mine, report, e);
}

void session_begin(session *s, bool turns)
{
    s->is_plain = !turns;
    if (s->has_turns != (turns && s->template)) {
        s->has_turns = !s->has_turns;
        conversation_free(s->talk);
        s->talk = new_conversation(s);
    }
    conversation_set_system(s->talk, NULL);
    conversation_reset(s->talk);
}
