/* jinja_parse_expression: tokens to a tree: expressions, with Jinja's precedences. */
#include "base/number.h"
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

/* For jinja_mentions: keys and attributes are symbols, too. */
static void mention(jinja_parser *p, jinja_text name)
{
    enum { LONGEST_KEY = 24 };
    if (name.length && name.length <= LONGEST_KEY)
        jinja_symbol(p->t, name);
}

/* ---- constants ------------------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The number of up to `most` digits; how many there were. */
static size_t read_digits(const char *at, const char *end, size_t most, int base, uint32_t *out)
{
    size_t count = 0;
    *out = 0;
    for (; count < most && at + count < end && hex(at[count]) >= 0 && hex(at[count]) < base; count++)
        *out = *out * (uint32_t)base + (uint32_t)hex(at[count]);
    return count;
}

/* Behind a backslash, as in Python; returns how many bytes that is. */
static size_t add_escape(jinja_builder *b, const char *at, const char *end)
{
    static const char letters[] = "nrtabfv\\'\"", means[] = "\n\r\t\a\b\f\v\\'\"";
    const char *known = strchr(letters, *at);
    uint32_t point;
    if (*at == '\n')
        return 1;
    if (known && *at) {
        jinja_add(b, &means[known - letters], 1, false);
        return 1;
    }
    size_t count = read_digits(at, end, 3, 8, &point);
    if (count) {
        jinja_add_point(b, point, false);
        return count;
    }
    size_t wanted = *at == 'x' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;
    if (wanted) {
        if (read_digits(at + 1, end, wanted, 16, &point) != wanted || point > 0x10FFFF || (point >> 11) == 0x1B)
            jinja_fail(b->k, "a string with a wrong escape \\%c", *at);
        jinja_add_point(b, point, false);
        return wanted + 1;
    }
    jinja_add(b, "\\", 1, false);
    return 0;
}

static void add_string(jinja_builder *b, const jinja_token *t)
{
    const char *at = t->text, *end = at + t->length;
    while (at < end) {
        const char *stop = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((stop ? stop : end) - at);
        jinja_add(b, at, plain, false);
        at += plain;
        if (stop && end - at > 1)
            at += 1 + add_escape(b, at + 1, end);
        else
            at = end;
    }
}

static jinja_node *parse_number(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, E_CONST);
    char text[64];
    size_t length = 0;
    for (size_t i = 0; i < p->now->length; i++)
        if (p->now->text[i] != '_' && length + 1 < sizeof text)
            text[length++] = p->now->text[i];
    text[length] = 0;
    if (p->now->kind == T_REAL)
        n->value = jinja_real(number_read(text, NULL));
    else {
        int64_t number = 0;
        for (size_t i = 0; i < length; i++)
            if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, text[i] - '0', &number))
                jinja_fail(p->k, "a number that is too large");
        n->value = jinja_whole(number);
    }
    p->now++;
    return n;
}

/* ---- primaries ----------------------------------------------------------------------------- */

static void append(jinja_node ***end, jinja_node *n)
{
    **end = n;
    *end = &n->next;
}

static jinja_node *parse_list(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, E_LIST), **end = &n->a;
    p->now++;
    while (!p->k->failed && !jinja_take_op(p, ']')) {
        append(&end, jinja_parse_expression(p));
        if (!jinja_take_op(p, ',') && !jinja_expect_op(p, ']'))
            break;
        if (p->now[-1].op == ']')
            break;
    }
    return n;
}

static jinja_node *parse_dict(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, E_DICT), **end = &n->a;
    p->now++;
    while (!p->k->failed && !jinja_take_op(p, '}')) {
        append(&end, jinja_parse_expression(p));
        jinja_expect_op(p, ':');
        append(&end, jinja_parse_expression(p));
        if (!jinja_take_op(p, ',') && !jinja_expect_op(p, '}'))
            break;
        if (p->now[-1].op == '}')
            break;
    }
    return n;
}

