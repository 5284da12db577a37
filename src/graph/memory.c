#include "graph/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "graph/layout.h"
#include "graph/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAST = GRAPH_MAX_DIMS - 1,
    MAX_ARENAS = 64,
    ALIGN_WORDS = 4, /* of activations */
    NO_PLACE = UINT32_MAX,
    UPLOAD_BYTES = 4 << 20, /* at a time */
    UNDER_WAY_BYTES = 32 << 20,
    RESERVE_BYTES = 128 << 20, /* for kernels and what is on its way, beside a large model */
    RESERVE_SHARE = 8,         /* this part of a small one */
    ZEROS_BYTES = 1 << 20,     /* to clear with, at a time */
    WORTH_SHOWING = 64 << 20,  /* bytes from which an upload shows its progress */
};

/* What has a name, and where it lies. */
typedef struct named {
    const char *name; /* the graph's */
    const graph_node *what;
    uint32_t at;    /* word: inputs, outputs; states in their arena; weights as floats */
    uint32_t arena; /* of states */
    bool is_matrix;
    memory_matrix matrix;
} named;

typedef struct arena {
    gpu_buffer *buffer;
    uint64_t bytes;
} arena;

typedef struct plan_places {
    uint32_t *at;       /* [node] word among the activations, or NO_PLACE */
    uint32_t *named_at; /* [node] which named thing it is, or NO_PLACE */
    uint32_t scratch;
    uint64_t end; /* of what comes and goes in this plan */
} plan_places;

struct memory {
    gpu *g;
    plan *const *plans;
    uint32_t plan_count;
    plan_places *places;
    named *names;
    uint32_t name_count, name_capacity;
    uint32_t *by_name; /* a table of hashes: name + 1, or 0 */
    uint32_t table;
    arena weights[MAX_ARENAS], states[MAX_ARENAS];
    uint32_t weight_arenas, state_arenas;
    gpu_buffer *activations, *zeros;
    uint64_t kept_words, most_words; /* of activations: with a name; in all */
    uint64_t limit;                  /* of a binding */
};

/* ---- names ---------------------------------------------------------------- */

