/* matmul_matrix: products of many rows by matrix units: which products, in tiles of which size, and which activations
 * lie in memory as f16 because only such products read them. */
#include "base/scan.h"
#include "base/str.h"
#include "graph/lower_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LEAST_ROWS = 24, /* of x: with fewer, most of a tile would be empty */
    LANES = 32,      /* of a subgroup */
    PAIR_PAD = 8,    /* as in matmul_matrix.wgsl: LINE, SUM_LINE */
    SUM_PAD = 4,
};

/* A workgroup: subgroups down, across, and those that share k; fragments of each; DEPTH. What of the sums is in workgroup
 * memory at the same time (AT_ONCE, SUM_BUFFERS) follows from what is left of it. */
typedef struct matrix_tile {
    uint32_t rows, columns, slices, down, across, depth, at_once, sum_buffers;
} matrix_tile;

static uint32_t tile_rows(const device_profile *t, const matrix_tile *m)
{
    return m->rows * m->down * t->matrix_rows;
}

static uint32_t tile_columns(const device_profile *t, const matrix_tile *m)
{
    return m->columns * m->across * t->matrix_columns;
}

static uint32_t subgroups_of(const matrix_tile *m)
{
    return m->rows * m->columns * m->slices;
}

static uint32_t tile_bytes(const device_profile *t, const matrix_tile *m)
{
    uint32_t number = t->matrix_lanes ? 4 : 2;
    uint32_t area = t->matrix_rows * (m->at_once * t->matrix_columns + SUM_PAD);
    return number * (tile_rows(t, m) + tile_columns(t, m)) * (m->depth + PAIR_PAD) +
           4 * m->sum_buffers * subgroups_of(m) * area;
}

/* Weights of this type come two at a time; others in chunks of 32. */
static bool comes_in_pairs(tensor_type type)
{
    return layout_of(type)->chunk_weights < 32;
}

/* Row4s of a round for each thread. */
static uint32_t ends_of(const device_profile *t, const matrix_tile *m)
{
    uint32_t row4s = t->matrix_rows * t->matrix_columns * m->at_once / 4, lanes = LANES * m->slices;
    return (row4s + lanes - 1) / lanes;
}

static uint32_t tiles_of(const lowering *c, const plan_step *s, uint32_t rows, const matrix_tile *m)
{
    uint32_t across = 0, columns = tile_columns(c->t, m) / 4;
    for (uint32_t p = 0; p < s->part_count; p++) {
        uint32_t n = node_at(c, s->parts[p].matmul)->s.dims[LOWER_LAST_DIM];
        across += (lower_row4s_of(&s->parts[p], n) + columns - 1) / columns;
    }
    return across * ((rows + tile_rows(c->t, m) - 1) / tile_rows(c->t, m));
}

/* What tiles cost on an H200, in microseconds (docs/speed.md): a step along k with one workgroup on a multiprocessor, and
 * with as many as there is room for, of weights in pairs and in chunks; and a workgroup beside its steps. Where only one
 * of these was measured, the others are worked out from tiles that are alike: they decide less often. */
typedef struct tile_cost {
    uint32_t shape[6];          /* the fields of a matrix_tile up to depth */
    uint32_t resident;          /* workgroups on a multiprocessor */
    double pairs[2], chunks[2]; /* of a step: alone; all of them */
    double end;
} tile_cost;

static const tile_cost tile_costs[] = {
    {{2, 2, 2, 4, 4, 64}, 1, {1.04, 1.04}, {1.83, 1.83}, 16}, {{4, 2, 1, 4, 5, 32}, 1, {1.17, 1.17}, {1.75, 1.75}, 20},
    {{2, 2, 1, 4, 4, 32}, 2, {0.98, 1.60}, {1.52, 2.42}, 8},  {{1, 1, 8, 4, 4, 128}, 1, {1.06, 1.06}, {1.66, 1.66}, 12},
    {{1, 2, 4, 4, 2, 64}, 2, {0.83, 1.46}, {1.30, 2.00}, 4},  {{1, 1, 8, 2, 4, 128}, 2, {1.00, 1.70}, {1.50, 2.90}, 7},
    {{1, 1, 4, 4, 4, 64}, 2, {0.87, 1.40}, {1.25, 2.10}, 6},  {{2, 2, 1, 2, 4, 32}, 2, {0.85, 1.30}, {1.10, 1.70}, 6},
    {{1, 2, 1, 1, 2, 32}, 2, {0.80, 1.00}, {1.00, 1.20}, 4},  {{1, 1, 2, 2, 4, 32}, 2, {0.80, 1.10}, {1.00, 1.40}, 4}};
