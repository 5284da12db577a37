/* The public API's sessions: texts, conversations, logits. */
#include "api/model.h"
#include "api/options.h"
#include "api/session.h"
#include "llm/session.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)SOLO_LEVEL_LOOP == (int)LEVEL_LOOP && (int)SOLO_SUBMIT_BATCH == (int)SUBMIT_BATCH,
               "the same order");
_Static_assert((int)SOLO_THINK_OFF == (int)CHAT_THINK_OFF, "the same order");
_Static_assert((int)SOLO_END_MODEL == (int)ANSWER_ENDED && (int)SOLO_END_STOP == (int)ANSWER_STOPPED &&
                   (int)SOLO_END_LENGTH == (int)ANSWER_LONG && (int)SOLO_END_CONTEXT == (int)ANSWER_FULL &&
                   (int)SOLO_END_CALLER == (int)ANSWER_INTERRUPTED,
               "the same order");

enum { MOST_CONTEXT = 1 << 24 }; /* as on the command line */

/* ---- making one ------------------------------------------------------------------------------- */

sampling api_sampling(const solo_sampling *how)
{
    return (sampling){.temperature = how->temperature,
                      .top_k = how->top_k,
                      .top_p = how->top_p,
                      .min_p = how->min_p,
                      .repeat_penalty = how->repeat_penalty,
                      .repeat_last = how->repeat_last,
                      .seed = how->seed};
}

static bool is_between(float value, float from, float to)
{
    return value >= from && value <= to; /* not so of one that is no number */
}

bool api_sampling_is_possible(const solo_sampling *how, err *e)
{
    return (is_between(how->temperature, 0, 1000) && is_between(how->top_p, 0, 1) && is_between(how->min_p, 0, 1) &&
            is_between(how->repeat_penalty, 0, 1000)) ||
           err_set_kind(e, ERR_USAGE, "temperature and repeat_penalty are from 0 to 1000, top_p and min_p from 0 to 1");
}

bool api_options_are_known(const solo_session_options *o, err *e)
{
    dtype cache;
    if (!generation_find_cache(o->cache_type, &cache, e) || !api_sampling_is_possible(&o->sampling, e))
        return false;
    if (o->context > MOST_CONTEXT)
        return err_set_kind(e, ERR_USAGE, "a context has at most %d tokens, not %u", MOST_CONTEXT, o->context);
    return ((unsigned)o->level <= SOLO_LEVEL_LOOP && (unsigned)o->submit <= SOLO_SUBMIT_BATCH &&
            (unsigned)o->think <= SOLO_THINK_OFF) ||
           err_set_kind(e, ERR_USAGE, "there is no such level, submit policy or way to think");
}

generation_options api_generation_options(const solo_session_options *o)
{
    return (generation_options){.level = (fusion_level)o->level,
                                .submit = (submit_policy)o->submit,
                                .context_tok = o->context,
                                .slide = o->slide,
                                .cache = o->exact_cache ? "f32" : o->cache_type,
                                .chunk_ms = o->chunk_ms,
                                .compile = o->wait ? COMPILE_FIRST : COMPILE_AUTO};
}

static void set_stops(session *s, const char *const *stops)
{
    session_forget_stops(s);
    for (; stops && *stops; stops++)
        session_add_stop(s, *stops);
}

solo_session *solo_session_open(solo_device *d, solo_model *m, const solo_session_options *o, solo_error *to)
{
    static const solo_session_options none = {0};
    err e = {0};
    o = o ? o : &none;
    if (!api_is_here(d, to) || !api_is_here(m, to) || !api_result(to, &e, api_options_are_known(o, &e)))
        return NULL;
    session_options inside = {.generation = api_generation_options(o),
                              .template = o->chat_template,
                              .think = (chat_think)o->think,
                              .tokenizer = m->t};
    session *made = session_new(d->g, m->m, &inside, &e);
    if (!api_result(to, &e, made && session_read_texts(made, &e))) {
        session_free(made);
        return NULL;
    }
    sampling how = api_sampling(&o->sampling);
    session_set_sampling(made, &how);
    set_stops(made, o->stops);
    solo_session *s = mem_alloc(sizeof *s);
    *s = (solo_session){made, o->system ? mem_dup(o->system) : NULL, o->think_budget};
    return s;
}

void solo_session_close(solo_session *s)
{
    if (!s)
        return;
    session_free(s->s);
    free(s->system);
    free(s);
}

/* Starts the first conversation, with its system message. */
bool api_session_prepare(solo_session *s, err *e)
{
    if (!session_prepare(s->s, e))
        return false;
    if (s->system)
        conversation_set_system(session_conversation(s->s), s->system);
    free(s->system);
    s->system = NULL;
    return true;
}

/* ---- texts ------------------------------------------------------------------------------------- */

/* The callback for the text, and whether it asked to stop. */
typedef struct listener {
    solo_on_text on_text;
    void *user;
    str piece;
    volatile sig_atomic_t enough;
} listener;

static void pass_piece(void *context, const char *text, size_t bytes)
{
    listener *l = context;
    if (!l->on_text || l->enough)
        return;
    l->piece.length = 0;
    str_add_bytes(&l->piece, text, bytes);
    str_add(&l->piece, ""); /* the zero */
    l->enough = !l->on_text(l->user, l->piece.data, bytes);
}

