/* abort_line: a library that ends the process by abort() after many lines of its own, as one line of ours.
 *
 * wgpu-native does so where a submit fails. For programs, not for libraries: it changes the process's standard error
 * and what it does with SIGABRT, and nothing of it happens before abort_line_allow. */
#ifndef SOLO_ABORT_LINE_H
#define SOLO_ABORT_LINE_H

/* Called by main, once. */
void abort_line_allow(void);

/* From here on what libraries print goes to a place of its own, and `stderr` to the terminal as before. If then a library
 * panics, its message becomes a line that begins with its name, and the exit status is 1. Any other abort() stays one,
 * with what was printed. The name must stay. */
void abort_line_begin(const char *library);

#endif
