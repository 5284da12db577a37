/* matmul_slots: products that read weights once for several rows of x, which are texts of their own: how the threads of
 * matmul_slots.wgsl share the work. */
#include "graph/lower_internal.h"

enum { LEAST_TEAM = 32 };

/* How the threads of a workgroup share a product. */
typedef struct slots_cut {
    uint32_t team, segment; /* threads of a row4; chunks of x in workgroup memory */
    bool alone;
} slots_cut;

/* As much of every row of x as there is workgroup memory for is a segment: `room` chunks. */
static bool choose_cut(const lowering *c, uint32_t row4s, uint32_t rows, uint32_t chunks, uint32_t room, slots_cut *cut)
{
    uint32_t threads = c->form->row_threads, subgroup = c->t->subgroup;
    uint32_t team = subgroup > LEAST_TEAM || rows <= subgroup ? subgroup : LEAST_TEAM;
    if (2 * room < team)
        return false;
    while (team * 2 <= threads && row4s * team < LOWER_ENOUGH_THREADS && chunks > team && team * 2 <= room)
        team *= 2;
    uint32_t segment = chunks <= room ? chunks : room > team ? room / team * team : room;
    *cut = (slots_cut){
        .team = team, .segment = segment, .alone = team == subgroup && segment == chunks && rows <= subgroup};
    return true;
}

