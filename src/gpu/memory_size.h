/* memory_size: how much memory a device has, for back ends whose API does not have it; 0 where it is not known. */
#ifndef SOLO_GPU_MEMORY_SIZE_H
#define SOLO_GPU_MEMORY_SIZE_H

#include <stdint.h>

typedef struct memory_size {
    uint64_t total, free; /* bytes; 0: not known */
} memory_size;

/* The machine's own, which is what a software device uses. */
memory_size memory_size_of_host(void);
/* Of the device with these PCI numbers, by asking Vulkan on the side. */
memory_size memory_size_by_vulkan(uint32_t vendor, uint32_t device);

#endif
