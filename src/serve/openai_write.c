/* openai_write: choices, likelihoods, usage and errors as JSON. */
#include "serve/openai_write.h"
#include "base/jsonw.h"
#include "base/version.h"
#include "llm/tool_calls.h"

#include <stdio.h>
#include <string.h>

static void begin_reply(jsonw *j, const openai_reply *r)
{
    char fingerprint[96];
    snprintf(fingerprint, sizeof fingerprint, "solo-%s-%s", solo_version, solo_commit);
    jsonw_object(j, NULL);
    jsonw_flat(j);
    jsonw_text(j, "id", r->id);
    jsonw_text(j, "object",
               !r->is_chat   ? "text_completion"
               : r->is_chunk ? "chat.completion.chunk"
                             : "chat.completion");
    jsonw_count(j, "created", (uint64_t)r->created_s);
    jsonw_text(j, "model", r->model);
    jsonw_text(j, "system_fingerprint", fingerprint);
}

static void write_usage(jsonw *j, const openai_usage *u)
{
    jsonw_object(j, "usage");
    jsonw_count(j, "prompt_tokens", u->prompt_tok);
    jsonw_count(j, "completion_tokens", u->made_tok);
    jsonw_count(j, "total_tokens", u->prompt_tok + u->made_tok);
    jsonw_object(j, "prompt_tokens_details");
    jsonw_count(j, "cached_tokens", u->reused_tok);
    jsonw_end(j);
    jsonw_object(j, "completion_tokens_details");
    jsonw_count(j, "reasoning_tokens", u->thought_tok);
    jsonw_end(j);
    jsonw_end(j);
}

/* ---- likelihoods ------------------------------------------------------------------------------- */

/* JSON has no infinities, and clients want a number. */
static double as_number(float logprob)
{
    return logprob > -9999.f ? logprob : -9999.;
}

static void write_token(jsonw *j, const openai_choice *c, uint32_t id, float logprob, const made_token *with_top)
{
    str piece = {0};
    tokenizer_piece(c->t, (int32_t)id, true, &piece);
    str_add(&piece, "");
    jsonw_object(j, NULL);
    jsonw_text(j, "token", piece.data);
    jsonw_number(j, "logprob", as_number(logprob));
    jsonw_array(j, "bytes");
    for (size_t i = 0; i < piece.length; i++)
        jsonw_count(j, NULL, (unsigned char)piece.data[i]);
    jsonw_end(j);
    if (with_top) {
        jsonw_array(j, "top_logprobs");
        for (uint32_t i = 0; i < with_top->top_count; i++)
            write_token(j, c, with_top->top[i].token, with_top->top[i].logprob, NULL);
        jsonw_end(j);
    }
    jsonw_end(j);
    str_free(&piece);
}

static void write_chat_logprobs(jsonw *j, const openai_choice *c)
{
    jsonw_object(j, "logprobs");
    jsonw_array(j, "content");
    for (size_t i = 0; i < c->pending_count; i++)
        write_token(j, c, c->pending[i].id, c->pending[i].logprob, &c->pending[i]);
    jsonw_end(j);
    jsonw_null(j, "refusal");
    jsonw_end(j);
}

static void piece_of(const openai_choice *c, uint32_t id, str *piece)
{
    piece->length = 0;
    tokenizer_piece(c->t, (int32_t)id, true, piece);
    str_add(piece, "");
}

/* The older form: lists side by side. */
static void write_plain_logprobs(jsonw *j, openai_choice *c)
{
    str piece = {0};
    jsonw_object(j, "logprobs");
    jsonw_array(j, "tokens");
    for (size_t i = 0; i < c->pending_count; i++) {
        piece_of(c, c->pending[i].id, &piece);
        jsonw_text(j, NULL, piece.data);
    }
    jsonw_end(j);
    jsonw_array(j, "token_logprobs");
    for (size_t i = 0; i < c->pending_count; i++)
        jsonw_number(j, NULL, as_number(c->pending[i].logprob));
    jsonw_end(j);
    jsonw_array(j, "top_logprobs");
    for (size_t i = 0; i < c->pending_count; i++) {
        jsonw_object(j, NULL);
        for (uint32_t k = 0; k < c->pending[i].top_count; k++) {
            piece_of(c, c->pending[i].top[k].token, &piece);
            jsonw_number(j, piece.data, as_number(c->pending[i].top[k].logprob));
        }
        jsonw_end(j);
    }
    jsonw_end(j);
    jsonw_array(j, "text_offset");
    for (size_t i = 0; i < c->pending_count; i++) {
        piece_of(c, c->pending[i].id, &piece);
        jsonw_count(j, NULL, c->offset_bytes);
        c->offset_bytes += piece.length;
    }
    jsonw_end(j);
    jsonw_end(j);
    str_free(&piece);
}

static void write_logprobs(jsonw *j, openai_choice *c, bool is_chat)
{
    if (!c->keeps_tokens)
        jsonw_null(j, "logprobs");
    else if (is_chat)
        write_chat_logprobs(j, c);
    else
        write_plain_logprobs(j, c);
    c->pending_count = 0;
}

