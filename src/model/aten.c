/* aten: a program's nodes in order, its parameters, inputs, outputs and buffers. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ZERO_NAME[] = "always 0";

/* ---- the signature -------------------------------------------------------------------------------------- */

static void set_value(aten *a, const char *name, const aten_value *v)
{
    if ((a->value_count & (a->value_count - 1)) == 0)
        a->values = mem_grow(a->values, (a->value_count ? 2 * a->value_count : 1) * sizeof *a->values);
    a->values[a->value_count] = *v;
    names_put(&a->value_of, name, a->value_count++);
}

static aten_port *add_port(aten_port **list, uint32_t *count, const char *name, int type, const aten_value *v)
{
    *list = mem_grow(*list, (*count + 1) * sizeof **list);
    aten_port *p = &(*list)[(*count)++];
    *p = (aten_port){.name = mem_dup(name), .type = type, .rank = v->rank, .count = aten_count(v)};
    memcpy(p->dims, v->dims, sizeof p->dims);
    memcpy(p->strides, v->strides, sizeof p->strides);
    return p;
}

static bool add_input(aten_program *p, const char *name)
{
    aten *a = &p->a;
    aten_tensor meta;
    if (!name)
        return true; /* no tensor: a number that the program was made for */
    if (!aten_read_meta(jsonr_get(a->metas, name), &meta) || !aten_type_bytes(meta.type))
        return err_set(a->e,
                       "input %.80s has a shape that is not known before it runs, or a type or more than %d "
                       "dimensions that are not supported",
                       name, ATEN_MAX_RANK);
    aten_value v = aten_shaped(aten_kind_of(meta.type), meta.rank, meta.dims);
    dtype type = v.kind == ATEN_KIND_FLOAT ? DTYPE_F32 : DTYPE_U32;
    v.n = graph_input(a->g, name, type, shape1((uint32_t)aten_count(&v)));
    set_value(a, name, &v);
    add_port(&p->inputs, &p->input_count, name, meta.type, &v);
    return true;
}

static const char *arg_name(const jsonr *spec)
{
    return jsonr_get_text(jsonr_get(spec, "arg"), "name");
}

const char *aten_changed_to(const aten *a, const char *buffer)
{
    const uint32_t *spec = names_get(&a->changed_to, buffer);
    return spec ? arg_name(jsonr_get(jsonr_at(a->changes, *spec), "buffer_mutation")) : NULL;
}

/* A cache [1, heads, positions, size] has its positions outermost, so that a new one is a row; and back again. */
static const uint32_t CACHE_ORDER[] = {0, 2, 1, 3};

/* Does the program put something at some positions of it? */
static bool is_cache(const aten *a, const char *name, const char *buffer, const aten_value *v)
{
    const char *result = aten_changed_to(a, buffer);
    const uint32_t *made = names_get(&a->call_of, result);
    const aten_call *c = made ? &a->calls[*made] : NULL;
    if (!c || v->rank != 4 || v->dims[0] != 1 || v->kind != ATEN_KIND_FLOAT || aten_count(v) % 2 ||
        (strcmp(c->op, "index_put") != 0 && strcmp(c->op, "index_copy") != 0))
        return false;
    aten looking = *a;
    looking.at = c;
    const char *self = aten_tensor_name(&looking, "self");
    return self && strcmp(self, name) == 0;
}

/* A buffer that the program changes. A state has an even number of elements. */
static bool add_state(aten_program *p, const char *name, const char *buffer, const aten_tensor *t, const aten_value *v)
{
    aten *a = &p->a;
    bool cache = is_cache(a, name, buffer, v);
    aten_value lies = cache ? aten_permuted(v, CACHE_ORDER) : *v;
    aten_value s = aten_shaped(v->kind, v->rank, lies.dims);
    uint64_t count = aten_count(v), even = count + count % 2;
    float *initial = mem_floats(even);
    for (uint64_t i = 0; i < count; i++)
        initial[i] = (float)aten_constant_at(a, &lies, i);
    s.n =
        graph_state(a->g, buffer, DTYPE_F32, cache ? shape3(s.dims[1], s.dims[2], s.dims[3]) : shape1((uint32_t)even));
    s = cache ? aten_permuted(&s, CACHE_ORDER) : s;
    set_value(a, name, &s);
    add_port(&p->states, &p->state_count, buffer, t->type, &s)->initial = initial;
    return true;
}

