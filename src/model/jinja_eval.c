/* jinja_eval: expressions: names, attributes, items, operators and calls, with Python's meaning. */
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <math.h>
#include <string.h>

/* ---- attributes and items ---------------------------------------------------------------------- */

static bool is_undefined(jinja_run *r, jinja_value v)
{
    if (v.type != JINJA_UNDEFINED)
        return false;
    jinja_fail(&r->k, "'%.*s' is undefined", (int)(v.as.text.length < 80 ? v.as.text.length : 80),
               jinja_bytes(v.as.text));
    return true;
}

static jinja_value loop_attribute(const jinja_loop *l, jinja_text name)
{
    int64_t index = (int64_t)l->index, count = (int64_t)l->items->count;
    switch (jinja_find_word(
        "index\0index0\0revindex\0revindex0\0first\0last\0length\0previtem\0nextitem\0depth\0depth0\0", name)) {
    case 0: return jinja_whole(index + 1);
    case 1: return jinja_whole(index);
    case 2: return jinja_whole(count - index);
    case 3: return jinja_whole(count - index - 1);
    case 4: return jinja_bool(index == 0);
    case 5: return jinja_bool(index + 1 == count);
    case 6: return jinja_whole(count);
    case 7: return index > 0 ? l->items->at[index - 1] : jinja_undefined(name);
    case 8: return index + 1 < count ? l->items->at[index + 1] : jinja_undefined(name);
    case 9: return jinja_whole(1);
    case 10: return jinja_whole(0);
    default: return jinja_undefined(name);
    }
}

jinja_value jinja_get_attribute(jinja_run *r, jinja_value of, jinja_text name)
{
    if (is_undefined(r, of))
        return of;
    int method = jinja_method_named(of, name);
    if (method >= 0) {
        jinja_method *m = jinja_alloc(&r->k, sizeof *m);
        *m = (jinja_method){of, method};
        return (jinja_value){.type = JINJA_METHOD, .as.method = m};
    }
    if (of.type == JINJA_DICT || of.type == JINJA_NAMESPACE) {
        const jinja_value *found = jinja_pairs_find(&r->k, of.as.pairs, jinja_text_as(name));
        return found ? *found : jinja_undefined(name);
    }
    if (of.type == JINJA_LOOP)
        return loop_attribute(of.as.loop, name);
    if (of.type == JINJA_MACRO && jinja_is(name, "name"))
        return of.as.macro->node->value;
    return jinja_undefined(name);
}

static bool whole_of(jinja_value v, int64_t *out)
{
    *out = v.type == JINJA_WHOLE ? v.as.whole : v.type == JINJA_BOOL ? v.as.yes : 0;
    return v.type == JINJA_WHOLE || v.type == JINJA_BOOL;
}

jinja_value jinja_get_item(jinja_run *r, jinja_value of, jinja_value index)
{
    int64_t i;
    size_t length;
    if (is_undefined(r, of))
        return of;
    if (of.type == JINJA_DICT) {
        bool can = index.type != JINJA_DICT && index.type != JINJA_UNDEFINED &&
                   (index.type != JINJA_LIST || index.as.items->kind == ITEMS_TUPLE);
        const jinja_value *found = can ? jinja_pairs_find(&r->k, of.as.pairs, index) : NULL;
        if (found)
            return *found;
    }
    if (of.type == JINJA_LIST && of.as.items->kind <= ITEMS_RANGE && whole_of(index, &i)) {
        i += i < 0 ? (int64_t)of.as.items->count : 0;
        if (i >= 0 && i < (int64_t)of.as.items->count)
            return of.as.items->at[i];
    }
    if (of.type == JINJA_TEXT && whole_of(index, &i)) {
        i += i < 0 ? (int64_t)jinja_count_points(&r->k, of.as.text) : 0;
        size_t at = i >= 0 ? jinja_point_at(of.as.text, (size_t)i) : of.as.text.length;
        if (at < of.as.text.length) {
            utf8_decode(jinja_bytes(of.as.text) + at, of.as.text.length - at, &length);
            return jinja_text_as(jinja_part(of.as.text, at, length));
        }
    }
    if (index.type == JINJA_TEXT)
        return of.type == JINJA_DICT && jinja_method_named(of, index.as.text) < 0
                   ? jinja_undefined(index.as.text)
                   : jinja_get_attribute(r, of, index.as.text);
    return jinja_undefined(jinja_str(&r->k, index));
}

