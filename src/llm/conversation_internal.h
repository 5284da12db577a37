/* conversation_internal: what the files of a conversation share. */
#ifndef SOLO_CONVERSATION_INTERNAL_H
#define SOLO_CONVERSATION_INTERNAL_H

#include "llm/conversation.h"

typedef struct message {
    chat_role role;
    char *content;
    char *tool_calls, *tool_call_id, *name; /* as in chat_message; NULL: none */
    token_list tokens;                      /* without a template: what it is */
} message;

struct conversation {
    generation *n;
    const tokenizer *t;
    const chat_template *f;
    chat_think think;
    char *tools; /* NULL: none */
    message *items;
    size_t count, capacity;
    token_list taken;   /* what the model's cache holds, from its start */
    uint32_t forgotten; /* messages that were dropped so far */
};

/* The message's texts are the conversation's from here on. */
void conversation_insert(conversation *c, size_t at, message m);
void conversation_remove(conversation *c, size_t at);

#endif
