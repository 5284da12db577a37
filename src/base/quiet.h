/* quiet: keep libraries that print by themselves from the user's terminal.
 * What they have to say comes as an error of our own, in one line. */
#ifndef SOLO_QUIET_H
#define SOLO_QUIET_H

/* Standard error goes nowhere until quiet_end, for the whole process. */
int quiet_begin(void);
void quiet_end(int was);

#endif
