/* identity: implementation, device and driver as one text, the key of cached results. */
#include "gpu/identity.h"
#include "base/os.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* Not every library reports its version, so its file is part of the identity. */
void gpu_add_identity(const gpu_info *info, str *out)
{
    struct stat file = {0};
    if (!*info->library || stat(info->library, &file) != 0)
        memset(&file, 0, sizeof file);
    struct timespec changed = os_changed_at(&file);
    str_addf(out, "implementation: %s, %s, a file of %jd bytes changed at %jd.%09ld\n", info->family,
             info->impl_version, (intmax_t)file.st_size, (intmax_t)changed.tv_sec, (long)changed.tv_nsec);
    if (info->unchecked)
        str_add(out, "kernels without checks of bounds\n");
    str_addf(out, "backend: %s\nvendor: %s\ndevice: %s\ndriver: %s\n", info->backend, info->vendor, info->device,
             info->driver);
}
