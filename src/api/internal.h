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

/* An error of the inside as one of the outside; the result is `ok`. */
bool api_result(solo_error *to, const err *e, bool ok);
/* False and an error, unless there is one already, if what something is asked of is NULL: making it failed. */
bool api_is_here(const void *thing, solo_error *to);

#endif
