/* gguf_reader: a GGUF header's numbers, texts and names, read with every bound checked. */
#include "base/str.h"
#include "model/gguf_internal.h"
#include "model/unicode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gguf_shown(gguf_text t)
{
    size_t n = t.length;
    if (n > GGUF_SHOWN_BYTES) {
        n = GGUF_SHOWN_BYTES;
        while (n && ((uint8_t)t.data[n] & 0xc0) == 0x80)
            n--;
    }
    return (int)n;
}

bool gguf_is_utf8(gguf_text t)
{
    for (size_t i = 0; i < t.length;) {
        int length = utf8_length(t.data + i, t.length - i);
        if (length <= 0)
            return false;
        i += (size_t)length;
    }
    return true;
}

static bool has_control_characters(gguf_text t)
{
    for (size_t i = 0; i < t.length; i++)
        if ((uint8_t)t.data[i] < 0x20 || t.data[i] == 0x7f)
            return true;
    return false;
}

int gguf_text_order(gguf_text a, gguf_text b)
{
    int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

bool gguf_reader_fail(gguf_reader *r, const char *fmt, ...)
{
    char what[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(r->e, "%s: %s: %s", r->name, r->where, what);
}

bool gguf_reader_need(gguf_reader *r, uint64_t n)
{
    uint64_t left = r->file_bytes - r->at;
    if (n > left || r->rest > left - n)
        return gguf_reader_fail(r,
                                "needs %" PRIu64 " bytes, and what follows %" PRIu64
                                " at the least, but the file has only %" PRIu64 " left",
                                n, r->rest, left);
    uint64_t here = r->available - r->at;
    if (n + r->rest > here) {
        uint64_t wanted = r->at + n + r->rest;
        if (r->wanted)
            *r->wanted = wanted;
        return gguf_reader_fail(
            r, "the header is longer than the first %zu bytes of the file: at least %" PRIu64 " more are needed",
            r->available, wanted - r->available);
    }
    return true;
}

uint64_t gguf_load(const uint8_t *p, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

bool gguf_reader_u32(gguf_reader *r, uint32_t *value)
{
    if (!gguf_reader_need(r, 4))
        return false;
    *value = (uint32_t)gguf_load(r->bytes + r->at, 4);
    r->at += 4;
    return true;
}

bool gguf_reader_u64(gguf_reader *r, uint64_t *value)
{
    if (!gguf_reader_need(r, 8))
        return false;
    *value = gguf_load(r->bytes + r->at, 8);
    r->at += 8;
    return true;
}

bool gguf_reader_text(gguf_reader *r, gguf_text *t)
{
    uint64_t length;
    if (!gguf_reader_u64(r, &length) || !gguf_reader_need(r, length))
        return false;
    *t = (gguf_text){(const char *)r->bytes + r->at, (size_t)length};
    r->at += (size_t)length;
    return true;
}

bool gguf_reader_name(gguf_reader *r, const char *what, size_t index, size_t limit_bytes, gguf_text *name)
{
    snprintf(r->where, sizeof r->where, "%s %zu", what, index);
    if (!gguf_reader_text(r, name))
        return false;
    if (name->length == 0)
        return gguf_reader_fail(r, "has no name");
    if (name->length > limit_bytes)
        return gguf_reader_fail(r, "its name has %zu bytes, more than the %zu that are allowed", name->length,
                                limit_bytes);
    if (!gguf_is_utf8(*name) || has_control_characters(*name))
        return gguf_reader_fail(r, "its name is not plain UTF-8 text");
    snprintf(r->where, sizeof r->where, "%s '%.*s'", what, gguf_shown(*name), name->data);
    return true;
}

void *gguf_with_room(void *list, size_t count, size_t item_bytes)
{
    bool full = count == 0 || (count >= 16 && (count & (count - 1)) == 0);
    return full ? mem_grow(list, (count ? 2 * count : 16) * item_bytes) : list;
}
