/* The scheduler with an engine that only counts: its queue, texts that are given up or late, and devices that are lost. */
#include "serve/engine_internal.h"
#include "serve/scheduler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "two_tokens.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each token is the number of tokens before it; the engine fails after some steps, if it is told to. */
enum { ROWS = 2, CONTEXT = 1000 };

typedef struct counting {
    engine base;
    bool is_taken[ROWS];
    uint32_t position[ROWS];
} counting;

static atomic_int opened, steps_left, fails_for_good, has_failed, slow_us;

static void free_it(engine *n)
{
    free(n);
}

static bool join(engine *base, uint32_t row, const engine_text *text, err *e)
{
    (void)e;
    counting *n = (counting *)base;
    n->is_taken[row] = true;
    n->position[row] = text->count;
    for (uint32_t i = text->prompt_tok; i < text->count; i++)
        assert_int_equal(text->tokens[i], i); /* what was made before the device was lost */
    return true;
}

static void leave(engine *base, uint32_t row)
{
    ((counting *)base)->is_taken[row] = false;
}

static bool step(engine *base, engine_made made, void *user, err *e)
{
    counting *n = (counting *)base;
    usleep((useconds_t)slow_us);
    if (steps_left > 0 && --steps_left == 0)
        return err_set(e, "the device is lost");
    for (uint32_t row = 0; row < ROWS; row++)
        if (n->is_taken[row])
            made(user, row, &(made_token){.id = n->position[row]++});
    return true;
}

static engine_row look(const engine *n, uint32_t row)
{
    (void)n;
    return (engine_row){.reused_tok = row};
}

static const char *notice(engine *n, char *text, size_t size)
{
    (void)n, (void)text, (void)size;
    return NULL;
}

static engine *open_it(void *user, err *e)
{
    (void)user;
    static const engine_kind kind = {free_it, join, leave, step, look, notice};
    if (opened++ && fails_for_good) {
        err_set(e, "no device");
        return NULL;
    }
    counting *n = mem_alloc(sizeof *n);
    n->base = (engine){.kind = &kind, .rows = ROWS, .context = CONTEXT, .vocab = 10};
    return &n->base;
}

static void close_it(void *user, engine *n)
{
    (void)user;
    engine_free(n);
}

static void on_failure(void *user)
{
    (void)user;
    has_failed = true;
}

static scheduler *s;
static tokenizer *t;

static int begin(void **state)
{
    (void)state;
    err e = {0};
    opened = steps_left = fails_for_good = has_failed = 0;
    slow_us = 200;
    t = make_tokenizer();
    s = scheduler_start(
        &(scheduler_options){.open = open_it, .close = close_it, .failed = on_failure, .t = t, .queue = 3}, &e);
    return s ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    scheduler_finish(s, 0);
    scheduler_stop(s);
    tokenizer_free(t);
    return 0;
}

static const uint32_t PROMPT[] = {1, 1, 1};

static job *ask(uint32_t texts, uint32_t most, double limit_s, job_refusal *why)
{
    job_text all[8];
    for (uint32_t i = 0; i < texts; i++)
        all[i] =
            (job_text){.text = {.tokens = PROMPT, .count = 3, .prompt_tok = 3, .most_tok = most}, .limit_s = limit_s};
    return scheduler_submit(s, all, texts, why);
}

/* All tokens of a job: each text's are counted up from the prompt's end. Returns how the last text ended. */
static text_end drain(job *j, uint32_t counts[])
{
    job_event e;
    text_end how = TEXT_FAILED;
    int got;
    while ((got = job_next(j, 5000, &e)) > 0)
        if (e.is_end)
            how = e.end;
        else
            assert_int_equal(e.token.id, 3 + counts[e.text]++);
    assert_int_equal(got, -1);
    return how;
}

