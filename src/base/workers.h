/* workers: a few threads that run jobs, while the thread that gave them goes on.
 *
 * A job is a struct that begins with a workers_job and belongs to whoever gives it. Jobs start in the order in which they
 * are given, several at a time. Where there are no threads (a page, SOLO_THREADS=0, a system that refuses) a job runs
 * within workers_give. All calls come from one thread: the one that made the workers.                              */
#ifndef SOLO_WORKERS_H
#define SOLO_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct workers workers;
typedef struct workers_job {
    void (*run)(struct workers_job *job); /* on any thread */
    struct workers_job *next;             /* the rest is for workers.c */
    bool done;
} workers_job;

/* One thread for each processor this process may use, at most 16; SOLO_THREADS=N in the environment: N of them. */
uint32_t workers_wanted(void);

/* As many threads as could be started, `wanted` at most. */
workers *workers_new(uint32_t wanted);
uint32_t workers_count(const workers *w);
/* Jobs that have not begun never do; those that have are waited for. */
void workers_free(workers *w);

void workers_give(workers *w, workers_job *job);
bool workers_is_done(workers *w, const workers_job *job);
void workers_wait(workers *w, const workers_job *job); /* until it is */

#endif
