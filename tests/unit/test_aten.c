/* Programs of PyTorch that nobody wrote: any operators, with arguments of any kind and tensors of any shape. Each is an
 * error or a graph; sanitizers see what else it is (make SAN=1 test). */
#include "base/rng.h"
#include "base/str.h"
#include "model/aten_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PROGRAMS = 10000,
    INPUTS = 4,
    STORED = 4,
    MOST_NODES = 3,
    MOST_SIZE = 3,
    ELEMENTS = 729 /* 3 by itself, 6 times */
};

typedef enum { ANY, TENSOR, TENSORS } argument_kind;
static const struct {
    const char *name;
    argument_kind kind;
} ARGUMENTS[] = {
    {"self", TENSOR},
    {"other", TENSOR},
    {"input", TENSOR},
    {"weight", TENSOR},
    {"bias", TENSOR},
    {"index", TENSOR},
    {"src", TENSOR},
    {"source", TENSOR},
    {"value", TENSOR},
    {"values", TENSOR},
    {"mask", TENSOR},
    {"query", TENSOR},
    {"key", TENSOR},
    {"attn_mask", TENSOR},
    {"running_mean", TENSOR},
    {"running_var", TENSOR},
    {"mat2", TENSOR},
    {"condition", TENSOR},
    {"grad_output", TENSOR},
    {"exponent", TENSOR},
    {"tensors", TENSORS},
    {"indices", TENSORS},
    {"dim", ANY},
    {"dims", ANY},
    {"start", ANY},
    {"end", ANY},
    {"step", ANY},
    {"length", ANY},
    {"kernel_size", ANY},
    {"stride", ANY},
    {"padding", ANY},
    {"dilation", ANY},
    {"groups", ANY},
    {"group", ANY},
    {"output_size", ANY},
    {"output_padding", ANY},
    {"repeats", ANY},
    {"size", ANY},
    {"shape", ANY},
    {"split_size", ANY},
    {"split_sizes", ANY},
    {"chunks", ANY},
    {"normalized_shape", ANY},
    {"pad", ANY},
    {"start_dim", ANY},
    {"end_dim", ANY},
    {"dim0", ANY},
    {"dim1", ANY},
    {"diagonal", ANY},
    {"num_weights", ANY},
    {"keepdim", ANY},
    {"accumulate", ANY},
    {"reduce", ANY},
    {"ceil_mode", ANY},
    {"transposed", ANY},
    {"training", ANY},
    {"is_causal", ANY},
    {"dtype", ANY},
};
enum { ARGUMENT_COUNT = sizeof ARGUMENTS / sizeof *ARGUMENTS };

static const aten_operator *const TABLES[] = {aten_view_operators,    aten_elementwise_operators, aten_reduce_operators,
                                              aten_norm_operators,    aten_product_operators,     aten_index_operators,
                                              aten_scatter_operators, aten_window_operators,      aten_pool_operators,
                                              aten_make_operators};

static const char *any_operator(rng *r)
{
    const aten_operator *table = TABLES[rng_below(r, sizeof TABLES / sizeof *TABLES)];
    uint32_t count = 0;
    while (table[count].op)
        count++;
    return table[rng_below(r, count)].op;
}

/* Tensor t of a program: mostly of the shape that others have, so that they go together. */
static aten_tensor tensor_of(uint64_t program, uint32_t t)
{
    static const float zeros[2 * ELEMENTS];
    static const int types[] = {ATEN_F32, ATEN_I64, ATEN_BOOL};
    rng r = rng_seed(program * 8 + (t % 4 ? 0 : t));
    aten_tensor out = {
        .data = zeros, .bytes = sizeof zeros, .type = types[t % 3], .rank = rng_below(&r, ATEN_MAX_RANK + 1)};
    uint64_t stride = 1;
    for (uint32_t d = 0; d < out.rank; d++)
        out.dims[d] = 1 + rng_below(&r, MOST_SIZE);
    for (uint32_t d = out.rank; d-- > 0; stride *= out.dims[d])
        out.strides[d] = stride;
    return out;
}

static bool find_stored(void *user, const char *name, aten_tensor *out, err *e)
{
    (void)e;
    *out = tensor_of(*(const uint64_t *)user, (uint32_t)atoi(name + 1));
    return true;
}

static void add_numbers(str *out, rng *r)
{
    str_add(out, "{\"as_ints\":[");
    for (uint32_t i = 0, count = rng_below(r, 8); i < count; i++)
        str_addf(out, "%s%d", i ? "," : "", (int)rng_below(r, 8) - 2);
    str_add(out, "]}");
}

