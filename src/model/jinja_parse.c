/* jinja_parse: tokens to a tree: statements, and what the parser is made of. */
#include "model/jinja_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens and nodes -------------------------------------------------------------------- */

jinja_node *jinja_node_new(jinja_parser *p, jinja_kind kind)
{
    jinja_node *n = jinja_alloc(p->k, sizeof *n);
    n->kind = (uint8_t)kind;
    n->line = p->k->line = p->now->line;
    return n;
}

bool jinja_unexpected(jinja_parser *p, const char *wanted)
{
    static const char *const ends[] = {"the end of the template", "text",  "a tag",
                                       "the end of a tag",        "a tag", "the end of a tag"};
    const jinja_token *t = p->now;
    p->k->line = t->line;
    if (t->kind < T_NAME)
        return jinja_fail(p->k, "expected %s, not %s", wanted, ends[t->kind]);
    return jinja_fail(p->k, "expected %s, not '%.*s'", wanted, (int)(t->length < 40 ? t->length : 40), t->text);
}

bool jinja_at_name(const jinja_parser *p, const char *name)
{
    return p->now->kind == T_NAME && p->now->length == strlen(name) && memcmp(p->now->text, name, p->now->length) == 0;
}

bool jinja_take_name(jinja_parser *p, const char *name)
{
    bool here = jinja_at_name(p, name);
    p->now += here;
    return here;
}

bool jinja_take_op(jinja_parser *p, uint16_t op)
{
    bool here = p->now->kind == T_OP && p->now->op == op;
    p->now += here;
    return here;
}

bool jinja_expect_op(jinja_parser *p, uint16_t op)
{
    char wanted[4] = {'\'', (char)op, '\'', 0};
    return jinja_take_op(p, op) || jinja_unexpected(p, wanted);
}

jinja_text jinja_expect_name(jinja_parser *p)
{
    if (p->now->kind != T_NAME) {
        jinja_unexpected(p, "a name");
        return (jinja_text){0};
    }
    p->now++;
    return jinja_text_of(p->k, p->now[-1].text, p->now[-1].length, false);
}

static void expect_tag_end(jinja_parser *p)
{
    if (p->now->kind == T_TAG_END)
        p->now++;
    else
        jinja_unexpected(p, "the end of the tag");
}

/* The name of the tag that ended a body; not there after an error. */
static void skip_name(jinja_parser *p)
{
    p->now += p->now->kind == T_NAME;
}

uint32_t jinja_symbol(jinja_template *t, jinja_text name)
{
    jinja_step(&t->k, t->symbol_count / 16 + 1);
    for (uint32_t i = 0; i < t->symbol_count; i++)
        if (jinja_same(t->symbols[i], name))
            return i;
    if (t->symbol_count == t->symbol_capacity) {
        t->symbol_capacity = t->symbol_capacity ? 2 * t->symbol_capacity : 32;
        t->symbols = mem_grow(t->symbols, t->symbol_capacity * sizeof *t->symbols);
    }
    t->symbols[t->symbol_count] = name;
    return t->symbol_count++;
}

/* ---- statements ---------------------------------------------------------------------------- */

static jinja_node *parse_body(jinja_parser *p, const char *ends);

/* What is assigned to: a name, several, or with `with_places` an attribute of a namespace. */
jinja_node *jinja_parse_target(jinja_parser *p, bool with_places)
{
    jinja_node *first = NULL, **end = &first;
    size_t count = 0;
    bool several = false;
    do {
        if (count && p->now->kind != T_NAME && !(p->now->kind == T_OP && p->now->op == '('))
            break;
        jinja_node *n = jinja_node_new(p, E_NAME);
        if (jinja_take_op(p, '(')) {
            if (!jinja_enter(p->k))
                return n;
            n = jinja_parse_target(p, false);
            jinja_leave(p->k);
            jinja_expect_op(p, ')');
        } else
            n->symbol = jinja_symbol(p->t, jinja_expect_name(p));
        if (with_places && count == 0 && jinja_take_op(p, '.')) {
            n->kind = E_PLACE;
            n->value = jinja_text_as(jinja_expect_name(p));
            return n;
        }
        *end = n;
        end = &n->next;
        count++;
    } while (!p->k->failed && jinja_take_op(p, ',') && (several = true));
    if (!several)
        return first;
    jinja_node *tuple = jinja_node_new(p, E_TUPLE);
    tuple->a = first;
    return tuple;
}

static jinja_node *parse_for(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, S_FOR);
    n->a = jinja_parse_target(p, false);
    if (!jinja_take_name(p, "in"))
        jinja_unexpected(p, "'in'");
    n->b = jinja_parse_tuple(p, false);
    if (jinja_take_name(p, "if"))
        n->c = jinja_parse_expression(p);
    if (jinja_at_name(p, "recursive"))
        jinja_fail(p->k, "recursive loops are not supported");
    expect_tag_end(p);
    p->loops++;
    n->d = parse_body(p, "endfor\0else\0");
    p->loops--;
    if (jinja_take_name(p, "else")) {
        expect_tag_end(p);
        n->e = parse_body(p, "endfor\0");
    }
    skip_name(p);
    return n;
}

