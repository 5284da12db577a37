/* server_complete: chats and completions, from the request to the last piece of the answer. */
#include "base/clock.h"
#include "base/rng.h"
#include "llm/answer.h"
#include "serve/grammar_filter.h"
#include "serve/openai_choice.h"
#include "serve/openai_messages.h"
#include "serve/openai_write.h"
#include "serve/server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOK_MS = 100, KEEP_ALIVE_MS = 15000, DEFAULT_COMPLETION_TOK = 16 };

/* A request that is being answered. */
typedef struct answering {
    server *s;
    http_request *r;
    openai_request q;
    openai_reply reply;
    log_entry entry;
    token_list *prompts; /* (prompt_count) */
    uint32_t prompt_count;
    job_text *texts;          /* (count) */
    openai_choice *choices;   /* (count) the n of the first prompt first */
    grammar *grammar;         /* NULL: none */
    grammar_filter **filters; /* (count) if there is one */
    uint32_t count;
    job *j;
    openai_usage usage;
    openai_fault fault;
    bool has_begun, is_over; /* the stream */
    uint32_t silent_ms;
} answering;

static void answering_free(answering *a)
{
    job_free(a->j);
    for (uint32_t i = 0; i < a->prompt_count; i++)
        token_list_free(&a->prompts[i]);
    for (uint32_t i = 0; i < a->count && a->choices; i++)
        openai_choice_free(&a->choices[i]);
    for (uint32_t i = 0; i < a->count && a->filters; i++)
        grammar_filter_free(a->filters[i]);
    grammar_free(a->grammar);
    free(a->filters);
    free(a->prompts);
    free(a->texts);
    free(a->choices);
    openai_request_free(&a->q);
    free(a);
}

/* ---- prompts ------------------------------------------------------------------------------------- */

static bool encode_chat(answering *a)
{
    err e = {0};
    const server *s = a->s;
    openai_fault *f = &a->fault;
    if (!s->template)
        return openai_refuse(f, 400, "messages", "unsupported_parameter", "%s",
                             s->template_error.kind
                                 ? s->template_error.text
                                 : "this model has no chat template: /v1/completions continues texts");
    bool with_tools = a->q.tools && a->q.tool_choice != TOOLS_NONE;
    if (with_tools && !chat_template_takes_tools(s->template))
        return openai_refuse(f, 400, "tools", "unsupported_parameter", "this model's chat template takes no tools");
    if (a->q.think != CHAT_THINK_AUTO && !chat_template_can_think(s->template))
        return openai_refuse(f, 400, "chat_template_kwargs", "unsupported_parameter",
                             "this model's chat template does not ask whether to think");
    a->prompts = mem_alloc(sizeof *a->prompts);
    a->prompt_count = 1;
    chat_options o = {.ask = true, .think = a->q.think, .tools = with_tools ? a->q.tools : NULL};
    return chat_encode(s->template, s->t, a->q.messages, a->q.message_count, &o, &a->prompts[0], &e) ||
           openai_refuse(f, 400, "messages", "invalid_value", "%s", e.text);
}

static bool encode_prompt(answering *a, const json_t *prompt, token_list *out)
{
    err e = {0};
    const tokenizer *t = a->s->t;
    if (json_is_string(prompt))
        return tokenizer_encode(t, json_string_value(prompt), json_string_length(prompt), true, tokenizer_adds_bos(t),
                                out, &e) ||
               openai_refuse(&a->fault, 400, "prompt", "invalid_value", "%s", e.text);
    field_place at = {"prompt"};
    return field_tokens(prompt, scheduler_vocab(a->s->work), out, &at, &a->fault);
}

static bool encode_prompts(answering *a)
{
    a->prompts = mem_alloc(a->q.prompt_count * sizeof *a->prompts);
    a->prompt_count = (uint32_t)a->q.prompt_count;
    for (uint32_t i = 0; i < a->prompt_count; i++)
        if (!encode_prompt(a, a->q.prompts[i], &a->prompts[i]))
            return false;
    return true;
}