static void add_tensors(str *out, rng *r, uint32_t known)
{
    str_add(out, "{\"as_tensors\":[");
    for (uint32_t i = 0, count = rng_below(r, 4); i < count; i++) /* some have no name: they are not there */
        str_addf(out, "%s{\"%s\":\"t%u\"}", i ? "," : "", rng_below(r, 9) ? "name" : "none", rng_below(r, known));
    str_add(out, "]}");
}

static void add_argument(str *out, rng *r, argument_kind kind, uint32_t known)
{
    uint32_t way = rng_below(r, 8);
    if (kind == TENSORS && way)
        add_tensors(out, r, known);
    else if (kind == TENSOR && way)
        str_addf(out, "{\"as_tensor\":{\"name\":\"t%u\"}}", rng_below(r, known));
    else if (way < 3)
        str_addf(out, "{\"as_int\":%d}", (int)rng_below(r, 9) - 3);
    else if (way < 6)
        add_numbers(out, r);
    else
        str_add(out, way == 6 ? "{\"as_bool\":true}" : "{\"as_none\":true}");
}

static void add_node(str *out, rng *r, uint32_t made)
{
    str_addf(out, "{\"target\":\"torch.ops.aten.%s.default\",\"name\":\"node\",\"inputs\":[", any_operator(r));
    bool first = true;
    for (uint32_t i = 0; i < ARGUMENT_COUNT; i++) {
        if (rng_below(r, 10) < (ARGUMENTS[i].kind == ANY ? 7u : 2u))
            continue;
        str_addf(out, "%s{\"name\":\"%s\",\"arg\":", first ? "" : ",", ARGUMENTS[i].name);
        add_argument(out, r, ARGUMENTS[i].kind, made);
        str_add(out, "}");
        first = false;
    }
    str_addf(out, "],\"outputs\":[{\"as_tensor\":{\"name\":\"t%u\"}}]}", made);
}

static void add_description(str *out, const aten_tensor *t)
{
    str_addf(out, "{\"dtype\":%d,\"sizes\":[", t->type);
    for (uint32_t d = 0; d < t->rank; d++)
        str_addf(out, "%s{\"as_int\":%u}", d ? "," : "", t->dims[d]);
    str_add(out, "],\"strides\":[");
    for (uint32_t d = 0; d < t->rank; d++)
        str_addf(out, "%s{\"as_int\":%u}", d ? "," : "", (unsigned)t->strides[d]);
    str_add(out, "]}");
}

static str program_of(uint64_t number)
{
    rng r = rng_seed(number);
    str out = {0};
    uint32_t made = INPUTS + STORED, nodes = 1 + rng_below(&r, MOST_NODES);
    str_add(&out, "{\"graph\":{\"nodes\":[");
    for (uint32_t i = 0; i < nodes; i++) {
        str_add(&out, i ? "," : "");
        add_node(&out, &r, made++);
    }
    str_add(&out, "],\"tensor_values\":{");
    for (uint32_t t = 0; t < INPUTS; t++) {
        aten_tensor described = tensor_of(number, t);
        str_addf(&out, "%s\"t%u\":", t ? "," : "", t);
        add_description(&out, &described);
    }
    str_add(&out, "}},\"signature\":{\"input_specs\":[");
    for (uint32_t t = 0; t < INPUTS; t++)
        str_addf(&out, "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"t%u\"}}}},", t);
    for (uint32_t t = INPUTS; t < INPUTS + STORED; t++)
        str_addf(&out, "%s{\"parameter\":{\"arg\":{\"name\":\"t%u\"},\"parameter_name\":\"t%u\"}}",
                 t > INPUTS ? "," : "", t, t);
    str_addf(&out, "],\"output_specs\":[{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"t%u\"}}}}]}}", made - 1);
    return out;
}

static void any_program_is_an_error_or_a_graph(void **unused)
{
    (void)unused;
    uint32_t graphs = 0;
    for (uint64_t i = 0; i < PROGRAMS; i++) {
        err e = {0};
        str text = program_of(i);
        jsonr *json = jsonr_read(text.data, text.length, &e);
        if (!json)
            fail_msg("%s: %s", text.data, e.text);
        aten_program *p = aten_program_new(json, find_stored, &i, &e);
        if (!p == (e.kind == ERR_NONE))
            fail_msg("%s: a graph and an error, or neither", text.data);
        graphs += p != NULL;
        aten_program_free(p);
        jsonr_free(json);
        str_free(&text);
    }
    assert_in_range(graphs, PROGRAMS / 20, PROGRAMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_program_is_an_error_or_a_graph)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
