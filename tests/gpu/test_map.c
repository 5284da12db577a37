/* Functions and sums of products through strides, on every implementation: against the CPU's answer over random shapes
 * and strides, and the levels against each other bit by bit. */
#include "gpu/compare.h"

enum { X_COUNT = 360, MOST_OUTPUTS = 40 };

typedef struct trial {
    graph *g;
    weight_box box;
    node x, y, ids;
    uint32_t outputs;
    char names[MOST_OUTPUTS][8];
} trial;

static shape flat(const uint32_t *dims)
{
    uint32_t count = 1;
    for (int d = 0; d < GRAPH_VIEW_DIMS; d++)
        count *= dims[d];
    return shape1(count);
}

/* A random way to read an operand of `count` elements: some dimensions broadcast, some backwards, in any order. */
static graph_view random_view(trial *t, node of, const uint32_t *dims, uint32_t count)
{
    graph_view v = {.of = of};
    uint32_t reach = 1, left = (1u << GRAPH_VIEW_DIMS) - 1;
    while (left) {
        uint32_t d = rng_below(&t->box.r, GRAPH_VIEW_DIMS);
        if (!(left >> d & 1))
            continue;
        left &= ~(1u << d);
        if (dims[d] == 1 || reach * dims[d] > count || rng_below(&t->box.r, 4) == 0)
            continue;
        v.strides[d] = reach;
        if (rng_below(&t->box.r, 4) == 0) {
            v.strides[d] = 0u - reach;
            v.offset += (dims[d] - 1) * reach;
        }
        reach *= dims[d];
    }
    v.offset += rng_below(&t->box.r, count - reach + 1);
    return v;
}

static void random_dims(trial *t, uint32_t *dims)
{
    static const uint32_t sizes[] = {1, 1, 2, 3, 4, 5};
    do
        for (int d = 0; d < GRAPH_VIEW_DIMS; d++)
            dims[d] = sizes[rng_below(&t->box.r, 6)];
    while (shape_count(flat(dims)) > X_COUNT);
}

static void output(trial *t, node n)
{
    assert_true(t->outputs < MOST_OUTPUTS);
    snprintf(t->names[t->outputs], sizeof t->names[0], "o%u", t->outputs);
    graph_output(t->g, t->names[t->outputs++], n);
}

static trial new_trial(uint64_t seed)
{
    trial t = {.g = graph_new(), .box = {.r = rng_seed(seed)}};
    t.x = graph_scale(t.g, graph_input(t.g, "x", DTYPE_F32, shape1(X_COUNT)), 1, 0.25f);
    t.y = graph_input(t.g, "y", DTYPE_F32, shape1(X_COUNT));
    t.ids = graph_input(t.g, "ids", DTYPE_U32, shape1(X_COUNT));
    return t;
}

static void write_inputs(trial *t, cpu_run *cpu, graph_run *const *ways)
{
    err e = {0};
    for (uint32_t i = 0; i < X_COUNT; i++) {
        cpu_floats(cpu, "x")[i] = (float)(rng_unit(&t->box.r) * 4 - 2);
        cpu_floats(cpu, "y")[i] = (float)(rng_unit(&t->box.r) * 2 + 0.5);
        cpu_words(cpu, "ids")[i] = rng_below(&t->box.r, 17) - 8u; /* below zero, too */
    }
    for (int level = LEVEL_NONE; level < LEVEL_COUNT && ways[level]; level++) {
        assert_true(graph_run_write(ways[level], "x", cpu_floats(cpu, "x"), &e));
        assert_true(graph_run_write(ways[level], "y", cpu_floats(cpu, "y"), &e));
        assert_true(graph_run_write(ways[level], "ids", cpu_words(cpu, "ids"), &e));
    }
}

static void same_bits(graph_run *a, graph_run *b, const trial *t, fusion_level level)
{
    err e = {0};
    for (uint32_t i = 0; i < t->outputs; i++) {
        uint32_t one[X_COUNT], other[X_COUNT];
        uint64_t count = shape_count(graph_at(t->g, graph_find(t->g, t->names[i]))->s);
        assert_true(graph_run_read(a, t->names[i], one, &e) && graph_run_read(b, t->names[i], other, &e));
        if (memcmp(one, other, count * sizeof *one) != 0)
            fail_msg("%s at %s has other bits than at none", t->names[i], fusion_names[level]);
    }
}

