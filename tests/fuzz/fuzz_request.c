/* Bodies of requests to `solo serve`, as a chat, as a completion and as one that has to call a tool: what is let through
 * has a grammar that can be read and messages that can be written for a model. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "request"
#define FUZZ_MUTATIONS 20000
#include "base/str.h"
#include "fuzz/require.h"
#include "model/model_text.h"
#include "serve/grammar.h"
#include "serve/openai_messages.h"

#include <string.h>

enum { VOCAB_TOK = 1000 };

static void require_fault(const openai_fault *f)
{
    require(f->status >= 400 && f->status < 500, "a refusal without a status");
    require(f->text[0] && f->code && f->code[0], "a refusal without a reason");
    require(memchr(f->text, 0, sizeof f->text) && memchr(f->param, 0, sizeof f->param), "a text without an end");
}

static void write_messages(const openai_request *q)
{
    static model *m;
    static tokenizer *t;
    static chat_template *template;
    err e = {0};
    if (!m) {
        m = model_open(NULL, &e);
        t = m ? tokenizer_of_model(m, &e) : NULL;
        template = t ? chat_template_named("chatml") : NULL;
        require(template != NULL, e.text);
    }
    token_list tokens = {0};
    chat_options o = {.ask = true, .think = q->think, .tools = q->tool_choice != TOOLS_NONE ? q->tools : NULL};
    if (!chat_encode(template, t, q->messages, q->message_count, &o, &tokens, &e))
        require_line(&e);
    token_list_free(&tokens);
}

static void check_request(const openai_request *q)
{
    require(q->n >= 1 && q->n <= OPENAI_MOST_CHOICES && q->stop_count <= OPENAI_MOST_STOPS, "a number out of range");
    require(q->message_count <= OPENAI_MOST_MESSAGES && q->prompt_count <= OPENAI_MOST_PROMPTS, "too many texts");
    for (size_t i = 0; i < q->bias_count; i++)
        require(q->bias[i].token < VOCAB_TOK, "a bias of no token");
    for (size_t i = 0; i < q->message_count; i++)
        require(q->messages[i].role < CHAT_ROLES, "a role that there is not");
    if (q->is_chat)
        write_messages(q);
    for (size_t i = 0; i < q->prompt_count; i++) {
        token_list tokens = {0};
        openai_fault f = {0};
        field_place at = {"prompt"};
        if (!json_is_string(q->prompts[i]) && !field_tokens(q->prompts[i], VOCAB_TOK, &tokens, &at, &f))
            require_fault(&f);
        token_list_free(&tokens);
    }
    if (q->gbnf) {
        err e = {0};
        grammar_free(grammar_parse(q->gbnf, strlen(q->gbnf), &e));
    }
}

static void read_as(const uint8_t *bytes, size_t length, bool is_chat, bool with_tags)
{
    json_t *body = json_loadb((const char *)bytes, length, JSON_REJECT_DUPLICATES, NULL);
    openai_request q;
    openai_fault f = {0};
    if (!json_is_object(body)) {
        json_decref(body);
        return;
    }
    bool ok = openai_read(&q, body, is_chat, VOCAB_TOK, &f);
    require(ok == (f.status == 0), "a refusal beside a request, or neither");
    if (ok && q.tool_choice == TOOLS_REQUIRED)
        ok = openai_force_call(&q, with_tags, &f);
    if (ok)
        check_request(&q);
    else
        require_fault(&f);
    openai_request_free(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    read_as(bytes, length, true, length & 1);
    read_as(bytes, length, false, false);
    return 0;
}

#ifdef FUZZ_MAIN
static const char *const words[] = {"\"messages\"",
                                    "\"role\"",
                                    "\"user\"",
                                    "\"assistant\"",
                                    "\"tool\"",
                                    "\"content\"",
                                    "\"tools\"",
                                    "\"function\"",
                                    "\"tool_calls\"",
                                    "\"required\"",
                                    "\"stop\"",
                                    "\"logit_bias\"",
                                    "\"response_format\"",
                                    "\"json_schema\"",
                                    "\"prompt\"",
                                    "\"n\"",
                                    "null",
                                    "true",
                                    "-1",
                                    "1e300",
                                    "0",
                                    "999",
                                    "1000",
                                    "[]",
                                    "{}",
                                    "[1,2]",
                                    "\"\\u0000\"",
                                    "\"\\ud800\"",
                                    "\"a\""};
#include "mutate_json.h"

#include "fuzz_main.h"
#endif
