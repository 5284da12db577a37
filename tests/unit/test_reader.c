/* A model read in pieces is the model that is mapped. */
#include "base/str.h"
#include "model/builtin_test.h"
#include "model/decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file that is there in memory, of which no more than what was asked for is handed out. */
typedef struct pretended {
    const char *bytes;
    uint64_t count, most, fails_at; /* the largest read there was; a place that cannot be read */
} pretended;

static bool read_some(void *user, uint64_t offset, void *to, size_t bytes, err *e)
{
    pretended *p = user;
    assert_true(offset <= p->count && bytes <= p->count - offset);
    if (p->fails_at && offset + bytes > p->fails_at)
        return err_set(e, "the connection broke");
    p->most = bytes > p->most ? bytes : p->most;
    memcpy(to, p->bytes + offset, bytes);
    return true;
}

static pretended builtin_file(void)
{
    size_t count;
    const void *bytes = builtin_bytes(&count);
    return (pretended){.bytes = bytes, .count = count};
}

static model *open_in_pieces(pretended *p, err *e)
{
    return model_open_reader(&(model_reader){p->count, read_some, p}, "the file", e);
}

static void test_same_weights(void **state)
{
    (void)state;
    err e = {0};
    pretended file = builtin_file();
    model *pieces = open_in_pieces(&file, &e), *mapped = model_open(NULL, &e);
    if (!pieces || !mapped)
        fail_msg("%s", e.text);
    assert_memory_equal(model_get_config(pieces), model_get_config(mapped), sizeof(model_config));
    const gguf *g = model_get_gguf(mapped);
    size_t in_memory = 0;
    for (size_t i = 0; i < gguf_tensor_count(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        char name[160];
        model_weight w;
        snprintf(name, sizeof name, "%.*s", (int)t->name.length, t->name.data);
        assert_true(model_find_weight(pieces, name, &w, &e) && w.bytes == t->bytes);
        in_memory += w.data != NULL;
        /* all of it, and some in the middle */
        assert_memory_equal(model_read_weight(pieces, &w, 0, w.bytes, &e), t->data, t->bytes);
        uint64_t first = w.bytes / 3, bytes = w.bytes / 5;
        assert_memory_equal(model_read_weight(pieces, &w, first, bytes, &e), (const char *)t->data + first, bytes);
        assert_null(model_read_weight(pieces, &w, 1, w.bytes, &e));
        assert_non_null(strstr(e.text, "does not have"));
        err_clear(&e);
    }
    assert_true(in_memory < gguf_tensor_count(g));
    model_close(pieces);
    model_close(mapped);
}

static void test_broken(void **state)
{
    (void)state;
    err e = {0};
    pretended file = builtin_file();
    file.fails_at = 1;
    assert_null(open_in_pieces(&file, &e));
    assert_string_equal(e.text, "the file: the connection broke");
    err_clear(&e);

    file = builtin_file();
    model *m = open_in_pieces(&file, &e);
    file.fails_at = file.count - 1;
    const gguf *g = model_get_gguf(m);
    const gguf_tensor *last = gguf_tensor_at(g, 0);
    for (size_t i = 1; i < gguf_tensor_count(g); i++)
        last = gguf_tensor_at(g, i)->offset > last->offset ? gguf_tensor_at(g, i) : last;
    char name[160];
    model_weight w;
    snprintf(name, sizeof name, "%.*s", (int)last->name.length, last->name.data);
    assert_true(model_find_weight(m, name, &w, &e));
    assert_null(decoder_find_weight(&(decoder_weights){.m = m, .context_tok = 8}, name, 0, w.bytes, &e));
    assert_string_equal(e.text, "the file: the connection broke");
    model_close(m);
}

static void test_not_a_model(void **state)
{
    (void)state;
    err e = {0};
    pretended file = {.bytes = "no model at all, but a text", .count = 27};
    assert_null(open_in_pieces(&file, &e));
    assert_non_null(strstr(e.text, "the file"));
    err_clear(&e);
    file = builtin_file();
    file.count = 5000; /* ends inside the header */
    assert_null(open_in_pieces(&file, &e));
    assert_non_null(strstr(e.text, "the file"));
    assert_true(file.most <= file.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_weights),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_not_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