/* ---- choices ------------------------------------------------------------------------------------ */

static void write_calls(jsonw *j, const openai_reply *r, const openai_choice *c, uint32_t index)
{
    size_t count;
    tool_call *calls = tool_calls_list(c->calls.data, &count);
    jsonw_array(j, "tool_calls");
    for (size_t i = 0; i < count && (i == 0 || !c->one_call); i++) {
        char id[80];
        snprintf(id, sizeof id, "call_%s_%u_%zu", r->id + strcspn(r->id, "-") + 1, index, i);
        jsonw_object(j, NULL);
        if (r->is_chunk)
            jsonw_count(j, "index", i);
        jsonw_text(j, "id", id);
        jsonw_text(j, "type", "function");
        jsonw_object(j, "function");
        jsonw_text(j, "name", calls[i].name);
        jsonw_text(j, "arguments", calls[i].arguments);
        jsonw_end(j);
        jsonw_end(j);
    }
    jsonw_end(j);
    tool_calls_free(calls, count);
}

static const char *text_of(str *s)
{
    str_add(s, "");
    return s->data;
}

static void write_message(jsonw *j, const openai_reply *r, openai_choice *c, uint32_t index)
{
    jsonw_object(j, "message");
    jsonw_text(j, "role", "assistant");
    if (c->calls.length && !c->content.length)
        jsonw_null(j, "content");
    else
        jsonw_text(j, "content", text_of(&c->content));
    jsonw_null(j, "refusal");
    if (c->thoughts.length)
        jsonw_text(j, "reasoning_content", text_of(&c->thoughts));
    if (c->calls.length)
        write_calls(j, r, c, index);
    jsonw_end(j);
}

void openai_write_answer(const openai_reply *reply, openai_choice *choices, uint32_t count, const char *const *prompts,
                         const openai_usage *usage, str *out)
{
    jsonw j = jsonw_to(out);
    begin_reply(&j, reply);
    jsonw_array(&j, "choices");
    for (uint32_t i = 0; i < count; i++) {
        openai_choice *c = &choices[i];
        jsonw_object(&j, NULL);
        jsonw_count(&j, "index", i);
        if (reply->is_chat)
            write_message(&j, reply, c, i);
        else {
            str text = {0};
            str_add(&text, prompts ? prompts[i] : "");
            str_add(&text, text_of(&c->content));
            jsonw_text(&j, "text", text.data);
            str_free(&text);
        }
        write_logprobs(&j, c, reply->is_chat);
        jsonw_text(&j, "finish_reason", c->finish);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    write_usage(&j, usage);
    jsonw_end(&j);
}

void openai_write_piece(const openai_reply *reply, openai_choice *c, uint32_t index, bool role, bool usage_comes,
                        str *out)
{
    str_add(out, "data: ");
    jsonw j = jsonw_to(out);
    begin_reply(&j, reply);
    jsonw_array(&j, "choices");
    jsonw_object(&j, NULL);
    jsonw_count(&j, "index", index);
    if (reply->is_chat) {
        jsonw_object(&j, "delta");
        if (role) {
            jsonw_text(&j, "role", "assistant");
            jsonw_text(&j, "content", "");
        }
        if (c->thoughts.length)
            jsonw_text(&j, "reasoning_content", text_of(&c->thoughts));
        if (c->content.length)
            jsonw_text(&j, "content", text_of(&c->content));
        if (c->finish && c->calls.length)
            write_calls(&j, reply, c, index);
        jsonw_end(&j);
    } else
        jsonw_text(&j, "text", text_of(&c->content));
    write_logprobs(&j, c, reply->is_chat);
    jsonw_text(&j, "finish_reason", c->finish);
    jsonw_end(&j);
    jsonw_end(&j);
    if (usage_comes)
        jsonw_null(&j, "usage");
    jsonw_end(&j);
    str_add(out, "\n");
    c->content.length = c->thoughts.length = 0;
}

void openai_write_last_usage(const openai_reply *reply, const openai_usage *usage, str *out)
{
    str_add(out, "data: ");
    jsonw j = jsonw_to(out);
    begin_reply(&j, reply);
    jsonw_array(&j, "choices");
    jsonw_end(&j);
    write_usage(&j, usage);
    jsonw_end(&j);
    str_add(out, "\n");
}

void openai_write_fault(const openai_fault *f, str *out)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_object(&j, "error");
    jsonw_text(&j, "message", f->text);
    jsonw_text(&j, "type",
               f->status == 401   ? "authentication_error"
               : f->status == 429 ? "rate_limit_error"
               : f->status >= 500 ? "server_error"
                                  : "invalid_request_error");
    jsonw_text(&j, "param", f->param[0] ? f->param : NULL);
    jsonw_text(&j, "code", f->code);
    jsonw_end(&j);
    jsonw_end(&j);
}
