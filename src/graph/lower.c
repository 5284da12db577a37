/* Steps of a plan as dispatches: the kernel of each operator, and its arguments. Matrix products: lower_matmul.c. */
#include "graph/lower_internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    LAST = LOWER_LAST_DIM,
    THREADS = 64, /* of a workgroup, as in the files of small operators */
    TEAM = 32,    /* as in matmul_vec.wgsl */
};

/* Elements of x that fit workgroup memory beside what the kernels of most models need: a megakernel has the workgroup
 * memory of all its kernels at once. In bytes, as in their files. Where the kernels at hand need more, workgroup_fit.c
 * finds it out. */
static uint32_t floats_of_x(const device_profile *t)
{
    enum {
        LEAST = 2048,
        ATTENTION = 512,
        PARTS = 3072,
        CHOICE = 4096 + 512,
        SQUARES = 2048,
        SINGLES = 256,
        BANKS = 512
    };
    uint32_t subgroups = t->row_threads / (t->subgroup ? t->subgroup : 1), no_alias = t->subgroup >= 16 ? 2 : 1;
    uint32_t sums = 16 * subgroups + (t->subgroup ? no_alias * LOWER_ROW_AT_ONCE * 16 * subgroups : 0);
    /* matmul_vec.wgsl has a sum of squares for each so many floats of x; matmul_row.wgsl has a fixed number. */
    uint32_t each = t->subgroup ? t->subgroup : 4,
             beside = sums + SQUARES / each + ATTENTION + PARTS + CHOICE + SINGLES + BANKS;
    uint32_t left = t->workgroup_bytes > beside ? t->workgroup_bytes - beside : 0;
    uint32_t floats = (uint32_t)((uint64_t)left * each / (4 * each + 1)) / 8 * 8;
    return floats > LEAST ? floats : LEAST;
}

/* SOLO_MATRIX=texts: also for products of several texts, of which one dispatch makes other tokens on an H200
 * (docs/speed.md says what is known). */
static void choose_matrix_shape(device_profile *t, const gpu_info *info)
{
    enum { SHAPE = 16, SUBGROUP = 32 };
    const char *wish = getenv("SOLO_TUNE"), *set = getenv("SOLO_MATRIX");
    t->matrix_lanes = wish && strcmp(wish, "matrix") == 0;
    if (t->matrix_lanes) {
        t->matrix_rows = t->matrix_columns = t->matrix_depth = SHAPE;
        t->matrix_texts = SHAPE / 2;
    } else if (info->has_matrix && t->subgroup == SUBGROUP) {
        t->matrix_rows = info->matrix_rows;
        t->matrix_columns = info->matrix_columns;
        t->matrix_depth = info->matrix_depth;
        t->matrix_texts = set && strcmp(set, "texts") == 0 && strstr(info->matrix_shapes, "16x8x16") ? SHAPE / 2 : 0;
    }
}

device_profile device_profile_for(const gpu_info *info)
{
    device_profile t = {.most_groups = 2048, .busy_groups = 1, .row_threads = 256};
    bool bare = strcmp(info->family, "vulkan") == 0; /* the device takes only the SPIR-V that the build made */
    if (info->has_subgroups && info->subgroup_min == info->subgroup_max && info->subgroup_min >= 4 &&
        TEAM % info->subgroup_min == 0 && !bare)
        t.subgroup = info->subgroup_min;
    bool tuned = gpu_is_worth_tuning(info);
    t.compile_fast = !tuned && !bare;
    if (!tuned || bare)
        return t;
    t.specialize = true;
    t.busy_groups = 128;
    t.workgroup_bytes = gpu_workgroup_bytes(info);
    t.max_splits = PLAN_MAX_COMBINED;
    t.max_at_once = LOWER_ROW_AT_ONCE;
    t.blocks = t.workgroup_bytes >= LOWER_MUCH_WORKGROUP_BYTES && info->max_workgroup_threads >= 256;
    /* Each thread has some of that memory. */
    t.row_threads = info->max_workgroup_threads >= 512 && t.workgroup_bytes >= LOWER_MUCH_WORKGROUP_BYTES ? 512 : 256;
    t.epoch_bit = t.subgroup >= 4;
    t.quads = info->has_quads;
    t.shares_k = true;
    /* docs/speed.md: not measured yet */
    const char *attention = getenv("SOLO_ATTENTION");
    t.attention_ahead = attention && strstr(attention, "ahead");
    t.attention_cells = attention && strstr(attention, "always")     ? 1
                        : attention && strstr(attention, "together") ? t.busy_groups
                                                                     : 0;
    t.most_threads = info->max_workgroup_threads;
    choose_matrix_shape(&t, info);
    t.int8_dot = info->has_packed_dot && t.subgroup >= 8;
    t.x_floats = floats_of_x(&t);
    return t;
}

