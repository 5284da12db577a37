/* aten: a program's nodes in order, its parameters, inputs, outputs and buffers. */
#include "model/aten_internal.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ZERO_NAME[] = "always 0";

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- the signature -------------------------------------------------------------------------------------- */

static void set_value(aten *a, const char *name, const aten_value *v)
{
    if ((a->value_count & (a->value_count - 1)) == 0)
        a->values = mem_grow(a->values, (a->value_count ? 2 * a->value_count : 1) * sizeof *a->values);
    a->values[a->value_count] = *v;
    json_object_set_new(a->value_of, name, json_integer(a->value_count++));
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
    if (!aten_read_meta(json_object_get(a->metas, name), &meta) || !aten_type_bytes(meta.type))
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

/* A cache [1, heads, positions, size] has its positions outermost, so that a new one is a row; and back again. */
static const uint32_t CACHE_ORDER[] = {0, 2, 1, 3};

/* Does the program put something at some positions of it? */
static bool is_cache(const aten *a, const char *name, const char *buffer, const aten_value *v)
{
    const char *result = text_at(a->changed_to, buffer);
    const json_t *made = result ? json_object_get(a->call_of, result) : NULL;
    const aten_call *c = made ? &a->calls[json_integer_value(made)] : NULL;
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
    float *initial = mem_alloc(even * sizeof *initial);
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
    if (!source(user, stored, &t, a->e) || !aten_stored_value(a, stored, &t, &v))
        return false;
    if (is_state)
        return add_state(p, name, stored, &t, &v);
    set_value(a, name, &v);
    return true;
}

static const char *arg_name(const json_t *spec)
{
    return text_at(json_object_get(spec, "arg"), "name");
}

/* Does the signature, or a node that changes its operand, write the buffer? */
static bool is_changed(const aten *a, const char *name, const char *buffer)
{
    return (buffer && json_object_get(a->changed_to, buffer)) || (name && json_object_get(a->rebound, name));
}

static bool read_inputs(aten_program *p, const json_t *signature, aten_source source, void *user)
{
    static const struct {
        const char *spec, *name;
    } stored[] = {
        {"parameter", "parameter_name"}, {"buffer", "buffer_name"}, {"tensor_constant", "tensor_constant_name"}};
    size_t i;
    json_t *spec;
    json_array_foreach(json_object_get(signature, "input_specs"), i, spec)
    {
        bool known = false, ok = true;
        const json_t *input = json_object_get(spec, "user_input");
        if (input) {
            known = true;
            ok = add_input(p, text_at(json_object_get(json_object_get(input, "arg"), "as_tensor"), "name"));
        }
        for (int k = 0; k < 3 && !known; k++) {
            const json_t *found = json_object_get(spec, stored[k].spec);
            const char *name = arg_name(found), *tensor = text_at(found, stored[k].name);
            known = found != NULL;
            if (found)
                ok = add_stored(p, name, tensor, is_changed(&p->a, name, tensor), source, user);
        }
        if (!ok)
            return false;
        if (!known && !json_object_get(spec, "constant_input"))
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

static bool read_calls(aten *a, const json_t *nodes)
{
    size_t i;
    json_t *json;
    a->calls = mem_alloc((json_array_size(nodes) + 1) * sizeof *a->calls);
    json_array_foreach(nodes, i, json)
    {
        aten_call *c = &a->calls[a->call_count++];
        static const char prefix[] = "torch.ops.aten.";
        const char *target = text_at(json, "target");
        *c = (aten_call){.json = json, .target = target ? target : "?"};
        const char *op = strncmp(c->target, prefix, sizeof prefix - 1) == 0 ? c->target + sizeof prefix - 1 : c->target;
        snprintf(c->op, sizeof c->op, "%.*s", (int)(op == c->target ? strlen(op) : strcspn(op, ".")), op);
        a->at = c;
        const char *changed = changes_operand(c->op) ? aten_tensor_name(a, "self") : NULL;
        if (changed)
            json_object_set_new(a->rebound, changed, json_true());
        a->at = NULL;
        size_t k;
        json_t *out, *item;
        json_array_foreach(json_object_get(json, "outputs"), k, out)
        {
            const char *name = text_at(json_object_get(out, "as_tensor"), "name");
            if (name)
                json_object_set_new(a->call_of, name, json_integer((json_int_t)i));
            size_t n;
            json_array_foreach(json_object_get(out, "as_tensors"), n, item) if (text_at(item, "name"))
                json_object_set_new(a->call_of, text_at(item, "name"), json_integer((json_int_t)i));
        }
    }
    return true;
}

static void need(aten *a, const char *name)
{
    const json_t *call = name ? json_object_get(a->call_of, name) : NULL;
    if (call) {
        json_object_set_new(a->asked, name, json_true());
        a->calls[json_integer_value(call)].needed = true;
    }
}

/* All names in an argument, whatever its form. */
static void need_all(aten *a, const json_t *value)
{
    size_t i;
    json_t *item;
    const char *key;
    json_array_foreach(value, i, item) need_all(a, item);
    json_object_foreach((json_t *)value, key, item)
    {
        if (strcmp(key, "name") == 0)
            need(a, json_string_value(item));
        else if (json_is_object(item) || json_is_array(item))
            need_all(a, item);
    }
}

/* Nodes that an output depends on; those before a node come before it. */
static void find_needed(aten_program *p, const json_t *outputs)
{
    aten *a = &p->a;
    need_all(a, outputs);
    for (uint32_t i = a->call_count; i-- > 0;) {
        aten_call *c = &a->calls[i];
        c->needed |= changes_operand(c->op);
        size_t k;
        json_t *input;
        if (c->needed && aten_find_norm(a, c)) {
            need(a, c->norm.x);
            need(a, c->norm.weight);
        } else if (c->needed)
            json_array_foreach(json_object_get(c->json, "inputs"), k, input) need_all(a, json_object_get(input, "arg"));
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
    const json_t *made = json_object_get(a->call_of, name);
    bool viewed = made && is_view(a->calls[json_integer_value(made)].op);
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
    const json_t *first = json_object_get(json_array_get(json_object_get(a->at->json, "outputs"), 0), "as_tensor");
    const char *result = text_at(first, "name");
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
    int type = aten_read_meta(json_object_get(a->metas, name), &meta) ? meta.type : ATEN_F32;
    add_port(&p->outputs, &p->output_count, unique.data, type, &v);
    str_free(&unique);
    return n != 0;
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

static bool read_outputs(aten_program *p, const json_t *signature)
{
    aten *a = &p->a;
    size_t i;
    json_t *spec;
    json_array_foreach(json_object_get(signature, "output_specs"), i, spec)
    {
        const json_t *output = json_object_get(spec, "user_output"),
                     *changed = json_object_get(spec, "buffer_mutation");
        if (output) {
            if (!add_output(p, text_at(json_object_get(json_object_get(output, "arg"), "as_tensor"), "name")))
                return false;
        } else if (changed) {
            if (!add_store(p, text_at(changed, "buffer_name"), arg_name(changed)))
                return false;
        } else
            return err_set(a->e, "its signature has an output of a kind that is not supported");
    }
    json_array_foreach(json_object_get(signature, "input_specs"), i, spec)
    {
        const json_t *buffer = json_object_get(spec, "buffer");
        const char *name = arg_name(buffer);
        if (name && json_object_get(a->rebound, name) && !add_store(p, text_at(buffer, "buffer_name"), name))
            return false;
    }
    graph_find_unused(a->g);
    return p->output_count || err_set(a->e, "it has no output");
}

static void read_changes(aten *a, const json_t *outputs)
{
    size_t i;
    json_t *spec;
    json_array_foreach(outputs, i, spec)
    {
        const json_t *change = json_object_get(spec, "buffer_mutation");
        const char *buffer = text_at(change, "buffer_name"), *result = arg_name(change);
        if (buffer && result)
            json_object_set_new(a->changed_to, buffer, json_string(result));
    }
}

static bool read_program(aten_program *p, const json_t *module, aten_source source, void *user)
{
    aten *a = &p->a;
    const json_t *graph = json_object_get(module, "graph"), *signature = json_object_get(module, "signature");
    if (!json_is_object(graph) || !json_is_object(signature))
        return err_set(a->e, "it has no graph and signature");
    a->metas = json_object_get(graph, "tensor_values");
    read_changes(a, json_object_get(signature, "output_specs"));
    return read_calls(a, json_object_get(graph, "nodes")) && read_inputs(p, signature, source, user) &&
           (find_needed(p, json_object_get(signature, "output_specs")), lower_calls(a)) && read_outputs(p, signature) &&
           graph_ok(a->g, a->e);
}

aten_program *aten_program_new(const json_t *module, aten_source source, void *user, err *e)
{
    aten_program *p = mem_alloc(sizeof *p);
    aten *a = &p->a;
    *a = (aten){.e = &p->error,
                .value_of = json_object(),
                .call_of = json_object(),
                .rebound = json_object(),
                .changed_to = json_object(),
                .asked = json_object()};
    a->g = a->program_graph = graph_new();
    bool ok = read_program(p, module, source, user);
    if (!ok && p->error.kind == ERR_NONE && graph_ok(a->program_graph, a->e))
        err_set(a->e, "it cannot be lowered");
    json_decref(a->value_of);
    json_decref(a->call_of);
    json_decref(a->rebound);
    json_decref(a->changed_to);
    json_decref(a->asked);
    free(a->positions);
    free(a->values);
    a->value_of = a->call_of = a->rebound = a->changed_to = a->asked = NULL;
    a->positions = NULL;
    a->values = NULL;
    a->metas = NULL;
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