static uint32_t hash_of(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static uint32_t *table_slot(const memory *m, const char *name)
{
    uint32_t i = hash_of(name) % m->table;
    while (m->by_name[i] && strcmp(m->names[m->by_name[i] - 1].name, name) != 0)
        i = (i + 1) % m->table;
    return &m->by_name[i];
}

static named *find_named(const memory *m, const char *name)
{
    uint32_t found = *table_slot(m, name);
    return found ? &m->names[found - 1] : NULL;
}

/* The thing of that name; a new one if there is none. */
static uint32_t name_number(memory *m, const graph_node *n)
{
    uint32_t *slot = table_slot(m, n->name);
    if (!*slot) {
        m->names[m->name_count] = (named){.name = n->name, .what = n, .at = NO_PLACE, .arena = NO_PLACE};
        *slot = ++m->name_count;
    }
    named *found = &m->names[*slot - 1];
    if (shape_count(n->s) > shape_count(found->what->s))
        found->what = n; /* an input of several sizes has the largest */
    return *slot - 1;
}

static void collect_names(memory *m)
{
    uint32_t nodes = 0;
    for (uint32_t p = 0; p < m->plan_count; p++)
        nodes += graph_count(m->plans[p]->g);
    m->table = nodes * 2 + 1;
    m->by_name = mem_alloc(m->table * sizeof *m->by_name);
    m->names = mem_alloc((nodes + 1) * sizeof *m->names);
    for (uint32_t p = 0; p < m->plan_count; p++) {
        const graph *g = m->plans[p]->g;
        size_t slots = graph_count(g) + 1;
        m->places[p].at = mem_alloc(slots * sizeof(uint32_t));
        m->places[p].named_at = mem_alloc(slots * sizeof(uint32_t));
        memset(m->places[p].at, 0xff, slots * sizeof(uint32_t));
        memset(m->places[p].named_at, 0xff, slots * sizeof(uint32_t));
        for (node i = 1; i < slots; i++)
            if (graph_at(g, i)->name)
                m->places[p].named_at[i] = name_number(m, graph_at(g, i));
        /* What has a name only by way of a reshape is that thing, at the same place in all plans. */
        for (node i = 1; i < slots; i++) {
            node root = plan_root(g, i);
            if (graph_at(g, i)->name && m->places[p].named_at[root] == NO_PLACE)
                m->places[p].named_at[root] = m->places[p].named_at[i];
        }
    }
}

static named *named_of(const memory *m, uint32_t p, node n)
{
    uint32_t i = m->places[p].named_at[n];
    return i == NO_PLACE ? NULL : &m->names[i];
}

/* ---- weights and states ------------------------------------------------------- */

static bool new_arena(arena *arenas, uint32_t *count, uint64_t bytes, uint64_t limit, err *e)
{
    if (*count && arenas[*count - 1].bytes + bytes <= limit)
        return true;
    if (*count == MAX_ARENAS)
        return err_set(e, "the model does not fit %d buffers of %llu bytes, the most that this device binds",
                       MAX_ARENAS, (unsigned long long)limit);
    (*count)++;
    return true;
}

static bool place_piece(memory *m, named *w, uint32_t first, uint32_t rows, err *e)
{
    const graph_node *n = w->what;
    uint64_t bytes = layout_bytes(n->as.weight, rows, n->s.dims[LAST]);
    if (w->matrix.piece_count == MEMORY_MAX_PIECES)
        return err_set(e, "weight %s has %llu bytes, more than %d times the %llu that this device binds", w->name,
                       (unsigned long long)layout_bytes(n->as.weight, n->s.dims[LAST - 1], n->s.dims[LAST]),
                       MEMORY_MAX_PIECES, (unsigned long long)m->limit);
    if (!new_arena(m->weights, &m->weight_arenas, bytes, m->limit, e))
        return false;
    arena *a = &m->weights[m->weight_arenas - 1];
    w->matrix.pieces[w->matrix.piece_count++] =
        (memory_piece){m->weight_arenas - 1, (uint32_t)(a->bytes / 4), first, rows};
    a->bytes += bytes;
    return true;
}

/* As many rows in a piece as fit; even, so that pieces begin at whole words. */
static bool place_matrix(memory *m, named *w, err *e)
{
    const graph_node *n = w->what;
    uint32_t rows = (uint32_t)(shape_count(n->s) / n->s.dims[LAST]), columns = n->s.dims[LAST];
    uint64_t row_bytes = layout_bytes(n->as.weight, 64, columns) / 64 + 1;
    uint32_t most = m->limit / row_bytes > rows ? rows : (uint32_t)(m->limit / row_bytes) / 64 * 64;
    if (layout_bytes(n->as.weight, rows, columns) <= m->limit)
        most = rows;
    if (most == 0)
        return err_set(e, "a row of weight %s alone is larger than the %llu bytes that this device binds", w->name,
                       (unsigned long long)m->limit);
    for (uint32_t first = 0; first < rows; first += most)
        if (!place_piece(m, w, first, rows - first < most ? rows - first : most, e))
            return false;
    return true;
}

/* The matrices of a step lie in one arena. */
static bool place_matrices(memory *m, uint32_t p, const plan_step *s, uint32_t at_least, err *e)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_matrices(m->plans[p], s, nodes);
    uint64_t bytes = 0;
    if (count < at_least)
        return true;
    for (uint32_t i = 0; i < count; i++) {
        const named *w = named_of(m, p, nodes[i]);
        if (!w->is_matrix)
            bytes += layout_bytes(w->what->as.weight, (uint32_t)(shape_count(w->what->s) / w->what->s.dims[LAST]),
                                  w->what->s.dims[LAST]);
    }
    if (count > 1 && bytes <= m->limit && !new_arena(m->weights, &m->weight_arenas, bytes, m->limit, e))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        named *w = named_of(m, p, nodes[i]);
        if (w->is_matrix)
            continue;
        w->is_matrix = true;
        if (!place_matrix(m, w, e))
            return false;
    }
    return true;
}

static uint32_t states_of(const plan *p, const plan_step *s, node *out)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_reads(p, s, nodes), states = 0;
    for (uint32_t i = 0; i < count; i++) {
        const graph_node *n = graph_at(p->g, nodes[i]);
        node state = n->op == OP_STORE ? n->operands[0] : n->op == OP_STATE ? nodes[i] : 0;
        if (state)
            out[states++] = state;
    }
    return states;
}