bool lower_possible(const plan *p, err *e)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const graph_node *n = graph_at(p->g, p->steps[i].at);
        if (p->steps[i].op == OP_ATTENTION || p->steps[i].op == OP_ATTENTION_WHOLE) {
            uint32_t size = graph_at(p->g, n->operands[0])->s.dims[LAST], value_size = n->as.attention.value_size;
            bool fits = value_size ? size <= LOWER_MAX_KEY && value_size <= LOWER_MAX_VALUE : size <= LOWER_MAX_HEAD;
            if (!fits || size % 2 || value_size % 2)
                return err_set(e, "heads of %u elements: an even number up to %d is needed", size,
                               value_size ? LOWER_MAX_KEY : LOWER_MAX_HEAD);
        }
        node written[PLAN_MAX_NODES];
        uint32_t count = plan_writes(p, &p->steps[i], written);
        for (uint32_t k = 0; k < count; k++) {
            const graph_node *w = graph_at(p->g, written[k]);
            if (w->op == OP_STORE && w->s.dims[2] * w->s.dims[3] % 2 != 0)
                return err_set(e, "rows of a state must have an even number of elements");
        }
    }
    return true;
}

/* ---- arguments ---------------------------------------------------------------- */

bool lower_is_computed(const lowering *c, node n)
{
    while (node_at(c, n)->op == OP_RESHAPE)
        n = node_at(c, n)->operands[0];
    graph_op op = node_at(c, n)->op;
    return op != OP_INPUT && op != OP_WEIGHT && op != OP_STATE;
}

static uint32_t groups_for(uint64_t threads)
{
    return (uint32_t)((threads + THREADS - 1) / THREADS);
}

static void lower_binary(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    shape y = node_at(c, n->operands[1])->s;
    uint32_t stride = 1;
    l->args[BINARY_OP_Y] = at(c, n->operands[1]);
    l->args[BINARY_OP_COUNT] = (uint32_t)shape_count(n->s);
    l->args[BINARY_OP_KIND] = n->as.binary;
    for (int d = LAST; d >= 0; d--) {
        l->args[BINARY_OP_DIMS + d] = n->s.dims[d];
        l->args[BINARY_OP_STRIDES + d] = y.dims[d] == 1 ? 0 : stride;
        stride *= y.dims[d];
    }
    l->args[ARG_GROUPS] = groups_for(l->args[BINARY_OP_COUNT]);
    l->args[BINARY_OP_X_COMPUTED] = lower_is_computed(c, n->operands[0]);
    l->args[BINARY_OP_Y_COMPUTED] = lower_is_computed(c, n->operands[1]);
    l->polls_epoch = l->epoch_only = true;
}

