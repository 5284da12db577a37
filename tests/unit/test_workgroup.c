/* src/graph/workgroup_*: the workgroup memory of megakernels, counted, and shared out for every preset and type. */
#include "graph/workgroup_bytes.h"
#include "graph/workgroup_fit.h"
#include "kernel_args.h"
#include "model/decoder.h"
#include "outlines.h"
#include "graph/megakernel_phases.h"
#include "graph/megakernel_schedule.h"

#include <stdio.h>

/* ---- counting ------------------------------------------------------------- */

static void sizes_are_counted(void **unused)
{
    (void)unused;
    assert_int_equal(workgroup_bytes(""), 0);
    assert_int_equal(workgroup_bytes("var<workgroup> a: u32;\nvar<workgroup> b: array<f32, 5>;\n"), 16 + 32);
    assert_int_equal(workgroup_bytes("var<workgroup> a: array<vec4<f32>, 3>;\nfn f() {}\n"), 48);
    assert_int_equal(workgroup_bytes("var<workgroup> a: array<atomic<u32>, 1024>; // a list\n"), 4096);
    assert_int_equal(workgroup_bytes("var<workgroup> a: array<array<u32, 6u>, 4>;"), 96);
    assert_int_equal(workgroup_bytes("    var<workgroup> inside: u32;\n"), 0);
}

