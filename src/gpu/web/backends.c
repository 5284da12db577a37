/* The back ends that a page has. */
#include "gpu/backend.h"

#include <string.h>

const char *const gpu_impl_names[] = {"web", "stub", NULL};

const gpu_backend *gpu_backend_named(const char *impl)
{
    return strcmp(impl, "web") == 0 ? &gpu_web_backend : strcmp(impl, "stub") == 0 ? &gpu_stub_backend : NULL;
}
