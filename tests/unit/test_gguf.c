/* src/model/gguf: good files, written here byte by byte, and real ones where they are to be had. */
#include "base/err.h"
#include "base/file.h"
#include "gguf_bytes.h"
#include "model/gguf_test.h"
#include "temporary.h"

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

/* ---- values and tensors ----------------------------------------------------- */

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
    add_number(&w, "general.alignment", U32, 8, 4);
    add_tensor(&w, "a", TYPE_F32, 1, (uint64_t[]){1});
    add_tensor(&w, "b", TYPE_F32, 1, (uint64_t[]){1});
    str s = finish_file(&w);
    gguf *g = read_good(&s);
    assert_int_equal(gguf_tensor_at(g, 1)->offset - gguf_tensor_at(g, 0)->offset, 8);
    assert_int_equal(gguf_tensor_at(g, 1)->offset + 4, s.length);
    gguf_close(g);
    str_free(&s);
    static const uint32_t bad[] = {0, 1, 4, 33, 24, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        writer v = {0};
        add_number(&v, "general.alignment", U32, bad[i], 4);
        refused(&v, "key 'general.alignment'", "not a power of two");
    }
    writer v = {0};
    add_text(&v, "general.alignment", "32");
    refused(&v, "key 'general.alignment'", "is text");
    /* so large that the data would begin past the end */
    writer u = {0};
    add_number(&u, "general.alignment", U32, (uint64_t)1 << 31, 4);
    add_tensor(&u, "a", TYPE_F32, 1, (uint64_t[]){1});
    refused(&u, "tensor 'a'", "past the end of the file");
}

/* ---- files on disk --------------------------------------------------------- */

static void files_are_mapped(void **unused)
{
    (void)unused;
    char path[TEMPORARY_BYTES];
    int fd = temporary_file(path, "gguf");
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
#ifndef _WIN32 /* has no pipes among files */
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(gguf_open(path, &e)); /* and does not wait for a writer */
    assert_non_null(strstr(e.text, "not a plain file"));
    unlink(path);
#endif
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
        cmocka_unit_test(files_are_mapped),
        cmocka_unit_test(a_real_model_is_the_same_in_every_type),
        cmocka_unit_test(a_real_model_has_its_shape),
        cmocka_unit_test(real_vocabularies_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