/* Python's rules for start and end of a slice over `count` items. */
static bool slice_bounds(jinja_run *r, const jinja_value given[3], int64_t count, int64_t bounds[3])
{
    int64_t *step = &bounds[2];
    *step = 1;
    for (int i = 0; i < 3; i++)
        if (given[i].type != JINJA_NONE && !whole_of(given[i], &bounds[i]))
            return false;
    if (*step == 0)
        return jinja_fail(&r->k, "slice step cannot be zero");
    int64_t low = *step < 0 ? -1 : 0, high = *step < 0 ? count - 1 : count;
    for (int i = 0; i < 2; i++) {
        if (given[i].type == JINJA_NONE)
            bounds[i] = (i == 0) == (*step > 0) ? low : high;
        else if (bounds[i] < 0)
            bounds[i] = bounds[i] + count < low ? low : bounds[i] + count;
        else if (bounds[i] > high)
            bounds[i] = high;
    }
    return true;
}

jinja_value jinja_get_slice(jinja_run *r, jinja_value of, const jinja_value given[3])
{
    size_t count;
    int64_t b[3];
    jinja_value out = jinja_undefined((jinja_text){0});
    if (is_undefined(r, of) ||
        !(of.type == JINJA_TEXT || (of.type == JINJA_LIST && of.as.items->kind <= ITEMS_RANGE)) ||
        !jinja_length(&r->k, of, &count) || !slice_bounds(r, given, (int64_t)count, b))
        return out;
    if (of.type == JINJA_TEXT && b[2] == 1) {
        size_t start = jinja_point_at(of.as.text, (size_t)b[0]);
        jinja_text rest = jinja_part(of.as.text, start, of.as.text.length - start);
        out = jinja_text_as(jinja_part(rest, 0, b[1] > b[0] ? jinja_point_at(rest, (size_t)(b[1] - b[0])) : 0));
        out.safe = of.safe;
        return out;
    }
    const jinja_items *from = jinja_iterate(&r->k, of);
    jinja_builder text = {&r->k, NULL};
    out = jinja_items_new(&r->k, of.type == JINJA_LIST ? of.as.items->kind : ITEMS_LIST);
    for (int64_t i = b[0]; from && (b[2] > 0 ? i < b[1] : i > b[1]) && jinja_step(&r->k, 1);) {
        if (of.type == JINJA_TEXT)
            jinja_add_text(&text, from->at[i].as.text);
        else
            jinja_items_add(&r->k, out.as.items, from->at[i]);
        if (__builtin_add_overflow(i, b[2], &i))
            break;
    }
    return of.type == JINJA_TEXT ? jinja_text_as(jinja_built(&text)) : out;
}

/* ---- operators -------------------------------------------------------------------------------------- */

static jinja_value not_for(jinja_run *r, uint16_t op, jinja_value a, jinja_value b)
{
    char name[3] = {(char)op, (char)(op >> 8), 0};
    if (!is_undefined(r, a) && !is_undefined(r, b))
        jinja_fail(&r->k, "unsupported operand type(s) for %s: '%s' and '%s'", name, jinja_type_name(a),
                   jinja_type_name(b));
    return jinja_none();
}

static jinja_value too_large(jinja_run *r)
{
    jinja_fail(&r->k, "a number that is too large");
    return jinja_none();
}

static jinja_value real_math(jinja_run *r, uint16_t op, double a, double b)
{
    if (b == 0 && (op == '/' || op == '%' || op == OP2('/', '/'))) {
        jinja_fail(&r->k, "division by zero");
        return jinja_none();
    }
    switch (op) {
    case '+': return jinja_real(a + b);
    case '-': return jinja_real(a - b);
    case '*': return jinja_real(a * b);
    case '/': return jinja_real(a / b);
    case '%': {
        double left = fmod(a, b);
        return jinja_real(left != 0 && (left < 0) != (b < 0) ? left + b : left);
    }
    case OP2('/', '/'): return jinja_real(floor(a / b));
    default: return jinja_real(pow(a, b));
    }
}

static jinja_value whole_math(jinja_run *r, uint16_t op, int64_t a, int64_t b)
{
    int64_t out = 1;
    bool over = false;
    switch (op) {
    case '+': over = __builtin_add_overflow(a, b, &out); break;
    case '-': over = __builtin_sub_overflow(a, b, &out); break;
    case '*': over = __builtin_mul_overflow(a, b, &out); break;
    case '%':
    case OP2('/', '/'):
        if (b == 0 || (b == -1 && a == INT64_MIN))
            return b == 0 ? real_math(r, op, 1, 0) : too_large(r);
        out = op == '%' ? a % b : a / b;
        if (a % b != 0 && (a % b < 0) != (b < 0))
            out += op == '%' ? b : -1;
        break;
    case OP2('*', '*'):
        if (b < 0)
            return a == 0 ? real_math(r, '/', 1, 0) : real_math(r, op, (double)a, (double)b);
        for (int64_t i = 0; i < b && !over && a != 1 && (a != 0 || i == 0) && jinja_step(&r->k, 1); i++)
            over = __builtin_mul_overflow(out, a, &out);
        break;
    default: return real_math(r, op, (double)a, (double)b);
    }
    return over ? too_large(r) : jinja_whole(out);
}

