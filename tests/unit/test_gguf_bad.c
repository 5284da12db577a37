/* src/model/gguf: files that are wrong, cut off or changed are refused with the reason, and do no harm. */
#include "base/err.h"
#include "base/rng.h"
#include "gguf_bytes.h"
#include "model/gguf_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
        add_array(&c, "list", U8, absurd[i] + !i);
        refused(&c, "key 'list'", "items, but the file has only");
        writer d = {0}, f = {0};
        add_array(&d, "list", TEXT, absurd[i]);
        refused(&d, "key 'list'", "items, but the file has only");
        add_key(&f, "text", TEXT);
        put(&f.keys, absurd[i], 8);
        refused(&f, "key 'text'", "the file has only 0 left");
    }
    /* many more texts than their lengths have room for */
    writer w = {0};
    add_array(&w, "list", TEXT, 3);
    put_text(&w.keys, "a long text in front of two that are not there");
    refused(&w, "key 'list'", "the file has only");
}

static void bad_keys_are_refused(void **unused)
{
    (void)unused;
    writer w = {0};
    add_number(&w, "first", U8, 1, 1);
    add_number(&w, "second", U8, 1, 1);
    add_number(&w, "first", U16, 1, 2);
    refused(&w, "key 'first'", "twice");
    writer type = {0};
    add_number(&type, "k", 13, 1, 8);
    refused(&type, "key 'k'", "unknown type of value (13)");
    writer item = {0};
    add_array(&item, "k", 99, 0);
    refused(&item, "key 'k'", "unknown type of value (99)");
    writer nested = {0};
    add_array(&nested, "k", ARRAY, 1);
    put(&nested.keys, 0, 12);
    refused(&nested, "key 'k'", "array of arrays");
    writer empty = {0};
    add_number(&empty, "", U8, 1, 2);
    refused(&empty, "key 0", "has no name");
    writer truth = {0};
    add_number(&truth, "k", BOOL, 2, 1);
    refused(&truth, "key 'k'", "a bool is 2");
    writer truths = {0};
    add_array(&truths, "k", BOOL, 2);
    put(&truths.keys, 0x0301, 2);
    refused(&truths, "key 'k'", "a bool is 3");
    char *name = mem_alloc(65537 + 1);
    memset(name, 'n', 65536);
    writer length = {0};
    add_number(&length, name, U8, 1, 1);
    refused(&length, "key 0", "65536 bytes, more than the 65535");
    name[65535] = 0;
    writer longest = {0};
    add_number(&longest, name, U8, 1, 1);
    str s = finish_file(&longest);
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
        add_number(&a, bad[i], U8, 1, 1);
        refused(&a, "key 0", "not plain UTF-8");
        add_text(&b, "k", bad[i]);
        refused(&b, "key 'k'", "not UTF-8");
        add_tensor(&c, bad[i], TYPE_F32, 1, (uint64_t[]){1});
        refused(&c, "tensor 0", "not plain UTF-8");
    }
    writer control = {0};
    add_number(&control, "a\x1b[2J", U8, 1, 1);
    refused(&control, "key 0", "not plain UTF-8");
    static const char *good[] = {"\x7f",         "\xc2\x80",         "\xdf\xbf",         "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "line\nline"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        writer w = {0};
        add_text(&w, "k", good[i]);
        str s = finish_file(&w);
        gguf_close(read_good(&s));
        str_free(&s);
    }
    /* a long name is cut between characters */
    writer w = {0};
    str name = {0};
    str_add(&name, "a");
    for (int i = 0; i < 100; i++)
        str_add(&name, "\xc3\xb6");
    add_number(&w, name.data, BOOL, 9, 1);
    refused(&w, "\xc3\xb6': a bool is 9", "");
    str_free(&name);
}