static uint64_t state_bytes(const graph_node *n)
{
    uint64_t bytes = shape_count(n->s) * (n->type == DTYPE_F16 ? 2 : 4);
    return (bytes + LAYOUT_ALIGN_BYTES - 1) / LAYOUT_ALIGN_BYTES * LAYOUT_ALIGN_BYTES;
}

/* The states of a step lie in one arena. */
static bool place_states(memory *m, uint32_t p, const plan_step *s, uint32_t at_least, err *e)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = states_of(m->plans[p], s, nodes);
    uint64_t bytes = 0;
    if (count < at_least)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (named_of(m, p, nodes[i])->arena == NO_PLACE)
            bytes += state_bytes(graph_at(m->plans[p]->g, nodes[i]));
    if (bytes > m->limit)
        return err_set(e, "states of %llu bytes, and this device binds %llu: a shorter context needs less",
                       (unsigned long long)bytes, (unsigned long long)m->limit);
    if (bytes && !new_arena(m->states, &m->state_arenas, bytes, m->limit, e))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        named *state = named_of(m, p, nodes[i]);
        if (state->arena != NO_PLACE)
            continue;
        arena *a = &m->states[m->state_arenas - 1];
        state->arena = m->state_arenas - 1;
        state->at = (uint32_t)(a->bytes / 4);
        a->bytes += state_bytes(state->what);
    }
    return true;
}

/* First what must lie beside others, then what may lie anywhere. */
static bool place_large(memory *m, err *e)
{
    for (uint32_t at_least = 2; at_least > 0; at_least--)
        for (uint32_t p = 0; p < m->plan_count; p++)
            for (uint32_t i = 0; i < m->plans[p]->count; i++)
                if (!place_matrices(m, p, &m->plans[p]->steps[i], at_least, e) ||
                    !place_states(m, p, &m->plans[p]->steps[i], at_least, e))
                    return false;
    return true;
}

/* ---- activations -------------------------------------------------------------- */

static uint64_t aligned(uint64_t words)
{
    return (words + ALIGN_WORDS - 1) / ALIGN_WORDS * ALIGN_WORDS;
}

/* Inputs, outputs, and weights that stand beside activations. */
static void place_kept(memory *m)
{
    for (uint32_t p = 0; p < m->plan_count; p++)
        for (node i = 1; i <= graph_count(m->plans[p]->g); i++) {
            const graph_node *n = graph_at(m->plans[p]->g, i);
            named *w = named_of(m, p, i);
            if (!w || w->at != NO_PLACE || n->op == OP_STATE)
                continue;
            if (n->op == OP_WEIGHT && !(graph_weight_uses(m->plans[p]->g, i) & WEIGHT_AS_FLOATS))
                continue;
            if (n->op == OP_RESHAPE)
                continue; /* its root is kept for it */
            w->at = (uint32_t)m->kept_words;
            m->kept_words += aligned(shape_count(w->what->s));
        }
}

/* Words between `begin` and `end` are free again once step `until` is over. */
typedef struct lease {
    uint64_t begin, end;
    uint32_t until;
} lease;

/* The first gap of that size among the leases, which are kept in order. */
static uint64_t rent(lease *leases, uint32_t *count, uint64_t begin, uint64_t words, uint32_t now, uint32_t until)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (leases[i].until >= now)
            leases[kept++] = leases[i];
    *count = kept;
    uint32_t at = 0;
    for (; at < kept && begin + words > leases[at].begin; at++)
        begin = leases[at].end;
    memmove(&leases[at + 1], &leases[at], (kept - at) * sizeof *leases);
    leases[at] = (lease){begin, begin + words, until};
    (*count)++;
    return begin;
}

/* What a step leaves for itself between its dispatches: they are gone when it is over. */
static uint64_t scratch_words(const plan *p, const plan_step *s)
{
    const graph_node *x = graph_at(p->g, graph_at(p->g, s->at)->operands[0]);
    if (s->op == OP_SAMPLE)
        return sample_scratch_words(x->s.dims[LAST]);
    if (s->op == OP_ATTENTION && plan_splits(p, s) > 1)
        return (uint64_t)plan_splits(p, s) * x->s.dims[1] * x->s.dims[2] * (x->s.dims[3] + 2);
    return 0;
}

