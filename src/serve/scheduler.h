/* scheduler: one thread that has the device to itself, and a queue of texts for it.
 *
 *     job *j = scheduler_submit(s, texts, count, &refusal);
 *     while (job_next(j, 100, &event)) ...      tokens of its texts as they come, and their ends
 *     job_free(j);                              texts that have not ended are given up
 *
 * Requests wait on threads of their own (job_next) and turn tokens into text there. A text that is given up frees its
 * row before the next step. Where the device is lost, it is opened again, and the texts go on from their last tokens. */
#ifndef SOLO_SCHEDULER_H
#define SOLO_SCHEDULER_H

#include "serve/engine.h"

typedef struct scheduler scheduler;
typedef struct job job;

typedef struct scheduler_options {
    /* Opens the device and makes the engine on it; called on the scheduler's thread, again after a device was lost. */
    engine *(*open)(void *user, err *e);
    void (*close)(void *user, engine *n);
    void (*failed)(void *user); /* the device was lost for good; all texts have failed */
    void *user;
    const tokenizer *t; /* its ends end texts */
    uint32_t queue;     /* texts that may wait */
} scheduler_options;

/* Waits until the engine is there. */
scheduler *scheduler_start(const scheduler_options *o, err *e);
/* No new texts; those that there are get so many seconds, and are given up then. */
void scheduler_finish(scheduler *s, double seconds);
void scheduler_stop(scheduler *s);

uint32_t scheduler_context(const scheduler *s);
uint32_t scheduler_vocab(const scheduler *s);
uint32_t scheduler_rows(const scheduler *s);
uint32_t scheduler_queue(const scheduler *s);

/* ---- texts ---------------------------------------------------------------------------------- */

typedef struct job_text {
    engine_text text; /* its lists must outlive the job; `most_tok` 0: as many as fit */
    double limit_s;   /* from now on; 0: none */
} job_text;

typedef enum { REFUSED_FULL, REFUSED_CLOSING } job_refusal_kind;
typedef struct job_refusal {
    job_refusal_kind kind;
    uint32_t retry_s; /* when there may be room, about */
} job_refusal;

/* All of them, or none: NULL. */
job *scheduler_submit(scheduler *s, const job_text *texts, uint32_t count, job_refusal *why);
void job_free(job *j);

typedef enum {
    TEXT_ENDED,   /* by the model */
    TEXT_LONG,    /* as many tokens as were asked for, or as fit */
    TEXT_NO_MORE, /* the filter lets none come */
    TEXT_TIME,    /* its time was over */
    TEXT_GIVEN_UP,
    TEXT_FAILED,
} text_end;

typedef struct job_event {
    uint32_t text; /* which of the job's */
    bool is_end;
    text_end end;
    made_token token; /* if it is no end */
} job_event;

/* Waits for so long. 1: an event; 0: none yet; -1: there will be none, all texts have ended. */
int job_next(job *j, uint32_t wait_ms, job_event *event);
/* The rest of this text is not wanted: no more events but, if it has not come yet, its end. */
void job_give_up(job *j, uint32_t text);
/* Why a text failed. */
const char *job_error(const job *j);
/* Of the texts so far; on all devices, if one was lost. */
typedef struct job_work {
    uint32_t reused_tok, stepped_tok, vain_tok; /* as engine_row has them */
} job_work;
job_work job_look(job *j, uint32_t text);
double job_queue_s(job *j); /* that the first waited */
double job_first_s(job *j); /* until the first token; 0: there was none */

/* ---- counts ----------------------------------------------------------------------------------- */

typedef struct scheduler_counts {
    uint32_t running, waiting;
    uint64_t texts, prompt_tok, reused_tok, made_tok, stepped_tok, vain_tok, refused, given_up, failed, reopened;
    double busy_s; /* the engine worked */
} scheduler_counts;
scheduler_counts scheduler_count(scheduler *s);

#endif
