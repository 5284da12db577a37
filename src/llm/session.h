/* session: a model that one can talk to, as one thing: its weights on a GPU, its tokenizer, the form of its
 * conversations, what was said so far, how tokens are chosen and where texts end.
 *
 *     session *s = session_new(g, m, &(session_options){0}, &e);
 *     session_prepare(s, &e);
 *     session_continue(s, text, bytes, false, &(answer_options){.print = print}, &report, &e);
 *     session_say(s, "Hello", &(answer_options){.print = print}, &report, &e);
 *
 * All zeros in the options mean the best there is on the device.                                              */
#ifndef SOLO_SESSION_H
#define SOLO_SESSION_H

#include "llm/conversation.h"

typedef struct session session;

typedef struct session_options {
    generation_options generation;
    const char *template;       /* the name of a family; "none": texts simply go on; NULL: as the model's files say */
    const tokenizer *tokenizer; /* must live on; NULL: the session makes one of its own */
} session_options;

/* The device and the model must live on. */
session *session_new(gpu *g, const model *m, const session_options *o, err *e);
void session_free(session *s);
/* Reads the tokenizer and the template; files without them have logits all the same. */
bool session_read_texts(session *s, err *e);
/* That, weights on the GPU, kernels compiled: before anything below is asked for but session_logits. Once more: nothing. */
bool session_prepare(session *s, err *e);

const tokenizer *session_tokenizer(const session *s); /* after session_read_texts, and: */
const chat_format *session_format(const session *s);  /* NULL: this model knows no turns */
generation *session_generation(session *s);           /* NULL before it is prepared; this, too: */
conversation *session_conversation(session *s);

/* From the next text on. */
void session_set_sampling(session *s, const sampling *how);
/* A text that ends an answer; it is copied. */
void session_add_stop(session *s, const char *text);
void session_forget_stops(session *s);
void session_set_level(session *s, fusion_level level); /* one that was made; LEVEL_AUTO: the highest of those */
/* generation_finish_compile, and all is set as it was. */
bool session_finish(session *s, err *e);

/* What follows a text, special tokens written in it being those tokens. With `echo` the text itself is shown, too, as its
 * tokens say it. The options' stops are the session's, here and below. */
bool session_continue(session *s, const char *text, size_t bytes, bool echo, const answer_options *o,
                      answer_report *report, err *e);

/* The conversation: conversation_say, _again and _answer. */
bool session_say(session *s, const char *text, const answer_options *o, answer_report *report, err *e);
bool session_again(session *s, const answer_options *o, answer_report *report, err *e);
bool session_answer(session *s, const answer_options *o, answer_report *report, err *e);
/* Another conversation, with nothing said yet; what of it the model has taken in already stays. `turns` false: its texts
 * simply go on, whatever the model knows. */
void session_begin(session *s, bool turns);

/* The logits after each of some tokens that begin a text, (count, vocabulary), computed all at once and with an exact
 * cache. That takes the weights on the GPU once more, and keeps them there for texts of the same length. */
bool session_logits(session *s, const uint32_t *tokens, uint32_t count, float *logits, err *e);

#endif
