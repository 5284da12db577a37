/* gguf_write: metadata and tensors written to a GGUF file in the order of the calls. */
#include "model/gguf_write.h"
#include "base/file_new.h"
#include "base/str.h"
#include "model/unicode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 3, ALIGNMENT = 32, BUFFER_BYTES = 1 << 20, COUNTS_AT = 8 };

struct gguf_writer {
    char *path;  /* as it was given, for errors */
    file_new to; /* no target: a device, written in place */
    FILE *f;
    err e; /* the first thing that went wrong */
    uint64_t key_count, tensor_count;
    uint64_t written;    /* bytes of the file */
    gguf_kind item_kind; /* of the array being told */
    uint64_t items_left;
    bool in_data;
    uint64_t data_bytes; /* what the tensors' places need, paddings too */
    uint64_t *ends;      /* (tensor_count) where each tensor's data end, in the data */
    size_t ends_capacity;
    uint64_t data_at, tensor_at; /* how far the data are: bytes, tensors */
};

/* ---- the file -------------------------------------------------------------- */

static bool cannot_write(gguf_writer *w, int why)
{
    return err_set(&w->e, "%s: cannot write: %s", w->path, strerror(why));
}

static int open_target(gguf_writer *w)
{
    struct stat info;
    bool there = stat(w->path, &info) == 0;
    if (there && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (there && !S_ISREG(info.st_mode)) /* a device: it cannot be replaced by a rename */
        return open(w->path, O_WRONLY | O_CLOEXEC);
    return file_new_open(&w->to, w->path) ? w->to.fd : -1;
}

static void discard(gguf_writer *w)
{
    file_new_free(&w->to);
    free(w->ends);
    free(w->path);
    free(w);
}

/* ---- bytes ------------------------------------------------------------------- */

static void put(gguf_writer *w, const void *bytes, size_t count)
{
    if (w->e.kind != ERR_NONE)
        return;
    if (fwrite(bytes, 1, count, w->f) != count)
        cannot_write(w, errno);
    w->written += count;
}

/* Files are little-endian. */
static void put_whole(gguf_writer *w, uint64_t value, size_t bytes)
{
    uint8_t b[8];
    for (size_t i = 0; i < bytes; i++)
        b[i] = (uint8_t)(value >> 8 * i);
    put(w, b, bytes);
}

static void put_text(gguf_writer *w, const char *text, size_t length)
{
    put_whole(w, length, 8);
    put(w, text, length);
}

static void put_padding(gguf_writer *w, uint64_t count)
{
    static const char zeros[ALIGNMENT];
    put(w, zeros, count);
}

static uint64_t aligned(uint64_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

gguf_writer *gguf_writer_open(const char *path, err *e)
{
    gguf_writer *w = mem_alloc(sizeof *w);
    w->path = mem_dup(path);
    int fd = open_target(w);
    w->f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!w->f) {
        cannot_write(w, errno);
        err_set(e, "%s", w->e.text);
        if (fd >= 0)
            close(fd);
        discard(w);
        return NULL;
    }
    setvbuf(w->f, NULL, _IOFBF, BUFFER_BYTES);
    put(w, "GGUF", 4);
    put_whole(w, VERSION, 4);
    put_whole(w, 0, 8); /* how many tensors and keys there are is known at the end */
    put_whole(w, 0, 8);
    return w;
}

/* ---- keys -------------------------------------------------------------------- */

static size_t kind_bytes(gguf_kind kind)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return (size_t)kind < sizeof bytes ? bytes[kind] : 0;
}

static void misuse(gguf_writer *w, const char *what)
{
    err_set(&w->e, "%s: %s", w->path, what);
}

static void put_key(gguf_writer *w, const char *key, gguf_kind kind)
{
    if (w->tensor_count || w->items_left)
        misuse(w, w->items_left ? "an array with items missing" : "a key behind a tensor");
    put_text(w, key, strlen(key));
    put_whole(w, kind, 4);
    w->key_count++;
}

static void put_whole_value(gguf_writer *w, gguf_kind kind, int64_t value)
{
    if (kind == GGUF_KIND_F32 || kind == GGUF_KIND_F64 || kind_bytes(kind) == 0)
        misuse(w, "a whole number for another kind of value");
    put_whole(w, kind == GGUF_KIND_BOOL ? value != 0 : (uint64_t)value, kind_bytes(kind));
}

