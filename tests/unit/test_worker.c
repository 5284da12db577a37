/* Bench devices in processes of their own: they measure, and when one dies the others go on and the error has the
 * reason. */
#include "lab/worker.h"
#include "temporary.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool build_stub(bench_device *s, const gpu_choice *choice, const void *options, err *e)
{
    (void)options;
    if (!lab_device_open(&s->device, choice, true, e))
        return false;
    chain *c = bench_device_add_chain(s, &chain_add, 1, e);
    if (!c)
        return false;
    bench_device_add_measurement(s, MEASURE_DISPATCH, c, (launch){.submit = SUBMIT_EACH}, 0);
    bench_device_add_measurement(s, MEASURE_HOST, c, (launch){.submit = SUBMIT_BATCH, .time_calls = true}, 0);
    bench_device_add_measurement(s, MEASURE_SUBMITS, c, (launch){.submit = SUBMIT_BATCH, .submits = 4}, 64);
    return bench_device_choose_lengths(s, 500, true, e);
}

static bool build_and_crash(bench_device *s, const gpu_choice *choice, const void *options, err *e)
{
    (void)s, (void)choice, (void)options, (void)e;
    signal(SIGILL, SIG_DFL); /* cmocka would report it instead */
    __builtin_trap();
}

static bool build_and_hang(bench_device *s, const gpu_choice *choice, const void *options, err *e)
{
    (void)s, (void)choice, (void)options, (void)e;
    nanosleep(&(struct timespec){.tv_sec = 60}, NULL);
    return true;
}

static bool build_and_fail(bench_device *s, const gpu_choice *choice, const void *options, err *e)
{
    (void)s, (void)choice;
    return err_set_kind(e, ERR_NO_GPU, "no luck with %s", (const char *)options);
}

static const gpu_choice STUB = {.impl = "stub"};

static void a_worker_measures(void **unused)
{
    (void)unused;
    err e = {0};
    worker w;
    measurement_time t;
    assert_true(worker_start(&w, build_stub, &STUB, NULL, 0, &e));
    assert_string_equal(w.device.info.impl, "stub");
    assert_null(w.device.g);
    assert_int_equal(w.measurement_count, 3);
    assert_string_equal(w.measurements[0].kernel, "add");
    assert_int_equal(w.measurements[0].points, 3);
    assert_true(w.measurements[0].n[0] < w.measurements[0].n[1] && w.measurements[0].n[1] < w.measurements[0].n[2]);
    for (uint32_t point = 0; point < 3; point++) {
        assert_true(worker_measure(&w, 0, point, &t, &e));
        assert_true(t.us > 0);
        assert_int_equal(t.counted.dispatches, w.measurements[0].n[point]);
    }
    assert_int_equal(w.measurements[1].points, 3); /* what a call costs is a slope too */
    assert_true(worker_measure(&w, 2, 0, &t, &e));
    assert_int_equal(t.counted.submits, 4);
    worker_stop(&w);
}

static void a_worker_that_cannot_be_built_says_why(void **unused)
{
    (void)unused;
    err e = {0};
    worker w;
    assert_false(worker_start(&w, build_and_fail, &STUB, "this", sizeof "this", &e));
    assert_string_equal(e.text, "no luck with this");
    assert_int_equal(e.kind, ERR_NO_GPU);
}

static void a_crash_is_an_error_of_one_line(void **unused)
{
    (void)unused;
    err e = {0};
    worker w;
    assert_false(worker_start(&w, build_and_crash, &STUB, NULL, 0, &e));
    assert_non_null(strstr(e.text, "stub: its process was ended by "));
}

static void the_others_go_on_when_one_dies(void **unused)
{
    (void)unused;
    err e = {0};
    worker first, second;
    measurement_time t;
    assert_true(worker_start(&first, build_stub, &STUB, NULL, 0, &e));
    assert_true(worker_start(&second, build_stub, &STUB, NULL, 0, &e));
    os_process_kill(&first.process);
    assert_false(worker_measure(&first, 0, 0, &t, &e));
    assert_non_null(strstr(e.text, "stub: its process was ended "));
    err none = {0};
    assert_true(worker_measure(&second, 0, 0, &t, &none));
    worker_stop(&first);
    worker_stop(&second);
}

static void one_that_hangs_is_given_up(void **unused)
{
    (void)unused;
    err e = {0};
    worker w;
    setenv("SOLO_WORKER_SECONDS", "1", 1);
    assert_false(worker_start(&w, build_and_hang, &STUB, NULL, 0, &e));
    unsetenv("SOLO_WORKER_SECONDS");
    assert_string_equal(e.text, "stub: its process said nothing for 1 s (SOLO_WORKER_SECONDS)");
}

static int hold_lock(int from, int to, void *path)
{
    (void)from;
    int fd = open(path, O_RDWR);
    if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(to, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

/* The process that started it is killed, and cannot end it. */
static void it_ends_with_its_parent(void **state)
{
#ifdef __linux__
    (void)state;
    char path[TEMPORARY_BYTES];
    int fd = temporary_file(path, "worker"), status;
    pid_t parent = fork();
    if (parent == 0) {
        os_process p;
        char held;
        if (!os_process_start(&p, hold_lock, path, sizeof path) || read(p.from, &held, 1) != 1)
            _exit(1);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(WIFSIGNALED(status)); /* so the lock was held */
    alarm(60);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* once nobody holds it */
    alarm(0);
    close(fd);
    unlink(path);
#else
    (void)state, (void)hold_lock;
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_measures),
        cmocka_unit_test(a_worker_that_cannot_be_built_says_why),
        cmocka_unit_test(a_crash_is_an_error_of_one_line),
        cmocka_unit_test(the_others_go_on_when_one_dies),
        cmocka_unit_test(one_that_hangs_is_given_up),
        cmocka_unit_test(it_ends_with_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
