/* os_wasi: what a page has of it: no files that change, and no word about processors. */
#include "base/os.h"

#include <stdio.h>

void os_cpu_name(char *out, size_t room)
{
    snprintf(out, room, "unknown");
}

bool os_random(void *to, size_t bytes)
{
    (void)to, (void)bytes;
    return false;
}

struct timespec os_changed_at(const struct stat *info)
{
    return info->st_mtim;
}

int64_t os_local_time(time_t now)
{
    return (int64_t)now;
}
