/* Simulations: the same bits however the steps are launched, and errors that say what is wrong. */
#include "gpu/sim_run.h"

#include <math.h>

/* Scores and states in one number. */
static uint64_t hash_of(const run *r)
{
    uint64_t h = str_hash(STR_HASH_BEGIN, (const char *)r->scores, (size_t)r->options.population * 4);
    return str_hash(h, (const char *)r->states, (size_t)r->options.population * r->source.state->words * 4);
}

/* ---- the same bits ------------------------------------------------------------------------- */

static void all_ways_give_the_same_bits(void **unused)
{
    (void)unused;
    static const uint32_t steps[] = {1, 30, 37, 41, 23, 1, 29, 7, 20, 100, 1, 1, 1};
    for (uint32_t n = 0; sim_builtin_name(n); n++) {
        run r = open_run(sim_builtin_name(n), 100, steps[n]);
        sim *s = new_sim(&r);
        go(&r, s, LEVEL_LOOP, SUBMIT_BATCH);
        uint64_t right = hash_of(&r);
        assert_int_equal(r.dispatches, 1);
        for (int submit = SUBMIT_SYNC; submit <= SUBMIT_BATCH; submit++) {
            go(&r, s, LEVEL_NONE, (submit_policy)submit);
            assert_int_equal(r.dispatches, steps[n] + 2);
            if (hash_of(&r) != right)
                fail_msg("%s: %s gives other bits than one dispatch", r.source.path, submit_names[submit]);
        }
        go(&r, s, LEVEL_LOOP, SUBMIT_BATCH);
        assert_true(hash_of(&r) == right);
        sim_free(s);
        close_run(&r);
    }
}

/* As on a GPU: a thread copies its genes before it makes its steps. */
static void genes_at_hand_give_the_same_bits(void **unused)
{
    (void)unused;
    static const char *const names[] = {"mountaincar", "cartpole"};
    for (int n = 0; n < 2; n++) {
        run r = open_run(names[n], 100, 40);
        run_once(&r);
        uint64_t right = hash_of(&r);
        setenv("SOLO_TUNE", "gpu", 1);
        run_once(&r);
        unsetenv("SOLO_TUNE");
        assert_true(hash_of(&r) == right);
        close_run(&r);
    }
}

/* Cut into dispatches of a millisecond or less, and another seed gives something else. */
static void pieces_give_the_same_bits(void **unused)
{
    (void)unused;
    static const char *const names[] = {"pi", "nbody"};
    for (int n = 0; n < 2; n++) {
        run r = open_run(names[n], 500, 300);
        run_once(&r);
        uint64_t right = hash_of(&r);
        r.options.chunk_ms = 1;
        run_once(&r);
        assert_true(hash_of(&r) == right);
        assert_true(r.dispatches >= 3); /* to compile, to time a step, the others */
        sim *s = new_sim(&r);
        go(&r, s, LEVEL_NONE, SUBMIT_EACH);
        assert_true(hash_of(&r) == right);
        sim_free(s);
        r.options.seed = 8;
        run_once(&r);
        assert_false(hash_of(&r) == right);
        close_run(&r);
    }
}

/* Several workgroups that pass data through atomics, and those that time out. */
static void coupled_ones_wait_for_each_other(void **unused)
{
    (void)unused;
    run r = open_run("epidemic", 300, 40);
    run_once(&r);
    uint64_t right = hash_of(&r);
    setenv("SOLO_SIM_GROUPS", "2", 1);
    sim *s = new_sim(&r);
    char notice[256];
    go(&r, s, LEVEL_LOOP, SUBMIT_BATCH);
    assert_true(hash_of(&r) == right);
    if (!sim_take_notice(s, notice, sizeof notice)) /* on a busy machine they may time out */
        assert_int_equal(r.dispatches, 1);
    sim_free(s);

    /* as many as a roll call finds resident, if the litmus test passes with them */
    setenv("SOLO_SIM_GROUPS", "0", 1);
    s = new_sim(&r);
    go(&r, s, LEVEL_LOOP, SUBMIT_BATCH);
    assert_true(hash_of(&r) == right);
    sim_free(s);

    setenv("SOLO_SIM_GROUPS", "2", 1);
    setenv("SOLO_SIM_STALL", "11", 1);
    setenv("SOLO_SIM_LOOKS", "1000", 1);
    s = new_sim(&r);
    go(&r, s, LEVEL_LOOP, SUBMIT_BATCH);
    assert_true(hash_of(&r) == right);
    assert_true(sim_take_notice(s, notice, sizeof notice));
    assert_non_null(strstr(notice, "timed out waiting for each other"));
    assert_int_equal(r.dispatches, 1 + 42);
    sim_free(s);
    unsetenv("SOLO_SIM_GROUPS");
    unsetenv("SOLO_SIM_STALL");
    unsetenv("SOLO_SIM_LOOKS");
    close_run(&r);
}

