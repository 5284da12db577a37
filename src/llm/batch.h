/* batch: a model on a GPU that continues several texts at a time. Its weights are read once for all of them.
 *
 *     batch *b = batch_new(g, m, &(batch_options){.slots = 8, .context_tok = 4096}, &e);
 *     batch_join(b, &(batch_request){.tokens = prompt, .count = n, .max_tok = 128}, &slot, &e);
 *     while (batch_busy(b)) {
 *         batch_step(b, &e);
 *         for (uint32_t i = 0; i < batch_slots(b); i++) {
 *             batch_news news = batch_look(b, i);
 *             print news.count tokens; if (news.state == BATCH_ENDED) batch_leave(b, i);
 *         }
 *     }
 *
 * A request has a slot: a row of everything that is computed, with a position, sampling settings, a history and a part
 * of the KV cache of its own. Requests join and leave between steps, in any order.
 *
 * A step reads one piece of one prompt, if a request waits for that (in the order in which they joined: nobody else
 * waits longer than for a piece), and then makes one token or several for every text whose prompt is read: at the
 * level `loop` as many as fit chunk_ms, by one dispatch.
 *
 * What a request gets depends on its tokens, its settings and the batch's options, never on who else is served: the
 * same request gives the same tokens. Random numbers follow from the seed and the number of tokens before, as in a
 * generation. So a request that ends early, with its device, say, goes on if it joins again with the tokens so far.
 *
 * Prompts are read in whole pieces from the beginning, and the rest in a way that depends on its length only. Pieces
 * that another request's prompt had, too, are copied from its slot, which keeps them after it has left, until the slot
 * is needed: of free slots the one that was used least recently is taken. Nothing of a model with recurrent states is
 * copied so: they are those of a whole text.
 *
 * One thread calls all of this. The first error of a device is kept (gpu.h), and ends all requests.                    */
#ifndef SOLO_BATCH_H
#define SOLO_BATCH_H

#include "gpu/gpu.h"
#include "graph/sample.h"
#include "launch/submit.h"
#include "launch/level.h"
#include "llm/generation.h"
#include "model/model.h"

typedef struct batch batch;

enum {
    BATCH_MOST_SLOTS = 16,
    BATCH_DEFAULT_CHUNK_MS = 25,
    BATCH_MOST_STOPS = SAMPLE_MAX_STOPS,
};

typedef struct batch_options {
    uint32_t slots;             /* 1 .. BATCH_MOST_SLOTS */
    uint32_t context_tok;       /* positions of each; 0: as many as the model was made for, or as there is memory for */
    const char *cache;          /* keys and values in "f16" (NULL), "f32", "q8_0" or "q4_0" */
    fusion_level level;         /* the highest level; LEVEL_AUTO: the best that is safe on the device */
    bool all_levels;            /* the lower ones, too: batch_set_level chooses */
    submit_policy submit;       /* of the dispatches of a token */
    uint32_t chunk_ms;          /* how long a dispatch of many tokens may take, about; 0: BATCH_DEFAULT_CHUNK_MS */
    uint32_t piece_tok;         /* tokens of a piece of a prompt; 0: as suits the device */
    generation_compile compile; /* when the megakernel is made */
    bool steered; /* requests may be steered (batch_steer): takes 4 bytes for each token of the vocabulary and slot */
} batch_options;

/* The model is needed only during this call. */
batch *batch_new(gpu *g, const model *m, const batch_options *o, err *e);
void batch_free(batch *b);

typedef struct batch_request {
    const uint32_t *tokens; /* the prompt: copied */
    uint32_t count;         /* 1 .. context */
    sample_settings how;
    uint32_t max_tok;      /* tokens to be made; 0: until the context is full */
    const uint32_t *stops; /* the request ends after one of these, which is its last token: copied */
    uint32_t stop_count;   /* up to BATCH_MOST_STOPS */
    /* One token in each step, for all requests, to look at its logits, or to steer the next token by it; until
     * batch_set_most says otherwise. */
    bool stepwise;
    bool read_all; /* nothing of the prompt is copied from other requests */
} batch_request;