static void fill_answer(const answer_report *r, solo_answer *out)
{
    if (out)
        *out = (solo_answer){.end = (solo_end)r->end,
                             .prompt_tok = r->fed_tok + r->reused_tok,
                             .reused_tok = r->reused_tok,
                             .answer_tok = r->answer_tok,
                             .forgotten_messages = r->forgotten,
                             .first_token_s = r->first_s,
                             .tok_per_s = r->tok_per_s};
}

typedef enum { CONTINUE, SAY, SAY_AGAIN, ANSWER } text_kind;

static bool make_text(solo_session *s, text_kind kind, const char *text, const answer_options *o, answer_report *report,
                      err *e)
{
    if (!api_session_prepare(s, e))
        return false;
    if (kind == CONTINUE)
        return session_continue(s->s, text, strlen(text), false, o, report, e);
    if (kind == SAY)
        return session_say(s->s, text, o, report, e);
    if (kind == ANSWER)
        return session_answer(s->s, o, report, e);
    return session_again(s->s, o, report, e) ||
           (e->kind == ERR_NONE && err_set_kind(e, ERR_USAGE, "there is no answer yet"));
}

static bool answer_to(solo_session *s, text_kind kind, const char *text, uint32_t most_tok, solo_on_text on_text,
                      void *user, solo_answer *out, solo_error *to)
{
    err e = {0};
    answer_report report = {0};
    listener l = {.on_text = on_text, .user = user};
    answer_options o = {.most_tok = most_tok,
                        .interrupted = &l.enough,
                        .print = pass_piece,
                        .context = &l,
                        .think_tok = s ? s->think_tok : 0};
    if (!api_is_here(s, to) || ((kind == CONTINUE || kind == SAY) && !api_is_here(text, to)))
        return false;
    bool ok = make_text(s, kind, text, &o, &report, &e);
    str_free(&l.piece);
    fill_answer(&report, out);
    return api_result(to, &e, ok);
}

bool solo_session_generate(solo_session *s, const char *text, uint32_t most_tok, solo_on_text on_text, void *user,
                           solo_answer *out, solo_error *to)
{
    return api_is_here(text, to) && answer_to(s, CONTINUE, text, most_tok, on_text, user, out, to);
}

bool solo_session_chat(solo_session *s, const char *message, uint32_t most_tok, solo_on_text on_text, void *user,
                       solo_answer *out, solo_error *to)
{
    return api_is_here(message, to) && answer_to(s, SAY, message, most_tok, on_text, user, out, to);
}

bool solo_session_chat_again(solo_session *s, uint32_t most_tok, solo_on_text on_text, void *user, solo_answer *out,
                             solo_error *to)
{
    return answer_to(s, SAY_AGAIN, NULL, most_tok, on_text, user, out, to);
}

bool solo_session_answer(solo_session *s, uint32_t most_tok, solo_on_text on_text, void *user, solo_answer *out,
                         solo_error *to)
{
    return answer_to(s, ANSWER, NULL, most_tok, on_text, user, out, to);
}

bool solo_session_reset(solo_session *s, const char *system, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to) || !api_result(to, &e, api_session_prepare(s, &e)))
        return false;
    conversation_reset(session_conversation(s->s));
    conversation_set_system(session_conversation(s->s), system);
    return true;
}

bool solo_session_set_sampling(solo_session *s, const solo_sampling *how, solo_error *to)
{
    err e = {0};
    if (!api_is_here(s, to) || (how && !api_result(to, &e, api_sampling_is_possible(how, &e))))
        return false;
    sampling inside = how ? api_sampling(how) : (sampling){0};
    session_set_sampling(s->s, &inside);
    return true;
}

solo_sampling solo_session_sampling(const solo_session *s)
{
    if (!s)
        return (solo_sampling){0};
    const sampling *how = session_sampling(s->s);
    return (solo_sampling){.temperature = how->temperature,
                           .top_k = how->top_k,
                           .top_p = how->top_p,
                           .min_p = how->min_p,
                           .repeat_penalty = how->repeat_penalty,
                           .repeat_last = how->repeat_last,
                           .seed = how->seed};
}

bool solo_session_set_stops(solo_session *s, const char *const *stops, solo_error *to)
{
    if (!api_is_here(s, to))
        return false;
    set_stops(s->s, stops);
    return true;
}

bool solo_session_logits(solo_session *s, const uint32_t *tokens, uint32_t count, float *logits, solo_error *to)
{
    err e = {0};
    return api_is_here(s, to) && api_result(to, &e, session_logits(s->s, tokens, count, logits, &e));
}

/* ---- what it is ---------------------------------------------------------------------------------- */

const char *solo_session_template(const solo_session *s)
{
    const chat_template *t = s ? session_template(s->s) : NULL;
    return t ? chat_template_name(t) : NULL;
}

solo_level solo_session_level(const solo_session *s)
{
    const generation *n = s ? session_generation(s->s) : NULL;
    return n ? (solo_level)generation_level(n) : SOLO_LEVEL_AUTO;
}

uint32_t solo_session_context(const solo_session *s)
{
    const generation *n = s ? session_generation(s->s) : NULL;
    return n ? generation_context(n) : 0;
}

uint32_t solo_session_dispatches(const solo_session *s)
{
    const generation *n = s ? session_generation(s->s) : NULL;
    return n ? generation_dispatches(n) : 0;
}

bool solo_session_take_notice(solo_session *s, char *text, size_t room)
{
    generation *n = s ? session_generation(s->s) : NULL;
    return n && generation_take_notice(n, text, room);
}
