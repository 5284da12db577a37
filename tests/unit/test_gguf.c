/* src/model/gguf: files written here byte by byte, good and bad, and real ones
 * where they are to be had. */
#include "base/err.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "model/gguf_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a small writer -------------------------------------------------------- */

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64 };

typedef struct writer {
    str keys, tensors, data;
    uint64_t key_count, tensor_count;
    uint32_t version, alignment; /* 0: 3 and 32 */
} writer;

static void put(str *s, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        str_add_bytes(s, (char[]){i < 8 ? (char)(value >> 8 * i) : 0}, 1);
}

static void put_text(str *s, const char *text)
{
    put(s, strlen(text), 8);
    str_add(s, text);
}

static void key(writer *w, const char *name, uint32_t type)
{
    put_text(&w->keys, name);
    put(&w->keys, type, 4);
    w->key_count++;
}

static void number(writer *w, const char *name, uint32_t type, uint64_t value, size_t bytes)
{
    key(w, name, type);
    put(&w->keys, value, bytes);
}

static void real(writer *w, const char *name, uint32_t type, double value)
{
    uint64_t bits = 0;
    float narrow = (float)value;
    key(w, name, type);
    if (type == F32)
        memcpy(&bits, &narrow, 4);
    else
        memcpy(&bits, &value, 8);
    put(&w->keys, bits, type == F32 ? 4 : 8);
}

static void words(writer *w, const char *name, const char *value)
{
    key(w, name, TEXT);
    put_text(&w->keys, value);
}

/* The items are put behind it. */
static void array(writer *w, const char *name, uint32_t item, uint64_t count)
{
    key(w, name, ARRAY);
    put(&w->keys, item, 4);
    put(&w->keys, count, 8);
}

/* Its place in the list; `offset` is where its data would be. */
static void entry(writer *w, const char *name, uint32_t type, uint32_t dim_count, const uint64_t *dims, uint64_t offset)
{
    put_text(&w->tensors, name);
    put(&w->tensors, dim_count, 4);
    for (uint32_t i = 0; i < dim_count; i++)
        put(&w->tensors, dims[i], 8);
    put(&w->tensors, type, 4);
    put(&w->tensors, offset, 8);
    w->tensor_count++;
}

static void pad(str *s, uint32_t alignment)
{
    while (s->length % alignment)
        put(s, 0, 1);
}

static uint32_t alignment_of(const writer *w)
{
    return w->alignment ? w->alignment : 32;
}

/* A tensor with data: bytes that count up. */
static void tensor(writer *w, const char *name, tensor_type type, uint32_t dim_count, const uint64_t *dims)
{
    uint64_t weights = 1;
    for (uint32_t i = 0; i < dim_count; i++)
        weights *= dims[i];
    pad(&w->data, alignment_of(w));
    entry(w, name, type, dim_count, dims, w->data.length);
    for (uint64_t i = 0; i < type_bytes(type, weights); i++)
        put(&w->data, i % 100, 1);
}

/* The file; the writer is used up. */
static str finish(writer *w)
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
static gguf *read_copy(const char *bytes, size_t available, uint64_t file_bytes, uint64_t *wanted, char **copy, err *e)
{
    *copy = malloc(available ? available : 1);
    memcpy(*copy, bytes, available);
    return gguf_read(*copy, available, file_bytes, "m.gguf", wanted, e);
}

static gguf *read_good(const str *s)
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
static void refused_bytes(const char *bytes, size_t length, const char *where, const char *why)
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

static void refused(writer *w, const char *where, const char *why)
{
    str s = finish(w);
    refused_bytes(s.data, s.length, where, why);
    str_free(&s);
}

/* ---- good files ------------------------------------------------------------ */

/* Every kind of value and several tensors. */
static str sample(uint32_t version)
{
    writer w = {.version = version};
    number(&w, "a.u8", U8, 200, 1);
    number(&w, "a.i8", I8, (uint8_t)-5, 1);
    number(&w, "a.u16", U16, 60000, 2);
    number(&w, "a.i16", I16, 300, 2);
    number(&w, "a.u32", U32, 4000000000u, 4);
    number(&w, "a.i32", I32, 70000, 4);
    number(&w, "a.u64", U64, 5, 8);
    number(&w, "a.big", U64, (uint64_t)1 << 40, 8);
    number(&w, "a.i64", I64, 6, 8);
    number(&w, "a.yes", BOOL, 1, 1);
    real(&w, "a.f32", F32, 1e-5);
    real(&w, "a.f64", F64, 0.5);
    real(&w, "a.huge", F64, 1e300);
    words(&w, "a.text",
          "gr\xc3\xb6\xc3\x9f"
          "er");
    words(&w, "a.empty", "");
    array(&w, "b.texts", TEXT, 3);
    put_text(&w.keys, "one");
    put_text(&w.keys, "");
    put_text(&w.keys, "\xff\xfe"); /* a token may be any bytes */
    array(&w, "b.i16", I16, 2);
    put(&w.keys, 0xffff, 2);
    put(&w.keys, 7, 2);
    array(&w, "b.f32", F32, 2);
    put(&w.keys, 0x3fc00000, 4); /* 1.5 */
    put(&w.keys, 0x7fc00000, 4);
    array(&w, "b.u64", U64, 1);
    put(&w.keys, UINT64_MAX, 8);
    array(&w, "b.bool", BOOL, 2);
    put(&w.keys, 1, 2);
    array(&w, "b.none", TEXT, 0);
    tensor(&w, "x.weight", TYPE_F32, 1, (uint64_t[]){3});
    tensor(&w, "y.weight", TYPE_F16, 2, (uint64_t[]){2, 5});
    tensor(&w, "a.weight", TYPE_Q8_0, 4, (uint64_t[]){32, 1, 2, 1});
    return finish(&w);
}