/* A row that a product stores in a state of halves also goes to floats of its own, which have epoch_bit. */
static bool goes_to_row_too(const plan *p, const plan_step *s, const graph_node *n)
{
    return p->no_alias && n->op == OP_STORE && s->op == OP_MATMUL && n->type == DTYPE_F16 && plan_rows(p, s) == 1;
}

static void place_passing(memory *m, uint32_t p)
{
    const plan *plan = m->plans[p];
    size_t slots = graph_count(plan->g) + 1;
    uint32_t *last = mem_alloc(slots * sizeof *last), leases = 0;
    lease *leased = mem_alloc((slots + 1) * sizeof *leased);
    node nodes[PLAN_MAX_NODES];
    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t count = plan_reads(plan, &plan->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++)
            last[nodes[k]] = i;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        bool left_in_parts = plan->steps[i].split_output;
        uint32_t count = plan_writes(plan, &plan->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++) {
            const graph_node *n = graph_at(plan->g, nodes[k]);
            bool row_too = goes_to_row_too(plan, &plan->steps[i], n);
            if ((n->op == OP_STORE && !row_too) || n->op == OP_ASSIGN || n->op == OP_SAMPLE || named_of(m, p, nodes[k]))
                continue;
            uint32_t until = plan->no_alias ? UINT32_MAX : last[nodes[k]] > i ? last[nodes[k]] : i;
            shape s = row_too ? graph_at(plan->g, n->operands[1])->s : n->s;
            uint64_t words = aligned(left_in_parts ? scratch_words(plan, &plan->steps[i]) : shape_count(s));
            uint64_t at = rent(leased, &leases, m->kept_words, words, i, until);
            m->places[p].at[nodes[k]] = (uint32_t)at;
            if (at + words > m->places[p].end)
                m->places[p].end = at + words;
            if (at + words > m->most_words)
                m->most_words = at + words;
        }
        uint64_t scratch = left_in_parts ? 0 : aligned(scratch_words(plan, &plan->steps[i]));
        if (scratch > m->places[p].scratch)
            m->places[p].scratch = (uint32_t)scratch;
    }
    free(last);
    free(leased);
}

static bool place_activations(memory *m, err *e)
{
    place_kept(m);
    m->most_words = m->kept_words;
    for (uint32_t p = 0; p < m->plan_count; p++)
        place_passing(m, p);
    uint64_t scratch = 0;
    for (uint32_t p = 0; p < m->plan_count; p++) {
        scratch = m->places[p].scratch > scratch ? m->places[p].scratch : scratch;
        m->places[p].scratch = (uint32_t)m->most_words;
    }
    m->most_words += scratch;
    if (m->most_words * 4 > m->limit)
        return err_set(e, "activations of %llu bytes, and this device binds %llu",
                       (unsigned long long)m->most_words * 4, (unsigned long long)m->limit);
    return true;
}

/* ---- all of it ------------------------------------------------------------------ */

static uint64_t arena_bytes(const arena *arenas, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += arenas[i].bytes;
    return bytes;
}

uint64_t memory_bytes(const memory *m)
{
    return arena_bytes(m->weights, m->weight_arenas) + arena_bytes(m->states, m->state_arenas) + m->most_words * 4;
}

/* ---- whether it fits ------------------------------------------------------------- */

static void add_amount(str *out, const char *before, uint64_t bytes)
{
    if (bytes >= 1000000000)
        str_addf(out, "%s%.1f GB", before, (double)bytes / 1e9);
    else if (bytes >= 1000000)
        str_addf(out, "%s%.1f MB", before, (double)bytes / 1e6);
    else
        str_addf(out, "%s%.1f kB", before, (double)bytes / 1e3);
}

/* How many positions attention can look back on; 0 without attention. */
static uint32_t context_of(const memory *m)
{
    for (uint32_t p = 0; p < m->plan_count; p++)
        for (node i = 1; i <= graph_count(m->plans[p]->g); i++) {
            const graph_node *n = graph_at(m->plans[p]->g, i);
            if (n->op == OP_ATTENTION)
                return graph_at(m->plans[p]->g, n->operands[1])->s.dims[LAST - 2];
        }
    return 0;
}

