/* chat: conversations in the form that a model's chat template gives them.
 *
 * The template is run (jinja.h). Messages are plain text: what they contain never becomes a special token, so that
 * nobody can end a turn or forge one.                                                                             */
#ifndef SOLO_CHAT_H
#define SOLO_CHAT_H

#include "model/tokenizer.h"

typedef enum { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_TOOL, CHAT_ROLES } chat_role;

typedef struct chat_message {
    chat_role role;
    const char *content; /* an answer with the thoughts before "</think>", if there are any */
    /* NULL, or of an answer: the tools that it calls, as JSON: [{"type": "function", "id": "...", "function": {"name":
     * "...", "arguments": {...}}}], arguments also as a text of JSON. */
    const char *tool_calls;
    const char *tool_call_id, *name; /* NULL, or of a tool's result: which call it belongs to, and the tool */
} chat_message;

extern const char *const chat_role_names[CHAT_ROLES];

typedef struct chat_template chat_template;

/* An error names the template's line. */
chat_template *chat_template_new(const char *text, size_t length, err *e);
/* "chatml", for files without a template; NULL: there is none of this name. */
chat_template *chat_template_named(const char *name);
void chat_template_free(chat_template *t);
/* "own": the model's; else the name that was asked for. */
const char *chat_template_name(const chat_template *t);
/* Does it write the tools that a model may call? */
bool chat_template_takes_tools(const chat_template *t);
/* Does it ask whether the model is to think first? */
bool chat_template_can_think(const chat_template *t);

/* Whether the model is to think before its answer; CHAT_THINK_AUTO: as the template does it by itself. */
typedef enum { CHAT_THINK_AUTO, CHAT_THINK_ON, CHAT_THINK_OFF } chat_think;

typedef struct chat_options {
    bool ask; /* what follows is the assistant's */
    chat_think think;
    const char *tools; /* that the model may call: JSON, a list as in OpenAI's API; NULL: none */
    int64_t local_s;   /* seconds since 1970 in local time, for templates that write a date; 0: now */
} chat_options;

/* A text, and which parts of it are plain (tokenizer_encode_partly). Zero-initialise. */
typedef struct chat_text {
    str text;
    text_span *plain;
    size_t plain_count, plain_capacity;
} chat_text;

void chat_text_free(chat_text *t);

/* `bos` and `eos`: how the model writes the tokens that begin and end a text. False: the template refuses this
 * conversation, and says why. */
bool chat_render(const chat_template *t, const chat_message *messages, size_t count, const chat_options *o,
                 const char *bos, const char *eos, chat_text *out, err *e);

/* The same as tokens, BOS once where the model wants it. */
bool chat_encode(const chat_template *t, const tokenizer *tokens, const chat_message *messages, size_t count,
                 const chat_options *o, token_list *out, err *e);

#endif