static void values_are_read(void **unused)
{
    (void)unused;
    for (uint32_t version = 2; version <= 3; version++) {
        str s = sample(version);
        gguf *g = read_good(&s);
        err e = {0};
        uint32_t u;
        float f;
        bool b;
        gguf_text t;
        assert_int_equal(gguf_version(g), version);
        assert_int_equal(gguf_key_count(g), 21);
        assert_memory_equal(gguf_key_at(g, 0).data, "a.u8", 4);
        assert_memory_equal(gguf_key_at(g, 20).data, "b.none", 6);
        assert_int_equal(gguf_key_at(g, 21).length, 0);
        static const struct {
            const char *key;
            uint32_t value;
        } whole[] = {{"a.u8", 200},    {"a.u16", 60000}, {"a.i16", 300}, {"a.u32", 4000000000u},
                     {"a.i32", 70000}, {"a.u64", 5},     {"a.i64", 6}};
        for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
            assert_true(gguf_get_u32(g, whole[i].key, &u, &e));
            assert_true(u == whole[i].value);
        }
        assert_true(gguf_get_f32(g, "a.f32", &f, &e) && f == 1e-5f);
        assert_true(gguf_get_f32(g, "a.f64", &f, &e) && f == 0.5f);
        assert_true(gguf_get_bool(g, "a.yes", &b, &e) && b);
        assert_true(gguf_get_text(g, "a.text", &t, &e));
        assert_int_equal(t.length, 8);
        assert_memory_equal(t.data,
                            "gr\xc3\xb6\xc3\x9f"
                            "er",
                            8);
        assert_true(gguf_get_text(g, "a.empty", &t, &e) && t.length == 0);
        assert_true(gguf_has(g, "a.u8"));
        assert_false(gguf_has(g, "a.u") || gguf_has(g, "a.u88") || gguf_has(g, ""));
        gguf_close(g);
        str_free(&s);
    }
}

static void arrays_are_read(void **unused)
{
    (void)unused;
    str s = sample(3);
    gguf *g = read_good(&s);
    err e = {0};
    gguf_array a;
    assert_true(gguf_get_texts(g, "b.texts", &a, &e));
    assert_int_equal(a.count, 3);
    assert_int_equal(gguf_array_text(&a, 0).length, 3);
    assert_memory_equal(gguf_array_text(&a, 0).data, "one", 3);
    assert_int_equal(gguf_array_text(&a, 1).length, 0);
    assert_memory_equal(gguf_array_text(&a, 2).data, "\xff\xfe", 2);
    assert_int_equal(gguf_array_text(&a, 3).length, 0);
    assert_int_equal(gguf_array_int(&a, 0), 0);
    assert_true(gguf_get_numbers(g, "b.i16", &a, &e));
    assert_int_equal(a.count, 2);
    assert_int_equal(gguf_array_int(&a, 0), -1);
    assert_true(gguf_array_float(&a, 0) == -1 && gguf_array_float(&a, 1) == 7 && gguf_array_float(&a, 2) == 0);
    assert_int_equal(gguf_array_text(&a, 0).length, 0);
    assert_true(gguf_get_numbers(g, "b.f32", &a, &e));
    assert_true(gguf_array_float(&a, 0) == 1.5 && isnan(gguf_array_float(&a, 1)));
    assert_int_equal(gguf_array_int(&a, 0), 1);
    assert_int_equal(gguf_array_int(&a, 1), 0);
    assert_true(gguf_get_numbers(g, "b.u64", &a, &e));
    assert_true(gguf_array_int(&a, 0) == INT64_MAX && gguf_array_float(&a, 0) == 0x1p64);
    assert_true(gguf_get_numbers(g, "b.bool", &a, &e));
    assert_true(gguf_array_int(&a, 0) == 1 && gguf_array_int(&a, 1) == 0);
    assert_true(gguf_get_texts(g, "b.none", &a, &e) && a.count == 0);
    gguf_close(g);
    str_free(&s);
}

