/* memory_size: the host's memory, for devices that are software and compute in it. */
#include "gpu/memory_size.h"

#include <stdio.h>

memory_size memory_size_of_host(void)
{
    memory_size size = {0};
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemTotal: %llu kB", &kib) == 1)
            size.total = kib * 1024;
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            size.free = kib * 1024;
    }
    if (f)
        fclose(f);
    return size;
}
