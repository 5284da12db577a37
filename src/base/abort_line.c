/* abort_line: standard error in a pipe that is read when the process is aborted. */
#include "base/abort_line.h"
#include "base/err.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* a sanitizer's report must be seen */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_DIVERT = false };
#else
enum { CAN_DIVERT = true };
#endif

static bool is_allowed, has_begun;
static const char *who;
static int printed = -1; /* where to read what libraries printed */

static void say(const char *text, size_t length)
{
    if (write(err_descriptor, text, length) < 0)
        _exit(1);
}

/* A panic of Rust's: where, what happened in several lines, and how it came there. What happened is said, in one line. */
static bool say_panic(const char *text)
{
    const char *at = strstr(text, "panicked at "), *end = at ? strstr(at, "stack backtrace:") : NULL;
    at = at ? strchr(at, '\n') : NULL;
    if (!at)
        return false;
    char line[400];
    size_t length = 0;
    for (; *at && at != end && length < sizeof line; at++)
        if (*at > ' ' || (length && line[length - 1] != ' '))
            line[length++] = *at > ' ' ? *at : ' ';
    while (length && line[length - 1] == ' ')
        length--;
    say("solo: ", 6);
    say(who, strlen(who));
    say(": ", 2);
    say(line, length);
    say("\n", 1);
    return true;
}

/* Only what may be called in a handler; but for standard output, whose text is lost otherwise, if nobody is in it. */
static void on_abort(int number)
{
    static char text[65536];
    ssize_t got = read(printed, text, sizeof text - 1);
    size_t length = got > 0 ? (size_t)got : 0;
    text[length] = 0;
    if (say_panic(text)) {
        if (ftrylockfile(stdout) == 0)
            fflush(stdout);
        _exit(1);
    }
    say(text, length);
    signal(number, SIG_DFL);
    raise(number);
}

void abort_line_allow(void)
{
    is_allowed = CAN_DIVERT;
}

void abort_line_begin(const char *library)
{
    int ends[2];
    who = library;
    if (!is_allowed || has_begun || pipe(ends) != 0)
        return;
    has_begun = true;
    int terminal = dup(STDERR_FILENO);
    FILE *stream = terminal >= 0 ? fdopen(terminal, "w") : NULL;
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFL, O_NONBLOCK); /* a pipe that is full takes no more, and nobody waits */
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    }
    if (stream && dup2(ends[1], STDERR_FILENO) >= 0) {
        fcntl(terminal, F_SETFD, FD_CLOEXEC);
        setvbuf(stream, NULL, _IONBF, 0);
        stderr = stream;
        err_descriptor = terminal;
        printed = ends[0];
        signal(SIGABRT, on_abort);
    } else
        close(ends[0]);
    close(ends[1]);
}
