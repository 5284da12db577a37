/* The kernels of a megakernel's phases, and the table of their arguments. */
#include "graph/megakernel_phases.h"
#include "base/str.h"
#include "graph/megakernel_schedule.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)MEGAKERNEL_ARG_WORDS == (int)LOWER_ARG_WORDS, "all arguments that kernels have");

/* ---- layers of one length ---------------------------------------------------------- */

static bool is_same_file(const dispatch_desc *a, const dispatch_desc *b)
{
    return strcmp(a->kernel.name, b->kernel.name) == 0;
}

/* How many places the text would have if kernels from one file may stand at one. */
static uint32_t sites_by_file(const lowered_plan *plan)
{
    uint32_t *kinds = mem_alloc((plan->count + 1) * sizeof *kinds);
    for (uint32_t p = 0; p < plan->count; p++)
        while (!is_same_file(&plan->items[kinds[p]], &plan->items[p]))
            kinds[p]++;
    uint32_t sites = schedule_sites(kinds, plan->count);
    free(kinds);
    return sites;
}

/* The end of the layer that begins with phase `from`: a layer ends with its attention, what follows is the next one's. */
static uint32_t end_of_layer(const lowered_plan *plan, uint32_t from)
{
    while (from < plan->count && strcmp(plan->items[from].kernel.name, "attention_vec") != 0 &&
           strcmp(plan->items[from].kernel.name, "op_attention") != 0)
        from++;
    return from < plan->count ? from + 1 : 0;
}

/* Copies a phase; one that is not there is a phase without workgroups. */
static void copy_phase(lowered_plan *to, const lowered_plan *from, uint32_t phase, uint32_t step, bool is_there)
{
    to->items[to->count] = from->items[phase];
    to->steps[to->count] = from->steps[step];
    if (!is_there)
        to->items[to->count].args[ARG_GROUPS] = 0;
    to->count++;
}

/* Copies phases from ... end - 1, which are some of those that the longest layer has, from `longest` on; false if they are
 * not. */
static bool copy_layer(lowered_plan *to, const lowered_plan *plan, uint32_t from, uint32_t end, uint32_t longest,
                       uint32_t longest_end)
{
    for (uint32_t p = longest; p < longest_end && from < end; p++) {
        bool is_there = is_same_file(&plan->items[from], &plan->items[p]);
        copy_phase(to, plan, is_there ? from : p, from, is_there);
        from += is_there;
    }
    return from == end;
}

void phases_align(lowered_plan *plan)
{
    uint32_t first = end_of_layer(plan, 0), longest = 0, longest_end = 0, layers = 0;
    for (uint32_t from = first, end; from && (end = end_of_layer(plan, from)) > 0; from = end, layers++)
        if (end - from > longest_end - longest) {
            longest = from;
            longest_end = end;
        }
    if (layers < 2)
        return;
    size_t most = plan->count + (size_t)layers * (longest_end - longest);
    lowered_plan even = {mem_alloc(most * sizeof *even.items), mem_alloc(most * sizeof *even.steps), 0};
    bool ok = true;
    uint32_t from = 0;
    while (from < first) {
        copy_phase(&even, plan, from, from, true);
        from++;
    }
    for (uint32_t end; ok && (end = end_of_layer(plan, from)) > 0; from = end)
        ok = copy_layer(&even, plan, from, end, longest, longest_end);
    for (; ok && from < plan->count; from++)
        copy_phase(&even, plan, from, from, true);
    uint32_t sites = ok ? sites_by_file(&even) : UINT32_MAX;
    if (sites <= SCHEDULE_MAX_SITES && sites < sites_by_file(plan)) {
        lowered_plan before = *plan;
        *plan = even;
        even = before;
    }
    lowered_plan_free(&even);
}

/* ---- kernels ------------------------------------------------------------------------ */

/* The number of a phase's kernel; their count if it is not among them. */
static uint32_t kernel_of(const phase_kernels *k, const dispatch_desc *d)
{
    kernel_variant v = d->kernel;
    uint32_t i = 0;
    kernel_set_constant(&v, CONSTANT_THREADS, k->threads);
    while (i < k->count &&
           (k->items[i].weight_arena != d->weight_arena || !kernel_same_variant(&k->items[i].kernel, &v)))
        i++;
    return i;
}

