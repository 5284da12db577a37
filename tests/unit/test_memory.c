/* src/graph/memory: where the values, the states and the matrices of a plan lie. */
#include "graph/memory.h"
#include "graph/lower.h"
#include "plan_checks.h"
#include "random_graph.h"

static gpu *open_stub(void)
{
    err e = {0};
    gpu *g = gpu_open_now(&(gpu_choice){.impl = "stub"}, &e);
    if (!g)
        fail_msg("%s", e.text);
    return g;
}

typedef struct place {
    node n;
    uint64_t begin, end;
    uint32_t from, until; /* steps */
} place;

/* Everything of a plan among the activations, and how long it is needed. */
static uint32_t places_of(const memory *m, uint32_t which, const plan *p, place *out)
{
    const graph *g = p->g;
    node nodes[PLAN_MAX_NODES];
    uint32_t count = 0;
    for (node n = 1; n <= graph_count(g); n++) {
        const graph_node *at = graph_at(g, n);
        bool beside = at->op == OP_WEIGHT && graph_weight_uses(g, n) & WEIGHT_AS_FLOATS;
        if (at->op == OP_INPUT || beside)
            out[count++] = (place){n, memory_at(m, which, n), 0, 0, UINT32_MAX};
    }
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t written = plan_writes(p, &p->steps[i], nodes);
        for (uint32_t k = 0; k < written; k++) {
            graph_op op = graph_at(g, nodes[k])->op;
            if (op != OP_STORE && op != OP_ASSIGN && op != OP_SAMPLE)
                out[count++] = (place){nodes[k], memory_at(m, which, nodes[k]), 0, i, i};
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        out[k].end = out[k].begin + shape_count(graph_at(g, out[k].n)->s);
        for (uint32_t i = 0; i < p->count && out[k].until != UINT32_MAX; i++) {
            uint32_t reads = plan_reads(p, &p->steps[i], nodes);
            for (uint32_t r = 0; r < reads; r++)
                if (nodes[r] == out[k].n)
                    out[k].until = i;
        }
        for (node n = 1; n <= graph_count(g); n++)
            if (graph_at(g, n)->name && plan_root(g, n) == out[k].n)
                out[k].until = UINT32_MAX;
    }
    return count;
}

static void check_places(const memory *m, uint32_t which, const plan *p)
{
    place *places = mem_alloc((graph_count(p->g) + 1) * 2 * sizeof *places);
    uint32_t count = places_of(m, which, p, places);
    uint64_t words = gpu_buffer_bytes(memory_activations(m)) / 4;
    for (uint32_t a = 0; a < count; a++) {
        assert_true(places[a].end <= words && places[a].begin % 4 == 0);
        for (uint32_t b = a + 1; b < count; b++) {
            bool same_time = places[a].from <= places[b].until && places[b].from <= places[a].until;
            if (same_time && places[a].begin < places[b].end && places[b].begin < places[a].end)
                fail_msg("nodes %u and %u lie on each other", places[a].n, places[b].n);
        }
        /* and none lies on what steps leave for themselves */
        assert_true(places[a].end <= memory_scratch_at(m, which) || places[a].begin >= words);
    }
    free(places);
}

static void nothing_lies_on_anything_else(void **unused)
{
    (void)unused;
    gpu *g = open_stub();
    for (uint64_t seed = 0; seed < 100; seed++) {
        err e = {0};
        random_graph b = random_graph_new(seed, 12);
        plan *plans[] = {plan_new(b.g, NO_LIMIT), plan_new(b.g, NO_LIMIT)};
        plan_fuse(plans[0], LEVEL_OPS);
        memory *m = memory_new(g, plans, 2, &e);
        if (!m)
            fail_msg("%s", e.text);
        for (uint32_t i = 0; i < 2; i++)
            check_places(m, i, plans[i]);
        /* what has a name has one place in all plans */
        for (node n = 1; n <= graph_count(b.g); n++) {
            const graph_node *at = graph_at(b.g, n);
            uint32_t word;
            uint64_t words;
            if (!at->name || at->op == OP_WEIGHT || at->op == OP_STATE)
                continue;
            assert_true(memory_find(m, at->name, &word, &words));
            assert_int_equal(words, shape_count(at->s));
            for (uint32_t i = 0; i < 2; i++)
                assert_int_equal(memory_at(m, i, n), word);
        }
        memory_free(m);
        for (uint32_t i = 0; i < 2; i++)
            plan_free(plans[i]);
        random_graph_free(&b);
    }
    gpu_close(g);
}