/* Two runs, so that a state is read after it was written. Bare Vulkan and wgpu have no megakernels here. */
static void run_trial(trial *t)
{
    err e = {0};
    bool dawn = strcmp(gpu_get_info(device)->family, "dawn") == 0;
    graph_run *ways[LEVEL_COUNT + 1] = {0};
    cpu_run *cpu = cpu_run_new(t->g, find_weight, &t->box, &e);
    for (int level = LEVEL_NONE; cpu && level <= (dawn ? (int)LEVEL_LOOP : (int)LEVEL_OPS); level++) {
        graph_use use = {.g = t->g, .level = (fusion_level)level};
        ways[level] = graph_run_new(device, &use, 1, find_weight, &t->box, &e);
        if (ways[level])
            graph_run_possible(ways[level], 0, &e);
    }
    if (e.kind != ERR_NONE)
        fail_msg("%s", e.text);
    for (int run = 0; run < 2; run++) {
        write_inputs(t, cpu, ways);
        if (!cpu_run_once(cpu, &e))
            fail_msg("%s", e.text);
        for (int level = LEVEL_NONE; level < LEVEL_COUNT && ways[level]; level++) {
            graph_run_once(ways[level], 0, SUBMIT_BATCH);
            for (uint32_t i = 0; i < t->outputs; i++)
                compare_output(ways[level], cpu, graph_at(t->g, graph_find(t->g, t->names[i])), t->names[i],
                               (fusion_level)level);
            same_bits(ways[LEVEL_NONE], ways[level], t, (fusion_level)level);
        }
    }
    if (dawn)
        assert_int_equal(graph_run_dispatches(ways[LEVEL_TOKEN], 0), 1);
    for (int level = LEVEL_NONE; level < LEVEL_COUNT; level++)
        graph_run_free(ways[level]);
    cpu_run_free(cpu);
    graph_free(t->g);
    empty_box(&t->box);
}

/* Every kind, of floats: what has no answer below zero gets y, which is above. */
static void functions_of_floats(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        trial t = new_trial(seed);
        for (int kind = MAP_RSQRT; kind < MAP_TAKE; kind++) {
            map_spec m = {.kind = (map_kind)kind, .view_count = kind == MAP_WHERE ? 3 : kind < MAP_ADD ? 1 : 2};
            random_dims(&t, m.dims);
            bool above = kind == MAP_RSQRT || kind == MAP_POW;
            m.views[0] = random_view(&t, above ? t.y : t.x, m.dims, X_COUNT);
            m.views[1] = random_view(&t, t.y, m.dims, X_COUNT);
            m.views[2] = random_view(&t, t.ids, m.dims, X_COUNT);
            output(&t, graph_map(t.g, &m, flat(m.dims)));
        }
        run_trial(&t);
    }
}

static void functions_of_one_number(void **unused)
{
    (void)unused;
    trial t = new_trial(4);
    for (int kind = 0; kind < UNARY_COUNT; kind++) {
        map_spec m = {.kind = MAP_FUNCTION, .function = (unary_kind)kind, .view_count = 1, .a = 3, .b = -1};
        random_dims(&t, m.dims);
        bool above = kind == UNARY_SQRT || kind == UNARY_LOG;
        m.views[0] = random_view(&t, above ? t.y : t.x, m.dims, X_COUNT);
        output(&t, graph_map(t.g, &m, flat(m.dims)));
    }
    map_spec turns = {.kind = MAP_FUNCTION, .function = UNARY_SIN, .view_count = 1, .dims = {1, 1, 1, 1, 1, X_COUNT}};
    turns.views[0] = (graph_view){.of = graph_scale(t.g, t.x, 500, 0), .strides = {0, 0, 0, 0, 0, 1}};
    output(&t, graph_map(t.g, &turns, shape1(X_COUNT)));
    run_trial(&t);
}

