/* mute_stderr: keep libraries that print by themselves from the user's terminal.
 * What they have to say comes as an error of our own, in one line. */
#ifndef SOLO_MUTE_STDERR_H
#define SOLO_MUTE_STDERR_H

/* Standard error goes nowhere until unmute_stderr, for the whole process. */
int mute_stderr(void);
void unmute_stderr(int was);

#endif
