/* conversation: turns messages into tokens that fit the context, and answers them. */
#include "llm/conversation_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEED_TOK = 256,   /* tokens fed at a time: as many as are kept when the next is interrupted */
    LEAST_ANSWER = 8, /* tokens that must be left for an answer, or, if that is more, */
    ANSWER_SHARE = 4, /* this part of the context */
    ENOUGH_ANSWER = 256
};

conversation *conversation_new(generation *n, const tokenizer *t, const chat_template *f)
{
    conversation *c = mem_alloc(sizeof *c);
    *c = (conversation){.n = n, .t = t, .f = f};
    return c;
}

/* ---- messages ------------------------------------------------------------------ */

static void free_texts(message *m)
{
    free(m->content);
    free(m->tool_calls);
    free(m->tool_call_id);
    free(m->name);
    token_list_free(&m->tokens);
}

static void remove_between(conversation *c, size_t first, size_t behind)
{
    for (size_t i = first; i < behind; i++)
        free_texts(&c->items[i]);
    memmove(&c->items[first], &c->items[behind], (c->count - behind) * sizeof *c->items);
    c->count -= behind - first;
}

void conversation_remove(conversation *c, size_t at)
{
    remove_between(c, at, at + 1);
}

void conversation_insert(conversation *c, size_t at, message m)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 16;
        c->items = mem_grow(c->items, c->capacity * sizeof *c->items);
    }
    memmove(&c->items[at + 1], &c->items[at], (c->count - at) * sizeof *c->items);
    c->items[at] = m;
    c->count++;
}

static size_t system_count(const conversation *c)
{
    return c->count && c->items[0].role == CHAT_SYSTEM ? 1 : 0;
}

/* A message of the user or the system, without a format. */
static message text_message(const conversation *c, chat_role role, const char *text)
{
    message m = {.role = role, .content = mem_dup(text)};
    if (!c->f)
        tokenizer_encode(c->t, text, strlen(text), false, false, &m.tokens, NULL);
    return m;
}

void conversation_free(conversation *c)
{
    if (!c)
        return;
    while (c->count)
        conversation_remove(c, c->count - 1);
    free(c->items);
    free(c->tools);
    token_list_free(&c->taken);
    free(c);
}

void conversation_reset(conversation *c)
{
    while (c->count > system_count(c))
        conversation_remove(c, c->count - 1);
    c->forgotten = 0;
}

void conversation_forget_cache(conversation *c)
{
    c->taken.count = 0;
}

void conversation_set_system(conversation *c, const char *text)
{
    if (system_count(c))
        conversation_remove(c, 0);
    if (text && *text)
        conversation_insert(c, 0, text_message(c, CHAT_SYSTEM, text));
}

void conversation_set_think(conversation *c, chat_think think)
{
    c->think = think;
}

void conversation_set_tools(conversation *c, const char *json)
{
    free(c->tools);
    c->tools = json ? mem_dup(json) : NULL;
}

size_t conversation_count(const conversation *c)
{
    return c->count;
}

chat_message conversation_at(const conversation *c, size_t i)
{
    const message *m = &c->items[i];
    return (chat_message){m->role, m->content, m->tool_calls, m->tool_call_id, m->name};
}

/* ---- the tokens to feed ------------------------------------------------------------ */

/* Of a conversation that is cut: the system's message stays, the others from `first` on do. */
static bool is_kept(const conversation *c, size_t i, size_t first)
{
    return i < system_count(c) || i >= first;
}

static bool encode_plain(const conversation *c, size_t first, token_list *out)
{
    if (tokenizer_adds_bos(c->t) && tokenizer_bos(c->t) >= 0)
        token_list_add(out, tokenizer_bos(c->t));
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; is_kept(c, i, first) && k < c->items[i].tokens.count; k++)
            token_list_add(out, c->items[i].tokens.ids[k]);
    return true;
}