static void wrong_requests_say_what_is_there(void **unused)
{
    (void)unused;
    str s = sample(3);
    gguf *g = read_good(&s);
    uint32_t u;
    float f;
    bool b;
    gguf_text t;
    gguf_array a;
    err e[12] = {0};
    assert_false(gguf_get_u32(g, "no.such", &u, &e[0]));
    assert_string_equal(e[0].text, "m.gguf: key 'no.such': is missing");
    assert_false(gguf_get_u32(g, "a.i8", &u, &e[1]));
    assert_string_equal(e[1].text, "m.gguf: key 'a.i8': -5 is not between 0 and 4294967295");
    assert_false(gguf_get_u32(g, "a.big", &u, &e[2]));
    assert_string_equal(e[2].text, "m.gguf: key 'a.big': 1099511627776 is larger than 4294967295");
    assert_false(gguf_get_u32(g, "a.text", &u, &e[3]));
    assert_string_equal(e[3].text, "m.gguf: key 'a.text': is text, not a whole number");
    assert_false(gguf_get_u32(g, "a.f32", &u, &e[4]));
    assert_false(gguf_get_f32(g, "a.u8", &f, &e[5]));
    assert_false(gguf_get_f32(g, "a.huge", &f, &e[6]));
    assert_non_null(strstr(e[6].text, "1e+300 does not fit"));
    assert_false(gguf_get_bool(g, "a.u8", &b, &e[7]));
    assert_false(gguf_get_text(g, "b.texts", &t, &e[8]));
    assert_string_equal(e[8].text, "m.gguf: key 'b.texts': is an array of text, not text");
    assert_false(gguf_get_texts(g, "b.i16", &a, &e[9]));
    assert_false(gguf_get_numbers(g, "b.texts", &a, &e[10]));
    assert_false(gguf_get_numbers(g, "a.u8", &a, &e[11]));
    assert_string_equal(e[11].text, "m.gguf: key 'a.u8': is u8, not an array of numbers");
    assert_false(gguf_get_u32(g, "no.such", &u, NULL));
    assert_false(gguf_get_f32(g, "no.such", &f, NULL));
    assert_false(gguf_get_bool(g, "no.such", &b, NULL));
    assert_false(gguf_get_text(g, "no.such", &t, NULL));
    assert_false(gguf_get_texts(g, "no.such", &a, NULL));
    gguf_close(g);
    str_free(&s);
}

static void tensors_are_found_with_their_data(void **unused)
{
    (void)unused;
    str s = sample(3);
    gguf *g = read_good(&s);
    assert_int_equal(gguf_tensor_count(g), 3);
    const gguf_tensor *x = gguf_tensor_at(g, 0), *y = gguf_find_tensor(g, "y.weight"),
                      *a = gguf_find_tensor(g, "a.weight");
    assert_ptr_equal(x, gguf_find_tensor(g, "x.weight"));
    assert_ptr_equal(y, gguf_tensor_at(g, 1));
    assert_ptr_equal(a, gguf_tensor_at(g, 2));
    assert_null(gguf_tensor_at(g, 3));
    assert_null(gguf_find_tensor(g, "x"));
    assert_null(gguf_find_tensor(g, "z.weight"));
    assert_int_equal(y->type, TYPE_F16);
    assert_int_equal(y->dim_count, 2);
    assert_true(y->dims[0] == 2 && y->dims[1] == 5 && y->dims[2] == 1 && y->dims[3] == 1);
    assert_int_equal(y->bytes, 20);
    assert_int_equal(a->bytes, 68);
    for (size_t i = 0; i < 3; i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        assert_int_equal(t->offset % 32, 0);
        assert_ptr_equal(t->data, s.data + t->offset);
        assert_memory_equal(t->data, "\x00\x01\x02\x03\x04\x05\x06\x07", 8);
    }
    gguf_close(g);
    str_free(&s);
}

static void alignment_is_the_files(void **unused)
{
    (void)unused;
    writer w = {.alignment = 8};
    number(&w, "general.alignment", U32, 8, 4);
    tensor(&w, "a", TYPE_F32, 1, (uint64_t[]){1});
    tensor(&w, "b", TYPE_F32, 1, (uint64_t[]){1});
    str s = finish(&w);
    gguf *g = read_good(&s);
    assert_int_equal(gguf_tensor_at(g, 1)->offset - gguf_tensor_at(g, 0)->offset, 8);
    assert_int_equal(gguf_tensor_at(g, 1)->offset + 4, s.length);
    gguf_close(g);
    str_free(&s);
    static const uint32_t bad[] = {0, 1, 4, 33, 24, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        writer v = {0};
        number(&v, "general.alignment", U32, bad[i], 4);
        refused(&v, "key 'general.alignment'", "not a power of two");
    }
    writer v = {0};
    words(&v, "general.alignment", "32");
    refused(&v, "key 'general.alignment'", "is text");
    /* so large that the data would begin past the end */
    writer u = {0};
    number(&u, "general.alignment", U32, (uint64_t)1 << 31, 4);
    tensor(&u, "a", TYPE_F32, 1, (uint64_t[]){1});
    refused(&u, "tensor 'a'", "past the end of the file");
}