static bool check_lengths(answering *a)
{
    const char *field = a->q.is_chat ? "messages" : "prompt";
    uint32_t context = scheduler_context(a->s->work);
    for (uint32_t i = 0; i < a->prompt_count; i++) {
        if (a->prompts[i].count == 0)
            return openai_refuse(&a->fault, 400, field, "invalid_value",
                                 "%s: the text is empty, and this model begins no text by itself", field);
        if (a->prompts[i].count >= context)
            return openai_refuse(&a->fault, 400, field, "context_length_exceeded",
                                 "%s: %zu tokens are too many for a context of %u", field, a->prompts[i].count,
                                 context);
    }
    return true;
}

/* ---- the texts ------------------------------------------------------------------------------------- */

/* Does the prompt end with the tag that begins thoughts? */
static bool begins_with_thoughts(const answering *a, const token_list *prompt)
{
    answer_stream look = {.t = a->s->t};
    if (a->q.is_chat)
        answer_look_at_prompt(&look, prompt->ids, prompt->count);
    return look.thoughts.state == THOUGHTS_THINKING;
}

static bool read_grammar(answering *a)
{
    err e = {0};
    if (a->q.tool_choice == TOOLS_REQUIRED && !openai_force_call(&a->q, a->s->calls_have_tags, &a->fault))
        return false;
    if (!a->q.gbnf)
        return true;
    a->grammar = grammar_parse(a->q.gbnf, strlen(a->q.gbnf), &e);
    if (!a->grammar)
        return openai_refuse(&a->fault, 400, a->q.gbnf_field, "invalid_value", "%s: %s", a->q.gbnf_field, e.text);
    grammar_filter *f = grammar_filter_new(a->grammar, server_token_index(a->s), false);
    bool can_begin = grammar_filter_can_begin(f);
    grammar_filter_free(f);
    return can_begin || openai_refuse(&a->fault, 400, a->q.gbnf_field, "invalid_value",
                                      "%s: no token can come first: it describes no text, or it has too many states",
                                      a->q.gbnf_field);
}

static void prepare_texts(answering *a)
{
    const openai_request *q = &a->q;
    uint32_t seed = q->how.seed;
    if (!q->has_seed) {
        rng r = rng_seed(clock_ns() ^ (uint64_t)(uintptr_t)a);
        seed = (uint32_t)rng_next(&r);
    }
    a->count = a->prompt_count * q->n;
    a->texts = mem_alloc(a->count * sizeof *a->texts);
    a->choices = mem_alloc(a->count * sizeof *a->choices);
    a->filters = mem_alloc(a->count * sizeof *a->filters);
    for (uint32_t i = 0; i < a->count; i++) {
        const token_list *prompt = &a->prompts[i / q->n];
        engine_text t = {.tokens = (const uint32_t *)prompt->ids,
                         .count = (uint32_t)prompt->count,
                         .prompt_tok = (uint32_t)prompt->count,
                         .how = q->how,
                         .frequency_penalty = q->frequency_penalty,
                         .presence_penalty = q->presence_penalty,
                         .bias = q->bias,
                         .bias_count = q->bias_count,
                         .wants_logprobs = q->wants_logprobs,
                         .top_count = q->top_logprobs,
                         .ignores_end = q->ignores_end,
                         .most_tok = q->most_tok || q->is_chat ? q->most_tok : DEFAULT_COMPLETION_TOK};
        t.how.seed = sample_stream_seed(seed, i % q->n);
        bool thinks = begins_with_thoughts(a, prompt);
        if (a->grammar) {
            a->filters[i] = grammar_filter_new(a->grammar, server_token_index(a->s), thinks);
            t.filter = grammar_filter_use(a->filters[i]);
        }
        a->texts[i] = (job_text){.text = t, .limit_s = a->s->o.limit_s};
        openai_choice_begin(&a->choices[i], q, a->s->t, thinks);
        a->usage.prompt_tok += i % q->n == 0 ? prompt->count : 0;
    }
}

static bool submit(answering *a)
{
    job_refusal why = {0};
    uint32_t most = scheduler_rows(a->s->work) + scheduler_queue(a->s->work);
    if (a->count > most)
        return openai_refuse(&a->fault, 400, "n", "invalid_value", "%u texts at once: this server takes %u", a->count,
                             most);
    a->j = scheduler_submit(a->s->work, a->texts, a->count, &why);
    if (a->j)
        return true;
    if (why.kind == REFUSED_FULL) {
        char retry[16];
        snprintf(retry, sizeof retry, "%u", why.retry_s);
        http_add_header(a->r, "Retry-After", retry);
        return openai_refuse(&a->fault, 429, NULL, "queue_full", "the queue is full: try again in about %u s",
                             why.retry_s);
    }
    return openai_refuse(&a->fault, 503, NULL, "closing", "the server is about to end");
}