static bool encode_from(const conversation *c, size_t first, token_list *out, err *e)
{
    out->count = 0;
    if (!c->f)
        return encode_plain(c, first, out);
    chat_message *messages = mem_alloc(c->count * sizeof *messages);
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (is_kept(c, i, first))
            messages[count++] = conversation_at(c, i);
    bool ok = chat_encode(c->f, c->t, messages, count,
                          &(chat_options){.ask = true, .think = c->think, .tools = c->tools}, out, e);
    free(messages);
    return ok;
}

/* ---- what does not fit ---------------------------------------------------------------- */

/* Where the next turn begins, from this message on: at one of the user's, or at the last, which always stays. */
static size_t turn_from(const conversation *c, size_t at)
{
    while (at + 1 < c->count && c->items[at].role != CHAT_USER)
        at++;
    return at;
}

static bool leave_room(const conversation *c, size_t tokens)
{
    uint32_t context = generation_context(c->n), share = context / ANSWER_SHARE;
    uint32_t room = share < ENOUGH_ANSWER ? share : ENOUGH_ANSWER;
    return tokens + (room < LEAST_ANSWER ? LEAST_ANSWER : room) <= context;
}

/* Are the messages from `first` on few enough? Also if their template refuses them: to drop more would hide that. */
static bool are_few(const conversation *c, size_t first)
{
    token_list tokens = {0};
    err refused = {0};
    bool few = !encode_from(c, first, &tokens, &refused) || leave_room(c, tokens.count);
    token_list_free(&tokens);
    return few;
}

/* The turn that all before must be dropped for, at the latest the last one; with all there are too many tokens. It is
 * the one that dropping the oldest turn until they fit would find, since fewer turns do not have more tokens. But each
 * try writes and encodes all messages: so the steps double, and then halve what is left between. */
static size_t first_that_fits(const conversation *c)
{
    size_t many = system_count(c), few = c->count - 1; /* too many from here on; few enough from the next turn on */
    for (size_t step = 1; few - many > 1; step *= 2) {
        size_t half = (few - many) / 2, next = many + (step < half ? step : half), turn = turn_from(c, next);
        if (turn >= few || are_few(c, turn))
            few = next;
        else
            many = turn;
    }
    return turn_from(c, few);
}

/* Drops the oldest turns: users' messages and their answers. */
static void forget_before(conversation *c, size_t first, answer_report *report)
{
    uint32_t gone = (uint32_t)(first - system_count(c));
    remove_between(c, system_count(c), first);
    report->forgotten += gone;
    c->forgotten += gone;
}

/* The tokens of the messages that fit, with room for an answer. */
static bool encode_what_fits(conversation *c, const answer_options *o, token_list *out, answer_report *report, err *e)
{
    uint32_t context = generation_context(c->n);
    bool ok = encode_from(c, system_count(c), out, e);
    if (ok && !leave_room(c, out->count) && c->count > system_count(c) + 1) {
        report->is_full = o->keeps_all;
        if (o->keeps_all)
            return err_set(e, "the conversation has %zu tokens, too many for a context of %u with an answer",
                           out->count, context);
        forget_before(c, first_that_fits(c), report);
        ok = encode_from(c, system_count(c), out, e);
    }
    if (!ok || leave_room(c, out->count))
        return ok && (out->count > 0 || err_set(e, "the text is empty, and this model begins no text by itself"));
    /* a single message may take some of the room for the answer, but not all */
    return out->count + LEAST_ANSWER <= context ||
           err_set(e, "the message has %zu tokens, too many for a context of %u (-c N makes it longer)", out->count,
                   context);
}

/* True if all tokens were fed; false also after an interruption. */
static bool feed(conversation *c, const token_list *wanted, const answer_options *o, answer_report *report, err *e)
{
    size_t same = 0;
    /* the last token is always fed, so that a next one can follow */
    while (same + 1 < wanted->count && same < c->taken.count && wanted->ids[same] == c->taken.ids[same])
        same++;
    generation_rewind(c->n, (uint32_t)same);
    generation_set_stream(c->n, c->forgotten);
    c->taken.count = same;
    report->reused_tok = (uint32_t)same;
    generation_stop_when(c->n, answer_stop(o));
    bool ok = true;
    while (ok && same < wanted->count) {
        size_t part = wanted->count - same < FEED_TOK ? wanted->count - same : FEED_TOK;
        ok = !answer_interrupted(o) && generation_feed(c->n, (const uint32_t *)wanted->ids + same, (uint32_t)part, e);
        for (size_t i = 0; ok && i < part; i++)
            token_list_add(&c->taken, wanted->ids[same + i]);
        same += part;
        report->fed_tok += ok ? (uint32_t)part : 0;
    }
    generation_stop_when(c->n, (submit_stop){0});
    return ok;
}