/* More workgroups than a dispatch has in one dimension. */
static void millions_are_counted(void **unused)
{
    (void)unused;
    enum { MILLIONS = 2200000 };
    run r = open_run("pi", MILLIONS, 1);
    for (int level = LEVEL_NONE; level <= LEVEL_LOOP; level += LEVEL_LOOP - LEVEL_NONE) {
        memset(r.states, 0, (size_t)MILLIONS * 2 * sizeof *r.states);
        sim *s = new_sim(&r);
        go(&r, s, (fusion_level)level, SUBMIT_BATCH);
        sim_free(s);
        uint64_t inside = 0;
        for (uint32_t i = 0; i < MILLIONS; i++) {
            assert_int_equal(r.states[MILLIONS + i], 1); /* thrown */
            inside += r.states[i];
        }
        assert_true(fabs(4.0 * (double)inside / MILLIONS - 3.14159265) < 0.006);
    }
    close_run(&r);
}

static void traces_are_the_states_on_the_way(void **unused)
{
    (void)unused;
    enum { STEPS = 12, EVERY = 3, COUNT = 2, WORDS = 2 };
    for (int level = LEVEL_NONE; level <= LEVEL_LOOP; level += LEVEL_LOOP - LEVEL_NONE) {
        run r = open_run("pi", 70, STEPS);
        err e = {0};
        uint32_t rows[STEPS / EVERY + 1][WORDS][COUNT];
        r.options.trace_count = COUNT;
        r.options.trace_every = EVERY;
        sim *s = new_sim(&r);
        assert_int_equal(sim_trace_rows(s), STEPS / EVERY + 1);
        go(&r, s, (fusion_level)level, SUBMIT_BATCH);
        assert_true(sim_read_trace(s, &rows[0][0][0], &e));
        for (uint32_t k = 0; k <= STEPS / EVERY; k++)
            for (uint32_t i = 0; i < COUNT; i++)
                assert_int_equal(rows[k][1][i], k * EVERY);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(rows[STEPS / EVERY][0][i], r.states[i]);
        sim_free(s);
        close_run(&r);
    }
}

/* ---- what is asked for and is not there ------------------------------------------------------ */

static const char *const WHOLE = "struct State { x: f32 }\n"
                                 "const GENES = 3;\n"
                                 "fn init(i: u32) -> State { return State(f32(i)); }\n";

/* The error of a simulation that continues with `rest`, at a level. */
static void expect_error(const char *rest, const char *part, fusion_level level)
{
    enum { POPULATION = 70 };
    static float values[6] = {1, 2, 3, 4, 5, 6};
    table data = {3, 2, values};
    char text[1024];
    float scores[POPULATION];
    err e = {0};
    sim_source source;
    snprintf(text, sizeof text, "%s%s", WHOLE, rest);
    if (!sim_source_read(&source, "a.wgsl", text, &e))
        fail_msg("%s", e.text);
    sim *s = sim_new(device, &source,
                     &(sim_options){.population = POPULATION, .steps = 2, .data = source.uses_data ? &data : NULL}, &e);
    if (!s || !sim_run(s, level, SUBMIT_BATCH, &e) || !sim_read_scores(s, scores, &e))
        fail_msg("%s", e.text);
    bool good = sim_check(s, scores, &e);
    if (good != !part || (part && !strstr(e.text, part)))
        fail_msg("'%s' was expected in '%s'", part ? part : "nothing", e.text);
    sim_free(s);
    sim_source_free(&source);
}

