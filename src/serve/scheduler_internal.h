/* scheduler_internal: what the files of the scheduler share. */
#ifndef SOLO_SCHEDULER_INTERNAL_H
#define SOLO_SCHEDULER_INTERNAL_H

#include "serve/scheduler.h"

#include <pthread.h>

enum { SCHEDULER_MAX_ROWS = 64, NO_ROW = UINT32_MAX };

typedef enum { SLOT_WAITS, SLOT_RUNS, SLOT_ENDED } slot_state;

/* One text of a job. */
typedef struct slot {
    job *of;
    job_text wanted;
    slot_state state;
    uint32_t row;
    double deadline_us; /* 0: none */
    bool given_up, end_is_told;
    text_end end;
    made_token *made; /* (made_count) of which the first told_count were returned */
    uint32_t made_count, made_capacity, told_count;
    engine_row seen; /* of the row that it is in, when its last token came */
    job_work work;
    uint32_t *tokens;  /* the text so far, where it goes on on another device */
    struct slot *next; /* in the queue */
} slot;

struct job {
    scheduler *s;
    pthread_cond_t changed;
    uint32_t count, ended;
    slot *slots; /* (count) */
    double began_us, started_us, first_us;
    char error[256];
};

struct scheduler {
    scheduler_options o;
    pthread_t thread;
    engine *n; /* the thread's own, as are: */
    uint32_t rows, context, vocab;
    uint32_t fruitless; /* devices in a row that were lost without a token */
    /* All below is behind the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t work, idle;
    bool is_open, open_failed, closing, stops;
    err open_error;
    slot *first, *last;               /* the queue */
    slot *in_row[SCHEDULER_MAX_ROWS]; /* (rows) */
    scheduler_counts counts;
    double text_s; /* how long texts took lately, about */
};

/* With the mutex held. */
void scheduler_end_slot(slot *t, text_end end);
/* Moves texts from the queue into rows, and those that are over out of them. */
void scheduler_arrange(scheduler *s);
/* A token of the text in this row; NULL: there are no more. */
void scheduler_take_token(scheduler *s, uint32_t row, const made_token *token);

/* The thread. */
void *scheduler_run(void *s);
/* Now and so many milliseconds, for pthread_cond_timedwait. */
struct timespec scheduler_in_ms(uint32_t ms);

#endif
