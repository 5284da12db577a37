/* markup: from tokens that mark thoughts and calls to text. */
#include "llm/markup.h"
#include "llm/markup_test.h"
#include "llm/thoughts.h"
#include "llm/tool_calls.h"

#include <ctype.h>
#include <string.h>

static bool is_text(const char *text, size_t bytes, const char *other)
{
    return strlen(other) == bytes && memcmp(text, other, bytes) == 0;
}

/* ---- parts ------------------------------------------------------------------------------ */

/* Names of functions, as far as they are names: nothing that would end a text of JSON. */
static void begin_call(markup *m, const char *name, size_t bytes, str *out)
{
    str_add(out, TOOL_CALL_TAG "{\"name\": \"");
    for (size_t i = 0; i < bytes; i++)
        if (isalnum((unsigned char)name[i]) || strchr("_-.", name[i]))
            str_add_bytes(out, name + i, 1);
    str_add(out, "\", \"arguments\": ");
    m->part = MARKUP_CALL;
}

static void end_thinking(markup *m, str *out)
{
    if (m->is_thinking)
        str_add(out, THOUGHTS_END "\n\n");
    m->is_thinking = false;
}

static void end_part(markup *m, str *out)
{
    if (m->part == MARKUP_CALL)
        str_add(out, "}" TOOL_CALL_END);
    if (m->part == MARKUP_LIST)
        str_add(out, TOOL_CALL_END);
    if (m->part == MARKUP_NAME && m->header.length) { /* no call after all */
        str_add(out, "[TOOL_CALLS]");
        str_add_bytes(out, m->header.data, m->header.length);
    }
    m->part = MARKUP_NONE;
    m->header.length = 0;
}

/* ---- gpt-oss ------------------------------------------------------------------------------ */

/* A header has the role, the channel, and for a call "to=functions.NAME"; then comes the message. */
static void begin_message(markup *m, str *out)
{
    static const char to[] = "to=", functions[] = "functions.";
    str_add(&m->header, "");
    const char *recipient = strstr(m->header.data, to);
    bool thinks = !recipient && strstr(m->header.data, "analysis");
    if (!thinks)
        end_thinking(m, out);
    if (recipient) {
        recipient += sizeof to - 1;
        if (strncmp(recipient, functions, sizeof functions - 1) == 0)
            recipient += sizeof functions - 1;
        begin_call(m, recipient, strcspn(recipient, " "), out);
    } else {
        m->part = thinks ? MARKUP_THOUGHT : MARKUP_ANSWER;
        if (thinks)
            str_add(out, m->is_thinking ? "\n\n" : THOUGHTS_BEGIN);
        m->is_thinking = m->is_thinking || thinks;
    }
    m->header.length = 0;
}

static bool mark_channels(markup *m, const char *text, size_t bytes, str *out)
{
    bool begins = is_text(text, bytes, "<|start|>"), channel = is_text(text, bytes, "<|channel|>");
    if (begins || (channel && m->part != MARKUP_HEADER)) {
        end_part(m, out);
        m->part = MARKUP_HEADER;
    } else if (channel || is_text(text, bytes, "<|constrain|>"))
        str_add(&m->header, " ");
    else if (is_text(text, bytes, "<|message|>") && m->part == MARKUP_HEADER)
        begin_message(m, out);
    else if (is_text(text, bytes, "<|end|>") && m->part != MARKUP_NONE)
        end_part(m, out);
    else
        return false;
    return true;
}

/* ---- Mistral ------------------------------------------------------------------------------- */

static void begin_named_call(markup *m, str *out)
{
    str_add(&m->header, "");
    begin_call(m, m->header.data, strcspn(m->header.data, " "), out);
    m->header.length = 0;
}

static bool mark_calls(markup *m, const char *text, size_t bytes, str *out)
{
    if (is_text(text, bytes, "[TOOL_CALLS]")) {
        end_part(m, out);
        m->part = MARKUP_NAME;
    } else if (is_text(text, bytes, "[ARGS]") && m->part == MARKUP_NAME)
        begin_named_call(m, out);
    else if (is_text(text, bytes, "[CALL_ID]") && m->part == MARKUP_NAME)
        str_add(&m->header, " "); /* what follows is no part of the name */
    else if (is_text(text, bytes, "[THINK]"))
        str_add(out, THOUGHTS_BEGIN);
    else if (is_text(text, bytes, "[/THINK]"))
        str_add(out, THOUGHTS_END);
    else
        return false;
    return true;
}

/* ---- text ---------------------------------------------------------------------------------- */

bool markup_mark(markup *m, const char *token, size_t bytes, str *out)
{
    return mark_channels(m, token, bytes, out) || mark_calls(m, token, bytes, out);
}

void markup_text(markup *m, const char *text, size_t bytes, str *out)
{
    if (m->part == MARKUP_NAME && m->header.length == 0) {
        size_t blanks = 0;
        while (blanks < bytes && strchr(" \n", text[blanks]))
            blanks++;
        if (blanks < bytes && text[blanks] == '[') { /* all calls as one list */
            str_add(out, TOOL_CALL_TAG);
            m->part = MARKUP_LIST;
        }
    }
    bool held = m->part == MARKUP_NAME || m->part == MARKUP_HEADER;
    str_add_bytes(held ? &m->header : out, text, bytes);
}

void markup_add(markup *m, decode_stream *characters, const tokenizer *t, int32_t id, str *out)
{
    str piece = {0};
    tokenizer_piece(t, id, true, &piece);
    bool marks = piece.length && markup_mark(m, piece.data, piece.length, out);
    piece.length = 0;
    if (!marks)
        decode_stream_add(characters, t, id, &piece);
    if (piece.length)
        markup_text(m, piece.data, piece.length, out);
    str_free(&piece);
}

void markup_end(markup *m, str *out)
{
    end_part(m, out);
}

const char *markup_end_of_thoughts(const markup *m)
{
    return m->part == MARKUP_THOUGHT ? "<|end|><|start|>assistant<|channel|>final<|message|>"
                                     : "\n" THOUGHTS_END "\n\n";
}

void markup_free(markup *m)
{
    str_free(&m->header);
}
