/* jinja_run: runs a template: statements, scopes, macros, and what a program gives to a template. */
#include "model/jinja_internal.h"

#include <stdlib.h>
#include <string.h>

typedef enum { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE } flow;

static flow run_body(jinja_run *r, const jinja_node *n);

/* ---- scopes ---------------------------------------------------------------------------------- */

static jinja_scope *new_scope(jinja_run *r, jinja_scope *parent)
{
    jinja_scope *s = jinja_alloc(&r->k, sizeof *s);
    s->parent = parent;
    return s;
}

/* A scope for the next round of a loop: the same one where that is possible, so that a long loop needs no more memory than
 * a short one. */
static jinja_scope *next_scope(jinja_run *r, jinja_scope *s)
{
    if (s->is_kept)
        return new_scope(r, s->parent);
    while (s->variables) {
        jinja_variable *v = s->variables;
        s->variables = v->next;
        v->next = r->unused;
        r->unused = v;
    }
    return s;
}

jinja_value *jinja_lookup(jinja_run *r, uint32_t symbol)
{
    for (jinja_scope *s = r->scope; s; s = s->parent)
        for (jinja_variable *v = s->variables; v; v = v->next)
            if (v->symbol == symbol)
                return &v->value;
    return NULL;
}

void jinja_assign(jinja_run *r, uint32_t symbol, jinja_value value)
{
    for (jinja_variable *v = r->scope->variables; v; v = v->next)
        if (v->symbol == symbol) {
            v->value = value;
            return;
        }
    jinja_variable *v = r->unused ? r->unused : jinja_alloc(&r->k, sizeof *v);
    r->unused = v->next;
    *v = (jinja_variable){symbol, value, r->scope->variables};
    r->scope->variables = v;
}

static void set_attribute(jinja_run *r, const jinja_node *place, jinja_value value)
{
    const jinja_value *of = jinja_lookup(r, place->symbol);
    jinja_text name = place->value.as.text;
    r->k.line = place->line;
    if (!of || of->type != JINJA_NAMESPACE)
        jinja_fail(&r->k, "cannot assign attribute on non-namespace object");
    else if (*jinja_bytes(name) == '_')
        jinja_fail(&r->k, "a namespace takes no names that begin with '_'");
    else
        jinja_pairs_set(&r->k, of->as.pairs, place->value, value);
}

static void assign_target(jinja_run *r, const jinja_node *target, jinja_value value)
{
    if (target->kind == E_NAME)
        jinja_assign(r, target->symbol, value);
    else if (target->kind == E_PLACE)
        set_attribute(r, target, value);
    else if (jinja_enter(&r->k)) {
        const jinja_items *items = jinja_iterate(&r->k, value);
        size_t i = 0;
        for (const jinja_node *n = target->a; n && items && !r->k.failed; n = n->next, i++)
            if (i < items->count)
                assign_target(r, n, items->at[i]);
            else
                jinja_fail(&r->k, "not enough values to unpack (got %zu)", items->count);
        if (items && i < items->count)
            jinja_fail(&r->k, "too many values to unpack (expected %zu)", i);
        jinja_leave(&r->k);
    }
}

/* What a body writes, in a scope of its own. */
static jinja_value capture(jinja_run *r, const jinja_node *body, jinja_scope *scope)
{
    jinja_builder own = {&r->k, NULL}, *out = r->out;
    jinja_scope *before = r->scope;
    r->out = &own;
    r->scope = scope;
    run_body(r, body);
    r->scope = before;
    r->out = out;
    return jinja_text_as(jinja_built(&own));
}

/* ---- macros ----------------------------------------------------------------------------------- */

static void set_parameters(jinja_run *r, const jinja_node *parameter, const jinja_args *args)
{
    size_t i = 0, taken = 0;
    for (; parameter && !r->k.failed; parameter = parameter->next, i++) {
        jinja_value v = jinja_undefined(parameter->value.as.text);
        const jinja_value *named = args->named ? jinja_pairs_find(&r->k, args->named, parameter->value) : NULL;
        if (i < args->given->count)
            v = args->given->at[i];
        else if (named) {
            v = *named;
            taken++;
        } else if (parameter->a)
            v = jinja_eval(r, parameter->a);
        jinja_assign(r, parameter->symbol, v);
    }
    if (args->given->count > i && !r->t->uses[SYMBOL_VARARGS])
        jinja_fail(&r->k, "the macro takes not more than %zu argument(s)", i);
    if (r->t->uses[SYMBOL_VARARGS]) {
        jinja_value rest = jinja_items_new(&r->k, ITEMS_TUPLE);
        for (; i < args->given->count; i++)
            jinja_items_add(&r->k, rest.as.items, args->given->at[i]);
        jinja_assign(r, SYMBOL_VARARGS, rest);
    }
    jinja_value *caller =
        args->named ? jinja_pairs_find(&r->k, args->named, jinja_text_as(r->t->symbols[SYMBOL_CALLER])) : NULL;
    if (caller)
        jinja_assign(r, SYMBOL_CALLER, *caller);
    if (args->named && args->named->count > taken + (caller != NULL) && !r->t->uses[SYMBOL_KWARGS])
        jinja_fail(&r->k, "the macro has no parameter of that name");
}

