/* worker: a bench_device in a process of its own, controlled over a pipe.
 *
 * So implementations cannot disturb each other inside a process, one that crashes
 * is an error of one line and not the end of the run, and a process can be
 * started anew: what a submit costs differs from one process to the next by far
 * more than within one, and only several of them show it.                   */
#ifndef SOLO_LAB_WORKER_H
#define SOLO_LAB_WORKER_H

#include "base/os_process.h"
#include "lab/bench_device.h"

typedef struct worker {
    os_process process;
    uint32_t silent_s; /* it was given up after so many seconds without a word */
    int unreachable;   /* errno of a pipe to it that failed */
    lab_device device;
    measurement_spec *measurements;
    uint32_t measurement_count;
} worker;

/* What a worker has to itself: "process", or in a page, where it cannot have one, "device". */
extern const char worker_own[];

/* Builds a bench_device in the new process. False and the reason if it cannot. */
typedef bool (*worker_build)(bench_device *s, const gpu_choice *choice, const void *options, err *e);

/* Starts it, and waits until the bench_device is ready. `options` are so many bytes without pointers, of which it gets a
 * copy. No GPU library may be loaded in this process: the new one can be a fork of it. */
bool worker_start(worker *w, worker_build build, const gpu_choice *choice, const void *options, size_t bytes, err *e);
bool worker_measure(worker *w, uint32_t measurement, uint32_t point, measurement_time *t, err *e);
void worker_stop(worker *w);

#endif
