/* lab/worker.h in a page, which has no processes to start: the station stands right here. Starting it anew gives it a new
 * device, and nothing more. */
#include "lab/worker.h"
#include "base/str.h"

#include <stdlib.h>

const char worker_own[] = "device";

enum { MOST = 8 };
static station stations[MOST]; /* worker.to is the number of its station */
static bool taken[MOST];

bool worker_start(worker *w, worker_build build, const gpu_choice *choice, const void *options, err *e)
{
    err why = {0};
    int at = 0;
    while (at < MOST && taken[at])
        at++;
    *w = (worker){.to = -1, .from = -1};
    if (at == MOST)
        return err_set(e, "more than %d devices at a time", MOST);
    station *s = &stations[at];
    *s = (station){0};
    if (!build(s, choice, options, &why)) {
        if (s->device.g)
            station_close(s);
        return err_set_kind(e, why.kind, "%s", why.text);
    }
    taken[at] = true;
    *w = (worker){.to = at, .from = -1, .device = s->device, .cell_count = s->cell_count};
    w->device.g = NULL;
    w->cells = mem_alloc(s->cell_count * sizeof *w->cells);
    for (uint32_t i = 0; i < s->cell_count; i++)
        w->cells[i] = s->cells[i].spec;
    return true;
}

bool worker_measure(worker *w, uint32_t cell, uint32_t point, cell_time *t, err *e)
{
    return station_measure(&stations[w->to], cell, point, t, e);
}

void worker_stop(worker *w)
{
    if (w->to >= 0) {
        station_close(&stations[w->to]);
        taken[w->to] = false;
    }
    free(w->cells);
    *w = (worker){.to = -1, .from = -1};
}
