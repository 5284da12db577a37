/* conversation: turns of a user and a model, and what of them the model has taken in.
 *
 * All that was said is kept as messages. Before an answer they become tokens; those the
 * model's cache begins with already stay there, only the rest is fed. What does not fit
 * the context any more is forgotten from the oldest turn on, the system's message last.
 *
 * Without a chat_format the texts are simply one text that goes on.                   */
#ifndef SOLO_CONVERSATION_H
#define SOLO_CONVERSATION_H

#include "llm/answer.h"
#include "model/chat.h"

typedef struct conversation conversation;

/* All three must live on; `f` NULL: the model knows no turns. */
conversation *conversation_new(generation *n, const tokenizer *t, const chat_format *f);
void conversation_free(conversation *c);

/* Forgets all but the system's message. */
void conversation_reset(conversation *c);
/* The model's cache was used for something else: with the next answer all of it is fed again. */
void conversation_forget_cache(conversation *c);
/* NULL or "": none. */
void conversation_set_system(conversation *c, const char *text);

/* Adds what the user says and gets the answer to it. False if it does not fit the
 * context or the model failed: the message is then not part of the conversation. */
bool conversation_say(conversation *c, const char *text, const answer_options *o, answer_report *report, err *e);
/* Another answer to the last message. False without an error: there is none yet. */
bool conversation_again(conversation *c, const answer_options *o, answer_report *report, err *e);

/* The same bit by bit, for those who keep the messages themselves: what was said, by whom, then the answer to all of
 * it. False if that does not fit or fails; what was said stays. */
void conversation_add(conversation *c, chat_role role, const char *text);
bool conversation_answer(conversation *c, const answer_options *o, answer_report *report, err *e);

size_t conversation_count(const conversation *c); /* with the system's, if there is one */
chat_message conversation_at(const conversation *c, size_t i);

#endif