/* What is needed and what there is, for a person whose model does not fit. */
static char *describe_need(const memory *m, const gpu_info *info)
{
    str text = {0};
    char states[64] = "states ";
    if (context_of(m))
        snprintf(states, sizeof states, "a context of %u tokens ", context_of(m));
    add_amount(&text, "the model needs ", memory_bytes(m));
    add_amount(&text, " (weights ", arena_bytes(m->weights, m->weight_arenas));
    str_addf(&text, ", %s", states);
    add_amount(&text, "", arena_bytes(m->states, m->state_arenas));
    add_amount(&text, ", activations ", m->most_words * 4);
    str_addf(&text, ")");
    if (info->memory_bytes) {
        str_addf(&text, " and %s has ", info->device);
        add_amount(&text, "", info->memory_free_bytes ? info->memory_free_bytes : info->memory_bytes);
        str_addf(&text, info->memory_free_bytes ? " free" : " in all");
    }
    return text.data;
}

/* Told before anything is allocated: a driver that runs out of memory half way may take the
 * whole machine with it, and says less. */
static bool fits(const memory *m, err *e)
{
    const gpu_info *info = gpu_ask_memory(m->g);
    uint64_t room = info->memory_free_bytes ? info->memory_free_bytes : info->memory_bytes, needed = memory_bytes(m);
    uint64_t reserve = needed / RESERVE_SHARE < RESERVE_BYTES ? needed / RESERVE_SHARE : RESERVE_BYTES;
    if (room == 0 || needed + reserve <= room)
        return true;
    char *need = describe_need(m, info);
    err_set(e, "%s: %sa smaller type of weights needs less", need,
            context_of(m) > 1 ? "a shorter context (-c) or " : "");
    free(need);
    return false;
}

static void make_buffers(memory *m, arena *arenas, uint32_t *count)
{
    if (*count == 0)
        *count = 1; /* there must be something to bind */
    for (uint32_t i = 0; i < *count; i++)
        arenas[i].buffer =
            gpu_buffer_new(m->g, arenas[i].bytes ? arenas[i].bytes : LAYOUT_ALIGN_BYTES, GPU_USE_STORAGE);
}

memory *memory_new(gpu *g, plan *const *plans, uint32_t count, err *e)
{
    memory *m = mem_alloc(sizeof *m);
    *m = (memory){.g = g, .plans = plans, .plan_count = count};
    m->limit = gpu_get_info(g)->max_storage_binding_bytes;
    if (m->limit > gpu_get_info(g)->max_buffer_bytes)
        m->limit = gpu_get_info(g)->max_buffer_bytes;
    if (m->limit > (uint64_t)UINT32_MAX)
        m->limit = UINT32_MAX;
    m->limit = m->limit / LAYOUT_ALIGN_BYTES * LAYOUT_ALIGN_BYTES;
    m->places = mem_alloc(count * sizeof *m->places);
    collect_names(m);
    if (place_large(m, e) && place_activations(m, e) && fits(m, e)) {
        make_buffers(m, m->weights, &m->weight_arenas);
        make_buffers(m, m->states, &m->state_arenas);
        m->activations = gpu_buffer_new(g, m->most_words ? m->most_words * 4 : 4, GPU_USE_STORAGE);
        m->zeros = gpu_buffer_new(g, ZEROS_BYTES, GPU_USE_STORAGE);
        if (gpu_ok(g, e))
            return m;
        char *need = describe_need(m, gpu_get_info(g));
        err_context(e, "%s", need);
        free(need);
    }
    memory_free(m);
    return NULL;
}

void memory_free(memory *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->weight_arenas; i++)
        gpu_buffer_free(m->weights[i].buffer);
    for (uint32_t i = 0; i < m->state_arenas; i++)
        gpu_buffer_free(m->states[i].buffer);
    gpu_buffer_free(m->activations);
    gpu_buffer_free(m->zeros);
    for (uint32_t p = 0; p < m->plan_count; p++) {
        free(m->places[p].at);
        free(m->places[p].named_at);
    }
    free(m->places);
    free(m->names);
    free(m->by_name);
    free(m);
}