uint32_t lower_slots_together(uint32_t rows, uint32_t subgroups)
{
    uint32_t together = LOWER_SLOTS_TOGETHER;
    while (together * subgroups < rows)
        together *= 2;
    return together < rows ? together : rows;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void lower_slots_groups(const lowering *c, dispatch_desc *l, uint32_t units)
{
    uint32_t groups = least_of(units, c->t->busy_groups);
    if (c->form->threads) {
        l->depends_on_groups = 1u << ARG_GROUPS | 1u << MATMUL_ROW_GROUPS;
        l->single_pass = true;
        kernel_set_constant(&l->kernel, CONSTANT_PARTS, l->args[MATMUL_PART_COUNT]);
        kernel_set_constant(&l->kernel, CONSTANT_EPILOGUE_STEPS, lower_most_epilogue_steps(l));
        groups = least_of(units, c->form->groups); /* every workgroup has some */
    }
    kernel_set_constant(&l->kernel, CONSTANT_WHOLE_ROW4S, lower_row4s_are_whole(l));
    l->polls_epoch = true;
    lower_with_subgroups(c, l);
    l->args[ARG_GROUPS] = l->args[MATMUL_ROW_GROUPS] = least_of(groups, c->t->most_groups);
}

/* Workgroups that share k: of a whole matrix, not of a piece of it. */
static uint32_t shares_of(const lowering *c, const plan_step *s, uint32_t row4s)
{
    const graph_node *product = node_at(c, s->parts[0].matmul);
    bool whole = row4s == lower_row4s_of(&s->parts[0], product->s.dims[LOWER_LAST_DIM]);
    return whole ? plan_k_shares(c->p, s) : 1;
}

/* The threads are the same at all levels, so that all get the same sums. */
bool lower_slots(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t row4s, uint32_t rows,
                 uint32_t chunks, const layout *lies)
{
    static const char *const stored[] = {
        [BYTES_ONE] = "int8", [BYTES_HALVES] = "int8_halves", [BYTES_PAIRS] = "int8_pairs"};
    enum { PACKED_WORDS = 10, PACKED_MORE = 2 }; /* of a chunk of int8, and of a row: slots_int8.wgsl */
    uint32_t threads = c->form->row_threads, length = l->args[MATMUL_LENGTH];
    bool packed = c->t->int8_dot && lies->bytes != BYTES_NONE && length % 32 == 0;
    uint32_t each = packed ? PACKED_WORDS : lies->chunk_weights, more = packed ? PACKED_MORE : 0;
    /* Its sums take more workgroup memory than those of matmul_row.wgsl, which x_floats leaves room for. */
    enum { SUM_WORDS = 5, ROW_SUM_WORDS = 44 }; /* of a subgroup: for each row; of all */
    uint32_t subgroups = threads / (c->t->subgroup ? c->t->subgroup : 1);
    uint32_t taken =
        rows * SUM_WORDS > ROW_SUM_WORDS && !c->t->slots_fit ? (rows * SUM_WORDS - ROW_SUM_WORDS) * subgroups : 0;
    uint32_t left = c->t->x_floats > taken ? c->t->x_floats - taken : 0;
    uint32_t row_words = left / (rows ? rows : 1);
    uint32_t room = row_words > more ? (row_words - more) / each : 0;
    room -= room > 0 && room % 2 == 0; /* STRIDE is odd */
    slots_cut cut;
    uint32_t shares = shares_of(c, s, row4s);
    if (!c->t->specialize || !c->p->slots || c->t->subgroup < 8 || length % 4 || l->args[MATMUL_X_FORM] == X_SPLITS ||
        !choose_cut(c, row4s * shares, rows, chunks / shares, room, &cut))
        return false;
    l->kernel.name = "matmul_slots";
    l->kernel.x = packed ? stored[lies->bytes] : NULL;
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
    kernel_set_constant(&l->kernel, CONSTANT_TEAM, cut.team);
    kernel_set_constant(&l->kernel, CONSTANT_ROWS, rows);
    kernel_set_constant(&l->kernel, CONSTANT_LENGTH, length);
    kernel_set_constant(&l->kernel, CONSTANT_CHUNK_VEC4S, l->args[MATMUL_CHUNK_VEC4S]);
    kernel_set_constant(&l->kernel, CONSTANT_SEGMENT_CHUNKS, cut.segment);
    kernel_set_constant(&l->kernel, CONSTANT_NORMS, l->args[MATMUL_X_FORM] == X_NORMED);
    kernel_set_constant(&l->kernel, CONSTANT_TOGETHER, lower_slots_together(rows, subgroups));
    kernel_set_constant(&l->kernel, CONSTANT_ALONE_AT_ONCE, cut.alone);
    kernel_set_constant(&l->kernel, CONSTANT_SHARED_X_WORDS,
                        c->form->threads ? c->t->x_floats : (rows * ((cut.segment | 1) * each + more) + 31) / 32 * 32);
    kernel_set_constant(&l->kernel, CONSTANT_SHARES, shares);
    lower_slots_groups(c, l, row4s * shares);
    l->single_pass = l->single_pass && l->args[ARG_GROUPS] >= shares;
    uint32_t groups = l->args[ARG_GROUPS] < shares ? shares : l->args[ARG_GROUPS] / shares * shares;
    l->args[ARG_GROUPS] = l->args[MATMUL_ROW_GROUPS] = groups;
    if (shares > 1)
        l->args[MATMUL_SUMS] = memory_sums_at(c->m, c->which, s->parts[0].matmul);
    return true;
}

uint32_t lower_slots_combine(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    enum { EACH = 64 }; /* as in matmul_slots_combine.wgsl */
    uint32_t row4s = l->args[MATMUL_ROW4S], rows = l->args[MATMUL_X_ROWS], shares = shares_of(c, s, row4s);
    if (shares == 1 || strcmp(l->kernel.name, "matmul_slots") != 0)
        return 0;
    dispatch_desc *combine = l + 1;
    *combine = *l;
    combine->kernel = (kernel_variant){.name = "matmul_slots_combine"};
    combine->single_pass = false;
    combine->depends_on_groups = 0;
    combine->weight_arena = 0;
    kernel_set_constant(&combine->kernel, CONSTANT_SHARES, shares);
    kernel_set_constant(&combine->kernel, CONSTANT_ROWS, rows);
    kernel_set_constant(&combine->kernel, CONSTANT_WHOLE_ROW4S, lower_row4s_are_whole(l));
    if (c->form->threads) {
        kernel_set_constant(&combine->kernel, CONSTANT_PARTS, 1);
        kernel_set_constant(&combine->kernel, CONSTANT_EPILOGUE_STEPS, lower_most_epilogue_steps(l));
    }
    combine->args[ARG_GROUPS] = (row4s * rows + EACH - 1) / EACH;
    lower_leave_out(combine, 1);
    return 1;
}