static jinja_node *parse_name(jinja_parser *p)
{
    static const char *const words[] = {"true", "True", "false", "False", "none", "None"};
    jinja_text name = jinja_text_of(p->k, p->now->text, p->now->length, false);
    jinja_node *n = jinja_node_new(p, E_NAME);
    p->now++;
    for (int i = 0; i < 6; i++)
        if (jinja_is(name, words[i])) {
            n->kind = E_CONST;
            n->value = i < 4 ? jinja_bool(i < 2) : jinja_none();
            return n;
        }
    n->symbol = jinja_symbol(p->t, name);
    if (n->symbol < SYMBOL_OWN)
        p->t->uses[n->symbol] = true;
    return n;
}

static jinja_node *parse_primary(jinja_parser *p)
{
    jinja_node *n;
    jinja_builder b = {p->k, NULL};
    switch (p->now->kind) {
    case T_NAME: return parse_name(p);
    case T_STRING:
        n = jinja_node_new(p, E_CONST);
        for (; p->now->kind == T_STRING; p->now++)
            add_string(&b, p->now);
        if (b.block)
            b.block->capacity = b.block->used; /* runs add nothing behind it */
        n->value = jinja_text_as(jinja_built(&b));
        mention(p, n->value.as.text);
        return n;
    case T_WHOLE:
    case T_REAL: return parse_number(p);
    default: break;
    }
    if (p->now->kind == T_OP && p->now->op == '[')
        return parse_list(p);
    if (p->now->kind == T_OP && p->now->op == '{')
        return parse_dict(p);
    if (jinja_take_op(p, '(')) {
        if (jinja_take_op(p, ')'))
            return jinja_node_new(p, E_TUPLE);
        n = jinja_parse_tuple(p, true);
        jinja_expect_op(p, ')');
        return n;
    }
    jinja_unexpected(p, "an expression");
    return jinja_node_new(p, E_TUPLE);
}

/* ---- what follows them ------------------------------------------------------------------------ */

/* Behind "(". */
static jinja_node *parse_args(jinja_parser *p)
{
    jinja_node *first = NULL, **end = &first;
    while (!p->k->failed && !jinja_take_op(p, ')')) {
        jinja_node *n;
        if (p->now->kind == T_OP && (p->now->op == '*' || p->now->op == OP2('*', '*'))) {
            n = jinja_node_new(p, p->now->op == '*' ? E_SPREAD : E_SPREAD_KEYWORDS);
            p->now++;
            n->a = jinja_parse_expression(p);
        } else if (p->now->kind == T_NAME && p->now[1].kind == T_OP && p->now[1].op == '=') {
            n = jinja_node_new(p, E_KEYWORD);
            n->value = jinja_text_as(jinja_expect_name(p));
            p->now++;
            n->a = jinja_parse_expression(p);
        } else
            n = jinja_parse_expression(p);
        append(&end, n);
        if (!jinja_take_op(p, ',')) {
            jinja_expect_op(p, ')');
            break;
        }
    }
    return first;
}

static jinja_node *parse_call(jinja_parser *p, jinja_node *on)
{
    jinja_node *n = jinja_node_new(p, E_CALL);
    p->now++;
    n->a = on;
    n->b = parse_args(p);
    return n;
}

static bool at_op(const jinja_parser *p, uint16_t op)
{
    return p->now->kind == T_OP && p->now->op == op;
}

static jinja_node *parse_dot(jinja_parser *p, jinja_node *on)
{
    jinja_node *n = jinja_node_new(p, E_ATTR);
    p->now++;
    n->a = on;
    if (p->now->kind == T_WHOLE) {
        n->kind = E_ITEM;
        n->b = parse_number(p);
    } else {
        n->value = jinja_text_as(jinja_expect_name(p));
        mention(p, n->value.as.text);
    }
    return n;
}

static jinja_node *parse_subscript(jinja_parser *p, jinja_node *on)
{
    jinja_node *n = jinja_node_new(p, E_ITEM), *start = NULL;
    p->now++;
    n->a = on;
    if (!at_op(p, ':'))
        start = jinja_parse_tuple(p, true);
    n->b = start;
    if (jinja_take_op(p, ':')) {
        n->kind = E_SLICE;
        if (!at_op(p, ']') && !at_op(p, ':'))
            n->c = jinja_parse_expression(p);
        if (jinja_take_op(p, ':') && !at_op(p, ']'))
            n->d = jinja_parse_expression(p);
    }
    jinja_expect_op(p, ']');
    return n;
}