/* ---- uploading ------------------------------------------------------------------ */

typedef struct upload {
    memory *m;
    graph_weight_source source;
    void *user;
    progress bar;
    uint64_t done, waited_at; /* bytes: of the model's; when the queue was last empty */
} upload;

/* What is written waits in memory of the library's until the queue has run. */
static bool uploaded(upload *u, uint64_t bytes, err *e)
{
    u->done += bytes;
    progress_at(&u->bar, u->done);
    if (u->done - u->waited_at < UNDER_WAY_BYTES)
        return true;
    u->waited_at = u->done;
    return gpu_wait(u->m->g, e);
}

static const void *bring(const upload *u, const named *w, uint64_t first, uint64_t bytes, err *e)
{
    const void *data = u->source(u->user, w->name, first, bytes, e);
    if (!data)
        err_set(e, "weight %s is missing", w->name);
    return data;
}

static bool upload_floats(upload *u, const named *w, err *e)
{
    uint64_t count = shape_count(w->what->s);
    const void *data = bring(u, w, 0, graph_weight_bytes(w->what), e);
    if (!data)
        return false;
    float *floats = mem_alloc(count * sizeof *floats);
    type_to_f32(w->what->as.weight, data, floats, count);
    gpu_write(u->m->g, u->m->activations, (uint64_t)w->at * 4, floats, count * sizeof *floats);
    free(floats);
    return true;
}

/* Some rows at a time; an even number of them, so that every plane's part is whole words. */
static bool upload_piece(upload *u, const named *w, const memory_piece *piece, err *e)
{
    memory *m = u->m;
    tensor_type type = w->what->as.weight;
    uint32_t columns = w->what->s.dims[LAST];
    uint64_t row_bytes = type_bytes(type, columns);
    uint32_t batch = (uint32_t)(UPLOAD_BYTES / row_bytes) / 2 * 2;
    if (batch < 2)
        batch = 2;
    if (batch > piece->rows)
        batch = piece->rows;
    void *planes[PLANE_COUNT];
    for (int k = 0; k < PLANE_COUNT; k++)
        planes[k] = mem_alloc(layout_plane_bytes(type, batch, columns, (layout_plane)k) + 4);
    bool ok = true;
    for (uint32_t row = 0; ok && row < piece->rows; row += batch) {
        uint32_t rows = piece->rows - row < batch ? piece->rows - row : batch;
        const void *data = bring(u, w, (piece->first + row) * row_bytes, rows * row_bytes, e);
        ok = data != NULL;
        if (ok)
            layout_pack(type, data, rows, columns, planes);
        for (int k = 0; ok && k < PLANE_COUNT; k++) {
            layout_plane plane = (layout_plane)k;
            uint64_t at = (uint64_t)piece->at * 4 + layout_plane_at(type, piece->rows, columns, plane) +
                          layout_plane_bytes(type, row, columns, plane);
            uint64_t bytes = layout_plane_bytes(type, rows, columns, plane);
            if (bytes)
                gpu_write(m->g, m->weights[piece->arena].buffer, at, planes[k], bytes);
        }
        ok = ok && uploaded(u, rows * row_bytes, e);
    }
    for (int k = 0; k < PLANE_COUNT; k++)
        free(planes[k]);
    return ok;
}

bool memory_upload(memory *m, graph_weight_source source, void *user, err *e)
{
    uint64_t total = arena_bytes(m->weights, m->weight_arenas);
    upload u = {.m = m, .source = source, .user = user, .bar = progress_start("loading the model", total)};
    u.bar.on = u.bar.on && total >= WORTH_SHOWING;
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->name_count; i++) {
        const named *w = &m->names[i];
        if (w->what->op != OP_WEIGHT)
            continue;
        if (w->at != NO_PLACE)
            ok = upload_floats(&u, w, e);
        for (uint32_t k = 0; ok && k < w->matrix.piece_count; k++)
            ok = upload_piece(&u, w, &w->matrix.pieces[k], e);
    }
    progress_end(&u.bar);
    return ok && gpu_wait(m->g, e);
}