static bool add_stored(aten_program *p, const char *name, const char *stored, bool is_state, aten_source source,
                       void *user)
{
    aten *a = &p->a;
    aten_tensor t;
    aten_value v;
    if (!name || !stored)
        return err_set(a->e, "its signature has an entry without a name");
    if (aten_is_empty(a, name))
        return true;
    if (!source(user, stored, &t, a->e) || !aten_stored_value(a, stored, &t, &v))
        return false;
    if (is_state)
        return add_state(p, name, stored, &t, &v);
    set_value(a, name, &v);
    return true;
}

/* Does the signature, or a node that changes its operand, write the buffer? */
static bool is_changed(const aten *a, const char *name, const char *buffer)
{
    return names_get(&a->changed_to, buffer) || names_get(&a->rebound, name);
}

static bool read_inputs(aten_program *p, const jsonr *signature, aten_source source, void *user)
{
    static const struct {
        const char *spec, *name;
    } stored[] = {
        {"parameter", "parameter_name"}, {"buffer", "buffer_name"}, {"tensor_constant", "tensor_constant_name"}};
    const jsonr *spec;
    jsonr_each(spec, jsonr_get(signature, "input_specs"))
    {
        bool known = false, ok = true;
        const jsonr *input = jsonr_get(spec, "user_input");
        if (input) {
            known = true;
            ok = add_input(p, jsonr_get_text(jsonr_get(jsonr_get(input, "arg"), "as_tensor"), "name"));
        }
        for (int k = 0; k < 3 && !known; k++) {
            const jsonr *found = jsonr_get(spec, stored[k].spec);
            const char *name = arg_name(found), *tensor = jsonr_get_text(found, stored[k].name);
            known = found != NULL;
            if (found)
                ok = add_stored(p, name, tensor, is_changed(&p->a, name, tensor), source, user);
        }
        if (!ok)
            return false;
        if (!known && !jsonr_get(spec, "constant_input"))
            return err_set(p->a.e, "its signature has an input of a kind that is not supported");
    }
    return true;
}

/* ---- nodes ---------------------------------------------------------------------------------------------- */

/* "add_" changes its operand; "__and__" does not. */
static bool changes_operand(const char *op)
{
    size_t length = strlen(op);
    return length > 1 && op[length - 1] == '_' && op[length - 2] != '_';
}

/* Only checks that hold when the program was made, and nothing that is computed. */
static bool is_check(const char *op)
{
    return strncmp(op, "_assert", 7) == 0 || strncmp(op, "sym_constrain", 13) == 0;
}

static bool read_calls(aten *a, const jsonr *nodes)
{
    const jsonr *json;
    a->calls = mem_alloc((jsonr_count(nodes) + (size_t)1) * sizeof *a->calls);
    jsonr_each(json, nodes)
    {
        const uint32_t number = a->call_count;
        aten_call *c = &a->calls[a->call_count++];
        static const char prefix[] = "torch.ops.aten.";
        const char *target = jsonr_get_text(json, "target");
        *c = (aten_call){.json = json, .target = target ? target : "?"};
        const char *op = strncmp(c->target, prefix, sizeof prefix - 1) == 0 ? c->target + sizeof prefix - 1 : c->target;
        snprintf(c->op, sizeof c->op, "%.*s", (int)(op == c->target ? strlen(op) : strcspn(op, ".")), op);
        a->at = c;
        const char *changed = changes_operand(c->op) ? aten_tensor_name(a, "self") : NULL;
        if (changed)
            names_put(&a->rebound, changed, 1);
        a->at = NULL;
        const jsonr *out, *item;
        jsonr_each(out, jsonr_get(json, "outputs"))
        {
            const char *name = jsonr_get_text(jsonr_get(out, "as_tensor"), "name");
            if (name)
                names_put(&a->call_of, name, number);
            jsonr_each(item, jsonr_get(out, "as_tensors")) if (jsonr_get_text(item, "name"))
                names_put(&a->call_of, jsonr_get_text(item, "name"), number);
        }
    }
    return true;
}

