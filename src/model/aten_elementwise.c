/* aten_elementwise: functions of each element. */
#include "model/aten_internal.h"

#include <math.h>
#include <string.h>

/* "add_" does what "add" does; that it changes its operand is aten.c's matter. */
static bool is_op(const aten *a, const char *name)
{
    return strcmp(a->at->op, name) == 0;
}

static bool lower_function(aten *a)
{
    static const struct {
        const char *op;
        unary_kind function;
    } functions[] = {{"neg", UNARY_NEG},   {"abs", UNARY_ABS},   {"square", UNARY_SQUARE}, {"sqrt", UNARY_SQRT},
                     {"exp", UNARY_EXP},   {"log", UNARY_LOG},   {"tanh", UNARY_TANH},     {"sigmoid", UNARY_SIGMOID},
                     {"relu", UNARY_RELU}, {"silu", UNARY_SILU}, {"sin", UNARY_SIN},       {"cos", UNARY_COS}};
    aten_value x, y;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_op(a, functions[i].op))
            return aten_get(a, "self", &x) && aten_unary(a, functions[i].function, &x, &y) && aten_put(a, &y);
    return false;
}

static bool lower_gelu(aten *a)
{
    aten_value x, y;
    const char *form = aten_text(a, "approximate");
    unary_kind kind = form && strcmp(form, "tanh") == 0 ? UNARY_GELU : UNARY_GELU_ERF;
    return aten_get(a, "self", &x) && aten_unary(a, kind, &x, &y) && aten_put(a, &y);
}

static bool lower_other_function(aten *a)
{
    static const struct {
        const char *op;
        map_kind kind;
    } functions[] = {{"rsqrt", MAP_RSQRT}, {"erf", MAP_ERF},     {"floor", MAP_FLOOR},
                     {"ceil", MAP_CEIL},   {"round", MAP_ROUND}, {"sign", MAP_SIGN}};
    aten_value x, y;
    if (!aten_get(a, "self", &x))
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_op(a, functions[i].op))
            return aten_map(a, (map_spec){.kind = functions[i].kind}, ATEN_KIND_FLOAT, &x, 1, &y) && aten_put(a, &y);
    return false;
}

static bool lower_not(aten *a)
{
    aten_value x, y;
    if (!aten_get(a, "self", &x))
        return false;
    if (is_op(a, "bitwise_not") && x.kind == ATEN_KIND_INT)
        return aten_fail(a, "the bits of integers are not supported");
    map_spec m = {.kind = MAP_NOT, .integers = x.kind != ATEN_KIND_FLOAT};
    return aten_map(a, m, ATEN_KIND_BOOL, &x, 1, &y) && aten_put(a, &y);
}

static bool lower_reciprocal(aten *a)
{
    aten_value x, y, one = aten_scalar(a, ATEN_KIND_FLOAT, 1);
    return aten_get(a, "self", &x) && aten_binary(a, MAP_DIV, &one, &x, &y) && aten_put(a, &y);
}

/* self and other * alpha. */
static bool lower_sum(aten *a)
{
    aten_value x, y, out;
    double alpha = aten_float(a, "alpha", 1);
    bool reversed = is_op(a, "rsub");
    map_kind kind = is_op(a, "add") ? MAP_ADD : MAP_SUB;
    if (!aten_get(a, "self", &x) || !aten_get(a, "other", &y))
        return false;
    if (alpha != 1 && !aten_with_number(a, MAP_MUL, reversed ? &x : &y, alpha, reversed ? &x : &y))
        return false;
    return aten_binary(a, kind, reversed ? &y : &x, reversed ? &x : &y, &out) && aten_put(a, &out);
}