jinja_node *jinja_parse_postfix(jinja_parser *p, jinja_node *on)
{
    while (!p->k->failed) {
        if (at_op(p, '.'))
            on = parse_dot(p, on);
        else if (at_op(p, '['))
            on = parse_subscript(p, on);
        else if (at_op(p, '('))
            on = parse_call(p, on);
        else
            break;
    }
    return on;
}

/* A name with dots in it. */
static jinja_text parse_dotted(jinja_parser *p)
{
    jinja_text name = jinja_expect_name(p);
    while (!p->k->failed && jinja_take_op(p, '.'))
        name = jinja_join(p->k, jinja_join(p->k, name, jinja_text_of(p->k, ".", 1, false)), jinja_expect_name(p));
    return name;
}

static jinja_node *parse_filter(jinja_parser *p, jinja_node *on)
{
    jinja_node *n = jinja_node_new(p, E_FILTER);
    jinja_text name = parse_dotted(p);
    n->a = on;
    n->value = jinja_text_as(name);
    n->op = (uint16_t)jinja_filter_named(name);
    if (jinja_take_op(p, '('))
        n->b = parse_args(p);
    return n;
}

jinja_node *jinja_parse_filters(jinja_parser *p, jinja_node *on, bool first)
{
    while (!p->k->failed && (first || jinja_take_op(p, '|'))) {
        on = parse_filter(p, on);
        first = false;
    }
    return on;
}

/* Behind "is". */
static jinja_node *parse_test(jinja_parser *p, jinja_node *on)
{
    bool negated = jinja_take_name(p, "not");
    jinja_node *n = jinja_node_new(p, E_TEST), *outer;
    jinja_text name = parse_dotted(p);
    n->a = on;
    n->value = jinja_text_as(name);
    n->op = (uint16_t)jinja_test_named(name);
    if (jinja_take_op(p, '('))
        n->b = parse_args(p);
    else if (jinja_at_name(p, "is"))
        jinja_fail(p->k, "tests with `is` cannot be chained");
    else if (p->now->kind == T_STRING || p->now->kind == T_WHOLE || p->now->kind == T_REAL || at_op(p, '[') ||
             at_op(p, '{') ||
             (p->now->kind == T_NAME && !jinja_at_name(p, "else") && !jinja_at_name(p, "or") &&
              !jinja_at_name(p, "and")))
        n->b = jinja_parse_postfix(p, parse_primary(p));
    if (!negated)
        return n;
    outer = jinja_node_new(p, E_NOT);
    outer->a = n;
    return outer;
}

static jinja_node *parse_unary(jinja_parser *p, bool with_filters)
{
    jinja_node *n;
    if (!jinja_enter(p->k))
        return jinja_node_new(p, E_TUPLE);
    if (at_op(p, '-') || at_op(p, '+')) {
        n = jinja_node_new(p, at_op(p, '-') ? E_NEGATIVE : E_POSITIVE);
        p->now++;
        n->a = parse_unary(p, false);
    } else
        n = parse_primary(p);
    n = jinja_parse_postfix(p, n);
    while (with_filters && !p->k->failed) {
        if (at_op(p, '|'))
            n = jinja_parse_filters(p, n, false);
        else if (jinja_take_name(p, "is"))
            n = parse_test(p, n);
        else if (at_op(p, '('))
            n = parse_call(p, n);
        else
            break;
    }
    jinja_leave(p->k);
    return n;
}

/* ---- operators ---------------------------------------------------------------------------- */

static jinja_node *two(jinja_parser *p, jinja_kind kind, uint16_t op, jinja_node *a, jinja_node *b)
{
    jinja_node *n = jinja_node_new(p, kind);
    n->op = op;
    n->a = a;
    n->b = b;
    return n;
}

/* From the loosest to the tightest: + and -, ~, products, powers. */
enum { LEVEL_SUM, LEVEL_CONCAT, LEVEL_PRODUCT, LEVEL_POWER, LEVEL_UNARY };