/* ---- their tokens ------------------------------------------------------------------------------------ */

static void end_text(answering *a, const job_event *e)
{
    openai_choice *c = &a->choices[e->text];
    if (c->finish) /* by a stop text: the rest was not wanted */
        return;
    if (e->end == TEXT_FAILED)
        openai_refuse(&a->fault, 500, NULL, "device_failed", "the device failed: %s", job_error(a->j));
    else if (e->end == TEXT_GIVEN_UP)
        openai_refuse(&a->fault, 503, NULL, "closing", "the server is about to end");
    else if (e->end == TEXT_TIME && c->made_tok == 0)
        openai_refuse(&a->fault, 503, NULL, "timeout", "the time for this request was over before its first token");
    bool is_whole =
        e->end == TEXT_ENDED || (e->end == TEXT_NO_MORE && a->grammar && grammar_filter_is_whole(a->filters[e->text]));
    openai_choice_end(c, is_whole ? "stop" : "length");
}

static void take_event(answering *a, const job_event *e)
{
    openai_choice *c = &a->choices[e->text];
    if (e->is_end)
        end_text(a, e);
    else if (!c->finish && openai_choice_add(c, &e->token)) {
        openai_choice_end(c, "stop");
        job_give_up(a->j, e->text);
    }
}

/* All that is known at the end, for the log and the usage. */
static void sum_up(answering *a)
{
    for (uint32_t i = 0; i < a->count && a->j; i++) {
        a->usage.made_tok += a->choices[i].made_tok;
        a->usage.thought_tok += a->choices[i].thought_tok;
        job_work work = job_look(a->j, i);
        if (i % a->q.n == 0)
            a->usage.reused_tok += work.reused_tok;
        a->entry.stepped_tok += work.stepped_tok;
        a->entry.vain_tok += work.vain_tok;
    }
    a->entry.prompt_tok = a->usage.prompt_tok;
    a->entry.reused_tok = a->usage.reused_tok;
    a->entry.made_tok = a->usage.made_tok;
    a->entry.queue_s = job_queue_s(a->j);
    a->entry.first_s = job_first_s(a->j);
    a->entry.finish = a->choices[0].finish;
}

/* ---- one reply ---------------------------------------------------------------------------------------- */

static void reply_refusal(answering *a)
{
    server_refuse(a->s, a->r, &a->fault, &a->entry);
    answering_free(a);
}

/* What is repeated before each text. */
static char **echoes(const answering *a)
{
    char **all = mem_alloc(a->count * sizeof *all);
    for (uint32_t i = 0; i < a->count; i++) {
        str text = {0};
        decode_stream characters = {.strip_space = true};
        const token_list *p = &a->prompts[i / a->q.n];
        for (size_t k = 0; k < p->count; k++)
            decode_stream_add(&characters, a->s->t, p->ids[k], &text);
        decode_stream_end(&characters, &text);
        str_add(&text, "");
        all[i] = text.data;
    }
    return all;
}

static void echoes_free(const answering *a, char **all)
{
    for (uint32_t i = 0; i < a->count && all; i++)
        free(all[i]);
    free(all);
}

static void reply_at_once(answering *a)
{
    job_event event;
    int got;
    double looked_us = clock_us();
    while (!a->entry.is_gone && !a->fault.status && (got = job_next(a->j, LOOK_MS, &event)) >= 0) {
        if (got)
            take_event(a, &event);
        if (clock_us() - looked_us > LOOK_MS * 1e3) {
            looked_us = clock_us();
            a->entry.is_gone = http_is_gone(a->r);
        }
    }
    sum_up(a);
    if (a->entry.is_gone)
        openai_refuse(&a->fault, 499, NULL, "gone", "the client went away");
    if (a->fault.status) {
        reply_refusal(a);
        return;
    }
    str out = {0};
    char **echo = a->q.echo ? echoes(a) : NULL;
    openai_write_answer(&a->reply, a->choices, a->count, (const char *const *)echo, &a->usage, &out);
    http_reply_json(a->r, 200, &out);
    a->entry.status = 200;
    log_end(&a->s->log, &a->entry);
    echoes_free(a, echo);
    str_free(&out);
    answering_free(a);
}

