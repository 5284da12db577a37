#include "graph/megakernel.h"
#include "base/str.h"
#include "gpu/litmus.h"
#include "graph/megakernel_schedule.h"
#include "graph/megakernel_link.h"

#include <stdlib.h>
#include <string.h>

enum {
    PORTABLE_THREADS = 256, /* what every device has */
    MOST_GROUPS = 2048,     /* that are looked for */
    GATE_WORDS = 64,        /* counted at 0 and 1; the roll call at 2 and 3 */
    COURSE_WORDS = 8 + MEGAKERNEL_MAX_STOPS,
    /* Looks at a gate before giving up: about a second. Of the roll call, some milliseconds. */
    GPU_LOOKS = 1 << 21,
    SOFTWARE_LOOKS = 1 << 28,
    GPU_ROLL_LOOKS = 1 << 14,
    SOFTWARE_ROLL_LOOKS = 1 << 21,
};

/* As in kernels/include/megakernel.wgsl. */
typedef struct course {
    uint32_t phases, rounds, spin_limit, stall, token, stop_count, nothing, polls_epoch, stops[MEGAKERNEL_MAX_STOPS];
} course;
_Static_assert((int)MEGAKERNEL_ARG_WORDS == (int)LOWER_ARG_WORDS, "all that kernels are dispatch_desc");
_Static_assert(sizeof(course) == COURSE_WORDS * 4, "it is words");

struct one {
    gpu *g;
    gpu_kernel *kernel;
    gpu_bindings *bindings;
    gpu_buffer *table, *course_buffer, *gate;
    course way;
    uint32_t groups, threads;
    bool marked;
    const memory *m;
    uint32_t which_plan;
    uint64_t text_hash;
    uint32_t *rows, row_words, kind_count; /* the table */
};

static void write_course(one *o)
{
    gpu_write(o->g, o->course_buffer, 0, &o->way, sizeof o->way);
}

/* As if no one had come yet. */
static void open_gate(one *o)
{
    gpu_write(o->g, o->gate, 0, (uint32_t[GATE_WORDS]){0}, GATE_WORDS * sizeof(uint32_t));
}

/* ---- the module ----------------------------------------------------------------- */

typedef struct kinds {
    phase_kernel items[MEGAKERNEL_MAX_KERNELS];
    uint32_t count, arenas, row_words;
    uint32_t threads;
    uint32_t *phases; /* the kind of each */
    bool polls_epoch; /* all look at epoch_bit */
    bool compile_fast;
} kinds;

/* The number of a phase's kernel among those of the module; their count if it is not there. */
static uint32_t kind_of(const kinds *k, const dispatch_desc *t)
{
    kernel_variant v = t->kernel;
    uint32_t i = 0;
    kernel_set_constant(&v, "THREADS", k->threads);
    while (i < k->count &&
           (k->items[i].weight_arena != t->weight_arena || !kernel_same_variant(&k->items[i].kernel, &v)))
        i++;
    return i;
}

/* Which kernels there are, and which of their arguments are not always the same. */
static bool add_kinds(kinds *k, megakernel_phases phases, uint32_t groups, err *e)
{
    k->phases = mem_alloc(phases.count * sizeof *k->phases);
    for (uint32_t p = 0; p < phases.count; p++) {
        const dispatch_desc *t = &phases.items[p];
        uint32_t i = kind_of(k, t);
        if (t->state_arena)
            return err_set(e, "one dispatch binds one buffer of states, and this model has more");
        if (i == MEGAKERNEL_MAX_KERNELS)
            return err_set(e, "one dispatch of more than %d kernels", MEGAKERNEL_MAX_KERNELS);
        phase_kernel *kind = &k->items[i];
        if (i == k->count) {
            k->count++;
            *kind = (phase_kernel){.kernel = t->kernel,
                                   .weight_arena = t->weight_arena,
                                   .single_pass = true,
                                   .epoch_only = true,
                                   .warms_cache = true};
            kernel_set_constant(&kind->kernel, "THREADS", k->threads);
            memcpy(kind->words, t->words, sizeof kind->words);
        }
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++)
            kind->slots[w] |= kind->words[w] != t->words[w] || (w < 32 && t->depends_on_groups >> w & 1);
        if (t->kernel.type && t->weight_arena >= k->arenas)
            k->arenas = t->weight_arena + 1;
        kind->single_pass &= t->single_pass || t->words[0] <= groups;
        kind->epoch_only &= t->epoch_only;
        kind->warms_cache &= t->warms_cache;
        k->polls_epoch &= t->polls_epoch;
        k->phases[p] = i;
    }
    return true;
}