static void need(aten *a, const char *name)
{
    const uint32_t *call = names_get(&a->call_of, name);
    if (call && !aten_is_empty(a, name)) {
        names_put(&a->asked, name, 1);
        a->calls[*call].needed = true;
    }
}

/* All names in an argument, whatever its form. */
static void need_all(aten *a, const jsonr *value)
{
    const jsonr *item;
    need(a, jsonr_get_text(value, "name"));
    jsonr_each(item, value) need_all(a, item);
}

/* Nodes that an output depends on; those before a node come before it. */
static void find_needed(aten_program *p, const jsonr *outputs)
{
    aten *a = &p->a;
    need_all(a, outputs);
    for (uint32_t i = a->call_count; i-- > 0;) {
        aten_call *c = &a->calls[i];
        c->needed |= changes_operand(c->op);
        const jsonr *input;
        if (c->needed && aten_find_norm(a, c)) {
            need(a, c->norm.x);
            need(a, c->norm.weight);
        } else if (c->needed)
            jsonr_each(input, jsonr_get(c->json, "inputs")) need_all(a, jsonr_get(input, "arg"));
        p->needed += c->needed;
    }
}

static bool is_view(const char *op)
{
    for (const aten_operator *o = aten_view_operators; o->op; o++)
        if (strcmp(o->op, op) == 0)
            return true;
    return false;
}

/* Is the tensor a view, or was a view of it made before this node? */
static bool is_viewed(aten *a, const char *name)
{
    const aten_call *now = a->at;
    const uint32_t *made = names_get(&a->call_of, name);
    bool viewed = made && is_view(a->calls[*made].op);
    for (a->at = a->calls; a->at < now && !viewed; a->at++) {
        const char *of = is_view(a->at->op) ? aten_tensor_name(a, "self") : NULL;
        viewed = of && strcmp(of, name) == 0;
    }
    a->at = now;
    return viewed;
}

/* The operand of "add_" is what it was changed to from now on. */
static bool rebind(aten *a, const char *changed)
{
    aten_value v;
    const jsonr *first = jsonr_get(jsonr_at(jsonr_get(a->at->json, "outputs"), 0), "as_tensor");
    const char *result = jsonr_get_text(first, "name");
    if (!changed || !result || is_viewed(a, changed))
        return aten_fail(a, "it changes a tensor in place that others are views of: export with run_decompositions()");
    if (!aten_find_value(a, result, &v))
        return false;
    set_value(a, changed, &v);
    return true;
}

static bool lower_calls(aten *a)
{
    for (uint32_t i = 0; i < a->call_count; i++) {
        aten_call *c = &a->calls[i];
        a->at = c;
        if (!c->needed || is_check(c->op))
            continue;
        bool changes = changes_operand(c->op);
        const char *changed = changes ? aten_tensor_name(a, "self") : NULL;
        if (changes)
            c->op[strlen(c->op) - 1] = 0;
        const aten_operator *o = aten_find_operator(c->op);
        if (!o)
            return aten_fail(a, "the operator is not supported (run_decompositions() before saving may replace it)");
        if (!(c->norm.x ? aten_lower_norm(a) : o->lower(a)) || (changes && !rebind(a, changed)))
            return a->e->kind != ERR_NONE ? false : aten_fail(a, "it cannot be lowered");
        err e = {0};
        if (!graph_ok(a->g, &e))
            return aten_fail(a, "%s", e.text);
    }
    a->at = NULL;
    return true;
}

/* ---- results -------------------------------------------------------------------------------------------- */

