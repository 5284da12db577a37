/* Lowering the steps of a plan, one or all. */
#include "base/str.h"
#include "graph/lower_internal.h"

#include <stdlib.h>

uint32_t lower_step(const device_profile *t, const launch_form *form, const memory *m, uint32_t which_plan,
                    const plan *p, const plan_step *s, dispatch_desc *l, err *e)
{
    lowering c = {t, form, m, which_plan, p, NULL};
    bool *halves = lower_find_halves(&c);
    c.halves = halves;
    uint32_t count = lower_step_of(&c, s, l, e);
    free(halves);
    return count;
}

bool lower_plan(const device_profile *t, const launch_form *form, const memory *m, uint32_t which_plan, const plan *p,
                lowered_plan *out, err *e)
{
    lowering c = {t, form, m, which_plan, p, NULL};
    bool *halves = lower_find_halves(&c), ok = true;
    c.halves = halves;
    uint32_t capacity = p->count + LOWER_MAX_DISPATCHES;
    *out = (lowered_plan){mem_alloc(capacity * sizeof *out->items), mem_alloc(capacity * sizeof *out->steps), 0};
    for (uint32_t i = 0; ok && i < p->count; i++) {
        if (capacity - out->count < LOWER_MAX_DISPATCHES) {
            capacity *= 2;
            out->items = mem_grow(out->items, capacity * sizeof *out->items);
            out->steps = mem_grow(out->steps, capacity * sizeof *out->steps);
        }
        uint32_t count = lower_step_of(&c, &p->steps[i], &out->items[out->count], e);
        ok = count > 0;
        for (uint32_t k = 0; k < count; k++)
            out->steps[out->count++] = i;
    }
    free(halves);
    return ok;
}

void lowered_plan_free(lowered_plan *l)
{
    free(l->items);
    free(l->steps);
    *l = (lowered_plan){0};
}

uint32_t lower_largest_head(const lowering *c)
{
    uint32_t largest = 0;
    for (node i = 1; i <= graph_count(c->p->g); i++)
        if (node_at(c, i)->op == OP_ATTENTION) {
            uint32_t size = node_at(c, node_at(c, i)->operands[0])->s.dims[3];
            largest = size > largest ? size : largest;
        }
    return largest;
}