static void functions_of_integers(void **unused)
{
    (void)unused;
    for (uint64_t seed = 5; seed <= 6; seed++) {
        trial t = new_trial(seed);
        for (int kind = MAP_SIGN; kind < MAP_TAKE; kind++) {
            if (kind == MAP_POW)
                continue;
            map_spec m = {.kind = (map_kind)kind, .view_count = kind == MAP_WHERE ? 3 : kind < MAP_ADD ? 1 : 2};
            m.integers = true;
            m.type = kind % 3 ? DTYPE_U32 : DTYPE_F32;
            random_dims(&t, m.dims);
            for (uint32_t i = 0; i < m.view_count; i++)
                m.views[i] = random_view(&t, i == 2 ? t.x : t.ids, m.dims, X_COUNT);
            output(&t, graph_map(t.g, &m, flat(m.dims)));
        }
        for (int kind = UNARY_COPY; kind <= UNARY_SQUARE; kind++) { /* and what was just computed, as an operand */
            map_spec m = {.kind = MAP_FUNCTION,
                          .function = (unary_kind)kind,
                          .view_count = 1,
                          .integers = true,
                          .type = DTYPE_U32,
                          .dims = {1, 1, 1, 1, 1, 5}};
            m.views[0] = (graph_view){.of = t.ids, .strides = {0, 0, 0, 0, 0, 3}};
            m.views[0].of = graph_map(t.g, &m, shape1(5));
            m.views[0].strides[5] = 1;
            output(&t, graph_map(t.g, &m, shape1(5)));
        }
        run_trial(&t);
    }
}

static void taken_and_placed(void **unused)
{
    (void)unused;
    for (uint64_t seed = 7; seed <= 9; seed++) {
        trial t = new_trial(seed);
        for (int i = 0; i < 5; i++) {
            map_spec m = {.kind = MAP_TAKE, .view_count = 2, .take_stride = 3, .take_count = 8};
            random_dims(&t, m.dims);
            m.integers = i % 2;
            m.type = i % 2 ? DTYPE_U32 : DTYPE_F32;
            m.views[0] = random_view(&t, i % 2 ? t.ids : t.x, m.dims, X_COUNT - 21);
            m.views[1] = random_view(&t, t.ids, m.dims, X_COUNT);
            output(&t, graph_map(t.g, &m, flat(m.dims)));
            map_spec p = {.kind = MAP_PLACE, .view_count = 1 + i % 2, .a = -7};
            random_dims(&t, p.dims);
            p.views[0] = random_view(&t, t.x, p.dims, X_COUNT);
            p.views[1] = random_view(&t, t.y, p.dims, X_COUNT);
            for (int d = 0; d < GRAPH_VIEW_DIMS; d++) {
                p.first[d] = rng_below(&t.box.r, p.dims[d]) / 2;
                p.end[d] = p.dims[d] - rng_below(&t.box.r, p.dims[d]) / 2;
            }
            output(&t, graph_map(t.g, &p, flat(p.dims)));
        }
        run_trial(&t);
    }
}

static void sums_of_products(void **unused)
{
    (void)unused;
    static const uint32_t lengths[] = {1, 3, 8, 31};
    for (uint64_t seed = 10; seed <= 11; seed++) {
        trial t = new_trial(seed);
        for (int i = 0; i < 8; i++) {
            contract_spec c = {.k = lengths[i % 4], .x_stride = 1 + i % 3, .y_stride = 1 + i % 2};
            random_dims(&t, c.dims);
            c.x = random_view(&t, t.x, c.dims, X_COUNT - 3 * 31);
            c.y = random_view(&t, t.y, c.dims, X_COUNT - 3 * 31);
            output(&t, graph_contract(t.g, &c, flat(c.dims)));
        }
        run_trial(&t);
    }
}

/* A state that is read, and written with what was made of it. */
static void states(void **unused)
{
    (void)unused;
    trial t = new_trial(12);
    node state = graph_state(t.g, "sum", DTYPE_F32, shape1(X_COUNT)),
         zero = graph_input(t.g, "zero", DTYPE_U32, shape1(1));
    map_spec m = {.kind = MAP_ADD, .view_count = 2, .dims = {1, 1, 1, 1, 1, X_COUNT}};
    m.views[0] = (graph_view){.of = state, .strides = {0, 0, 0, 0, 0, 1}};
    m.views[1] = (graph_view){.of = t.x, .strides = {0, 0, 0, 0, 0, 1}};
    node sum = graph_map(t.g, &m, shape1(X_COUNT));
    output(&t, sum);
    graph_store(t.g, state, graph_reshape(t.g, sum, shape1(X_COUNT)), zero);
    run_trial(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_floats),   cmocka_unit_test(functions_of_one_number),
        cmocka_unit_test(functions_of_integers), cmocka_unit_test(taken_and_placed),
        cmocka_unit_test(sums_of_products),      cmocka_unit_test(states)};
    return RUN_ON_EACH(tests);
}
