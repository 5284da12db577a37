/* scheduler_run: the thread that has the device: which text is in which row, step by step. */
#include "serve/scheduler_internal.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device that is lost again and again before it makes a token is not opened another time. */
enum { MOST_FRUITLESS = 3 };

void scheduler_end_slot(slot *t, text_end end)
{
    scheduler *s = t->of->s;
    if (t->state == SLOT_RUNS)
        s->counts.running--;
    else
        s->counts.waiting--;
    s->counts.given_up += end == TEXT_GIVEN_UP;
    s->counts.failed += end == TEXT_FAILED;
    if (t->state == SLOT_RUNS && end < TEXT_TIME) {
        double took_s = (clock_us() - t->of->began_us) * 1e-6;
        s->text_s = s->text_s > 0 ? 0.8 * s->text_s + 0.2 * took_s : took_s;
    }
    t->state = SLOT_ENDED;
    t->end = end;
    t->of->ended++;
    pthread_cond_broadcast(&t->of->changed);
    pthread_cond_broadcast(&s->idle);
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static void leave_row(scheduler *s, slot *t, text_end end)
{
    engine_leave(s->n, t->row);
    s->in_row[t->row] = NULL;
    t->row = NO_ROW;
    scheduler_end_slot(t, end);
}

static uint32_t most_tokens(const scheduler *s, const slot *t)
{
    uint32_t room = s->context - t->wanted.text.prompt_tok, most = t->wanted.text.most_tok;
    return most && most < room ? most : room;
}

/* From its prompt on, or from the last token that it had on a device that was lost. */
static void join_row(scheduler *s, slot *t, uint32_t row)
{
    err e = {0};
    engine_text text = t->wanted.text;
    text.most_tok = most_tokens(s, t) - t->made_count;
    if (t->made_count) {
        t->tokens = mem_grow(t->tokens, (text.count + t->made_count) * sizeof *t->tokens);
        memcpy(t->tokens, text.tokens, text.count * sizeof *t->tokens);
        for (uint32_t i = 0; i < t->made_count; i++)
            t->tokens[text.count + i] = t->made[i].id;
        text.tokens = t->tokens;
        text.count += t->made_count;
    }
    if (!engine_join(s->n, row, &text, &e)) {
        snprintf(t->of->error, sizeof t->of->error, "%.250s", e.text);
        scheduler_end_slot(t, TEXT_FAILED);
        return;
    }
    if (t->state == SLOT_WAITS) {
        s->counts.waiting--;
        s->counts.running++;
        s->counts.prompt_tok += text.count;
    }
    if (!t->of->started_us)
        t->of->started_us = clock_us();
    t->state = SLOT_RUNS;
    t->seen = (engine_row){0};
    t->row = row;
    s->in_row[row] = t;
}

static bool is_late(const slot *t)
{
    return t->deadline_us > 0 && clock_us() > t->deadline_us;
}

/* Texts in the queue that nobody waits for any more, or that have waited too long. */
static void clean_queue(scheduler *s)
{
    slot *before = NULL;
    for (slot *t = s->first, *next; t; t = next) {
        next = t->next;
        if (!t->given_up && !is_late(t)) {
            before = t;
            continue;
        }
        *(before ? &before->next : &s->first) = next;
        s->last = s->last == t ? before : s->last;
        scheduler_end_slot(t, t->given_up ? TEXT_GIVEN_UP : TEXT_TIME);
    }
}

void scheduler_arrange(scheduler *s)
{
    for (uint32_t row = 0; row < s->rows; row++) {
        slot *t = s->in_row[row];
        if (t && (t->given_up || is_late(t)))
            leave_row(s, t, t->given_up ? TEXT_GIVEN_UP : TEXT_TIME);
    }
    clean_queue(s);
    for (uint32_t row = 0; row < s->rows && s->first; row++)
        while (!s->in_row[row] && s->first) {
            slot *t = s->first;
            s->first = t->next;
            s->last = s->first ? s->last : NULL;
            t->next = NULL;
            join_row(s, t, row);
        }
}

/* What was done for this text since its last token. */
static void add_work(scheduler *s, slot *t)
{
    engine_row now = engine_look(s->n, t->row);
    if (!t->made_count) {
        t->work.reused_tok = now.reused_tok;
        s->counts.reused_tok += now.reused_tok;
    }
    t->work.stepped_tok += now.stepped_tok - t->seen.stepped_tok;
    t->work.vain_tok += now.vain_tok - t->seen.vain_tok;
    s->counts.stepped_tok += now.stepped_tok - t->seen.stepped_tok;
    s->counts.vain_tok += now.vain_tok - t->seen.vain_tok;
    t->seen = now;
}

void scheduler_take_token(scheduler *s, uint32_t row, const made_token *token)
{
    slot *t = s->in_row[row];
    if (!t)
        return;
    s->fruitless = 0;
    if (!t->of->first_us)
        t->of->first_us = clock_us();
    add_work(s, t);
    if (!token) {
        bool is_full = t->wanted.text.prompt_tok + t->made_count >= s->context;
        leave_row(s, t, is_full ? TEXT_LONG : TEXT_NO_MORE);
        return;
    }
    s->counts.made_tok++;
    if (!t->wanted.text.ignores_end && tokenizer_ends(s->o.t, (int32_t)token->id)) {
        leave_row(s, t, TEXT_ENDED);
        return;
    }
    if (t->made_count == t->made_capacity) {
        t->made_capacity = t->made_capacity ? 2 * t->made_capacity : 64;
        t->made = mem_grow(t->made, t->made_capacity * sizeof *t->made);
    }
    t->made[t->made_count++] = *token;
    pthread_cond_broadcast(&t->of->changed);
    if (t->made_count >= most_tokens(s, t))
        leave_row(s, t, TEXT_LONG);
}

/* ---- the thread ------------------------------------------------------------------------------------ */

static void on_token(void *user, uint32_t row, const made_token *token)
{
    scheduler *s = user;
    pthread_mutex_lock(&s->mutex);
    scheduler_take_token(s, row, token);
    pthread_mutex_unlock(&s->mutex);
}

static bool open_engine(scheduler *s, err *e)
{
    s->n = s->o.open(s->o.user, e);
    if (!s->n)
        return false;
    s->rows = engine_rows(s->n) < SCHEDULER_MAX_ROWS ? engine_rows(s->n) : SCHEDULER_MAX_ROWS;
    s->context = engine_context(s->n);
    s->vocab = engine_vocab(s->n);
    return true;
}

static void close_engine(scheduler *s)
{
    if (s->n)
        s->o.close(s->o.user, s->n);
    s->n = NULL;
}

/* With the mutex held. */
static void fail_all(scheduler *s, const char *why)
{
    for (uint32_t row = 0; row < s->rows; row++) {
        slot *t = s->in_row[row];
        if (!t)
            continue;
        snprintf(t->of->error, sizeof t->of->error, "%.250s", why);
        s->in_row[row] = NULL;
        scheduler_end_slot(t, TEXT_FAILED);
    }
}

/* The device failed: opens it again, and puts the texts back into their rows. */
static void recover(scheduler *s, const err *why)
{
    err e = {0};
    fprintf(stderr, "solo: the device failed: %s\n", why->text);
    close_engine(s);
    bool again = ++s->fruitless <= MOST_FRUITLESS && open_engine(s, &e);
    pthread_mutex_lock(&s->mutex);
    if (again) {
        s->counts.reopened++;
        for (uint32_t row = 0; row < s->rows; row++)
            if (s->in_row[row])
                join_row(s, s->in_row[row], row);
    } else {
        fail_all(s, why->text);
        s->closing = true;
        while (s->first) {
            slot *t = s->first;
            s->first = t->next;
            scheduler_end_slot(t, TEXT_FAILED);
        }
        s->last = NULL;
        s->stops = true;
    }
    pthread_mutex_unlock(&s->mutex);
    if (again)
        fprintf(stderr, "solo: it was opened again, and texts go on\n");
    else
        fprintf(stderr, "solo: it cannot be opened again%s%s\n", e.kind ? ": " : "", e.text);
    if (!again)
        s->o.failed(s->o.user);
}

static void print_notice(scheduler *s)
{
    char text[1200];
    if (engine_take_notice(s->n, text, sizeof text))
        fprintf(stderr, "solo: %s\n", text);
}

/* Waits for work. False: it is over. */
static bool wait_for_work(scheduler *s)
{
    pthread_mutex_lock(&s->mutex);
    scheduler_arrange(s);
    while (!s->counts.running && !s->stops) {
        pthread_cond_broadcast(&s->idle);
        pthread_cond_wait(&s->work, &s->mutex);
        scheduler_arrange(s);
    }
    bool goes_on = !s->stops;
    pthread_mutex_unlock(&s->mutex);
    return goes_on;
}

void *scheduler_run(void *user)
{
    scheduler *s = user;
    bool opened = open_engine(s, &s->open_error);
    pthread_mutex_lock(&s->mutex);
    s->is_open = opened;
    s->open_failed = !opened;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->mutex);
    if (opened)
        print_notice(s);
    while (opened && wait_for_work(s)) {
        err e = {0};
        double began = clock_us();
        bool ok = engine_step(s->n, on_token, s, &e);
        double took_s = (clock_us() - began) * 1e-6;
        pthread_mutex_lock(&s->mutex);
        s->counts.busy_s += took_s;
        pthread_mutex_unlock(&s->mutex);
        print_notice(s);
        if (!ok)
            recover(s, &e);
    }
    close_engine(s);
    return NULL;
}
