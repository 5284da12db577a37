/* Standard error pointed at /dev/null for a while, and back. */
#include "base/mute_stderr.h"
#include "base/err.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int mute_stderr(void)
{
    fflush(stderr);
    int was = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    if (was >= 0 && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0 && err_descriptor == STDERR_FILENO)
        err_descriptor = was;
    if (nowhere >= 0)
        close(nowhere);
    return was;
}

void unmute_stderr(int was)
{
    if (was < 0)
        return;
    fflush(stderr);
    dup2(was, STDERR_FILENO);
    if (err_descriptor == was)
        err_descriptor = STDERR_FILENO;
    close(was);
}
