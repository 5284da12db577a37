/* include/solo.h as someone else's program uses it: nothing else of Solo is included here. */
#include "api_device.h"
#include "temporary.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const impls[] = {"dawn", "wgpu"};

static const char SPRING[] = "override STIFFNESS: f32 = 4.0;\n"
                             "struct State { x: f32, v: f32, n: u32 }\n"
                             "fn init(i: u32) -> State { return State(f32(i), 0.0, 0u); }\n"
                             "fn step(s: State, t: u32) -> State {\n"
                             "    let v = s.v + 0.01 * (data(t % data_rows(), 0u) - STIFFNESS * s.x);\n"
                             "    return State(s.x + 0.01 * v, v, s.n + 1u);\n"
                             "}\n"
                             "fn score(s: State) -> f32 { return -abs(s.x); }\n";

static void note_step(void *last, uint32_t step)
{
    *(uint32_t *)last = step;
}

static void stop(void *user, uint32_t step)
{
    (void)step;
    solo_sim_stop(user);
}

static void a_simulation_from_text(void **unused)
{
    (void)unused;
    enum { POPULATION = 4, STEPS = 30, WORDS = 3, ROWS = 4 };
    solo_error e = {0};
    const float push[2] = {0.5f, -0.25f};
    const char *const parameters[] = {"STIFFNESS=9", NULL};
    solo_sim *s = solo_sim_new(device, "spring", SPRING,
                               &(solo_sim_options){.population = POPULATION,
                                                   .steps = STEPS,
                                                   .parameters = parameters,
                                                   .data = push,
                                                   .data_rows = 2,
                                                   .data_columns = 1,
                                                   .trace_count = 1,
                                                   .trace_every = 10},
                               &e);
    ok(s, &e);
    double states[2][WORDS][POPULATION], trace[ROWS][WORDS][1];
    float scores[POPULATION];
    solo_error early = {0}, sooner = {0};
    assert_false(solo_sim_scores(s, scores, &early) || solo_sim_states(s, &states[0][0][0], &sooner));
    assert_true(early.status == 2 && sooner.status == 2 && strstr(early.text, "nothing ran yet"));
    uint32_t last = 0;
    char notice[64];
    solo_sim_set_progress(s, note_step, &last);
    ok(solo_sim_run(s, SOLO_ONE_DISPATCH, &e) && solo_sim_states(s, &states[0][0][0], &e) &&
           solo_sim_scores(s, scores, &e) && solo_sim_trace(s, &trace[0][0][0], &e),
       &e);
    ok(solo_sim_run(s, SOLO_DISPATCH_A_STEP, &e) && solo_sim_states(s, &states[1][0][0], &e), &e);
    assert_memory_equal(states[0], states[1], sizeof states[0]);
    assert_int_equal(last, STEPS);
    assert_false(solo_sim_take_notice(s, notice, sizeof notice)); /* all went as it was asked for */
    assert_int_equal(solo_sim_words(s), WORDS);
    assert_string_equal(solo_sim_word_name(s, 1), "v");
    assert_null(solo_sim_word_name(s, WORDS));
    assert_int_equal(solo_sim_trace_rows(s), ROWS);
    for (int i = 0; i < POPULATION; i++) {
        double x = i, v = 0;
        for (int t = 0; t < STEPS; t++) {
            v += 0.01 * ((double)push[t % 2] - 9 * x);
            x += 0.01 * v;
        }
        assert_true(fabs(states[0][0][i] - x) < 1e-5 && fabs((double)scores[i] + fabs(x)) < 1e-5);
        assert_true(states[0][2][i] == STEPS);
    }
    assert_true(trace[2][2][0] == 20 && trace[3][0][0] == states[0][0][0]);
    solo_sim_stop(s); /* of no run */
    ok(solo_sim_run(s, SOLO_ONE_DISPATCH, &e), &e);
    solo_sim_free(s);
    solo_sim_stop(NULL);
}

static void a_run_that_is_stopped(void **unused)
{
    (void)unused;
    solo_error e = {0};
    solo_sim *s = solo_sim_new(device, "pi", NULL, &(solo_sim_options){.population = 4, .steps = 1000}, &e);
    float scores[4];
    solo_sim_set_progress(s, stop, s);
    assert_false(solo_sim_run(s, SOLO_ONE_DISPATCH, &e)); /* the first dispatch is one step, which is timed */
    assert_string_equal(e.text, "pi: the run was stopped after step 1");
    memset(&e, 0, sizeof e);
    assert_false(solo_sim_scores(s, scores, &e));
    memset(&e, 0, sizeof e);
    solo_sim_set_progress(s, NULL, NULL);
    ok(solo_sim_run(s, SOLO_ONE_DISPATCH, &e) && solo_sim_scores(s, scores, &e), &e);
    solo_sim_free(s);
}