/* ---- bad files ------------------------------------------------------------- */

static void other_files_are_refused(void **unused)
{
    (void)unused;
    err e = {0};
    refused_bytes("", 0, "", "the file has only 0 left");
    refused_bytes("GG", 2, "", "the file has only 2 left");
    refused_bytes("PK\3\4 something else", 20, "", "not a GGUF file");
    assert_null(gguf_read(NULL, 0, 0, "m.gguf", NULL, &e));
    writer one = {.version = 1}, four = {.version = 4}, big = {.version = 3u << 24};
    refused(&one, "", "version 1 is not supported");
    refused(&four, "", "version 4 is not supported");
    refused(&big, "", "big-endian");
}

static void absurd_counts_are_refused(void **unused)
{
    (void)unused;
    static const uint64_t absurd[] = {2, 1000, (uint64_t)1 << 32, (uint64_t)1 << 60, UINT64_MAX / 8, UINT64_MAX};
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        writer a = {.key_count = absurd[i]}, b = {.tensor_count = absurd[i]}, c = {0};
        refused(&a, "", "more than a file of");
        refused(&b, "", "more than a file of");
        array(&c, "list", U8, absurd[i] + !i);
        refused(&c, "key 'list'", "items, but the file has only");
        writer d = {0}, f = {0};
        array(&d, "list", TEXT, absurd[i]);
        refused(&d, "key 'list'", "items, but the file has only");
        key(&f, "text", TEXT);
        put(&f.keys, absurd[i], 8);
        refused(&f, "key 'text'", "the file has only 0 left");
    }
    /* many more texts than their lengths have room for */
    writer w = {0};
    array(&w, "list", TEXT, 3);
    put_text(&w.keys, "a long text in front of two that are not there");
    refused(&w, "key 'list'", "the file has only");
}

static void bad_keys_are_refused(void **unused)
{
    (void)unused;
    writer w = {0};
    number(&w, "first", U8, 1, 1);
    number(&w, "second", U8, 1, 1);
    number(&w, "first", U16, 1, 2);
    refused(&w, "key 'first'", "twice");
    writer type = {0};
    number(&type, "k", 13, 1, 8);
    refused(&type, "key 'k'", "unknown type of value (13)");
    writer item = {0};
    array(&item, "k", 99, 0);
    refused(&item, "key 'k'", "unknown type of value (99)");
    writer nested = {0};
    array(&nested, "k", ARRAY, 1);
    put(&nested.keys, 0, 12);
    refused(&nested, "key 'k'", "array of arrays");
    writer empty = {0};
    number(&empty, "", U8, 1, 2);
    refused(&empty, "key 0", "has no name");
    writer truth = {0};
    number(&truth, "k", BOOL, 2, 1);
    refused(&truth, "key 'k'", "a bool is 2");
    writer truths = {0};
    array(&truths, "k", BOOL, 2);
    put(&truths.keys, 0x0301, 2);
    refused(&truths, "key 'k'", "a bool is 3");
    char *name = mem_alloc(65537 + 1);
    memset(name, 'n', 65536);
    writer length = {0};
    number(&length, name, U8, 1, 1);
    refused(&length, "key 0", "65536 bytes, more than the 65535");
    name[65535] = 0;
    writer longest = {0};
    number(&longest, name, U8, 1, 1);
    str s = finish(&longest);
    gguf *g = read_good(&s);
    assert_true(gguf_has(g, name));
    uint32_t u;
    err e = {0};
    assert_false(gguf_get_bool(g, name, &(bool){0}, &e)); /* the name is cut in the error */
    assert_true(strlen(e.text) < 200);
    assert_true(gguf_get_u32(g, name, &u, NULL));
    gguf_close(g);
    str_free(&s);
    free(name);
}

