/* A plan as JSON: every step, nothing folded. */
#include "base/jsonw.h"
#include "lab/explain.h"

static void write_numbers(const explain *x, const explained_step *s, jsonw *j)
{
    jsonw_count(j, "dispatches", s->dispatches);
    jsonw_count(j, "weight_bytes", s->cost.weight_bytes);
    jsonw_count(j, "state_bytes", s->cost.state_bytes);
    jsonw_count(j, "activation_bytes", s->cost.activation_bytes);
    jsonw_count(j, "flops", s->cost.flops);
    if (s->limit_us > 0)
        jsonw_number(j, "limit_us", s->limit_us);
    else
        jsonw_null(j, "limit_us");
    if (x->timed)
        jsonw_number(j, "time_us", s->time_us);
}

static void write_step(const explain *x, uint32_t i, jsonw *j)
{
    const explained_step *s = &x->after.steps[i];
    const plan *p = x->after.p;
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_nodes(p, &p->steps[i], nodes);
    jsonw_object(j, NULL);
    jsonw_flat(j);
    jsonw_text(j, "kernel", s->kernel);
    jsonw_text(j, "what", s->what);
    jsonw_array(j, "nodes");
    for (uint32_t k = 0; k < count; k++)
        jsonw_text(j, NULL, graph_op_names[graph_at(p->g, nodes[k])->op]);
    jsonw_end(j);
    jsonw_text(j, "shape", s->shape);
    write_numbers(x, s, j);
    if (s->limit_us > 0)
        jsonw_text(j, "bound_by", s->by_operations ? "operations" : "bytes");
    jsonw_end(j);
}

void explain_json(const explain *x, str *out)
{
    jsonw j = jsonw_to(out);
    jsonw_object(&j, NULL);
    jsonw_text(&j, "model", x->model);
    jsonw_text(&j, "level", fusion_names[x->o.level]);
    jsonw_count(&j, "rows", x->o.rows);
    jsonw_count(&j, "depth", x->o.depth);
    jsonw_count(&j, "context", x->o.context_tok);
    if (x->o.gbps > 0)
        jsonw_number(&j, "gbps", x->o.gbps);
    else
        jsonw_null(&j, "gbps");
    jsonw_count(&j, "operators", x->before.p->count);
    jsonw_array(&j, "passes");
    for (int pass = 0; x->o.level != LEVEL_NONE && pass < PASS_COUNT; pass++) {
        jsonw_object(&j, NULL);
        jsonw_flat(&j);
        jsonw_text(&j, "name", pass_names[pass]);
        jsonw_count(&j, "removed", x->removed[pass]);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_array(&j, "steps");
    for (uint32_t i = 0; i < x->after.p->count; i++)
        write_step(x, i, &j);
    jsonw_end(&j);
    jsonw_object(&j, "totals");
    jsonw_count(&j, "steps", x->after.p->count);
    explained_step total = explain_total(&x->after, NULL);
    write_numbers(x, &total, &j);
    if (x->waiting_us > 0)
        jsonw_number(&j, "waiting_us", x->waiting_us);
    jsonw_end(&j);
    jsonw_end(&j);
}
