/* os_posix: what Linux and macOS have in the same form: processes by fork, the zone of the clock. */
#include "base/os.h"
#include "base/os_process.h"
#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process ends when its pipe closes, which it does not while any other process
 * holds an end of it: so the new process drops what it got from its parent. */
static void close_all_but(int a, int b)
{
    for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
        if (fd != a && fd != b)
            close(fd);
}

static bool open_pipes(int first[2], int second[2])
{
    if (pipe(first) != 0)
        return false;
    if (pipe(second) == 0)
        return true;
    int why = errno;
    close(first[0]);
    close(first[1]);
    errno = why;
    return false;
}

bool os_process_start(os_process *p, os_process_body body, const void *given, size_t bytes)
{
    int orders[2], answers[2];
    *p = (os_process){.to = -1, .from = -1};
    if (!open_pipes(orders, answers))
        return false;
    fflush(NULL); /* or both processes would print what is buffered */
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        os_end_with_parent();
        if (getppid() != parent) /* too late to be told */
            _exit(1);
        void *copy = malloc(bytes + 1);
        if (copy && bytes)
            memcpy(copy, given, bytes);
        close_all_but(orders[0], answers[1]);
        int status = copy ? body(orders[0], answers[1], copy) : 1;
        fflush(NULL);
        _exit(status);
    }
    int why = errno;
    close(orders[0]);
    close(answers[1]);
    *p = (os_process){.id = child > 0 ? child : 0, .to = orders[1], .from = answers[0]};
    if (child < 0)
        os_process_end(p, NULL, NULL);
    errno = why;
    return child > 0;
}

intptr_t os_function_number(os_function f)
{
    return (intptr_t)f;
}

os_function os_function_of(intptr_t number)
{
    return (os_function)number;
}

bool os_process_shell(os_process *p, const char *line, int input)
{
    int out[2];
    *p = (os_process){.to = -1, .from = -1};
    if (pipe(out) != 0)
        return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(input, STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err_descriptor, STDERR_FILENO);
        close(out[0]);
        close(out[1]);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    int why = errno;
    close(out[1]);
    *p = (os_process){.id = child > 0 ? child : 0, .to = -1, .from = out[0]};
    if (child < 0)
        os_process_end(p, NULL, NULL);
    errno = why;
    return child > 0;
}

int os_process_speaks(const os_process *p, uint32_t patience_ms)
{
    int ready;
    do
        ready = poll(&(struct pollfd){.fd = p->from, .events = POLLIN}, 1, (int)patience_ms);
    while (ready < 0 && errno == EINTR);
    return ready;
}

void os_process_kill(const os_process *p)
{
    if (p->id)
        kill((pid_t)p->id, SIGKILL);
}

bool os_process_end(os_process *p, int *status, char how[OS_ENDING_ROOM])
{
    int ended = 0;
    if (p->to >= 0)
        close(p->to);
    if (p->from >= 0)
        close(p->from);
    while (p->id && waitpid((pid_t)p->id, &ended, 0) < 0 && errno == EINTR)
        continue;
    *p = (os_process){.to = -1, .from = -1};
    if (WIFSIGNALED(ended)) {
        if (how)
            snprintf(how, OS_ENDING_ROOM, "by signal %d (%s)", WTERMSIG(ended), strsignal(WTERMSIG(ended)));
        return false;
    }
    if (status)
        *status = WEXITSTATUS(ended);
    return true;
}

void os_ignore_broken_pipes(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void os_soon(uint32_t ms, void (*then)(int))
{
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = then, .sa_flags = SA_RESTART}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {ms / 1000, (int)(ms % 1000) * 1000}}, NULL);
}

int64_t os_local_time(time_t now)
{
    struct tm there;
    localtime_r(&now, &there);
    return (int64_t)now + there.tm_gmtoff;
}
