/* sample: choosing the next token from logits, in an order that is fixed: the
 * penalty for recent tokens, top_k, top_p, min_p, temperature, the draw.
 *
 * The work is done on the GPU by kernels/graph/op_sample_scan.wgsl and
 * op_sample.wgsl, one after the other. Here are their arguments, and the same
 * choice made on the CPU.
 *
 * Exactly what is chosen from what:
 *   - a NaN counts as -1e30, larger numbers as +-1e30, tiny ones (denormal) as 0;
 *   - tokens that come up among the recent ones, however often, have their logit
 *     multiplied by the penalty if it is 0 or less, else by 1 / penalty;
 *   - top_k keeps the k highest, of equal ones those with lower ids;
 *   - top_p then keeps the fewest, in the same order, that together reach p of what
 *     all that were kept have at temperature 1, and at least one;
 *   - min_p keeps those whose logit is at least the best one's + log(min_p);
 *   - of what is kept, a token is drawn by its likelihood at the temperature: a
 *     random number (Philox 2x32-10 of the seed and the number of tokens so far,
 *     32 bits) finds its place in the running sum, by id.
 * Likelihoods are whole numbers of 64 bits made by whole-number arithmetic, to
 * about 24 bits, against the most likely at 2^42; so sums do not depend on their
 * order, and the same logits, settings and number of tokens give the same token on
 * every GPU, whatever its threads. What has less than 2^-42 of the likelihood of
 * the most likely token is never drawn.                                      */
#ifndef SOLO_GRAPH_SAMPLE_H
#define SOLO_GRAPH_SAMPLE_H

#include <stdint.h>

enum {
    SAMPLE_WORDS = 8,           /* what the settings take in memory */
    SAMPLE_ARGUMENTS = 14,      /* of each of the kernels */
    SAMPLE_MAX_VOCAB = 1 << 20, /* tokens */
    SAMPLE_DEFAULT_RECENT = 64, /* tokens */
    /* Of a row that is a text of its own (graph_sample_rows): what the host and the kernel tell each other. */
    SAMPLE_CONTROL_WORDS = 84,
    SAMPLE_MAX_STOPS = 16,
    SAMPLE_RING_TOK = 64,
};

typedef struct sample_control {
    uint32_t left;    /* tokens still to be made */
    uint32_t steered; /* bits of sample_steered */
    uint32_t stop_count, unused, stops[SAMPLE_MAX_STOPS];
    uint32_t tokens[SAMPLE_RING_TOK]; /* token i of the text is at i % SAMPLE_RING_TOK, as in the history */
} sample_control;
_Static_assert(sizeof(sample_control) == SAMPLE_CONTROL_WORDS * 4, "they are words");

/* What steers a row: of so many words, first a bit for each token, which says whether it may be chosen; then a float
 * for each, which is added to its logit. Words of 32 bits begin with the lowest. */
typedef enum { SAMPLE_ONLY_SET = 1, SAMPLE_ADDED = 2 } sample_steered;
uint32_t sample_steering_words(uint32_t vocab);

typedef struct sample_settings {
    float temperature;    /* 0: the most likely token, whatever the filters say */
    uint32_t top_k;       /* 0: all */
    float top_p;          /* 0 or 1: all */
    float min_p;          /* 0: all */
    float repeat_penalty; /* 0 or 1: none; less than 1 makes recent tokens more likely */
    uint32_t repeat_last; /* how many tokens are recent; 0: SAMPLE_DEFAULT_RECENT */
    uint32_t seed;
} sample_settings;

/* The settings as the kernels read them. */
typedef struct sample_words {
    float scale;     /* 2^24 * log2(e) / temperature; 0: the most likely */
    uint32_t top_k;  /* 0: all */
    uint32_t top_p;  /* 2^32 * p; 0: all */
    float min_log;   /* log(min_p); -1e31: all */
    float penalty;   /* a factor for recent logits up to 0 */
    float reward;    /* one for those above: 1 / penalty */
    uint32_t recent; /* tokens; 0: no penalty */
    uint32_t seed;
} sample_words;
_Static_assert(sizeof(sample_words) == SAMPLE_WORDS * 4, "they are words");

/* Settings that make no sense (negative, NaN) count as those that change nothing. */
sample_words sample_pack(const sample_settings *s);
/* The seed for a text whose positions come a second time, a third, ...: `stream` 0 is the seed itself, and each has
 * random numbers of its own. */
uint32_t sample_stream_seed(uint32_t seed, uint32_t stream);

/* Where things are among the activations, in words. */
typedef struct sample_places {
    uint32_t out;      /* 1 word: the token */
    uint32_t logits;   /* vocab words */
    uint32_t vocab;    /* 1 .. SAMPLE_MAX_VOCAB */
    uint32_t settings; /* SAMPLE_WORDS words */
    uint32_t position; /* 1 word; with position_plus added: the number of tokens so far */
    uint32_t position_plus;
    uint32_t history;     /* history_tok words: token i of the text is at i % history_tok */
    uint32_t history_tok; /* 0: there is none, and so no penalty */
    uint32_t append;      /* 1: the token goes into the history, too */
    uint32_t scratch;     /* sample_scratch_words(vocab) words; what is in them does not matter */
} sample_places;

/* The vocabulary is worked on in slices. */
uint32_t sample_slice_tok(uint32_t vocab);
uint32_t sample_slices(uint32_t vocab);
uint32_t sample_scratch_words(uint32_t vocab);

/* The arguments of op_sample_scan, whose workgroups have so many threads, and of op_sample,
 * which is one workgroup: the first SAMPLE_ARGUMENTS of each. */
void sample_arguments(const sample_places *p, uint32_t threads, uint32_t scan[SAMPLE_ARGUMENTS],
                      uint32_t choose[SAMPLE_ARGUMENTS]);

/* Beside a token in the history, and in what sample_on_cpu returns: a logit is NaN or infinite, or all are -infinity. */
#define SAMPLE_NOT_FINITE 0x80000000u

/* The same on the CPU: the token, and how many were kept to choose from (NULL: not asked for). `so_far` tokens of text,
 * the last `history_tok` of them in the ring. */
uint32_t sample_on_cpu(const float *logits, uint32_t vocab, const sample_words *w, const uint32_t *history,
                       uint32_t history_tok, uint32_t so_far, uint32_t *kept);

/* Its parts, for tests. */
uint32_t sample_random(uint32_t seed, uint32_t number);
uint64_t sample_likelihood(float logit, float best, float scale); /* 2^42 if they are equal */

#endif
