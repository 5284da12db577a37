/* Programs of PyTorch, on the CPU: against what torch computed; and files that are cut, changed or ask for what there is
 * not. */
#include "graph_checks.h"

#include "base/file.h"
#include "torch_fixture.h"

static void write_states(cpu_run *run, const aten_program *p)
{
    uint32_t count;
    const aten_port *states = aten_program_states(p, &count);
    for (uint32_t i = 0; i < count; i++)
        memcpy(cpu_floats(run, states[i].name), states[i].initial, states[i].count * sizeof(float));
}

static void run_fixture(const char *name)
{
    err e = {0};
    pt2 *file = torch_open(name);
    aten_program *p = pt2_program(file);
    json_t *json = torch_runs(name);
    cpu_run *run = cpu_run_new(aten_program_graph(p), aten_program_weight, p, &e);
    if (!run)
        fail_msg("%s: %s", name, e.text);
    write_states(run, p);
    uint32_t inputs, outputs;
    const aten_port *in = aten_program_inputs(p, &inputs), *out = aten_program_outputs(p, &outputs);
    size_t i;
    json_t *once;
    json_array_foreach(json_object_get(json, "runs"), i, once)
    {
        for (uint32_t k = 0; k < inputs; k++) {
            uint32_t *words = torch_words(once, &in[k]);
            bool floats = cpu_floats(run, in[k].name) != NULL;
            memcpy(floats ? (void *)cpu_floats(run, in[k].name) : (void *)cpu_words(run, in[k].name), words,
                   in[k].count * sizeof *words);
            free(words);
        }
        if (!cpu_run_once(run, &e))
            fail_msg("%s: %s", name, e.text);
        for (uint32_t k = 0; k < outputs; k++) {
            const void *got = cpu_floats(run, out[k].name);
            torch_compare(once, &out[k], got ? got : cpu_words(run, out[k].name), name);
        }
    }
    cpu_run_free(run);
    json_decref(json);
    pt2_free(file);
}

static void as_torch_computed(void **unused)
{
    (void)unused;
    for (int i = 0; i < TORCH_FIXTURE_COUNT; i++)
        run_fixture(TORCH_FIXTURES[i]);
}

/* A mask that depends on constants only is one; convolution, norm and function are one product. */
static void what_is_constant_is_folded(void **unused)
{
    (void)unused;
    pt2 *file = torch_open("convnet");
    const graph *g = aten_program_graph(pt2_program(file));
    uint32_t products = 0, states;
    for (node n = 1; n <= graph_count(g); n++)
        products += graph_at(g, n)->op == OP_MATMUL;
    assert_int_equal(products, 3); /* the one of groups is a contraction */
    pt2_free(file);
    file = torch_open("cache");
    const aten_port *state = aten_program_states(pt2_program(file), &states);
    assert_int_equal(states, 2);
    assert_string_equal(state[0].name, "keys");
    assert_true(state[1].initial[2] == 5 && state[1].count == 3);
    pt2_free(file);
}

/* Written out, it is one operator; over another dimension, or of another tensor, it is not. */
static uint32_t count_used(const graph *g, graph_op op)
{
    uint32_t count = 0;
    for (node n = 1; n <= graph_count(g); n++)
        count += graph_at(g, n)->op == op && !graph_at(g, n)->unused;
    return count;
}

/* RoPE of queries and keys, rows into the caches, attention, a gate: each is one operator, whatever nodes say it; and
 * what is only similar is none. */
static void steps_of_decoders_are_found(void **unused)
{
    (void)unused;
    static const char *const names[] = {"decoder", "window", "unusual"};
    for (int i = 0; i < 3; i++) {
        pt2 *file = torch_open(names[i]);
        const graph *g = aten_program_graph(pt2_program(file));
        bool usual = i < 2;
        assert_int_equal(count_used(g, OP_ROPE), usual ? 2 : 0);
        assert_int_equal(count_used(g, OP_ATTENTION), usual);
        assert_int_equal(count_used(g, OP_STORE), 3);
        assert_int_equal(count_used(g, OP_SOFTMAX), !usual);
        assert_int_equal(count_used(g, OP_CONTRACT), usual ? 0 : 2);
        for (node n = 1; n <= graph_count(g); n++) {
            const graph_node *at = graph_at(g, n);
            if (at->op == OP_ATTENTION)
                assert_int_equal(at->as.attention.window, i == 1 ? 3 : 0);
            if (at->op == OP_ROPE)
                assert_true(at->as.rope.magnitude == 1.5f);
        }
        pt2_free(file);
    }
}

