/* matmul_slots_matrix: products of a few texts by matrix units, which read f16 weights from memory as they lie there: for
 * which products, and how the subgroups of a workgroup share them. */
#include "graph/lower_internal.h"

enum {
    LANES = 32,    /* of a subgroup */
    FRAGMENT = 16, /* rows of weights, and elements of k */
    CHUNK = 8,     /* weights */
    LINE_PAD = 8,  /* as in matmul_slots_matrix.wgsl: LINE */
    MOST_HELD = 8, /* fragments of a subgroup that are on their way */
};

/* How a product is shared. */
typedef struct matrix_cut {
    uint32_t team;    /* subgroups of a tile */
    uint32_t tiles;   /* of a unit */
    uint32_t columns; /* of a fragment of x */
    uint32_t segment; /* fragments of k */
} matrix_cut;

/* Two tiles make a unit where rows of two places meet in an epilogue; 0: rows are no whole units. */
static uint32_t tiles_of(dispatch_desc *l, uint32_t parts)
{
    uint32_t tiles = 1;
    for (uint32_t p = 0; p < parts; p++) {
        uint32_t form = lower_part_args(l, p)[PART_FORM];
        tiles = form == FORM_GATED || form == FORM_ROPE_HALF ? 2 : tiles;
    }
    for (uint32_t p = 0; p < parts; p++) {
        const uint32_t *part = lower_part_args(l, p);
        uint32_t rows = part[PART_FORM] == FORM_GATED ? FRAGMENT : tiles * FRAGMENT;
        if (part[PART_ROWS] % rows || (part[PART_FORM] == FORM_ROPE_HALF && part[PART_HEAD_SIZE] % (2 * FRAGMENT)))
            return 0;
    }
    return tiles;
}

/* Numbers of x for which workgroup memory has room beside the other kernels of a megakernel: the same for all products. */
static uint32_t room_for_x(const lowering *c, uint32_t columns)
{
    enum { OTHERS = 8320 + 5376 }; /* shared_x at its least; attention's, sampling's and what else there is */
    uint32_t sums = c->form->row_threads / LANES * columns * FRAGMENT * (uint32_t)sizeof(float);
    uint32_t squares = c->form->row_threads / c->t->subgroup * LOWER_SLOTS_TOGETHER * (uint32_t)sizeof(float);
    uint32_t taken = OTHERS + sums + squares, number = c->t->matrix_lanes ? 4 : 2;
    return c->t->workgroup_bytes > taken ? (c->t->workgroup_bytes - taken) / number / 64 * 64 : 0;
}

/* The team with the fewest steps, a round's barriers counted as some of them. */
static uint32_t choose_team(const lowering *c, uint32_t units, uint32_t fragments, const matrix_cut *m)
{
    enum { ROUND_STEPS = 3 };
    uint32_t subgroups = c->form->row_threads / LANES, best = 0, least = 0;
    for (uint32_t team = subgroups / m->tiles; team; team /= 2) {
        uint32_t at_once = c->t->busy_groups * (subgroups / team / m->tiles);
        uint32_t steps = (units + at_once - 1) / at_once * ((fragments + team - 1) / team + ROUND_STEPS);
        bool ends = LANES * m->columns * FRAGMENT / 4 / team <= c->form->row_threads; /* a row4 for each thread */
        if (ends && (!best || steps < least)) {
            best = team;
            least = steps;
        }
    }
    return best;
}

/* All of k is a segment if there is room for it; else as many whole steps of a team as there is room for. */
static bool choose_segment(uint32_t fragments, uint32_t room, matrix_cut *m)
{
    uint32_t line = room / m->columns, most = line > LINE_PAD ? (line - LINE_PAD) / FRAGMENT : 0;
    m->segment = fragments;
    if (fragments <= most)
        return true;
    while (m->team > most && m->team > 1)
        m->team /= 2;
    uint32_t steps = most / m->team < MOST_HELD ? most / m->team : MOST_HELD;
    m->segment = steps * m->team;
    return steps > 0;
}

static bool is_for_matrix(const lowering *c, const dispatch_desc *l, const plan_step *s, uint32_t rows)
{
    enum { MOST_ARENAS = 3 }; /* that are bound once more */
    const device_profile *t = c->t;
    tensor_type type = node_at(c, node_at(c, s->parts[0].matmul)->operands[1])->as.weight;
    return t->matrix_texts && t->specialize && c->p->slots && type == TYPE_F16 && t->subgroup >= 8 &&
           l->args[MATMUL_LENGTH] % FRAGMENT == 0 && l->args[MATMUL_X_FORM] != X_SPLITS &&
           rows <= 2 * t->matrix_texts && l->weight_arena < MOST_ARENAS && c->form->row_threads >= LANES;
}

bool lower_slots_matrix(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t row4s, uint32_t rows)
{
    if (!is_for_matrix(c, l, s, rows))
        return false;
    uint32_t threads = c->form->row_threads, fragments = l->args[MATMUL_LENGTH] / FRAGMENT;
    matrix_cut m = {.tiles = tiles_of(l, s->part_count),
                    .columns = rows <= c->t->matrix_texts ? c->t->matrix_texts : 2 * c->t->matrix_texts};
    if (!m.tiles || threads / LANES < m.tiles)
        return false;
    uint32_t room = room_for_x(c, m.columns), units = row4s / (4 * m.tiles);
    m.team = choose_team(c, units, fragments, &m);
    if (!m.team || !choose_segment(fragments, room, &m))
        return false;
    uint32_t steps = (m.segment + m.team - 1) / m.team;
    l->kernel.name = "matmul_slots_matrix";
    l->kernel.matrix = !c->t->matrix_lanes;
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
    kernel_set_constant(&l->kernel, CONSTANT_TEAM, m.team);
    kernel_set_constant(&l->kernel, CONSTANT_TILES, m.tiles);
    kernel_set_constant(&l->kernel, CONSTANT_ROWS, rows);
    kernel_set_constant(&l->kernel, CONSTANT_COLUMNS, m.columns);
    kernel_set_constant(&l->kernel, CONSTANT_LENGTH, l->args[MATMUL_LENGTH]);
    kernel_set_constant(&l->kernel, CONSTANT_SEGMENT_CHUNKS, m.segment * (FRAGMENT / CHUNK));
    kernel_set_constant(&l->kernel, CONSTANT_TILE_NUMBERS,
                        c->form->threads ? room : m.columns * (m.segment * FRAGMENT + LINE_PAD));
    kernel_set_constant(&l->kernel, CONSTANT_NORMS, l->args[MATMUL_X_FORM] == X_NORMED);
    kernel_set_constant(&l->kernel, CONSTANT_TOGETHER, lower_slots_together(rows, threads / c->t->subgroup));
    kernel_set_constant(&l->kernel, CONSTANT_HELD, steps < MOST_HELD ? steps : MOST_HELD);
    lower_slots_groups(c, l, units);
    return true;
}
