/* worker: lab/worker.h in a page, which cannot start processes: the bench_device is in this one. A restart gives it a
 * new device. */
#include "lab/worker.h"
#include "base/str.h"

#include <stdlib.h>

const char worker_own[] = "device";

enum { MOST = 8 };
static bench_device bench_devices[MOST]; /* worker.process.to is the number of its bench_device */
static bool taken[MOST];

bool worker_start(worker *w, worker_build build, const gpu_choice *choice, const void *options, size_t bytes, err *e)
{
    (void)bytes;
    err why = {0};
    int at = 0;
    while (at < MOST && taken[at])
        at++;
    *w = (worker){.process = {.to = -1, .from = -1}};
    if (at == MOST)
        return err_set(e, "more than %d devices at a time", MOST);
    bench_device *s = &bench_devices[at];
    *s = (bench_device){0};
    if (!build(s, choice, options, &why)) {
        if (s->device.g)
            bench_device_close(s);
        return err_set_kind(e, why.kind, "%s", why.text);
    }
    taken[at] = true;
    *w = (worker){.process = {.to = at, .from = -1}, .device = s->device, .measurement_count = s->measurement_count};
    w->device.g = NULL;
    w->measurements = mem_alloc(s->measurement_count * sizeof *w->measurements);
    for (uint32_t i = 0; i < s->measurement_count; i++)
        w->measurements[i] = s->measurements[i].spec;
    return true;
}

bool worker_measure(worker *w, uint32_t measurement, uint32_t point, measurement_time *t, err *e)
{
    return bench_device_measure(&bench_devices[w->process.to], measurement, point, t, e);
}

void worker_stop(worker *w)
{
    if (w->process.to >= 0) {
        bench_device_close(&bench_devices[w->process.to]);
        taken[w->process.to] = false;
    }
    free(w->measurements);
    *w = (worker){.process = {.to = -1, .from = -1}};
}
