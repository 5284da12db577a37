/* A library's message about a shader that does not compile, as one line that points into the WGSL. */
#include "gpu/webgpu/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* naga, where it does not like what a function does, names the function's first line, quotes the lines from there on, and
 * marks the place under one of them: "5 | return x;", then "| ^^^^". The number of the line marked; 0 if there is none. */
static unsigned line_marked_in(const char *message)
{
    static const char bar[] = "\u2502", corner[] = "\u2570";
    unsigned line = 0, number;
    for (const char *p = message; p; p = strchr(p, '\n')) {
        char text[256];
        p += *p == '\n';
        snprintf(text, sizeof text, "%.*s", (int)(strcspn(p, "\n") < sizeof text ? strcspn(p, "\n") : sizeof text - 1),
                 p);
        const char *at = text + strspn(text, " ");
        if (sscanf(at, "%u", &number) == 1 && strstr(at, bar))
            line = number;
        else if (line && strncmp(at, bar, strlen(bar)) == 0 && strchr(at, '^') && !strstr(at, corner))
            return line;
    }
    return 0;
}

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

/* The sentence itself: what follows "error:" on its line, or naga's last reason, which is the deepest. */
static void sentence(const char *message, char *out, size_t room)
{
    const char *at = strstr(message, "error: ");
    at = at ? at + strlen("error: ") : message;
    for (const char *reason = at; line_marked_in(message) && (reason = strstr(reason, "\n  = "));)
        at = reason += strlen("\n  = ");
    size_t n = strcspn(at, "\n");
    snprintf(out, room, "%.*s", (int)(n < room ? n : room - 1), at);
}

void webgpu_shader_error(gpu *g, const gpu_kernel_desc *desc, const char *message)
{
    char why[512], text[160];
    unsigned line = line_marked_in(message);
    if (!line)
        line = line_named_in(message);
    sentence(message, why, sizeof why);
    if (!line) {
        gpu_fail(g, "kernel '%s': %s", desc->source->name, message);
        return;
    }
    source_line(desc->source->wgsl, line, text, sizeof text);
    gpu_fail(g, "kernel '%s', WGSL line %u: %s: \"%s\"", desc->source->name, line, why, text);
}
