/* worker: the process that measures on one device, and the pipe to it. */
#include "lab/worker.h"
#include "base/str.h"
#include "launch/persistent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char worker_own[] = "process";

enum { PATIENCE_S = 300 }; /* for a worker that says nothing: compiling takes minutes on a busy machine */

/* What goes over the pipes: the structs themselves, since both ends are the same
 * program. An order asks for one point; an answer begins with how it went. */
typedef struct order {
    uint32_t measurement, point;
} order;

typedef struct greeting {
    err e;
    lab_device device;
    uint32_t measurement_count; /* that many measurement_specs follow */
} greeting;

typedef struct answer {
    err e;
    measurement_time time;
} answer;

/* It may be waiting for an order that will not come. */
static void give_up(worker *w)
{
    w->unreachable = errno;
    kill(w->pid, SIGKILL);
}

/* Does it say something? One that was stopped, or hangs, is given up and ended. */
static bool speaks(worker *w)
{
    uint32_t patience_s = launch_setting("SOLO_WORKER_SECONDS", PATIENCE_S);
    int ready;
    do
        ready = poll(&(struct pollfd){.fd = w->from, .events = POLLIN}, 1, (int)patience_s * 1000);
    while (ready < 0 && errno == EINTR);
    if (ready < 0)
        give_up(w);
    if (ready == 0) {
        w->silent_s = patience_s;
        kill(w->pid, SIGKILL);
    }
    return ready > 0;
}

/* `w`: the worker at the other end; NULL in the worker, which waits for orders as long as it takes. */
static bool read_all(int from, worker *w, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        if (w && !speaks(w))
            return false;
        ssize_t n = read(from, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && w)
            give_up(w);
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_all(int to, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        ssize_t n = write(to, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* ---- the new process ----------------------------------------------------- */

static bool greet(int to, const bench_device *s, const err *e)
{
    greeting hello = {
        .e = *e, .device = s->device, .measurement_count = e->kind == ERR_NONE ? s->measurement_count : 0};
    hello.device.g = NULL;
    if (!write_all(to, &hello, sizeof hello))
        return false;
    for (uint32_t i = 0; i < hello.measurement_count; i++)
        if (!write_all(to, &s->measurements[i].spec, sizeof s->measurements[i].spec))
            return false;
    return true;
}

/* Until the pipe is closed. */
static void serve(int from, int to, worker_build build, const gpu_choice *choice, const void *options)
{
    bench_device s = {0};
    err e = {0};
    build(&s, choice, options, &e);
    order o;
    bool ok = greet(to, &s, &e) && e.kind == ERR_NONE;
    while (ok && read_all(from, NULL, &o, sizeof o)) {
        answer a = {0};
        bench_device_measure(&s, o.measurement, o.point, &a.time, &a.e);
        ok = write_all(to, &a, sizeof a);
    }
    if (s.device.g)
        bench_device_close(&s);
}

/* A worker ends when its pipe closes, which it does not while any other process
 * holds an end of it: so the new process drops what it got from its parent. */
static void close_all_but(int a, int b)
{
    for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
        if (fd != a && fd != b)
            close(fd);
}

/* ---- this process -------------------------------------------------------- */

/* The other end is gone: how did it end? */
static bool ended(worker *w, const char *impl, err *e)
{
    int status = 0;
    if (w->pid > 0)
        waitpid(w->pid, &status, 0);
    w->pid = 0;
    if (w->silent_s)
        return err_set(e, "%s: its process said nothing for %u s (SOLO_WORKER_SECONDS)", impl, w->silent_s);
    if (w->unreachable)
        return err_set(e, "%s: its process cannot be reached: %s", impl, strerror(w->unreachable));
    if (WIFSIGNALED(status))
        return err_set(e, "%s: its process was ended by signal %d (%s)", impl, WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    return err_set(e, "%s: its process ended early with status %d", impl, WEXITSTATUS(status));
}

static bool hear_greeting(worker *w, const char *impl, err *e)
{
    greeting hello;
    if (!read_all(w->from, w, &hello, sizeof hello))
        return ended(w, impl, e);
    if (hello.e.kind != ERR_NONE)
        return err_set_kind(e, hello.e.kind, "%s", hello.e.text);
    w->device = hello.device;
    w->measurement_count = hello.measurement_count;
    w->measurements = mem_alloc(hello.measurement_count * sizeof *w->measurements);
    if (!read_all(w->from, w, w->measurements, hello.measurement_count * sizeof *w->measurements))
        return ended(w, impl, e);
    return true;
}

bool worker_start(worker *w, worker_build build, const gpu_choice *choice, const void *options, err *e)
{
    int orders[2], answers[2];
    *w = (worker){.to = -1, .from = -1};
    if (pipe(orders) != 0)
        return err_set(e, "no pipe: %s", strerror(errno));
    if (pipe(answers) != 0) {
        close(orders[0]);
        close(orders[1]);
        return err_set(e, "no pipe: %s", strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN); /* a worker that is gone shows in what write returns */
    fflush(NULL);             /* or both processes would print what is buffered */
    w->pid = fork();
    if (w->pid == 0) {
        close_all_but(orders[0], answers[1]);
        serve(orders[0], answers[1], build, choice, options);
        _exit(0);
    }
    close(orders[0]);
    close(answers[1]);
    w->to = orders[1];
    w->from = answers[0];
    if (w->pid < 0)
        err_set(e, "no process: %s", strerror(errno));
    if (w->pid > 0 && hear_greeting(w, choice->impl, e))
        return true;
    worker_stop(w);
    return false;
}

bool worker_measure(worker *w, uint32_t measurement, uint32_t point, measurement_time *t, err *e)
{
    answer a;
    bool asked = write_all(w->to, &(order){measurement, point}, sizeof(order));
    if (!asked && errno != EPIPE) /* else it has ended, and how is known */
        give_up(w);
    if (!asked || !read_all(w->from, w, &a, sizeof a))
        return ended(w, w->device.info.impl, e);
    *t = a.time;
    return a.e.kind == ERR_NONE || err_set_kind(e, a.e.kind, "%s", a.e.text);
}

void worker_stop(worker *w)
{
    if (w->to >= 0)
        close(w->to);
    if (w->from >= 0)
        close(w->from);
    if (w->pid > 0)
        waitpid(w->pid, NULL, 0);
    free(w->measurements);
    *w = (worker){.to = -1, .from = -1};
}