enum { LANES_TILES = 2 }; /* the last ones: software takes long to compile more */

/* The time of a product: full waves of workgroups, of which one begins when another ends, and what is left. */
static double cost_of(const lowering *c, const plan_step *s, uint32_t rows, uint32_t k, const tile_cost *t,
                      const matrix_tile *m, tensor_type type)
{
    const double OVERLAP = 0.25; /* what an end costs where other workgroups go on */
    const double *step = comes_in_pairs(type) ? t->pairs : t->chunks;
    uint32_t tiles = tiles_of(c, s, rows, m), at_once = c->t->busy_groups * t->resident, steps = k / m->depth;
    uint32_t left = tiles % at_once;
    double us = tiles / at_once * (steps * step[1] + OVERLAP * t->end);
    if (left)
        us += steps * step[left > c->t->busy_groups] + t->end;
    return us;
}

/* As much of the sums as there is workgroup memory for: fewer rounds, with fewer barriers. */
static bool place_sums(const device_profile *t, matrix_tile *m)
{
    static const uint32_t ways[][2] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}}; /* at_once, sum_buffers */
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        m->at_once = ways[i][0];
        m->sum_buffers = ways[i][1];
        if (m->across % m->at_once == 0 && tile_bytes(t, m) <= t->workgroup_bytes)
            return true;
    }
    return false;
}

static bool fits(const lowering *c, matrix_tile *m, uint32_t k, tensor_type type)
{
    /* A thread brings whole pairs of x and of weights; of chunks, not every thread brings one. */
    uint32_t threads = subgroups_of(m) * LANES;
    return k % m->depth == 0 && tile_rows(c->t, m) * m->depth % (2 * threads) == 0 &&
           (!comes_in_pairs(type) || tile_columns(c->t, m) * m->depth % (2 * threads) == 0) &&
           threads <= c->t->most_threads &&
           m->depth / c->t->matrix_depth % m->slices == 0 && /* each slice has whole fragments */
           place_sums(c->t, m);
}

/* SOLO_MATRIX_TILE=ROWS,COLUMNS,SLICES,DOWN,ACROSS,DEPTH, to compare tiles: bench/matrix_tiles.sh. */
static bool is_set_by_hand(matrix_tile *m)
{
    const char *set = getenv("SOLO_MATRIX_TILE");
    uint32_t n[6];
    if (!set || !scan_numbers(set, "#,#,#,#,#,#", n))
        return false;
    m->rows = n[0], m->columns = n[1], m->slices = n[2], m->down = n[3], m->across = n[4], m->depth = n[5];
    return m->rows && m->columns && m->slices && m->down && m->across && m->depth && m->depth % 32 == 0;
}

static bool choose(const lowering *c, const plan_step *s, matrix_tile *best)
{
    const size_t count = sizeof tile_costs / sizeof *tile_costs;
    const graph_node *w = node_at(c, node_at(c, s->parts[0].matmul)->operands[1]);
    uint32_t rows = plan_rows(c->p, s), k = w->s.dims[LOWER_LAST_DIM];
    double least = 0;
    if (is_set_by_hand(best) && fits(c, best, k, w->as.weight))
        return true;
    best->depth = 0;
    for (size_t i = c->t->matrix_lanes ? count - LANES_TILES : 0; i < count; i++) {
        const uint32_t *n = tile_costs[i].shape;
        matrix_tile m = {n[0], n[1], n[2], n[3], n[4], n[5], 0, 0};
        if (!fits(c, &m, k, w->as.weight))
            continue;
        double us = cost_of(c, s, rows, k, &tile_costs[i], &m, w->as.weight);
        if (!best->depth || us < least) {
            *best = m;
            least = us;
        }
    }
    return best->depth > 0;
}

