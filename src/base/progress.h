/* progress: one line on stderr that says how far long work is; silent unless stderr is a terminal. */
#ifndef SOLO_PROGRESS_H
#define SOLO_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    const char *what;
    uint64_t total;
    uint64_t started_ns, shown_ns;
    int on;
} progress;

progress progress_start(const char *what, uint64_t total);
void progress_at(progress *p, uint64_t done);
void progress_end(progress *p); /* wipes the line */

#endif