static void put_real_value(gguf_writer *w, gguf_kind kind, double value)
{
    float narrow = (float)value;
    uint32_t bits32;
    uint64_t bits64;
    memcpy(&bits32, &narrow, sizeof bits32);
    memcpy(&bits64, &value, sizeof bits64);
    if (kind != GGUF_KIND_F32 && kind != GGUF_KIND_F64)
        misuse(w, "a number with a fraction for another kind of value");
    put_whole(w, kind == GGUF_KIND_F32 ? bits32 : bits64, kind_bytes(kind));
}

void gguf_write_whole(gguf_writer *w, const char *key, gguf_kind kind, int64_t value)
{
    put_key(w, key, kind);
    put_whole_value(w, kind, value);
}

void gguf_write_real(gguf_writer *w, const char *key, gguf_kind kind, double value)
{
    put_key(w, key, kind);
    put_real_value(w, kind, value);
}

void gguf_write_u32(gguf_writer *w, const char *key, uint32_t value)
{
    gguf_write_whole(w, key, GGUF_KIND_U32, value);
}

void gguf_write_f32(gguf_writer *w, const char *key, float value)
{
    gguf_write_real(w, key, GGUF_KIND_F32, (double)value);
}

void gguf_write_bool(gguf_writer *w, const char *key, bool value)
{
    gguf_write_whole(w, key, GGUF_KIND_BOOL, value);
}

/* A text is UTF-8: what is none, in a folder's name for one, becomes U+FFFD. */
void gguf_write_text(gguf_writer *w, const char *key, const char *text)
{
    str whole = {0};
    str_add(&whole, "");
    for (size_t left = strlen(text); left;) {
        int n = utf8_length(text, left);
        if (n > 0)
            str_add_bytes(&whole, text, (size_t)n);
        else
            str_add(&whole, "\xef\xbf\xbd");
        n = n > 0 ? n : 1;
        text += n;
        left -= (size_t)n;
    }
    put_key(w, key, GGUF_KIND_TEXT);
    put_text(w, whole.data, whole.length);
    str_free(&whole);
}

void gguf_write_array(gguf_writer *w, const char *key, gguf_kind items, uint64_t count)
{
    put_key(w, key, GGUF_KIND_ARRAY);
    put_whole(w, items, 4);
    put_whole(w, count, 8);
    w->item_kind = items;
    w->items_left = count;
}

static void take_item(gguf_writer *w)
{
    if (w->items_left == 0)
        misuse(w, "more items than the array was to have");
    else
        w->items_left--;
}

void gguf_write_item_whole(gguf_writer *w, int64_t value)
{
    take_item(w);
    put_whole_value(w, w->item_kind, value);
}

void gguf_write_item_real(gguf_writer *w, double value)
{
    take_item(w);
    put_real_value(w, w->item_kind, value);
}

void gguf_write_item_text(gguf_writer *w, const char *text, size_t length)
{
    take_item(w);
    if (w->item_kind != GGUF_KIND_TEXT)
        misuse(w, "a text in an array of numbers");
    put_text(w, text, length);
}

