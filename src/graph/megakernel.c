/* Making a megakernel: its module, its buffers, its workgroups; and dispatching it. */
#include "graph/megakernel.h"
#include "base/str.h"
#include "graph/megakernel_phases.h"
#include "graph/megakernel_schedule.h"
#include "graph/megakernel_test.h"
#include "graph/workgroup_bytes.h"
#include "launch/persistent.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ASKED_GROUPS = 4096, /* more than any GPU has at a time; software has some */
    MOST_ASKED_OF_SOFTWARE = 64,
    PORTABLE_THREADS = 256, /* what every device has */
    MAX_GROUPS = 2048,      /* that are looked for */
};

/* As in kernels/include/megakernel.wgsl. */
typedef struct megakernel_params {
    launch_params launch;
    uint32_t phases, rounds, token, stop_count, stops[MEGAKERNEL_MAX_STOPS];
} megakernel_params;

struct megakernel {
    megakernel_source from;
    launch_form form;
    lowered_plan plan;
    phase_kernels kernels;
    bool single;        /* one workgroup, which needs no atomics */
    bool fixed_groups;  /* the number was set by hand, resident or not */
    bool epoch_marked;  /* floats carry an epoch bit that all readers poll */
    bool uniform_table; /* the table fits a uniform buffer, which is read faster */
    bool one_view;      /* there are too many buffers of weights to bind each of them twice */
    uint64_t text_hash;
    bool in_background;  /* kernels are made ahead, */
    gpu_kernel *awaited; /* and this one is needed next; NULL: none */
    uint32_t most_groups, tries;
    uint32_t workgroup_bytes; /* that the text declares */
    gpu_kernel *kernel;
    gpu_bindings *bindings;
    gpu_buffer *table, *params_buffer, *grid;
    megakernel_params params;
    uint32_t *rows; /* the table */
};

static persistent persistent_of(const megakernel *o)
{
    return (persistent){
        .g = o->from.g, .kernel = o->kernel, .bindings = o->bindings, .params = o->params_buffer, .grid = o->grid};
}

static void write_params(megakernel *o)
{
    gpu_write(o->from.g, o->params_buffer, 0, &o->params, sizeof o->params);
}

/* ---- the kernel ----------------------------------------------------------------- */

static bool lower(megakernel *o, err *e)
{
    lowered_plan_free(&o->plan);
    if (!lower_plan(o->from.profile, &o->form, o->from.m, o->from.which_plan, o->from.p, &o->plan, e))
        return false;
    if (!o->from.profile->compile_fast)
        phases_align(&o->plan);
    return true;
}

/* How often weights can be bound beside the other buffers. */
static uint32_t max_weight_bindings(const gpu_info *info, bool uniform_table)
{
    uint32_t others = uniform_table ? 3 : 4, most = GPU_MAX_BINDINGS - MEGAKERNEL_BINDINGS;
    uint32_t here = info->max_storage_buffers > others ? info->max_storage_buffers - others : 0;
    return here < most ? here : most;
}

/* Whether they are resident or not; more would only wait for each other until they time out. */
static uint32_t most_asked_groups(const device_profile *profile)
{
    return profile->specialize ? MOST_ASKED_GROUPS : MOST_ASKED_OF_SOFTWARE;
}

/* The kernels of the phases for the form at hand. */
static bool find_kernels(megakernel *o, err *e)
{
    const gpu_info *info = gpu_get_info(o->from.g);
    phase_kernels *k = &o->kernels;
    phase_kernels_free(k);
    uint32_t most_asked = most_asked_groups(o->from.profile);
    if (launch_setting("SOLO_ONE_GROUPS", 0) > most_asked)
        return err_set(e, "SOLO_ONE_GROUPS asks for more than %u workgroups", most_asked);
    if (!lower(o, e) || !phase_kernels_find(k, o->from.profile, &o->form, &o->plan, e))
        return false;
    o->uniform_table = phase_table_bytes(k) <= info->max_uniform_binding_bytes;
    o->epoch_marked = !o->single && k->polls_epoch && schedule_possible(k->kind_of, k->phases);
    uint32_t most = max_weight_bindings(info, o->uniform_table);
    o->one_view = 2 * k->arenas + k->half_arenas > most;
    return k->arenas + k->half_arenas <= most ||
           err_set(e, "one dispatch binds %u buffers of weights on this device, and this model has %u", most,
                   k->arenas + k->half_arenas);
}

static uint32_t weight_views(const megakernel *o)
{
    return (o->one_view ? 1 : 2) * o->kernels.arenas;
}

