/* Standard error pointed at /dev/null for a while, and back. */
#include "base/mute_stderr.h"
#include "base/err.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Returns where it led, or -1. */
static int mute(int descriptor)
{
    int was = dup(descriptor), nowhere = open("/dev/null", O_WRONLY);
    if (was >= 0 && nowhere >= 0 && dup2(nowhere, descriptor) >= 0 && err_descriptor == descriptor)
        err_descriptor = was;
    if (nowhere >= 0)
        close(nowhere);
    return was;
}

static void unmute(int descriptor, int was)
{
    if (was < 0)
        return;
    dup2(was, descriptor);
#ifdef FD_CLOEXEC
    if (descriptor != STDERR_FILENO) /* a process that is started has the one */
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
    if (err_descriptor == was)
        err_descriptor = descriptor;
    close(was);
}

muted mute_stderr(void)
{
    fflush(stderr);
    int stream = fileno(stderr);
    return (muted){.descriptor = mute(STDERR_FILENO), .stream = stream == STDERR_FILENO ? -1 : mute(stream)};
}

void unmute_stderr(muted was)
{
    fflush(stderr);
    unmute(fileno(stderr), was.stream);
    unmute(STDERR_FILENO, was.descriptor);
}