/* False if there is no free slot (batch_free_slots), a token is not in the vocabulary, or the prompt does not fit. */
bool batch_join(batch *b, const batch_request *r, uint32_t *slot, err *e);
/* Ends the request and frees its slot, whatever its state. */
void batch_leave(batch *b, uint32_t slot);

/* A piece of a prompt, and a chunk of tokens. False with the device's error. Does nothing if nobody is there. */
bool batch_step(batch *b, err *e);

typedef enum {
    BATCH_FREE,    /* nobody has the slot */
    BATCH_READING, /* the prompt is not read yet */
    BATCH_MAKING,
    BATCH_ENDED, /* there will be no further tokens; the slot is the request's until it leaves */
} batch_state;
typedef enum {
    BATCH_GOES_ON,
    BATCH_STOPPED,
    BATCH_LIMIT,
    BATCH_FULL,       /* the context is */
    BATCH_NOT_FINITE, /* logits are NaN or infinite, or no token is allowed: there is no choice */
} batch_end;

typedef struct batch_news {
    batch_state state;
    batch_end end;
    const uint32_t *tokens; /* that the last step made: valid until the next call that changes the batch */
    uint32_t count;
    uint32_t prompt_tok, read_tok; /* tokens of the prompt, and how many of them are read; of those */
    uint32_t reused_tok;           /* so many were copied */
    uint32_t made_tok;             /* tokens made so far */
} batch_news;
batch_news batch_look(const batch *b, uint32_t slot);

/* Which tokens may be chosen from the next step on: bit i % 32 of word i / 32 says it of token i (NULL: all); and what is
 * added to each logit (NULL: nothing), for example -100 or 100. Both hold until they are changed. Penalties come after
 * them. The batch's options must have `steered`. With `stepwise` every token can have its own. */
bool batch_steer(batch *b, uint32_t slot, const uint32_t *allowed, const float *added, err *e);

/* Tokens that a step makes of this request at most (0: as many as fit), and so of all requests. Holds until it is changed;
 * `stepwise` is 1. */
void batch_set_most(batch *b, uint32_t slot, uint32_t tokens);
/* The last `count` tokens of the last step do not count, nor does an end that came with them: others take their places.
 * Not of models with recurrent states, which cannot be cut back. */
bool batch_can_take_back(const batch *b);
void batch_take_back(batch *b, uint32_t slot, uint32_t count);

/* The logits (vocabulary) that the last token of the last step was chosen from, before steering and penalties. Of a
 * request with `stepwise`, before the next step. */
bool batch_logits(batch *b, uint32_t slot, float *logits, err *e);
/* The log-probability of a token by logits; and of the `count` most likely tokens, of equals the first. */
double batch_log_probability(const float *logits, uint32_t vocab, uint32_t token);
void batch_most_likely(const float *logits, uint32_t vocab, uint32_t *tokens, uint32_t count);

uint32_t batch_slots(const batch *b);
uint32_t batch_free_slots(const batch *b);
bool batch_busy(const batch *b); /* a request reads or makes */
uint32_t batch_context(const batch *b);
uint32_t batch_vocab(const batch *b);
uint32_t batch_piece(const batch *b);
fusion_level batch_level(const batch *b);
void batch_set_level(batch *b, fusion_level level); /* one that was made; between steps */
uint32_t batch_dispatches(const batch *b);          /* of a token of all texts */
uint64_t batch_bytes(const batch *b);               /* of GPU memory */
/* Its graphs, and which of them is that of the present level, to look at it: made to make `rounds` tokens in a dispatch,
 * where the level makes several. Returns how many it makes in `rounds`. */
struct graph_run *batch_run(batch *b, uint32_t *which, uint32_t *rounds);
/* A notice for the user, returned once: a level that is not possible here, or that timed out. NULL: none. */
const char *batch_take_notice(batch *b, char *text, size_t size);

#endif
