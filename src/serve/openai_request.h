/* openai_request: what a request to /v1/chat/completions or /v1/completions asks for, read strictly.
 *
 * A field that is not known, or asks for something that is not done here, is refused by its name; null is as if it was
 * not there.                                                                                                        */
#ifndef SOLO_OPENAI_REQUEST_H
#define SOLO_OPENAI_REQUEST_H

#include "model/chat.h"
#include "serve/engine.h"

#include <jansson.h>

/* Why a request is refused, as OpenAI's API says it. */
typedef struct openai_fault {
    unsigned status; /* 0: it is not */
    char param[96];  /* the field; "": none */
    const char *code;
    char text[512];
} openai_fault;

/* False, so that callers can return it. The first one is kept. */
bool openai_refuse(openai_fault *f, unsigned status, const char *param, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

enum {
    OPENAI_MOST_STOPS = 16,
    OPENAI_MOST_CHOICES = 16,
    OPENAI_MOST_BIAS = 1024,
    OPENAI_MOST_PROMPTS = 64,
    OPENAI_MOST_MESSAGES = 4096,
};

typedef enum { TOOLS_AUTO, TOOLS_NONE, TOOLS_REQUIRED } openai_tool_choice;

typedef struct openai_request {
    bool is_chat;
    const char *model, *user; /* NULL: not said */
    bool stream, include_usage, echo, ignores_end;
    bool wants_logprobs;
    uint32_t top_logprobs;
    uint32_t n, most_tok; /* most_tok 0: not said */
    sampling how;
    bool has_seed;
    float frequency_penalty, presence_penalty;
    token_bias bias[OPENAI_MOST_BIAS];
    size_t bias_count;
    const char *stops[OPENAI_MOST_STOPS];
    size_t stop_count;
    char *gbnf;             /* the grammar that the text has to follow; NULL: none */
    const char *gbnf_field; /* that it comes from */
    /* chat */
    chat_message *messages; /* (message_count) */
    size_t message_count;
    char *tools; /* JSON; NULL: none */
    openai_tool_choice tool_choice;
    const char *only_tool; /* TOOLS_REQUIRED: this one; NULL: any */
    bool one_call;         /* of tools, at most */
    chat_think think;
    /* completions: texts or lists of tokens */
    const json_t *prompts[OPENAI_MOST_PROMPTS];
    size_t prompt_count;
    /* what all this points to */
    json_t *body;
    char **owned;
    size_t owned_count;
} openai_request;

/* Takes over the body, also if it fails. `vocab`: how many tokens there are. */
bool openai_read(openai_request *q, json_t *body, bool is_chat, uint32_t vocab, openai_fault *f);
void openai_request_free(openai_request *q);

#endif
