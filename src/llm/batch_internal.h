/* batch_internal: what the files of a batch share.
 *
 * batch.c makes one and answers questions about it; batch_join.c is about requests, batch_read.c reads their prompts,
 * batch_cache.c copies keys and values, batch_step.c makes tokens, batch_check.c compares the levels, batch_compile.c
 * changes to the megakernel when that has compiled. */
#ifndef SOLO_BATCH_INTERNAL_H
#define SOLO_BATCH_INTERNAL_H

#include "graph/run.h"
#include "graph/snapshot.h"
#include "llm/batch.h"

enum {
    BATCH_READERS = 3,          /* programs that read prompts, each so many tokens at a time */
    BATCH_READING_CACHE = 1000, /* in the place of a slot: the cache that prompts are read into */
};
#define BATCH_IDLE 0xffffffffu /* the position of a row that does nothing */

/* A request, or what is left of one: its text's cache can be copied. */
typedef struct batch_row {
    batch_state state;
    batch_end end;
    uint32_t *text;      /* (context + 1) the prompt, then what was made */
    uint32_t prompt_tok; /* tokens of the prompt; */
    uint32_t read_tok;   /* of its cache so many are there, */
    uint32_t whole_tok;  /* of which so many were read in whole pieces; */
    uint32_t reused_tok; /* and so many of them were copied */
    uint32_t made_tok, news_tok;
    uint32_t left;         /* tokens to be made */
    uint64_t joined, used; /* when, by the batch's own count */
    uint32_t most_tok;     /* that a step makes; 0: as many as fit */
    bool begun;            /* to read */
    sample_words how;
    sample_control control; /* as it is sent */
} batch_row;

/* A state, in the reading cache and in the slots: rows for all positions, or what goes from token to token. */
typedef struct batch_cached {
    gpu_buffer *reading, *slots;
    uint64_t reading_at, slots_at, row_bytes; /* bytes; of a position, or of all */
    bool is_recurrent;
} batch_cached;

struct batch {
    gpu *g;
    uint32_t slots, context_tok, vocab_tok;
    graph *making, *readers[BATCH_READERS];
    uint32_t reader_rows[BATCH_READERS], reader_count; /* the last has a piece */
    uint32_t reader_programs[BATCH_READERS];
    uint32_t programs[LEVEL_COUNT];
    bool has_level[LEVEL_COUNT];
    fusion_level level;
    fusion_level compiling; /* the level whose megakernel compiles in the background; LEVEL_AUTO: none */
    graph_compile compile_state;
    uint32_t compared_tok; /* tokens that it has made as ops has */
    bool always_compares;  /* for tests: whatever is known of the kernel */
    submit_policy submit;
    graph_run *run;
    graph_place tokens, positions, history, settings, control, steering, logits; /* of all slots */
    graph_place read_tokens, read_position, read_last;
    batch_row rows[BATCH_MOST_SLOTS];
    uint64_t clock; /* counts joins and steps */
    /* What the reading cache has: tokens that were read in whole pieces. */
    uint32_t *reading, reading_tok;
    batch_cached *cached;
    uint32_t cached_count;
    gpu_buffer *between; /* room for a piece of all states, on its way */
    /* Recurrent states as they were before a dispatch that may time out; NULL: the model has none. */
    graph_snapshot *before;
    uint32_t chunk_tok, rounds;
    uint64_t chunk_ns;
    char notice[1200];
};

/* A piece of the prompt of the request that joined first of those that wait for it; true if there is none. */
bool batch_read(batch *b, err *e);

/* Copies the pieces that a prompt begins with and any cache has into the slot's; returns how many tokens those are. */
uint32_t batch_take_prefix(batch *b, const batch_request *r, uint32_t slot);
/* Tokens of the whole pieces that two texts have in common, of `most`, and that can be copied: recurrent states cannot. */
uint32_t batch_common_pieces(const batch *b, const uint32_t *a, const uint32_t *c, uint32_t most);

bool batch_make_cache(batch *b, err *e);
/* Positions from..end-1 from one slot's part of the cache to another's; either may be BATCH_READING_CACHE. */
void batch_copy(batch *b, uint32_t from_slot, uint32_t to_slot, uint32_t from, uint32_t end);
/* Recurrent states, as they are after a prompt, from the reading cache to the slot's. */
void batch_copy_recurrent(batch *b, uint32_t slot);

/* Sends what the GPU has to know about a row: before it makes tokens, and to start again from the host's. */
void batch_send_row(batch *b, uint32_t slot);
/* The row makes nothing any more. */
void batch_idle_row(batch *b, uint32_t slot);
/* How many tokens the next dispatch makes, at the level loop. */
void batch_set_rounds(batch *b, uint32_t rounds);
/* One chunk of tokens for all rows; `most` of them at most. */
bool batch_make(batch *b, uint32_t most, err *e);

/* Brings the GPU back to where the host is, after a dispatch of which nothing counts. */
void batch_restore(batch *b);

void batch_fall_back(batch *b, const char *why);
/* Some of what is left to be done before the megakernel can be used. */
bool batch_go_on_compiling(batch *b, err *e);
/* Compares the megakernel with separate dispatches, once for each kernel and device. */
bool batch_compare_with_ops(batch *b, err *e);

#endif