/* Does a kernel's phase come once each time round, and nowhere else? */
static bool is_by_time(const kinds *k, uint32_t kind, schedule_loop l, uint32_t phases, uint32_t *first)
{
    uint32_t count = 0;
    *first = phases;
    for (uint32_t p = 0; p < phases; p++)
        if (k->phases[p] == kind) {
            count++;
            *first = p < *first ? p : *first;
        }
    return l.times > 1 && count == l.times && *first >= l.first && *first < l.first + l.period &&
           k->phases[*first + l.period] == kind;
}

/* Arguments of such a kernel that grow by the same each time, as the places of layers' weights do, need not be looked up; those
 * that depend on the number of workgroups are the same each time. */
static void find_strides(kinds *k, megakernel_phases phases)
{
    schedule_loop l = schedule_find_loop(k->phases, phases.count);
    if (!schedule_possible(k->phases, phases.count))
        return;
    for (uint32_t i = 0; i < k->count; i++) {
        phase_kernel *kind = &k->items[i];
        uint32_t first;
        if (!is_by_time(k, i, l, phases.count, &first))
            continue;
        kind->per_iteration = true;
        kind->first_phase = first;
        kind->period = l.period;
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++) {
            const dispatch_desc *t = &phases.items[first];
            uint32_t stride = t[l.period].words[w] - t[0].words[w];
            bool even = true;
            for (uint32_t time = 1; time < l.times; time++)
                even = even && t[time * l.period].words[w] == t[0].words[w] + time * stride;
            kind->depends_on_groups[w] = w < 32 && t->depends_on_groups >> w & 1 && even && stride == 0;
            if (kind->slots[w] && !kind->depends_on_groups[w] && even) {
                kind->slots[w] = 0;
                kind->strides[w] = stride;
            }
        }
    }
}

/* The table has all arguments there can be, each at its own place. */
static void number_all_slots(kinds *k)
{
    for (uint32_t i = 0; i < k->count; i++)
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++)
            if (k->items[i].slots[w])
                k->items[i].slots[w] = MEGAKERNEL_FIRST_SLOT + w;
    k->row_words = (MEGAKERNEL_FIRST_SLOT + MEGAKERNEL_ARG_WORDS + 3) / 4 * 4;
}

static void number_slots(kinds *k)
{
    uint32_t most = MEGAKERNEL_FIRST_SLOT;
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t next = MEGAKERNEL_FIRST_SLOT;
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++)
            if (k->items[i].slots[w])
                k->items[i].slots[w] = next++;
        most = next > most ? next : most;
    }
    k->row_words = (most + 3) / 4 * 4;
}

static bool find_kinds(kinds *k, const device_profile *t, megakernel_lower tell, void *user, uint32_t *phase_count,
                       err *e)
{
    megakernel_phases phases;
    *k = (kinds){.arenas = 1, .threads = t->one_threads, .compile_fast = t->compile_fast, .polls_epoch = t->epoch_bit};
    if (!tell(user, t, &phases, e) || !add_kinds(k, phases, t->one_groups, e))
        return false;
    *phase_count = phases.count;
    if (k->compile_fast)
        number_all_slots(k);
    else {
        find_strides(k, phases);
        number_slots(k);
    }
    return true;
}

static uint64_t table_bytes(const kinds *k, uint32_t phases)
{
    return (uint64_t)phases * k->row_words * sizeof(uint32_t);
}

/* Few enough words are read from where they are the same for everyone. */
static bool has_uniform_table(const gpu *g, const kinds *k, uint32_t phases)
{
    return table_bytes(k, phases) <= gpu_get_info(g)->max_uniform_binding_bytes;
}

static gpu_source *make_text(one *o, const kinds *k, uint32_t phases, bool plain)
{
    o->marked = !plain && k->polls_epoch && schedule_possible(k->phases, phases);
    gpu_source *source = megakernel_link(&(megakernel_module){.kinds = k->items,
                                                              .kind_count = k->count,
                                                              .arenas = k->arenas,
                                                              .plain = plain,
                                                              .marked = o->marked,
                                                              .compile_fast = k->compile_fast,
                                                              .row_words = k->row_words,
                                                              .phase_kinds = k->phases,
                                                              .phases = phases,
                                                              .uniform_table = has_uniform_table(o->g, k, phases)});
    o->text_hash = str_hash(STR_HASH_BEGIN, source->wgsl, strlen(source->wgsl));
    return source;
}

