/* Evolution: the same bits at every level, what C makes of the same parents, and files to go on from. */
#include "base/file.h"
#include "base/str.h"
#include "gpu/devices.h"
#include "sim/builtin.h"
#include "sim/evolve.h"
#include "sim/threefry.h"
#include "temporary.h"

#include <math.h>
#include <unistd.h>

enum { POPULATION = 150, GENES = 10 };

static const evolve_options HOW = {.tournament = 3, .elite = 4, .crossover = 0.6f, .mutation = 0.2f, .sigma = 0.1f};

typedef struct run {
    sim_source source;
    sim *s;
    evolution *v;
    float genomes[POPULATION][GENES], scores[POPULATION];
} run;

static uint32_t chunk_ms; /* how long a dispatch may take; 0: as long as it takes */

static void open_run(run *r, uint32_t seed)
{
    err e = {0};
    assert_true(sim_source_read(&r->source, "rastrigin", sim_builtin("rastrigin"), &e));
    r->s = sim_new(
        device, &r->source,
        &(sim_options){.population = POPULATION, .steps = 1, .seed = seed, .chunk_ms = chunk_ms, .evolves = true}, &e);
    r->v = r->s ? evolve_new(r->s, &HOW, &e) : NULL;
    if (!r->v)
        fail_msg("%s", e.text);
}

static void close_run(run *r)
{
    evolve_free(r->v);
    sim_free(r->s);
    sim_source_free(&r->source);
}

static void go(run *r, uint32_t until, fusion_level level)
{
    err e = {0};
    if (!evolve_run(r->v, until, level, SUBMIT_BATCH, NULL, NULL, &e) ||
        !evolve_read(r->v, &r->genomes[0][0], r->scores, &e))
        fail_msg("%s", e.text);
    assert_int_equal(evolve_generation(r->v), until);
}

static uint64_t hash_of(const run *r)
{
    uint64_t h = str_hash(STR_HASH_BEGIN, (const char *)r->genomes, sizeof r->genomes);
    h = str_hash(h, (const char *)r->scores, sizeof r->scores);
    return str_hash(h, (const char *)evolve_best(r->v), (evolve_generation(r->v) + 1) * sizeof(double));
}

static uint64_t evolved(uint32_t until, fusion_level level)
{
    run *r = mem_alloc(sizeof *r);
    open_run(r, 3);
    go(r, until, level);
    uint64_t h = hash_of(r);
    close_run(r);
    free(r);
    return h;
}

static void all_levels_give_the_same_bits(void **unused)
{
    (void)unused;
    uint64_t right = evolved(12, LEVEL_TOKEN);
    assert_true(evolved(12, LEVEL_NONE) == right);
    assert_true(evolved(12, LEVEL_LOOP) == right);
    chunk_ms = 1; /* few at a time, or one by one where even one takes longer */
    assert_true(evolved(12, LEVEL_LOOP) == right);
    chunk_ms = 0;
    setenv("SOLO_SIM_GROUPS", "0", 1); /* those that are resident, if they see each other's data */
    assert_true(evolved(12, LEVEL_LOOP) == right);
    /* two workgroups that wait for each other, and two that time out */
    setenv("SOLO_SIM_GROUPS", "2", 1);
    assert_true(evolved(12, LEVEL_LOOP) == right);
    setenv("SOLO_SIM_STALL", "4", 1);
    setenv("SOLO_SIM_LOOKS", "1000", 1);
    assert_true(evolved(12, LEVEL_LOOP) == right);
    unsetenv("SOLO_SIM_GROUPS");
    unsetenv("SOLO_SIM_STALL");
    unsetenv("SOLO_SIM_LOOKS");
}