static void sizes_are_constant_expressions(void **unused)
{
    (void)unused;
    static const char module[] = "const THREADS = 512u;\nconst SUBGROUP = 32u;\nconst WORDS = 9255u;\n"
                                 "const STRIDE = (WORDS / 4u + 23u) / 32u * 32u + 8u;\n"
                                 "const BUFFERS = select(1u, 2u, SUBGROUP >= 16u);\n"
                                 "const LINE = 7u | 1u << 3u;\n";
    char text[512];
    const struct {
        const char *size;
        uint32_t bytes;
    } cases[] = {{"array<array<u32, STRIDE>, 4>", (((9255 / 4 + 23) / 32) * 32 + 8) * 16},
                 {"array<f32, BUFFERS * 5u * 4u * THREADS / SUBGROUP>", 2 * 5 * 4 * 16 * 4},
                 {"array<vec2<f32>, THREADS % 100u - 2u>", 10 * 8},
                 {"array<f32, LINE>", 64},
                 {"array<f32, min(THREADS, 3u) + max(1u, 2u)>", 32},
                 {"array<f32, UNKNOWN>", UINT32_MAX},
                 {"array<f32, THREADS / 0u>", UINT32_MAX},
                 {"array<mat4x4<f32>, 2>", UINT32_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%svar<workgroup> a: %s;\n", module, cases[i].size);
        assert_int_equal(workgroup_bytes(text), cases[i].bytes);
    }
    assert_int_equal(workgroup_bytes("const A = B;\nconst B = A;\nvar<workgroup> a: array<f32, A>;\n"), UINT32_MAX);
}

/* ---- every preset and type -------------------------------------------------- */

enum { LAYERS = 3, CONTEXT = 4096 };

/* What becomes of a model's megakernel on a device. */
typedef struct outcome {
    device_profile profile;
    err refusal;
    uint32_t bytes;      /* that it declares; 0: it is not possible for another reason */
    uint32_t rows, vecs; /* products by matmul_row and by matmul_vec */
    bool polls_epoch;    /* every kernel does, so that most phases need no barrier between them */
    bool loops;          /* its phases are written out, the layers as a loop */
    uint32_t kernels;    /* that its text has */
    uint64_t hash;       /* of its text */
} outcome;

/* The order of general attention's sums follows from its threads: separate dispatches, which are lowered alike, have to
 * have as many as a megakernel. */
static void check_threads(const kernel_variant *v, uint32_t threads)
{
    uint32_t own = 0;
    for (int i = 0; i < KERNEL_MAX_CONSTANTS && v->constants[i].name.text; i++)
        if (strcmp(v->constants[i].name.text, CONSTANT_THREADS.text) == 0)
            own = v->constants[i].value;
    if (strcmp(v->name, "op_attention") == 0)
        assert_int_equal(own, threads);
}

static void count_products(const megakernel_source *from, outcome *o)
{
    const device_profile *t = from->profile;
    launch_form form = {.row_threads = t->row_threads, .threads = t->row_threads, .groups = t->busy_groups};
    lowered_plan l;
    err e = {0};
    if (!lower_plan(t, &form, from->m, from->which_plan, from->p, &l, &e))
        fail_msg("%s", e.text);
    for (uint32_t i = 0; i < l.count; i++) {
        o->rows += strcmp(l.items[i].kernel.name, "matmul_row") == 0;
        o->vecs += strcmp(l.items[i].kernel.name, "matmul_vec") == 0;
        o->polls_epoch &= l.items[i].polls_epoch;
        check_threads(&l.items[i].kernel, t->row_threads);
    }
    phase_kernels k;
    phases_align(&l);
    o->loops = phase_kernels_find(&k, t, &form, &l, &e) && schedule_possible(k.kind_of, k.phases);
    o->kernels = k.count;
    phase_kernels_free(&k);
    lowered_plan_free(&l);
}

static outcome outcome_of(gpu *g, const char *path)
{
    err e = {0};
    outcome o = {.profile = device_profile_for(gpu_get_info(g)), .polls_epoch = true};
    decoder_options options = {.rows = 1, .context_tok = CONTEXT, .cache = DTYPE_F16};
    model *m = model_open(path, &e);
    graph *decoder = m ? decoder_graph(m, &options, &e) : NULL;
    if (!decoder)
        fail_msg("%s: %s", path, e.text);
    node position = graph_find(decoder, "position"), settings = graph_input(decoder, "sampling", DTYPE_U32, shape1(8));
    node history = graph_input(decoder, "history", DTYPE_U32, shape1(CONTEXT + 1));
    graph_sample(decoder, graph_find(decoder, "tokens"), graph_find(decoder, "logits"), settings,
                 graph_assign(decoder, position, position, (assign_spec){.added = 1}), history);
    plan *p = plan_new(decoder, gpu_get_info(g)->max_storage_binding_bytes);
    p->no_alias = o.profile.epoch_bit;
    plan_fuse(p, LEVEL_TOKEN);
    memory *mem = memory_new(g, &p, 1, &e);
    if (!mem)
        fail_msg("%s: %s", path, e.text);
    megakernel_source from = {.g = g, .profile = &o.profile, .m = mem, .p = p};
    workgroup_fit(&o.profile, &from, 1);
    launch_form form = {.row_threads = o.profile.row_threads};
    if (!megakernel_workgroup_bytes(&from, &form, &o.bytes, &o.refusal))
        o.bytes = 0;
    o.hash = megakernel_look_ahead(&from, &form, false);
    count_products(&from, &o);
    if (o.bytes > o.profile.workgroup_bytes)
        assert_null(megakernel_new(&from, &form, &o.refusal));
    memory_free(mem);
    plan_free(p);
    graph_free(decoder);
    model_close(m);
    return o;
}

static const char *const types[] = {"f16", "q8_0", "q4_0", "q4_k"};
enum { TYPES = sizeof types / sizeof *types };

/* Its small steps between the streams are not all of those whose results are polled, nor are its layers alike. */
static bool has_streams(const char *preset)
{
    return strcmp(preset, "gemma-3n-e2b") == 0;
}

/* With subgroups of 32, every one of them has a megakernel, also where workgroup memory is as small as WebGPU allows. */
static void every_preset_fits_every_limit(void **unused)
{
    (void)unused;
    static const uint32_t limits_kib[] = {16, 32, 48};
    const char *verbose = getenv("SOLO_TEST_TABLE");
    for (size_t i = 0; synth_name(i); i++)
        for (size_t t = 0; t < TYPES; t++) {
            make_outline(synth_name(i), types[t], LAYERS);
            for (size_t k = 0; k < 3; k++) {
                gpu *g = open_device(limits_kib[k], 32);
                outcome o = outcome_of(g, path);
                if (verbose)
                    print_message(
                        "%s %s %u KiB: %u bytes, %u threads, x %u, splits %u, at once %u%s, %u rows, %u vecs, "
                        "text %016llx\n",
                        synth_name(i), types[t], limits_kib[k], o.bytes, o.profile.row_threads, o.profile.x_floats,
                        o.profile.max_splits, o.profile.max_at_once, o.profile.one_sum_buffer ? ", one sum buffer" : "",
                        o.rows, o.vecs, (unsigned long long)o.hash);
                /* Heads of 256 and of 512 need two kernels, which have no smaller form. */
                if (strcmp(synth_name(i), "gemma-4-e2b") == 0 && limits_kib[k] == 16) {
                    assert_non_null(strstr(o.refusal.text, "bytes of workgroup memory"));
                    gpu_close(g);
                    continue;
                }
                if (o.bytes == 0 || o.bytes > limits_kib[k] << 10)
                    fail_msg("%s %s: %u bytes of workgroup memory of %u KiB", synth_name(i), types[t], o.bytes,
                             limits_kib[k]);
                assert_true(o.polls_epoch || limits_kib[k] < 48 || has_streams(synth_name(i)));
                /* What was refused once: x has room beside what its attention needs. */
                if (strcmp(synth_name(i), "phi-3-mini") == 0 && limits_kib[k] == 48)
                    assert_int_equal(o.vecs, 0);
                gpu_close(g);
            }
        }
}

/* All layers of every preset and type on an H200, as the newer Dawn describes it: one dispatch whose layers are a
 * loop and in which no phase waits for all workgroups but the choice of a token (gemma-3n is neither); or a reason,
 * in one line. Too many weights are the only one there is. */
static void every_preset_is_one_dispatch_or_says_why(void **unused)
{
    (void)unused;
    for (size_t i = 0; synth_name(i); i++)
        for (size_t t = 0; t <= TYPES; t++) {
            bool has_own_type = strcmp(synth_name(i), "gpt-oss-20b") == 0;
            if (t == TYPES && !has_own_type)
                continue;
            const char *type = t == TYPES ? "mxfp4" : types[t];
            char name[64];
            snprintf(name, sizeof name, " %s-%s ", synth_name(i), type);
            make_outline(synth_name(i), type, 0);
            gpu *g = open_device(48, 32);
            gpu_info *info = (gpu_info *)gpu_get_info(g);
            info->max_storage_buffers = 16;
            info->max_storage_binding_bytes = INT32_MAX - 3;
            info->max_buffer_bytes = 1ull << 40;
            info->max_uniform_binding_bytes = 65536;
            outcome o = outcome_of(g, path);
            gpu_close(g);
            if (getenv("SOLO_TEST_TABLE"))
                print_message("%s %s: %u bytes, %u kernels, %s\n", synth_name(i), type, o.bytes, o.kernels,
                              o.bytes ? o.loops && o.polls_epoch ? "a loop" : "no loop" : o.refusal.text);
            /* Rows of 12,288 elements of f16 are too long for the kernel that the other layers' have: a table instead of a loop. */
            bool differs = strcmp(name, " gemma-4-e2b-f16 ") == 0 || has_streams(synth_name(i));
            if (o.bytes)
                assert_true(o.bytes <= 48 << 10 && o.loops == !differs && o.polls_epoch == !has_streams(synth_name(i)));
            bool is_too_large = strstr(" qwen3-30b-a3b-f16 qwen3-30b-a3b-q8_0 gpt-oss-20b-f16 ", name) != NULL;
            assert_int_equal(o.bytes == 0, is_too_large);
            if (is_too_large)
                assert_true(strncmp(o.refusal.text, "one dispatch ", 13) == 0 && !strchr(o.refusal.text, '\n'));
        }
}

/* Weights of all layers do not fit one buffer: the layers are a loop all the same. The newer Dawn binds 2 GiB on NVIDIA, where
 * these have up to nine buffers, of which each is bound once; and the weights of alike steps lie in as few as possible, so
 * that there are few kernels. */
static void experts_in_several_buffers_make_a_loop(void **unused)
{
    (void)unused;
    static const struct {
        const char *preset, *type;
        uint32_t layers, buffers, most_kernels;
        uint64_t binding_bytes;
    } cases[] = {
        {"qwen3-30b-a3b", "q4_0", 48, 16, 19, UINT32_MAX},    {"qwen3-30b-a3b", "q4_0", 48, 10, 19, UINT32_MAX},
        {"qwen3-30b-a3b", "q4_k", 48, 16, 20, UINT32_MAX},    {"gpt-oss-20b", "mxfp4", 24, 16, 14, UINT32_MAX},
        {"qwen3-30b-a3b", "q4_0", 48, 16, 23, INT32_MAX - 3}, {"gpt-oss-20b", "mxfp4", 24, 16, 17, INT32_MAX - 3},
        {"llama-3-8b", "f16", 32, 16, 14, INT32_MAX - 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_outline(cases[i].preset, cases[i].type, cases[i].layers);
        gpu *g = open_device(48, 32);
        gpu_info *info = (gpu_info *)gpu_get_info(g);
        info->max_storage_buffers = cases[i].buffers;
        info->max_storage_binding_bytes = cases[i].binding_bytes;
        outcome o = outcome_of(g, path);
        assert_true(o.bytes > 0 && o.polls_epoch && o.loops);
        assert_in_range(o.kernels, 1, cases[i].most_kernels);
        gpu_close(g);
    }
}

/* Layers with and without windows, or rotations, or with keys of their own are iterations of one loop. */
static void layers_that_differ_make_a_loop(void **unused)
{
    (void)unused;
    static const struct {
        const char *preset, *type;
        uint32_t layers;
    } cases[] = {
        {"gemma-3-1b", "f16", 26}, {"gemma-3-4b", "q4_0", 34}, {"smollm3-3b", "q4_0", 36}, {"gemma-4-e2b", "q4_0", 35}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_outline(cases[i].preset, cases[i].type, cases[i].layers);
        gpu *g = open_device(48, 32);
        outcome o = outcome_of(g, path);
        assert_true(o.bytes > 0 && o.polls_epoch && o.loops);
        gpu_close(g);
    }
}

/* Without subgroups sums need more of that memory, and there is no smaller form. */
static void a_refusal_says_why(void **unused)
{
    (void)unused;
    make_outline("llama-3.2-1b", "q4_0", LAYERS);
    gpu *g = open_device(16, 0);
    outcome o = outcome_of(g, path);
    gpu_close(g);
    assert_true(o.bytes > 16 << 10);
    char expected[96];
    snprintf(expected, sizeof expected, "needs %u bytes of workgroup memory, and this device has 16384", o.bytes);
    assert_non_null(strstr(o.refusal.text, expected));
    assert_null(strchr(o.refusal.text, '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_counted),
        cmocka_unit_test(sizes_are_constant_expressions),
        cmocka_unit_test_setup_teardown(every_preset_fits_every_limit, make_path, remove_path),
        cmocka_unit_test_setup_teardown(every_preset_is_one_dispatch_or_says_why, make_path, remove_path),
        cmocka_unit_test_setup_teardown(experts_in_several_buffers_make_a_loop, make_path, remove_path),
        cmocka_unit_test_setup_teardown(layers_that_differ_make_a_loop, make_path, remove_path),
        cmocka_unit_test_setup_teardown(a_refusal_says_why, make_path, remove_path),
    };
    return cmocka_run_group_tests_name("workgroup", tests, NULL, NULL);
}
