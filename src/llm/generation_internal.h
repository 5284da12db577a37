/* generation_internal: what the files of a generation share.
 *
 * generation.c makes one and answers questions about it, context_fit.c chooses how much it remembers, generation_feed.c feeds
 * tokens, generation_next.c makes new ones,
 * generation_check.c compares the megakernel with separate dispatches, generation_compile.c changes over to it in the
 * middle of a text, generation_recurrent.c brings states back that cannot be cut. */
#ifndef SOLO_GENERATION_INTERNAL_H
#define SOLO_GENERATION_INTERNAL_H

#include "graph/run.h"
#include "graph/snapshot.h"
#include "llm/generation.h"

enum {
    MAX_PROGRAMS = 5,
    READS = 4,
    MAX_CHUNK_TOK = 64,    /* tokens that one dispatch makes at the level `loop` */
    NO_TOKEN = 0xffffffff, /* not made yet */
    COMPARED_TOK = 24,     /* tokens that the megakernel has to make as ops does, before it is trusted */
};

/* How many tokens recurrent states have taken in, where that is no number yet: the GPU has counted them; nobody knows. */
#define ABSORBED_ON_GPU  0xfffffffeu
#define ABSORBED_UNKNOWN 0xffffffffu

/* Notices. */
#define GENERATION_NOT_POSSIBLE "one dispatch is not possible: %s; each step has a dispatch of its own"
#define GENERATION_OTHER_TOKENS \
    "one dispatch made other tokens than many on this device; each step has a dispatch of its own"
#define GENERATION_TIMED_OUT \
    "the workgroups of one dispatch timed out waiting for each other; from here on each step has a dispatch of its " \
    "own"

#define GENERATION_BEYOND_TRAINED \
    "the text is longer than the %u tokens that the model was trained for: what follows may make less sense"

/* Each program feeds as many tokens at a time as it has rows; the first one feeds them one by one, and also makes new
 * ones. */
extern const uint32_t generation_rows[MAX_PROGRAMS];

/* Whether a read from the GPU is complete, and whether it succeeded. */
typedef struct coming {
    bool done, ok;
} coming;

/* A token that is being read back. */
typedef struct arriving {
    coming state;
    uint32_t token;
} arriving;

/* Several tokens that one dispatch makes, from the one at `first` on; or the only one that a prompt made. */
typedef struct chunk {
    coming state;
    uint32_t first, count, tokens[MAX_CHUNK_TOK];
    uint64_t began_ns;
} chunk;

/* Tokens that the megakernel made ahead of the text, from the one at `first` on, and that the text has not shown yet. */
typedef struct trial {
    uint32_t first, count, tokens[COMPARED_TOK];
} trial;

/* What is left to be done before the change to a megakernel that compiles in the background. */
typedef enum { STAGE_COMPILING, STAGE_TIMING, STAGE_COMPARING } compile_stage;

struct generation {
    gpu *g;
    graph *graphs[MAX_PROGRAMS];
    uint32_t program_count; /* of a level */
    uint32_t programs[LEVEL_COUNT][MAX_PROGRAMS];
    bool has_level[LEVEL_COUNT];
    fusion_level level;
    fusion_level wanted;    /* as it was set since; LEVEL_AUTO: the highest */
    fusion_level compiling; /* in the background; LEVEL_AUTO: none */
    compile_stage stage;
    trial on_trial;
    uint32_t compared; /* tokens that were the same */
    /* For tests: so many tokens come before the change-over, which then waits for the compiler, and compares always. */
    uint32_t held_tok;
    bool hurries, always_compares;
    graph_run *run;
    submit_policy submit;
    submit_stop stop;
    graph_place settings, logits, tokens, position_place, count, last, history;
    uint32_t context_tok, vocab_tok;
    bool context_is_short;
    uint32_t
        trained_tok; /* the longest text the model was made for; UINT32_MAX: the notice about longer ones was given */
    bool slides, ahead;
    bool text_waits; /* for its first token */
    uint32_t *said;  /* (context_tok) the tokens so far */
    uint32_t position;
    uint32_t written; /* the last token that the GPU may have put into the history */
    uint32_t limit;   /* no token beyond this position is needed */
    bool fed;
    sampling how;
    uint32_t stream; /* of random numbers: generation_set_stream */
    /* The token at `position` is made; those up to `asked` are being read back, one by one or in chunks. */
    uint32_t asked;
    arriving reads[READS]; /* of the token at position p: reads[p % READS] */
    /* At the level `loop`: the chunk that tokens are handed out from, and the one behind it. */
    chunk chunks[2];
    uint32_t chunk_at, chunk_count, chunk_tok, rounds;
    uint64_t chunk_ns; /* the duration at which a dispatch is long enough: its tokens appear at once */
    uint32_t stops[MEGAKERNEL_MAX_STOPS], stop_count;
    /* Angles that depend on how long the text is (decoder_changes_angles): those of short and of long texts, how long a
     * short one may be, and whether the cache is that of a long one. NULL: they do not. */
    float *angles[2];
    uint32_t angle_count, short_tok;
    bool is_long;
    graph_place angles_place;
    /* Recurrent states: NULL if the model has none. How many tokens they have taken in, and of how many, or 0, the
     * snapshot is. */
    graph_snapshot *snapshot;
    uint32_t absorbed, kept_tok;
    char notice[1200];
};