static bool is_of_level(const jinja_parser *p, int level)
{
    if (p->now->kind != T_OP)
        return false;
    uint16_t op = p->now->op;
    switch (level) {
    case LEVEL_SUM: return op == '+' || op == '-';
    case LEVEL_CONCAT: return op == '~';
    case LEVEL_PRODUCT: return op == '*' || op == '/' || op == OP2('/', '/') || op == '%';
    default: return op == OP2('*', '*');
    }
}

static jinja_node *parse_math(jinja_parser *p, int level)
{
    if (level == LEVEL_UNARY)
        return parse_unary(p, true);
    jinja_node *left = parse_math(p, level + 1), *list;
    if (level == LEVEL_CONCAT && is_of_level(p, level)) {
        list = jinja_node_new(p, E_CONCAT);
        list->a = left;
        for (jinja_node **end = &left->next; !p->k->failed && is_of_level(p, level);) {
            p->now++;
            append(&end, parse_math(p, level + 1));
        }
        return list;
    }
    while (!p->k->failed && is_of_level(p, level)) {
        uint16_t op = p->now->op;
        p->now++;
        left = two(p, E_MATH, op, left, parse_math(p, level + 1));
    }
    return left;
}

static jinja_node *parse_compare(jinja_parser *p)
{
    jinja_node *left = parse_math(p, LEVEL_SUM), *n = NULL, **end = NULL;
    while (!p->k->failed) {
        uint16_t op = 0, now = p->now->op;
        if (p->now->kind == T_OP && (now == '<' || now == '>' || now == OP2('=', '=') || now == OP2('!', '=') ||
                                     now == OP2('<', '=') || now == OP2('>', '=')))
            op = now;
        else if (jinja_at_name(p, "in"))
            op = OP_IN;
        else if (jinja_at_name(p, "not") && p->now[1].kind == T_NAME && p->now[1].length == 2 &&
                 memcmp(p->now[1].text, "in", 2) == 0) {
            op = OP_NOT_IN;
            p->now++;
        } else
            break;
        p->now++;
        if (!n) {
            n = two(p, E_COMPARE, 0, left, NULL);
            end = &n->b;
        }
        append(&end, two(p, E_OPERAND, op, parse_math(p, LEVEL_SUM), NULL));
    }
    return n ? n : left;
}

static jinja_node *parse_not(jinja_parser *p)
{
    jinja_node *n;
    if (!jinja_at_name(p, "not"))
        return parse_compare(p);
    if (!jinja_enter(p->k))
        return jinja_node_new(p, E_TUPLE);
    n = jinja_node_new(p, E_NOT);
    p->now++;
    n->a = parse_not(p);
    jinja_leave(p->k);
    return n;
}

static jinja_node *parse_and(jinja_parser *p)
{
    jinja_node *left = parse_not(p);
    while (!p->k->failed && jinja_take_name(p, "and"))
        left = two(p, E_AND, 0, left, parse_not(p));
    return left;
}

static jinja_node *parse_or(jinja_parser *p)
{
    jinja_node *left = parse_and(p);
    while (!p->k->failed && jinja_take_name(p, "or"))
        left = two(p, E_OR, 0, left, parse_and(p));
    return left;
}

jinja_node *jinja_parse_expression(jinja_parser *p)
{
    if (!jinja_enter(p->k))
        return jinja_node_new(p, E_TUPLE);
    jinja_node *n = parse_or(p);
    while (!p->k->failed && jinja_take_name(p, "if")) {
        n = two(p, E_IF, 0, parse_or(p), n);
        if (jinja_take_name(p, "else"))
            n->c = jinja_parse_expression(p);
    }
    jinja_leave(p->k);
    return n;
}

jinja_node *jinja_parse_tuple(jinja_parser *p, bool with_if)
{
    jinja_node *n = with_if ? jinja_parse_expression(p) : parse_or(p), *tuple, **end;
    if (!at_op(p, ','))
        return n;
    tuple = jinja_node_new(p, E_TUPLE);
    tuple->a = n;
    end = &n->next;
    while (!p->k->failed && jinja_take_op(p, ',')) {
        if (p->now->kind == T_TAG_END || p->now->kind == T_OUTPUT_END || at_op(p, ')') || at_op(p, ']') ||
            jinja_at_name(p, "recursive"))
            break;
        append(&end, with_if ? jinja_parse_expression(p) : parse_or(p));
    }
    return tuple;
}