static jinja_value repeat(jinja_run *r, jinja_value what, int64_t times)
{
    if (what.type == JINJA_TEXT) {
        jinja_builder b = {&r->k, NULL};
        for (int64_t i = 0; what.as.text.length && i < times && !r->k.failed; i++)
            jinja_add_text(&b, what.as.text);
        return jinja_text_as(jinja_built(&b));
    }
    jinja_value out = jinja_items_new(&r->k, what.as.items->kind);
    for (int64_t i = 0; what.as.items->count && i < times && !r->k.failed; i++)
        for (size_t k = 0; k < what.as.items->count; k++)
            jinja_items_add(&r->k, out.as.items, what.as.items->at[k]);
    return out;
}

static jinja_value add_texts(jinja_run *r, jinja_value a, jinja_value b)
{
    jinja_core *k = &r->k;
    jinja_text left = b.safe && !a.safe ? jinja_escape(k, a.as.text) : a.as.text;
    jinja_value out = jinja_text_as(jinja_join(k, left, a.safe && !b.safe ? jinja_escape(k, b.as.text) : b.as.text));
    out.safe = a.safe || b.safe;
    return out;
}

static bool can_repeat(jinja_value v)
{
    return v.type == JINJA_TEXT || (v.type == JINJA_LIST && v.as.items->kind <= ITEMS_TUPLE);
}

jinja_value jinja_math(jinja_run *r, uint16_t op, jinja_value a, jinja_value b)
{
    int64_t x, y;
    if (whole_of(a, &x) && whole_of(b, &y))
        return whole_math(r, op, x, y);
    if (jinja_is_number(a) && jinja_is_number(b))
        return real_math(r, op, jinja_as_real(a), jinja_as_real(b));
    if (op == '%' && a.type == JINJA_TEXT)
        return jinja_percent(r, a.as.text, b);
    if (op == '+' && a.type == JINJA_TEXT && b.type == JINJA_TEXT)
        return add_texts(r, a, b);
    if (op == '+' && a.type == JINJA_LIST && b.type == JINJA_LIST && a.as.items->kind == b.as.items->kind &&
        can_repeat(a)) {
        jinja_value out = repeat(r, a, 1);
        for (size_t i = 0; i < b.as.items->count; i++)
            jinja_items_add(&r->k, out.as.items, b.as.items->at[i]);
        return out;
    }
    if (op == '*' && can_repeat(a) && whole_of(b, &y))
        return repeat(r, a, y);
    if (op == '*' && can_repeat(b) && whole_of(a, &x))
        return repeat(r, b, x);
    return not_for(r, op, a, b);
}

static bool holds(jinja_run *r, uint16_t op, jinja_value a, jinja_value b)
{
    switch (op) {
    case OP2('=', '='): return jinja_equal(&r->k, a, b);
    case OP2('!', '='): return !jinja_equal(&r->k, a, b);
    case OP_IN: return jinja_contains(&r->k, b, a);
    case OP_NOT_IN: return !jinja_contains(&r->k, b, a);
    case '<': return jinja_compare(&r->k, a, b) < 0;
    case '>': return jinja_compare(&r->k, a, b) > 0;
    case OP2('<', '='): return jinja_compare(&r->k, a, b) <= 0;
    default: return jinja_compare(&r->k, a, b) >= 0;
    }
}

static jinja_value compare_chain(jinja_run *r, const jinja_node *n)
{
    jinja_value a = jinja_eval(r, n->a);
    for (const jinja_node *operand = n->b; operand && !r->k.failed; operand = operand->next) {
        jinja_value b = jinja_eval(r, operand->a);
        r->k.line = n->line;
        if (r->k.failed || !holds(r, operand->op, a, b))
            return jinja_bool(false);
        a = b;
    }
    return jinja_bool(true);
}

/* ---- nodes ------------------------------------------------------------------------------------------- */

jinja_value jinja_call(jinja_run *r, jinja_value what, const jinja_args *args)
{
    if (what.type == JINJA_MACRO)
        return jinja_call_macro(r, what.as.macro, args);
    if (what.type == JINJA_METHOD)
        return jinja_call_method(r, what.as.method, args);
    if (what.type == JINJA_FUNCTION)
        return jinja_call_function(r, what.as.function, args);
    if (!is_undefined(r, what))
        jinja_fail(&r->k, "'%s' object is not callable", jinja_type_name(what));
    return jinja_none();
}

static jinja_value eval_name(jinja_run *r, uint32_t symbol)
{
    const jinja_value *found = jinja_lookup(r, symbol);
    if (found)
        return *found;
    int function = jinja_function_named(r->t->symbols[symbol]);
    return function >= 0 ? (jinja_value){.type = JINJA_FUNCTION, .as.function = function}
                         : jinja_undefined(r->t->symbols[symbol]);
}