static uint32_t binding_count(const megakernel *o)
{
    return MEGAKERNEL_BINDINGS + weight_views(o) + o->kernels.half_arenas;
}

static gpu_source *make_text(megakernel *o)
{
    const phase_kernels *k = &o->kernels;
    gpu_source *source = megakernel_link(&(megakernel_module){.kernels = k->items,
                                                              .kernel_count = k->count,
                                                              .arenas = k->arenas,
                                                              .half_arenas = k->half_arenas,
                                                              .one_view = o->one_view,
                                                              .single = o->single,
                                                              .epoch_marked = o->epoch_marked,
                                                              .compact = k->compact,
                                                              .row_words = k->row_words,
                                                              .phase_kernels = k->of_phase,
                                                              .phase_kinds = k->kind_of,
                                                              .phases = k->phases,
                                                              .uniform_table = o->uniform_table});
    o->text_hash = str_hash(STR_HASH_BEGIN, source->wgsl, strlen(source->wgsl));
    o->workgroup_bytes = workgroup_bytes(source->wgsl);
    return source;
}

/* NULL with an error if the device has too little workgroup memory for it. */
static gpu_kernel *make_kernel(megakernel *o, bool ahead, err *e)
{
    uint32_t most = gpu_workgroup_bytes(gpu_get_info(o->from.g));
    gpu_source *source = make_text(o);
    if (o->workgroup_bytes > most) {
        err_set(e, "one dispatch of this model needs %u bytes of workgroup memory, and this device has %u",
                o->workgroup_bytes, most);
        kernel_text_free(source);
        return NULL;
    }
    gpu_kernel_desc desc = {.source = source,
                            .entry = "main",
                            .workgroup_size = o->form.threads,
                            .ahead = ahead,
                            .binding_count = binding_count(o),
                            .bindings = {o->uniform_table ? GPU_BIND_UNIFORM : GPU_BIND_READ, GPU_BIND_WRITE,
                                         GPU_BIND_WRITE, GPU_BIND_UNIFORM, GPU_BIND_WRITE}};
    gpu_kernel *kernel = gpu_kernel_new(o->from.g, &desc);
    kernel_text_free(source);
    return kernel;
}

static gpu_bindings *bind(const megakernel *o)
{
    const memory *m = o->from.m;
    gpu_part parts[GPU_MAX_BINDINGS] = {{.buffer = o->table},
                                        {.buffer = memory_activations(m)},
                                        {.buffer = memory_states(m, 0)},
                                        {.buffer = o->params_buffer},
                                        {.buffer = o->grid}};
    uint32_t views = weight_views(o), each = o->one_view ? 1 : 2;
    for (uint32_t i = 0; i < views + o->kernels.half_arenas; i++)
        parts[MEGAKERNEL_BINDINGS + i].buffer = memory_weights(m, i < views ? i / each : i - views);
    return gpu_bindings_new(o->from.g, o->kernel, parts, binding_count(o));
}

static void free_dispatch(megakernel *o)
{
    gpu_bindings_free(o->bindings);
    gpu_kernel_free(o->kernel);
    gpu_buffer_free(o->table);
    gpu_buffer_free(o->params_buffer);
    gpu_buffer_free(o->grid);
    o->bindings = NULL;
    o->kernel = NULL;
    o->table = o->params_buffer = o->grid = NULL;
}

/* The kernel and its bindings. */
static bool make_dispatch(megakernel *o, err *e)
{
    gpu *g = o->from.g;
    free_dispatch(o);
    if (!find_kernels(o, e))
        return false;
    o->kernel = make_kernel(o, false, e);
    if (!o->kernel)
        return false;
    o->table = gpu_buffer_new(g, phase_table_bytes(&o->kernels), o->uniform_table ? GPU_USE_UNIFORM : GPU_USE_STORAGE);
    o->params_buffer = gpu_buffer_new(g, sizeof o->params, GPU_USE_UNIFORM);
    o->grid = gpu_buffer_new(g, GRID_WORDS * sizeof(uint32_t), GPU_USE_STORAGE);
    o->bindings = bind(o);
    return gpu_ok(g, e);
}

/* ---- how many workgroups --------------------------------------------------------- */

/* The number of workgroups of this very kernel that are resident, up to `most` (0: all), if the litmus test passes with
 * them. */
