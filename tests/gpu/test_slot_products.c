/* Products that read weights once for several texts, as GPUs get them: against the CPU's answer; a row's bits whatever
 * the other rows are; and the same bits at all levels. */
#include "gpu/compare.h"

static weight_box box;

typedef struct product_case {
    uint32_t rows, width, out;
    tensor_type type;
    bool normed, gated, turned;
} product_case;

/* One part with a bias, or a gate and its partner; x is computed. */
static graph *product_of(const product_case *c)
{
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(c->rows, c->width));
    node at = graph_input(g, "at", DTYPE_U32, shape1(c->rows));
    node y = graph_reshape(g, x, shape3(c->rows, 1, c->width));
    y = graph_reshape(g, graph_rope(g, y, at, (rope_spec){.rotated = c->width, .base = 10}), shape2(c->rows, c->width));
    if (c->normed)
        y = graph_rmsnorm(g, y, weight(g, &box, "norm", TYPE_F32, shape1(c->width)), 1e-5f, 0);
    node one = graph_matmul(g, y, weight(g, &box, "one", c->type, shape2(c->out, c->width)));
    if (c->gated) {
        node other = graph_matmul(g, y, weight(g, &box, "other", c->type, shape2(c->out, c->width)));
        one = graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, one), other);
    } else
        one = graph_binary(g, BINARY_ADD, one, weight(g, &box, "bias", TYPE_F32, shape1(c->out)));
    if (c->turned)
        one = graph_rope(g, graph_reshape(g, one, shape3(c->rows, 1, c->out)), at,
                         (rope_spec){.rotated = c->out, .base = 10});
    graph_output(g, "y", one);
    return g;
}

static void send(graph_run *r, cpu_run *cpu)
{
    err e = {0};
    assert_true(graph_run_write(r, "x", cpu_floats(cpu, "x"), &e));
}

static float *answer(graph_run *r, uint64_t count)
{
    err e = {0};
    float *y = mem_alloc(count * sizeof *y);
    graph_run_once(r, 0, SUBMIT_BATCH);
    if (!graph_run_read(r, "y", y, &e))
        fail_msg("%s", e.text);
    return y;
}

static void compare_product(const product_case *c, const char *kernel, uint64_t seed)
{
    err e = {0};
    box.r = rng_seed(seed);
    graph *g = product_of(c);
    cpu_run *cpu = cpu_run_new(g, find_weight, &box, &e);
    graph_run *r = graph_run_new(device, &(graph_use){.g = g, .level = LEVEL_OPS}, 1, find_weight, &box, &e);
    if (!cpu || !r)
        fail_msg("%s", e.text);
    bool found = false;
    for (uint32_t i = 0; i < graph_run_stages(r, 0); i++)
        found |= strncmp(graph_run_dispatch(r, 0, i).kernel, kernel, strlen(kernel)) == 0;
    if (!found)
        fail_msg("%u rows of %u not by %s", c->rows, c->width, kernel);
    /* Positions are 0, so that x is what it was; whole numbers, of which bytes lose nothing unless they are normed. */
    whole_inputs = !c->normed;
    uint64_t inputs = (uint64_t)c->rows * c->width, outputs = (uint64_t)c->rows * c->out;
    for (uint64_t i = 0; i < inputs; i++)
        cpu_floats(cpu, "x")[i] = random_input(&box.r, i);
    whole_inputs = false;
    assert_true(cpu_run_once(cpu, &e));
    send(r, cpu);
    float *y = answer(r, outputs);
    bool bytes = c->type != TYPE_F16 && c->type != TYPE_F32;
    bool halves = strcmp(kernel, "matmul_slots_matrix") == 0; /* of x */
    double squares = 0, far = !c->normed ? 2e-4 : bytes ? 0.05 : halves ? 5e-3 : 2e-3;
    for (uint64_t i = 0; i < outputs; i++)
        squares += (double)cpu_floats(cpu, "y")[i] * cpu_floats(cpu, "y")[i] / (double)outputs;
    for (uint64_t i = 0; i < outputs; i++)
        if (!(fabs((double)y[i] - (double)cpu_floats(cpu, "y")[i]) <= far * sqrt(squares)))
            fail_msg("%s, %u rows of %u by %u: element %u is %g instead of %g of %g", type_find(c->type)->name, c->rows,
                     c->width, c->out, (unsigned)i, (double)y[i], (double)cpu_floats(cpu, "y")[i], sqrt(squares));
    /* The last row stays; of the others nothing is left. */
    for (uint64_t i = 0; i < inputs - c->width; i++)
        cpu_floats(cpu, "x")[i] = (float)(rng_unit(&box.r) * 1e4);
    send(r, cpu);
    float *other = answer(r, outputs);
    assert_memory_equal(y + outputs - c->out, other + outputs - c->out, c->out * sizeof *y);
    assert_true(memcmp(y, other, c->out * sizeof *y) != 0);
    free(y);
    free(other);
    graph_run_free(r);
    cpu_run_free(cpu);
    graph_free(g);
    empty_box(&box);
}

/* Rows of x that are one segment, or several, the last of them shorter, read ahead or not; rows that are one set, or
 * several, the last of them smaller; teams of one subgroup, and of several; columns that are no multiple of four; more
 * row4s than teams. Few rows, since compilers take long for many. */
