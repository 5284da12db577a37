/* gguf: opening, reading and closing a GGUF file. */
#include "model/gguf.h"
#include "base/str.h"
#include "model/gguf_internal.h"
#include "model/gguf_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ALIGNMENT = 32 };

static bool read_alignment(gguf_reader *r, const gguf *g, uint32_t *alignment)
{
    *alignment = DEFAULT_ALIGNMENT;
    if (!gguf_has(g, "general.alignment"))
        return true;
    if (!gguf_get_u32(g, "general.alignment", alignment, r->e))
        return false;
    if (*alignment < 8 || (*alignment & (*alignment - 1)))
        return err_set(r->e, "%s: key 'general.alignment': %" PRIu32 " is not a power of two of at least 8", r->name,
                       *alignment);
    return true;
}

static bool read_version(gguf_reader *r, gguf *g)
{
    size_t magic = r->available < 4 ? r->available : 4;
    if (magic && memcmp(r->bytes, "GGUF", magic) != 0)
        return err_set(r->e, "%s: not a GGUF file", r->name);
    if (!gguf_reader_need(r, 24))
        return false;
    r->at = 4;
    if (!gguf_reader_u32(r, &g->version))
        return false;
    if (g->version && (g->version & 0xffff) == 0)
        return err_set(r->e, "%s: a big-endian GGUF file, which is not supported", r->name);
    if (g->version != 2 && g->version != 3)
        return err_set(r->e, "%s: GGUF version %" PRIu32 " is not supported (2 and 3 are)", r->name, g->version);
    return true;
}

static bool read_all(gguf_reader *r, gguf *g)
{
    uint64_t tensors, values;
    uint32_t alignment;
    snprintf(r->where, sizeof r->where, "the beginning");
    if (!read_version(r, g) || !gguf_reader_u64(r, &tensors) || !gguf_reader_u64(r, &values))
        return false;
    uint64_t left = r->file_bytes - r->at;
    if (values > left / GGUF_MIN_KEY_BYTES || tensors > (left - values * GGUF_MIN_KEY_BYTES) / GGUF_MIN_TENSOR_BYTES)
        return err_set(
            r->e, "%s: claims %" PRIu64 " tensors and %" PRIu64 " keys, more than a file of %" PRIu64 " bytes holds",
            r->name, tensors, values, r->file_bytes);
    r->rest = values * GGUF_MIN_KEY_BYTES + tensors * GGUF_MIN_TENSOR_BYTES;
    if (!gguf_reader_need(r, 0) || !gguf_read_values(r, g, values) || !read_alignment(r, g, &alignment))
        return false;
    return gguf_read_tensors(r, g, tensors, alignment);
}

gguf *gguf_read(const void *bytes, size_t available, uint64_t file_bytes, const char *name, uint64_t *wanted, err *e)
{
    if (wanted)
        *wanted = 0;
    gguf_reader r = {
        .bytes = bytes,
        .available = available < file_bytes ? available : (size_t)file_bytes,
        .file_bytes = file_bytes,
        .name = name,
        .wanted = wanted,
        .e = e,
    };
    gguf *g = mem_alloc(sizeof *g);
    g->name = mem_dup(name);
    if (!read_all(&r, g)) {
        gguf_close(g);
        return NULL;
    }
    return g;
}

gguf *gguf_open_file(const char *path, err *e)
{
    map file;
    if (!map_open(&file, path, e))
        return NULL;
    gguf *g = gguf_read(file.bytes, file.length, file.length, path, NULL, e);
    if (g)
        g->file = file;
    else
        map_close(&file);
    return g;
}

gguf *gguf_open(const char *path, err *e)
{
    gguf *g = gguf_open_file(path, e);
    return g ? gguf_open_parts(g, path, e) : NULL;
}

void gguf_close(gguf *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->part_count; i++)
        gguf_close(g->parts[i]);
    free(g->parts);
    gguf_free_values(g);
    free(g->tensors);
    free(g->by_name);
    free(g->name);
    map_close(&g->file);
    free(g);
}

uint32_t gguf_version(const gguf *g)
{
    return g->version;
}