/* ---- answers ------------------------------------------------------------------------- */

static bool reply(conversation *c, const answer_options *o, answer_report *report, err *e)
{
    token_list wanted = {0};
    *report = (answer_report){.end = ANSWER_INTERRUPTED};
    bool ok = encode_what_fits(c, o, &wanted, report, e);
    err trouble = {0};
    /* with turns the answer's first space stands for nothing; a text that goes on needs it */
    answer_stream a = answer_of(c->n, c->t, o, c->f != NULL);
    answer_look_at_prompt(&a, wanted.ids, wanted.count);
    bool fed = ok && feed(c, &wanted, o, report, &trouble);
    token_list_free(&wanted);
    if (ok && !fed && trouble.kind != ERR_NONE)
        ok = err_set_kind(e, trouble.kind, "%s", trouble.text);
    if (ok) {
        ok = !fed || answer_make(&a, report, e);
        answer_finish(&a);
        for (size_t i = 0; i < a.tokens.count; i++)
            token_list_add(&c->taken, a.tokens.ids[i]);
    }
    if (ok) {
        str_add(&a.text, "");
        message m = {.role = CHAT_ASSISTANT, .content = a.text.data};
        a.text = (str){0};
        if (!c->f) {
            m.tokens = a.tokens;
            m.tokens.count -= report->end == ANSWER_ENDED;
            a.tokens = (token_list){0};
        }
        conversation_insert(c, c->count, m);
    }
    answer_free(&a);
    return ok;
}

/* Checked before any message is dropped for it. */
static bool could_fit(const conversation *c, const char *text, err *e)
{
    token_list alone = {0};
    bool ok = tokenizer_encode(c->t, text, strlen(text), false, false, &alone, e);
    if (ok && alone.count + LEAST_ANSWER > generation_context(c->n))
        ok = err_set(e, "the message has %zu tokens, too many for a context of %u (-c N makes it longer)", alone.count,
                     generation_context(c->n));
    token_list_free(&alone);
    return ok;
}

void conversation_add(conversation *c, chat_role role, const char *text)
{
    conversation_insert(c, c->count, text_message(c, role, text));
}

static char *copy_of(const char *text)
{
    return text ? mem_dup(text) : NULL;
}

void conversation_add_message(conversation *c, const chat_message *m)
{
    message made = text_message(c, m->role, m->content);
    made.tool_calls = copy_of(m->tool_calls);
    made.tool_call_id = copy_of(m->tool_call_id);
    made.name = copy_of(m->name);
    conversation_insert(c, c->count, made);
}

void conversation_set_calls(conversation *c, const char *content, const char *tool_calls)
{
    message *m = &c->items[c->count - 1];
    char *text = mem_dup(content);
    free(m->content);
    free(m->tool_calls);
    m->content = text;
    m->tool_calls = copy_of(tool_calls);
}

bool conversation_answer(conversation *c, const answer_options *o, answer_report *report, err *e)
{
    return reply(c, o, report, e);
}

bool conversation_say(conversation *c, const char *text, const answer_options *o, answer_report *report, err *e)
{
    if (!could_fit(c, text, e))
        return false;
    conversation_insert(c, c->count, text_message(c, CHAT_USER, text));
    if (reply(c, o, report, e))
        return true;
    conversation_remove(c, c->count - 1);
    return false;
}

bool conversation_again(conversation *c, const answer_options *o, answer_report *report, err *e)
{
    if (c->count < system_count(c) + 2 || c->items[c->count - 1].role != CHAT_ASSISTANT)
        return false;
    conversation_remove(c, c->count - 1);
    if (reply(c, o, report, e))
        return true;
    conversation_remove(c, c->count - 1);
    return false;
}