static gpu_kernel *make_kernel(one *o, const kinds *k, uint32_t phases, bool plain, bool ahead)
{
    bool uniform_table = has_uniform_table(o->g, k, phases);
    gpu_source *source = make_text(o, k, phases, plain);
    gpu_kernel_desc desc = {.source = source,
                            .entry = "main",
                            .workgroup_size = k->threads,
                            .ahead = ahead,
                            .binding_count = MEGAKERNEL_BINDINGS + 2 * k->arenas,
                            .bindings = {uniform_table ? GPU_BIND_UNIFORM : GPU_BIND_READ, GPU_BIND_WRITE,
                                         GPU_BIND_WRITE, GPU_BIND_UNIFORM, GPU_BIND_WRITE}};
    gpu_kernel *kernel = gpu_kernel_new(o->g, &desc);
    kernel_text_free(source);
    return kernel;
}

static gpu_bindings *bind(const one *o, const memory *m, uint32_t arenas)
{
    gpu_part parts[GPU_MAX_BINDINGS] = {{.buffer = o->table},
                                        {.buffer = memory_activations(m)},
                                        {.buffer = memory_states(m, 0)},
                                        {.buffer = o->course_buffer},
                                        {.buffer = o->gate}};
    for (uint32_t a = 0; a < arenas; a++)
        parts[MEGAKERNEL_BINDINGS + 2 * a].buffer = parts[MEGAKERNEL_BINDINGS + 2 * a + 1].buffer =
            memory_weights(m, a);
    return gpu_bindings_new(o->g, o->kernel, parts, MEGAKERNEL_BINDINGS + 2 * arenas);
}

/* ---- how many workgroups --------------------------------------------------------- */

/* With no phases the kernel calls the roll: who is there when the first has waited long enough. */
static bool count_resident(one *o, bool software, err *e)
{
    uint32_t words[GATE_WORDS] = {0};
    o->way.phases = 0;
    o->way.spin_limit = software ? SOFTWARE_ROLL_LOOKS : GPU_ROLL_LOOKS;
    write_course(o);
    gpu_launch(o->g, o->kernel, o->bindings, MOST_GROUPS);
    if (!gpu_read_now(o->g, o->gate, 0, words, sizeof words, e))
        return false;
    o->groups = words[3] ? words[3] : 1;
    open_gate(o);
    return true;
}

/* Data may go from one workgroup to another only where that was seen to work. */
static bool passes_litmus(const one *o, err *e)
{
    litmus_result r;
    if (o->groups == 1)
        return true;
    if (!gpu_litmus_cached(o->g, o->groups, o->threads, false, &r, e))
        return false;
    return r.verdict == LITMUS_PASSED || err_set(e, "the test whether %u workgroups see each other's data: %s",
                                                 o->groups, litmus_verdict_name(r.verdict));
}