static void norms_are_found(void **unused)
{
    (void)unused;
    static const char *const names[] = {"norms", "norm16", "normb16"}; /* the latter two with casts between */
    for (int i = 0; i < 3; i++) {
        pt2 *file = torch_open(names[i]);
        const graph *g = aten_program_graph(pt2_program(file));
        uint32_t norms = 0;
        for (node n = 1; n <= graph_count(g); n++)
            norms += graph_at(g, n)->op == OP_RMSNORM;
        assert_int_equal(norms, i ? 1 : 2);
        if (i)
            assert_true(count_used(g, OP_MAP) == 0 && count_used(g, OP_REDUCE) == 0);
        pt2_free(file);
    }
}

static char *read_fixture(const char *name, size_t *length)
{
    char path[100];
    err e = {0};
    snprintf(path, sizeof path, "tests/data/torch/%s.pt2", name);
    char *bytes = file_read(path, 1 << 20, length, &e);
    assert_non_null(bytes);
    return bytes;
}

static void expect_error(const char *bytes, size_t length, const char *part)
{
    err e = {0};
    pt2 *p = pt2_from_bytes(bytes, length, "file.pt2", &e);
    if (p || !strstr(e.text, part))
        fail_msg("\"%s\" is not an error with \"%s\"", p ? "no error" : e.text, part);
}

/* Replaces one text by another of the same length. */
static void change(char *bytes, size_t length, const char *from, const char *to)
{
    char *at = memmem(bytes, length, from, strlen(from));
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
}