/* The first kernel that differs from kernel i in nothing but the buffer of weights that it reads. */
static uint32_t kind_of(const phase_kernels *k, uint32_t i)
{
    uint32_t first = 0;
    while (!kernel_same_variant(&k->items[first].kernel, &k->items[i].kernel))
        first++;
    return first;
}

/* Does argument w depend on the number of workgroups? */
static bool depends_on_groups(const dispatch_desc *d, uint32_t w)
{
    return w < 32 && d->depends_on_groups >> w & 1;
}

/* Which kernels there are, and which of their arguments are not always the same. */
static bool add_phases(phase_kernels *k, const lowered_plan *plan, uint32_t groups, err *e)
{
    k->phases = plan->count;
    k->of_phase = mem_alloc((plan->count + 1) * sizeof *k->of_phase);
    k->kind_of = mem_alloc((plan->count + 1) * sizeof *k->kind_of);
    for (uint32_t p = 0; p < plan->count; p++) {
        const dispatch_desc *d = &plan->items[p];
        uint32_t i = kernel_of(k, d);
        if (d->state_arena)
            return err_set(e, "one dispatch binds one buffer of states, and this model has more");
        if (i == MEGAKERNEL_MAX_KERNELS)
            return err_set(e, "one dispatch of more than %d kernels", MEGAKERNEL_MAX_KERNELS);
        phase_kernel *kernel = &k->items[i];
        if (i == k->count) {
            k->count++;
            *kernel = (phase_kernel){.kernel = d->kernel,
                                     .weight_arena = d->weight_arena,
                                     .single_pass = true,
                                     .epoch_only = true,
                                     .warms_cache = true};
            kernel_set_constant(&kernel->kernel, CONSTANT_THREADS, k->threads);
            memcpy(kernel->words, d->args, sizeof kernel->words);
        }
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++)
            kernel->slots[w] |= kernel->words[w] != d->args[w] || depends_on_groups(d, w);
        if (d->kernel.type && d->weight_arena >= k->arenas)
            k->arenas = d->weight_arena + 1;
        if (d->kernel.matrix && d->weight_arena >= k->half_arenas)
            k->half_arenas = d->weight_arena + 1;
        kernel->single_pass &= d->single_pass || d->args[ARG_GROUPS] <= groups;
        kernel->epoch_only &= d->epoch_only;
        kernel->warms_cache &= d->warms_cache;
        k->polls_epoch &= d->polls_epoch;
        k->of_phase[p] = i;
        k->kind_of[p] = kind_of(k, i);
    }
    return true;
}

/* Layers that differ (in windows, rotations, or the types of their weights) have other kernels at the same place. If the
 * loop is shorter or longer lasting when kernels from one file count as the same, they do. */
static void widen_kinds(phase_kernels *k)
{
    uint32_t *kinds = mem_alloc((k->phases + 1) * sizeof *kinds);
    for (uint32_t p = 0; p < k->phases; p++) {
        uint32_t first = 0;
        while (strcmp(k->items[first].kernel.name, k->items[k->of_phase[p]].kernel.name) != 0)
            first++;
        kinds[p] = first;
    }
    if (schedule_sites(kinds, k->phases) < schedule_sites(k->kind_of, k->phases))
        memcpy(k->kind_of, kinds, k->phases * sizeof *kinds);
    free(kinds);
}

/* Does a kernel have one phase in each iteration of the loop, and none elsewhere? */
static bool is_per_iteration(const phase_kernels *k, const lowered_plan *plan, uint32_t kernel, schedule_loop l,
                             uint32_t *first)
{
    uint32_t count = 0;
    bool same_size = true; /* as the first, which tells it for all */
    *first = k->phases;
    for (uint32_t p = 0; p < k->phases; p++)
        if (k->of_phase[p] == kernel) {
            count++;
            *first = p < *first ? p : *first;
            same_size = same_size && plan->items[p].args[ARG_GROUPS] == plan->items[*first].args[ARG_GROUPS];
        }
    return l.times > 1 && count == l.times && *first >= l.first && *first < l.first + l.period &&
           k->of_phase[*first + l.period] == kernel && same_size;
}