/* The same bits as one run of all steps, coupled or not, and a seed of its own. */
static void step_by_step(void **unused)
{
    (void)unused;
    static const char *const names[] = {"option", "epidemic"};
    enum { POPULATION = 70, STEPS = 13, MOST_WORDS = 16 };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        solo_error e = {0}, early = {0};
        double states[2][MOST_WORDS * POPULATION] = {{0}};
        float scores[2][POPULATION];
        solo_sim *s = solo_sim_new(device, names[n], NULL,
                                   &(solo_sim_options){.population = POPULATION, .steps = STEPS, .seed = 5}, &e);
        ok(s, &e);
        assert_true(solo_sim_words(s) <= MOST_WORDS);
        assert_false(solo_sim_advance(s, 1, &early));
        assert_true(early.status == 2 && strstr(early.text, "has not begun"));
        ok(solo_sim_begin(s, 5, &e) && solo_sim_advance(s, 1, &e) && solo_sim_advance(s, 0, &e) &&
               solo_sim_advance(s, STEPS - 1, &e) && solo_sim_states(s, states[0], &e) &&
               solo_sim_scores(s, scores[0], &e),
           &e);
        ok(solo_sim_run(s, SOLO_ONE_DISPATCH, &e) && solo_sim_states(s, states[1], &e) &&
               solo_sim_scores(s, scores[1], &e),
           &e);
        assert_memory_equal(states[0], states[1], sizeof states[0]);
        assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
        ok(solo_sim_begin(s, 6, &e) && solo_sim_advance(s, STEPS, &e) && solo_sim_states(s, states[0], &e), &e);
        assert_memory_not_equal(states[0], states[1], sizeof states[0]);
        solo_sim_free(s);
    }
}

static bool stop_at_five(void *seen, uint32_t generation, double best)
{
    *(double *)seen = best;
    return generation < 5;
}

static void evolution_is_stopped_saved_and_resumed(void **unused)
{
    (void)unused;
    enum { POPULATION = 100, GENES = 10 };
    solo_error e = {0};
    static float genomes[2][POPULATION][GENES];
    float scores[2][POPULATION];
    char path[TEMPORARY_BYTES];
    double best;
    close(temporary_file(path, "api"));
    const solo_sim_options o = {.population = POPULATION, .seed = 2, .evolves = true};
    solo_sim *s = solo_sim_new(device, "sphere", NULL, &o, &e);
    ok(s, &e);
    assert_int_equal(solo_sim_genes(s), GENES);
    assert_null(solo_sim_best(s, &(uint32_t){0}));
    ok(solo_sim_evolve(s, 20, NULL, stop_at_five, &best, &e) && solo_sim_save(s, path, &e), &e);
    ok(solo_sim_save(s, path, &e), &e); /* in its own place */
    assert_false(solo_sim_save(s, "README.md", &e));
    assert_non_null(strstr(e.text, "stays as it is"));
    memset(&e, 0, sizeof e);
    ok(solo_sim_evolve(s, 9, NULL, NULL, NULL, &e) && solo_sim_evolved(s, genomes[0][0], scores[0], &e), &e);
    uint32_t generations = 0;
    const double *history = solo_sim_best(s, &generations);
    assert_int_equal(generations, 10);
    assert_true(history[5] == best && history[9] > history[0]);
    solo_sim_free(s);
    s = solo_sim_new(device, "sphere", NULL, &o, &e);
    ok(solo_sim_resume(s, path, NULL, &e) && solo_sim_evolve(s, 9, NULL, NULL, NULL, &e) &&
           solo_sim_evolved(s, genomes[1][0], scores[1], &e),
       &e);
    assert_memory_equal(genomes[0], genomes[1], sizeof genomes[0]);
    assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
    assert_true((double)scores[0][0] >= best);
    /* an immigrant that is better than all is the first of the next generation, being its elite */
    memset(genomes[1][7], 0, sizeof genomes[1][7]);
    scores[1][7] = 0;
    ok(solo_sim_set_evolved(s, genomes[1][0], scores[1], &e) && solo_sim_evolve(s, 10, NULL, NULL, NULL, &e) &&
           solo_sim_evolved(s, genomes[0][0], scores[0], &e),
       &e);
    assert_true(scores[0][0] == 0);
    assert_memory_equal(genomes[0][0], genomes[1][7], sizeof genomes[0][0]);
    solo_error bad = {0};
    scores[1][3] = NAN;
    assert_false(solo_sim_set_evolved(s, genomes[1][0], scores[1], &bad));
    assert_true(bad.status == 2 && strstr(bad.text, "score of individual 3 is not finite"));
    solo_sim_free(s);
    unlink(path);
}