/* The named arguments that are no parameters. */
static void set_keywords(jinja_run *r, const jinja_node *parameters, const jinja_args *args)
{
    jinja_value rest = jinja_pairs_new(&r->k);
    for (size_t i = 0; args->named && i < args->named->count; i++) {
        const jinja_node *p = parameters;
        while (p && !jinja_same(p->value.as.text, args->named->at[i].key.as.text))
            p = p->next;
        if (!p && !jinja_is(args->named->at[i].key.as.text, "caller"))
            jinja_pairs_set(&r->k, rest.as.pairs, args->named->at[i].key, args->named->at[i].value);
    }
    jinja_assign(r, SYMBOL_KWARGS, rest);
}

jinja_value jinja_call_macro(jinja_run *r, const jinja_macro *m, const jinja_args *args)
{
    bool is_macro = m->node->kind == S_MACRO;
    const jinja_node *parameters = is_macro ? m->node->a : m->node->b;
    jinja_scope *before = r->scope, *own = new_scope(r, m->around);
    if (!jinja_enter(&r->k))
        return jinja_none();
    r->scope = own;
    set_parameters(r, parameters, args);
    if (r->t->uses[SYMBOL_KWARGS])
        set_keywords(r, parameters, args);
    r->scope = before;
    jinja_value out = capture(r, is_macro ? m->node->b : m->node->c, own);
    jinja_leave(&r->k);
    return out;
}

static jinja_value new_macro(jinja_run *r, const jinja_node *n)
{
    jinja_macro *m = jinja_alloc(&r->k, sizeof *m);
    for (jinja_scope *s = r->scope; s; s = s->parent)
        s->is_kept = true;
    *m = (jinja_macro){n, r->scope};
    return (jinja_value){.type = JINJA_MACRO, .as.macro = m};
}

/* {% call %}: the body is the caller of the macro that is called. */
static void run_call(jinja_run *r, const jinja_node *n)
{
    jinja_value what = jinja_eval(r, n->a->a);
    jinja_args args = jinja_eval_args(r, n->a->b);
    if (!args.named)
        args.named = jinja_pairs_new(&r->k).as.pairs;
    jinja_pairs_set(&r->k, args.named, jinja_text_as(r->t->symbols[SYMBOL_CALLER]), new_macro(r, n));
    if (!r->k.failed)
        jinja_add_text(r->out, jinja_str(&r->k, jinja_call(r, what, &args)));
}

/* ---- loops -------------------------------------------------------------------------------------- */

static jinja_items *filtered(jinja_run *r, const jinja_node *n, const jinja_items *all)
{
    jinja_items *out = jinja_items_new(&r->k, ITEMS_LIST).as.items;
    jinja_scope *before = r->scope, *own = new_scope(r, before);
    for (size_t i = 0; i < all->count && !r->k.failed; i++) {
        r->scope = own = next_scope(r, own);
        assign_target(r, n->a, all->at[i]);
        if (jinja_is_true(jinja_eval(r, n->c)))
            jinja_items_add(&r->k, out, all->at[i]);
        r->scope = before;
    }
    return out;
}

static flow run_for(jinja_run *r, const jinja_node *n)
{
    jinja_value over = jinja_eval(r, n->b);
    jinja_items *items = r->k.failed ? NULL : jinja_iterate(&r->k, over);
    if (items && n->c)
        items = filtered(r, n, items);
    if (!items || r->k.failed)
        return FLOW_NEXT;
    if (items->count == 0)
        return n->e ? run_body(r, n->e) : FLOW_NEXT;
    jinja_loop *loop = jinja_alloc(&r->k, sizeof *loop);
    loop->items = items;
    jinja_scope *before = r->scope, *own = new_scope(r, before);
    for (loop->index = 0; loop->index < items->count && !r->k.failed; loop->index++) {
        r->scope = own = next_scope(r, own);
        assign_target(r, n->a, items->at[loop->index]);
        jinja_assign(r, SYMBOL_LOOP, (jinja_value){.type = JINJA_LOOP, .as.loop = loop});
        flow f = run_body(r, n->d);
        r->scope = before;
        if (f == FLOW_BREAK)
            break;
    }
    return FLOW_NEXT;
}

/* ---- statements ----------------------------------------------------------------------------------- */

static flow run_if(jinja_run *r, const jinja_node *n)
{
    for (; n && !r->k.failed; n = n->c) {
        if (n->kind != S_IF || n->next) /* not an elif */
            return run_body(r, n);
        if (jinja_is_true(jinja_eval(r, n->a)))
            return run_body(r, n->b);
    }
    return FLOW_NEXT;
}

static void run_with(jinja_run *r, const jinja_node *n)
{
    jinja_scope *before = r->scope, *own = new_scope(r, before);
    const jinja_node *value = n->b;
    for (const jinja_node *target = n->a; target; target = target->next, value = value->next) {
        jinja_value v = jinja_eval(r, value);
        r->scope = own;
        assign_target(r, target, v);
        r->scope = before;
    }
    r->scope = own;
    run_body(r, n->c);
    r->scope = before;
}