/* The tile of a product; false if matrix units are not for it. */
static bool tile_of(const lowering *c, const plan_step *s, matrix_tile *m)
{
    return s->op == OP_MATMUL && c->t->matrix_depth && !c->form->threads && !c->p->slots && !s->norm &&
           !s->combines_splits && plan_rows(c->p, s) >= LEAST_ROWS && choose(c, s, m);
}

/* ---- activations in f16 ------------------------------------------------------------ */

/* The node that a step could write as f16; or 0. */
static node could_be_halves(const lowering *c, const plan_step *s, bool by_matrix)
{
    bool can = s->op == OP_RMSNORM || (s->op == OP_ATTENTION && lower_attention_is_tiled(c, s)) ||
               (by_matrix && s->part_count == 1 && !s->parts[0].store);
    node n = can ? plan_root(c->p->g, s->op == OP_MATMUL ? s->parts[0].result : s->at) : 0;
    return n && !node_at(c, n)->name && node_at(c, n)->s.dims[LOWER_LAST_DIM] % 2 == 0 ? n : 0;
}

static bool is_operand(const lowering *c, const plan_step *s, node n)
{
    for (const plan_part *part = s->parts; part < s->parts + s->part_count; part++) {
        node before = part->matmul;
        for (uint32_t i = 0; i < part->epilogue_count; before = part->epilogue[i++]) {
            plan_operand o = {0};
            if (plan_operand_of(c->p->g, part->epilogue[i], before, &o) && plan_root(c->p->g, o.other) == n)
                return true;
        }
    }
    return false;
}

bool *lower_find_halves(const lowering *c)
{
    if (!c->t->matrix_depth || c->form->threads)
        return NULL;
    uint32_t nodes = graph_count(c->p->g);
    bool *halves = mem_alloc((nodes + 1) * sizeof *halves), *are_read = mem_alloc((nodes + 1) * sizeof *are_read);
    for (const plan_step *s = c->p->steps; s < c->p->steps + c->p->count; s++) {
        matrix_tile unused;
        node reads[PLAN_MAX_NODES];
        bool by_matrix = tile_of(c, s, &unused);
        uint32_t count = plan_reads(c->p, s, reads);
        for (uint32_t i = 0; i < count; i++) {
            are_read[reads[i]] = true;
            halves[reads[i]] &= by_matrix && plan_root(c->p->g, s->x) == reads[i] && !is_operand(c, s, reads[i]);
        }
        halves[could_be_halves(c, s, by_matrix)] = true;
    }
    for (uint32_t n = 0; n <= nodes; n++)
        halves[n] &= are_read[n];
    free(are_read);
    return halves;
}

/* ---- the kernel ---------------------------------------------------------------------- */

/* How weights of a type come: two at a time, or a chunk of 32. */
static void set_weights(dispatch_desc *l, const matrix_tile *m, uint32_t columns, tensor_type type)
{
    uint32_t threads = subgroups_of(m) * LANES, weights = columns * m->depth;
    bool pairs = comes_in_pairs(type);
    kernel_set_constant(&l->kernel, CONSTANT_W_EACH, pairs ? 0 : (weights / 32 + threads - 1) / threads);
    kernel_set_constant(&l->kernel, CONSTANT_W_PAIRS, pairs ? weights / 2 / threads : 0);
    kernel_set_constant(&l->kernel, CONSTANT_W_WIDE, type == TYPE_F32);
    kernel_set_constant(&l->kernel, CONSTANT_W_NARROW, type == TYPE_F16 || type == TYPE_BF16);
    kernel_set_constant(&l->kernel, CONSTANT_W_BF16, type == TYPE_BF16);
    bool f16_math = l->kernel.matrix && (type == TYPE_Q4_0 || type == TYPE_Q4_K || type == TYPE_Q8_0);
    kernel_set_constant(&l->kernel, CONSTANT_F16_MATH, f16_math);
    kernel_set_constant(&l->kernel, CONSTANT_F32_MATH, !f16_math);
}

/* Does it matter that an operand comes first? */
static bool in_order(const uint32_t *step)
{
    return step[STEP_OPERAND_FIRST] && step[STEP_KIND] != STEP_BINARY + BINARY_ADD &&
           step[STEP_KIND] != STEP_BINARY + BINARY_MUL;
}