static void the_best_stay_and_get_better(void **unused)
{
    (void)unused;
    run *r = mem_alloc(sizeof *r);
    open_run(r, 3);
    go(r, 40, LEVEL_TOKEN);
    const double *best = evolve_best(r->v);
    for (uint32_t i = 1; i <= 40; i++)
        assert_true(best[i] >= best[i - 1]);
    assert_true(best[40] > best[0] / 4); /* of minus a hundred or so */
    for (uint32_t i = 0; i < POPULATION; i++)
        for (uint32_t k = 0; k < GENES; k++)
            assert_true(fabsf(r->genomes[i][k]) <= 5.12f);
    close_run(r);
    free(r);
}

/* ---- the next generation, in C ------------------------------------------------------------------ */

static uint32_t drawn(uint32_t seed, uint32_t child, uint32_t generation, uint32_t block, uint32_t n)
{
    uint32_t pair[2];
    threefry((uint32_t[]){seed ^ 0x5eed0e70u, child}, (uint32_t[]){generation, block + n / 2}, pair);
    return pair[n % 2];
}

static uint32_t tournament(const run *r, uint32_t child, uint32_t first)
{
    uint32_t winner = drawn(3, child, 5, 0, first) % POPULATION;
    for (uint32_t k = 1; k < HOW.tournament; k++) {
        uint32_t other = drawn(3, child, 5, 0, first + k) % POPULATION;
        if (r->scores[other] > r->scores[winner])
            winner = other;
    }
    return winner;
}

static void children_are_those_of_c(void **unused)
{
    (void)unused;
    run *old = mem_alloc(sizeof *old), *new = mem_alloc(sizeof *new);
    open_run(old, 3);
    open_run(new, 3);
    go(old, 5, LEVEL_TOKEN);
    go(new, 6, LEVEL_LOOP);
    uint32_t mutated = 0, mixed = 0;
    for (uint32_t i = 0; i < POPULATION; i++) {
        uint32_t mother = tournament(old, i, 0), father = tournament(old, i, HOW.tournament);
        bool crosses = threefry_unit(drawn(3, i, 5, 0, 2 * HOW.tournament)) < HOW.crossover;
        if (i < HOW.elite) {
            uint32_t better = 0, at = 0;
            for (; at < POPULATION; at++) { /* who has exactly i that are better */
                better = 0;
                for (uint32_t j = 0; j < POPULATION; j++)
                    better += old->scores[j] > old->scores[at] || (old->scores[j] == old->scores[at] && j < at);
                if (better == i)
                    break;
            }
            assert_memory_equal(new->genomes[i], old->genomes[at], sizeof new->genomes[i]);
            continue;
        }
        for (uint32_t k = 0; k < GENES; k++) {
            uint32_t block = 0x10000u + 2 * k;
            bool fathers = crosses && threefry_unit(drawn(3, i, 5, block, 0)) < 0.5f;
            double value = (double)old->genomes[fathers ? father : mother][k];
            mixed += fathers && father != mother;
            if (threefry_unit(drawn(3, i, 5, block, 1)) < HOW.mutation) {
                double u = (double)threefry_unit(drawn(3, i, 5, block, 2)),
                       w = (double)threefry_unit(drawn(3, i, 5, block, 3));
                value += (double)HOW.sigma * 5.12 * sqrt(-2 * log(1 - u)) * cos(8 * atan(1) * w);
                value = fmin(fmax(value, -5.12), 5.12);
                mutated++;
            }
            if (fabs(value - (double)new->genomes[i][k]) > 1e-5)
                fail_msg("child %u, gene %u is %g, not %g", i, k, (double)new->genomes[i][k], value);
        }
    }
    assert_true(mutated > 200 && mixed > 200);
    close_run(old);
    close_run(new);
    free(old);
    free(new);
}

/* ---- files ---------------------------------------------------------------------------------------- */