static void texts_take_turns(void **state)
{
    (void)state;
    job_refusal why;
    uint32_t counts[5] = {0};
    job *j = ask(5, 40, 0, &why); /* two rows, three in the queue */
    assert_non_null(j);
    assert_int_equal(drain(j, counts), TEXT_LONG);
    for (int i = 0; i < 5; i++)
        assert_int_equal(counts[i], 40);
    job_free(j);
    assert_int_equal(scheduler_count(s).made_tok, 200);
    assert_int_equal(scheduler_count(s).running + scheduler_count(s).waiting, 0);
}

static void a_full_queue_refuses(void **state)
{
    (void)state;
    job_refusal why = {0};
    slow_us = 5000;
    job *j = ask(5, 0, 0, &why);
    assert_non_null(j);
    assert_null(ask(1, 1, 0, &why));
    assert_int_equal(why.kind, REFUSED_FULL);
    assert_true(why.retry_s >= 1);
    job_free(j); /* whose texts give up their places */
    j = ask(5, 1, 0, &why);
    assert_non_null(j);
    job_free(j);
    assert_int_equal(scheduler_count(s).refused, 1);
}

static void what_nobody_wants_ends(void **state)
{
    (void)state;
    job_refusal why;
    job_event e;
    slow_us = 2000;
    job *j = ask(1, 0, 0, &why);
    assert_int_equal(job_next(j, 5000, &e), 1);
    job_give_up(j, 0);
    assert_int_equal(job_next(j, 5000, &e), 1);
    assert_true(e.is_end);
    assert_int_equal(e.end, TEXT_GIVEN_UP);
    assert_int_equal(job_next(j, 5000, &e), -1);
    job_free(j);
    assert_int_equal(scheduler_count(s).given_up, 1);
}

static void time_runs_out(void **state)
{
    (void)state;
    job_refusal why;
    uint32_t counts[4] = {0};
    slow_us = 2000;
    job *j = ask(4, 0, 0.2, &why);
    assert_int_equal(drain(j, counts), TEXT_TIME);
    assert_true(counts[0] > 0 && counts[0] < CONTEXT - 3);
    assert_int_equal(counts[3], 0); /* it never got a row */
    job_free(j);
}

static void a_lost_device_is_opened_again(void **state)
{
    (void)state;
    job_refusal why;
    uint32_t counts[3] = {0};
    steps_left = 10;
    job *j = ask(3, 50, 0, &why);
    assert_int_equal(drain(j, counts), TEXT_LONG);
    for (int i = 0; i < 3; i++)
        assert_int_equal(counts[i], 50);
    job_free(j);
    assert_int_equal(opened, 2);
    assert_int_equal(scheduler_count(s).reopened, 1);
}

static void a_device_lost_for_good_fails_all(void **state)
{
    (void)state;
    job_refusal why;
    uint32_t counts[5] = {0};
    steps_left = 10;
    fails_for_good = 1;
    job *j = ask(5, 50, 0, &why);
    assert_int_equal(drain(j, counts), TEXT_FAILED);
    assert_string_equal(job_error(j), "the device is lost");
    job_free(j);
    for (int i = 0; i < 500 && !has_failed; i++)
        usleep(10000);
    assert_true(has_failed);
    assert_null(ask(1, 1, 0, &why));
    assert_int_equal(why.kind, REFUSED_CLOSING);
}

static void an_end_lets_texts_finish(void **state)
{
    (void)state;
    job_refusal why;
    uint32_t counts[2] = {0};
    job *j = ask(2, 100, 0, &why);
    scheduler_finish(s, 20);
    assert_int_equal(drain(j, counts), TEXT_LONG);
    assert_int_equal(counts[1], 100);
    job_free(j);
    assert_null(ask(1, 1, 0, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_take_turns, begin, end),
        cmocka_unit_test_setup_teardown(a_full_queue_refuses, begin, end),
        cmocka_unit_test_setup_teardown(what_nobody_wants_ends, begin, end),
        cmocka_unit_test_setup_teardown(time_runs_out, begin, end),
        cmocka_unit_test_setup_teardown(a_lost_device_is_opened_again, begin, end),
        cmocka_unit_test_setup_teardown(a_device_lost_for_good_fails_all, begin, end),
        cmocka_unit_test_setup_teardown(an_end_lets_texts_finish, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
