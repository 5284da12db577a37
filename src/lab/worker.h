/* worker: a station in a process of its own, told what to run over a pipe.
 *
 * Implementations disturb each other in one process: an open CUDA context alone
 * makes a wgpu submit several times as dear. In processes of their own they do
 * not, and one that crashes is an error in one line, not the end of the run.  */
#ifndef SOLO_LAB_WORKER_H
#define SOLO_LAB_WORKER_H

#include "lab/station.h"

#include <sys/types.h>

typedef struct worker {
    pid_t pid;
    int to, from; /* pipes */
    lab_device device;
    cell_spec *cells;
    uint32_t cell_count;
} worker;

/* Builds a station in the new process. False and the reason if it cannot. */
typedef bool (*worker_build)(station *s, const gpu_choice *choice, const void *options, err *e);

/* Start, and wait until the station stands. No GPU library may be loaded in this
 * process: the new one is a fork of it. */
bool worker_start(worker *w, worker_build build, const gpu_choice *choice, const void *options, err *e);
bool worker_measure(worker *w, uint32_t cell, uint32_t point, cell_time *t, err *e);
void worker_stop(worker *w);

#endif