static void a_break_changes_nothing(void **unused)
{
    (void)unused;
    err e = {0};
    char path[TEMPORARY_BYTES];
    close(temporary_file(path, "evolve"));
    run *r = mem_alloc(sizeof *r);
    open_run(r, 3);
    go(r, 7, LEVEL_TOKEN);
    if (!evolve_save(r->v, path, &e))
        fail_msg("%s", e.text);
    close_run(r);
    for (int level = LEVEL_TOKEN; level <= LEVEL_LOOP; level++) {
        open_run(r, 3);
        assert_true(evolve_load(r->v, path, &e));
        assert_int_equal(evolve_generation(r->v), 7);
        go(r, 12, (fusion_level)level);
        assert_true(hash_of(r) == evolved(12, LEVEL_TOKEN));
        close_run(r);
    }
    /* another seed is another evolution */
    open_run(r, 4);
    assert_false(evolve_load(r->v, path, &e));
    assert_non_null(strstr(e.text, "another simulation"));
    close_run(r);

    size_t length;
    err_clear(&e);
    char *bytes = file_read(path, 1 << 20, &length, &e);
    assert_non_null(bytes);
    open_run(r, 3);
    for (int k = 0; k < 4; k++) {
        static const char *const parts[] = {"too short", "is not a saved evolution", "damaged", "damaged"};
        static const size_t wrong[] = {0, 3, 100, 0};
        size_t cut = k == 0 ? 20 : k == 3 ? length - 4 : length;
        err_clear(&e);
        bytes[wrong[k]] ^= k == 1 || k == 2;
        assert_true(file_write(path, bytes, cut, &e));
        assert_false(evolve_load(r->v, path, &e));
        if (!strstr(e.text, parts[k]))
            fail_msg("'%s' was expected in '%s'", parts[k], e.text);
        bytes[wrong[k]] ^= k == 1 || k == 2;
    }
    free(bytes);
    close_run(r);
    free(r);
    unlink(path);
}

/* Now and then a score is no number, at a generation that random numbers say: the same one at every level, in the middle of a
 * dispatch or not, and the generation before it is still there. */
static void scores_that_are_no_numbers_end_it(void **unused)
{
    (void)unused;
    static const char text[] = "struct State { x: f32 }\nconst GENES = 10;\n"
                               "fn init(rng: ptr<function, Rng>) -> State { return State(random(rng)); }\n"
                               "fn step(s: State) -> State { return s; }\n"
                               "fn score(s: State) -> f32 { return 1.0 / max(s.x - 0.001, 0.0) + gene(0u); }\n";
    err right = {0};
    uint32_t generation = 0, individual = 0;
    static const fusion_level levels[] = {LEVEL_TOKEN, LEVEL_NONE, LEVEL_LOOP, LEVEL_LOOP};
    for (int n = 0; n < 4; n++) {
        fusion_level level = levels[n];
        run *r = mem_alloc(sizeof *r);
        err e = {0}, none = {0};
        if (n == 3)
            setenv("SOLO_SIM_GROUPS", "2", 1);
        uint32_t at, who;
        assert_true(sim_source_read(&r->source, "a.wgsl", text, &e));
        r->s = sim_new(device, &r->source,
                       &(sim_options){.population = POPULATION, .steps = 1, .seed = 5, .evolves = true}, &e);
        r->v = evolve_new(r->s, &HOW, &e);
        assert_non_null(r->v);
        assert_false(evolve_run(r->v, 1000, level, SUBMIT_BATCH, NULL, NULL, &e));
        const char *named = strstr(e.text, "that of individual ");
        if (!named || sscanf(e.text, "generation %u: ", &at) != 1 ||
            sscanf(named, "that of individual %u", &who) != 1 || !strstr(e.text, "not finite"))
            fail_msg("%s", e.text);
        if (n == 0) {
            right = e;
            generation = at;
            individual = who;
        } else if (at != generation || who != individual)
            fail_msg("'%s' beside '%s'", e.text, right.text);
        assert_true(at > 2 && at < 1000);
        if (level != LEVEL_LOOP)
            assert_int_equal(evolve_generation(r->v), at - 1);
        assert_true(evolve_generation(r->v) < at);
        if (!evolve_read(r->v, &r->genomes[0][0], r->scores, &none))
            fail_msg("%s", none.text);
        for (uint32_t i = 0; i < POPULATION; i++)
            assert_true(isfinite(r->scores[i]));
        /* with its own genes and states, if anybody asks for them */
        float before[POPULATION];
        memcpy(before, r->scores, sizeof before);
        go(r, evolve_generation(r->v), level);
        assert_memory_equal(before, r->scores, sizeof before);
        /* and what is saved now goes on to the same end */
        char path[TEMPORARY_BYTES];
        close(temporary_file(path, "evolve"));
        err_clear(&e);
        if (!evolve_save(r->v, path, &none) || !evolve_load(r->v, path, &none))
            fail_msg("%s", none.text);
        assert_false(evolve_run(r->v, 1000, LEVEL_TOKEN, SUBMIT_BATCH, NULL, NULL, &e));
        if (strcmp(e.text, right.text) != 0)
            fail_msg("'%s' beside '%s'", e.text, right.text);
        unlink(path);
        unsetenv("SOLO_SIM_GROUPS");
        close_run(r);
        free(r);
    }
}

