/* Simulations compute what C does, from the definitions, in double precision (tests/cli/sim.sh: gymnasium, numpy). */
#include "gpu/sim_run.h"
#include "sim/threefry.h"

#include <math.h>

/* The n-th number drawn in a step, as a whole number. */
static uint32_t drawn(const run *r, uint32_t individual, uint32_t step, uint32_t n)
{
    uint32_t pair[2];
    threefry((uint32_t[]){r->options.seed, individual}, (uint32_t[]){step, n / 2}, pair);
    return pair[n % 2];
}

static void pi_is_counted_as_in_c(void **unused)
{
    (void)unused;
    run r = open_run("pi", 200, 150);
    run_once(&r);
    uint32_t near_edge = 0;
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t inside = 0, unsure = 0;
        for (uint32_t t = 0; t < 150; t++) {
            double x = (double)threefry_unit(drawn(&r, i, t, 0)), y = (double)threefry_unit(drawn(&r, i, t, 1));
            inside += x * x + y * y < 1;
            unsure += fabs(x * x + y * y - 1) < 1e-6;
        }
        near_edge += unsure;
        assert_true(abs((int)inside - (int)r.states[i]) <= (int)unsure);
    }
    assert_true(near_edge < 3);
    close_run(&r);
}

/* Whole numbers and comparisons only: every individual is the same. */
static void the_epidemic_is_that_of_c(void **unused)
{
    (void)unused;
    enum { PEOPLE = 400, DAYS = 60, MEETINGS = 8 };
    run r = open_run("epidemic", PEOPLE, DAYS);
    run_once(&r);
    uint32_t now[PEOPLE], next[PEOPLE], ever = 0;
    for (uint32_t i = 0; i < PEOPLE; i++)
        now[i] = i < 8;
    for (uint32_t t = 0; t < DAYS; t++) {
        for (uint32_t i = 0; i < PEOPLE; i++) {
            next[i] = now[i];
            for (uint32_t k = 0; now[i] == 0 && next[i] == 0 && k < MEETINGS; k++)
                if (threefry_unit(drawn(&r, i, t, 2 * k + 1)) < 0.04f && now[drawn(&r, i, t, 2 * k) % PEOPLE] == 1)
                    next[i] = 1;
            if (now[i] == 1 && threefry_unit(drawn(&r, i, t, 0)) < 0.125f)
                next[i] = 2;
        }
        memcpy(now, next, sizeof now);
    }
    for (uint32_t i = 0; i < PEOPLE; i++) {
        assert_int_equal(r.states[i], now[i]);
        ever += now[i] != 0;
    }
    assert_true(ever > PEOPLE / 4 && ever < PEOPLE); /* something happened */
    close_run(&r);
}

static double function_value(const char *name, const float *x, uint32_t n)
{
    double sum = 0, waves = 0, product = 1;
    const double tau = 8 * atan(1);
    for (uint32_t k = 0; k < n; k++) {
        double v = (double)x[k];
        product *= cos(v / sqrt(k + 1));
        waves += cos(tau * v);
        sum += strcmp(name, "schwefel") == 0 ? -v * sin(sqrt(fabs(v))) : v * v;
    }
    if (strcmp(name, "sphere") == 0)
        return sum;
    if (strcmp(name, "rastrigin") == 0)
        return 10 * n + sum - 10 * waves;
    if (strcmp(name, "ackley") == 0)
        return 20 - 20 * exp(-0.2 * sqrt(sum / n)) + exp(1) - exp(waves / n);
    if (strcmp(name, "schwefel") == 0)
        return 418.9829 * n + sum;
    return 1 + sum / 4000 - product;
}

static void functions_have_their_values(void **unused)
{
    (void)unused;
    enum { POPULATION = 50, GENES = 10 };
    static const char *const names[] = {"sphere", "rastrigin", "ackley", "schwefel", "griewank"};
    for (int f = 0; f < 5; f++) {
        run r = open_run(names[f], POPULATION, 1);
        float genomes[POPULATION * GENES];
        sim_draw_genomes(&r.source, POPULATION, 7, genomes);
        /* at the bottom all are 0; at the edges drawn ones stay within */
        for (uint32_t k = 0; k < GENES; k++)
            genomes[k] = strcmp(names[f], "schwefel") == 0 ? 420.9687f : 0;
        sim *s = new_sim(&r);
        sim_set_genomes(s, genomes);
        go(&r, s, LEVEL_LOOP, SUBMIT_BATCH);
        sim_free(s);
        for (uint32_t i = 0; i < POPULATION; i++) {
            double right = function_value(names[f], genomes + i * GENES, GENES);
            double scale = i == 0 ? 200 : 100 + fabs(right);
            if (fabs(right + (double)r.scores[i]) > 2e-5 * scale)
                fail_msg("%s of individual %u is %g, not %g", names[f], i, -(double)r.scores[i], right);
        }
        close_run(&r);
    }
}

