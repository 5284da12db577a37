/* memory_size: the host's memory, for devices that are software and compute in it. */
#include "gpu/memory_size.h"
#include "base/os.h"

memory_size memory_size_of_host(void)
{
    memory_size size = {0};
    os_memory(&size.total, &size.free);
    return size;
}