/* A single part that goes to activations: its epilogue becomes part of the kernel. */
static void set_only_part(dispatch_desc *l)
{
    const uint32_t *part = lower_part_args(l, 0), *first = part + PART_STEPS, *second = first + STEP_SIZE;
    if (part[PART_DESTINATION] != DESTINATION_ACTIVATIONS || part[PART_STEP_COUNT] > 2 || in_order(first) ||
        in_order(second))
        return;
    kernel_set_constant(&l->kernel, CONSTANT_ONLY_FORM, part[PART_FORM]);
    kernel_set_constant(&l->kernel, CONSTANT_FIRST_KIND, first[STEP_KIND]);
    kernel_set_constant(&l->kernel, CONSTANT_SECOND_KIND, second[STEP_KIND]);
}

/* Are the rows of weights that a thread brings the same distance apart, in all tiles? */
static bool rows_are_linear(dispatch_desc *l, const plan_step *s, uint32_t tile_row4s)
{
    for (uint32_t p = 0; p < s->part_count; p++) {
        const uint32_t *part = lower_part_args(l, p);
        bool gated = part[PART_FORM] == FORM_GATED;
        bool halves = part[PART_FORM] == FORM_ROPE_HALF; /* of a head: a tile must not go beyond them */
        if (part[PART_ROWS] % (tile_row4s * (gated ? 2 : 4)) || (halves && part[PART_HEAD_SIZE] / 4 % tile_row4s) ||
            (gated && s->part_count > 1))
            return false;
    }
    return true;
}

uint32_t lower_matrix_tiles(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    const device_profile *t = c->t;
    matrix_tile m;
    if (!tile_of(c, s, &m))
        return 0;
    uint32_t rows = plan_rows(c->p, s), down = tile_rows(t, &m), threads = subgroups_of(&m) * LANES;
    bool halves = lower_is_halves(c, s->x);
    l->kernel.name = "matmul_matrix";
    l->kernel.matrix = !t->matrix_lanes;
    l->kernel.subgroup = t->matrix_lanes ? 0 : t->subgroup;
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
    kernel_set_constant(&l->kernel, CONSTANT_LENGTH, l->args[MATMUL_LENGTH]);
    kernel_set_constant(&l->kernel, CONSTANT_ROWS, m.rows);
    kernel_set_constant(&l->kernel, CONSTANT_COLUMNS, m.columns);
    kernel_set_constant(&l->kernel, CONSTANT_SLICES, m.slices);
    kernel_set_constant(&l->kernel, CONSTANT_DOWN, m.down);
    kernel_set_constant(&l->kernel, CONSTANT_PIECES, m.across / m.at_once);
    kernel_set_constant(&l->kernel, CONSTANT_AT_ONCE, m.at_once);
    kernel_set_constant(&l->kernel, CONSTANT_SUM_BUFFERS, m.sum_buffers);
    kernel_set_constant(&l->kernel, CONSTANT_ENDS, ends_of(t, &m));
    kernel_set_constant(&l->kernel, CONSTANT_DEPTH, m.depth);
    kernel_set_constant(&l->kernel, CONSTANT_STEPS, m.depth / t->matrix_depth / m.slices);
    kernel_set_constant(&l->kernel, CONSTANT_FRAGMENT_ROWS, t->matrix_rows);
    kernel_set_constant(&l->kernel, CONSTANT_FRAGMENT_COLUMNS, t->matrix_columns);
    kernel_set_constant(&l->kernel, CONSTANT_FRAGMENT_DEPTH, t->matrix_depth);
    kernel_set_constant(&l->kernel, CONSTANT_WHOLE_ROWS, rows % down == 0);
    kernel_set_constant(&l->kernel, CONSTANT_X_EACH, down * m.depth / 2 / threads);
    kernel_set_constant(&l->kernel, CONSTANT_X_WIDE, !halves);
    kernel_set_constant(&l->kernel, CONSTANT_X_HALVES, halves);
    kernel_set_constant(&l->kernel, CONSTANT_HALVES, lower_is_halves(c, s->parts[0].result));
    kernel_set_constant(&l->kernel, CONSTANT_W_LINEAR, rows_are_linear(l, s, tile_columns(t, &m) / 4));
    kernel_set_constant(&l->kernel, CONSTANT_PARTS, s->part_count);
    kernel_set_constant(&l->kernel, CONSTANT_EPILOGUE_STEPS, lower_most_epilogue_steps(l));
    if (s->part_count == 1)
        set_only_part(l);
    set_weights(l, &m, tile_columns(t, &m), node_at(c, node_at(c, s->parts[0].matmul)->operands[1])->as.weight);
    l->args[ARG_GROUPS] = (rows + down - 1) / down;
    return tile_columns(t, &m) / 4;
}