/* Black, Scholes and Merton's price of the option. */
static void the_option_costs_what_theory_says(void **unused)
{
    (void)unused;
    enum { PATHS = 16384, DAYS = 50 };
    run r = open_run("option", PATHS, DAYS);
    run_once(&r);
    double sum = 0, squares = 0, spot = 100, strike = 105, rate = 0.03, sigma = 0.2;
    for (uint32_t i = 0; i < PATHS; i++) {
        sum += (double)r.scores[i];
        squares += (double)r.scores[i] * (double)r.scores[i];
    }
    double mean = sum / PATHS, error = sqrt((squares / PATHS - mean * mean) / PATHS);
    double d1 = (log(spot / strike) + rate + sigma * sigma / 2) / sigma, d2 = d1 - sigma;
    double price = spot * erfc(-d1 / sqrt(2)) / 2 - strike * exp(-rate) * erfc(-d2 / sqrt(2)) / 2;
    assert_true(fabs(price - 7.13) < 0.05); /* the formula itself */
    if (fabs(mean - price) > 4 * error)
        fail_msg("%g +- %g, not %g", mean, error, price);
    close_run(&r);
}

/* The same law of attraction in double precision, from the same start. */
static void bodies_move_as_in_c(void **unused)
{
    (void)unused;
    enum { BODIES = 96, STEPS = 40 };
    run start = open_run("nbody", BODIES, 1), end = open_run("nbody", BODIES, STEPS);
    static double place[BODIES][3], speed[BODIES][3], pull[BODIES][3];
    err e = {0};
    uint32_t rows[2][8][BODIES];
    start.options.trace_count = BODIES;
    sim *s = new_sim(&start);
    go(&start, s, LEVEL_LOOP, SUBMIT_BATCH);
    assert_true(sim_read_trace(s, &rows[0][0][0], &e));
    sim_free(s);
    for (uint32_t i = 0; i < BODIES; i++)
        for (uint32_t k = 0; k < 3; k++) {
            float p, v;
            memcpy(&p, &rows[0][k][i], 4);
            memcpy(&v, &rows[0][4 + k][i], 4);
            place[i][k] = (double)p;
            speed[i][k] = (double)v;
        }
    for (uint32_t t = 0; t < STEPS; t++) {
        memset(pull, 0, sizeof pull);
        for (uint32_t i = 0; i < BODIES; i++)
            for (uint32_t j = 0; j < BODIES; j++) {
                double away[3], square = 0.05 * 0.05;
                for (uint32_t k = 0; k < 3; k++) {
                    away[k] = place[j][k] - place[i][k];
                    square += away[k] * away[k];
                }
                for (uint32_t k = 0; k < 3; k++)
                    pull[i][k] += away[k] / (BODIES * square * sqrt(square));
            }
        for (uint32_t i = 0; i < BODIES; i++)
            for (uint32_t k = 0; k < 3; k++) {
                speed[i][k] += 0.002 * pull[i][k];
                place[i][k] += 0.002 * speed[i][k];
            }
    }
    run_once(&end);
    double moved = 0;
    for (uint32_t i = 0; i < BODIES; i++)
        for (uint32_t k = 0; k < 3; k++) {
            float p, first;
            memcpy(&p, &end.states[k * BODIES + i], 4);
            memcpy(&first, &rows[0][k][i], 4);
            assert_true(fabs((double)p - place[i][k]) < 1e-5);
            moved = fmax(moved, fabs((double)p - (double)first));
        }
    assert_true(moved > 0.03);
    close_run(&start);
    close_run(&end);
}

int main(void)
{
    (void)open_vulkan;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pi_is_counted_as_in_c),       cmocka_unit_test(the_epidemic_is_that_of_c),
        cmocka_unit_test(functions_have_their_values), cmocka_unit_test(the_option_costs_what_theory_says),
        cmocka_unit_test(bodies_move_as_in_c),
    };
    return cmocka_run_group_tests_name("dawn", tests, open_dawn, close_device) +
           cmocka_run_group_tests_name("wgpu", tests, open_wgpu, close_device);
}
