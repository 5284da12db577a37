/* What is NULL, has no name or is of no kind: include/solo.h as someone else's program uses it. */
#include "api_device.h"

/* What failed to be made is NULL, and a caller may go on with it: nothing comes of it, and nothing crashes. */
static void nothing_comes_of_nothing(void **unused)
{
    (void)unused;
    char text[8] = "before";
    solo_model *m = NULL;
    solo_session *s = NULL;
    solo_decoder *c = NULL;
    solo_run *r = NULL;
    assert_null(solo_model_architecture(m));
    assert_int_equal(solo_model_vocabulary(m) + solo_model_context(m), 0);
    assert_int_equal(solo_model_detokenize(m, (uint32_t[]){5}, 1, 0, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_false(solo_model_ends(m, 2));
    assert_null(solo_session_template(s));
    assert_int_equal(solo_session_context(s) + solo_session_dispatches(s) + solo_session_message_count(s), 0);
    assert_int_equal(solo_session_level(s), SOLO_LEVEL_AUTO);
    assert_null(solo_session_message(s, 0).content);
    assert_false(solo_session_take_calls(s) || solo_session_take_notice(s, text, sizeof text));
    assert_int_equal(solo_embedder_width(NULL) + solo_decoder_vocabulary(c) + solo_decoder_dispatches(c), 0);
    assert_int_equal(solo_decoder_level(c), SOLO_LEVEL_AUTO);
    assert_int_equal(solo_run_level(r), SOLO_LEVEL_AUTO);
    assert_int_equal(solo_run_dispatches(r), 0);
    assert_true(solo_buffer_bytes(NULL) == 0);
    assert_null(solo_device_name(NULL));
    FAILS(solo_buffer_new(NULL, 4, &e), 2, "NULL");
    FAILS(solo_session_reset(s, NULL, &e), 2, "NULL");
    FAILS(solo_session_set_stops(s, NULL, &e), 2, "NULL");
    FAILS(solo_session_set_tools(s, NULL, &e), 2, "NULL");
    FAILS(solo_session_logits(s, NULL, 0, NULL, &e), 2, "NULL");
    FAILS(solo_decoder_generate(c, NULL, 0, NULL, NULL, 0, NULL, 0, &e), 2, "NULL");
    FAILS(solo_run_go(r, 1, &e), 2, "NULL");
}

static void nothing_is_built_in_no_graph(void **unused)
{
    (void)unused;
    solo_graph *g = NULL;
    const solo_shape s = {{1}};
    const solo_node nodes[] = {
        solo_graph_input(g, "x", SOLO_F32, s),
        solo_graph_weight(g, "w", SOLO_WEIGHT_F32, s, &s),
        solo_graph_state(g, "s", SOLO_F32, s),
        solo_graph_unary(g, SOLO_COPY, 1),
        solo_graph_scale(g, 1, 1, 1),
        solo_graph_binary(g, SOLO_ADD, 1, 1),
        solo_graph_reduce(g, SOLO_SUM, 1),
        solo_graph_softmax(g, 1, 1),
        solo_graph_rmsnorm(g, 1, 1, 1),
        solo_graph_layernorm(g, 1, 1, 0, 1),
        solo_graph_matmul(g, 1, 1),
        solo_graph_gather(g, 1, 1),
        solo_graph_pick(g, 1, 1),
        solo_graph_slice(g, 1, 0, 1),
        solo_graph_reshape(g, 1, s),
        solo_graph_topk(g, 1, 1),
        solo_graph_store(g, 1, 1, 1),
        solo_graph_rope(g, 1, 1, 2, false, 1),
        solo_graph_attention(g, 1, 1, 1, 1, 1),
        solo_graph_assign(g, 1, 1, 1),
    };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        assert_int_equal(nodes[i], 0);
    solo_graph_output(g, "o", 1);
    assert_false(solo_graph_port(g, SOLO_PORT_INPUT, 0, &(solo_tensor){0}));
    FAILS(solo_run_new(device, g, NULL, &e), 2, "NULL");
}

/* All of these need a name. */
static void names_are_needed(void **unused)
{
    (void)unused;
    static const char *const parts[] = {"an input has no name", "a weight has no name", "a state has no name",
                                        "an output has no name"};
    const float data[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        const solo_shape s = {{4}};
        solo_graph *g = solo_graph_new();
        solo_node x = solo_graph_input(g, i == 0 ? NULL : "x", SOLO_F32, s);
        solo_node w = solo_graph_weight(g, i == 1 ? NULL : "w", SOLO_WEIGHT_F32, s, data);
        solo_node state = solo_graph_state(g, i == 2 ? NULL : "s", SOLO_F32, s);
        assert_true((x != 0) == (i != 0) && (w != 0) == (i != 1) && (state != 0) == (i != 2));
        solo_graph_output(g, i == 3 ? NULL : "o", solo_graph_unary(g, SOLO_COPY, x));
        FAILS(solo_run_new(device, g, NULL, &e), 2, parts[i]);
        solo_graph_free(g);
    }
    FAILS(solo_graph_from_torch("{}", &(solo_tensor){.data = data}, 1, &e), 2, "tensor 0 has no name");
    FAILS(solo_decoder_new(device, "{}", &(solo_tensor){.data = data}, 1, NULL, &e), 2, "a tensor has no name");
}

static void ports_are_of_a_kind(void **unused)
{
    (void)unused;
    solo_error e = {0};
    solo_tensor t;
    solo_graph *g = solo_graph_open("tests/data/torch/decoder.pt2", &e);
    ok(g, &e);
    assert_true(solo_graph_port(g, SOLO_PORT_INPUT, 0, &t) && solo_graph_port(g, SOLO_PORT_OUTPUT, 0, &t));
    assert_true(solo_graph_port(g, SOLO_PORT_STATE, 0, &t));
    assert_false(solo_graph_port(g, (solo_port)99, 0, &t) || solo_graph_port(g, (solo_port)-1, 0, &t));
    solo_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_comes_of_nothing),
        cmocka_unit_test(nothing_is_built_in_no_graph),
        cmocka_unit_test(names_are_needed),
        cmocka_unit_test(ports_are_of_a_kind),
    };
    return cmocka_run_group_tests_name("dawn", tests, open_dawn, shut);
}
