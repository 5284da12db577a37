/* The hand-written CUDA controls compute what the WGSL does: their text, which is also C, runs here on the CPU, a thread
 * after the other, on the same genes and prices. */
#include "base/str.h"
#include "gpu/devices.h"
#include "sim/builtin.h"
#include "sim/sim.h"

#include <math.h>

#define SOLO_DEVICE static
#define SOLO_UNROLL
#define SOLO_UNROLL_UNITS
#define SOLO_INDIVIDUAL individual
static unsigned individual;

/* each has a function of the same name, and parameters that the host defines from the file's */
#include "../../kernels/sim_runtime/run.cu"
#define SOLO_KERNEL static
#define solo_all    acrobot
#include "../../kernels/sim/acrobot.cu"
#undef solo_all
#define DIMENSIONS 10u
#define solo_all   rastrigin
#include "../../kernels/sim/rastrigin.cu"
#undef solo_all
#define FEE          0.0005f
#define INTEREST     0.0001f
#define MAX_LEVERAGE 3.0f
#define MARGIN       4.0f
#define PENALTY      0.005f
#define BAND         0.02f
#define solo_all     finance
#include "../../kernels/sim/finance.cu"
#undef solo_all

typedef void (*control)(const Params *, unsigned *, unsigned *, const float *, float *, unsigned *, unsigned *,
                        unsigned *);

enum { POPULATION = 120, MOST_GENES = 246, MOST_WORDS = 32 };

static double as_number(uint32_t word, sim_scalar type)
{
    float f;
    memcpy(&f, &word, sizeof f);
    return type == SIM_F32 ? (double)f : (double)word;
}

/* How many individuals are alike, word by word: a decision at the very edge may fall either way. */
static void compare(const char *name, control run_control, uint32_t steps)
{
    err e = {0};
    sim_source source;
    table prices = {0};
    assert_true(sim_source_read(&source, name, sim_builtin(name), &e));
    assert_true(source.genes <= MOST_GENES && source.state->words <= MOST_WORDS);
    if (source.uses_data)
        sim_make_prices(&prices, SIM_PRICE_ROWS, 1);
    sim_options o = {.population = POPULATION, .steps = steps, .seed = 9, .data = prices.rows ? &prices : NULL};
    static float genomes[POPULATION * MOST_GENES], columns[POPULATION * MOST_GENES], scores[POPULATION];
    static uint32_t states[POPULATION * MOST_WORDS], theirs[POPULATION * MOST_WORDS], their_scores[POPULATION];
    sim *s = sim_new(device, &source, &o, &e);
    if (!s || !sim_run(s, LEVEL_LOOP, SUBMIT_BATCH, &e) || !sim_read_scores(s, scores, &e) ||
        !sim_read_states(s, states, &e))
        fail_msg("%s", e.text);
    sim_free(s);

    sim_draw_genomes(&source, POPULATION, 9, genomes);
    for (uint32_t i = 0; i < POPULATION; i++)
        for (uint32_t k = 0; k < source.genes; k++)
            columns[k * POPULATION + i] = genomes[i * source.genes + k];
    const Params params = {
        .population = POPULATION, .steps = steps, .begins = 1, .scores = 1, .seed = 9, .total = steps};
    for (individual = 0; individual < POPULATION + 8; individual++) /* the last workgroup is not full */
        run_control(&params, theirs, their_scores, prices.values, columns, NULL, NULL, NULL);

    uint32_t alike = 0;
    for (uint32_t i = 0; i < POPULATION; i++) {
        double ours = (double)scores[i], other = as_number(their_scores[i], SIM_F32);
        bool same = fabs(ours - other) <= 1e-3 * (1 + fabs(ours));
        for (uint32_t w = 0; w < source.state->words; w++) {
            ours = as_number(states[w * POPULATION + i], source.words[w].type);
            other = as_number(theirs[w * POPULATION + i], source.words[w].type);
            same = same && fabs(ours - other) <= 1e-3 * (1 + fabs(ours));
        }
        alike += same;
    }
    if (alike < POPULATION * 95 / 100)
        fail_msg("%s: only %u of %d are alike", name, alike, POPULATION);
    table_free(&prices);
    sim_source_free(&source);
}

static void cuda_text_computes_the_same(void **unused)
{
    (void)unused;
    (void)open_dawn, (void)open_vulkan;
    compare("acrobot", acrobot, 20);
    compare("rastrigin", rastrigin, 1);
    compare("finance", finance, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuda_text_computes_the_same)};
    return cmocka_run_group_tests_name("wgpu", tests, open_wgpu, close_device);
}
