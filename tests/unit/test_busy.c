/* How much other programs worked meanwhile: by made-up times, and beside programs that do. */
#include "base/str.h"
#include "lab/busy.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 16 };

static void others_are_what_this_process_did_not(void **state)
{
    (void)state;
    busy b = {0};
    busy_times from = {.wall_s = 10, .all_s = 100, .own_s = 3, .processors = 4};
    busy_between(&b, &from, &(busy_times){.wall_s = 20, .all_s = 118, .own_s = 8, .processors = 4});
    assert_int_equal(b.processors, 4);
    assert_true(b.others > 1.29 && b.others < 1.31);
    /* the system counts in ticks: own work may seem to be more than all of it */
    busy_between(&b, &from, &(busy_times){.wall_s = 20, .all_s = 104.99, .own_s = 8, .processors = 4});
    assert_true(b.processors == 4 && b.others <= 0 && b.others >= 0);
    busy_between(&b, &from, &(busy_times){.wall_s = 20, .all_s = 200, .own_s = 8, .processors = 4});
    assert_true(b.others <= 4);
    busy_between(&b, &from, &(busy_times){.wall_s = 10.1, .all_s = 101, .own_s = 3, .processors = 4});
    assert_int_equal(b.processors, 0); /* too short to say */
    busy_between(&b, &from, &(busy_times){.wall_s = 20, .all_s = 118, .own_s = 8, .processors = 3});
    assert_int_equal(b.processors, 0); /* one was taken away */
    busy_between(&b, &(busy_times){.wall_s = 10}, &(busy_times){.wall_s = 20});
    assert_int_equal(b.processors, 0); /* not known here */
}

static void little_is_no_work(void **state)
{
    (void)state;
    assert_true(busy_is(0.5, 2));
    assert_false(busy_is(0.49, 2));
    assert_false(busy_is(2, 64));
    assert_true(busy_is(4, 64));
}

static void records_and_people_are_told(void **state)
{
    (void)state;
    str out = {0};
    jsonw j = jsonw_to(&out);
    char text[256] = {0};
    FILE *to = fmemopen(text, sizeof text - 1, "w");
    jsonw_object(&j, NULL);
    busy_write(&(busy){.others = 1.5, .processors = 2}, &j);
    busy_write(&(busy){.others = 0.5}, &j);
    busy_write(NULL, &j);
    jsonw_end(&j);
    assert_non_null(strstr(out.data, "\"busy\": 1.5"));
    assert_null(strstr(out.data, "0.5"));
    busy_print(&(busy){.others = 0.1, .processors = 2}, to);
    busy_print(&(busy){.others = 2}, to);
    fflush(to);
    assert_string_equal(text, "");
    busy_print(&(busy){.others = 1.5, .processors = 2}, to);
    fclose(to);
    assert_non_null(strstr(text, "the machine was busy: 1.5 of its 2 processors did other work"));
    str_free(&out);
}

#ifdef __linux__
/* A program for each processor, which have not ended when it is asked. */
static void other_programs_are_seen(void **state)
{
    (void)state;
    busy b = {0};
    pid_t others[MOST];
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    count = count > MOST ? MOST : count;
    for (long i = 0; i < count; i++)
        if ((others[i] = fork()) == 0)
            for (;;) {
            }
    busy_begin(&b);
    sleep(1);
    busy_end(&b);
    for (long i = 0; i < count; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    assert_true(b.processors >= 1);
    assert_true(b.others >= 0.5);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_are_what_this_process_did_not),
        cmocka_unit_test(little_is_no_work),
        cmocka_unit_test(records_and_people_are_told),
#ifdef __linux__
        cmocka_unit_test(other_programs_are_seen),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