static uint32_t wished(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static uint32_t time_of(const phase_kernel *k, uint32_t phase)
{
    return k->per_iteration ? (phase - k->first_phase) / k->period : 0;
}

/* False if the phases are not those that the kernel was made for. */
static bool write_table(one *o, megakernel_phases phases, const kinds *k)
{
    size_t bytes = table_bytes(k, phases.count);
    uint32_t *table = mem_alloc(bytes), *row = table;
    bool ok = true;
    for (uint32_t p = 0; ok && p < phases.count; p++, row += k->row_words) {
        const dispatch_desc *t = &phases.items[p];
        uint32_t i = kind_of(k, t);
        ok = i < k->count;
        if (!ok)
            break;
        row[0] = t->words[0];
        row[1] = i;
        if (k->compile_fast)
            memcpy(row + MEGAKERNEL_FIRST_SLOT, t->words, sizeof t->words);
        for (uint32_t w = 0; w < MEGAKERNEL_ARG_WORDS; w++)
            if (k->items[i].slots[w])
                row[k->items[i].slots[w]] = t->words[w];
            else
                ok = ok && t->words[w] == k->items[i].words[w] + time_of(&k->items[i], p) * k->items[i].strides[w];
    }
    if (ok)
        gpu_write(o->g, o->table, 0, table, bytes);
    o->rows = table;
    o->row_words = k->row_words;
    o->kind_count = k->count;
    return ok;
}

/* Buffers of weights that can be bound beside the others. */
static uint32_t most_arenas(const gpu_info *info, bool uniform_table)
{
    uint32_t others = uniform_table ? 3 : 4, most = (GPU_MAX_BINDINGS - MEGAKERNEL_BINDINGS) / 2;
    uint32_t here = info->max_storage_buffers > others ? (info->max_storage_buffers - others) / 2 : 0;
    return here < most ? here : most;
}

/* The kernel and all that it is bound to, and how many workgroups of it there will be. */
static bool make_dispatch(one *o, const memory *m, const kinds *k, uint32_t phases, bool plain, uint32_t most_groups,
                          err *e)
{
    const gpu_info *info = gpu_get_info(o->g);
    uint64_t bytes = table_bytes(k, phases);
    bool uniform_table = has_uniform_table(o->g, k, phases);
    uint32_t most = most_arenas(info, uniform_table);
    if (k->arenas > most)
        return err_set(e, "one dispatch binds %u buffers of weights on this device, and this model has %u", most,
                       k->arenas);
    o->kernel = make_kernel(o, k, phases, plain, false);
    o->table = gpu_buffer_new(o->g, bytes, uniform_table ? GPU_USE_UNIFORM : GPU_USE_STORAGE);
    o->course_buffer = gpu_buffer_new(o->g, sizeof o->way, GPU_USE_UNIFORM);
    o->gate = gpu_buffer_new(o->g, GATE_WORDS * 4, GPU_USE_STORAGE);
    o->bindings = bind(o, m, k->arenas);
    if (!gpu_ok(o->g, e) || o->groups)
        return gpu_ok(o->g, e);
    o->groups = 1;
    if (plain)
        return true;
    if (!count_resident(o, info->type == GPU_TYPE_SOFTWARE, e))
        return false;
    if (most_groups && most_groups < o->groups)
        o->groups = most_groups;
    return passes_litmus(o, e);
}

static uint32_t fewer_of(uint32_t a, uint32_t most)
{
    return most && most < a ? most : a;
}

static void free_dispatch(one *o)
{
    gpu_bindings_free(o->bindings);
    gpu_kernel_free(o->kernel);
    gpu_buffer_free(o->table);
    gpu_buffer_free(o->course_buffer);
    gpu_buffer_free(o->gate);
    free(o->rows);
    o->bindings = NULL;
    o->kernel = NULL;
    o->table = o->course_buffer = o->gate = NULL;
    o->rows = NULL;
}

/* How many workgroups are resident is known when the kernel is made, and the kernel is made for a number of them: if they turn
 * out to be fewer, or if that makes another kernel of it, once more. */
static bool make_for(one *o, kinds *k, device_profile *t, megakernel_lower tell, void *user, bool plain,
                     uint32_t most_groups, uint32_t *phase_count, err *e)
{
    enum { TRIES = 4 };
    bool wished_for = o->groups > 0;
    for (int i = 0; i < TRIES; i++) {
        megakernel_phases phases;
        uint32_t made_for = t->one_groups;
        if (!find_kinds(k, t, tell, user, phase_count, e) ||
            !make_dispatch(o, o->m, k, *phase_count, plain, most_groups, e))
            return false;
        t->one_groups = o->groups;
        if (!tell(user, t, &phases, e))
            return false;
        if (o->groups >= made_for && write_table(o, phases, k))
            return true;
        free_dispatch(o);
        free(k->phases);
        k->phases = NULL;
        if (!wished_for)
            o->groups = 0;
    }
    return err_set(e, "the number of workgroups of one dispatch does not settle");
}

/* Returns whether it has one workgroup. */
static bool set_up(one *o, gpu *g, const memory *m, uint32_t which_plan, device_profile *t)
{
    *o = (one){.g = g, .m = m, .which_plan = which_plan};
    o->groups = wished("SOLO_ONE_GROUPS", 0); /* asked for: whether they are resident or not */
    o->threads = t->one_threads = t->specialize ? t->row_threads : PORTABLE_THREADS;
    /* Software runs few workgroups at a time, and each well enough: one is safe everywhere. */
    bool plain = o->groups == 1 || (!t->specialize && !o->groups);
    t->one_groups = plain ? 1 : o->groups ? o->groups : fewer_of(t->busy_groups, t->one_groups);
    return plain;
}

uint64_t megakernel_look_ahead(gpu *g, const memory *m, uint32_t which_plan, const device_profile *tuning,
                               megakernel_lower tell, void *user, bool begin)
{
    device_profile t = *tuning;
    one o;
    kinds *k = mem_alloc(sizeof *k);
    uint32_t phase_count;
    err unused = {0};
    bool plain = set_up(&o, g, m, which_plan, &t);
    bool found = find_kinds(k, &t, tell, user, &phase_count, &unused) &&
                 k->arenas <= most_arenas(gpu_get_info(g), has_uniform_table(g, k, phase_count));
    if (found && begin)
        gpu_kernel_free(make_kernel(&o, k, phase_count, plain, true));
    else if (found)
        kernel_text_free(make_text(&o, k, phase_count, plain));
    free(k->phases);
    free(k);
    return o.text_hash;
}

one *megakernel_new(gpu *g, const memory *m, uint32_t which_plan, const device_profile *tuning, megakernel_lower tell,
                    void *user, err *e)
{
    bool software = gpu_get_info(g)->type == GPU_TYPE_SOFTWARE;
    device_profile t = *tuning;
    one *o = mem_alloc(sizeof *o);
    kinds *k = mem_alloc(sizeof *k);
    uint32_t phase_count;
    bool plain = set_up(o, g, m, which_plan, &t);
    bool ok = make_for(o, k, &t, tell, user, plain, tuning->one_groups, &phase_count, e);
    free(k->phases);
    free(k);
    if (!ok) {
        megakernel_free(o);
        return NULL;
    }
    o->way = (course){.phases = phase_count,
                      .rounds = 1,
                      .polls_epoch = 1,
                      .spin_limit = wished("SOLO_ONE_LOOKS", software ? SOFTWARE_LOOKS : GPU_LOOKS)};
    write_course(o);
    return o;
}

void megakernel_free(one *o)
{
    if (!o)
        return;
    free_dispatch(o);
    free(o);
}

gpu_kernel *megakernel_kernel(const one *o)
{
    return o->kernel;
}

gpu_bindings *megakernel_bindings(const one *o)
{
    return o->bindings;
}

uint32_t one_groups(const one *o)
{
    return o->groups;
}

uint32_t one_threads(const one *o)
{
    return o->threads;
}

void megakernel_forget(one *o)
{
    if (!o->marked)
        return;
    memory_clear_made(o->m, o->which_plan);
    open_gate(o);
}

void megakernel_dispatch(one *o)
{
    gpu_launch(o->g, o->kernel, o->bindings, o->groups);
}

uint64_t megakernel_text_hash(const one *o)
{
    return o->text_hash;
}

uint32_t megakernel_phase_count(const one *o)
{
    return o->way.phases;
}

void megakernel_set_rounds(one *o, uint32_t rounds)
{
    o->way.rounds = rounds;
    write_course(o);
}

void megakernel_set_stops(one *o, uint32_t place, const uint32_t *stops, uint32_t count)
{
    o->way.token = place;
    o->way.stop_count = count < MEGAKERNEL_MAX_STOPS ? count : MEGAKERNEL_MAX_STOPS;
    memcpy(o->way.stops, stops, o->way.stop_count * sizeof *stops);
    write_course(o);
}

void megakernel_set_stall(one *o, uint32_t barrier)
{
    o->way.stall = barrier;
    write_course(o);
}

int megakernel_kernel_count(const one *o)
{
    return (int)o->kind_count;
}

int megakernel_kernel_of(const one *o, uint32_t phase)
{
    return (int)o->rows[phase * o->row_words + 1];
}

void megakernel_leave_out(one *o, int kind)
{
    size_t bytes = (size_t)o->way.phases * o->row_words * sizeof(uint32_t);
    uint32_t *rows = mem_alloc(bytes);
    memcpy(rows, o->rows, bytes);
    for (uint32_t p = 0; p < o->way.phases; p++)
        if (kind == megakernel_kernel_of(o, p))
            rows[p * o->row_words] = 0;
    gpu_write(o->g, o->table, 0, rows, bytes);
    free(rows);
    o->way.polls_epoch = kind == MEGAKERNEL_ALL_KERNELS;
    write_course(o);
}

bool megakernel_timed_out(one *o, bool *gave_up, err *e)
{
    uint32_t words[GATE_WORDS];
    if (!gpu_read_now(o->g, o->gate, 0, words, sizeof words, e))
        return false;
    *gave_up = words[0] != 0;
    if (*gave_up) {
        open_gate(o);
        megakernel_forget(o);
    }
    return true;
}