static void lower_rope(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    const rope_spec *spec = &n->as.rope;
    l->args[ARG_GROUPS] = n->s.dims[1] * n->s.dims[2];
    l->args[ROPE_HEAD_SIZE] = n->s.dims[3];
    l->args[ROPE_HEADS] = n->s.dims[2];
    l->args[ROPE_POSITION] = at(c, n->operands[1]);
    l->args[ROPE_ROTATED] = spec->rotated;
    l->args[ROPE_INTERLEAVED] = spec->interleaved;
    l->args[ROPE_LOG2_RATIO] = rope_log2_ratio(spec, spec->rotated);
    l->args[ROPE_MAGNITUDE] = as_word(spec->magnitude > 0 ? spec->magnitude : 1);
    l->args[ROPE_FACTOR_ROWS] = graph_rope_factor_rows(c->p->g, n);
    l->args[ROPE_FACTORS_FROM] = spec->factors_from;
    l->args[ROPE_FACTORS] = n->operand_count > 2 ? at(c, n->operands[2]) : 0;
    l->args[ROPE_X_COMPUTED] = lower_is_computed(c, n->operands[0]);
    l->polls_epoch = l->epoch_only = true;
}

static void lower_store(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    uint32_t count = (uint32_t)shape_count(node_at(c, n->operands[1])->s);
    l->args[ARG_GROUPS] = groups_for(n->type >= DTYPE_Q8_0 ? count / 64 : count / 2);
    l->args[STORE_STATE] = at(c, n->operands[0]);
    l->args[ARG_X] = at(c, n->operands[1]);
    l->args[STORE_COUNT] = count;
    l->args[STORE_ROW_LENGTH] = n->s.dims[2] * n->s.dims[3];
    l->args[STORE_POSITION] = at(c, n->operands[2]);
    l->args[STORE_CAPACITY] = n->s.dims[1];
    l->args[STORE_CACHE] = lower_cache(n->type);
    l->args[STORE_X_COMPUTED] = lower_is_computed(c, n->operands[1]);
    l->polls_epoch = true;
    l->state_arena = memory_state_arena(c->m, c->which, n->operands[0]);
}

/* BLOCK of attention_vec.wgsl, positions at a time: fewer if heads are long, so that more workgroups share them. */
static uint32_t attention_block(uint32_t head)
{
    return head >= 128 ? 64 : 128;
}

/* One row, or a few, with heads of a size that divides evenly among a workgroup's threads. */
static bool fits_attention_vec(const lowering *c, uint32_t head, uint32_t rows, dtype type)
{
    uint32_t lanes = c->form->row_threads / attention_block(head);
    return !plan_has_many_rows(c->p, rows) && type == DTYPE_F16 && lanes <= c->t->subgroup && head >= 2 * lanes &&
           (head & (head - 1)) == 0 && c->form->row_threads >= head;
}

/* Heads of a text that a workgroup of attention_vec.wgsl has together, since they have the same keys and values: as long
 * as there is enough for all workgroups. */
static uint32_t heads_together(const lowering *c, const shape *q, uint32_t kv_heads, uint32_t splits)
{
    enum { MOST = 4 };
    uint32_t alike = q->dims[2] / kv_heads, together = 1;
    while (c->t->attention_cells && c->p->slots && splits == 1 && together < MOST && alike % (2 * together) == 0 &&
           q->dims[1] * q->dims[2] >= 2 * together * c->t->attention_cells)
        together *= 2;
    return together;
}

/* Many rows share the keys and values they read, if they fit workgroup memory: op_attention_tile.wgsl. Returns how many
 * rows do at once; 0: none. */
static uint32_t rows_of_attention_tile(const lowering *c, const shape *q)
{
    enum { BLOCK = 64, LEAST_ROWS = 8, MOST_SIZE = 128 };
    uint32_t size = q->dims[3], line = size / 4 | 1;
    for (uint32_t at_once = size > 64 ? 16 : 32; at_once >= 16; at_once /= 2) {
        uint32_t bytes = 16 * ((at_once + BLOCK) * line + at_once * (BLOCK / 4 + 1)) + 4 * (9 * at_once + 1);
        if (q->dims[1] >= LEAST_ROWS && size % 4 == 0 && size <= MOST_SIZE && bytes <= c->t->workgroup_bytes)
            return at_once;
    }
    return 0;
}

bool lower_attention_is_tiled(const lowering *c, const plan_step *s)
{
    const graph_node *n = node_at(c, s->at);
    const shape *q = &node_at(c, n->operands[0])->s;
    return !c->form->threads && !c->p->slots && !n->as.attention.value_size && plan_splits(c->p, s) == 1 &&
           (lower_attention_matrix(c, &(dispatch_desc){0}, n, false) || rows_of_attention_tile(c, q) > 0);
}