static jinja_value eval_list(jinja_run *r, const jinja_node *n)
{
    jinja_value out = n->kind == E_DICT ? jinja_pairs_new(&r->k)
                                        : jinja_items_new(&r->k, n->kind == E_LIST ? ITEMS_LIST : ITEMS_TUPLE);
    for (const jinja_node *item = n->a; item && !r->k.failed; item = item->next) {
        jinja_value v = jinja_eval(r, item);
        if (n->kind != E_DICT) {
            jinja_items_add(&r->k, out.as.items, v);
            continue;
        }
        item = item->next;
        jinja_pairs_set(&r->k, out.as.pairs, v, jinja_eval(r, item));
    }
    return out;
}

static jinja_value eval_slice(jinja_run *r, const jinja_node *n)
{
    const jinja_node *const nodes[] = {n->b, n->c, n->d};
    jinja_value of = jinja_eval(r, n->a), bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] = nodes[i] ? jinja_eval(r, nodes[i]) : jinja_none();
    r->k.line = n->line;
    return jinja_get_slice(r, of, bounds);
}

static jinja_value eval_filter(jinja_run *r, const jinja_node *n)
{
    jinja_value v = jinja_eval(r, n->a);
    jinja_args args = jinja_eval_args(r, n->b);
    jinja_text name = n->value.as.text;
    bool filter = n->kind == E_FILTER;
    r->k.line = n->line;
    if (r->k.failed)
        return v;
    if (n->op == UINT16_MAX) {
        jinja_fail(&r->k, "No %s named '%.*s'.", filter ? "filter" : "test", (int)(name.length < 80 ? name.length : 80),
                   jinja_bytes(name));
        return v;
    }
    return filter ? jinja_filter(r, n->op, v, &args) : jinja_bool(jinja_test(r, n->op, v, &args));
}

static jinja_value eval_sign(jinja_run *r, const jinja_node *n)
{
    jinja_value v = jinja_eval(r, n->a);
    r->k.line = n->line;
    return n->kind == E_NEGATIVE ? v.type == JINJA_REAL ? jinja_real(-v.as.real) : jinja_math(r, '-', jinja_whole(0), v)
                                 : jinja_math(r, '+', jinja_whole(0), v);
}

static jinja_value eval_concat(jinja_run *r, const jinja_node *n)
{
    jinja_text out = {0};
    for (const jinja_node *part = n->a; part && !r->k.failed; part = part->next)
        out = jinja_join(&r->k, out, jinja_str(&r->k, jinja_eval(r, part)));
    return jinja_text_as(out);
}

static jinja_value eval_two(jinja_run *r, const jinja_node *n)
{
    jinja_value a = jinja_eval(r, n->a), b;
    jinja_args args;
    switch (n->kind) {
    case E_NOT: return jinja_bool(!jinja_is_true(a));
    case E_AND: return jinja_is_true(a) ? jinja_eval(r, n->b) : a;
    case E_OR: return jinja_is_true(a) ? a : jinja_eval(r, n->b);
    case E_IF:
        return jinja_is_true(a) ? jinja_eval(r, n->b) : n->c ? jinja_eval(r, n->c) : jinja_undefined((jinja_text){0});
    case E_ATTR: r->k.line = n->line; return jinja_get_attribute(r, a, n->value.as.text);
    case E_CALL:
        args = jinja_eval_args(r, n->b);
        r->k.line = n->line;
        return r->k.failed ? a : jinja_call(r, a, &args);
    default:
        b = jinja_eval(r, n->b);
        r->k.line = n->line;
        return r->k.failed ? a : n->kind == E_ITEM ? jinja_get_item(r, a, b) : jinja_math(r, n->op, a, b);
    }
}

jinja_value jinja_eval(jinja_run *r, const jinja_node *n)
{
    jinja_value v = jinja_none();
    if (!jinja_enter(&r->k))
        return v;
    r->k.line = n->line;
    switch (n->kind) {
    case E_CONST: v = n->value; break;
    case E_NAME: v = eval_name(r, n->symbol); break;
    case E_BODY: v = r->body; break;
    case E_SLICE: v = eval_slice(r, n); break;
    case E_FILTER:
    case E_TEST: v = eval_filter(r, n); break;
    case E_NEGATIVE:
    case E_POSITIVE: v = eval_sign(r, n); break;
    case E_COMPARE: v = compare_chain(r, n); break;
    case E_CONCAT: v = eval_concat(r, n); break;
    case E_LIST:
    case E_TUPLE:
    case E_DICT: v = eval_list(r, n); break;
    default: v = eval_two(r, n); break;
    }
    jinja_leave(&r->k);
    return v;
}