/* Behind "if" or "elif". */
static jinja_node *parse_if(jinja_parser *p)
{
    jinja_node *first = NULL, **place = &first;
    for (;;) {
        jinja_node *n = *place = jinja_node_new(p, S_IF);
        n->a = jinja_parse_tuple(p, false);
        expect_tag_end(p);
        n->b = parse_body(p, "elif\0else\0endif\0");
        if (p->k->failed)
            break;
        if (jinja_take_name(p, "elif")) {
            place = &n->c;
            continue;
        }
        if (jinja_take_name(p, "else")) {
            expect_tag_end(p);
            n->c = parse_body(p, "endif\0");
        }
        skip_name(p);
        break;
    }
    return first;
}

static jinja_node *parse_set(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, S_SET);
    n->a = jinja_parse_target(p, true);
    if (jinja_take_op(p, '=')) {
        n->b = jinja_parse_tuple(p, true);
        return n;
    }
    n->kind = S_SET_BODY;
    n->b = jinja_parse_filters(p, jinja_node_new(p, E_BODY), false);
    expect_tag_end(p);
    n->c = parse_body(p, "endset\0");
    skip_name(p);
    return n;
}

/* Names in parentheses, with defaults. */
static jinja_node *parse_parameters(jinja_parser *p)
{
    jinja_node *first = NULL, **end = &first;
    jinja_expect_op(p, '(');
    while (!p->k->failed && !jinja_take_op(p, ')')) {
        jinja_node *n = jinja_node_new(p, E_NAME);
        jinja_text name = jinja_expect_name(p);
        n->symbol = jinja_symbol(p->t, name);
        n->value = jinja_text_as(name);
        if (jinja_take_op(p, '='))
            n->a = jinja_parse_expression(p);
        *end = n;
        end = &n->next;
        if (!jinja_take_op(p, ',')) {
            jinja_expect_op(p, ')');
            break;
        }
    }
    return first;
}

static jinja_node *parse_macro(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, S_MACRO);
    uint32_t loops = p->loops;
    jinja_text name = jinja_expect_name(p);
    n->symbol = jinja_symbol(p->t, name);
    n->value = jinja_text_as(name);
    n->a = parse_parameters(p);
    expect_tag_end(p);
    p->loops = 0;
    n->b = parse_body(p, "endmacro\0");
    p->loops = loops;
    skip_name(p);
    return n;
}

static jinja_node *parse_call_block(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, S_CALL);
    uint32_t loops = p->loops;
    if (p->now->kind == T_OP && p->now->op == '(')
        n->b = parse_parameters(p);
    n->a = jinja_parse_expression(p);
    if (!p->k->failed && n->a->kind != E_CALL)
        jinja_fail(p->k, "expected a call");
    expect_tag_end(p);
    p->loops = 0;
    n->c = parse_body(p, "endcall\0");
    p->loops = loops;
    skip_name(p);
    return n;
}

static jinja_node *parse_with(jinja_parser *p)
{
    jinja_node *n = jinja_node_new(p, S_WITH), **targets = &n->a, **values = &n->b;
    while (!p->k->failed && p->now->kind != T_TAG_END) {
        if (n->a)
            jinja_expect_op(p, ',');
        *targets = jinja_node_new(p, E_NAME);
        (*targets)->symbol = jinja_symbol(p->t, jinja_expect_name(p));
        targets = &(*targets)->next;
        jinja_expect_op(p, '=');
        *values = jinja_parse_expression(p);
        values = &(*values)->next;
    }
    expect_tag_end(p);
    n->c = parse_body(p, "endwith\0");
    skip_name(p);
    return n;
}

/* Tags with a body and nothing more than filters. */
static jinja_node *parse_block(jinja_parser *p, bool filter)
{
    jinja_node *n = jinja_node_new(p, filter ? S_FILTER : S_SCOPE);
    uint32_t loops = p->loops;
    if (filter)
        n->b = jinja_parse_filters(p, jinja_node_new(p, E_BODY), true);
    else
        p->loops = 0; /* its body is a function of its own */
    expect_tag_end(p);
    n->c = parse_body(p, filter ? "endfilter\0" : "endgeneration\0");
    p->loops = loops;
    skip_name(p);
    return n;
}

static jinja_node *parse_loop_control(jinja_parser *p, jinja_kind kind)
{
    if (p->loops == 0)
        jinja_fail(p->k, "'%s' outside of a loop", kind == S_BREAK ? "break" : "continue");
    return jinja_node_new(p, kind);
}