/* ---- asking --------------------------------------------------------------------- */

gpu_buffer *memory_activations(const memory *m)
{
    return m->activations;
}

gpu_buffer *memory_weights(const memory *m, uint32_t arena)
{
    return m->weights[arena].buffer;
}

gpu_buffer *memory_states(const memory *m, uint32_t arena)
{
    return m->states[arena].buffer;
}

/* By copies on the device: a page that sent zeros to it would wait for them. */
static void clear(const memory *m, gpu_recording *r, gpu_buffer *b, uint64_t at, uint64_t end)
{
    for (uint64_t most = gpu_buffer_bytes(m->zeros); at < end; at += most)
        gpu_copy(r, m->zeros, 0, b, at, end - at < most ? end - at : most);
}

void memory_clear_states(const memory *m)
{
    gpu_recording *r = gpu_record(m->g, false);
    for (uint32_t i = 0; i < m->state_arenas; i++)
        clear(m, r, m->states[i].buffer, 0, gpu_buffer_bytes(m->states[i].buffer));
    gpu_submit(m->g, gpu_finish(r));
}

void memory_clear_made(const memory *m, uint32_t which_plan)
{
    const graph *g = m->plans[which_plan]->g;
    gpu_recording *r = gpu_record(m->g, false);
    clear(m, r, m->activations, m->kept_words * 4, m->places[which_plan].end * 4);
    for (node i = 1; i <= graph_count(g); i++) {
        const named *w = named_of(m, which_plan, i);
        graph_op op = graph_at(g, i)->op;
        if (w && w->at != NO_PLACE && op != OP_INPUT && op != OP_WEIGHT && op != OP_STATE && op != OP_RESHAPE)
            clear(m, r, m->activations, w->at * 4ull, (w->at + aligned(shape_count(w->what->s))) * 4);
    }
    gpu_submit(m->g, gpu_finish(r));
}

uint32_t memory_at(const memory *m, uint32_t which_plan, node n)
{
    const graph *g = m->plans[which_plan]->g;
    n = plan_root(g, n);
    if (graph_at(g, n)->op == OP_STORE)
        n = graph_at(g, n)->operands[0];
    if (graph_at(g, n)->op == OP_ASSIGN || graph_at(g, n)->op == OP_SAMPLE)
        n = graph_at(g, n)->operands[1];
    const named *w = named_of(m, which_plan, n);
    return w ? w->at : m->places[which_plan].at[n];
}

uint32_t memory_state_arena(const memory *m, uint32_t which_plan, node n)
{
    const graph *g = m->plans[which_plan]->g;
    if (graph_at(g, n)->op == OP_STORE)
        n = graph_at(g, n)->operands[0];
    return named_of(m, which_plan, n)->arena;
}

uint32_t memory_row_at(const memory *m, uint32_t which_plan, node store)
{
    node n = plan_root(m->plans[which_plan]->g, store);
    uint32_t at = m->places[which_plan].at[n];
    return graph_at(m->plans[which_plan]->g, n)->op == OP_STORE && at != NO_PLACE ? at : 0;
}

uint32_t memory_scratch_at(const memory *m, uint32_t which_plan)
{
    return m->places[which_plan].scratch;
}

const memory_matrix *memory_matrix_of(const memory *m, uint32_t which_plan, node weight)
{
    return &named_of(m, which_plan, weight)->matrix;
}

/* States lie elsewhere, whatever they are called. */
static bool is_state(const graph *g, node n)
{
    graph_op op = graph_at(g, plan_root(g, n))->op;
    return op == OP_STORE || op == OP_STATE;
}

bool memory_find(const memory *m, const char *name, uint32_t *word, uint64_t *words)
{
    const named *w = find_named(m, name);
    if (!w || w->what->op == OP_WEIGHT || w->what->op == OP_STATE)
        return false;
    *words = shape_count(w->what->s);
    *word = NO_PLACE;
    for (uint32_t p = 0; *word == NO_PLACE && p < m->plan_count; p++) {
        node n = graph_find(m->plans[p]->g, name);
        if (n && !is_state(m->plans[p]->g, n))
            *word = memory_at(m, p, n);
    }
    return *word != NO_PLACE;
}