static void lower_attention_tile(const lowering *c, dispatch_desc *l, const shape *q, bool halves)
{
    uint32_t rows = q->dims[1], heads = q->dims[2], at_once = rows_of_attention_tile(c, q);
    if (!at_once)
        return;
    l->kernel = (kernel_variant){.name = "op_attention_tile"};
    kernel_set_constant(&l->kernel, CONSTANT_SIZE, q->dims[3]);
    kernel_set_constant(&l->kernel, CONSTANT_ROWS, at_once);
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, 8 * at_once);
    kernel_set_constant(&l->kernel, CONSTANT_HALVES, halves);
    l->args[ARG_GROUPS] = (rows + at_once - 1) / at_once * heads;
    l->args[ATTENTION_ROWS] = rows;
}

/* Many rows in software: neighbouring threads have neighbouring rows (attention_rows.wgsl). */
static void lower_attention_rows(const lowering *c, dispatch_desc *l, const graph_node *n, dtype type)
{
    const shape *q = &node_at(c, n->operands[0])->s;
    uint32_t rows = q->dims[1], heads = q->dims[2], size = q->dims[3], threads = c->t->subgroup;
    if (!lower_many_rows(c, rows) || type >= DTYPE_Q8_0)
        return;
    l->kernel = (kernel_variant){.name = "attention_rows", .subgroup = threads};
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
    kernel_set_constant(&l->kernel, CONSTANT_LOADS, (size / 2 + threads - 1) / threads);
    kernel_set_constant(&l->kernel, CONSTANT_LOAD_VEC4S, threads / 2);
    kernel_set_constant(&l->kernel, CONSTANT_HALVES, type == DTYPE_F16);
    kernel_set_constant(&l->kernel, CONSTANT_CAPPED, n->as.attention.softcap > 0);
    l->args[ARG_GROUPS] = (rows + threads - 1) / threads * heads;
    l->args[ATTENTION_ROWS] = rows;
}

/* In a megakernel, this run's own keys and values have epoch bits: they are read from a copy beside the state. */
static void lower_own_row(const lowering *c, dispatch_desc *l, const graph_node *n)
{
    l->args[ATTENTION_OWN_KEY] = memory_row_at(c->m, c->which, n->operands[1]);
    l->args[ATTENTION_OWN_VALUE] = memory_row_at(c->m, c->which, n->operands[2]);
    l->epoch_only = c->form->threads && l->args[ATTENTION_OWN_KEY] && l->args[ATTENTION_OWN_VALUE];
    kernel_set_constant(&l->kernel, CONSTANT_NOW, l->epoch_only);
}

/* The kernel for few rows and their shape, where the device has a better one than op_attention. Returns how many heads a
 * workgroup of it has. */
