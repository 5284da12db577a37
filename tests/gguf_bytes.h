/* GGUF files written byte by byte, so that tests have good and bad ones. */
#ifndef SOLO_TEST_GGUF_BYTES_H
#define SOLO_TEST_GGUF_BYTES_H

#include "base/str.h"
#include "model/gguf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64 };

typedef struct writer {
    str keys, tensors, data;
    uint64_t key_count, tensor_count;
    uint32_t version, alignment; /* 0: 3 and 32 */
} writer;

static inline void put(str *s, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        str_add_bytes(s, (char[]){i < 8 ? (char)(value >> 8 * i) : 0}, 1);
}

static inline void put_text(str *s, const char *text)
{
    put(s, strlen(text), 8);
    str_add(s, text);
}

static inline void add_key(writer *w, const char *name, uint32_t type)
{
    put_text(&w->keys, name);
    put(&w->keys, type, 4);
    w->key_count++;
}

static inline void add_number(writer *w, const char *name, uint32_t type, uint64_t value, size_t bytes)
{
    add_key(w, name, type);
    put(&w->keys, value, bytes);
}

static inline void add_real(writer *w, const char *name, uint32_t type, double value)
{
    uint64_t bits = 0;
    float narrow = (float)value;
    add_key(w, name, type);
    if (type == F32)
        memcpy(&bits, &narrow, 4);
    else
        memcpy(&bits, &value, 8);
    put(&w->keys, bits, type == F32 ? 4 : 8);
}

static inline void add_text(writer *w, const char *name, const char *value)
{
    add_key(w, name, TEXT);
    put_text(&w->keys, value);
}

/* The items are put behind it. */
static inline void add_array(writer *w, const char *name, uint32_t item, uint64_t count)
{
    add_key(w, name, ARRAY);
    put(&w->keys, item, 4);
    put(&w->keys, count, 8);
}

/* Its place in the list; `offset` is where its data would be. */
static inline void add_entry(writer *w, const char *name, uint32_t type, uint32_t dim_count, const uint64_t *dims,
                             uint64_t offset)
{
    put_text(&w->tensors, name);
    put(&w->tensors, dim_count, 4);
    for (uint32_t i = 0; i < dim_count; i++)
        put(&w->tensors, dims[i], 8);
    put(&w->tensors, type, 4);
    put(&w->tensors, offset, 8);
    w->tensor_count++;
}

static inline void pad(str *s, uint32_t alignment)
{
    while (s->length % alignment)
        put(s, 0, 1);
}

static inline uint32_t alignment_of(const writer *w)
{
    return w->alignment ? w->alignment : 32;
}

/* A tensor with data: bytes that count up. */
static inline void add_tensor(writer *w, const char *name, tensor_type type, uint32_t dim_count, const uint64_t *dims)
{
    uint64_t weights = 1;
    for (uint32_t i = 0; i < dim_count; i++)
        weights *= dims[i];
    pad(&w->data, alignment_of(w));
    add_entry(w, name, type, dim_count, dims, w->data.length);
    for (uint64_t i = 0; i < type_bytes(type, weights); i++)
        put(&w->data, i % 100, 1);
}

/* The file; the writer is used up. */
static inline str finish_file(writer *w)
{
    str s = {0};
    str_add(&s, "GGUF");
    put(&s, w->version ? w->version : 3, 4);
    put(&s, w->tensor_count, 8);
    put(&s, w->key_count, 8);
    if (w->keys.length)
        str_add_bytes(&s, w->keys.data, w->keys.length);
    if (w->tensors.length)
        str_add_bytes(&s, w->tensors.data, w->tensors.length);
    if (w->data.length) {
        pad(&s, alignment_of(w));
        str_add_bytes(&s, w->data.data, w->data.length);
    }
    str_free(&w->keys);
    str_free(&w->tensors);
    str_free(&w->data);
    return s;
}

/* A copy of exactly its length, so that a sanitizer sees a read past it. */
static inline gguf *read_copy(const char *bytes, size_t available, uint64_t file_bytes, uint64_t *wanted, char **copy,
                              err *e)
{
    *copy = mem_alloc(available);
    memcpy(*copy, bytes, available);
    return gguf_read(*copy, available, file_bytes, "m.gguf", wanted, e);
}

