/* worker: the process that measures on one device, and the pipe to it. */
#include "lab/worker.h"
#include "base/str.h"
#include "launch/persistent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char worker_own[] = "process";

/* For a worker that says nothing: compiling takes minutes on a busy machine. */
enum { PATIENCE_S = 300, MOST_PATIENCE_S = 1000000 };

/* What a worker is given: this, the options, and the implementation's name. */
typedef struct task {
    intptr_t build; /* a function's number */
    gpu_choice choice;
    bool is_named;
    size_t options_bytes;
} task;

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
    os_process_kill(&w->process);
}

/* Does it say something? One that was stopped, or hangs, is given up and ended. */
static bool speaks(worker *w)
{
    uint32_t patience_s = launch_setting("SOLO_WORKER_SECONDS", PATIENCE_S);
    if (patience_s > MOST_PATIENCE_S)
        patience_s = MOST_PATIENCE_S;
    int ready = os_process_speaks(&w->process, patience_s * 1000);
    if (ready < 0)
        give_up(w);
    if (ready == 0) {
        w->silent_s = patience_s;
        os_process_kill(&w->process);
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
static int serve(int from, int to, void *given)
{
    task *t = given;
    char *options = (char *)(t + 1);
    t->choice.impl = t->is_named ? options + t->options_bytes : NULL;
    worker_build build = (worker_build)os_function_of(t->build);
    bench_device s = {0};
    err e = {0};
    build(&s, &t->choice, options, &e);
    order o;
    bool ok = greet(to, &s, &e) && e.kind == ERR_NONE;
    while (ok && read_all(from, NULL, &o, sizeof o)) {
        answer a = {0};
        bench_device_measure(&s, o.measurement, o.point, &a.time, &a.e);
        ok = write_all(to, &a, sizeof a);
    }
    if (s.device.g)
        bench_device_close(&s);
    return 0;
}

/* ---- this process -------------------------------------------------------- */

/* The other end is gone: how did it end? */
static bool ended(worker *w, const char *impl, err *e)
{
    char how[OS_ENDING_ROOM];
    int status = 0;
    bool by_itself = os_process_end(&w->process, &status, how);
    if (w->silent_s)
        return err_set(e, "%s: its process said nothing for %u s (SOLO_WORKER_SECONDS)", impl, w->silent_s);
    if (w->unreachable)
        return err_set(e, "%s: its process cannot be reached: %s", impl, strerror(w->unreachable));
    if (!by_itself)
        return err_set(e, "%s: its process was ended %s", impl, how);
    return err_set(e, "%s: its process ended early with status %d", impl, status);
}

static bool hear_greeting(worker *w, const char *impl, err *e)
{
    greeting hello;
    if (!read_all(w->process.from, w, &hello, sizeof hello))
        return ended(w, impl, e);
    if (hello.e.kind != ERR_NONE)
        return err_set_kind(e, hello.e.kind, "%s", hello.e.text);
    w->device = hello.device;
    w->measurement_count = hello.measurement_count;
    w->measurements = mem_alloc(hello.measurement_count * sizeof *w->measurements);
    if (!read_all(w->process.from, w, w->measurements, hello.measurement_count * sizeof *w->measurements))
        return ended(w, impl, e);
    return true;
}

bool worker_start(worker *w, worker_build build, const gpu_choice *choice, const void *options, size_t bytes, err *e)
{
    str given = {0};
    *w = (worker){.process = {.to = -1, .from = -1}};
    task t = {os_function_number((os_function)build), *choice, choice->impl != NULL, bytes};
    str_add_bytes(&given, (const char *)&t, sizeof t);
    str_add_bytes(&given, options, bytes);
    str_add_bytes(&given, choice->impl ? choice->impl : "", choice->impl ? strlen(choice->impl) + 1 : 1);
    os_ignore_broken_pipes();
    bool started = os_process_start(&w->process, serve, given.data, given.length);
    if (!started)
        err_set(e, "no process: %s", strerror(errno));
    str_free(&given);
    if (started && hear_greeting(w, choice->impl, e))
        return true;
    worker_stop(w);
    return false;
}

bool worker_measure(worker *w, uint32_t measurement, uint32_t point, measurement_time *t, err *e)
{
    answer a;
    bool asked = write_all(w->process.to, &(order){measurement, point}, sizeof(order));
    if (!asked && errno != EPIPE) /* else it has ended, and how is known */
        give_up(w);
    if (!asked || !read_all(w->process.from, w, &a, sizeof a))
        return ended(w, w->device.info.impl, e);
    *t = a.time;
    return a.e.kind == ERR_NONE || err_set_kind(e, a.e.kind, "%s", a.e.text);
}

void worker_stop(worker *w)
{
    os_process_end(&w->process, NULL, NULL);
    free(w->measurements);
    *w = (worker){.process = {.to = -1, .from = -1}};
}
