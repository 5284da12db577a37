/* The back ends that a native program has. */
#include "gpu/backend.h"

#include <string.h>

const char *const gpu_impl_names[] = {"dawn", "wgpu", "vulkan", "cuda", "stub", NULL};

const gpu_backend *gpu_backend_named(const char *impl)
{
    if (strcmp(impl, "vulkan") == 0)
        return &gpu_vulkan_backend;
    if (strcmp(impl, "cuda") == 0)
        return &gpu_cuda_backend;
    if (strcmp(impl, "stub") == 0)
        return &gpu_stub_backend;
    if (strcmp(impl, "dawn") == 0 || strcmp(impl, "wgpu") == 0 || strchr(impl, '/') || strstr(impl, ".so"))
        return &gpu_webgpu_backend;
    return NULL;
}
