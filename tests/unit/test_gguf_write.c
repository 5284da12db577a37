/* Writing GGUF: every kind of value, tensors in pieces, what goes wrong; random weights. */
#include "base/file.h"
#include "base/str.h"
#include "model/gguf_layout.h"
#include "model/gguf_test.h"
#include "model/gguf_write.h"
#include "model/synth_test.h"
#include "temporary.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[TEMPORARY_BYTES], path[TEMPORARY_FILE_BYTES];

static int make_folder(void **state)
{
    (void)state;
    if (!temporary_folder(folder, "gguf"))
        return 1;
    snprintf(path, sizeof path, "%s/out.gguf", folder);
    return 0;
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *f; (f = readdir(d));)
        count += f->d_name[0] != '.';
    closedir(d);
    return count;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static gguf_writer *open_writer(void)
{
    err e = {0};
    gguf_writer *w = gguf_writer_open(path, &e);
    if (!w)
        fail_msg("%s", e.text);
    gguf_write_text(w, "general.architecture", "llama");
    return w;
}

static gguf *close_and_read(gguf_writer *w)
{
    err e = {0};
    if (!gguf_writer_close(w, true, &e))
        fail_msg("%s", e.text);
    gguf *g = gguf_open(path, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

static void expect_failure(gguf_writer *w, const char *part)
{
    err e = {0};
    assert_false(gguf_writer_close(w, true, &e));
    if (!strstr(e.text, part) || !strstr(e.text, path))
        fail_msg("the error is '%s'", e.text);
    assert_int_equal(files_in_folder(), 0);
}

/* ---- keys ------------------------------------------------------------------ */

static void write_every_kind(gguf_writer *w)
{
    gguf_write_whole(w, "u8", GGUF_KIND_U8, 200);
    gguf_write_whole(w, "i8", GGUF_KIND_I8, -100);
    gguf_write_whole(w, "u16", GGUF_KIND_U16, 60000);
    gguf_write_whole(w, "i16", GGUF_KIND_I16, -30000);
    gguf_write_u32(w, "u32", 4000000000u);
    gguf_write_whole(w, "i32", GGUF_KIND_I32, -7);
    gguf_write_f32(w, "f32", 0.1f);
    gguf_write_bool(w, "bool", true);
    gguf_write_text(w, "text", "h\xc3\xa4llo");
    gguf_write_text(w, "broken",
                    "a\xff"
                    "b\xc3");
    gguf_write_whole(w, "u64", GGUF_KIND_U64, 5);
    gguf_write_whole(w, "i64", GGUF_KIND_I64, -5);
    gguf_write_real(w, "f64", GGUF_KIND_F64, 0.25);
    gguf_write_array(w, "texts", GGUF_KIND_TEXT, 2);
    gguf_write_item_text(w, "a\0b", 3);
    gguf_write_item_text(w, "", 0);
    gguf_write_array(w, "i32s", GGUF_KIND_I32, 3);
    for (int i = -1; i < 2; i++)
        gguf_write_item_whole(w, i);
    gguf_write_array(w, "f32s", GGUF_KIND_F32, 1);
    gguf_write_item_real(w, -1.5);
    gguf_write_array(w, "none", GGUF_KIND_U8, 0);
}

static void expect_every_kind(const gguf *g)
{
    err e = {0};
    uint32_t u;
    float f;
    bool b;
    gguf_text text;
    gguf_array a;
    static const struct {
        const char *key;
        uint32_t value;
    } whole[] = {{"u8", 200}, {"u16", 60000}, {"u32", 4000000000u}, {"u64", 5}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        assert_true(gguf_get_u32(g, whole[i].key, &u, &e));
        assert_int_equal(u, whole[i].value);
    }
    static const char *const negative[] = {"i8", "i16", "i32", "i64"};
    for (int i = 0; i < 4; i++)
        assert_false(gguf_get_u32(g, negative[i], &u, NULL));
    assert_true(gguf_get_f32(g, "f32", &f, &e) && f == 0.1f);
    assert_true(gguf_get_f32(g, "f64", &f, &e) && f == 0.25f);
    assert_true(gguf_get_bool(g, "bool", &b, &e) && b);
    assert_true(gguf_get_text(g, "text", &text, &e) && text.length == 6);
    assert_true(gguf_get_text(g, "broken", &text, &e) && text.length == 8);
    assert_memory_equal(text.data,
                        "a\xef\xbf\xbd"
                        "b\xef\xbf\xbd",
                        8);
    assert_true(gguf_get_texts(g, "texts", &a, &e) && a.count == 2);
    assert_int_equal(gguf_array_text(&a, 0).length, 3);
    assert_memory_equal(gguf_array_text(&a, 0).data, "a\0b", 3);
    assert_true(gguf_get_numbers(g, "i32s", &a, &e) && a.count == 3);
    assert_int_equal(gguf_array_int(&a, 0), -1);
    assert_true(gguf_get_numbers(g, "f32s", &a, &e) && gguf_array_float(&a, 0) == -1.5);
    assert_true(gguf_get_numbers(g, "none", &a, &e) && a.count == 0);
}

static void every_kind_comes_back(void **state)
{
    (void)state;
    gguf_writer *w = open_writer();
    write_every_kind(w);
    gguf *g = close_and_read(w);
    assert_int_equal(gguf_version(g), 3);
    expect_every_kind(g);
    gguf_close(g);
}

static void keys_are_copied_as_they_stand(void **state)
{
    (void)state;
    err e = {0};
    gguf_writer *w = open_writer();
    write_every_kind(w);
    gguf *g = close_and_read(w);
    size_t length, again;
    char *first = file_read(path, 1 << 20, &length, &e);
    w = gguf_writer_open(path, &e); /* the file that is read is replaced, not changed */
    for (size_t i = 0; i < gguf_key_count(g); i++)
        gguf_write_copy(w, g, i);
    gguf *copy = close_and_read(w);
    expect_every_kind(copy);
    expect_every_kind(g);
    char *second = file_read(path, 1 << 20, &again, &e);
    assert_int_equal(length, again);
    assert_memory_equal(first, second, length);
    free(first);
    free(second);
    gguf_close(copy);
    gguf_close(g);
}

/* ---- tensors --------------------------------------------------------------- */

static void tensors_come_in_pieces(void **state)
{
    (void)state;
    gguf_writer *w = open_writer();
    gguf_write_tensor(w, "a", TYPE_F32, 1, (uint64_t[]){3});
    gguf_write_tensor(w, "b", TYPE_Q4_0, 2, (uint64_t[]){32, 5});
    gguf_write_tensor(w, "c", TYPE_F16, 2, (uint64_t[]){1, 1});
    uint8_t data[12 + 90 + 2];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    /* over the ends of tensors, byte by byte, nothing */
    assert_true(gguf_write_data(w, data, 5));
    assert_true(gguf_write_data(w, data + 5, 0));
    assert_true(gguf_write_data(w, data + 5, 20));
    for (size_t i = 25; i < sizeof data; i++)
        assert_true(gguf_write_data(w, data + i, 1));
    gguf *g = close_and_read(w);
    assert_int_equal(gguf_tensor_count(g), 3);
    const gguf_tensor *a = gguf_find_tensor(g, "a"), *b = gguf_find_tensor(g, "b"), *c = gguf_find_tensor(g, "c");
    assert_memory_equal(a->data, data, 12);
    assert_memory_equal(b->data, data + 12, 90);
    assert_memory_equal(c->data, data + 102, 2);
    assert_int_equal(b->dims[0], 32);
    assert_int_equal(b->dims[1], 5);
    assert_int_equal(a->offset % 32 + b->offset % 32 + c->offset % 32, 0);
    gguf_close(g);
}

static void missing_and_surplus_tensors_are_errors(void **state)
{
    (void)state;
    gguf_writer *w = open_writer();
    gguf_write_tensor(w, "a", TYPE_F32, 1, (uint64_t[]){3});
    gguf_write_data(w, "12345678", 8);
    expect_failure(w, "missing");

    w = open_writer();
    gguf_write_tensor(w, "a", TYPE_F32, 1, (uint64_t[]){1});
    assert_false(gguf_write_data(w, "12345678", 8));
    expect_failure(w, "more data");

    w = open_writer();
    gguf_write_array(w, "a", GGUF_KIND_U8, 2);
    gguf_write_item_whole(w, 1);
    expect_failure(w, "items missing");

    w = open_writer();
    gguf_write_array(w, "a", GGUF_KIND_U8, 0);
    gguf_write_item_whole(w, 1);
    expect_failure(w, "more items");

    w = open_writer();
    gguf_write_tensor(w, "a", TYPE_Q4_0, 1, (uint64_t[]){33});
    expect_failure(w, "shape");

    w = open_writer();
    gguf_write_tensor(w, "a", TYPE_F32, 1, (uint64_t[]){1});
    gguf_write_u32(w, "late", 1);
    expect_failure(w, "behind a tensor");
}

/* ---- the file --------------------------------------------------------------- */

static void a_file_in_work_is_not_seen(void **state)
{
    (void)state;
    err e = {0};
    assert_true(file_write(path, "old", 3, &e));
    gguf_writer *w = open_writer();
    size_t length;
    char *text = file_read(path, 100, &length, &e);
    assert_string_equal(text, "old");
    free(text);
    assert_false(gguf_writer_close(w, false, &e));
    assert_int_equal(e.kind, ERR_NONE);
    text = file_read(path, 100, &length, &e);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(files_in_folder(), 1);
    gguf_close(close_and_read(open_writer()));
    assert_int_equal(files_in_folder(), 1);
    struct stat info;
    stat(path, &info);
    assert_int_equal(info.st_mode & 0400, 0400);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    err e = {0};
    char real[TEMPORARY_FILE_BYTES];
    struct stat info;
    snprintf(real, sizeof real, "%s/real.gguf", folder);
    assert_true(file_write(real, "old", 3, &e));
    assert_int_equal(symlink(real, path), 0);
    gguf_close(close_and_read(open_writer()));
    lstat(path, &info);
    assert_true(S_ISLNK(info.st_mode));
    unlink(real);
}

static void places_that_cannot_be_written(void **state)
{
    (void)state;
    err e = {0};
    assert_null(gguf_writer_open("/no/such/folder/x.gguf", &e));
    assert_non_null(strstr(e.text, "/no/such/folder/x.gguf"));
    e = (err){0};
    assert_null(gguf_writer_open(folder, &e));
    assert_non_null(strstr(e.text, folder));
    e = (err){0};
    assert_null(gguf_writer_open("", &e));

    e = (err){0};
    gguf_writer *w = gguf_writer_open("/dev/full", &e);
    assert_non_null(w);
    assert_false(gguf_writer_close(w, true, &e));
    assert_non_null(strstr(e.text, "/dev/full: cannot write: No space left"));
}

/* ---- layouts ------------------------------------------------------------------ */

static void types_follow_their_place(void **state)
{
    (void)state;
    assert_int_equal(layout_choose_type(ROLE_NORM, 64, TYPE_Q4_0, TYPE_Q8_0), TYPE_F32);
    assert_int_equal(layout_choose_type(ROLE_MATRIX, 64, TYPE_Q4_0, TYPE_Q8_0), TYPE_Q4_0);
    assert_int_equal(layout_choose_type(ROLE_EMBEDDING, 64, TYPE_Q4_0, TYPE_Q8_0), TYPE_Q4_0);
    assert_int_equal(layout_choose_type(ROLE_OUTPUT, 64, TYPE_Q4_0, TYPE_Q8_0), TYPE_Q8_0);
    assert_int_equal(layout_choose_type(ROLE_OUTPUT, 64, TYPE_F16, TYPE_Q8_0), TYPE_F16);
    assert_int_equal(layout_choose_type(ROLE_MATRIX, 48, TYPE_Q4_0, TYPE_Q8_0), TYPE_F16);
    assert_int_equal(layout_choose_type(ROLE_OUTPUT, 896, TYPE_Q4_0, TYPE_Q6_K), TYPE_Q8_0);
    assert_int_equal(layout_choose_type(ROLE_OUTPUT, 4096, TYPE_Q4_K, TYPE_Q6_K), TYPE_Q6_K);
    assert_int_equal(layout_choose_type(ROLE_MATRIX, 896, TYPE_Q4_K, TYPE_Q6_K), TYPE_Q5_0);
}

/* ---- random weights ------------------------------------------------------------- */

static void random_weights_are_as_asked_for(void **state)
{
    (void)state;
    enum { COUNT = 1 << 19 };
    const double deviation = 1 / 64.0;
    /* q3_k's weights lie half a step below zero, times a scale of 16 weights: neighbours have that in common */
    float *x = mem_alloc(COUNT * sizeof *x);
    uint8_t *bytes = mem_alloc(COUNT * sizeof *x), *again = mem_alloc(COUNT * sizeof *x);
    for (uint32_t type = 0; type < TYPE_NUMBERS; type++) {
        if (!type_find(type) || type == TYPE_IQ1_M) /* which synth does not make */
            continue;
        size_t length = type_bytes(type, COUNT);
        synth_weights(type, deviation, 7, bytes, COUNT);
        synth_weights(type, deviation, 7, again, COUNT);
        assert_memory_equal(bytes, again, length);
        synth_weights(type, deviation, 8, again, COUNT);
        assert_memory_not_equal(bytes, again, length);
        type_to_f32(type, bytes, x, COUNT);
        double sum = 0, squares = 0, neighbours = 0;
        for (size_t i = 0; i < COUNT; i++) {
            sum += (double)x[i];
            squares += (double)x[i] * (double)x[i];
            neighbours += i ? (double)x[i] * (double)x[i - 1] : 0;
        }
        double mean = sum / COUNT, got = sqrt(squares / COUNT);
        if (!(fabs(mean) < 0.02 * deviation) || !(fabs(got / deviation - 1) < 0.03) ||
            !(fabs(neighbours / squares) < 0.06))
            fail_msg("%s: mean %g, deviation %g, neighbours %g", type_find(type)->name, mean / deviation,
                     got / deviation, neighbours / squares);
    }
    free(x);
    free(bytes);
    free(again);
}

int main(void)
{
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(every_kind_comes_back),
        IN_FOLDER(keys_are_copied_as_they_stand),
        IN_FOLDER(tensors_come_in_pieces),
        IN_FOLDER(missing_and_surplus_tensors_are_errors),
        IN_FOLDER(a_file_in_work_is_not_seen),
        IN_FOLDER(a_link_stays_a_link),
        IN_FOLDER(places_that_cannot_be_written),
        cmocka_unit_test(types_follow_their_place),
        cmocka_unit_test(random_weights_are_as_asked_for),
    };
    return cmocka_run_group_tests_name("gguf_write", tests, NULL, NULL);
}
