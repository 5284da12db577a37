/* chat: conversations as the text a model was trained on.
 *
 * Models come with a template for that, a program in Jinja. It is not run here: the
 * families there are get recognised by what stands in it, and each is described by a
 * chat_format. What people say goes into the text as it is, but marked as plain, so
 * that "<|im_end|>" in a message is those characters and not the end of the turn.   */
#ifndef SOLO_CHAT_H
#define SOLO_CHAT_H

#include "model/tokenizer.h"

typedef enum { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT } chat_role;

typedef struct chat_message {
    chat_role role;
    const char *content;
} chat_message;

/* Where the system's message goes. */
typedef enum {
    SYSTEM_TURN,       /* into a turn of its own */
    SYSTEM_FIRST_USER, /* before the user's first message */
    SYSTEM_LAST_USER   /* before the last one, wherever that is */
} chat_system_place;

/* Texts around messages. "\1" in them is the token that begins a text, "\2" the one
 * that ends one, as this model writes them. */
typedef struct chat_turn {
    const char *before, *after;
    bool trims; /* the spaces around the message */
} chat_turn;

typedef struct chat_format {
    const char *name;
    const char *start;  /* before everything */
    chat_turn turns[3]; /* by chat_role; for SYSTEM_..._USER the first stands inside the user's turn */
    const char *prompt; /* what asks for an answer */
    chat_system_place system_place;
    const char *default_system;  /* where there is no system message; NULL: nothing then */
    bool forgets_thoughts;       /* what comes before "</think>" is left out of earlier answers */
    bool keeps_leading_in_first; /* the user's message behind the system's is trimmed only at its end */
} chat_format;

/* False for a template that is none of those known. */
bool chat_format_of(const char *template_text, chat_format *out);

/* By its name. */
bool chat_format_named(const char *name, chat_format *out);

/* A text, and which parts of it are plain (tokenizer_encode_partly). Zero-initialise. */
typedef struct chat_text {
    str text;
    text_span *plain;
    size_t plain_count, plain_capacity;
} chat_text;

void chat_text_free(chat_text *t);

/* `bos` and `eos`: how the model writes the tokens that begin and end a text. A system
 * message counts only as the first. With `ask`, what follows is the assistant's. */
void chat_render(const chat_format *f, const chat_message *messages, size_t count, bool ask, const char *bos,
                 const char *eos, chat_text *out);

/* The same as tokens, BOS once where the model wants it. */
bool chat_encode(const chat_format *f, const tokenizer *t, const chat_message *messages, size_t count, bool ask,
                 token_list *out, err *e);

#endif