/* Behind "{%". */
static jinja_node *parse_statement(jinja_parser *p)
{
    p->k->line = p->now->line;
    if (jinja_take_name(p, "for"))
        return parse_for(p);
    if (jinja_take_name(p, "if"))
        return parse_if(p);
    if (jinja_take_name(p, "set"))
        return parse_set(p);
    if (jinja_take_name(p, "macro"))
        return parse_macro(p);
    if (jinja_take_name(p, "call"))
        return parse_call_block(p);
    if (jinja_take_name(p, "filter"))
        return parse_block(p, true);
    if (jinja_take_name(p, "generation"))
        return parse_block(p, false);
    if (jinja_take_name(p, "with"))
        return parse_with(p);
    if (jinja_take_name(p, "break"))
        return parse_loop_control(p, S_BREAK);
    if (jinja_take_name(p, "continue"))
        return parse_loop_control(p, S_CONTINUE);
    if (p->now->kind == T_NAME)
        jinja_fail(p->k, "the tag '%.*s' is not known here", (int)(p->now->length < 40 ? p->now->length : 40),
                   p->now->text);
    else
        jinja_unexpected(p, "a tag's name");
    return jinja_node_new(p, S_BREAK);
}

static bool at_end_of(const jinja_parser *p, const char *ends)
{
    for (; *ends; ends += strlen(ends) + 1)
        if (p->now[1].kind == T_NAME && p->now[1].length == strlen(ends) &&
            memcmp(p->now[1].text, ends, p->now[1].length) == 0)
            return true;
    return false;
}

/* Up to one of the tags in `ends` (none: the template's end), of which the name is the next token then. */
static jinja_node *parse_body(jinja_parser *p, const char *ends)
{
    jinja_node *first = NULL, **end = &first;
    if (!jinja_enter(p->k))
        return NULL;
    while (!p->k->failed) {
        jinja_node *n = NULL;
        if (p->now->kind == T_END) {
            if (*ends)
                jinja_fail(p->k, "the template ends where '%s' is missing", ends);
            break;
        }
        if (p->now->kind == T_DATA) {
            n = jinja_node_new(p, S_DATA);
            n->value = jinja_text_as(jinja_text_of(p->k, p->now->text, p->now->length, false));
            p->now++;
        } else if (p->now->kind == T_OUTPUT) {
            p->now++;
            n = jinja_node_new(p, S_OUTPUT);
            n->a = jinja_parse_tuple(p, true);
            if (p->now->kind == T_OUTPUT_END)
                p->now++;
            else
                jinja_unexpected(p, "'}}'");
        } else {
            if (at_end_of(p, ends)) {
                p->now++;
                break;
            }
            p->now++;
            n = parse_statement(p);
            expect_tag_end(p);
        }
        *end = n;
        end = &n->next;
    }
    jinja_leave(p->k);
    return first;
}

/* ---- whole templates -------------------------------------------------------------------------- */

/* As Jinja reads it: all line ends are "\n", and the last one does not count. */
static void normalize(const char *text, size_t length, str *out)
{
    str_add(out, "");
    for (size_t i = 0; i < length; i++) {
        bool pair = text[i] == '\r' && i + 1 < length && text[i + 1] == '\n';
        str_add_bytes(out, text[i] == '\r' ? "\n" : text + i, 1);
        i += pair;
    }
    if (out->length && out->data[out->length - 1] == '\n')
        out->length--;
}

jinja_template *jinja_parse(const char *text, size_t length, err *e)
{
    static const char *const own[] = {"loop", "caller", "varargs", "kwargs"};
    jinja_template *t = mem_alloc(sizeof *t);
    t->k.most_bytes = JINJA_MAX_BYTES;
    t->k.most_steps = JINJA_MAX_STEPS;
    t->k.depth = JINJA_MAX_DEPTH - JINJA_MAX_NESTING;
    jinja_tokens tokens = {0};
    str source = {0};
    if (length > JINJA_MAX_TEMPLATE)
        jinja_fail(&t->k, "the template has more than %d bytes", JINJA_MAX_TEMPLATE);
    else {
        normalize(text, length, &source);
        for (int i = 0; i < SYMBOL_OWN; i++)
            jinja_symbol(t, jinja_text_of(&t->k, own[i], strlen(own[i]), false));
        if (jinja_lex(&t->k, &source, &tokens))
            t->body = parse_body(&(jinja_parser){.t = t, .k = &t->k, .now = tokens.at}, "");
    }
    free(tokens.at);
    str_free(&source);
    if (!t->k.failed)
        return t;
    err_set(e, "chat template, line %u: %s", t->k.line ? t->k.line : 1, t->k.message);
    jinja_template_free(t);
    return NULL;
}

void jinja_template_free(jinja_template *t)
{
    if (!t)
        return;
    jinja_core_free(&t->k);
    free(t->symbols);
    free(t);
}

bool jinja_mentions(const jinja_template *t, const char *name)
{
    for (uint32_t i = 0; i < t->symbol_count; i++)
        if (jinja_is(t->symbols[i], name))
            return true;
    return false;
}
