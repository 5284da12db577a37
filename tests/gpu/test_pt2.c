/* Programs of PyTorch on every implementation, with separate dispatches; on Dawn also as one. */
#include "gpu/devices.h"
#include "llm/program_run.h"
#include "torch_fixture.h"

static void run_fixture(const char *name, fusion_level level)
{
    err e = {0};
    char what[40];
    snprintf(what, sizeof what, "%s at %s", name, fusion_names[level]);
    pt2 *file = torch_open(name);
    aten_program *p = pt2_program(file);
    json_t *json = torch_runs(name);
    graph_run *run = program_run_new(device, p, level, &e);
    if (!run)
        fail_msg("%s: %s", what, e.text);
    if (level == LEVEL_TOKEN)
        assert_int_equal(graph_run_dispatches(run, 0), 1);
    uint32_t inputs, outputs;
    const aten_port *in = aten_program_inputs(p, &inputs), *out = aten_program_outputs(p, &outputs);
    size_t i;
    json_t *once;
    json_array_foreach(json_object_get(json, "runs"), i, once)
    {
        for (uint32_t k = 0; k < inputs; k++) {
            uint32_t *words = torch_words(once, &in[k]);
            assert_true(graph_run_write(run, in[k].name, words, &e));
            free(words);
        }
        graph_run_once(run, 0, SUBMIT_BATCH);
        for (uint32_t k = 0; k < outputs; k++) {
            uint32_t *words = mem_alloc(out[k].count * sizeof *words);
            if (!graph_run_read(run, out[k].name, words, &e))
                fail_msg("%s: %s", what, e.text);
            torch_compare(once, &out[k], words, what);
            free(words);
        }
    }
    graph_run_free(run);
    json_decref(json);
    pt2_free(file);
}

static void separate_dispatches(void **unused)
{
    (void)unused;
    for (int i = 0; i < TORCH_FIXTURE_COUNT; i++)
        for (fusion_level level = LEVEL_NONE; level <= LEVEL_OPS; level++)
            run_fixture(TORCH_FIXTURES[i], level);
}

/* A state, and many operators: the others differ in what they compute, not in how. */
static void one_dispatch(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    run_fixture("cache", LEVEL_TOKEN);
    run_fixture("decoder", LEVEL_TOKEN);
    run_fixture("operators", LEVEL_TOKEN);
    run_fixture("places", LEVEL_TOKEN);
    run_fixture("windows", LEVEL_LOOP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(separate_dispatches), cmocka_unit_test(one_dispatch)};
    return RUN_ON_EACH(tests);
}
