/* session: a model to talk to: its weights on a GPU, its tokenizer, its chat template, the conversation so far,
 * its sampling settings and its stops.
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
    /* "chatml", or a chat template's text; "none": texts are continued without turns; NULL: as in the model's files */
    const char *template;
    chat_think think;
    const tokenizer *tokenizer; /* must outlive the session; NULL: the session makes its own */
} session_options;

/* The device and the model must outlive the session. */
session *session_new(gpu *g, const model *m, const session_options *o, err *e);
void session_free(session *s);
/* Reads the tokenizer and the template; files without them have logits all the same. */
bool session_read_texts(session *s, err *e);
/* Before it is prepared: all there will be is this text, and so many tokens after it, so a context of which nobody says
 * how long it is need not be longer. */
bool session_expect(session *s, const char *text, size_t bytes, uint32_t most_tok, err *e);
/* Reads them, uploads weights and compiles kernels: needed before everything below but session_logits. A second call
 * does nothing. */
bool session_prepare(session *s, err *e);

const tokenizer *session_tokenizer(const session *s);    /* after session_read_texts, and: */
const chat_template *session_template(const session *s); /* NULL: this model has no turns */
/* Why the model's own template cannot be used: a conversation fails with this. NULL: it can, or there is none. */
const char *session_template_error(const session *s);
generation *session_generation(session *s); /* NULL before it is prepared; this, too: */
conversation *session_conversation(session *s);

/* From the next text on. */
void session_set_sampling(session *s, const sampling *how);
/* A text that ends an answer; it is copied. */
void session_add_stop(session *s, const char *text);
void session_forget_stops(session *s);
void session_set_think(session *s, chat_think think);   /* from the next answer on */
void session_set_level(session *s, fusion_level level); /* one that was made; LEVEL_AUTO: the highest of those */
/* generation_finish_compile, keeping all settings. */
bool session_finish(session *s, err *e);

/* Continues a text; special tokens written in it count as such. With `echo` the text itself is shown, too, as its
 * tokens decode. The options' stops are the session's, here and below. */
bool session_continue(session *s, const char *text, size_t bytes, bool echo, const answer_options *o,
                      answer_report *report, err *e);

/* The same after the text that the cache holds: that of the last session_continue, or of a session that was loaded. An
 * empty text is enough then. */
bool session_continue_on(session *s, const char *text, size_t bytes, bool echo, const answer_options *o,
                         answer_report *report, err *e);

/* Saves what is needed to go on elsewhere as if nothing had been between: conversation, keys and values, sampling
 * settings. Loading wants the same model and type of cache; what does not fit, is damaged or comes from somewhere else
 * is refused, and changes nothing. With session_continues, what is saved and loaded is the text of session_continue
 * instead. */
bool session_save(session *s, const char *path, err *e);
bool session_load(session *s, const char *path, err *e);
void session_continues(session *s);
const sampling *session_sampling(const session *s);

/* The conversation: conversation_say, _again and _answer. */
bool session_say(session *s, const char *text, const answer_options *o, answer_report *report, err *e);
bool session_again(session *s, const answer_options *o, answer_report *report, err *e);
bool session_answer(session *s, const answer_options *o, answer_report *report, err *e);
bool session_compact(session *s, const answer_options *o, err *e); /* conversation_compact */
/* Starts an empty conversation; tokens that are in the KV cache already stay. `turns` false: its messages are one text
 * that is continued, even if the model has turns. */
void session_begin(session *s, bool turns);

/* The logits after each of the first tokens of a text, (count, vocabulary), computed all at once with an f32 KV cache.
 * This uploads the weights a second time, and keeps them for texts of the same length. */
bool session_logits(session *s, const uint32_t *tokens, uint32_t count, float *logits, err *e);

#endif
