/* mute_stderr: keep libraries that print by themselves from the user's terminal.
 * What they have to say comes as an error of our own, in one line. */
#ifndef SOLO_MUTE_STDERR_H
#define SOLO_MUTE_STDERR_H

/* What was there before, for unmute_stderr. */
typedef struct muted {
    int descriptor, stream;
} muted;

/* Standard error goes nowhere until unmute_stderr, for the whole process: its descriptor, and the stream of C, which
 * abort_line gives another one. */
muted mute_stderr(void);
void unmute_stderr(muted was);

#endif