static void texts_are_utf8(void **unused)
{
    (void)unused;
    static const char *bad[] = {
        "\x80",             /* a middle without a beginning */
        "a\xc3",            /* a beginning without an end */
        "\xc3(",            /* another beginning inside */
        "\xc0\x80",         /* two bytes for zero */
        "\xc1\xbf",         /* two bytes for what fits one */
        "\xe0\x9f\xbf",     /* three for two */
        "\xf0\x8f\xbf\xbf", /* four for three */
        "\xed\xa0\x80",     /* half of a surrogate pair */
        "\xf4\x90\x80\x80", /* past U+10FFFF */
        "\xf5\x80\x80\x80",
        "\xff",
        "\xe2\x82",
        "\xf0\x9f\x98",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        writer a = {0}, b = {0}, c = {0};
        number(&a, bad[i], U8, 1, 1);
        refused(&a, "key 0", "not plain UTF-8");
        words(&b, "k", bad[i]);
        refused(&b, "key 'k'", "not UTF-8");
        tensor(&c, bad[i], TYPE_F32, 1, (uint64_t[]){1});
        refused(&c, "tensor 0", "not plain UTF-8");
    }
    writer control = {0};
    number(&control, "a\x1b[2J", U8, 1, 1);
    refused(&control, "key 0", "not plain UTF-8");
    static const char *good[] = {"\x7f",         "\xc2\x80",         "\xdf\xbf",         "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "line\nline"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        writer w = {0};
        words(&w, "k", good[i]);
        str s = finish(&w);
        gguf_close(read_good(&s));
        str_free(&s);
    }
    /* a long name is cut between characters */
    writer w = {0};
    str name = {0};
    str_add(&name, "a");
    for (int i = 0; i < 100; i++)
        str_add(&name, "\xc3\xb6");
    number(&w, name.data, BOOL, 9, 1);
    refused(&w, "\xc3\xb6': a bool is 9", "");
    str_free(&name);
}

static void bad_tensors_are_refused(void **unused)
{
    (void)unused;
    const uint64_t four[] = {4, 1, 1, 1, 1};
    writer type = {0};
    entry(&type, "blk.0.w", 23, 1, four, 0);
    refused(&type, "tensor 'blk.0.w'", "type 23 is not supported");
    writer type2 = {0};
    entry(&type2, "w", UINT32_MAX, 1, four, 0);
    refused(&type2, "tensor 'w'", "type 4294967295 is not supported");
    writer twice = {0};
    tensor(&twice, "w", TYPE_F32, 1, four);
    tensor(&twice, "v", TYPE_F32, 1, four);
    tensor(&twice, "w", TYPE_F32, 1, four);
    refused(&twice, "tensor 'w'", "twice");
    writer overlap = {0};
    tensor(&overlap, "u", TYPE_F32, 1, (uint64_t[]){16}); /* 0 .. 63 */
    tensor(&overlap, "v", TYPE_F32, 1, four);
    entry(&overlap, "w", TYPE_F32, 1, four, 32);
    refused(&overlap, "tensor 'w'", "overlaps tensor 'u'");
    writer same = {0};
    tensor(&same, "u", TYPE_F32, 1, four);
    entry(&same, "w", TYPE_F32, 1, four, 0);
    refused(&same, "overlaps", "");
    writer odd = {0};
    tensor(&odd, "u", TYPE_F32, 1, (uint64_t[]){16});
    entry(&odd, "w", TYPE_F32, 1, four, 4);
    refused(&odd, "tensor 'w'", "offset 4 is not a multiple of the alignment 32");
    static const uint64_t beyond[] = {64, (uint64_t)1 << 62, UINT64_MAX - 31};
    for (size_t i = 0; i < 3; i++) {
        writer w = {0};
        tensor(&w, "u", TYPE_F32, 1, (uint64_t[]){16});
        entry(&w, "w", TYPE_F32, 1, four, beyond[i]);
        refused(&w, "tensor 'w'", "past the end of the file");
    }
    writer absent = {0};
    entry(&absent, "w", TYPE_F32, 1, four, 0);
    refused(&absent, "tensor 'w'", "past the end of the file");
    writer none = {0}, five = {0};
    entry(&none, "w", TYPE_F32, 0, four, 0);
    put(&none.data, 0, 64);
    refused(&none, "tensor 'w'", "0 dimensions");
    entry(&five, "w", TYPE_F32, 5, four, 0);
    refused(&five, "tensor 'w'", "5 dimensions");
    writer row = {0};
    entry(&row, "w", TYPE_Q4_K, 1, (uint64_t[]){128}, 0);
    refused(&row, "tensor 'w'", "rows of 128 weights cannot be q4_k");
    writer empty = {0};
    tensor(&empty, "", TYPE_F32, 1, four);
    refused(&empty, "tensor 0", "has no name");
    writer name = {0};
    tensor(&name, "12345678901234567890123456789012345678901234567890123456789012345", TYPE_F32, 1, four);
    refused(&name, "tensor 0", "65 bytes, more than the 64");
}