/* ---- a stream ------------------------------------------------------------------------------------------- */

static void begin_stream(answering *a, str *out)
{
    char **echo = a->q.echo ? echoes(a) : NULL;
    for (uint32_t i = 0; i < a->count; i++) {
        if (echo)
            str_add(&a->choices[i].content, echo[i]);
        if (a->q.is_chat || echo)
            openai_write_piece(&a->reply, &a->choices[i], i, a->q.is_chat, a->q.include_usage, out);
    }
    echoes_free(a, echo);
    a->has_begun = true;
}

static void end_stream(answering *a, str *out)
{
    sum_up(a);
    if (a->fault.status) {
        str_add(out, "data: ");
        openai_write_fault(&a->fault, out);
        str_add(out, "\n");
    } else if (a->q.include_usage)
        openai_write_last_usage(&a->reply, &a->usage, out);
    str_add(out, "data: [DONE]\n\n");
    a->is_over = true;
}

static bool stream_more(void *user, str *out)
{
    answering *a = user;
    job_event event;
    if (!a->has_begun)
        begin_stream(a, out);
    int got = a->fault.status ? -1 : job_next(a->j, out->length ? 0 : LOOK_MS, &event);
    if (got > 0) {
        openai_choice *c = &a->choices[event.text];
        bool had_ended = c->finish != NULL;
        take_event(a, &event);
        if (!had_ended && !a->fault.status && (c->content.length || c->thoughts.length || c->finish))
            openai_write_piece(&a->reply, c, event.text, false, a->q.include_usage, out);
        a->silent_ms = out->length ? 0 : a->silent_ms;
    } else if (got < 0) {
        end_stream(a, out);
        return false;
    } else if (!out->length) {
        if (http_is_gone(a->r))
            return false;
        a->silent_ms += LOOK_MS;
        if (a->silent_ms >= KEEP_ALIVE_MS) { /* a proxy sees that this is no dead connection */
            str_add(out, ": waiting\n\n");
            a->silent_ms = 0;
        }
    }
    return true;
}

static void stream_done(void *user)
{
    answering *a = user;
    if (!a->is_over) {
        sum_up(a);
        a->entry.is_gone = true;
    }
    if (a->fault.status)
        snprintf(a->entry.error, sizeof a->entry.error, "%.150s", a->fault.text);
    a->entry.status = 200;
    log_end(&a->s->log, &a->entry);
    answering_free(a);
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

void server_complete(server *s, http_request *r, bool is_chat, log_entry *entry)
{
    err e = {0};
    unsigned status;
    answering *a = mem_alloc(sizeof *a);
    *a = (answering){.s = s, .r = r, .entry = *entry};
    json_t *body = NULL;
    if (!s->work)
        openai_refuse(&a->fault, 400, "model", "unsupported_value", "this model makes embeddings only");
    else if (!(body = http_read_json(r, &status, &e)))
        openai_refuse(&a->fault, status, NULL, "invalid_json", "%s", e.text);
    bool ok = body && openai_read(&a->q, body, is_chat, scheduler_vocab(s->work), &a->fault);
    if (a->q.user)
        snprintf(a->entry.user, sizeof a->entry.user, "%s", a->q.user);
    ok = ok && server_check_model(s, a->q.model, &a->fault) && (is_chat ? encode_chat(a) : encode_prompts(a)) &&
         check_lengths(a) && read_grammar(a);
    if (ok) {
        a->reply =
            (openai_reply){.created_s = time(NULL), .model = s->o.name, .is_chat = is_chat, .is_chunk = a->q.stream};
        server_make_id(s, is_chat ? "chatcmpl" : "cmpl", a->reply.id);
        memcpy(a->entry.id, a->reply.id, sizeof a->entry.id);
        prepare_texts(a);
        ok = submit(a);
    }
    if (!ok)
        reply_refusal(a);
    else if (a->q.stream)
        http_reply_stream(r, 200, "text/event-stream; charset=utf-8", &(http_stream){stream_more, stream_done, a});
    else
        reply_at_once(a);
}
