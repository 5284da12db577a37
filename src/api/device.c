#include "api/internal.h"
#include "base/str.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

bool api_result(solo_error *to, const err *e, bool ok)
{
    if (ok || !to || to->status)
        return ok;
    to->status = e->kind ? (int)e->kind : ERR_FAILED;
    snprintf(to->text, sizeof to->text, "%s", e->text);
    return ok;
}

solo_device *solo_device_open(const char *impl, solo_error *to)
{
    err e = {0};
    gpu *g = sim_open_gpu(&(gpu_choice){.impl = impl}, &e);
    if (!api_result(to, &e, g != NULL))
        return NULL;
    solo_device *d = mem_alloc(sizeof *d);
    d->g = g;
    return d;
}

void solo_device_close(solo_device *d)
{
    if (!d)
        return;
    gpu_close(d->g);
    free(d);
}

const char *solo_device_name(const solo_device *d)
{
    return gpu_get_info(d->g)->device;
}