/* A body that filters go over. */
static jinja_value run_filtered(jinja_run *r, const jinja_node *n)
{
    jinja_value before = r->body;
    r->body = capture(r, n->c, new_scope(r, r->scope));
    jinja_value v = jinja_eval(r, n->b);
    r->body = before;
    return v;
}

static void write_value(jinja_run *r, jinja_value v)
{
    if (v.type == JINJA_TEXT)
        jinja_add_text(r->out, v.as.text);
    else if (v.type != JINJA_UNDEFINED)
        jinja_add_repr(r->out, v);
}

static flow run_statement(jinja_run *r, const jinja_node *n)
{
    switch (n->kind) {
    case S_DATA: jinja_add_text(r->out, n->value.as.text); break;
    case S_OUTPUT: write_value(r, jinja_eval(r, n->a)); break;
    case S_IF:
        /* the first is one of several statements, and may have others behind it */
        if (jinja_is_true(jinja_eval(r, n->a)))
            return run_body(r, n->b);
        return run_if(r, n->c);
    case S_FOR: return run_for(r, n);
    case S_SET: assign_target(r, n->a, jinja_eval(r, n->b)); break;
    case S_SET_BODY: assign_target(r, n->a, run_filtered(r, n)); break;
    case S_MACRO: jinja_assign(r, n->symbol, new_macro(r, n)); break;
    case S_CALL: run_call(r, n); break;
    case S_FILTER: jinja_add_text(r->out, jinja_str(&r->k, run_filtered(r, n))); break;
    case S_WITH: run_with(r, n); break;
    case S_SCOPE: jinja_add_text(r->out, capture(r, n->c, new_scope(r, r->scope)).as.text); break;
    case S_BREAK: return FLOW_BREAK;
    case S_CONTINUE: return FLOW_CONTINUE;
    default: break;
    }
    return FLOW_NEXT;
}

static flow run_body(jinja_run *r, const jinja_node *n)
{
    flow f = FLOW_NEXT;
    if (!jinja_enter(&r->k))
        return f;
    for (; n && f == FLOW_NEXT && jinja_step(&r->k, 1); n = n->next) {
        r->k.line = n->line;
        f = run_statement(r, n);
    }
    jinja_leave(&r->k);
    return f;
}

/* ---- for programs -------------------------------------------------------------------------------- */

jinja_run *jinja_run_new(const jinja_template *t)
{
    jinja_run *r = mem_alloc(sizeof *r);
    r->t = t;
    jinja_set_limits(r, JINJA_MAX_STEPS, JINJA_MAX_BYTES);
    r->scope = new_scope(r, NULL);
    return r;
}

void jinja_run_free(jinja_run *r)
{
    if (!r)
        return;
    jinja_core_free(&r->k);
    free(r);
}

void jinja_set_clock(jinja_run *r, int64_t local_s)
{
    r->has_clock = true;
    r->local_s = local_s;
}

void jinja_set_limits(jinja_run *r, uint64_t steps, size_t bytes)
{
    r->k.most_steps = steps;
    r->k.most_bytes = bytes;
}

jinja_value jinja_text_value(jinja_run *r, const char *text, size_t length, bool plain)
{
    return jinja_text_as(jinja_text_of(&r->k, text, length, plain));
}

jinja_value jinja_list(jinja_run *r)
{
    return jinja_items_new(&r->k, ITEMS_LIST);
}

jinja_value jinja_dict(jinja_run *r)
{
    return jinja_pairs_new(&r->k);
}

void jinja_push(jinja_run *r, jinja_value list, jinja_value item)
{
    jinja_items_add(&r->k, list.as.items, item);
}

void jinja_put(jinja_run *r, jinja_value dict, const char *key, jinja_value item)
{
    jinja_pairs_set(&r->k, dict.as.pairs, jinja_text_value(r, key, strlen(key), false), item);
}

void jinja_put_value(jinja_run *r, jinja_value dict, jinja_value key, jinja_value item)
{
    jinja_pairs_set(&r->k, dict.as.pairs, key, item);
}

void jinja_set(jinja_run *r, const char *name, jinja_value value)
{
    for (uint32_t i = 0; i < r->t->symbol_count; i++)
        if (jinja_is(r->t->symbols[i], name))
            jinja_assign(r, i, value);
}

void jinja_output_free(jinja_output *out)
{
    str_free(&out->text);
    str_free(&out->plain);
}

bool jinja_render(jinja_run *r, jinja_output *out, err *e)
{
    jinja_builder to = {&r->k, NULL};
    r->out = &to;
    run_body(r, r->t->body);
    if (r->k.failed) {
        for (char *c = r->k.message; *c; c++) /* one line */
            *c = (unsigned char)*c < ' ' ? ' ' : *c;
        return err_set(e, "chat template, line %u: %s", r->k.line ? r->k.line : 1, r->k.message);
    }
    str_add(&out->text, "");
    str_add(&out->plain, "");
    if (to.block) {
        str_add_bytes(&out->text, to.block->data, to.block->used);
        str_add_bytes(&out->plain, to.block->marks, to.block->used);
    }
    return true;
}
