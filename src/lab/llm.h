/* llm: the language-model experiment: how fast a model reads a prompt (pp) and makes tokens (tg).
 *
 * It measures every fusion level and submit policy, interleaved in random order over
 * the same weights, and checks whether all of them made the same tokens.
 *
 * In llama-bench's words: pp512 is a prompt of 512 tokens into an empty context, up to
 * the first token that comes back; tg128 is 128 tokens one after the other behind
 * `depth` others, each chosen from the logits and known here before it counts.   */
#ifndef SOLO_LAB_LLM_H
#define SOLO_LAB_LLM_H

#include "base/stats.h"
#include "launch/submit.h"
#include "lab/busy.h"
#include "lab/device.h"
#include "llm/generation.h"

#include <stdio.h>

typedef struct llm_options {
    const char *model_name; /* for the record: how the model was asked for */
    gpu_choice choice;
    bool levels[LEVEL_COUNT], submits[SUBMIT_COUNT];
    uint32_t prompt_tok, made_tok, depth_tok; /* pp, tg and what stands before tg; 0 tokens: not measured */
    uint32_t repetitions;
    uint64_t seed;
    const char *cache; /* of keys and values; NULL: f16 */
} llm_options;

typedef enum { LLM_PROMPT, LLM_MADE } llm_kind;

/* One thing measured. */
typedef struct llm_measurement {
    llm_kind kind;
    fusion_level level;
    submit_policy submit;
    double *seconds;      /* (repetitions) */
    summary rate;         /* tokens per second */
    gpu_counters counted; /* in one repetition */
    uint32_t workgroups;  /* of the one dispatch that makes tokens; 0: there are several */
    uint32_t threads;     /* of each of those */
    uint32_t mismatch;    /* the first token that differs from the reference; made_tok: none */
    double gap;           /* of the two best logits there, relative to how far they all spread */
} llm_measurement;

enum { LLM_MAX_MEASUREMENTS = 2 * LEVEL_COUNT * SUBMIT_COUNT };

typedef struct llm_lab {
    llm_options options;
    lab_device device;
    llm_measurement measurements[LLM_MAX_MEASUREMENTS];
    uint32_t measurement_count;
    uint32_t *reference;  /* (made_tok) the tokens of the first measurement */
    uint64_t bytes;       /* of GPU memory */
    uint64_t token_bytes; /* that one token at this depth must read at least: weights and states */
    double load_s, seconds;
    busy busy; /* while it was measured */
} llm_lab;

/* False if anything failed, or tokens differ where no near tie explains it. */
bool llm_measure(llm_lab *lab, const model *m, const llm_options *o, err *e);
void llm_free(llm_lab *lab);

uint32_t llm_tokens(const llm_lab *lab, const llm_measurement *c);
/* Of the memory limit: what the measured copy bandwidth would allow. */
double llm_share(const llm_lab *lab, const llm_measurement *c);
void llm_print(const llm_lab *lab, FILE *to);
void llm_record(const llm_lab *lab, str *out);

#endif
