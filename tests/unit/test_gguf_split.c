/* src/model/gguf_split: models in several files, good ones and what is refused. */
#include "base/err.h"
#include "base/file.h"
#include "gguf_bytes.h"
#include "model/model.h"
#include "temporary.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[TEMPORARY_BYTES];

/* What a part says of itself. */
typedef struct claims {
    uint32_t number, count, tensors;
    const char *arch, *tensor; /* NULL: none */
} claims;

static const char *path_of(const char *name)
{
    static char path[TEMPORARY_FILE_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_part(const char *name, const claims *c)
{
    writer w = {0};
    err e = {0};
    if (c->count) {
        add_number(&w, "split.no", U16, c->number, 2);
        add_number(&w, "split.count", U16, c->count, 2);
        add_number(&w, "split.tensors.count", I32, c->tensors, 4);
    }
    if (c->arch)
        add_text(&w, "general.architecture", c->arch);
    if (c->tensor)
        add_tensor(&w, c->tensor, TYPE_F32, 1, (uint64_t[]){c->number + 3});
    str s = finish_file(&w);
    if (!file_write(path_of(name), s.data, s.length, &e))
        fail_msg("%s", e.text);
    str_free(&s);
}

static const char *const NAMES[] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"};

static void write_good(void)
{
    write_part(NAMES[0], &(claims){0, 3, 2, "llama", "a"});
    write_part(NAMES[1], &(claims){1, 3, 2, NULL, NULL});
    write_part(NAMES[2], &(claims){2, 3, 2, NULL, "b"});
}

static void any_part_opens_all(void **unused)
{
    (void)unused;
    write_good();
    for (int i = 0; i < 3; i++) {
        err e = {0};
        gguf *g = gguf_open(path_of(NAMES[i]), &e);
        if (!g)
            fail_msg("%s", e.text);
        gguf_text arch;
        assert_true(gguf_get_text(g, "general.architecture", &arch, &e) && arch.length == 5);
        assert_int_equal(gguf_tensor_count(g), 2);
        const gguf_tensor *a = gguf_find_tensor(g, "a"), *b = gguf_find_tensor(g, "b");
        assert_true(a && b && a->dims[0] == 3 && b->dims[0] == 5);
        for (int k = 0; k < 20; k++) /* each from its own file */
            assert_int_equal(((const uint8_t *)b->data)[k], k);
        assert_ptr_not_equal(a->data, b->data);
        gguf_close(g);
    }
}

static void is_refused(const char *open, const char *why)
{
    err e = {0};
    gguf *g = gguf_open(path_of(open), &e);
    if (g)
        fail_msg("was opened, but: %s", why);
    if (!strstr(e.text, why) || strchr(e.text, '\n'))
        fail_msg("the error is \"%s\", without \"%s\"", e.text, why);
}

static void what_does_not_fit_is_refused(void **unused)
{
    (void)unused;
    static const struct {
        int part;
        claims c;
        const char *why;
    } cases[] = {
        {1, {0, 3, 2, NULL, NULL}, "says it is part 1 of 3, and should be part 2 of 3"},
        {1, {1, 4, 2, NULL, NULL}, "says it is part 2 of 4, and should be part 2 of 3"},
        {1, {0, 0, 0, NULL, NULL}, "says it is part 1 of 1, and should be part 2 of 3"},
        {1, {1, 3, 9, NULL, NULL}, "says the model has 9 tensors, and part 1 says 2"},
        {1, {1, 3, 2, "gemma", NULL}, "another architecture"},
        {1, {1, 3, 2, NULL, "c"}, "3 parts have 3 tensors, and should have 2"},
        {2, {2, 3, 2, NULL, "a"}, "tensor 'a': is there twice"},
        {2, {7, 3, 2, NULL, "b"}, "part 7 of 3, counted from 0"},
        {0, {0, 3, 3, "llama", "a"}, "says the model has 2 tensors, and part 1 says 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_good();
        write_part(NAMES[cases[i].part], &cases[i].c);
        is_refused(NAMES[cases[i].part == 0], cases[i].why);
    }
    write_good();
    unlink(path_of(NAMES[1]));
    is_refused(NAMES[2], "part 2 of 3: ");
    is_refused(NAMES[0], "m-00002-of-00003.gguf: No such file");
    err e = {0};
    assert_true(file_write(path_of(NAMES[1]), "GGUF", 4, &e));
    is_refused(NAMES[0], "m-00002-of-00003.gguf: ");
    write_part("other.gguf", &(claims){0, 3, 2, "llama", "a"});
    is_refused("other.gguf", "its name must end in -00001-of-00003.gguf");
    write_part("m-00001-of-65000.gguf", &(claims){0, 65000, 2, "llama", "a"});
    is_refused("m-00001-of-65000.gguf", "at most 1024");
}

static bool read_part(void *user, uint64_t offset, void *to, size_t bytes, err *e)
{
    (void)e;
    memcpy(to, ((const str *)user)->data + offset, bytes);
    return true;
}

static void a_reader_has_one_file(void **unused)
{
    (void)unused;
    write_good();
    err e = {0};
    str s = {0};
    s.data = file_read(path_of(NAMES[0]), 1 << 20, &s.length, &e);
    model_reader r = {s.length, read_part, &s};
    assert_null(model_open_reader(&r, "m.gguf", &e));
    assert_non_null(strstr(e.text, "m.gguf: is one of 3 parts"));
    free(s.data);
}

static int make_folder(void **unused)
{
    (void)unused;
    return temporary_folder(folder, "split") ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++)
        unlink(path_of(NAMES[i]));
    unlink(path_of("other.gguf"));
    unlink(path_of("m-00001-of-65000.gguf"));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_part_opens_all),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_reader_has_one_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