static void absurd_shapes_are_refused(void **unused)
{
    (void)unused;
    static const uint64_t zero[][4] = {{0, 1, 1, 1}, {4, 0, 1, 1}, {4, 1, 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        writer w = {0};
        entry(&w, "w", TYPE_F32, 4, zero[i], 0);
        refused(&w, "tensor 'w': dimension", "is 0");
    }
    static const uint64_t absurd[][4] = {
        {UINT64_MAX, 1, 1, 1},
        {(uint64_t)1 << 63, 2, 1, 1},
        {(uint64_t)1 << 32, (uint64_t)1 << 32, 1, 1},
        {(uint64_t)1 << 20, (uint64_t)1 << 20, (uint64_t)1 << 20, (uint64_t)1 << 20},
    };
    for (size_t i = 0; i < 4; i++) {
        writer w = {0};
        entry(&w, "w", TYPE_F32, 4, absurd[i], 0);
        refused(&w, "tensor 'w'", "larger than any file");
    }
    static const uint64_t large[][4] = {{1000, 1, 1, 1}, {(uint64_t)1 << 62, 1, 1, 1}, {1 << 20, 1 << 20, 1 << 20, 1}};
    for (size_t i = 0; i < 3; i++) {
        writer w = {0};
        entry(&w, "w", TYPE_F32, 4, large[i], 0);
        refused(&w, "tensor 'w'", "more than the whole file");
    }
}

/* ---- every byte ------------------------------------------------------------ */

/* Reads everything that was let through, so that a sanitizer sees it. */
static double touch_all(const gguf *g)
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

static void a_file_cut_anywhere_is_refused(void **unused)
{
    (void)unused;
    str s = sample(3);
    for (size_t length = 0; length < s.length; length++) {
        err e = {0};
        uint64_t wanted = 1;
        char *copy;
        gguf *g = read_copy(s.data, length, length, &wanted, &copy, &e);
        assert_null(g);
        assert_int_equal(strncmp(e.text, "m.gguf: ", 8), 0);
        assert_int_equal(wanted, 0); /* no more bytes can come */
        free(copy);
    }
    str_free(&s);
}

static void a_header_in_parts_says_what_it_wants(void **unused)
{
    (void)unused;
    str s = sample(3);
    gguf *whole = read_good(&s);
    uint64_t data_at = gguf_tensor_at(whole, 0)->offset, last = 0;
    size_t header = 0, rounds = 0;
    for (size_t length = 0; length <= s.length; length++) {
        err e = {0};
        uint64_t wanted = 1;
        char *copy;
        gguf *g = read_copy(s.data, length, s.length, &wanted, &copy, &e);
        if (g) {
            header = header ? header : length;
            for (size_t i = 0; i < gguf_tensor_count(g); i++) {
                const gguf_tensor *t = gguf_tensor_at(g, i), *same = gguf_tensor_at(whole, i);
                assert_true(t->offset == same->offset && t->bytes == same->bytes);
                assert_true((t->data != NULL) == (t->offset + t->bytes <= length));
            }
            touch_all(g);
        } else {
            assert_int_equal(header, 0); /* once it is complete, it stays so */
            assert_true(wanted > length && wanted <= data_at && wanted >= last);
            assert_non_null(strstr(e.text, "more are needed"));
            last = wanted;
        }
        gguf_close(g);
        free(copy);
    }
    assert_true(header > 0 && header <= data_at && last == header);
    /* bringing what is wanted each time leads to the end */
    uint64_t have = 0, wanted = 0;
    gguf *g = NULL;
    for (; !g && rounds < 1000; rounds++, have = wanted ? wanted : have) {
        err e = {0};
        g = gguf_read(s.data, (size_t)have, s.length, "m.gguf", &wanted, &e);
    }
    assert_non_null(g);
    assert_int_equal(have, header);
    gguf_close(g);
    gguf_close(whole);
    str_free(&s);
}

static void claims_of_a_large_file_cost_nothing(void **unused)
{
    (void)unused;
    /* the file would be large enough for 2^40 texts, but its bytes are not here */
    writer w = {0};
    array(&w, "list", TEXT, (uint64_t)1 << 40);
    str s = finish(&w);
    err e = {0};
    uint64_t wanted = 0;
    assert_null(gguf_read(s.data, s.length, (uint64_t)1 << 60, "m.gguf", &wanted, &e));
    assert_true(wanted == s.length + ((uint64_t)8 << 40));
    str_free(&s);
}

static void a_changed_byte_does_no_harm(void **unused)
{
    (void)unused;
    static const uint8_t values[] = {0x00, 0x01, 0x07, 0x09, 0x7f, 0x80, 0xff};
    str s = sample(3);
    volatile double sum = 0;
    size_t read = 0, refused_count = 0;
    for (size_t at = 0; at < s.length; at++)
        for (size_t i = 0; i < sizeof values + 8; i++) {
            char was = s.data[at];
            s.data[at] = i < sizeof values ? (char)values[i] : (char)(was ^ 1 << (i - sizeof values));
            for (int part = 0; part < 2; part++) {
                err e = {0};
                char *copy;
                gguf *g = read_copy(s.data, s.length, s.length + (part ? 100000 : 0), NULL, &copy, &e);
                if (g)
                    sum += touch_all(g);
                else
                    assert_int_equal(strncmp(e.text, "m.gguf: ", 8), 0);
                *(g ? &read : &refused_count) += 1;
                gguf_close(g);
                free(copy);
            }
            s.data[at] = was;
        }
    assert_true(read > 1000 && refused_count > 1000);
    str_free(&s);
}

static void many_keys_and_texts_are_found_at_once(void **unused)
{
    (void)unused;
    enum { TEXTS = 200000, KEYS = 20000 };
    writer w = {0};
    char name[32];
    for (int i = 0; i < KEYS; i++) {
        snprintf(name, sizeof name, "key.%d", i * 7919 % KEYS);
        number(&w, name, U32, (uint64_t)(i * 7919 % KEYS), 4);
    }
    array(&w, "texts", TEXT, TEXTS);
    for (int i = 0; i < TEXTS; i++) {
        snprintf(name, sizeof name, "%d", i);
        put_text(&w.keys, name);
    }
    str s = finish(&w);
    gguf *g = read_good(&s);
    err e = {0};
    gguf_array a;
    assert_true(gguf_get_texts(g, "texts", &a, &e));
    assert_int_equal(a.count, TEXTS);
    for (int i = TEXTS - 1; i >= 0; i--) { /* backwards: nothing may be counted through */
        int length = snprintf(name, sizeof name, "%d", i);
        gguf_text t = gguf_array_text(&a, (size_t)i);
        assert_int_equal(t.length, length);
        assert_memory_equal(t.data, name, (size_t)length);
    }
    for (uint32_t i = 0, u; i < KEYS; i++) {
        snprintf(name, sizeof name, "key.%u", i);
        assert_true(gguf_get_u32(g, name, &u, &e) && u == i);
    }
    gguf_close(g);
    str_free(&s);
}

/* ---- files on disk --------------------------------------------------------- */

static void files_are_mapped(void **unused)
{
    (void)unused;
    char path[] = "/tmp/solo-gguf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    err e = {0};
    assert_null(gguf_open(path, &e)); /* empty */
    assert_int_equal(strncmp(e.text, path, strlen(path)), 0);
    str s = sample(3);
    err_clear(&e);
    assert_true(file_write(path, s.data, s.length, &e));
    gguf *g = gguf_open(path, &e);
    assert_non_null(g);
    assert_int_equal(gguf_tensor_count(g), 3);
    assert_memory_equal(gguf_tensor_at(g, 2)->data, "\x00\x01\x02\x03", 4);
    unlink(path); /* what is mapped stays */
    assert_true(touch_all(g) != 0);
    gguf_close(g);
    gguf_close(NULL);
    str_free(&s);

    assert_null(gguf_open("/no/such/file.gguf", &e));
    assert_string_equal(e.text, "/no/such/file.gguf: No such file or directory");
    err_clear(&e);
    assert_null(gguf_open("/tmp", &e));
    assert_string_equal(e.text, "/tmp: is a folder");
    err_clear(&e);
    assert_null(gguf_open("/dev/null", &e));
    assert_string_equal(e.text, "/dev/null: not a plain file");
    err_clear(&e);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(gguf_open(path, &e)); /* and does not wait for a writer */
    assert_non_null(strstr(e.text, "not a plain file"));
    unlink(path);
}

#define MODELS "../shared/models/stories260K/"

/* Of all weights: the root of the mean square, and of the difference. */
static void compare_files(const char *path, double limit)
{
    err e = {0};
    gguf *a = gguf_open(MODELS "f32.gguf", &e), *b = gguf_open(path, &e);
    if (!a || !b)
        fail_msg("%s", e.text);
    assert_int_equal(gguf_tensor_count(a), gguf_tensor_count(b));
    double square = 0, difference = 0;
    for (size_t i = 0; i < gguf_tensor_count(b); i++) {
        const gguf_tensor *y = gguf_tensor_at(b, i);
        char name[65] = "";
        memcpy(name, y->name.data, y->name.length);
        const gguf_tensor *x = gguf_find_tensor(a, name);
        assert_non_null(x);
        assert_memory_equal(x->dims, y->dims, sizeof x->dims);
        size_t weights = (size_t)(x->dims[0] * x->dims[1] * x->dims[2] * x->dims[3]);
        float *p = mem_alloc(weights * sizeof *p), *q = mem_alloc(weights * sizeof *q);
        type_to_f32(x->type, x->data, p, weights);
        type_to_f32(y->type, y->data, q, weights);
        for (size_t n = 0; n < weights; n++) {
            square += (double)p[n] * (double)p[n];
            difference += ((double)p[n] - (double)q[n]) * ((double)p[n] - (double)q[n]);
        }
        /* what we make of the f32 weights is, byte for byte, what is in the file */
        uint8_t *ours = mem_alloc((size_t)y->bytes);
        assert_true(type_from_f32(y->type, p, ours, weights));
        assert_memory_equal(ours, y->data, (size_t)y->bytes);
        free(ours);
        free(p);
        free(q);
    }
    double relative = sqrt(difference / square);
    if (!(relative <= limit))
        fail_msg("%s: the weights are off by %g of their size", path, relative);
    gguf_close(a);
    gguf_close(b);
}

static void a_real_model_is_the_same_in_every_type(void **unused)
{
    (void)unused;
    if (!file_exists(MODELS "f32.gguf"))
        skip();
    compare_files(MODELS "f32.gguf", 0);
    compare_files(MODELS "f16.gguf", 3e-4);
    compare_files(MODELS "bf16.gguf", 3e-3);
    compare_files(MODELS "q8_0.gguf", 1e-2);
    compare_files(MODELS "q5_1.gguf", 5e-2);
    compare_files(MODELS "q4_0.gguf", 0.12);
}

static void a_real_model_has_its_shape(void **unused)
{
    (void)unused;
    if (!file_exists(MODELS "f32.gguf"))
        skip();
    err e = {0};
    gguf *g = gguf_open(MODELS "f32.gguf", &e);
    if (!g)
        fail_msg("%s", e.text);
    uint32_t layers, width;
    gguf_text arch;
    gguf_array tokens, scores;
    assert_int_equal(gguf_tensor_count(g), 48);
    assert_true(gguf_get_text(g, "general.architecture", &arch, &e));
    assert_memory_equal(arch.data, "llama", arch.length);
    assert_true(gguf_get_u32(g, "llama.block_count", &layers, &e));
    assert_true(gguf_get_u32(g, "llama.embedding_length", &width, &e));
    assert_int_equal(layers, 5);
    assert_int_equal(width, 64);
    assert_true(gguf_get_texts(g, "tokenizer.ggml.tokens", &tokens, &e));
    assert_true(gguf_get_numbers(g, "tokenizer.ggml.scores", &scores, &e));
    assert_int_equal(tokens.count, 512);
    assert_int_equal(scores.count, 512);
    const gguf_tensor *t = gguf_find_tensor(g, "token_embd.weight");
    assert_non_null(t);
    assert_int_equal(t->dim_count, 2);
    assert_true(t->dims[0] == 64 && t->dims[1] == 512 && t->type == TYPE_F32);
    assert_non_null(gguf_find_tensor(g, "blk.4.ffn_down.weight"));
    assert_null(gguf_find_tensor(g, "blk.5.ffn_down.weight"));
    gguf_close(g);
}

static void real_vocabularies_are_read(void **unused)
{
    (void)unused;
    static const struct {
        const char *path, *model;
        size_t tokens;
        size_t index;
        const char *token;
    } files[] = {
        {"../shared/vocab/ggml-vocab-gpt-2.gguf", "gpt2", 50257, 50256, "<|endoftext|>"},
        {"../shared/vocab/ggml-vocab-llama-spm.gguf", "llama", 32000, 1, "<s>"},
        {"../shared/vocab/ggml-vocab-phi-3.gguf", "llama", 32064, 32000, "<|endoftext|>"},
    };
    if (!file_exists(files[0].path))
        skip();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        err e = {0};
        gguf *g = gguf_open(files[i].path, &e);
        if (!g)
            fail_msg("%s", e.text);
        gguf_text model;
        gguf_array tokens;
        assert_int_equal(gguf_tensor_count(g), 0);
        assert_true(gguf_get_text(g, "tokenizer.ggml.model", &model, &e));
        assert_int_equal(model.length, strlen(files[i].model));
        assert_memory_equal(model.data, files[i].model, model.length);
        assert_true(gguf_get_texts(g, "tokenizer.ggml.tokens", &tokens, &e));
        assert_int_equal(tokens.count, files[i].tokens);
        gguf_text t = gguf_array_text(&tokens, files[i].index);
        assert_int_equal(t.length, strlen(files[i].token));
        assert_memory_equal(t.data, files[i].token, t.length);
        touch_all(g);
        gguf_close(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(arrays_are_read),
        cmocka_unit_test(wrong_requests_say_what_is_there),
        cmocka_unit_test(tensors_are_found_with_their_data),
        cmocka_unit_test(alignment_is_the_files),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(absurd_counts_are_refused),
        cmocka_unit_test(bad_keys_are_refused),
        cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(bad_tensors_are_refused),
        cmocka_unit_test(absurd_shapes_are_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(a_header_in_parts_says_what_it_wants),
        cmocka_unit_test(claims_of_a_large_file_cost_nothing),
        cmocka_unit_test(a_changed_byte_does_no_harm),
        cmocka_unit_test(many_keys_and_texts_are_found_at_once),
        cmocka_unit_test(files_are_mapped),
        cmocka_unit_test(a_real_model_is_the_same_in_every_type),
        cmocka_unit_test(a_real_model_has_its_shape),
        cmocka_unit_test(real_vocabularies_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