/* The program that takes the first tokens of a prompt this long. */
uint32_t generation_first_program(const generation *n, uint32_t prompt_tok);
/* The program of the level that is in use now. */
static inline uint32_t generation_program(const generation *n, uint32_t program)
{
    return n->programs[n->level][program];
}

/* Sets the context's length, as the options say or as it fits. */
bool generation_choose_context(generation *n, const model *m, const generation_options *o, err *e);
/* How many tokens the next dispatch of the level `loop` makes. */
void generation_set_rounds(generation *n, uint32_t rounds);
void generation_set_submit(generation *n, submit_policy submit);
/* Feeds tokens from `position` on; `level`: what the last of them may use. False: it was asked to stop. */
bool generation_take_in(generation *n, const uint32_t *tokens, uint32_t count, fusion_level level);
/* Marks the tokens after `position` in the history as not made. */
void generation_forget_beyond(generation *n, uint32_t position);
/* Sends the sampling settings to the GPU. */
void generation_put_sampling(generation *n);
/* A notice, once, when the text is longer than the model was made for. */
void generation_warn_beyond_trained(generation *n);
/* Brings the GPU back to `position`, with no reads in flight. */
void generation_sync(generation *n);
/* Before tokens follow those so far: keys and values of all of them are in the cache. */
void generation_complete_rows(generation *n);
/* Makes the angles those of a text of so many tokens, and the cache anew if they were others. */
bool generation_fit_angles(generation *n, uint32_t text_tok, err *e);
void generation_put_angles(generation *n);
/* Uses ops from here on, and keeps the reason for the notice. */
void generation_fall_back(generation *n, const char *why);
/* To another level that was made, between two tokens. */
void generation_change_level(generation *n, fusion_level level);
void generation_set_stops_of_levels(generation *n);

/* Recurrent states, if the model has any. Before `position` is written to the GPU, once what runs there has ended: */
void generation_see_absorbed(generation *n);
/* makes them those of the first `position` tokens, if they have taken in others; afterwards no later token is there; */
bool generation_mend(generation *n, uint32_t position, err *e);
/* puts them aside at the current position, if they are those of it, and brings them back. */
void generation_keep_snapshot(generation *n);
void generation_bring_back(generation *n);

/* A megakernel of several workgroups is used only after it has made the same tokens as separate dispatches, once for
 * each device, implementation, driver and kernel: the verdict is kept in the user's cache. */
/* Is the megakernel of so chosen a level made while texts are? */
bool generation_in_background(generation_compile when, fusion_level level, bool all_levels);

/* Slower: the tokens are the same, but separate dispatches made them faster. */
typedef enum { VERDICT_UNKNOWN, VERDICT_SAME, VERDICT_DIFFERENT, VERDICT_SLOWER } generation_verdict;
generation_verdict generation_verdict_of(const gpu *g, const megakernel *mega, uint32_t context_tok);
void generation_keep_verdict(const gpu *g, const megakernel *mega, generation_verdict verdict);
generation_verdict generation_get_verdict(const generation *n, uint32_t program);
void generation_put_verdict(const generation *n, uint32_t program, generation_verdict verdict);
/* Compares with a text of its own. */
bool generation_compare_with_ops(generation *n, err *e);

/* Before a token of the text, while the megakernel compiles. False: the device failed. */
bool generation_go_on_compiling(generation *n, err *e);
/* The text is another one: what was made ahead of it is no trial any more. */
void generation_forget_trial(generation *n);

#endif
