/* os_process: another process and the pipes to it; os_posix.c and os_windows_process.c have it. */
#ifndef SOLO_BASE_OS_PROCESS_H
#define SOLO_BASE_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OS_ENDING_ROOM = 96 };

typedef struct os_process {
    intptr_t id;  /* 0: none */
    int to, from; /* pipes: what it reads, what it writes; -1: none */
} os_process;

/* What the new process does; what it returns is the exit status. */
typedef int (*os_process_body)(int from, int to, void *given);

/* A process of this program that runs `body` with a copy of `given`, and ends. Nothing else is sure to be there: with fork it
 * sees all variables as they are now, without fork as they are when a program starts. So `given` has no pointers. False and
 * errno. */
bool os_process_start(os_process *p, os_process_body body, const void *given, size_t bytes);
/* A function as a number that `given` may have: without fork a function may be elsewhere in the other process. */
typedef void (*os_function)(void);
intptr_t os_function_number(os_function f);
os_function os_function_of(intptr_t number);
/* A line for the system's shell, with that descriptor as its standard input; what it prints comes from `from`. */
bool os_process_shell(os_process *p, const char *line, int input);

/* Waits until it writes or its pipe is closed: 1. 0: neither happened for so long; -1 and errno: the pipe failed. */
int os_process_speaks(const os_process *p, uint32_t patience_ms);
void os_process_kill(const os_process *p);
/* Closes the pipes and waits for its end. True: by itself, with `status`; else `how` says how, "by signal 9 (Killed)". */
bool os_process_end(os_process *p, int *status, char how[OS_ENDING_ROOM]);
/* A worker that is gone shows in what write returns, not as a signal. */
void os_ignore_broken_pipes(void);

#endif