static bool find_groups(megakernel *o, uint32_t most, uint32_t *groups, err *e)
{
    persistent p = persistent_of(o);
    *groups = o->form.groups;
    if (o->single || o->fixed_groups)
        return true;
    if (!persistent_count_resident(&p, MAX_GROUPS, groups, e))
        return false;
    *groups = most && most < *groups ? most : *groups;
    return persistent_certify(o->from.g, *groups, o->form.threads, e);
}

/* The table for this number of workgroups; false if they need another kernel. */
static bool write_table(megakernel *o, err *e)
{
    free(o->rows);
    o->rows = lower(o, e) ? phase_table(&o->kernels, &o->plan) : NULL;
    if (o->rows)
        gpu_write(o->from.g, o->table, 0, o->rows, phase_table_bytes(&o->kernels));
    return o->rows;
}

/* Starts compiling the kernel for the form at hand. If there is none, make_dispatch says why. */
static void request_kernel(megakernel *o)
{
    err unused = {0};
    o->awaited = find_kernels(o, &unused) ? make_kernel(o, true, &unused) : NULL;
}

/* The kernel depends on the number of workgroups, and how many are resident is known only once it is compiled: if they
 * are fewer, or need another kernel, it is compiled once more. */
static megakernel_state make_for_groups(megakernel *o, err *e)
{
    enum { TRIES = 4 };
    uint32_t made_for = o->form.groups, groups;
    if (o->tries++ == TRIES) {
        err_set(e, "the number of workgroups of one dispatch does not converge");
        return MEGAKERNEL_FAILED;
    }
    if (!make_dispatch(o, e) || !find_groups(o, o->most_groups, &groups, e))
        return MEGAKERNEL_FAILED;
    o->form.groups = groups;
    bool fits = write_table(o, e);
    if (e->kind != ERR_NONE)
        return MEGAKERNEL_FAILED;
    return groups >= made_for && fits ? MEGAKERNEL_READY : MEGAKERNEL_COMPILING;
}

static uint32_t fewer_of(uint32_t a, uint32_t most)
{
    return most && most < a ? most : a;
}

static void set_up(megakernel *o, const megakernel_source *from, const launch_form *wanted)
{
    const device_profile *profile = from->profile;
    uint32_t asked = fewer_of(launch_setting("SOLO_ONE_GROUPS", 0), most_asked_groups(profile));
    *o = (megakernel){.from = *from, .most_groups = wanted->groups};
    o->fixed_groups = asked > 0;
    /* Software devices run few workgroups at a time, and each well enough: one is safe everywhere. */
    o->single = asked == 1 || (!profile->specialize && !asked);
    o->form = (launch_form){.row_threads = wanted->row_threads,
                            .threads = profile->specialize ? wanted->row_threads : PORTABLE_THREADS,
                            .groups = o->single ? 1
                                      : asked   ? asked
                                                : fewer_of(profile->busy_groups, wanted->groups)};
}

static void tear_down(megakernel *o)
{
    free_dispatch(o);
    lowered_plan_free(&o->plan);
    phase_kernels_free(&o->kernels);
    free(o->rows);
}

uint64_t megakernel_look_ahead(const megakernel_source *from, const launch_form *wanted, bool compile)
{
    megakernel *o = mem_alloc(sizeof *o);
    err unused = {0};
    set_up(o, from, wanted);
    if (find_kernels(o, &unused)) {
        if (compile)
            gpu_kernel_free(make_kernel(o, true, &unused));
        else
            kernel_text_free(make_text(o));
    }
    uint64_t hash = o->text_hash;
    tear_down(o);
    free(o);
    return hash;
}

megakernel_state megakernel_go_on(megakernel *o, err *e)
{
    err why = {0};
    if (o->awaited && !gpu_kernel_is_ready(o->awaited))
        return MEGAKERNEL_COMPILING;
    megakernel_state state = make_for_groups(o, &why);
    if (state == MEGAKERNEL_FAILED)
        err_set_kind(e, why.kind, "%s", why.text);
    if (state == MEGAKERNEL_COMPILING && o->in_background)
        request_kernel(o);
    if (state == MEGAKERNEL_READY) {
        o->params = (megakernel_params){.launch = {.spin_limit = persistent_spin_limit(o->from.g, "SOLO_ONE_LOOKS"),
                                                   .stall = launch_setting("SOLO_ONE_STALL", 0),
                                                   .polls_epoch = 1},
                                        .phases = o->plan.count,
                                        .rounds = 1};
        write_params(o);
    }
    return state;
}

megakernel *megakernel_begin(const megakernel_source *from, const launch_form *wanted)
{
    megakernel *o = mem_alloc(sizeof *o);
    set_up(o, from, wanted);
    o->in_background = true;
    request_kernel(o);
    return o;
}