static void bad_tensors_are_refused(void **unused)
{
    (void)unused;
    const uint64_t four[] = {4, 1, 1, 1, 1};
    writer type = {0};
    add_entry(&type, "blk.0.w", 36, 1, four, 0);
    refused(&type, "tensor 'blk.0.w'", "type 36 is not supported");
    writer type2 = {0};
    add_entry(&type2, "w", UINT32_MAX, 1, four, 0);
    refused(&type2, "tensor 'w'", "type 4294967295 is not supported");
    writer twice = {0};
    add_tensor(&twice, "w", TYPE_F32, 1, four);
    add_tensor(&twice, "v", TYPE_F32, 1, four);
    add_tensor(&twice, "w", TYPE_F32, 1, four);
    refused(&twice, "tensor 'w'", "twice");
    writer overlap = {0};
    add_tensor(&overlap, "u", TYPE_F32, 1, (uint64_t[]){16}); /* 0 .. 63 */
    add_tensor(&overlap, "v", TYPE_F32, 1, four);
    add_entry(&overlap, "w", TYPE_F32, 1, four, 32);
    refused(&overlap, "tensor 'w'", "overlaps tensor 'u'");
    writer same = {0};
    add_tensor(&same, "u", TYPE_F32, 1, four);
    add_entry(&same, "w", TYPE_F32, 1, four, 0);
    refused(&same, "overlaps", "");
    writer odd = {0};
    add_tensor(&odd, "u", TYPE_F32, 1, (uint64_t[]){16});
    add_entry(&odd, "w", TYPE_F32, 1, four, 4);
    refused(&odd, "tensor 'w'", "offset 4 is not a multiple of the alignment 32");
    static const uint64_t beyond[] = {64, (uint64_t)1 << 62, UINT64_MAX - 31};
    for (size_t i = 0; i < 3; i++) {
        writer w = {0};
        add_tensor(&w, "u", TYPE_F32, 1, (uint64_t[]){16});
        add_entry(&w, "w", TYPE_F32, 1, four, beyond[i]);
        refused(&w, "tensor 'w'", "past the end of the file");
    }
    writer absent = {0};
    add_entry(&absent, "w", TYPE_F32, 1, four, 0);
    refused(&absent, "tensor 'w'", "past the end of the file");
    writer none = {0}, five = {0};
    add_entry(&none, "w", TYPE_F32, 0, four, 0);
    put(&none.data, 0, 64);
    refused(&none, "tensor 'w'", "0 dimensions");
    add_entry(&five, "w", TYPE_F32, 5, four, 0);
    refused(&five, "tensor 'w'", "5 dimensions");
    writer row = {0};
    add_entry(&row, "w", TYPE_Q4_K, 1, (uint64_t[]){128}, 0);
    refused(&row, "tensor 'w'", "rows of 128 weights cannot be q4_k");
    writer empty = {0};
    add_tensor(&empty, "", TYPE_F32, 1, four);
    refused(&empty, "tensor 0", "has no name");
    writer name = {0};
    add_tensor(&name, "12345678901234567890123456789012345678901234567890123456789012345", TYPE_F32, 1, four);
    refused(&name, "tensor 0", "65 bytes, more than the 64");
}

static void absurd_shapes_are_refused(void **unused)
{
    (void)unused;
    static const uint64_t zero[][4] = {{0, 1, 1, 1}, {4, 0, 1, 1}, {4, 1, 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        writer w = {0};
        add_entry(&w, "w", TYPE_F32, 4, zero[i], 0);
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
        add_entry(&w, "w", TYPE_F32, 4, absurd[i], 0);
        refused(&w, "tensor 'w'", "larger than any file");
    }
    static const uint64_t large[][4] = {{1000, 1, 1, 1}, {(uint64_t)1 << 62, 1, 1, 1}, {1 << 20, 1 << 20, 1 << 20, 1}};
    for (size_t i = 0; i < 3; i++) {
        writer w = {0};
        add_entry(&w, "w", TYPE_F32, 4, large[i], 0);
        refused(&w, "tensor 'w'", "more than the whole file");
    }
}

/* ---- every byte ------------------------------------------------------------ */

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

static void a_partial_header_reports_the_bytes_it_needs(void **unused)
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
    /* supplying the missing bytes each time reaches the end */
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
    add_array(&w, "list", TEXT, (uint64_t)1 << 40);
    str s = finish_file(&w);
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
        add_number(&w, name, U32, (uint64_t)(i * 7919 % KEYS), 4);
    }
    add_array(&w, "texts", TEXT, TEXTS);
    for (int i = 0; i < TEXTS; i++) {
        snprintf(name, sizeof name, "%d", i);
        put_text(&w.keys, name);
    }
    str s = finish_file(&w);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(absurd_counts_are_refused),
        cmocka_unit_test(bad_keys_are_refused),
        cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(bad_tensors_are_refused),
        cmocka_unit_test(absurd_shapes_are_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(a_partial_header_reports_the_bytes_it_needs),
        cmocka_unit_test(claims_of_a_large_file_cost_nothing),
        cmocka_unit_test(a_changed_byte_does_no_harm),
        cmocka_unit_test(many_keys_and_texts_are_found_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