static void files_that_are_wrong(void **unused)
{
    (void)unused;
    size_t length;
    char *bytes = read_fixture("cache", &length);
    for (size_t cut = 0; cut < length; cut += 97) /* mapped files are read no further than they go */
        expect_error(bytes, cut, "file.pt2: ");
    expect_error("", 0, "no .pt2 archive");
    struct {
        const char *from, *to, *part;
    } changes[] = {
        {"torch.ops.aten.masked_fill.Scalar", "torch.ops.aten.masked_fool.Scalar",
         "node masked_fill (torch.ops.aten.masked_fool.Scalar), torch_fixtures.py:"},
        {"\"keys\":{\"path_name\"", "\"kexs\":{\"path_name\"", "no tensor keys"},
        {"\"path_name\": \"weight_0\"", "\"path_name\": \"weight_9\"", "there is no data/weights/weight_9"},
        {"\"major\":8", "\"major\":9", "version 9"},
        {"\"buffer\":{", "\"muffer\":{", "kind that is not supported"},
        {"\"mul\":{\"dtype\":7", "\"mul\":{\"dtype\":5", "the output mul is of another type than the file says"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        size_t n;
        char *copy = read_fixture("cache", &n);
        if (memmem(copy, n, changes[i].from, strlen(changes[i].from))) {
            change(copy, n, changes[i].from, changes[i].to);
            expect_error(copy, n, changes[i].part);
        } else if (i != 1)
            fail_msg("the file does not have %s", changes[i].from);
        free(copy);
    }
    free(bytes);
}

/* A list of tensors may have places without one, which only an index does. */
static void tensors_that_are_missing(void **unused)
{
    (void)unused;
    static const char whole[] = "{\"name\":\"sum_1\"},{\"name\":\"amax\"}",
                      *const missing[] = {"{\"name\":\"sum_1\"},{\"nome\":\"amax\"}",
                                          "{\"nome\":\"sum_1\"},{\"name\":\"amax\"}"};
    for (int i = 0; i < 4; i++) {
        size_t length;
        char *bytes = read_fixture("operators", &length);
        change(bytes, length, whole, missing[i % 2]);
        if (i / 2)
            change(bytes, length, "torch.ops.aten.cat.default", "torch.ops.aten.stack.defau");
        expect_error(bytes, length, "node cat (torch.ops.aten.");
        free(bytes);
    }
}

/* x has as many dimensions as there may be, q and k have those of attention, and s has none. */
static void expect_refused(const char *op, const char *inputs, const char *part)
{
    static const struct {
        const char *name, *sizes;
        uint32_t rank;
    } tensors[] = {{"x", "222122", 6}, {"q", "1422", 4}, {"k", "1222", 4}, {"s", "", 0}};
    str text = {0};
    err e = {0};
    str_addf(&text, "{\"graph\":{\"nodes\":[{\"target\":\"torch.ops.aten.%s.default\",\"name\":\"y\",\"inputs\":[", op);
    for (const char *at = inputs; *at; at = strchr(at, ' ') + 1) /* "NAME=x NAME=k " */
        str_addf(&text, "%s{\"name\":\"%.*s\",\"arg\":{\"as_tensor\":{\"name\":\"%c\"}}}", at > inputs ? "," : "",
                 (int)strcspn(at, "="), at, at[strcspn(at, "=") + 1]);
    str_add(&text, "],\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}]}],\"tensor_values\":{");
    for (int i = 0; i < 4; i++) {
        str_addf(&text, "%s\"%s\":{\"dtype\":7,\"sizes\":[", i ? "," : "", tensors[i].name);
        for (uint32_t d = 0; d < tensors[i].rank; d++)
            str_addf(&text, "%s{\"as_int\":%c}", d ? "," : "", tensors[i].sizes[d]);
        str_add(&text, "],\"strides\":[");
        for (uint32_t d = 0; d < tensors[i].rank; d++)
            str_addf(&text, "%s{\"as_int\":%u}", d ? "," : "", 1u << (tensors[i].rank - 1 - d));
        str_add(&text, "]}");
    }
    str_add(&text, "}},\"signature\":{\"input_specs\":[");
    for (int i = 0; i < 4; i++)
        str_addf(&text, "%s{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"%s\"}}}}", i ? "," : "",
                 tensors[i].name);
    str_add(&text, "],\"output_specs\":[{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"}}}}]}}");
    jsonr *json = jsonr_read(text.data, text.length, &e);
    aten_program *p = json ? aten_program_new(json, NULL, NULL, &e) : NULL;
    if (p || !strstr(e.text, part))
        fail_msg("%s: \"%s\" is not an error with \"%s\"", op, p ? "no error" : e.text, part);
    jsonr_free(json);
    str_free(&text);
}

static void dimensions_that_do_not_fit(void **unused)
{
    (void)unused;
    expect_refused("batch_norm", "input=x weight=x bias=x running_mean=x running_var=x ", "more than 6 dimensions");
    expect_refused("scaled_dot_product_attention", "query=q key=k value=k attn_mask=x ", "more than 6 dimensions");
    expect_refused("select_scatter", "self=x src=x ", "this form of it is not supported");
    expect_refused("unsqueeze", "self=x ", "more than 6 dimensions");
    expect_refused("select", "self=s ", "it has no dimensions");
}

/* Any byte may be another one: an error, or a program that computes something else; never a crash. */
static void bytes_that_are_wrong(void **unused)
{
    (void)unused;
    size_t length;
    char *bytes = read_fixture("cache", &length);
    for (size_t i = 0; i < length; i += 11) {
        err e = {0};
        char before = bytes[i];
        bytes[i] = (char)(before ^ (1 << i % 8));
        pt2_free(pt2_from_bytes(bytes, length, "file.pt2", &e));
        bytes[i] = before;
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_torch_computed),        cmocka_unit_test(what_is_constant_is_folded),
        cmocka_unit_test(norms_are_found),          cmocka_unit_test(steps_of_decoders_are_found),
        cmocka_unit_test(files_that_are_wrong),     cmocka_unit_test(bytes_that_are_wrong),
        cmocka_unit_test(tensors_that_are_missing), cmocka_unit_test(dimensions_that_do_not_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
