/* openai_choice: stop texts, thoughts and calls of tools, told apart while a text streams. */
#include "serve/openai_choice.h"
#include "llm/tool_calls.h"

#include <stdlib.h>
#include <string.h>

static const char *const TAGS[] = {TOOL_CALL_TAG};

void openai_choice_begin(openai_choice *c, const openai_request *q, const tokenizer *t, bool thinks)
{
    *c = (openai_choice){.t = t,
                         .splits_thoughts = q->is_chat,
                         .may_call = q->tools && q->tool_choice != TOOLS_NONE,
                         .keeps_tokens = q->wants_logprobs,
                         .one_call = q->one_call,
                         .characters = {.strip_space = q->is_chat},
                         .stops = stops_of(q->stops, q->stop_count),
                         .tags = stops_of(TAGS, 1)};
    if (thinks)
        c->telling.state = THOUGHTS_THINKING;
}

/* Without the empty lines at its beginning. */
static size_t count_blank(const char *text, size_t bytes)
{
    size_t blank = 0;
    while (blank < bytes && strchr(" \n", text[blank]))
        blank++;
    return blank;
}

/* Models that write calls without a tag write nothing else: what begins with a brace may be one. */
static void add_content(openai_choice *c, const char *text, size_t bytes)
{
    if (!c->has_content) {
        size_t blank = c->has_thoughts ? count_blank(text, bytes) : 0;
        text += blank;
        bytes -= blank;
        c->has_content = bytes > 0;
        c->holds = c->may_call && bytes && text[0] == '{';
    }
    if (c->holds)
        str_add_bytes(&c->held, text, bytes);
    else if (!c->may_call)
        str_add_bytes(&c->content, text, bytes);
    else if (stops_add(&c->tags, text, bytes, &c->content)) {
        c->holds = true;
        str_add_bytes(&c->held, c->tags.held.data, c->tags.held.length);
    }
}

static void on_part(void *user, bool is_thought, const char *text, size_t bytes)
{
    openai_choice *c = user;
    if (!is_thought) {
        add_content(c, text, bytes);
        return;
    }
    size_t blank = c->has_thoughts ? 0 : count_blank(text, bytes);
    c->has_thoughts = c->has_thoughts || blank < bytes;
    str_add_bytes(&c->thoughts, text + blank, bytes - blank);
}

static void pass_on(openai_choice *c)
{
    for (size_t i = 0; i < c->passed.length; i++) /* JSON's readers stumble over zeros */
        if (c->passed.data[i] == '\0')
            c->passed.data[i] = '?';
    if (c->passed.length && c->splits_thoughts)
        thoughts_add(&c->telling, c->passed.data, c->passed.length, on_part, c);
    else if (c->passed.length)
        add_content(c, c->passed.data, c->passed.length);
    c->passed.length = 0;
}

bool openai_choice_add(openai_choice *c, const made_token *token)
{
    c->made_tok++;
    c->thought_tok += c->telling.state == THOUGHTS_THINKING;
    if (c->keeps_tokens) {
        if (c->pending_count == c->pending_capacity) {
            c->pending_capacity = c->pending_capacity ? 2 * c->pending_capacity : 16;
            c->pending = mem_grow(c->pending, c->pending_capacity * sizeof *c->pending);
        }
        c->pending[c->pending_count++] = *token;
    }
    c->piece.length = 0;
    markup_add(&c->markup, &c->characters, c->t, (int32_t)token->id, &c->piece);
    bool stopped = stops_add(&c->stops, c->piece.data, c->piece.length, &c->passed);
    pass_on(c);
    return stopped;
}

void openai_choice_end(openai_choice *c, const char *finish)
{
    if (c->finish)
        return;
    c->piece.length = 0;
    decode_stream_end(&c->characters, &c->piece);
    markup_end(&c->markup, &c->piece);
    stops_add(&c->stops, c->piece.data, c->piece.length, &c->passed);
    stops_end(&c->stops, &c->passed);
    pass_on(c);
    if (c->splits_thoughts)
        thoughts_end(&c->telling, on_part, c);
    c->finish = finish;
    if (!c->may_call)
        return;
    if (!c->holds)
        stops_end(&c->tags, &c->content);
    str before = {0};
    if (c->held.length && tool_calls_find(c->held.data, &before, &c->calls))
        c->finish = "tool_calls";
    else if (c->held.length)
        str_add_bytes(&c->content, c->held.data, c->held.length);
    str_free(&before);
}

void openai_choice_free(openai_choice *c)
{
    str_free(&c->content);
    str_free(&c->thoughts);
    str_free(&c->calls);
    str_free(&c->piece);
    str_free(&c->passed);
    str_free(&c->held);
    free(c->pending);
    stops_free(&c->stops);
    stops_free(&c->tags);
    thoughts_free(&c->telling);
    markup_free(&c->markup);
}