static uint32_t choose_attention(const lowering *c, dispatch_desc *l, const graph_node *n, uint32_t splits)
{
    const graph_node *q = node_at(c, n->operands[0]), *k = node_at(c, n->operands[1]);
    uint32_t rows = q->s.dims[1], head = q->s.dims[3], threads = c->form->row_threads, together = 1;
    if (n->as.attention.value_size) { /* one kernel can do that */
        if (c->t->specialize || c->t->compile_fast)
            kernel_set_constant(&l->kernel, CONSTANT_MAX_SIZE, head);
        if (c->t->compile_fast)
            kernel_set_constant(&l->kernel, CONSTANT_HALVES, lower_cache(k->type));
    } else if (c->t->specialize && fits_attention_vec(c, head, rows, k->type)) {
        uint32_t pairs = head / 2, block = attention_block(head);
        l->kernel.name = "attention_vec";
        l->polls_epoch = true;
        lower_own_row(c, l, n);
        kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
        kernel_set_constant(&l->kernel, CONSTANT_HEAD, head);
        kernel_set_constant(&l->kernel, CONSTANT_BLOCK, block);
        kernel_set_constant(&l->kernel, CONSTANT_KEYS, pairs / (threads / block));
        kernel_set_constant(&l->kernel, CONSTANT_VALUES, block / (threads / pairs));
        together = heads_together(c, &q->s, k->s.dims[2], splits);
        kernel_set_constant(&l->kernel, CONSTANT_AHEAD, c->t->attention_ahead || c->p->slots);
        kernel_set_constant(&l->kernel, CONSTANT_GROUP, together);
        if (c->form->threads)
            kernel_set_constant(&l->kernel, CONSTANT_SHARED_X_WORDS, c->t->x_floats);
    } else if (c->t->compile_fast || c->t->specialize) {
        /* The order of its sums follows from its threads: as many as a megakernel has. */
        if (c->t->specialize)
            kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
        if (c->t->compile_fast || k->type >= DTYPE_Q8_0)
            kernel_set_constant(&l->kernel, CONSTANT_HALVES, lower_cache(k->type));
        if (c->t->compile_fast && k->type < DTYPE_Q8_0 && splits == 1 && !plan_has_many_rows(c->p, rows) &&
            head % 4 == 0) {
            l->kernel.name = "attention_plain";
            l->kernel.subgroup = 0;
            kernel_set_constant(&l->kernel, CONSTANT_CAPPED, n->as.attention.softcap > 0);
        }
    }
    return together;
}

static uint32_t lower_attention(const lowering *c, dispatch_desc *l, const plan_step *s, const graph_node *n, err *e)
{
    if (memory_state_arena(c->m, c->which, n->operands[1]) != memory_state_arena(c->m, c->which, n->operands[2]))
        return err_set(e, "keys and values of an attention do not lie in one buffer"), 0;
    const graph_node *q = node_at(c, n->operands[0]), *k = node_at(c, n->operands[1]);
    uint32_t splits = plan_splits(c->p, s), heads = q->s.dims[1] * q->s.dims[2];
    l->polls_epoch = true; /* as all its kernels do */
    uint32_t together = choose_attention(c, l, n, splits);
    bool bare = !c->t->specialize && !c->t->compile_fast; /* kernels as the build made them */
    if (bare && q->s.dims[3] > LOWER_BARE_HEAD)
        return err_set(e, "heads of %u elements: bare Vulkan has %d at most", q->s.dims[3], LOWER_BARE_HEAD), 0;
    uint32_t largest = lower_largest_head(c); /* the same for all, so that a megakernel has one array */
    if ((c->t->tight || largest > LOWER_BARE_HEAD) && strcmp(l->kernel.name, "op_attention") == 0)
        kernel_set_constant(&l->kernel, CONSTANT_MAX_SIZE, largest);
    l->args[ARG_GROUPS] = heads / together * splits;
    l->args[ATTENTION_HEAD_SIZE] = q->s.dims[3];
    l->args[ATTENTION_VALUE_SIZE] = n->s.dims[LAST] / q->s.dims[2];
    l->args[ATTENTION_HEADS] = q->s.dims[2];
    l->args[ATTENTION_KV_HEADS] = k->s.dims[2];
    l->args[ATTENTION_POSITION] = at(c, n->operands[3]);
    l->args[ATTENTION_SCALE] = as_word(n->as.attention.scale);
    l->args[ATTENTION_SOFTCAP] = as_word(n->as.attention.softcap);
    l->args[ATTENTION_WINDOW] = n->as.attention.window;
    l->args[ATTENTION_SINKS] = n->operand_count > 4 ? at(c, n->operands[4]) + 1 : 0;
    l->args[ATTENTION_KEYS] = at(c, n->operands[1]);
    l->args[ATTENTION_VALUES] = at(c, n->operands[2]);
    l->args[ATTENTION_CACHE] = lower_cache(k->type);
    l->args[ATTENTION_CAPACITY] = k->s.dims[1];
    l->args[ATTENTION_SPLITS] = splits;
    l->args[ATTENTION_Q_COMPUTED] = lower_is_computed(c, n->operands[0]);
    l->state_arena = memory_state_arena(c->m, c->which, n->operands[1]);
    if (n->as.attention.value_size)
        return 1;
    if (splits == 1) {
        bool halves = lower_is_halves(c, s->at);
        if (!c->form->threads && !c->p->slots && !lower_attention_matrix(c, l, n, halves))
            lower_attention_tile(c, l, &q->s, halves);
        lower_attention_rows(c, l, n, k->type);
        return 1;
    }
    if (s->split_output)
        return 1;
    dispatch_desc *combine = l + 1;
    *combine = (dispatch_desc){.kernel.name = "op_attention_combine"};
    combine->args[ARG_GROUPS] = heads;
    combine->args[ARG_OUT] = l->args[ARG_OUT];
    combine->args[COMBINE_SPLITS_AT] = memory_scratch_at(c->m, c->which);
    combine->args[COMBINE_HEAD_SIZE] = q->s.dims[3];
    combine->args[COMBINE_SPLITS] = splits;
    l->args[ARG_OUT] = memory_scratch_at(c->m, c->which);
    return 2;
}