void megakernel_wait(megakernel *o)
{
    o->in_background = false;
    o->awaited = NULL;
}

bool megakernel_workgroup_bytes(const megakernel_source *from, const launch_form *wanted, uint32_t *bytes, err *e)
{
    megakernel *o = mem_alloc(sizeof *o);
    set_up(o, from, wanted);
    bool ok = find_kernels(o, e);
    if (ok)
        kernel_text_free(make_text(o));
    *bytes = o->workgroup_bytes;
    tear_down(o);
    free(o);
    return ok;
}

megakernel *megakernel_new(const megakernel_source *from, const launch_form *wanted, err *e)
{
    megakernel *o = mem_alloc(sizeof *o);
    megakernel_state state;
    set_up(o, from, wanted);
    do
        state = megakernel_go_on(o, e);
    while (state == MEGAKERNEL_COMPILING);
    if (state == MEGAKERNEL_READY)
        return o;
    megakernel_free(o);
    return NULL;
}

void megakernel_free(megakernel *o)
{
    if (!o)
        return;
    tear_down(o);
    free(o);
}

/* ---- looking at it ---------------------------------------------------------------- */

gpu_kernel *megakernel_kernel(const megakernel *o)
{
    return o->kernel;
}

gpu_bindings *megakernel_bindings(const megakernel *o)
{
    return o->bindings;
}

const launch_form *megakernel_form(const megakernel *o)
{
    return &o->form;
}

uint32_t megakernel_phase_count(const megakernel *o)
{
    return o->plan.count;
}

const kernel_variant *megakernel_phase_kernel(const megakernel *o, uint32_t phase)
{
    return &o->plan.items[phase].kernel;
}

uint32_t megakernel_phase_step(const megakernel *o, uint32_t phase)
{
    return o->plan.steps[phase];
}

uint64_t megakernel_text_hash(const megakernel *o)
{
    return o->text_hash;
}

int megakernel_kernel_count(const megakernel *o)
{
    return (int)o->kernels.count;
}

int megakernel_kernel_of(const megakernel *o, uint32_t phase)
{
    return (int)o->kernels.of_phase[phase];
}

/* ---- running it ------------------------------------------------------------------- */

void megakernel_forget(megakernel *o)
{
    persistent p = persistent_of(o);
    if (!o->epoch_marked)
        return;
    memory_clear_made(o->from.m, o->from.which_plan);
    persistent_reset(&p);
}

void megakernel_dispatch(megakernel *o)
{
    gpu_launch(o->from.g, o->kernel, o->bindings, o->form.groups);
}

void megakernel_set_rounds(megakernel *o, uint32_t rounds)
{
    o->params.rounds = rounds;
    write_params(o);
}

void megakernel_set_stops(megakernel *o, uint32_t place, const uint32_t *stops, uint32_t count)
{
    o->params.token = place;
    o->params.stop_count = count < MEGAKERNEL_MAX_STOPS ? count : MEGAKERNEL_MAX_STOPS;
    memcpy(o->params.stops, stops, o->params.stop_count * sizeof *stops);
    write_params(o);
}

void megakernel_set_stall(megakernel *o, uint32_t barrier)
{
    enum { STALLED_SPINS = 1 << 20 }; /* a time-out is certain, and need not take long */
    o->params.launch.stall = barrier;
    o->params.launch.spin_limit = barrier ? STALLED_SPINS : persistent_spin_limit(o->from.g, "SOLO_ONE_LOOKS");
    write_params(o);
}

void megakernel_leave_out(megakernel *o, int kernel)
{
    size_t bytes = phase_table_bytes(&o->kernels);
    uint32_t *rows = mem_alloc(bytes);
    memcpy(rows, o->rows, bytes);
    for (uint32_t p = 0; p < o->plan.count; p++)
        if (kernel == megakernel_kernel_of(o, p))
            rows[p * o->kernels.row_words] = 0;
    gpu_write(o->from.g, o->table, 0, rows, bytes);
    free(rows);
    o->params.launch.polls_epoch = kernel == MEGAKERNEL_ALL_KERNELS;
    write_params(o);
}

bool megakernel_timed_out(megakernel *o, bool *timed_out, err *e)
{
    persistent p = persistent_of(o);
    if (!persistent_timed_out(&p, timed_out, e))
        return false;
    if (*timed_out) {
        persistent_reset(&p);
        megakernel_forget(o);
    }
    return true;
}