static void indices_out_of_range_are_errors(void **unused)
{
    (void)unused;
    static const char *const cases[][2] = {
        {"fn step(s: State) -> State { return s; }\nfn score(s: State) -> f32 { return data(2u, 1u); }", NULL},
        {"fn step(s: State) -> State { return s; }\nfn score(s: State) -> f32 { return data(3u, 1u); }",
         "data() was asked for what is not there, row 3"},
        {"fn step(s: State) -> State { return State(gene(2u)); }\nfn score(s: State) -> f32 { return s.x; }", NULL},
        {"fn step(s: State) -> State { return State(gene(3u)); }\nfn score(s: State) -> f32 { return s.x; }",
         "gene(3) is not there; there are 0 to 2"},
        {"fn step(s: State) -> State { return s; }\nfn score(s: State) -> f32 { return gene(77u); }",
         "gene(77) is not there"},
        {"fn step(s: State) -> State { return other(69u); }\nfn score(s: State) -> f32 { return s.x; }", NULL},
        {"fn step(s: State) -> State { return other(70u); }\nfn score(s: State) -> f32 { return s.x; }",
         "other(70) is not there; there are individuals 0 to 69"},
        {"fn step(s: State, i: u32) -> State { return State(other_x(i + 2u)); }\n"
         "fn score(s: State) -> f32 { return s.x; }",
         "other(71) is not there"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_error(cases[i][0], cases[i][1], LEVEL_LOOP);
        expect_error(cases[i][0], cases[i][1], LEVEL_NONE);
        setenv("SOLO_TUNE", "gpu", 1);
        expect_error(cases[i][0], cases[i][1], LEVEL_LOOP);
        unsetenv("SOLO_TUNE");
    }
}

/* A back end may compile either text: two kernels that differ in one only are two. */
static void kernels_differ_by_every_text(void **unused)
{
    (void)unused;
    static const char wgsl[] = "@compute @workgroup_size(1) fn main() {}";
    const gpu_source sources[] = {{.name = "a", .wgsl = wgsl, .cuda = "first"},
                                  {.name = "a", .wgsl = wgsl, .cuda = "second"},
                                  {.name = "a", .wgsl = wgsl, .cuda = "first"}};
    gpu_kernel *k[3];
    for (int i = 0; i < 3; i++)
        k[i] = gpu_kernel_new(device, &(gpu_kernel_desc){.source = &sources[i], .entry = "main", .workgroup_size = 1});
    assert_true(k[0] != k[1] && k[0] == k[2]);
}

static void without_a_compiler_it_says_so(void **unused)
{
    (void)unused;
    err e = {0};
    run r = open_run("pi", 10, 1);
    assert_null(sim_new(device, &r.source, &r.options, &e));
    assert_non_null(strstr(e.text, "compiled from WGSL"));
    close_run(&r);
}

int main(void)
{
    const struct CMUnitTest bare[] = {cmocka_unit_test(without_a_compiler_it_says_so)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_give_the_same_bits),
        cmocka_unit_test(genes_at_hand_give_the_same_bits),
        cmocka_unit_test(pieces_give_the_same_bits),
        cmocka_unit_test(coupled_ones_wait_for_each_other),
        cmocka_unit_test(millions_are_counted),
        cmocka_unit_test(traces_are_the_states_on_the_way),
        cmocka_unit_test(indices_out_of_range_are_errors),
        cmocka_unit_test(kernels_differ_by_every_text),
    };
    return cmocka_run_group_tests_name("dawn", tests, open_dawn, close_device) +
           cmocka_run_group_tests_name("wgpu", tests, open_wgpu, close_device) +
           cmocka_run_group_tests_name("vulkan", bare, open_vulkan, close_device);
}
