/* signal: sigaction for what Windows has of signals: Ctrl-C, the end, and a mapped file that cannot be read. */
#ifndef SOLO_OS_WINDOWS_SIGNAL_H
#define SOLO_OS_WINDOWS_SIGNAL_H

#include_next <signal.h>
#undef pthread_sigmask

#include <sys/types.h>

#ifndef SIGBUS
#define SIGBUS 10
#endif
#ifndef SIGPIPE
#define SIGPIPE 13
#endif

struct sigaction {
    void (*sa_handler)(int);
    sigset_t sa_mask;
    int sa_flags;
};

int sigaction(int signal, const struct sigaction *action, struct sigaction *before);
/* Threads do not get signals: Ctrl-C has a thread of its own. */
enum { SIG_SETMASK = 2, SA_RESTART = 0x10000000 };
static inline int sigfillset(sigset_t *set)
{
    *set = ~(sigset_t)0;
    return 0;
}
static inline int sigemptyset(sigset_t *set)
{
    *set = 0;
    return 0;
}
static inline int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    (void)how, (void)set, (void)before;
    return 0;
}

#endif
