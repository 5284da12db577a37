/* workgroup_fit: finds the form of a megakernel's kernels that fits workgroup memory. */
#include "graph/workgroup_fit.h"
#include "graph/run_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_X_FLOATS = 2048,     /* SHARED_X_MIN_WORDS of shared_x.wgsl */
    X_FLOATS_STEP = 128,       /* by which its arrays grow */
    MORE_THAN_ANY_X = 1 << 24, /* floats */
};

typedef struct fitting {
    const megakernel_source *megakernels;
    uint32_t count;
} fitting;

/* The most that any of the megakernels declares; UINT32_MAX if one is not possible for another reason. */
static uint32_t bytes_with(const fitting *f, const device_profile *t)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        megakernel_source from = f->megakernels[i];
        launch_form form = {.row_threads = t->row_threads};
        err unused = {0};
        uint32_t bytes;
        from.profile = t;
        if (!megakernel_workgroup_bytes(&from, &form, &bytes, &unused))
            return UINT32_MAX;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What the products of all megakernels need. */
typedef struct needs {
    uint32_t rows; /* products that have matmul_row.wgsl */
    uint32_t splits, at_once;
} needs;

static uint32_t constant_of(const kernel_variant *v, kernel_constant_name name)
{
    for (int i = 0; i < KERNEL_MAX_CONSTANTS && v->constants[i].name.text; i++)
        if (strcmp(v->constants[i].name.text, name.text) == 0)
            return v->constants[i].value;
    return 0;
}

static void add_needs(const dispatch_desc *d, needs *n)
{
    if (strncmp(d->kernel.name, "matmul_", 7) != 0)
        return;
    uint32_t at_once = constant_of(&d->kernel, CONSTANT_AT_ONCE), splits = 0;
    if (d->args[MATMUL_X_FORM] == X_SPLITS)
        splits = d->args[MATMUL_LENGTH] / d->args[MATMUL_HEAD_SIZE] * d->args[MATMUL_SPLITS];
    n->rows += strcmp(d->kernel.name, "matmul_row") == 0;
    n->at_once = at_once > n->at_once ? at_once : n->at_once;
    n->splits = splits > n->splits ? splits : n->splits;
}

static needs needs_with(const fitting *f, const device_profile *t)
{
    needs n = {.splits = 1, .at_once = 1};
    for (uint32_t i = 0; i < f->count; i++) {
        const megakernel_source *from = &f->megakernels[i];
        launch_form form = {.row_threads = t->row_threads, .threads = t->row_threads, .groups = t->busy_groups};
        lowered_plan l;
        err unused = {0};
        lower_plan(t, &form, from->m, from->which_plan, from->p, &l, &unused);
        for (uint32_t k = 0; k < l.count; k++)
            add_needs(&l.items[k], &n);
        lowered_plan_free(&l);
    }
    return n;
}

/* Gives x all that is left; false if not even the least is. */
static bool give_x_the_rest(const fitting *f, device_profile *t)
{
    t->x_floats = LEAST_X_FLOATS;
    uint32_t bytes = bytes_with(f, t);
    if (bytes > t->workgroup_bytes)
        return false;
    t->x_floats += (t->workgroup_bytes - bytes) / (uint32_t)sizeof(float) / X_FLOATS_STEP * X_FLOATS_STEP;
    while (t->x_floats > LEAST_X_FLOATS && bytes_with(f, t) > t->workgroup_bytes)
        t->x_floats -= X_FLOATS_STEP;
    return true;
}

/* With several texts x is as often as large: the more of it there is room for, the fewer segments it has. Products by
 * matrix units have memory of their own for it, and are left out where that does not fit. */
static void fit_slots(const fitting *f, device_profile *profile)
{
    device_profile most = *profile;
    most.slots_fit = true;
    bool fits = give_x_the_rest(f, &most);
    if (!fits && profile->matrix_texts) {
        profile->matrix_texts = most.matrix_texts = 0;
        fits = give_x_the_rest(f, &most);
    }
    if (fits && (most.x_floats > profile->x_floats || bytes_with(f, profile) > profile->workgroup_bytes))
        *profile = most;
}

void workgroup_fit(device_profile *profile, const megakernel_source *megakernels, uint32_t count)
{
    fitting f = {megakernels, count};
    bool slots = true;
    for (uint32_t i = 0; i < count; i++)
        slots = slots && megakernels[i].p->slots;
    if (profile->specialize && count && slots)
        fit_slots(&f, profile);
    device_profile roomy = *profile, best = *profile;
    if (!profile->specialize || !count)
        return;
    roomy.x_floats = MORE_THAN_ANY_X;
    needs most = needs_with(&f, &roomy);
    uint32_t bytes = bytes_with(&f, profile), best_rows = needs_with(&f, profile).rows;
    bool fits = bytes <= profile->workgroup_bytes;
    if (bytes == UINT32_MAX || (fits && best_rows == most.rows))
        return;
    for (int form = 0; form < 3; form++) {
        device_profile tight = *profile;
        tight.tight = true;
        tight.max_splits = most.splits;
        tight.max_at_once = most.at_once;
        tight.one_sum_buffer = form >= 1;
        tight.vec_only = form == 2;
        bool possible = give_x_the_rest(&f, &tight);
        uint32_t rows = possible ? needs_with(&f, &tight).rows : 0;
        if (!fits || (possible && rows > best_rows)) {
            fits = possible;
            best = tight;
            best_rows = rows;
        }
    }
    *profile = best;
}

/* ---- of a run ------------------------------------------------------------------- */

/* Could it be a megakernel: does it work on one row, as those do that decode, or on a row of each text? */
static bool is_decoding(const plan *p)
{
    bool products = false;
    if (p->slots)
        return true;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->steps[i].op == OP_MATMUL) {
            products = true;
            if (plan_rows(p, &p->steps[i]) != 1)
                return false;
        }
    return products;
}

/* Without a megakernel among the programs, those count that could be one: so that they compute the same numbers. */
void run_fit_workgroup_memory(graph_run *r)
{
    megakernel_source *sources = mem_alloc((r->count + 1) * sizeof *sources);
    uint32_t count = 0;
    bool persistent = false;
    for (uint32_t i = 0; i < r->count; i++)
        persistent |= r->programs[i].level >= LEVEL_TOKEN;
    for (uint32_t i = 0; i < r->count; i++)
        if (persistent ? r->programs[i].level >= LEVEL_TOKEN
                       : r->programs[i].level == LEVEL_OPS && is_decoding(r->plans[i]))
            sources[count++] = (megakernel_source){.g = r->g, .m = r->m, .which_plan = i, .p = r->plans[i]};
    workgroup_fit(&r->profile, sources, count);
    free(sources);
}