static uint64_t get_whole(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* The bytes of a value in a file that was checked when it was opened. */
static size_t value_bytes(gguf_kind kind, const uint8_t *at)
{
    if (kind == GGUF_KIND_TEXT)
        return 8 + get_whole(at, 8);
    if (kind != GGUF_KIND_ARRAY)
        return kind_bytes(kind);
    gguf_kind items = (gguf_kind)get_whole(at, 4);
    uint64_t count = get_whole(at + 4, 8);
    if (kind_bytes(items))
        return 12 + count * kind_bytes(items);
    size_t n = 12;
    for (; count; count--)
        n += value_bytes(items, at + n);
    return n;
}

/* In the file a key's kind and value stand right behind its name. */
void gguf_write_copy(gguf_writer *w, const gguf *from, size_t i)
{
    gguf_text key = gguf_key_at(from, i);
    const uint8_t *at = (const uint8_t *)key.data + key.length;
    gguf_kind kind = (gguf_kind)get_whole(at, 4);
    char *name = mem_alloc(key.length + 1);
    memcpy(name, key.data, key.length);
    put_key(w, name, kind);
    put(w, at + 4, value_bytes(kind, at + 4));
    free(name);
}

/* ---- tensors ------------------------------------------------------------------ */

void gguf_write_tensor(gguf_writer *w, const char *name, tensor_type type, uint32_t dim_count, const uint64_t *dims)
{
    const type_info *info = type_find(type);
    uint64_t weights = 1;
    for (uint32_t i = 0; i < dim_count; i++)
        weights *= dims[i];
    if (w->in_data || w->items_left)
        misuse(w, w->items_left ? "an array with items missing" : "a tensor behind data");
    if (!info || dim_count < 1 || dim_count > GGUF_MAX_DIMS || dims[0] % info->block_weights) {
        misuse(w, "a tensor of a shape that its type cannot have");
        return;
    }
    put_text(w, name, strlen(name));
    put_whole(w, dim_count, 4);
    for (uint32_t i = 0; i < dim_count; i++)
        put_whole(w, dims[i], 8);
    put_whole(w, type, 4);
    put_whole(w, w->data_bytes, 8);
    if (w->tensor_count == w->ends_capacity) {
        w->ends_capacity = w->ends_capacity ? 2 * w->ends_capacity : 64;
        w->ends = mem_grow(w->ends, w->ends_capacity * sizeof *w->ends);
    }
    w->ends[w->tensor_count++] = w->data_bytes + type_bytes(type, weights);
    w->data_bytes = aligned(w->ends[w->tensor_count - 1]);
}

static void begin_data(gguf_writer *w)
{
    if (w->items_left)
        misuse(w, "an array with items missing");
    if (!w->in_data)
        put_padding(w, aligned(w->written) - w->written);
    w->in_data = true;
}

/* Past the ends of tensors that are complete, and of empty ones. */
static void finish_tensors(gguf_writer *w)
{
    while (w->tensor_at < w->tensor_count && w->data_at == w->ends[w->tensor_at]) {
        uint64_t next = aligned(w->data_at);
        put_padding(w, next - w->data_at);
        w->data_at = next;
        w->tensor_at++;
    }
}

bool gguf_write_data(gguf_writer *w, const void *bytes, size_t count)
{
    begin_data(w);
    const uint8_t *at = bytes;
    for (finish_tensors(w); count && w->e.kind == ERR_NONE; finish_tensors(w)) {
        if (w->tensor_at == w->tensor_count) {
            misuse(w, "more data than the tensors have");
            break;
        }
        uint64_t left = w->ends[w->tensor_at] - w->data_at;
        size_t now = count < left ? count : (size_t)left;
        put(w, at, now);
        w->data_at += now;
        at += now;
        count -= now;
    }
    return w->e.kind == ERR_NONE;
}

bool gguf_write_no_data(gguf_writer *w)
{
    begin_data(w);
    uint64_t left = w->data_bytes - w->data_at;
    if (w->e.kind == ERR_NONE && (fflush(w->f) != 0 || ftruncate(fileno(w->f), (off_t)(w->written + left)) != 0))
        return cannot_write(w, errno);
    w->written += left;
    w->data_at = w->data_bytes;
    w->tensor_at = w->tensor_count;
    return w->e.kind == ERR_NONE;
}

/* ---- the end -------------------------------------------------------------------- */

static bool write_counts(gguf_writer *w)
{
    if (fflush(w->f) != 0 || fseeko(w->f, COUNTS_AT, SEEK_SET) != 0)
        return cannot_write(w, errno);
    put_whole(w, w->tensor_count, 8);
    put_whole(w, w->key_count, 8);
    if (fflush(w->f) != 0)
        return cannot_write(w, errno);
    return w->e.kind == ERR_NONE;
}

static bool take_place(gguf_writer *w)
{
    return !w->to.target || file_new_place(&w->to, true) || cannot_write(w, errno);
}

bool gguf_writer_close(gguf_writer *w, bool keep, err *e)
{
    if (keep) {
        begin_data(w);
        finish_tensors(w);
        if (w->tensor_at < w->tensor_count)
            misuse(w, "data of tensors are missing");
    }
    bool ok = keep && w->e.kind == ERR_NONE && write_counts(w) && take_place(w);
    if (fclose(w->f) != 0 && ok)
        ok = cannot_write(w, errno);
    if (w->e.kind != ERR_NONE)
        err_set(e, "%s", w->e.text);
    discard(w);
    return ok;
}