/* The same numbers in another shape are other data. */
static void a_table_of_another_shape_is_another_one(void **unused)
{
    (void)unused;
    static const char text[] = "struct State { x: f32 }\nconst GENES = 10;\n"
                               "fn init() -> State { return State(gene(0u) + data(0u, 1u)); }\n"
                               "fn step(s: State) -> State { return s; }\nfn score(s: State) -> f32 { return s.x; }\n";
    static float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const table tables[] = {{4, 2, values}, {2, 4, values}};
    char path[TEMPORARY_BYTES];
    close(temporary_file(path, "evolve"));
    for (int n = 0; n < 2; n++) {
        run *r = mem_alloc(sizeof *r);
        err e = {0};
        assert_true(sim_source_read(&r->source, "a.wgsl", text, &e));
        r->s = sim_new(device, &r->source,
                       &(sim_options){.population = POPULATION, .steps = 1, .data = &tables[n], .evolves = true}, &e);
        r->v = evolve_new(r->s, &HOW, &e);
        if (n == 0) {
            go(r, 1, LEVEL_TOKEN);
            assert_true(evolve_save(r->v, path, &e));
        } else {
            assert_false(evolve_load(r->v, path, &e));
            assert_non_null(strstr(e.text, "with other data"));
        }
        close_run(r);
        free(r);
    }
    unlink(path);
}

static void what_cannot_evolve_says_so(void **unused)
{
    (void)unused;
    static const char *const names[] = {"pi", "nbody"};
    for (int n = 0; n < 2; n++) {
        err e = {0};
        sim_source source;
        assert_true(sim_source_read(&source, names[n], sim_builtin(names[n]), &e));
        sim *s = sim_new(device, &source, &(sim_options){.population = 10, .steps = 1, .evolves = true}, &e);
        assert_non_null(s);
        assert_null(evolve_new(s, &HOW, &e));
        assert_true(e.kind != ERR_NONE);
        sim_free(s);
        sim_source_free(&source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_levels_give_the_same_bits),
        cmocka_unit_test(the_best_stay_and_get_better),
        cmocka_unit_test(children_are_those_of_c),
        cmocka_unit_test(a_break_changes_nothing),
        cmocka_unit_test(what_cannot_evolve_says_so),
        cmocka_unit_test(scores_that_are_no_numbers_end_it),
        cmocka_unit_test(a_table_of_another_shape_is_another_one),
    };
    (void)open_vulkan;
    return cmocka_run_group_tests_name("dawn", tests, open_dawn, close_device) +
           cmocka_run_group_tests_name("wgpu", tests, open_wgpu, close_device);
}
