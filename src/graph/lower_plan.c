/* Lowering all steps of a plan. */
#include "base/str.h"
#include "graph/lower.h"

#include <stdlib.h>

bool lower_plan(const device_profile *t, const launch_form *form, const memory *m, uint32_t which_plan, const plan *p,
                lowered_plan *out, err *e)
{
    uint32_t capacity = p->count + LOWER_MAX_DISPATCHES;
    *out = (lowered_plan){mem_alloc(capacity * sizeof *out->items), mem_alloc(capacity * sizeof *out->steps), 0};
    for (uint32_t i = 0; i < p->count; i++) {
        if (capacity - out->count < LOWER_MAX_DISPATCHES) {
            capacity *= 2;
            out->items = mem_grow(out->items, capacity * sizeof *out->items);
            out->steps = mem_grow(out->steps, capacity * sizeof *out->steps);
        }
        uint32_t count = lower_step(t, form, m, which_plan, p, &p->steps[i], &out->items[out->count], e);
        if (!count)
            return false;
        for (uint32_t k = 0; k < count; k++)
            out->steps[out->count++] = i;
    }
    return true;
}

void lowered_plan_free(lowered_plan *l)
{
    free(l->items);
    free(l->steps);
    *l = (lowered_plan){0};
}