/* ---- all steps -------------------------------------------------------------------- */

/* The kernel of an operator, or NULL. (Products choose one of several: matmul_tiling.c.) */
static const char *kernel_name(graph_op op)
{
    switch (op) {
    case OP_UNARY: return "op_unary";
    case OP_BINARY: return "op_binary";
    case OP_REDUCE: return "op_reduce";
    case OP_SOFTMAX: return "op_softmax";
    case OP_RMSNORM:
    case OP_LAYERNORM: return op == OP_RMSNORM ? "op_rmsnorm" : "op_layernorm"; /* lower_norm.c */
    case OP_GATHER: return "op_gather";
    case OP_ROPE: return "op_rope";
    case OP_STORE: return "op_store";
    case OP_ATTENTION: return "op_attention";
    case OP_ATTENTION_WHOLE: return "op_attention_whole";
    case OP_POOL: return "op_pool";
    case OP_MAP: return "op_map";
    case OP_CONTRACT: return "op_contract";
    case OP_SLICE: return "op_slice";
    case OP_PICK: return "op_pick";
    case OP_TOPK: return "op_topk";
    case OP_ROUTE: return "op_route";
    case OP_MIX: return "op_mix";
    case OP_HEADS: return "op_heads";
    case OP_JOIN: return "op_join";
    case OP_WEIGH: return "op_weigh";
    case OP_ASSIGN: return "op_assign";
    case OP_SAMPLE: return "op_sample";
    default: return NULL;
    }
}