/* An output may be a value seen in another shape, or what an input becomes; a state is none. */
static void outputs_by_another_name(void **unused)
{
    (void)unused;
    gpu *g = open_stub();
    small s = begin(1);
    node at = number(&s, "at"), y = graph_unary(s.g, UNARY_TANH, s.x);
    graph_output(s.g, "seen", graph_reshape(s.g, y, shape2(2, 4)));
    graph_unary(s.g, UNARY_TANH, graph_unary(s.g, UNARY_EXP, s.y));
    graph_output(s.g, "next", graph_assign(s.g, at, at, (assign_spec){.added = 1}));
    graph_output(s.g, "kept", stored(&s, state(&s, "keys", 1, 8), s.x, at));
    /* a second plan in which the same lies elsewhere, if nobody takes care */
    small t = begin(1);
    node other = graph_unary(t.g, UNARY_EXP, t.y);
    graph_output(t.g, "seen", graph_reshape(t.g, graph_unary(t.g, UNARY_TANH, other), shape2(2, 4)));
    plan *plans[] = {plan_new(s.g, NO_LIMIT), plan_new(t.g, NO_LIMIT)};
    err e = {0};
    memory *m = memory_new(g, plans, 2, &e);
    assert_non_null(m);
    uint32_t word, input;
    uint64_t words;
    assert_true(memory_find(m, "seen", &word, &words));
    assert_int_equal(words, 8);
    assert_int_equal(word, memory_at(m, 0, graph_find(s.g, "seen")));
    assert_int_equal(word, memory_at(m, 1, graph_find(t.g, "seen")));
    assert_true(memory_find(m, "next", &word, &words));
    assert_true(memory_find(m, "at", &input, &words));
    assert_int_equal(word, input);
    assert_false(memory_find(m, "kept", &word, &words));
    assert_false(memory_find(m, "keys", &word, &words));
    memory_free(m);
    for (uint32_t i = 0; i < 2; i++)
        plan_free(plans[i]);
    end(&s);
    end(&t);
    gpu_close(g);
}

/* Matrices that one step binds lie in one buffer, even if one of them was needed before by itself. */
static void matrices_of_a_step_lie_together(void **unused)
{
    (void)unused;
    gpu *g = open_stub(); /* it binds 1 GiB */
    small s = begin(1);
    node x = graph_input(s.g, "long", DTYPE_F32, shape1(1 << 14));
    node gate = graph_weight(s.g, "gate", TYPE_F16, shape2(1 << 14, 1 << 14)), /* 512 MiB each */
        filler = graph_weight(s.g, "filler", TYPE_F16, shape2(1 << 14, 1 << 14)),
         up = graph_weight(s.g, "up", TYPE_F16, shape2(1 << 14, 1 << 14));
    graph_output(s.g, "a", graph_matmul(s.g, graph_unary(s.g, UNARY_TANH, x), gate));
    graph_output(s.g, "b", graph_matmul(s.g, graph_unary(s.g, UNARY_EXP, x), filler));
    graph_output(s.g, "c", graph_binary(s.g, BINARY_MUL, graph_matmul(s.g, x, gate), graph_matmul(s.g, x, up)));
    s.p = plan_new(s.g, 1u << 30);
    assert_int_equal(plan_apply(s.p, PASS_GATE), 2);
    err e = {0};
    memory *m = memory_new(g, &s.p, 1, &e);
    if (!m)
        fail_msg("%s", e.text);
    assert_int_equal(memory_matrix_of(m, 0, gate)->pieces[0].arena, memory_matrix_of(m, 0, up)->pieces[0].arena);
    memory_free(m);
    end(&s);
    gpu_close(g);
}

/* Steps that ask for more than one buffer are refused, not run on the wrong one. */
static void refuses_matrices_of_a_step_in_different_arenas(void **unused)
{
    (void)unused;
    gpu *g = open_stub();
    small s = begin(1);
    node at = number(&s, "at"), q = graph_input(s.g, "q", DTYPE_F32, shape3(1, 1, 256));
    node states[3]; /* of 512 MiB each: two in a buffer */
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", i);
        states[i] = graph_state(s.g, name, DTYPE_F32, shape3(1 << 19, 1, 256));
    }
    for (int i = 0; i < 3; i++)
        graph_attention(s.g, q, states[i], states[(i + 1) % 3], at, (attention_spec){.scale = 1});
    s.p = plan_new(s.g, NO_LIMIT);
    err e = {0};
    memory *m = memory_new(g, &s.p, 1, &e);
    if (!m)
        fail_msg("%s", e.text);
    device_profile t = device_profile_for(gpu_get_info(g));
    dispatch_desc out[LOWER_MAX_DISPATCHES];
    uint32_t refused = 0;
    for (uint32_t i = 0; i < s.p->count; i++)
        refused +=
            lower_step(&t, &(launch_form){.row_threads = t.row_threads}, m, 0, s.p, &s.p->steps[i], out, &e) == 0;
    assert_int_equal(refused, 2);
    assert_non_null(strstr(e.text, "keys and values"));
    memory_free(m);
    end(&s);
    gpu_close(g);
}

