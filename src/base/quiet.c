#include "base/quiet.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int quiet_begin(void)
{
    fflush(stderr);
    int was = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    if (was >= 0 && nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0)
        close(nowhere);
    return was;
}

void quiet_end(int was)
{
    if (was < 0)
        return;
    fflush(stderr);
    dup2(was, STDERR_FILENO);
    close(was);
}
