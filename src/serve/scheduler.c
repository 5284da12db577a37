/* scheduler: the queue, and the texts of jobs as the requests' threads see them. */
#include "serve/scheduler_internal.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct timespec scheduler_in_ms(uint32_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* ---- starting and stopping ------------------------------------------------------------------- */

scheduler *scheduler_start(const scheduler_options *o, err *e)
{
    scheduler *s = mem_alloc(sizeof *s);
    *s = (scheduler){.o = *o};
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->idle, NULL);
    if (pthread_create(&s->thread, NULL, scheduler_run, s) != 0) {
        err_set(e, "a thread cannot be started: %s", strerror(errno));
        free(s);
        return NULL;
    }
    pthread_mutex_lock(&s->mutex);
    while (!s->is_open && !s->open_failed)
        pthread_cond_wait(&s->idle, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
    if (s->is_open)
        return s;
    err_set_kind(e, s->open_error.kind, "%s", s->open_error.text);
    scheduler_stop(s);
    return NULL;
}

void scheduler_finish(scheduler *s, double seconds)
{
    double until_us = clock_us() + seconds * 1e6;
    pthread_mutex_lock(&s->mutex);
    s->closing = true;
    while ((s->counts.running || s->counts.waiting) && clock_us() < until_us) {
        struct timespec soon = scheduler_in_ms(50);
        pthread_cond_timedwait(&s->idle, &s->mutex, &soon);
    }
    for (uint32_t i = 0; i < s->rows; i++)
        if (s->in_row[i])
            s->in_row[i]->given_up = true;
    for (slot *t = s->first; t; t = t->next)
        t->given_up = true;
    pthread_cond_broadcast(&s->work);
    while (s->counts.running || s->counts.waiting)
        pthread_cond_wait(&s->idle, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

void scheduler_stop(scheduler *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->mutex);
    s->stops = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->idle);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

uint32_t scheduler_context(const scheduler *s)
{
    return s->context;
}

uint32_t scheduler_vocab(const scheduler *s)
{
    return s->vocab;
}

uint32_t scheduler_rows(const scheduler *s)
{
    return s->rows;
}

uint32_t scheduler_queue(const scheduler *s)
{
    return s->o.queue;
}

scheduler_counts scheduler_count(scheduler *s)
{
    pthread_mutex_lock(&s->mutex);
    scheduler_counts c = s->counts;
    pthread_mutex_unlock(&s->mutex);
    return c;
}

/* ---- jobs -------------------------------------------------------------------------------------- */

static job *new_job(scheduler *s, const job_text *texts, uint32_t count)
{
    job *j = mem_alloc(sizeof *j);
    *j = (job){.s = s, .count = count, .slots = mem_alloc(count * sizeof *j->slots), .began_us = clock_us()};
    pthread_cond_init(&j->changed, NULL);
    for (uint32_t i = 0; i < count; i++) {
        j->slots[i] = (slot){.of = j, .wanted = texts[i], .row = NO_ROW};
        if (texts[i].limit_s > 0)
            j->slots[i].deadline_us = j->began_us + texts[i].limit_s * 1e6;
    }
    return j;
}

/* With the mutex held. */
static bool has_room(const scheduler *s, uint32_t count, job_refusal *why)
{
    uint32_t taken = s->counts.running + s->counts.waiting;
    if (s->closing || s->stops)
        *why = (job_refusal){REFUSED_CLOSING, 1};
    else if (taken + count > s->rows + s->o.queue) {
        double wait_s = s->text_s * (s->counts.waiting + 1) / s->rows;
        *why = (job_refusal){REFUSED_FULL, wait_s < 1 ? 1 : wait_s > 600 ? 600 : (uint32_t)wait_s};
    } else
        return true;
    return false;
}

job *scheduler_submit(scheduler *s, const job_text *texts, uint32_t count, job_refusal *why)
{
    job *j = NULL;
    pthread_mutex_lock(&s->mutex);
    if (has_room(s, count, why)) {
        j = new_job(s, texts, count);
        for (uint32_t i = 0; i < count; i++) {
            if (s->last)
                s->last->next = &j->slots[i];
            else
                s->first = &j->slots[i];
            s->last = &j->slots[i];
        }
        s->counts.waiting += count;
        s->counts.texts += count;
        pthread_cond_broadcast(&s->work);
    } else
        s->counts.refused++;
    pthread_mutex_unlock(&s->mutex);
    return j;
}

/* With the mutex held: what this text has to tell. */
static bool take_event(slot *t, uint32_t number, job_event *event)
{
    *event = (job_event){.text = number};
    if (t->told_count < t->made_count && !t->given_up) {
        event->token = t->made[t->told_count++];
        return true;
    }
    if (t->state != SLOT_ENDED || t->end_is_told)
        return false;
    t->end_is_told = true;
    event->is_end = true;
    event->end = t->end;
    return true;
}

int job_next(job *j, uint32_t wait_ms, job_event *event)
{
    struct timespec until = scheduler_in_ms(wait_ms);
    int result = 0, waited = 0;
    pthread_mutex_lock(&j->s->mutex);
    for (;;) {
        uint32_t told = 0;
        for (uint32_t i = 0; i < j->count && !result; i++) {
            result = take_event(&j->slots[i], i, event);
            told += j->slots[i].end_is_told;
        }
        if (!result && told == j->count)
            result = -1;
        if (result || waited)
            break;
        waited = pthread_cond_timedwait(&j->changed, &j->s->mutex, &until) == ETIMEDOUT;
    }
    pthread_mutex_unlock(&j->s->mutex);
    return result;
}

void job_give_up(job *j, uint32_t text)
{
    pthread_mutex_lock(&j->s->mutex);
    j->slots[text].given_up = true;
    pthread_cond_broadcast(&j->s->work);
    pthread_mutex_unlock(&j->s->mutex);
}

/* The scheduler's thread lets go of a text between two steps. */
void job_free(job *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->s->mutex);
    for (uint32_t i = 0; i < j->count; i++)
        j->slots[i].given_up = true;
    pthread_cond_broadcast(&j->s->work);
    while (j->ended < j->count)
        pthread_cond_wait(&j->changed, &j->s->mutex);
    pthread_mutex_unlock(&j->s->mutex);
    for (uint32_t i = 0; i < j->count; i++) {
        free(j->slots[i].made);
        free(j->slots[i].tokens);
    }
    pthread_cond_destroy(&j->changed);
    free(j->slots);
    free(j);
}

const char *job_error(const job *j)
{
    return j->error;
}

job_work job_look(job *j, uint32_t text)
{
    pthread_mutex_lock(&j->s->mutex);
    job_work work = j->slots[text].work;
    pthread_mutex_unlock(&j->s->mutex);
    return work;
}

static double since_began_s(job *j, const double *when_us)
{
    pthread_mutex_lock(&j->s->mutex);
    double s = *when_us > 0 ? (*when_us - j->began_us) * 1e-6 : 0;
    pthread_mutex_unlock(&j->s->mutex);
    return s;
}

double job_queue_s(job *j)
{
    return since_began_s(j, &j->started_us);
}

double job_first_s(job *j)
{
    return since_began_s(j, &j->first_us);
}
