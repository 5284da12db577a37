/* autotune: finds the fastest number of threads and workgroups for a megakernel by timing, and keeps it in the user's
 * cache, by device, implementation, driver and kernel.
 *
 *     autotune *a = autotune_new(&from, &form, in_background);
 *     while (autotune_go_on(a, rounds) != AUTOTUNE_OVER)
 *         other work; or none: in the foreground each call waits for what it needs
 *     megakernel *o = autotune_take(a, &form, &e);                                                                  */
#ifndef SOLO_GRAPH_AUTOTUNE_H
#define SOLO_GRAPH_AUTOTUNE_H

#include "graph/megakernel.h"

typedef struct autotune autotune;

typedef enum {
    AUTOTUNE_COMPILING, /* nothing to do yet, or some milliseconds of it */
    AUTOTUNE_TIMING,    /* the next call runs a candidate for some tens of milliseconds */
    AUTOTUNE_OVER,      /* autotune_take has the result */
} autotune_state;

/* Gives `form` the row_threads that the cache has for this megakernel, if any. For kernels that are made before it. */
void autotune_recall_threads(const megakernel_source *from, launch_form *form);

/* All candidates start to compile, where the device compiles in the background. `form` is the default one; its row_threads
 * become those that the cache has. With `in_background`, calls do not wait for the compiler, and row_threads do not
 * change from here on: other kernels with the same sums run in the meantime. */
autotune *autotune_new(const megakernel_source *from, launch_form *form, bool in_background);
void autotune_free(autotune *a);
enum { AUTOTUNE_LEAST_ROUNDS = 9, AUTOTUNE_MOST_ROUNDS = 65 };
/* Timing makes up to `rounds` rounds, which use and change inputs, activations and states as any run does. With fewer
 * than AUTOTUNE_LEAST_ROUNDS it waits for a call with more. */
autotune_state autotune_go_on(autotune *a, uint32_t rounds);
void autotune_wait(autotune *a);            /* calls wait for the compiler from here on */
bool autotune_has_timed(const autotune *a); /* states were changed */
/* The megakernel in the fastest form, which is stored in `form`; NULL with the reason. */
megakernel *autotune_take(autotune *a, launch_form *form, err *e);

#endif
