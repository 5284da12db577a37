/* conversation: the turns of a user and a model, and how many of their tokens are in the KV cache.
 *
 * Messages are kept as text. Before an answer they become tokens; those that the KV cache begins with already
 * stay there, and only the rest is fed. When the context is full, the oldest turns are dropped first, the
 * system's message last.
 *
 * Without a chat template the messages are one text that is continued.                                         */
#ifndef SOLO_CONVERSATION_H
#define SOLO_CONVERSATION_H

#include "llm/answer.h"
#include "model/chat.h"

typedef struct conversation conversation;

/* All three must outlive the conversation; `f` NULL: the model has no turns. */
conversation *conversation_new(generation *n, const tokenizer *t, const chat_template *f);
void conversation_free(conversation *c);

/* Drops all messages but the system's. */
void conversation_reset(conversation *c);
/* To be called when the KV cache was used for something else: the next answer feeds all messages again. */
void conversation_forget_cache(conversation *c);
/* NULL or "": none. */
void conversation_set_system(conversation *c, const char *text);
/* From the next answer on. */
void conversation_set_think(conversation *c, chat_think think);
/* The tools that the model may call, given to the template: a list of JSON as in OpenAI's API; NULL: none. */
void conversation_set_tools(conversation *c, const char *json);

/* Adds the user's message and makes the answer. False if it does not fit the context or the model failed: the message
 * is then not part of the conversation. */
bool conversation_say(conversation *c, const char *text, const answer_options *o, answer_report *report, err *e);
/* Another answer to the last message. False without an error: there is none yet. */
bool conversation_again(conversation *c, const answer_options *o, answer_report *report, err *e);

/* The same in steps, for callers that keep the messages themselves: add each message with its role, then make the
 * answer. False if that does not fit or fails; the messages stay. */
void conversation_add(conversation *c, chat_role role, const char *text);
void conversation_add_message(conversation *c, const chat_message *m); /* one with calls, or a tool's result */
/* What the last message, an answer, really was: some text, and calls of tools. */
void conversation_set_calls(conversation *c, const char *content, const char *tool_calls);
bool conversation_answer(conversation *c, const answer_options *o, answer_report *report, err *e);

/* Makes room: the model summarises all turns but the last, and the summary stands before that one. False: it failed, or
 * there is nothing to summarise; the conversation is as it was. Of the options, only `interrupted` and the stops count. */
bool conversation_compact(conversation *c, const answer_options *o, err *e);

size_t conversation_count(const conversation *c); /* with the system's, if there is one */
chat_message conversation_at(const conversation *c, size_t i);

#endif
