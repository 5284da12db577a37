/* A shader that does not compile: the library's message, which is long and
 * differs between libraries, becomes one line that points into the WGSL. */
#include "gpu/webgpu/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Both libraries write `LINE:COLUMN`, Dawn after a colon or at the start of a
 * line (":3:7 error: ..."), naga after "wgsl:". Returns 0 if there is none. */
static unsigned line_named_in(const char *message)
{
    for (const char *p = message; *p; p++) {
        unsigned line, column;
        int n = 0;
        bool starts = p == message || p[-1] == ':' || p[-1] == ' ' || p[-1] == '\n';
        if (starts && isdigit((unsigned char)*p) && sscanf(p, "%u:%u%n", &line, &column, &n) == 2 && n > 0)
            return line;
    }
    return 0;
}

static void source_line(const char *wgsl, unsigned line, char *out, size_t room)
{
    out[0] = 0;
    for (unsigned i = 1; wgsl && i < line; i++) {
        wgsl = strchr(wgsl, '\n');
        if (wgsl)
            wgsl++;
    }
    if (!wgsl)
        return;
    wgsl += strspn(wgsl, " \t");
    size_t n = strcspn(wgsl, "\n");
    snprintf(out, room, "%.*s", (int)(n < room ? n : room - 1), wgsl);
}

/* The sentence itself: what follows "error:" on its line. */
static void sentence(const char *message, char *out, size_t room)
{
    const char *at = strstr(message, "error: ");
    at = at ? at + strlen("error: ") : message;
    size_t n = strcspn(at, "\n");
    snprintf(out, room, "%.*s", (int)(n < room ? n : room - 1), at);
}

void webgpu_shader_error(gpu *g, const gpu_kernel_desc *desc, const char *message)
{
    char why[512], text[160];
    unsigned line = line_named_in(message);
    sentence(message, why, sizeof why);
    if (!line) {
        gpu_fail(g, "kernel '%s': %s", desc->source->name, message);
        return;
    }
    source_line(desc->source->wgsl, line, text, sizeof text);
    gpu_fail(g, "kernel '%s', WGSL line %u: %s: \"%s\"", desc->source->name, line, why, text);
}
