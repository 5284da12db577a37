/* The litmus test certifies the code that is used: models, simulations and the litmus test contain the same barrier and
 * exchange functions, to the letter but for the name of the array. */
#include "base/str.h"
#include "graph/megakernel_link.h"
#include "kernels.h"
#include "launch/kernel_file.h"
#include "sim/builtin.h"
#include "sim/source.h"
#include "sim/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without comments and white space, and with `array` called ARRAY. */
static char *normalized(const char *text, const char *end, const char *array)
{
    str out = {0};
    size_t length = array ? strlen(array) : 0;
    while (text < end) {
        if (text[0] == '/' && text[1] == '/')
            text += strcspn(text, "\n");
        else if (isspace((unsigned char)*text))
            text++;
        else if (length && strncmp(text, array, length) == 0) {
            str_add(&out, "ARRAY");
            text += length;
        } else
            str_add_bytes(&out, text++, 1);
    }
    return out.data;
}

/* The function of this name, from `fn` to its closing brace. */
static char *function_in(const char *module, const char *name, const char *array)
{
    str head = {0};
    str_addf(&head, "\nfn %s(", name);
    const char *begin = strstr(module, head.data), *at;
    if (!begin)
        fail_msg("no function %s", name);
    assert_null(strstr(begin + 1, head.data)); /* there is one */
    str_free(&head);
    int depth = 0;
    at = begin + strcspn(begin, "{");
    do
        depth += (*at == '{') - (*at == '}');
    while (*at++ && depth > 0);
    return normalized(begin, at, array);
}

static void expect_same(const char *a, const char *b, const char *name, const char *array_a, const char *array_b)
{
    char name_a[64], name_b[64];
    snprintf(name_a, sizeof name_a, "%s%s", array_a && name[0] == '_' ? array_a : "", name);
    snprintf(name_b, sizeof name_b, "%s%s", array_b && name[0] == '_' ? array_b : "", name);
    char *one = function_in(a, name_a, array_a), *two = function_in(b, name_b, array_b);
    assert_string_equal(one, two);
    free(one);
    free(two);
}

static gpu_source *model_module(void)
{
    static const uint32_t phases[] = {0};
    phase_kernel k = {.kernel = {.name = "op_rmsnorm"}};
    kernel_set_constant(&k.kernel, CONSTANT_EPOCH_BIT, 1);
    kernel_set_constant(&k.kernel, CONSTANT_THREADS, 64);
    return megakernel_link(&(megakernel_module){.kernels = &k,
                                                .kernel_count = 1,
                                                .arenas = 1,
                                                .phase_kernels = phases,
                                                .phases = 1,
                                                .row_words = 4,
                                                .epoch_marked = true});
}

static char *sim_module(const char *name, sim_text_form form)
{
    sim_source source = {0};
    err e = {0};
    if (!sim_source_read(&source, name, sim_builtin(name), &e))
        fail_msg("%s", e.text);
    char *text = sim_text(&source, &(sim_text_choice){.form = form, .threads = 64});
    sim_source_free(&source);
    return text;
}

static void all_have_the_same_barrier(void **unused)
{
    (void)unused;
    static const char *const names[] = {"solo_drain_stores", "solo_arrive",    "solo_poll_arrivals", "solo_in_time",
                                        "solo_barrier",      "solo_roll_call", "solo_leave"};
    gpu_source *model = model_module();
    char *coupled = sim_module("nbody", SIM_TEXT_COUPLED), *evolving = sim_module("cartpole", SIM_TEXT_GENERATIONS);
    const char *const modules[] = {model->wgsl, coupled, evolving, kernel_neighbours.wgsl, kernel_gemv.wgsl};
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            expect_same(kernel_litmus.wgsl, modules[m], names[i], NULL, NULL);
    free(coupled);
    free(evolving);
    kernel_text_free(model);
}

static void all_exchange_words_alike(void **unused)
{
    (void)unused;
    gpu_source *model = model_module();
    char *evolving = sim_module("cartpole", SIM_TEXT_GENERATIONS);
    static const char *const ways[] = {"_load", "_store"};
    for (int i = 0; i < 2; i++) {
        expect_same(kernel_litmus.wgsl, model->wgsl, ways[i], "data", "activations");
        expect_same(kernel_litmus.wgsl, model->wgsl, ways[i], "data", "states");
        expect_same(kernel_litmus.wgsl, evolving, ways[i], "data", "solo_states");
        expect_same(kernel_litmus.wgsl, evolving, ways[i], "data", "solo_scores");
        expect_same(kernel_litmus.wgsl, evolving, ways[i], "data", "solo_shared");
    }
    free(evolving);
    kernel_text_free(model);
}

static void models_poll_floats_as_the_litmus_test_does(void **unused)
{
    (void)unused;
    static const char *const names[] = {"start_round", "load", "store", "bits_at", "is_stale", "keep_spinning"};
    gpu_source *model = model_module();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_same(kernel_litmus.wgsl, model->wgsl, names[i], "floats", "activations");
    kernel_text_free(model);
}

/* Nothing else that crosses workgroups: every atomic access stands in one of these functions or counts something. */
static void models_have_no_other_way_across(void **unused)
{
    (void)unused;
    gpu_source *model = model_module();
    static const char *const stores[] = {"atomicStore(&activations", "atomicStore(&states"};
    const char *first = strstr(model->wgsl, stores[0]);
    assert_non_null(first); /* epoch.wgsl's */
    assert_null(strstr(first + 1, stores[0]));
    assert_null(strstr(model->wgsl, stores[1]));
    kernel_text_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_have_the_same_barrier),
        cmocka_unit_test(all_exchange_words_alike),
        cmocka_unit_test(models_poll_floats_as_the_litmus_test_does),
        cmocka_unit_test(models_have_no_other_way_across),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
