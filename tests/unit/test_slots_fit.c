/* Products for several texts, on a GPU with subgroups of 32 and 48 KiB of workgroup memory, with matrix units or without:
 * how their threads share them, and that one dispatch has room for x. */
#include "graph/sample.h"
#include "graph/workgroup_fit.h"
#include "kernel_args.h"
#include "model/decoder.h"
#include "outlines.h"

enum { LAYERS = 3, CONTEXT = 640, WORKGROUP_BYTES = 48 << 10 };

static graph *making(const model *m, uint32_t texts)
{
    err e = {0};
    decoder_options options = {.rows = texts, .context_tok = CONTEXT, .cache = DTYPE_F16, .slots = true};
    graph *g = decoder_graph(m, &options, &e);
    if (!g)
        fail_msg("%s", e.text);
    graph_sample_rows(g, graph_find(g, "slot_tokens"), graph_find(g, "slot_logits"),
                      graph_input(g, "settings", DTYPE_U32, shape2(texts, SAMPLE_WORDS)),
                      graph_find(g, "slot_positions"), graph_input(g, "history", DTYPE_U32, shape2(texts, CONTEXT + 1)),
                      graph_input(g, "control", DTYPE_U32, shape2(texts, SAMPLE_CONTROL_WORDS)), 0);
    return g;
}

static uint32_t constant_of(const kernel_variant *v, kernel_constant_name name)
{
    for (int i = 0; i < KERNEL_MAX_CONSTANTS && v->constants[i].name.text; i++)
        if (strcmp(v->constants[i].name.text, name.text) == 0)
            return v->constants[i].value;
    return 0;
}

typedef struct outcome {
    uint32_t bytes, x_floats;
    uint32_t products, segmented; /* all; those whose x does not fit at once */
    uint32_t matrix;              /* by matrix units */
} outcome;

static void look_at(const dispatch_desc *d, outcome *o)
{
    bool matrix = strcmp(d->kernel.name, "matmul_slots_matrix") == 0;
    uint32_t chunk = matrix ? 8 : 4 * constant_of(&d->kernel, CONSTANT_CHUNK_VEC4S);
    uint32_t shares = constant_of(&d->kernel, CONSTANT_SHARES), length = d->args[MATMUL_LENGTH] / (shares ? shares : 1);
    uint32_t segment = constant_of(&d->kernel, CONSTANT_SEGMENT_CHUNKS) * chunk;
    if (strncmp(d->kernel.name, "matmul_", 7) != 0 || strcmp(d->kernel.name, "matmul_slots_combine") == 0)
        return;
    assert_true(matrix || strcmp(d->kernel.name, "matmul_slots") == 0);
    o->products++;
    o->matrix += matrix;
    o->segmented += segment < length;
    if (getenv("SOLO_TEST_TABLE"))
        print_message("    %u x %u row4s: %s, team %u, %u of %u elements, alone %u, tiles %u, %u workgroups\n", length,
                      d->args[MATMUL_ROW4S], d->kernel.name, constant_of(&d->kernel, CONSTANT_TEAM), segment, length,
                      constant_of(&d->kernel, CONSTANT_ALONE_AT_ONCE), constant_of(&d->kernel, CONSTANT_TILES),
                      d->args[ARG_GROUPS]);
}

static outcome outcome_of(const char *preset, const char *type, uint32_t texts, bool matrix, bool shares_k)
{
    err e = {0};
    gpu *g = open_device(WORKGROUP_BYTES >> 10, 32);
    device_profile profile = device_profile_for(gpu_get_info(g));
    profile.matrix_rows = profile.matrix_columns = profile.matrix_depth = matrix ? 16 : 0;
    profile.matrix_texts = matrix ? 8 : 0;
    make_outline(preset, type, LAYERS);
    model *m = model_open(path, &e);
    if (!m)
        fail_msg("%s", e.text);
    graph *decoder = making(m, texts);
    plan *p = plan_new(decoder, gpu_get_info(g)->max_storage_binding_bytes);
    p->no_alias = profile.epoch_bit;
    p->shares_k = shares_k;
    plan_fuse(p, LEVEL_TOKEN);
    memory *mem = memory_new(g, &p, 1, &e);
    if (!mem)
        fail_msg("%s", e.text);
    megakernel_source from = {.g = g, .profile = &profile, .m = mem, .p = p};
    workgroup_fit(&profile, &from, 1);
    launch_form launch = {.row_threads = profile.row_threads};
    outcome o = {.x_floats = profile.x_floats};
    if (!megakernel_workgroup_bytes(&from, &launch, &o.bytes, &e))
        fail_msg("%s", e.text);
    if (getenv("SOLO_TEST_TABLE"))
        print_message("%s %s, %u texts: %u bytes, x %u\n", preset, type, texts, o.bytes, o.x_floats);
    launch_form one = {.row_threads = profile.row_threads, .threads = profile.row_threads, .groups = 128};
    lowered_plan l;
    assert_true(lower_plan(&profile, &one, mem, 0, p, &l, &e));
    for (uint32_t i = 0; i < l.count; i++)
        if (i < 6 || i + 3 > l.count)
            look_at(&l.items[i], &o);
    lowered_plan_free(&l);
    memory_free(mem);
    plan_free(p);
    graph_free(decoder);
    model_close(m);
    gpu_close(g);
    return o;
}

static void all_texts_fit(void **unused)
{
    (void)unused;
    static const char *const models[][2] = {{"qwen2.5-0.5b", "f16"}, {"llama-3-8b", "q4_0"}};
    for (int i = 0; i < 4; i++)
        for (uint32_t texts = 2; texts <= 16; texts *= 2) {
            outcome o = outcome_of(models[i / 2][0], models[i / 2][1], texts, i % 2, false);
            if (o.bytes > WORKGROUP_BYTES)
                fail_msg("%s, %u texts: %u bytes", models[i / 2][0], texts, o.bytes);
            assert_true(o.products > 0 && (i == 1 ? o.matrix == o.products : o.matrix == 0));
        }
}

/* With all memory that is left, the whole x of eight texts is there at once, except what goes into down. */
static void x_of_eight_texts_is_shared_once(void **unused)
{
    (void)unused;
    outcome small = outcome_of("qwen2.5-0.5b", "f16", 8, false, false);
    outcome large = outcome_of("llama-3-8b", "q4_0", 8, false, false);
    outcome matrix = outcome_of("qwen2.5-0.5b", "f16", 8, true, false);
    assert_int_equal(small.segmented, 1);
    assert_int_equal(large.segmented, 1);
    assert_int_equal(matrix.segmented, 1);
    /* that, too, where workgroups share k */
    assert_int_equal(outcome_of("qwen2.5-0.5b", "f16", 8, false, true).segmented, 0);
    assert_int_equal(outcome_of("llama-3-8b", "q4_0", 8, false, true).segmented, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_texts_fit),
                                       cmocka_unit_test(x_of_eight_texts_is_shared_once)};
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