static bool lower_two(aten *a)
{
    static const struct {
        const char *op;
        map_kind kind;
        bool swapped;
    } functions[] = {{"mul", MAP_MUL, false},
                     {"maximum", MAP_MAX, false},
                     {"minimum", MAP_MIN, false},
                     {"remainder", MAP_REMAINDER, false},
                     {"eq", MAP_EQ, false},
                     {"ne", MAP_NE, false},
                     {"lt", MAP_LT, false},
                     {"le", MAP_LE, false},
                     {"gt", MAP_LT, true},
                     {"ge", MAP_LE, true},
                     {"bitwise_and", MAP_AND, false},
                     {"bitwise_or", MAP_OR, false},
                     {"bitwise_xor", MAP_XOR, false},
                     {"logical_and", MAP_AND, false},
                     {"logical_or", MAP_OR, false},
                     {"logical_xor", MAP_XOR, false},
                     {"__and__", MAP_AND, false},
                     {"__or__", MAP_OR, false}};
    aten_value x, y, out;
    if (!aten_get(a, "self", &x) || !aten_get(a, "other", &y))
        return false;
    if (strncmp(a->at->op, "logical_", 8) == 0 &&
        (!aten_cast(a, &x, ATEN_KIND_BOOL, &x) || !aten_cast(a, &y, ATEN_KIND_BOOL, &y)))
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (is_op(a, functions[i].op)) {
            bool swapped = functions[i].swapped;
            return aten_binary(a, functions[i].kind, swapped ? &y : &x, swapped ? &x : &y, &out) && aten_put(a, &out);
        }
    return false;
}

/* A quotient of integers is a float, unless it is rounded. */
static bool lower_div(aten *a)
{
    aten_value x, y, out;
    const char *mode = is_op(a, "floor_divide") ? "floor" : aten_text(a, "rounding_mode");
    if (!aten_get(a, "self", &x) || !aten_get(a, "other", &y))
        return false;
    if (mode && strcmp(mode, "floor") != 0)
        return aten_fail(a, "the rounding mode %s is not supported", mode);
    bool floats = x.kind == ATEN_KIND_FLOAT || y.kind == ATEN_KIND_FLOAT;
    if ((!mode || floats) && (!aten_cast(a, &x, ATEN_KIND_FLOAT, &x) || !aten_cast(a, &y, ATEN_KIND_FLOAT, &y)))
        return false;
    if (!mode && y.constant && aten_count(&y) == 1 && isfinite(1 / aten_constant_at(a, &y, 0)))
        return aten_with_number(a, MAP_MUL, &x, 1 / aten_constant_at(a, &y, 0), &out) && aten_put(a, &out);
    if (!aten_binary(a, MAP_DIV, &x, &y, &out))
        return false;
    if (mode && floats && !aten_map(a, (map_spec){.kind = MAP_FLOOR}, ATEN_KIND_FLOAT, &out, 1, &out))
        return false;
    return aten_put(a, &out);
}

static bool lower_pow(aten *a)
{
    aten_value x, y, out;
    if (!aten_get(a, "self", &x) || !aten_get(a, "exponent", &y))
        return false;
    double power = y.constant && aten_count(&y) == 1 ? aten_constant_at(a, &y, 0) : NAN;
    bool ok;
    if (power == 2)
        ok = aten_unary(a, UNARY_SQUARE, &x, &out);
    else if (power == 3)
        ok = aten_unary(a, UNARY_SQUARE, &x, &out) && aten_binary(a, MAP_MUL, &out, &x, &out);
    else if (power == 0.5)
        ok = aten_unary(a, UNARY_SQRT, &x, &out);
    else if (power == -0.5)
        ok = aten_map(a, (map_spec){.kind = MAP_RSQRT}, ATEN_KIND_FLOAT, &x, 1, &out);
    else
        ok = aten_map(a, (map_spec){.kind = MAP_POW}, ATEN_KIND_FLOAT, (aten_value[]){x, y}, 2, &out);
    return ok && aten_put(a, &out);
}

bool aten_choose(aten *a, const aten_value *condition, const aten_value *x, const aten_value *y, aten_value *out)
{
    aten_kind kind = x->kind == ATEN_KIND_FLOAT || y->kind == ATEN_KIND_FLOAT ? ATEN_KIND_FLOAT
                     : x->kind == ATEN_KIND_INT || y->kind == ATEN_KIND_INT   ? ATEN_KIND_INT
                                                                              : ATEN_KIND_BOOL;
    map_spec m = {.kind = MAP_WHERE, .integers = kind != ATEN_KIND_FLOAT};
    return aten_map(a, m, kind, (aten_value[]){*condition, *x, *y}, 3, out);
}

static bool lower_where(aten *a)
{
    aten_value condition, x, y, out;
    return aten_get(a, "condition", &condition) && aten_get(a, "self", &x) && aten_get(a, "other", &y) &&
           aten_choose(a, &condition, &x, &y, &out) && aten_put(a, &out);
}