static const product_case CASES[] = {
    {3, 64, 37, TYPE_F16, true, false, false},    {2, 9000, 9, TYPE_F16, false, false, false},
    {2, 160, 33, TYPE_Q8_0, false, false, false}, {2, 256, 10, TYPE_IQ4_NL, false, true, false},
    {2, 256, 11, TYPE_Q6_K, false, false, false}, {9, 64, 21, TYPE_F16, false, false, false},
    {3, 256, 270, TYPE_Q4_0, true, true, false},  {2, 32768, 6, TYPE_Q4_0, false, false, false},
    {7, 128, 130, TYPE_F32, true, false, false},  {5, 64, 37, TYPE_F16, true, false, false},
    {9, 160, 33, TYPE_Q8_0, false, false, false}, {2, 1032, 21, TYPE_F16, true, true, false},
    {8, 4864, 5, TYPE_F16, true, false, false},
};

static void products_are_right(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    setenv("SOLO_TUNE", "gpu", 1);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        compare_product(&CASES[i], "matmul_slots", 50 + i);
    unsetenv("SOLO_TUNE");
}

/* Two, four and eight workgroups to a row4; shares of one segment, and of several; columns that are no multiple of four. */
static const product_case SHARED_CASES[] = {
    {2, 12288, 37, TYPE_F16, false, false, false},
    {2, 32768, 6, TYPE_Q4_0, false, false, false},
    {3, 32768, 9, TYPE_Q8_0, false, false, false},
    {2, 81920, 5, TYPE_F32, false, false, false},
};

static void shares_of_k_are_added_up(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    setenv("SOLO_TUNE", "gpu", 1);
    for (size_t i = 0; i < sizeof SHARED_CASES / sizeof *SHARED_CASES; i++)
        compare_product(&SHARED_CASES[i], "matmul_slots_combine", 90 + i);
    unsetenv("SOLO_TUNE");
}

/* Where there are none, threads stand in for them. Units of one tile, and of two; x as one segment, or as several, the last one
 * shorter; teams of all subgroups, and of fewer; more rows than a fragment has columns. */
static const product_case MATRIX_CASES[] = {
    {3, 64, 32, TYPE_F16, true, false, false},    {8, 96, 64, TYPE_F16, true, true, false},
    {2, 128, 64, TYPE_F16, false, false, true},   {5, 512, 48, TYPE_F16, true, false, false},
    {2, 1040, 16, TYPE_F16, true, false, false},  {8, 4864, 32, TYPE_F16, false, false, false},
    {9, 64, 32, TYPE_F16, true, true, false},     {2, 32, 41 * 1024, TYPE_F16, false, false, false},
    {16, 96, 160, TYPE_F16, false, false, false},
};

static void use_matrix_units(void)
{
    setenv("SOLO_MATRIX", "texts", 1);
    setenv("SOLO_TUNE", "gpu", 1);
    if (!device_profile_for(gpu_get_info(device)).matrix_texts)
        setenv("SOLO_TUNE", "matrix", 1);
}

static void products_by_matrix_units_are_right(void **unused)
{
    (void)unused;
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    use_matrix_units();
    for (size_t i = 0; i < sizeof MATRIX_CASES / sizeof *MATRIX_CASES; i++)
        compare_product(&MATRIX_CASES[i], "matmul_slots_matrix", 70 + i);
    unsetenv("SOLO_TUNE");
    unsetenv("SOLO_MATRIX");
}

/* In one dispatch of two workgroups, whose threads poll x, as by separate dispatches. */
static void levels_make_the_same_bits(void **unused)
{
    (void)unused;
    static const product_case cases[] = {
        {2, 64, 260, TYPE_F16, true, true, false},     {2, 96, 37, TYPE_Q8_0, true, false, false},
        {2, 64, 256, TYPE_F16, true, true, false},     {2, 1040, 64, TYPE_F16, true, false, false},
        {2, 12288, 37, TYPE_F16, false, false, false}, {2, 32768, 12, TYPE_Q4_0, false, false, false}};
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0)
        skip();
    setenv("SOLO_ONE_GROUPS", "2", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const product_case *c = &cases[i];
        setenv("SOLO_TUNE", "gpu", 1);
        unsetenv("SOLO_MATRIX");
        if (i == 2 || i == 3)
            use_matrix_units();
        err e = {0};
        box.r = rng_seed(80 + i);
        graph *g = product_of(c);
        graph_use uses[] = {{.g = g, .level = LEVEL_TOKEN}, {.g = g, .level = LEVEL_OPS}};
        graph_run *r = graph_run_new(device, uses, 2, find_weight, &box, &e);
        if (!r || !graph_run_possible(r, 0, &e))
            fail_msg("%s", e.text);
        uint64_t inputs = (uint64_t)c->rows * c->width, outputs = (uint64_t)c->rows * c->out;
        float *x = mem_alloc(inputs * sizeof *x);
        uint32_t *y = mem_alloc(2 * outputs * sizeof *y);
        for (int run = 0; run < 3; run++) {
            for (uint64_t k = 0; k < inputs; k++)
                x[k] = random_input(&box.r, k);
            for (uint32_t which = 0; which < 2; which++) {
                assert_true(graph_run_write(r, "x", x, &e));
                graph_run_once(r, which, SUBMIT_BATCH);
                if (!graph_run_read(r, "y", y + which * outputs, &e))
                    fail_msg("%s", e.text);
            }
            for (uint64_t k = 0; k < outputs; k++) /* the lowest bit is the epoch bit */
                assert_int_equal(y[k] & ~1u, y[outputs + k] & ~1u);
        }
        free(x);
        free(y);
        graph_run_free(r);
        graph_free(g);
        empty_box(&box);
    }
    unsetenv("SOLO_ONE_GROUPS");
    unsetenv("SOLO_TUNE");
    unsetenv("SOLO_MATRIX");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_right), cmocka_unit_test(shares_of_k_are_added_up),
                                       cmocka_unit_test(products_by_matrix_units_are_right),
                                       cmocka_unit_test(levels_make_the_same_bits)};
    return RUN_ON_EACH(tests);
}