/* A node of its own, of floats or integers. */
static node copy_of(aten *a, const aten_value *v, aten_kind kind)
{
    map_spec m = {.kind = MAP_FUNCTION, .function = UNARY_COPY, .view_count = 1};
    m.integers = kind != ATEN_KIND_FLOAT;
    m.type = m.integers ? DTYPE_U32 : DTYPE_F32;
    m.views[0] = (graph_view){.of = aten_root(a, v), .offset = v->offset};
    for (uint32_t d = 0; d < GRAPH_VIEW_DIMS; d++) {
        bool own = d >= GRAPH_VIEW_DIMS - v->rank;
        m.dims[d] = own ? v->dims[d - (GRAPH_VIEW_DIMS - v->rank)] : 1;
        m.views[0].strides[d] = own ? v->strides[d - (GRAPH_VIEW_DIMS - v->rank)] : 0;
    }
    return graph_map(a->g, &m, shape1((uint32_t)aten_count(v)));
}

static bool add_output(aten_program *p, const char *name)
{
    aten *a = &p->a;
    aten_value v;
    aten_tensor meta;
    if (!name)
        return true; /* None, or a number */
    if (!aten_find_value(a, name, &v))
        return false;
    bool own = !v.constant && aten_is_contiguous(&v) && v.offset == 0 && !graph_at(a->g, v.n)->name &&
               graph_at(a->g, v.n)->op != OP_RESHAPE && graph_at(a->g, v.n)->op != OP_STATE &&
               shape_count(graph_at(a->g, v.n)->s) == aten_count(&v);
    node n = own ? v.n : copy_of(a, &v, v.kind);
    str unique = {0};
    str_add(&unique, name);
    while (graph_find(a->g, unique.data))
        str_add(&unique, "'");
    if (n)
        graph_output(a->g, unique.data, n);
    int type = aten_read_meta(jsonr_get(a->metas, name), &meta) ? meta.type : ATEN_F32;
    if ((aten_kind_of(type) == ATEN_KIND_FLOAT) != (v.kind == ATEN_KIND_FLOAT))
        err_set(a->e, "the output %.80s is of another type than the file says", name);
    add_port(&p->outputs, &p->output_count, unique.data, type, &v);
    str_free(&unique);
    return n != 0 && a->e->kind == ERR_NONE;
}

static bool add_store(aten_program *p, const char *buffer, const char *result)
{
    aten *a = &p->a;
    aten_value v, even;
    node state = buffer ? graph_find(a->g, buffer) : 0;
    if (!result || !state || !aten_find_value(a, result, &v))
        return err_set(a->e, "the buffer %.80s is changed to something that is not there", buffer ? buffer : "?");
    const graph_node *made = v.constant ? NULL : graph_at(a->g, v.n);
    if (made && made->op == OP_STORE && made->operands[0] == state && aten_is_cache(&v))
        return true; /* its row is stored already */
    uint32_t count = (uint32_t)aten_count(&v), all = count + count % 2, none[1] = {0};
    shape s = graph_at(a->g, state)->s;
    if (count + count % 2 != shape_count(s))
        return err_set(a->e, "the buffer %.80s is changed to another size", buffer);
    if (s.dims[1] != 1) /* a cache */
        v = aten_permuted(&v, CACHE_ORDER);
    bool lies = !v.constant && aten_is_contiguous(&v) && all != count; /* as it is, with something behind it */
    node n = lies ? v.n : copy_of(a, &v, ATEN_KIND_FLOAT);
    if (all != count) {
        aten_value flat = aten_shaped(ATEN_KIND_FLOAT, 1, &count);
        flat.n = n;
        flat.offset = lies ? v.offset : 0;
        if (!aten_place(a, &flat, none, NULL, 0, &all, &even))
            return false;
        n = even.n;
    }
    if (!a->zero)
        a->zero = graph_input(a->g, ZERO_NAME, DTYPE_U32, shape1(1));
    return n && graph_store(a->g, state, graph_reshape(a->g, n, s), a->zero);
}

