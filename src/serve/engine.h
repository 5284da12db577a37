/* engine: texts made by a model, each in a row of its own: several rows by a batch, or one by a generation.
 *
 *     engine_join(n, row, &text, &e);          the text begins; nothing is computed yet
 *     while (engine_step(n, made, user, &e))   some work for all rows: pieces of prompts, tokens
 *     engine_leave(n, row);
 *
 * A text has the same tokens whatever else is made beside it, and whatever was made before: of prompts that the cache
 * holds, only whole pieces are used again, as they were fed.                                                       */
#ifndef SOLO_ENGINE_H
#define SOLO_ENGINE_H

#include "llm/generation.h"
#include "model/tokenizer.h"

typedef struct engine engine;

enum {
    ENGINE_DEFAULT_ROWS = 4,
    ENGINE_MOST_TOP = 20, /* likelihoods beside that of the chosen token */
};

typedef struct token_bias {
    uint32_t token;
    float bias; /* added to its logit */
} token_bias;

typedef struct token_chance {
    uint32_t token;
    float logprob; /* of all tokens, before anything changes the logits */
} token_chance;

typedef struct made_token {
    uint32_t id;
    float logprob;
    token_chance top[ENGINE_MOST_TOP];
    uint32_t top_count;
} made_token;

/* Which tokens may come next; asked before each, and told what was chosen. */
typedef struct token_filter {
    /* Bit i % 32 of word i / 32 is 1 if token i may come. False: none may, and the text ends. */
    bool (*allow)(void *user, uint32_t *bits, uint32_t vocab);
    void (*chosen)(void *user, uint32_t token);
    bool (*may_come)(void *user, uint32_t token); /* may this one? */
    bool (*is_same)(void *user);                  /* are those allowed that were when `allow` was asked last? */
    void *user;
} token_filter;

typedef struct engine_text {
    const uint32_t *tokens; /* (count) what the text begins with; it must outlive the row's use */
    uint32_t count;
    uint32_t prompt_tok; /* of these; the others were made before, by a device that was lost */
    sampling how;
    float frequency_penalty, presence_penalty; /* of tokens behind the prompt */
    const token_bias *bias;                    /* (bias_count) */
    size_t bias_count;
    bool wants_logprobs;
    uint32_t top_count;
    uint32_t most_tok;          /* tokens after those, at most */
    bool ignores_end;           /* the tokens that end a text do not */
    const token_filter *filter; /* NULL: all may come */
} engine_text;

typedef struct engine_options {
    gpu *g;
    const model *m;
    const tokenizer *t;
    uint32_t rows; /* 0: ENGINE_DEFAULT_ROWS, or 1 for models that a batch does not take */
    generation_options generation;
} engine_options;

/* What is in the options must outlive it. */
engine *engine_new(const engine_options *o, err *e);
void engine_free(engine *n);

uint32_t engine_rows(const engine *n);
uint32_t engine_context(const engine *n); /* tokens of a row */
uint32_t engine_vocab(const engine *n);
/* A notice for the user, returned once; NULL: none. */
const char *engine_take_notice(engine *n, char *text, size_t size);

bool engine_join(engine *n, uint32_t row, const engine_text *text, err *e);
void engine_leave(engine *n, uint32_t row);

/* `token` NULL: there will be no further one, because the context is full or the filter lets none come. */
typedef void (*engine_made)(void *user, uint32_t row, const made_token *token);
bool engine_step(engine *n, engine_made made, void *user, err *e);
typedef struct engine_row {
    uint32_t reused_tok;  /* of its beginning that were in the cache already; known when its first token is made */
    uint32_t stepped_tok; /* tokens that were waited for one by one, because what may follow depends on each */
    uint32_t vain_tok;    /* tokens that were made, and not used: the filter wanted others */
} engine_row;
/* Of the row's text, so far. */
engine_row engine_look(const engine *n, uint32_t row);

#endif
