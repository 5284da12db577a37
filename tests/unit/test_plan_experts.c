/* The passes that fuse the steps of a mixture of experts: where they apply, and where they must not. */
#include "plan_checks.h"

enum { WIDTH = 8, INNER = 6, EXPERTS = 5, CHOSEN = 2 };

typedef struct mixture {
    graph *g;
    plan *p;
    node x, norm, routes, gate, up, gated, down, mix, sum;
} mixture;

static node named_weight(graph *g, const char *name, uint32_t rows, uint32_t columns)
{
    return graph_weight(g, name, TYPE_F32, rows == 1 ? shape1(columns) : shape2(rows, columns));
}

static mixture mixture_of(uint32_t rows, binary_kind glu)
{
    mixture m = {.g = graph_new()};
    graph *g = m.g;
    m.x = graph_input(g, "x", DTYPE_F32, shape2(rows, WIDTH));
    m.norm = graph_rmsnorm(g, m.x, named_weight(g, "norm", 1, WIDTH), 1e-5f, 0);
    node scores = graph_matmul(g, m.norm, named_weight(g, "router", EXPERTS, WIDTH));
    m.routes = graph_route(g, scores, CHOSEN, ROUTE_OF_CHOSEN);
    m.gate = graph_experts(g, m.norm, named_weight(g, "gate", EXPERTS * INNER, WIDTH), 0, EXPERTS, m.routes);
    m.up = graph_experts(g, m.norm, named_weight(g, "up", EXPERTS * INNER, WIDTH), 0, EXPERTS, m.routes);
    m.gated = glu == BINARY_MUL ? graph_binary(g, BINARY_MUL, graph_unary(g, UNARY_SILU, m.gate), m.up)
                                : graph_binary(g, glu, m.gate, m.up);
    m.down = graph_experts(g, m.gated, named_weight(g, "down", EXPERTS * WIDTH, INNER), 0, EXPERTS, m.routes);
    m.mix = graph_mix(g, m.down, m.routes);
    m.sum = graph_binary(g, BINARY_ADD, m.x, m.mix);
    return m;
}

static uint32_t steps_when_fused(mixture *m)
{
    err e = {0};
    graph_output(m->g, "y", m->sum);
    if (!graph_ok(m->g, &e))
        fail_msg("%s", e.text);
    m->p = plan_new(m->g, NO_LIMIT);
    check_plan(m->p);
    plan_fuse(m->p, LEVEL_OPS);
    check_plan(m->p);
    return m->p->count;
}

static void let_go(mixture *m)
{
    plan_free(m->p);
    graph_free(m->g);
}

/* One row: the router with its norm, the choice, gate and up with their norm, down with sum and residual. */
static void few_rows_are_four_steps(void **unused)
{
    (void)unused;
    static const binary_kind glus[] = {BINARY_MUL, BINARY_CLAMPED_GLU};
    for (int i = 0; i < 2; i++)
        for (uint32_t rows = 1; rows < PLAN_TILED_ROWS; rows++) {
            mixture m = mixture_of(rows, glus[i]);
            assert_int_equal(steps_when_fused(&m), 4);
            const plan_step *s = m.p->steps;
            assert_true(s[0].op == OP_MATMUL && s[0].norm == m.norm && s[1].op == OP_ROUTE);
            assert_true(s[2].op == OP_EXPERTS && s[2].norm == m.norm && s[2].parts[0].gate_of == m.up);
            assert_true(s[3].op == OP_EXPERTS && s[3].parts[0].mix == m.mix && s[3].parts[0].result == m.sum);
            /* of what is read of a matrix, the chosen ones count */
            uint64_t bytes = plan_cost_of(m.p, &s[3], 0).weight_bytes;
            assert_int_equal(bytes, rows * CHOSEN * WIDTH * 32); /* a row of 6 floats lies as two chunks of 4 */
            let_go(&m);
        }
}

/* Many rows share what is read of an expert: their sum is a step of its own. */
static void many_rows_are_added_up_by_themselves(void **unused)
{
    (void)unused;
    mixture m = mixture_of(PLAN_TILED_ROWS, BINARY_MUL);
    assert_int_equal(steps_when_fused(&m), 7);
    let_go(&m);
}

static void what_is_read_elsewhere_stays(void **unused)
{
    (void)unused;
    mixture m = mixture_of(1, BINARY_CLAMPED_GLU); /* gate is an output */
    graph_output(m.g, "gate of experts", m.gate);
    assert_int_equal(steps_when_fused(&m), 6);
    let_go(&m);

    m = mixture_of(1, BINARY_MUL); /* down is */
    graph_output(m.g, "down of experts", m.down);
    assert_int_equal(steps_when_fused(&m), 6);
    let_go(&m);

    m = mixture_of(1, BINARY_MUL); /* the sum is: the residual is added by itself */
    graph_output(m.g, "mixed", m.mix);
    assert_int_equal(steps_when_fused(&m), 5);
    let_go(&m);

    m = mixture_of(1, BINARY_MUL); /* the norm is read by no product, too */
    m.sum = graph_binary(m.g, BINARY_ADD, m.sum, graph_unary(m.g, UNARY_SILU, m.norm));
    assert_int_equal(steps_when_fused(&m), 7);
    let_go(&m);
}

/* Gate and up of different experts are no gate and up. (Both routers are one product.) */
static void other_routes_stay_apart(void **unused)
{
    (void)unused;
    mixture m = mixture_of(1, BINARY_MUL);
    node routes =
        graph_route(m.g, graph_matmul(m.g, m.norm, named_weight(m.g, "other", EXPERTS, WIDTH)), CHOSEN, ROUTE_OF_ALL);
    node other = graph_experts(m.g, m.norm, named_weight(m.g, "up 2", EXPERTS * INNER, WIDTH), 0, EXPERTS, routes);
    node first = graph_experts(m.g, m.norm, named_weight(m.g, "up 3", EXPERTS * INNER, WIDTH), 0, EXPERTS, m.routes);
    graph_output(m.g, "z", graph_binary(m.g, BINARY_MUL, first, other));
    assert_int_equal(steps_when_fused(&m), 4 + 4);
    let_go(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_are_four_steps),
        cmocka_unit_test(many_rows_are_added_up_by_themselves),
        cmocka_unit_test(what_is_read_elsewhere_stays),
        cmocka_unit_test(other_routes_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
