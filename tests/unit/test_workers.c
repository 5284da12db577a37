/* src/base/workers: jobs run once each, on threads or at once, and none is left behind. */
#include "base/workers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { JOBS = 500 };

typedef struct counted {
    workers_job job;
    atomic_int ran;
    pthread_t by;
} counted;

static void count(workers_job *job)
{
    counted *c = (counted *)job;
    c->by = pthread_self();
    c->ran++;
}

static void every_job_runs_once(void **unused)
{
    (void)unused;
    static const uint32_t threads[] = {0, 1, 2, 16};
    for (int t = 0; t < 4; t++) {
        counted jobs[JOBS];
        memset(jobs, 0, sizeof jobs);
        workers *w = workers_new(threads[t]);
        assert_int_equal(workers_count(w), threads[t]);
        for (int i = 0; i < JOBS; i++) {
            jobs[i].job.run = count;
            workers_give(w, &jobs[i].job);
            if (threads[t] == 0)
                assert_true(jobs[i].ran == 1 && workers_is_done(w, &jobs[i].job));
        }
        for (int i = JOBS - 1; i >= 0; i--) { /* in any order */
            workers_wait(w, &jobs[i].job);
            assert_true(workers_is_done(w, &jobs[i].job));
            assert_int_equal(jobs[i].ran, 1);
            assert_int_equal(!pthread_equal(jobs[i].by, pthread_self()), threads[t] > 0);
        }
        /* a job can be given again */
        workers_give(w, &jobs[0].job);
        workers_wait(w, &jobs[0].job);
        assert_int_equal(jobs[0].ran, 2);
        workers_free(w);
    }
}

/* Two jobs that wait for each other: so they run at the same time. */
typedef struct met {
    workers_job job;
    atomic_int *here;
} met;

static void meet(workers_job *job)
{
    atomic_int *here = ((met *)job)->here;
    for (++*here; *here < 2;)
        ;
}

static void jobs_run_at_the_same_time(void **unused)
{
    (void)unused;
    atomic_int here = 0;
    met a = {{.run = meet}, &here}, b = {{.run = meet}, &here};
    workers *w = workers_new(2);
    workers_give(w, &a.job);
    workers_give(w, &b.job);
    workers_wait(w, &a.job);
    workers_wait(w, &b.job);
    workers_free(w);
}

typedef struct held {
    workers_job job;
    atomic_int *began, *open, *ended;
} held;

static void hold(workers_job *job)
{
    held *h = (held *)job;
    ++*h->began;
    while (!*h->open)
        ;
    ++*h->ended;
}

typedef struct opener {
    atomic_int *open;
    long after_ms;
} opener;

static void *open_later(void *user)
{
    const opener *o = user;
    nanosleep(&(struct timespec){o->after_ms / 1000, o->after_ms % 1000 * 1000000}, NULL);
    atomic_store(o->open, 1);
    return NULL;
}

/* Two threads, eight jobs that end when `open` is 1, which it is some time after the workers are freed, or before if this
 * machine is slow: then all of them run. Returns how many did. */
static int jobs_run_of_eight(long open_after_ms)
{
    atomic_int began = 0, open = 0, ended = 0;
    held jobs[8];
    workers *w = workers_new(2);
    for (int i = 0; i < 8; i++) {
        jobs[i] = (held){{.run = hold}, &began, &open, &ended};
        workers_give(w, &jobs[i].job);
    }
    while (began < 2)
        ;
    assert_false(workers_is_done(w, &jobs[0].job));
    pthread_t later;
    assert_int_equal(pthread_create(&later, NULL, open_later, &(opener){&open, open_after_ms}), 0);
    workers_free(w);
    int run = ended;
    assert_int_equal(began, run);
    pthread_join(later, NULL);
    return run;
}

/* What has begun is waited for, what has not is dropped. */
static void an_early_end_leaves_nothing_running(void **unused)
{
    (void)unused;
    int run = 8;
    for (long ms = 5; run != 2 && ms < 20000; ms *= 2)
        run = jobs_run_of_eight(ms);
    assert_int_equal(run, 2);
    workers_free(NULL);
}

static void the_environment_limits_them(void **unused)
{
    (void)unused;
    unsetenv("SOLO_THREADS");
    uint32_t usual = workers_wanted();
    assert_in_range(usual, 1, 16);
    setenv("SOLO_THREADS", "0", 1);
    assert_int_equal(workers_wanted(), 0);
    setenv("SOLO_THREADS", "3", 1);
    assert_int_equal(workers_wanted(), 3);
    setenv("SOLO_THREADS", "99999999", 1);
    assert_int_equal(workers_wanted(), 256);
    static const char *const wrong[] = {"", "many", "3 or 4"};
    for (int i = 0; i < 3; i++) {
        setenv("SOLO_THREADS", wrong[i], 1);
        assert_int_equal(workers_wanted(), usual);
    }
    unsetenv("SOLO_THREADS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once),
        cmocka_unit_test(jobs_run_at_the_same_time),
        cmocka_unit_test(an_early_end_leaves_nothing_running),
        cmocka_unit_test(the_environment_limits_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