static bool read_outputs(aten_program *p, const jsonr *signature)
{
    aten *a = &p->a;
    const jsonr *spec;
    jsonr_each(spec, jsonr_get(signature, "output_specs"))
    {
        const jsonr *output = jsonr_get(spec, "user_output"), *changed = jsonr_get(spec, "buffer_mutation");
        if (output) {
            if (!add_output(p, jsonr_get_text(jsonr_get(jsonr_get(output, "arg"), "as_tensor"), "name")))
                return false;
        } else if (changed) {
            if (!add_store(p, jsonr_get_text(changed, "buffer_name"), arg_name(changed)))
                return false;
        } else
            return err_set(a->e, "its signature has an output of a kind that is not supported");
    }
    jsonr_each(spec, jsonr_get(signature, "input_specs"))
    {
        const jsonr *buffer = jsonr_get(spec, "buffer");
        const char *name = arg_name(buffer);
        if (names_get(&a->rebound, name) && !add_store(p, jsonr_get_text(buffer, "buffer_name"), name))
            return false;
    }
    graph_find_unused(a->g);
    return p->output_count || err_set(a->e, "it has no output");
}

static void read_changes(aten *a, const jsonr *outputs)
{
    const jsonr *spec;
    a->changes = outputs;
    jsonr_each(spec, outputs)
    {
        const jsonr *change = jsonr_get(spec, "buffer_mutation");
        const char *buffer = jsonr_get_text(change, "buffer_name"), *result = arg_name(change);
        if (buffer && result)
            names_put(&a->changed_to, buffer, spec_at);
    }
}

static bool read_program(aten_program *p, const jsonr *module, aten_source source, void *user)
{
    aten *a = &p->a;
    const jsonr *graph = jsonr_get(module, "graph"), *signature = jsonr_get(module, "signature");
    if (!jsonr_is(graph, JSONR_OBJECT) || !jsonr_is(signature, JSONR_OBJECT))
        return err_set(a->e, "it has no graph and signature");
    a->metas = jsonr_get(graph, "tensor_values");
    read_changes(a, jsonr_get(signature, "output_specs"));
    return read_calls(a, jsonr_get(graph, "nodes")) && read_inputs(p, signature, source, user) &&
           (find_needed(p, jsonr_get(signature, "output_specs")), lower_calls(a)) && read_outputs(p, signature) &&
           graph_ok(a->g, a->e);
}

aten_program *aten_program_new(const jsonr *module, aten_source source, void *user, err *e)
{
    aten_program *p = mem_alloc(sizeof *p);
    aten *a = &p->a;
    *a = (aten){.e = &p->error};
    a->g = a->program_graph = graph_new();
    bool ok = read_program(p, module, source, user);
    if (!ok && p->error.kind == ERR_NONE && graph_ok(a->program_graph, a->e))
        err_set(a->e, "it cannot be lowered");
    names *used[] = {&a->value_of, &a->call_of, &a->rebound, &a->changed_to, &a->asked};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        names_free(used[i]);
    free(a->positions);
    free(a->values);
    a->positions = NULL;
    a->values = NULL;
    a->metas = a->changes = NULL;
    if (ok)
        return p;
    err_set_kind(e, p->error.kind, "%s", p->error.text);
    aten_program_free(p);
    return NULL;
}

static void free_ports(aten_port *ports, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free((char *)ports[i].name);
        free((float *)ports[i].initial);
    }
    free(ports);
}

void aten_program_free(aten_program *p)
{
    if (!p)
        return;
    aten *a = &p->a;
    graph_free(a->program_graph);
    for (uint32_t i = 0; i < a->constant_count; i++) {
        free(a->constants[i].name);
        free(a->constants[i].owned);
    }
    for (uint32_t i = 0; i < a->weight_count; i++)
        free(a->weights[i].name);
    free(a->constants);
    free(a->weights);
    free(a->calls);
    free_ports(p->inputs, p->input_count);
    free_ports(p->outputs, p->output_count);
    free_ports(p->states, p->state_count);
    free(p);
}