/* Every kind of value and several tensors. */
static inline str sample(uint32_t version)
{
    writer w = {.version = version};
    add_number(&w, "a.u8", U8, 200, 1);
    add_number(&w, "a.i8", I8, (uint8_t)-5, 1);
    add_number(&w, "a.u16", U16, 60000, 2);
    add_number(&w, "a.i16", I16, 300, 2);
    add_number(&w, "a.u32", U32, 4000000000u, 4);
    add_number(&w, "a.i32", I32, 70000, 4);
    add_number(&w, "a.u64", U64, 5, 8);
    add_number(&w, "a.big", U64, (uint64_t)1 << 40, 8);
    add_number(&w, "a.i64", I64, 6, 8);
    add_number(&w, "a.yes", BOOL, 1, 1);
    add_real(&w, "a.f32", F32, 1e-5);
    add_real(&w, "a.f64", F64, 0.5);
    add_real(&w, "a.huge", F64, 1e300);
    add_text(&w, "a.text",
             "gr\xc3\xb6\xc3\x9f"
             "er");
    add_text(&w, "a.empty", "");
    add_array(&w, "b.texts", TEXT, 3);
    put_text(&w.keys, "one");
    put_text(&w.keys, "");
    put_text(&w.keys, "\xff\xfe"); /* a token may be any bytes */
    add_array(&w, "b.i16", I16, 2);
    put(&w.keys, 0xffff, 2);
    put(&w.keys, 7, 2);
    add_array(&w, "b.f32", F32, 2);
    put(&w.keys, 0x3fc00000, 4); /* 1.5 */
    put(&w.keys, 0x7fc00000, 4);
    add_array(&w, "b.u64", U64, 1);
    put(&w.keys, UINT64_MAX, 8);
    add_array(&w, "b.bool", BOOL, 2);
    put(&w.keys, 1, 2);
    add_array(&w, "b.none", TEXT, 0);
    add_tensor(&w, "x.weight", TYPE_F32, 1, (uint64_t[]){3});
    add_tensor(&w, "y.weight", TYPE_F16, 2, (uint64_t[]){2, 5});
    add_tensor(&w, "a.weight", TYPE_Q8_0, 4, (uint64_t[]){32, 1, 2, 1});
    return finish_file(&w);
}

/* ---- reading them ---------------------------------------------------------- */

static inline gguf *read_good(const str *s)
{
    err e = {0};
    uint64_t wanted = 1;
    gguf *g = gguf_read(s->data, s->length, s->length, "m.gguf", &wanted, &e);
    if (!g)
        fail_msg("%s", e.text);
    assert_int_equal(e.kind, ERR_NONE);
    assert_int_equal(wanted, 0);
    return g;
}

/* The file is refused, with a line that has both texts in it. */
static inline void refused_bytes(const char *bytes, size_t length, const char *where, const char *why)
{
    err e = {0};
    uint64_t wanted = 1;
    char *copy;
    gguf *g = read_copy(bytes, length, length, &wanted, &copy, &e);
    if (g)
        fail_msg("was read, but: %s: %s", where, why);
    if (strncmp(e.text, "m.gguf: ", 8) || !strstr(e.text, where) || !strstr(e.text, why))
        fail_msg("the error is \"%s\", without \"%s\" or \"%s\"", e.text, where, why);
    assert_int_equal(wanted, 0);
    free(copy);
}

static inline void refused(writer *w, const char *where, const char *why)
{
    str s = finish_file(w);
    refused_bytes(s.data, s.length, where, why);
    str_free(&s);
}

/* Reads everything that was let through, so that a sanitizer sees it. */
static inline double touch_all(const gguf *g)
{
    double sum = 0;
    for (size_t i = 0; i < gguf_key_count(g); i++) {
        gguf_text k = gguf_key_at(g, i), t;
        char *name = mem_alloc(k.length + 1);
        memcpy(name, k.data, k.length);
        gguf_array a = {0};
        if (gguf_get_texts(g, name, &a, NULL) || gguf_get_numbers(g, name, &a, NULL))
            for (size_t n = 0; n < a.count; n++) {
                t = gguf_array_text(&a, n);
                sum += (t.length ? t.data[t.length - 1] : 0) + (double)gguf_array_int(&a, n) + gguf_array_float(&a, n);
            }
        if (gguf_get_text(g, name, &t, NULL) && t.length)
            sum += t.data[0] + t.data[t.length - 1];
        free(name);
    }
    for (size_t i = 0; i < gguf_tensor_count(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        if (t->data)
            sum += ((const uint8_t *)t->data)[0] + ((const uint8_t *)t->data)[t->bytes - 1];
    }
    return sum;
}

#endif
