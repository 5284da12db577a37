/* Kernels put together from their files: includes, placeholders, constants, repeated lines; and printed for people. */
#include "graph/kernel_text.h"
#include "kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void variables_are_written_out(void **unused)
{
    (void)unused;
    kernel_variant v = {.name = "matmul_row", .type = "f16", .subgroup = 32};
    kernel_set_constant(&v, CONSTANT_AT_ONCE, 3);
    kernel_set_constant(&v, CONSTANT_STEPS, 2);
    gpu_source *s = kernel_text(&v);
    assert_null(strchr(s->wgsl, '#'));
    assert_null(strstr(s->wgsl, "//!for"));
    assert_non_null(strstr(s->wgsl, "held_2_1: row4_bits"));
    assert_null(strstr(s->wgsl, "held_3_0"));
    assert_null(strstr(s->wgsl, "held_0_2"));
    kernel_text_free(s);
}

static void the_first_value_of_a_constant_stays(void **unused)
{
    (void)unused;
    kernel_variant v = {.name = "op_rmsnorm"};
    kernel_set_constant(&v, CONSTANT_THREADS, 128);
    kernel_set_constant(&v, CONSTANT_THREADS, 64);
    gpu_source *s = kernel_text(&v);
    assert_non_null(strstr(s->wgsl, "const THREADS = 128u;\n"));
    assert_non_null(strstr(s->wgsl, "const EPOCH_BIT = 0u;\n"));
    assert_null(strstr(s->wgsl, "override "));
    kernel_text_free(s);
}

static void arguments_are_numbers(void **unused)
{
    (void)unused;
    str text = {0};
    err e = {0};
    char epsilon[32], stop_at[32];
    assert_true(kernel_print("op_rmsnorm", NULL, &text, &e));
    snprintf(epsilon, sizeof epsilon, "arg_float(args, %d)", RMSNORM_EPSILON);
    snprintf(stop_at, sizeof stop_at, "arg(args, %d)", ARG_LENGTH);
    assert_non_null(strstr(text.data, epsilon));
    assert_non_null(strstr(text.data, stop_at));
    assert_null(strstr(text.data, "RMSNORM_"));
    str_free(&text);
}

static void every_kernel_is_printed(void **unused)
{
    (void)unused;
    err e = {0};
    uint32_t count = 0;
    for (const kernel_file *f = kernel_files; f->path; f++) {
        char name[64];
        str text = {0};
        if (sscanf(f->path, "graph/%63[a-z0-9_]", name) != 1)
            continue;
        assert_true(kernel_print(name, strstr(f->text, "weight/TYPE.wgsl") ? "q4_0" : NULL, &text, &e));
        assert_non_null(strstr(text.data, "fn body("));
        assert_null(strstr(text.data, "//!include"));
        if (strstr(text.data, "% SUBGROUP"))
            assert_non_null(strstr(text.data, "const SUBGROUP = "));
        str_free(&text);
        count++;
    }
    assert_true(count > 20);
}

static void the_type_is_that_of_the_weights(void **unused)
{
    (void)unused;
    str f16 = {0}, q8_0 = {0};
    err e = {0};
    assert_true(kernel_print("matmul_vec", "f16", &f16, &e) && kernel_print("matmul_vec", "q8_0", &q8_0, &e));
    assert_non_null(strstr(f16.data, "const CHUNK = 8u;"));
    assert_non_null(strstr(q8_0.data, "const CHUNK = 32u;"));
    str_free(&f16);
    str_free(&q8_0);
}

static void refuses(const char *name, const char *type, const char *reason)
{
    str text = {0};
    err e = {0};
    assert_false(kernel_print(name, type, &text, &e));
    assert_non_null(strstr(e.text, reason));
    assert_null(text.data);
}

static void an_unknown_kernel_or_type_is_an_error(void **unused)
{
    (void)unused;
    refuses("op_nothing", NULL, "no kernel op_nothing; there are attention_plain, ");
    refuses("op_nothing", NULL, "op_rmsnorm");
    refuses("matmul_vec", NULL, "matmul_vec needs a weight type, one of bf16, ");
    refuses("matmul_vec", "q9_9", "q4_0");
    refuses("op_rope", "q4_0", "op_rope reads no weights");
}

static void missing_files_are_errors(void **unused)
{
    (void)unused;
    kernel_variant v = {.type = "q9_9"};
    str text = {0};
    err e = {0};
    assert_false(kernel_expand(&v, "graph/op_gather.wgsl", &text, &e));
    assert_non_null(strstr(e.text, "kernels/graph/op_gather.wgsl:"));
    assert_non_null(strstr(e.text, "no file kernels/weight/q9_9.wgsl"));
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_written_out),       cmocka_unit_test(the_first_value_of_a_constant_stays),
        cmocka_unit_test(arguments_are_numbers),           cmocka_unit_test(every_kernel_is_printed),
        cmocka_unit_test(the_type_is_that_of_the_weights), cmocka_unit_test(an_unknown_kernel_or_type_is_an_error),
        cmocka_unit_test(missing_files_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