static void mistakes_are_errors(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *text, *part;
        int status;
        solo_sim_options o;
    } cases[] = {
        {"nothing", NULL, "no built-in simulation 'nothing'", 2, {0}},
        {"mine", "struct State { x: f32 }", "mine: 'fn init' is missing", 1, {0}},
        {"spring", SPRING, "how many individuals", 2, {.population = 3}},
        {"spring", SPRING, "spring reads data", 2, {.population = 3, .steps = 3}},
        {"pi", NULL, "too large", 1, {.population = 4000000000}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        solo_error e = {0};
        assert_null(solo_sim_new(device, cases[i].name, cases[i].text, &cases[i].o, &e));
        if (!strstr(e.text, cases[i].part) || e.status != cases[i].status)
            fail_msg("'%s' was expected in error %d: '%s'", cases[i].part, e.status, e.text);
    }
    solo_error e = {0};
    solo_sim *s = solo_sim_new(device, "pi", NULL, NULL, &e);
    ok(s, &e);
    assert_int_equal(solo_sim_population(s), 4096);
    assert_int_equal(solo_sim_steps(s), 1000);
    assert_false(solo_sim_evolve(s, 3, NULL, NULL, NULL, &e));
    assert_int_equal(e.status, 2);
    solo_sim_free(s);
    solo_error none = {0};
    assert_null(solo_device_open("no-such", &none));
    assert_true(none.status != 0 && none.text[0]);
}

static void expect_usage(bool good, solo_error *e, const char *part)
{
    if (good || e->status != 2 || !strstr(e->text, part))
        fail_msg("'%s' was expected in error %d: '%s'", part, e->status, e->text);
    memset(e, 0, sizeof *e);
}

