/* submit: how the dispatches of one piece of work go to the queue.
 *
 *   auto   the best there is: batch
 *   sync   a recording, a submit and a wait for each dispatch
 *   each   a recording and a submit for each dispatch, one wait at the end
 *   pass   one recording and submit, a pass for each dispatch
 *   batch  one recording, one submit, one pass
 *   one    a single dispatch that does the work of all                        */
#ifndef SOLO_LAUNCH_SUBMIT_H
#define SOLO_LAUNCH_SUBMIT_H

#include "gpu/gpu.h"

typedef enum {
    SUBMIT_AUTO,
    SUBMIT_SYNC,
    SUBMIT_EACH,
    SUBMIT_PASS,
    SUBMIT_BATCH,
    SUBMIT_ONE,
    SUBMIT_COUNT
} submit_policy;
extern const char *const submit_names[SUBMIT_COUNT];

typedef struct submit_dispatch {
    gpu_kernel *kernel;
    gpu_bindings *bindings;
    uint32_t groups; /* in one dimension; more than a device has there go to the second */
    uint32_t more;   /* how often it is dispatched again */
} submit_dispatch;

/* Records one dispatch inside a pass. */
void submit_record(gpu_recording *r, const submit_dispatch *d);

/* Dispatches in order. */
typedef struct submit_work {
    gpu *g;
    const submit_dispatch *dispatches;
    uint32_t count;
    bool (*wait)(void *user, err *e); /* for sync; NULL: gpu_wait */
    void *user;
} submit_work;

/* Returns when all is submitted (`sync`: done). False only if a wait failed; other errors stay on the device. */
bool submit_all(const submit_work *w, submit_policy policy, err *e);

/* Whether somebody has asked to stop; NULL: nobody will. */
typedef struct submit_stop {
    bool (*is_asked)(void *user);
    void *user;
} submit_stop;
bool submit_is_stopped(const submit_stop *s);

/* The same dispatches in pieces that take a tenth of a second at most, each waited for, until it is asked to stop: false
 * then, with a part of them done. What is computed does not depend on the pieces. `piece`: how many dispatches to begin
 * with, and where the next call may begin; errors are the device's. */
bool submit_in_pieces(const submit_work *w, submit_policy policy, const submit_stop *stop, uint32_t *piece);

#endif
