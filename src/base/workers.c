/* workers: jobs in a queue, and threads that take them from it. */
#include "base/workers.h"
#include "base/str.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_BY_ITSELF = 16, MOST_ASKED_FOR = 256 };

struct workers {
    pthread_t *threads;
    uint32_t count;
    pthread_mutex_t lock; /* of all that follows, and of `done` in jobs */
    pthread_cond_t given, finished;
    workers_job *first, *last; /* not begun */
    bool closing;
};

uint32_t workers_wanted(void)
{
    const char *text = getenv("SOLO_THREADS");
    char *end = NULL;
    unsigned long asked = text ? strtoul(text, &end, 10) : 0;
    if (text && end != text && *end == 0)
        return asked < MOST_ASKED_FOR ? (uint32_t)asked : MOST_ASKED_FOR;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0)
        processors = CPU_COUNT(&usable);
#endif
    processors = processors < 1 ? 1 : processors;
    return processors < MOST_BY_ITSELF ? (uint32_t)processors : MOST_BY_ITSELF;
}

static void *work(void *user)
{
    workers *w = user;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->first && !w->closing)
            pthread_cond_wait(&w->given, &w->lock);
        if (w->closing)
            break;
        workers_job *job = w->first;
        w->first = job->next;
        pthread_mutex_unlock(&w->lock);
        job->run(job);
        pthread_mutex_lock(&w->lock);
        job->done = true;
        pthread_cond_signal(&w->finished);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

workers *workers_new(uint32_t wanted)
{
    workers *w = mem_alloc(sizeof *w);
    w->threads = mem_alloc(wanted * sizeof *w->threads);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->given, NULL);
    pthread_cond_init(&w->finished, NULL);
    /* Signals are for the threads that expect them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (w->count < wanted && pthread_create(&w->threads[w->count], NULL, work, w) == 0)
        w->count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w;
}

uint32_t workers_count(const workers *w)
{
    return w->count;
}

void workers_free(workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_broadcast(&w->given);
    pthread_mutex_unlock(&w->lock);
    for (uint32_t i = 0; i < w->count; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->given);
    pthread_cond_destroy(&w->finished);
    pthread_mutex_destroy(&w->lock);
    free(w->threads);
    free(w);
}

void workers_give(workers *w, workers_job *job)
{
    job->next = NULL;
    job->done = w->count == 0;
    if (w->count == 0) {
        job->run(job);
        return;
    }
    pthread_mutex_lock(&w->lock);
    if (w->first)
        w->last->next = job;
    else
        w->first = job;
    w->last = job;
    pthread_cond_signal(&w->given);
    pthread_mutex_unlock(&w->lock);
}

bool workers_is_done(workers *w, const workers_job *job)
{
    pthread_mutex_lock(&w->lock);
    bool done = job->done;
    pthread_mutex_unlock(&w->lock);
    return done;
}

void workers_wait(workers *w, const workers_job *job)
{
    pthread_mutex_lock(&w->lock);
    while (!job->done)
        pthread_cond_wait(&w->finished, &w->lock);
    pthread_mutex_unlock(&w->lock);
}
