/* internal: what the files behind include/solo.h share. */
#ifndef SOLO_API_INTERNAL_H
#define SOLO_API_INTERNAL_H

#include "base/err.h"
#include "gpu/gpu.h"
#include "solo.h"

struct solo_device {
    gpu *g;
};

struct solo_buffer {
    gpu *g;
    gpu_buffer *b;
};

/* Converts an internal error to the public type; returns `ok`. */
bool api_result(solo_error *to, const err *e, bool ok);
/* False, with an error unless there is one already, if the object is NULL because making it failed. */
bool api_is_here(const void *thing, solo_error *to);

#endif