/* A simulation whose making failed is NULL: all that goes on with it fails in turn. */
static void nothing_is_made_of_nothing(void **unused)
{
    (void)unused;
    solo_error e = {0};
    float f[4] = {0};
    double d[4];
    const char *part = "NULL";
    expect_usage(solo_sim_scores(NULL, f, &e), &e, part);
    expect_usage(solo_sim_states(NULL, d, &e), &e, part);
    expect_usage(solo_sim_trace(NULL, d, &e), &e, part);
    expect_usage(solo_sim_evolve(NULL, 1, NULL, NULL, NULL, &e), &e, part);
    expect_usage(solo_sim_evolved(NULL, f, f, &e), &e, part);
    expect_usage(solo_sim_set_evolved(NULL, f, f, &e), &e, part);
    expect_usage(solo_sim_save(NULL, "x", &e), &e, part);
    expect_usage(solo_sim_resume(NULL, "x", NULL, &e), &e, part);
    expect_usage(solo_sim_begin(NULL, 1, &e) || solo_sim_advance(NULL, 1, &e), &e, part);
    uint32_t count = 3;
    solo_sim_set_progress(NULL, note_step, &count);
    solo_sim_set_genomes(NULL, f);
    assert_false(solo_sim_take_notice(NULL, (char[8]){0}, 8));
    assert_int_equal(solo_sim_population(NULL) + solo_sim_steps(NULL) + solo_sim_genes(NULL), 0);
    assert_int_equal(solo_sim_words(NULL) + solo_sim_trace_rows(NULL), 0);
    assert_null(solo_sim_word_name(NULL, 0));
    assert_null(solo_sim_best(NULL, &count));
    assert_int_equal(count, 0);
    assert_null(solo_device_name(NULL));
    /* the errors are looked at once, at the end */
    solo_sim *never = solo_sim_new(device, "no such", NULL, NULL, &e);
    solo_sim_set_genomes(never, f);
    expect_usage(solo_sim_run(never, SOLO_ONE_DISPATCH, &e), &e, "no built-in simulation");

    /* what cannot be without a name, a way or data */
    expect_usage(solo_sim_new(device, NULL, SPRING, NULL, &e) != NULL, &e, "needs a name");
    expect_usage(solo_sim_new(device, NULL, NULL, NULL, &e) != NULL, &e, "needs a name");
    const solo_sim_options empty = {.population = 3, .steps = 3, .data_rows = 5, .data_columns = 1};
    expect_usage(solo_sim_new(device, "pi", NULL, &empty, &e) != NULL, &e, "5 rows has no data");
    solo_sim *pi = solo_sim_new(device, "pi", NULL, &(solo_sim_options){.population = 3, .steps = 3}, &e);
    ok(pi && solo_sim_run(pi, SOLO_ONE_DISPATCH, &e), &e);
    expect_usage(solo_sim_run(pi, (solo_launch)99, &e), &e, "no such way to launch");
    expect_usage(solo_sim_run(pi, (solo_launch)-1, &e), &e, "no such way to launch");
    ok(solo_sim_scores(pi, f, &e), &e); /* of the run before */
    solo_sim_free(pi);

    /* numbers that nothing can be done with */
    solo_sim_options o = {.population = 8, .steps = 1, .data = f, .data_rows = 1u << 31, .data_columns = 1u << 31};
    expect_usage(solo_sim_new(device, "sphere", NULL, &o, &e) != NULL, &e, "too large");
    o = (solo_sim_options){.population = 8, .evolves = true};
    const solo_evolution odd[] = {{.mutation = NAN}, {.mutation = -1}, {.crossover = 5}, {.sigma = NAN}, {.sigma = -1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        solo_sim *s = solo_sim_new(device, "sphere", NULL, &o, &e);
        ok(s, &e);
        expect_usage(solo_sim_evolve(s, 1, &odd[i], NULL, NULL, &e), &e, "from 0 to 1");
        solo_sim_free(s);
    }
}

/* What failed once fails again, and nothing is saved of what is not there. */
static void failing_leaves_nothing_behind(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "struct State { x: f32 }\nconst GENES = 2;\nfn init() -> State { return State(0.0); }\n"
        "fn step(s: State) -> State { return State(s.y); }\nfn score(s: State) -> f32 { return s.x; }\n",
        "struct State { x: f32 }\nconst GENES = 2;\nfn init() -> State { return State(0.0); }\n"
        "fn step(s: State) -> State { return s; }\nfn score(s: State) -> f32 { return 1.0 / s.x; }\n"};
    static const char *const parts[] = {"mine:4: ", "not finite"};
    for (int n = 0; n < 2; n++) {
        solo_error e = {0};
        float scores[20], genomes[40];
        char never[TEMPORARY_BYTES]; /* the name of a file that is not there */
        close(temporary_file(never, "api"));
        unlink(never);
        solo_sim *s = solo_sim_new(device, "mine", texts[n],
                                   &(solo_sim_options){.population = 20, .steps = 1, .evolves = true}, &e);
        ok(s, &e);
        for (int i = 0; i < 4; i++) {
            solo_error why = {0};
            bool good = i < 2 ? solo_sim_run(s, i ? SOLO_DISPATCH_A_STEP : SOLO_ONE_DISPATCH, &why) &&
                                    solo_sim_scores(s, scores, &why)
                              : solo_sim_evolve(s, 5, NULL, NULL, NULL, &why);
            if (good || !strstr(why.text, parts[n]))
                fail_msg("'%s' was expected in '%s'", parts[n], why.text);
            memset(&why, 0, sizeof why);
            assert_false(solo_sim_save(s, never, &why));
            assert_string_equal(why.text, "nothing has evolved yet");
            assert_int_equal(access(never, F_OK), -1);
            memset(&why, 0, sizeof why);
            assert_false(solo_sim_evolved(s, genomes, scores, &why));
            memset(&why, 0, sizeof why);
            assert_false(solo_sim_resume(s, never, NULL, &why));
        }
        solo_sim_free(s);
    }
}

static int open_first(void **unused)
{
    (void)unused;
    return open_named(impls[0]);
}

static int open_second(void **unused)
{
    (void)unused;
    return open_named(impls[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simulation_from_text),
        cmocka_unit_test(a_run_that_is_stopped),
        cmocka_unit_test(step_by_step),
        cmocka_unit_test(evolution_is_stopped_saved_and_resumed),
        cmocka_unit_test(mistakes_are_errors),
        cmocka_unit_test(nothing_is_made_of_nothing),
        cmocka_unit_test(failing_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("dawn", tests, open_first, shut) +
           cmocka_run_group_tests_name("wgpu", tests, open_second, shut);
}