/* Odd rows of a state are refused wherever the store came to be. */
static void odd_states_are_errors(void **unused)
{
    (void)unused;
    small s = begin(1);
    node at = number(&s, "at");
    graph_store(s.g, state(&s, "keys", 1, 3), graph_reshape(s.g, product(&s, s.x, 3), shape3(1, 1, 3)), at);
    graph_output(s.g, "o", product(&s, s.x, 4));
    for (int level = LEVEL_NONE; level <= LEVEL_OPS; level++) {
        err e = {0};
        s.p = plan_new(s.g, NO_LIMIT);
        plan_fuse(s.p, (fusion_level)level);
        assert_false(lower_possible(s.p, &e));
        assert_non_null(strstr(e.text, "even number"));
        plan_free(s.p);
    }
    s.p = NULL;
    end(&s);
}

/* An operator without a kernel must never run as another one. */
static void an_operator_without_a_kernel_is_an_error(void **unused)
{
    (void)unused;
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(4, 8));
    node y = graph_reshape(g, x, shape2(8, 4));
    graph_output(g, "y", y);
    err e = {0};
    assert_true(graph_ok(g, &e));
    plan_step step = {.op = OP_RESHAPE, .at = y};
    plan p = {.g = g, .steps = &step, .count = 1};
    device_profile device = {.row_threads = 256};
    dispatch_desc dispatch;
    assert_int_equal(lower_step(&device, &(launch_form){.row_threads = 256}, NULL, 0, &p, &step, &dispatch, &e), 0);
    assert_string_equal(e.text, "operator reshape has no kernel");
    graph_free(g);
}

typedef struct alike_layers {
    gpu *device;
    graph *g;
    plan *p;
    memory *m;
    node ups[12], downs[12];
} alike_layers;

/* Layers of two products, of 131072 bytes of weights each, or twice that for the first. */
static alike_layers make_layers(int count, uint32_t inner, uint64_t binding_bytes)
{
    static char names[24][16];
    err e = {0};
    alike_layers a = {.device = open_stub(), .g = graph_new()};
    node x = graph_input(a.g, "x", DTYPE_F32, shape2(1, 128));
    for (int i = 0; i < count; i++) {
        snprintf(names[2 * i], sizeof *names, "up %d", i);
        snprintf(names[2 * i + 1], sizeof *names, "down %d", i);
        a.ups[i] = graph_weight(a.g, names[2 * i], TYPE_F32, shape2(inner, 128));
        a.downs[i] = graph_weight(a.g, names[2 * i + 1], TYPE_F32, shape2(128, 256));
        node y = graph_matmul(a.g, x, a.ups[i]);
        x = graph_matmul(a.g, inner == 256 ? y : graph_slice(a.g, y, 0, 256), a.downs[i]);
    }
    graph_output(a.g, "y", x);
    ((gpu_info *)gpu_get_info(a.device))->max_storage_binding_bytes = binding_bytes;
    a.p = plan_new(a.g, binding_bytes);
    plan_fuse(a.p, LEVEL_OPS);
    a.m = memory_new(a.device, &a.p, 1, &e);
    if (!a.m)
        fail_msg("%s", e.text);
    return a;
}

static void free_layers(alike_layers *a)
{
    memory_free(a->m);
    plan_free(a->p);
    graph_free(a->g);
    gpu_close(a->device);
}

static uint32_t arena_of(const alike_layers *a, node weight)
{
    return memory_matrix_of(a->m, 0, weight)->pieces[0].arena;
}

static uint32_t arenas_of(const alike_layers *a, const node *weights, int count)
{
    uint64_t seen = 0;
    for (int i = 0; i < count; i++)
        seen |= 1ull << arena_of(a, weights[i]);
    return (uint32_t)__builtin_popcountll(seen);
}

/* A megakernel has a kernel for each arena that alike steps lie in: one, if all of them fit. */
static void alike_steps_share_an_arena(void **unused)
{
    (void)unused;
    enum { LAYERS = 6 };
    alike_layers a = make_layers(LAYERS, 256, LAYERS * 131072 + 4096); /* all of one kind, and a little more */
    assert_int_equal(arenas_of(&a, a.ups, LAYERS), 1);
    assert_int_equal(arenas_of(&a, a.downs, LAYERS), 1);
    assert_int_not_equal(arena_of(&a, a.ups[0]), arena_of(&a, a.downs[0]));
    free_layers(&a);
}

/* Those that do not fit one arena do not take the room of others that do, and fill as few as possible. */
static void large_groups_fill_arenas(void **unused)
{
    (void)unused;
    enum { LAYERS = 12 };
    alike_layers a = make_layers(LAYERS, 512, LAYERS * 131072 + 4096); /* six of the ups, or all downs */
    assert_int_equal(arenas_of(&a, a.ups, LAYERS), 2);
    assert_int_equal(arenas_of(&a, a.downs, LAYERS), 1);
    free_layers(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_without_a_kernel_is_an_error),
        cmocka_unit_test(nothing_lies_on_anything_else),
        cmocka_unit_test(outputs_by_another_name),
        cmocka_unit_test(matrices_of_a_step_lie_together),
        cmocka_unit_test(refuses_matrices_of_a_step_in_different_arenas),
        cmocka_unit_test(odd_states_are_errors),
        cmocka_unit_test(alike_steps_share_an_arena),
        cmocka_unit_test(large_groups_fill_arenas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