/* Arguments of such a kernel that grow by the same in each iteration, as the places of layers' weights do, need not be looked
 * up; those that depend on the number of workgroups are the same in each. */
static void find_strides(phase_kernels *k, const lowered_plan *plan)
{
    schedule_loop l = schedule_find_loop(k->kind_of, k->phases);
    if (!schedule_possible(k->kind_of, k->phases))
        return;
    for (uint32_t i = 0; i < k->count; i++) {
        phase_kernel *kernel = &k->items[i];
        uint32_t first;
        if (!is_per_iteration(k, plan, i, l, &first))
            continue;
        kernel->per_iteration = true;
        kernel->first_phase = first;
        kernel->period = l.period;
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++) {
            const dispatch_desc *d = &plan->items[first];
            uint32_t stride = d[l.period].args[w] - d[0].args[w];
            bool even = true;
            for (uint32_t time = 1; time < l.times; time++)
                even = even && d[time * l.period].args[w] == d[0].args[w] + time * stride;
            kernel->depends_on_groups[w] = depends_on_groups(d, w) && even && stride == 0;
            if (kernel->slots[w] && !kernel->depends_on_groups[w] && even) {
                kernel->slots[w] = 0;
                kernel->strides[w] = stride;
            }
        }
    }
}

/* A row has all arguments there can be, each at its own place; or only those that vary. */
static void number_slots(phase_kernels *k)
{
    uint32_t most = MEGAKERNEL_FIRST_SLOT + (k->compact ? MEGAKERNEL_ARG_WORDS : 0);
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t next = MEGAKERNEL_FIRST_SLOT;
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++)
            if (k->items[i].slots[w])
                k->items[i].slots[w] = k->compact ? MEGAKERNEL_FIRST_SLOT + w : next++;
        most = next > most ? next : most;
    }
    k->row_words = (most + 3) / 4 * 4;
}

bool phase_kernels_find(phase_kernels *k, const device_profile *profile, const launch_form *form,
                        const lowered_plan *plan, err *e)
{
    *k = (phase_kernels){
        .arenas = 1, .threads = form->threads, .compact = profile->compile_fast, .polls_epoch = profile->epoch_bit};
    if (!add_phases(k, plan, form->groups, e))
        return false;
    if (!k->compact) {
        widen_kinds(k);
        find_strides(k, plan);
    }
    number_slots(k);
    return true;
}

void phase_kernels_free(phase_kernels *k)
{
    free(k->of_phase);
    free(k->kind_of);
    k->of_phase = k->kind_of = NULL;
}

uint64_t phase_table_bytes(const phase_kernels *k)
{
    return (uint64_t)k->phases * k->row_words * sizeof(uint32_t);
}

static uint32_t iteration_of(const phase_kernel *k, uint32_t phase)
{
    return k->per_iteration ? (phase - k->first_phase) / k->period : 0;
}

/* False if an argument is not the one that is part of the kernel. */
static bool fill_row(const phase_kernels *k, const phase_kernel *kernel, const dispatch_desc *d, uint32_t phase,
                     uint32_t *row)
{
    bool same = true;
    if (k->compact)
        memcpy(row + MEGAKERNEL_FIRST_SLOT, d->args, sizeof d->args);
    for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++)
        if (kernel->slots[w])
            row[kernel->slots[w]] = d->args[w];
        else
            same = same && d->args[w] == kernel->words[w] + iteration_of(kernel, phase) * kernel->strides[w];
    return same;
}

uint32_t *phase_table(const phase_kernels *k, const lowered_plan *plan)
{
    uint32_t *table = mem_alloc(phase_table_bytes(k)), *row = table;
    bool ok = plan->count == k->phases;
    for (uint32_t p = 0; ok && p < k->phases; p++, row += k->row_words) {
        const dispatch_desc *d = &plan->items[p];
        uint32_t i = kernel_of(k, d);
        ok = i < k->count && fill_row(k, &k->items[i], d, p, row);
        row[0] = d->args[ARG_GROUPS];
        row[1] = i;
    }
    if (ok)
        return table;
    free(table);
    return NULL;
}