static uint32_t lower_dispatches(const lowering *c, const plan_step *s, dispatch_desc *l, err *e)
{
    if (s->op == OP_MATMUL || s->op == OP_EXPERTS)
        return s->op == OP_MATMUL ? lower_matmul(c, l, s, e) : lower_experts(c, l, s, e);
    if (s->op == OP_CONV || s->op == OP_DELTA)
        return lower_recurrent(c, l, s);
    if (plan_is_chain(s))
        return lower_chain(c, l, s), 1;
    if (!kernel_name(s->op))
        return err_set(e, "operator %s has no kernel", graph_op_names[s->op]), 0;
    const graph_node *n = node_at(c, s->at), *x = node_at(c, n->operands[0]);
    uint32_t count = (uint32_t)shape_count(n->s), length = x->s.dims[LAST],
             rows = (uint32_t)(shape_count(x->s) / length);
    if (n->op == OP_RMSNORM || n->op == OP_LAYERNORM)
        return lower_norm(c, l, s->at), 1;
    bool by_row = n->op == OP_REDUCE || n->op == OP_SOFTMAX || n->op == OP_TOPK || n->op == OP_ROUTE;
    *l = (dispatch_desc){.kernel.name = kernel_name(s->op)};
    if ((by_row && n->op != OP_ROUTE) || n->op == OP_ATTENTION)
        lower_with_subgroups(c, l);
    if (by_row && c->t->specialize)
        kernel_set_constant(&l->kernel, CONSTANT_THREADS, c->form->row_threads);
    l->args[ARG_GROUPS] = by_row ? rows : groups_for(count);
    l->args[ARG_OUT] = at(c, s->at);
    l->args[ARG_X] = n->op == OP_GATHER || n->op == OP_HEADS ? 0 : at(c, n->operands[0]);
    if (by_row)
        l->args[ARG_LENGTH] = length;
    switch (n->op) {
    case OP_UNARY:
        l->args[ARG_COUNT] = count;
        l->args[UNARY_OP_KIND] = n->as.unary.kind;
        l->args[UNARY_OP_A] = as_word(n->as.unary.a);
        l->args[UNARY_OP_B] = as_word(n->as.unary.b);
        l->args[UNARY_OP_X_COMPUTED] = lower_is_computed(c, n->operands[0]);
        l->polls_epoch = l->epoch_only = true;
        break;
    case OP_BINARY: lower_binary(c, l, n); break;
    case OP_REDUCE: l->args[REDUCE_OP_KIND] = n->as.reduce; break;
    case OP_SOFTMAX: l->args[SOFTMAX_SCALE] = as_word(n->as.softmax_scale); break;
    case OP_TOPK: lower_topk(c, l, n); break;
    case OP_HEADS: return lower_heads(c, l, n, e);
    case OP_JOIN: lower_join(c, l, n); break;
    case OP_WEIGH: lower_weigh(c, l, n); break;
    case OP_ROUTE: lower_route(c, l, n); break;
    case OP_MIX: lower_mix(c, l, n); break;
    case OP_GATHER: return lower_gather(c, l, n);
    case OP_ROPE: lower_rope(c, l, n); break;
    case OP_STORE: lower_store(c, l, n); break;
    case OP_ATTENTION: return lower_attention(c, l, s, n, e);
    case OP_ATTENTION_WHOLE: lower_attention_whole(c, l, n); break;
    case OP_POOL: lower_pool(c, l, n); break;
    case OP_MAP: lower_map(c, l, n); break;
    case OP_CONTRACT: lower_contract(c, l, n); break;
    case OP_SLICE:
        l->args[ARG_COUNT] = count;
        l->args[SLICE_LENGTH] = n->s.dims[LAST];
        l->args[SLICE_ROW_LENGTH] = length;
        l->args[SLICE_START] = n->as.slice_start;
        l->polls_epoch = l->epoch_only = n->type != DTYPE_U32;
        l->args[SLICE_FORM] = l->polls_epoch ? 1 + lower_is_computed(c, n->operands[0]) : 0;
        break;
    case OP_PICK:
        l->args[ARG_GROUPS] = n->s.dims[LAST - 1];
        l->args[ARG_LENGTH] = length;
        l->args[PICK_ROWS] = at(c, n->operands[1]);
        l->args[PICK_LAST_ROW] = x->s.dims[LAST - 1] - 1;
        break;
    case OP_ASSIGN: lower_assigns(c, l, s); break;
    case OP_SAMPLE: return lower_sample(c, l, n);
    default: break;
    }
    return 1;
}

uint32_t lower_step_of(const lowering *c, const plan_step *s, dispatch_desc *l, err *e)
{
    uint32_t count = lower_dispatches(c, s, l, e);
    /* In a megakernel, all kernels are compact or none is: it sets that itself. */
    for (uint32_t i = 0; i < count && c->t->compile_fast && !c->form->threads; i++)
        kernel_set_constant(&l[i].kernel, CONSTANT_COMPACT, 1);
    bool placed = s->op == OP_ROPE || s->op == OP_STORE || s->op == OP_ATTENTION || s->op == OP_MATMUL ||
                  s->op == OP_CONV || s->op == OP_DELTA;
    for (uint32_t i = 0; i < count; i++)
        l[i].kernel.slots = c->p->slots && placed;
    for (uint32_t i = 0; i < count && c->t->epoch_bit; i++)
        kernel_set_constant(&l[i].kernel, CONSTANT_EPOCH_BIT, 1);
    return count;
}