static bool lower_masked_fill(aten *a)
{
    aten_value x, mask, value, out;
    return aten_get(a, "self", &x) && aten_get(a, "mask", &mask) && aten_get(a, "value", &value) &&
           aten_choose(a, &mask, &value, &x, &out) && aten_put(a, &out);
}

static bool lower_clamp(aten *a)
{
    aten_value x, limit;
    if (!aten_get(a, "self", &x))
        return false;
    if (aten_has(a, "min") && (!aten_get(a, "min", &limit) || !aten_binary(a, MAP_MAX, &x, &limit, &x)))
        return false;
    if (aten_has(a, "max") && (!aten_get(a, "max", &limit) || !aten_binary(a, MAP_MIN, &x, &limit, &x)))
        return false;
    return aten_put(a, &x);
}

static bool lower_hardtanh(aten *a)
{
    aten_value x;
    return aten_get(a, "self", &x) && aten_with_number(a, MAP_MAX, &x, aten_float(a, "min_val", -1), &x) &&
           aten_with_number(a, MAP_MIN, &x, aten_float(a, "max_val", 1), &x) && aten_put(a, &x);
}

/* x above zero, else slope * x. */
static bool lower_leaky_relu(aten *a)
{
    aten_value x, low, high;
    return aten_get(a, "self", &x) && aten_with_number(a, MAP_MIN, &x, 0, &low) &&
           aten_with_number(a, MAP_MUL, &low, aten_float(a, "negative_slope", 0.01), &low) &&
           aten_unary(a, UNARY_RELU, &x, &high) && aten_binary(a, MAP_ADD, &high, &low, &x) && aten_put(a, &x);
}

/* Another shape, the same elements: what `copy_` leaves in its operand. */
static bool lower_copy(aten *a)
{
    aten_value x, from, out;
    return aten_get(a, "self", &x) && aten_get(a, "src", &from) && aten_cast(a, &from, x.kind, &from) &&
           aten_expanded(a, &from, x.rank, x.dims, &out) && aten_put(a, &out);
}

const aten_operator aten_elementwise_operators[] = {{"neg", lower_function},
                                                    {"abs", lower_function},
                                                    {"square", lower_function},
                                                    {"sqrt", lower_function},
                                                    {"exp", lower_function},
                                                    {"log", lower_function},
                                                    {"tanh", lower_function},
                                                    {"sigmoid", lower_function},
                                                    {"relu", lower_function},
                                                    {"silu", lower_function},
                                                    {"sin", lower_function},
                                                    {"cos", lower_function},
                                                    {"gelu", lower_gelu},
                                                    {"rsqrt", lower_other_function},
                                                    {"erf", lower_other_function},
                                                    {"floor", lower_other_function},
                                                    {"ceil", lower_other_function},
                                                    {"round", lower_other_function},
                                                    {"sign", lower_other_function},
                                                    {"logical_not", lower_not},
                                                    {"bitwise_not", lower_not},
                                                    {"reciprocal", lower_reciprocal},
                                                    {"add", lower_sum},
                                                    {"sub", lower_sum},
                                                    {"rsub", lower_sum},
                                                    {"mul", lower_two},
                                                    {"maximum", lower_two},
                                                    {"minimum", lower_two},
                                                    {"remainder", lower_two},
                                                    {"eq", lower_two},
                                                    {"ne", lower_two},
                                                    {"lt", lower_two},
                                                    {"le", lower_two},
                                                    {"gt", lower_two},
                                                    {"ge", lower_two},
                                                    {"bitwise_and", lower_two},
                                                    {"bitwise_or", lower_two},
                                                    {"bitwise_xor", lower_two},
                                                    {"logical_and", lower_two},
                                                    {"logical_or", lower_two},
                                                    {"logical_xor", lower_two},
                                                    {"__and__", lower_two},
                                                    {"__or__", lower_two},
                                                    {"div", lower_div},
                                                    {"floor_divide", lower_div},
                                                    {"pow", lower_pow},
                                                    {"where", lower_where},
                                                    {"masked_fill", lower_masked_fill},
                                                    {"clamp", lower_clamp},
                                                    {"clamp_min", lower_clamp},
                                                    {"clamp_max", lower_clamp},
                                                    {"hardtanh", lower_hardtanh},
                                                    {"leaky_relu", lower_leaky_relu},
                                                    {"copy", lower_copy},
                                                    {0}};
