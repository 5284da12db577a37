/* progress: one line on stderr that says how far long work is. Silent unless
 * the program asks for it and stderr is a terminal: a library writes nothing. */
#ifndef SOLO_PROGRESS_H
#define SOLO_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    const char *what;
    uint64_t total, first; /* first: done before it began */
    uint64_t started_ns, shown_ns;
    int on;
} progress;

void progress_show(void); /* from here on */
progress progress_start(const char *what, uint64_t total);
progress progress_start_at(const char *what, uint64_t total, uint64_t first);
void progress_at(progress *p, uint64_t done);
void progress_end(progress *p); /* wipes the line */

#endif