/* ---- attention ------------------------------------------------------------------------ */

enum { ROW_GROUPS = 4 }; /* of attention: subgroups with rows of their own */

/* The fragments of the longest block for which there is room; or 0. */
static uint32_t attention_fragments(const device_profile *t, uint32_t size, uint32_t splits)
{
    uint32_t line = size + PAIR_PAD, number = t->matrix_lanes ? 4 : 2, of_rows = ROW_GROUPS * t->matrix_rows;
    for (uint32_t fragments = 4; fragments; fragments /= 2) {
        uint32_t block = fragments * t->matrix_columns, threads = ROW_GROUPS * splits * LANES;
        uint32_t bytes = number * (of_rows * (t->matrix_lanes ? 2 : 1) + 2 * splits * block) * line +
                         4 * (splits * of_rows * (block + SUM_PAD) + threads + 1);
        /* Weights of values take the place of q; each thread brings whole pairs. */
        if (bytes <= t->workgroup_bytes && splits * block <= size && threads <= t->most_threads &&
            splits * block * size / 2 % threads == 0)
            return fragments;
    }
    return 0;
}

bool lower_attention_matrix(const lowering *c, dispatch_desc *l, const graph_node *n, bool halves)
{
    const device_profile *t = c->t;
    const shape *q = &node_at(c, n->operands[0])->s;
    dtype cache = node_at(c, n->operands[1])->type;
    uint32_t rows = q->dims[1], size = q->dims[3];
    if (!t->matrix_depth || c->form->threads || cache != DTYPE_F16 || rows < LEAST_ROWS || size % t->matrix_depth ||
        size % t->matrix_columns || LANES % t->matrix_rows || t->matrix_depth != t->matrix_columns)
        return false;
    uint32_t of_rows = ROW_GROUPS * t->matrix_rows, groups = (rows + of_rows - 1) / of_rows * q->dims[2];
    uint32_t splits = groups <= t->busy_groups || t->matrix_lanes ? 2 : 1; /* few heads: a GPU is not busy otherwise */
    uint32_t fragments = attention_fragments(t, size, splits);
    if (!fragments && splits > 1)
        fragments = attention_fragments(t, size, splits = 1);
    if (!fragments)
        return false;
    uint32_t threads = ROW_GROUPS * splits * LANES;
    l->kernel = (kernel_variant){.name = "op_attention_matrix", .matrix = !t->matrix_lanes};
    l->kernel.subgroup = t->matrix_lanes ? 0 : t->subgroup;
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
    kernel_set_constant(&l->kernel, CONSTANT_SPLITS, splits);
    kernel_set_constant(&l->kernel, CONSTANT_SIZE, size);
    kernel_set_constant(&l->kernel, CONSTANT_STEPS, size / t->matrix_depth);
    kernel_set_constant(&l->kernel, CONSTANT_ACROSS, size / t->matrix_columns);
    kernel_set_constant(&l->kernel, CONSTANT_BLOCK_FRAGMENTS, fragments);
    kernel_set_constant(&l->kernel, CONSTANT_EACH, splits * fragments * t->matrix_columns * size / 2 / threads);
    kernel_set_constant(&l->kernel, CONSTANT_FRAGMENT_ROWS, t->matrix_rows);
    kernel_set_constant(&l->kernel, CONSTANT_FRAGMENT_COLUMNS, t->matrix_columns);
    kernel_set_constant(&l->kernel, CONSTANT_FRAGMENT_DEPTH, t->matrix_depth);
    kernel_set_constant(&l->kernel, CONSTANT_HALVES, halves);
    kernel_set_constant(&l->kernel, CONSTANT_CAPPED, n->as.attention.softcap > 0);
    l->args[ARG_GROUPS] = groups;
    l->args[ATTENTION_ROWS] = rows;
    return true;
}
