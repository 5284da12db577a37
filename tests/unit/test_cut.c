/* A mapped file that others cut short, which only systems with fork let them do. */
#include "base/map.h"
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Returns what a child prints to stderr that maps a file, cuts it, and reads on; and its exit status. */
static int read_behind_a_cut(char *said, size_t room)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char path[TEMPORARY_BYTES];
        map m;
        err e = {0};
        int fd = temporary_file(path, "cut");
        dup2(ends[1], STDERR_FILENO);
        map_survive_cuts();
        bool ok = ftruncate(fd, 1 << 20) == 0 && map_open(&m, path, &e) && ftruncate(fd, 0) == 0;
        unlink(path);
        volatile uint8_t byte = ok ? m.bytes[1 << 19] : 0;
        _exit(byte ? 3 : 4);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], said, room - 1);
    said[got > 0 ? got : 0] = 0;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_file_that_is_cut_ends_in_one_line(void **unused)
{
    (void)unused;
    char said[256];
    assert_int_equal(read_behind_a_cut(said, sizeof said), 1);
    assert_string_equal(said, "solo: a file became shorter while it was read\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_cut_ends_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
