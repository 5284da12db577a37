#include "graph/tell.h"
#include "graph/layout.h"
#include "graph/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAST = GRAPH_MAX_DIMS - 1,
    THREADS = 64,             /* of the small operators' workgroups, as their files say */
    SAMPLE_THREADS = 256,     /* as in op_sample.wgsl */
    PRODUCT_THREADS = 256,    /* of products' */
    TILE_ROWS = 64,           /* of x, as in matmul_tile.wgsl */
    TILE_COLUMNS = 8,         /* of quads */
    TEAM = 32,                /* as in matmul_vec.wgsl */
    ROW_TURNS = 5,            /* MOST_AT_ONCE of matmul_row.wgsl */
    ROW_MOST_QUADS = 1 << 14, /* that it is for: sums that meet in workgroup memory are not worth it for more */
    ENOUGH_THREADS = 65536,   /* to keep a large GPU's memory busy */
    PART = 16,
    PART_WORDS = 32, /* as in matmul.wgsl */
    BINARY = 256,    /* from here on a step after a product has two operands */
};

typedef struct telling {
    const tell_tuning *t;
    const memory *m;
    uint32_t which;
    const plan *p;
} telling;

tell_tuning tell_tuning_for(const gpu_info *info)
{
    tell_tuning t = {.most_groups = 2048, .busy_groups = 1, .row_threads = 256};
    bool bare = strcmp(info->family, "vulkan") == 0; /* has only the SPIR-V that the build made of the files */
    if (info->has_subgroups && info->subgroup_min == info->subgroup_max && info->subgroup_min >= 4 &&
        TEAM % info->subgroup_min == 0 && !bare)
        t.subgroup = info->subgroup_min;
    /* In software a kernel takes longer to compile than such a choice is worth, unless someone wants to see it:
     * SOLO_TUNE=gpu, for tests. */
    const char *wish = getenv("SOLO_TUNE");
    bool as_gpu = info->type != GPU_TYPE_SOFTWARE || (wish && strcmp(wish, "gpu") == 0);
    t.brief = !as_gpu && !bare;
    if (!as_gpu || bare)
        return t;
    t.by_shape = true;
    t.busy_groups = 128;
    t.workgroup_bytes = info->max_workgroup_bytes;
    t.blocks = info->max_workgroup_bytes >= 20480 && info->max_workgroup_threads >= 256;
    t.row_threads = info->max_workgroup_threads >= 512 ? 512 : 256;
    t.marks = t.subgroup >= 4;
    /* One dispatch has the memory of all its kernels at once, and they need some beside x. */
    uint32_t beside = info->max_workgroup_bytes >= 32768 ? 28 * 1024 : 6 * 1024;
    t.x_floats = (info->max_workgroup_bytes - beside) / 4 / 32 * 32;
    return t;
}

bool tell_possible(const plan *p, err *e)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const graph_node *n = graph_at(p->g, p->steps[i].at);
        if (p->steps[i].op == OP_ATTENTION) {
            uint32_t size = graph_at(p->g, n->operands[0])->s.dims[LAST];
            if (size > TELL_MAX_HEAD || size % 2)
                return err_set(e, "heads of %u elements: an even number up to %d is wanted", size, TELL_MAX_HEAD);
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

/* ---- words ------------------------------------------------------------------- */

static uint32_t as_word(float f)
{
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    return w;
}

static uint32_t at(const telling *c, node n)
{
    return memory_at(c->m, c->which, n);
}

static const graph_node *node_at(const telling *c, node n)
{
    return graph_at(c->p->g, n);
}

/* Is it made in the course of a run, so that its floats have marks? */
static bool is_made(const telling *c, node n)
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

static void set_constant(told *l, const char *name, uint32_t value)
{
    kernel_constant *c = l->kernel.constants;
    while (c->name)
        c++;
    *c = (kernel_constant){name, value};
}

static void tell_binary(const telling *c, told *l, const graph_node *n)
{
    shape y = node_at(c, n->operands[1])->s;
    uint32_t stride = 1;
    l->words[3] = at(c, n->operands[1]);
    l->words[4] = (uint32_t)shape_count(n->s);
    l->words[5] = n->as.binary;
    for (int d = LAST; d >= 0; d--) {
        l->words[8 + d] = n->s.dims[d];
        l->words[12 + d] = y.dims[d] == 1 ? 0 : stride;
        stride *= y.dims[d];
    }
    l->words[0] = groups_for(l->words[4]);
}

static void tell_rope(const telling *c, told *l, const graph_node *n)
{
    const rope_spec *spec = &n->as.rope;
    uint32_t rest[] = {n->s.dims[3],
                       n->s.dims[2],
                       at(c, n->operands[1]),
                       spec->rotated,
                       spec->interleaved,
                       as_word(log2f(spec->base)),
                       as_word(spec->magnitude > 0 ? spec->magnitude : 1),
                       n->operand_count > 2,
                       n->operand_count > 2 ? at(c, n->operands[2]) : 0};
    l->words[0] = n->s.dims[1] * n->s.dims[2];
    memcpy(l->words + 3, rest, sizeof rest);
}

static void tell_store(const telling *c, told *l, const graph_node *n)
{
    uint32_t count = (uint32_t)shape_count(node_at(c, n->operands[1])->s);
    uint32_t rest[] = {at(c, n->operands[0]),       at(c, n->operands[1]), count,
                       n->s.dims[2] * n->s.dims[3], at(c, n->operands[2]), n->s.dims[1],
                       n->type == DTYPE_F16};
    l->words[0] = groups_for(count / 2);
    l->state_arena = memory_state_arena(c->m, c->which, n->operands[0]);
    memcpy(l->words + 1, rest, sizeof rest);
}

/* Positions that attention_vec.wgsl has at a time: long heads leave registers for fewer. */
static uint32_t attention_block(uint32_t head)
{
    return head > 128 ? 64 : 128;
}

/* One row, or a few, of heads whose words a workgroup's threads can share out. */
static bool fits_attention_vec(const telling *c, uint32_t head, uint32_t rows, dtype type)
{
    uint32_t lanes = c->t->row_threads / attention_block(head);
    return rows < PLAN_TILED_ROWS && type == DTYPE_F16 && lanes <= c->t->subgroup && head >= 2 * lanes &&
           (head & (head - 1)) == 0 && c->t->row_threads >= head;
}

/* Many rows share what they read, if workgroup memory has room for them; see op_attention_tile.wgsl. */
static void tell_attention_tile(const telling *c, told *l, const shape *q)
{
    enum { BLOCK = 64, LEAST_ROWS = 8, MOST_SIZE = 128 };
    uint32_t rows = q->dims[1], heads = q->dims[2], size = q->dims[3], line = size / 4 | 1;
    for (uint32_t at_once = size > 64 ? 16 : 32; at_once >= 16; at_once /= 2) {
        uint32_t threads = 8 * at_once;
        uint32_t bytes = 16 * ((at_once + BLOCK) * line + at_once * (BLOCK / 4 + 1)) + 4 * (threads + at_once + 1);
        if (rows < LEAST_ROWS || size % 4 || size > MOST_SIZE || bytes > c->t->workgroup_bytes)
            continue;
        l->kernel = (kernel_variant){.name = "op_attention_tile"};
        set_constant(l, "SIZE", size);
        set_constant(l, "ROWS", at_once);
        set_constant(l, "THREADS", threads);
        l->words[0] = (rows + at_once - 1) / at_once * heads;
        l->words[14] = rows;
        return;
    }
}

static uint32_t tell_attention(const telling *c, told *l, const plan_step *s, const graph_node *n, err *e)
{
    if (memory_state_arena(c->m, c->which, n->operands[1]) != memory_state_arena(c->m, c->which, n->operands[2]))
        return err_set(e, "keys and values of an attention do not lie in one buffer"), 0;
    const graph_node *q = node_at(c, n->operands[0]), *k = node_at(c, n->operands[1]);
    uint32_t splits = plan_splits(c->p, s), heads = q->s.dims[1] * q->s.dims[2];
    uint32_t rest[] = {q->s.dims[3],
                       q->s.dims[2],
                       k->s.dims[2],
                       at(c, n->operands[3]),
                       as_word(n->as.attention.scale),
                       as_word(n->as.attention.softcap),
                       n->as.attention.window,
                       at(c, n->operands[1]),
                       at(c, n->operands[2]),
                       k->type == DTYPE_F16,
                       k->s.dims[1],
                       splits};
    if (c->t->by_shape && fits_attention_vec(c, q->s.dims[3], q->s.dims[1], k->type)) {
        l->kernel.name = "attention_vec";
        l->looks = true;
        set_constant(l, "THREADS", c->t->row_threads);
        set_constant(l, "HEAD", q->s.dims[3]);
        uint32_t pairs = q->s.dims[3] / 2, block = attention_block(q->s.dims[3]);
        set_constant(l, "BLOCK", block);
        set_constant(l, "KEYS", pairs / (c->t->row_threads / block));
        set_constant(l, "VALUES", block / (c->t->row_threads / pairs));
        if (c->t->one_threads)
            set_constant(l, "STAGED", c->t->x_floats);
    } else if (c->t->brief)
        set_constant(l, "HALVES", k->type == DTYPE_F16);
    l->words[0] = heads * splits;
    l->state_arena = memory_state_arena(c->m, c->which, n->operands[1]);
    memcpy(l->words + 3, rest, sizeof rest);
    l->words[15] = is_made(c, n->operands[0]);
    if (splits == 1) {
        if (!c->t->one_threads)
            tell_attention_tile(c, l, &q->s);
        return 1;
    }
    if (s->in_parts)
        return 1;
    uint32_t out = l->words[1];
    l->words[1] = memory_scratch_at(c->m, c->which);
    told *join = l + 1;
    *join = (told){.kernel.name = "op_attention_join"};
    uint32_t words[] = {heads, out, memory_scratch_at(c->m, c->which), q->s.dims[3], splits};
    memcpy(join->words, words, sizeof words);
    return 2;
}

static void tell_assigns(const telling *c, told *l, const plan_step *s)
{
    l->words[0] = 1;
    l->words[1] = s->assign_count;
    l->looks = true;
    for (uint32_t i = 0; i < s->assign_count; i++) {
        const graph_node *n = node_at(c, s->assigns[i]);
        const assign_spec *spec = &n->as.assign;
        uint32_t words[] = {at(c, n->operands[1]),
                            at(c, n->operands[0]),
                            (uint32_t)shape_count(node_at(c, n->operands[0])->s),
                            spec->added,
                            spec->more ? at(c, spec->more) + 1 : 0,
                            spec->index ? at(c, spec->index) + 1 : 0,
                            (uint32_t)shape_count(n->s)};
        memcpy(l->words + 4 + 8 * i, words, sizeof words);
    }
}

static uint32_t tell_sample(const telling *c, told *l, const graph_node *n)
{
    sample_places places = {.out = at(c, n->operands[1]),
                            .logits = at(c, n->operands[0]),
                            .vocab = node_at(c, n->operands[0])->s.dims[LAST],
                            .settings = at(c, n->operands[2]),
                            .position = at(c, n->operands[3]),
                            .history = at(c, n->operands[4]),
                            .history_tok = (uint32_t)shape_count(node_at(c, n->operands[4])->s),
                            .append = 1,
                            .scratch = memory_scratch_at(c->m, c->which)};
    l[0] = (told){.kernel.name = "op_sample_scan", .looks = true};
    l[1] = (told){.kernel.name = "op_sample", .looks = true};
    sample_arguments(&places, c->t->one_threads ? c->t->one_threads : SAMPLE_THREADS, l[0].words, l[1].words);
    l[0].words[15] = is_made(c, n->operands[0]);
    return 2;
}

/* One for each piece of the table. */
static uint32_t tell_gather(const telling *c, told *l, const graph_node *n)
{
    const graph_node *w = node_at(c, n->operands[0]);
    const memory_matrix *matrix = memory_matrix_of(c->m, c->which, n->operands[0]);
    told first = *l;
    first.looks = true;
    first.kernel.type = type_find(w->as.weight)->name;
    for (uint32_t i = 0; i < matrix->piece_count; i++) {
        const memory_piece *piece = &matrix->pieces[i];
        l[i] = first;
        l[i].weight_arena = piece->arena;
        uint32_t words[] = {n->s.dims[LAST - 1],     first.words[1], at(c, n->operands[1]), n->s.dims[LAST],
                            w->s.dims[LAST - 1] - 1, piece->at,      piece->rows,           piece->first};
        memcpy(l[i].words, words, sizeof words);
    }
    return matrix->piece_count;
}

/* ---- products -------------------------------------------------------------------- */

static uint32_t quads_of(const plan_part *part, uint32_t rows)
{
    return part->gate_of ? (rows + 1) / 2 : (rows + 3) / 4;
}

static void tell_after(const telling *c, uint32_t *words, const plan_part *part, uint32_t first_row)
{
    node before = part->matmul;
    words[15] = part->after_count;
    for (uint32_t i = 0; i < part->after_count; before = part->after[i++]) {
        const graph_node *n = node_at(c, part->after[i]);
        uint32_t *w = words + 16 + 4 * i;
        plan_operand o = {0};
        if (n->op == OP_UNARY) {
            w[0] = n->as.unary.kind;
            w[2] = as_word(n->as.unary.a);
            w[3] = as_word(n->as.unary.b);
        } else if (plan_operand_of(c->p->g, part->after[i], before, &o)) {
            w[0] = BINARY + n->as.binary;
            w[1] = at(c, o.other) + first_row;
            w[2] = o.per_row | (o.per_row && is_made(c, o.other)) << 1;
            w[3] = o.first;
        }
    }
}

static void tell_turn(const telling *c, uint32_t *words, const graph_node *n)
{
    const rope_spec *spec = &n->as.rope;
    words[4] = spec->interleaved ? 3 : 2;
    words[8] = at(c, n->operands[1]);
    words[10] = n->s.dims[3];
    words[11] = as_word(log2f(spec->base));
    words[12] = as_word(spec->magnitude > 0 ? spec->magnitude : 1);
    words[13] = n->operand_count > 2 ? at(c, n->operands[2]) + 1 : 0;
}

static void tell_part(const telling *c, told *l, const plan_part *part, const memory_piece *piece, uint32_t *words)
{
    const graph_node *product = node_at(c, part->matmul);
    uint32_t columns = product->s.dims[LAST];
    words[14] = quads_of(part, piece->rows);
    words[1] = piece->rows;
    words[2] = piece->at;
    words[6] = at(c, part->result) + piece->first;
    words[7] = columns;
    if (part->gate_of) {
        words[3] = memory_matrix_of(c->m, c->which, node_at(c, part->gate_of)->operands[1])->pieces[0].at;
        words[4] = 1;
        words[15] = 1; /* the function comes after the first two sums */
        words[16] = part->act ? node_at(c, part->act)->as.unary.kind : UNARY_COPY;
    } else
        tell_after(c, words, part, piece->first);
    if (part->rope)
        tell_turn(c, words, node_at(c, part->rope));
    if (part->store) {
        const graph_node *n = node_at(c, part->store);
        words[5] = n->type == DTYPE_F16 ? 2 : 1;
        words[8] = at(c, n->operands[2]);
        words[9] = n->s.dims[1];
        l->state_arena = memory_state_arena(c->m, c->which, n->operands[0]);
    }
}

/* A workgroup of matmul_block.wgsl: rows by columns threads, so many times. */
typedef struct cut {
    uint32_t rows, columns, slices, depth;
} cut;

static uint32_t tiles_of(const told *l, uint32_t rows, cut c)
{
    uint32_t across = 0;
    for (uint32_t p = 0; p < l->words[9]; p++)
        across += (l->words[PART + PART_WORDS * p + 14] + 2 * c.columns - 1) / (2 * c.columns);
    return across * ((rows + 8 * c.rows - 1) / (8 * c.rows));
}

/* Large tiles read least, but only where there are several for each multiprocessor. Else small ones, where slices of k bring
 * the threads: wider, if there still are two for each, and the last to come then wait less for each other. These were the best
 * of some sixty on an H200. */
static cut choose_cut(const telling *c, const told *l, uint32_t rows)
{
    static const cut few_rows = {2, 8, 8, 32}, large = {8, 16, 1, 16}, small = {4, 8, 4, 32}, wider = {4, 10, 4, 32};
    uint32_t busy = c->t->busy_groups;
    if (rows <= 16)
        return few_rows;
    if (tiles_of(l, rows, large) >= 4 * busy)
        return large;
    uint32_t tiles = tiles_of(l, rows, small), fewer = tiles_of(l, rows, wider);
    bool shorter = (fewer + busy - 1) / busy * wider.columns < (tiles + busy - 1) / busy * small.columns;
    return fewer >= 2 * busy && shorter ? wider : small;
}

/* Returns how many quads a workgroup has. */
static uint32_t choose_tiles(const telling *c, told *l, uint32_t rows)
{
    if (!c->t->by_shape || !c->t->blocks) {
        l->kernel.name = "matmul_tile";
        l->words[0] = (rows + TILE_ROWS - 1) / TILE_ROWS;
        return TILE_COLUMNS;
    }
    cut best = choose_cut(c, l, rows);
    l->kernel.name = "matmul_block";
    set_constant(l, "THREADS", best.rows * best.columns * best.slices);
    set_constant(l, "ROWS", best.rows);
    set_constant(l, "COLUMNS", best.columns);
    set_constant(l, "SLICES", best.slices);
    set_constant(l, "DEPTH", best.depth);
    set_constant(l, "WHOLE", l->words[1] % best.depth == 0);
    l->words[0] = (rows + 8 * best.rows - 1) / (8 * best.rows);
    return 2 * best.columns;
}

static uint32_t most_afters(const told *l)
{
    uint32_t most = 0;
    for (uint32_t p = 0; p < l->words[9]; p++)
        if (l->words[PART + PART_WORDS * p + 15] > most)
            most = l->words[PART + PART_WORDS * p + 15];
    return most;
}

/* Few rows of a matrix, or long ones: more threads share them, in smaller workgroups. How many share a row does not
 * depend on how it is launched, so that sums come out alike. */
static void choose_teams(const telling *c, told *l, uint32_t quads, uint32_t rows, uint32_t chunks)
{
    uint32_t team = TEAM, threads = PRODUCT_THREADS, one = c->t->one_threads;
    if (c->t->by_shape) {
        uint32_t length = (l->words[1] + 31) / 32 * 32;
        while (team < PRODUCT_THREADS && quads * team < ENOUGH_THREADS && chunks > team)
            team *= 2;
        /* Putting parts of attention together is work for many. */
        while (l->words[5] != 2 && threads > team && threads > 64 && quads * team / threads < c->t->busy_groups)
            threads /= 2;
        while (length > c->t->x_floats && team > TEAM && team * l->words[11] * 4 > c->t->x_floats)
            team /= 2; /* a segment has room for a step at least */
        uint32_t step = team * l->words[11] * 4;
        uint32_t segment = length <= c->t->x_floats ? length : c->t->x_floats / step * step;
        set_constant(l, "THREADS", one ? one : threads);
        set_constant(l, "TEAM", team);
        set_constant(l, "LENGTH", l->words[1]);
        set_constant(l, "AHEAD", 1);
        set_constant(l, "NORMS", l->words[5] == 1);
        set_constant(l, "JOINS", l->words[5] == 2);
        set_constant(l, "SEGMENT", segment);
        set_constant(l, "STAGED", one ? c->t->x_floats : segment);
    }
    uint32_t teams = (one ? one : threads) / team, groups = (quads + teams - 1) / teams;
    if (one) {
        l->loose = 1u << 0 | 1u << 2;
        l->one_turn = rows == 1;
        if (c->t->by_shape) {
            set_constant(l, "PARTS", l->words[9]);
            set_constant(l, "AFTERS", most_afters(l));
        }
        groups = quads < c->t->one_groups ? quads : c->t->one_groups; /* everyone takes some */
    }
    l->kernel.name = "matmul_vec";
    l->looks = c->t->by_shape && l->words[5] != 2 && l->words[1] % 4 == 0;
    l->kernel.subgroup = c->t->subgroup;
    l->words[2] = groups < c->t->most_groups ? groups : c->t->most_groups;
    l->words[0] = rows * l->words[2];
}

/* How the threads of matmul_row.wgsl share a row. */
typedef struct row_cut {
    uint32_t team, steps, turns;
} row_cut;

/* As few chunks of a row for each thread as leave few threads idle. */
static row_cut choose_row_cut(const telling *c, const told *l, uint32_t quads, uint32_t chunks, const layout *lies)
{
    enum { MOST_FOURS = 8, HELD_WORDS = 80 }; /* registers are few */
    row_cut best = {0};
    double best_busy = 0;
    for (uint32_t team = c->t->row_threads; team >= c->t->subgroup && team >= 32; team /= 2) {
        uint32_t steps = (chunks + team - 1) / team;
        double busy = (double)chunks / (steps * team);
        if (steps * l->words[11] <= MOST_FOURS && best_busy < 0.75 && busy > best_busy) {
            best = (row_cut){.team = team, .steps = steps};
            best_busy = busy;
        }
    }
    if (!best.team)
        return best;
    uint32_t words = 4 * ((lies->low_bytes + lies->high_bytes + 3) / 4 + (lies->scale_bytes + lies->factor_bytes > 0));
    uint32_t most = HELD_WORDS / (words * best.steps), teams = c->t->row_threads / best.team;
    uint32_t each = (quads + c->t->busy_groups - 1) / c->t->busy_groups;
    most = most < 1 ? 1 : most > ROW_TURNS ? ROW_TURNS : most;
    uint32_t wanted = (each + teams - 1) / teams, batches = (wanted + most - 1) / most;
    best.turns = (wanted + batches - 1) / batches;
    return best;
}

/* One row of x, and enough subgroups: everything of it is in registers. */
static bool choose_row(const telling *c, told *l, uint32_t quads, uint32_t rows, uint32_t chunks, const layout *lies)
{
    uint32_t one = c->t->one_threads;
    uint32_t room = (chunks | 1) * lies->chunk_weights; /* for x, as it lies there */
    bool joins = l->words[5] == 2;
    if (!c->t->by_shape || c->t->subgroup < 4 || rows != 1 || room > c->t->x_floats || quads > ROW_MOST_QUADS)
        return false;
    row_cut cut = choose_row_cut(c, l, quads, chunks, lies);
    if (!cut.team)
        return false;
    uint32_t threads = one || joins ? c->t->row_threads : cut.team, teams = threads / cut.team;
    set_constant(l, "THREADS", threads);
    set_constant(l, "TEAM", cut.team);
    set_constant(l, "LENGTH", l->words[1]);
    set_constant(l, "FOURS", l->words[11]);
    set_constant(l, "STEPS", cut.steps);
    set_constant(l, "AT_ONCE", cut.turns);
    set_constant(l, "WORDS", (chunks * lies->chunk_weights + threads - 1) / threads);
    set_constant(l, "STAGED", one ? c->t->x_floats : (room + 31) / 32 * 32);
    set_constant(l, "NORMS", l->words[5] == 1);
    set_constant(l, "JOINS", joins);
    uint32_t groups = (quads + teams * cut.turns - 1) / (teams * cut.turns);
    if (one) {
        l->loose = 1u << 0 | 1u << 2 | 1u << 13 | 1u << 14;
        l->one_turn = true;
        set_constant(l, "PARTS", l->words[9]);
        set_constant(l, "AFTERS", most_afters(l));
        groups = quads < c->t->one_groups ? quads : c->t->one_groups; /* everyone takes some */
    }
    l->kernel.name = "matmul_row";
    l->looks = true;
    l->kernel.subgroup = c->t->subgroup;
    l->words[0] = l->words[2] = groups;
    l->words[13] = quads / groups;
    l->words[14] = quads % groups;
    return true;
}

/* One dispatch in software, where each kernel more takes seconds to compile, has one for all products with weights of a
 * type: nothing is in it that none of them needs. */
static void leave_out_of_all(const telling *c, told *l)
{
    bool norms = false, joins = false, gates = false, turns = false, states = false, operands = false,
         functions = false;
    for (const plan_step *s = c->p->steps; s < c->p->steps + c->p->count; s++) {
        if (s->op != OP_MATMUL ||
            strcmp(type_find(node_at(c, node_at(c, s->parts[0].matmul)->operands[1])->as.weight)->name,
                   l->kernel.type) != 0)
            continue;
        norms |= s->norm != 0;
        joins |= s->joins;
        for (const plan_part *part = s->parts; part < s->parts + s->part_count; part++) {
            gates |= part->gate_of != 0;
            functions |= part->gate_of != 0;
            turns |= part->rope != 0;
            states |= part->store != 0;
            for (uint32_t i = 0; i < part->after_count; i++) {
                bool unary = node_at(c, part->after[i])->op == OP_UNARY;
                functions |= unary;
                operands |= !unary;
            }
        }
    }
    set_constant(l, "NORMS", norms);
    set_constant(l, "JOINS", joins);
    set_constant(l, "GATES", gates);
    set_constant(l, "TURNS", turns);
    set_constant(l, "STATES", states);
    set_constant(l, "OPERANDS", operands);
    set_constant(l, "FUNCTIONS", functions);
}

/* Kernels made for a shape have nothing in them that it does not need. */
static void leave_out(told *l, uint32_t parts)
{
    bool gates = false, turns = false, states = false, operands = false;
    uint32_t functions = 0, function = 0;
    for (uint32_t p = 0; p < parts; p++) {
        const uint32_t *words = l->words + PART + PART_WORDS * p;
        gates |= words[4] == 1;
        turns |= words[4] > 1;
        states |= words[5] > 0;
        for (uint32_t i = 0; i < words[15]; i++) {
            operands |= words[16 + 4 * i] >= BINARY;
            if (words[16 + 4 * i] < BINARY) {
                functions += functions == 0 || function != words[16 + 4 * i];
                function = words[16 + 4 * i];
            }
        }
    }
    set_constant(l, "GATES", gates);
    set_constant(l, "TURNS", turns);
    set_constant(l, "STATES", states);
    set_constant(l, "OPERANDS", operands);
    set_constant(l, "FUNCTIONS", functions > 0);
    if (functions == 1)
        set_constant(l, "FUNCTION", function);
}

/* How the quads of all parts are shared out; of tiles, each part begins with a new workgroup. */
static void choose_grid(const telling *c, told *l, const plan_step *s, uint32_t chunks, const layout *lies)
{
    uint32_t quads = 0, rows = plan_rows(c->p, s), filled = 0;
    for (uint32_t p = 0; p < s->part_count; p++)
        quads += l->words[PART + PART_WORDS * p + 14];
    /* The kernel for tiles has its own number of threads, which one dispatch has not. */
    bool tiled = rows >= PLAN_TILED_ROWS && !c->t->one_threads;
    uint32_t each = tiled ? choose_tiles(c, l, rows) : 1;
    for (uint32_t p = 0; p < s->part_count; p++) {
        uint32_t *words = l->words + PART + PART_WORDS * p;
        words[0] = filled += (words[14] + each - 1) / each * each;
    }
    l->words[3] = filled;
    l->words[10] = rows;
    if (tiled) {
        l->words[2] = filled / each;
        l->words[0] *= l->words[2];
    } else if (!choose_row(c, l, quads, rows, chunks, lies))
        choose_teams(c, l, quads, rows, chunks);
    if (c->t->by_shape)
        leave_out(l, s->part_count);
    else if (c->t->brief && c->t->one_threads)
        leave_out_of_all(c, l);
}

static const memory_matrix *matrix_of(const telling *c, const plan_part *part)
{
    return memory_matrix_of(c->m, c->which, node_at(c, part->matmul)->operands[1]);
}

/* A dispatch binds one buffer of weights and one of states: is what part `k` needs in them? */
static bool lies_beside(const telling *c, const told *l, const plan_step *s, uint32_t k, err *e)
{
    const plan_part *part = &s->parts[k];
    if (part->gate_of) {
        node other = node_at(c, part->gate_of)->operands[1];
        const memory_matrix *matrix = memory_matrix_of(c->m, c->which, other);
        if (matrix->piece_count != 1 || matrix->pieces[0].arena != l->weight_arena)
            return err_set(e, "weight %s does not lie beside the others of its step", node_at(c, other)->name);
    }
    for (uint32_t before = 0; part->store && before < k; before++)
        if (s->parts[before].store && memory_state_arena(c->m, c->which, part->store) !=
                                          memory_state_arena(c->m, c->which, s->parts[before].store))
            return err_set(e, "state %s does not lie beside the others of its step",
                           node_at(c, node_at(c, part->store)->operands[0])->name);
    return true;
}

/* All parts at once if each is in one piece; else the only part piece by piece. */
static uint32_t tell_product(const telling *c, told *l, const plan_step *s, err *e)
{
    const graph_node *w = node_at(c, node_at(c, s->parts[0].matmul)->operands[1]);
    const memory_matrix *first_matrix = matrix_of(c, &s->parts[0]);
    uint32_t pieces = first_matrix->piece_count, k = w->s.dims[LAST];
    told common = {.kernel.type = type_find(w->as.weight)->name};
    common.words[1] = k;
    common.words[4] = at(c, s->x);
    common.words[15] = is_made(c, s->x);
    if (s->norm) {
        const graph_node *norm = node_at(c, s->norm);
        common.words[5] = 1;
        common.words[6] = at(c, norm->operands[1]);
        common.words[7] = as_word(norm->as.rmsnorm.epsilon);
        common.words[8] = as_word(norm->as.rmsnorm.weight_offset);
    }
    if (s->joins) {
        const plan_step *attention = s - 1; /* the pass saw to that */
        common.words[4] = at(c, attention->at);
        common.words[5] = 2;
        common.words[6] = node_at(c, node_at(c, attention->at)->operands[0])->s.dims[LAST];
        common.words[7] = plan_splits(c->p, attention);
    }
    common.words[9] = s->part_count;
    common.words[11] = layout_of(w->as.weight)->chunk_weights / 4;
    common.words[12] = 4;
    for (uint32_t i = 0; i < pieces; i++) {
        l[i] = common;
        l[i].weight_arena = first_matrix->pieces[i].arena;
        for (uint32_t p = 0; p < s->part_count; p++) {
            const memory_matrix *matrix = matrix_of(c, &s->parts[p]);
            uint32_t *words = l[i].words + PART + PART_WORDS * p;
            if (matrix->piece_count != 1 && s->part_count > 1)
                return err_set(e, "weight %s does not lie in one piece beside the others of its step", w->name), 0;
            if (matrix->pieces[i].arena != l[i].weight_arena)
                return err_set(e, "weight %s does not lie beside the others of its step", w->name), 0;
            if (!lies_beside(c, &l[i], s, p, e))
                return 0;
            tell_part(c, &l[i], &s->parts[p], &matrix->pieces[i], words);
        }
        choose_grid(c, &l[i], s, layout_chunks(w->as.weight, k), layout_of(w->as.weight));
    }
    return pieces;
}

/* ---- all steps -------------------------------------------------------------------- */

static const char *kernel_name(graph_op op)
{
    switch (op) {
    case OP_UNARY: return "op_unary";
    case OP_BINARY: return "op_binary";
    case OP_REDUCE: return "op_reduce";
    case OP_SOFTMAX: return "op_softmax";
    case OP_RMSNORM: return "op_rmsnorm";
    case OP_GATHER: return "op_gather";
    case OP_ROPE: return "op_rope";
    case OP_STORE: return "op_store";
    case OP_ATTENTION: return "op_attention";
    case OP_SLICE: return "op_slice";
    case OP_PICK: return "op_pick";
    case OP_TOPK: return "op_topk";
    default: return "op_assign";
    }
}

static uint32_t tell_dispatches(const tell_tuning *t, const memory *m, uint32_t which_plan, const plan *p,
                                const plan_step *s, told *l, err *e)
{
    telling c = {t, m, which_plan, p};
    if (s->op == OP_MATMUL)
        return tell_product(&c, l, s, e);
    const graph_node *n = node_at(&c, s->at), *x = node_at(&c, n->operands[0]);
    uint32_t count = (uint32_t)shape_count(n->s), length = x->s.dims[LAST];
    uint32_t rows = (uint32_t)(shape_count(x->s) / length);
    bool by_row = n->op == OP_REDUCE || n->op == OP_SOFTMAX || n->op == OP_RMSNORM || n->op == OP_TOPK;
    *l = (told){.kernel.name = kernel_name(s->op)};
    if (by_row || n->op == OP_ATTENTION)
        l->kernel.subgroup = t->subgroup;
    if (by_row && t->by_shape)
        set_constant(l, "THREADS", t->row_threads);
    l->words[0] = by_row ? rows : groups_for(count);
    l->words[1] = at(&c, s->at);
    l->words[2] = n->op == OP_GATHER ? 0 : at(&c, n->operands[0]);
    l->words[3] = by_row ? length : count;
    switch (n->op) {
    case OP_UNARY:
        l->words[4] = n->as.unary.kind;
        l->words[5] = as_word(n->as.unary.a);
        l->words[6] = as_word(n->as.unary.b);
        break;
    case OP_BINARY: tell_binary(&c, l, n); break;
    case OP_REDUCE: l->words[4] = n->as.reduce; break;
    case OP_SOFTMAX: l->words[4] = as_word(n->as.softmax_scale); break;
    case OP_TOPK: l->words[4] = n->s.dims[LAST]; break;
    case OP_RMSNORM:
        l->words[4] = at(&c, n->operands[1]);
        l->words[5] = as_word(n->as.rmsnorm.epsilon);
        l->words[6] = as_word(n->as.rmsnorm.weight_offset);
        break;
    case OP_GATHER: return tell_gather(&c, l, n);
    case OP_ROPE: tell_rope(&c, l, n); break;
    case OP_STORE: tell_store(&c, l, n); break;
    case OP_ATTENTION: return tell_attention(&c, l, s, n, e);
    case OP_SLICE:
        l->words[4] = n->s.dims[LAST];
        l->words[5] = length;
        l->words[6] = n->as.slice_start;
        break;
    case OP_PICK:
        l->words[0] = n->s.dims[LAST - 1];
        l->words[3] = length;
        l->words[4] = at(&c, n->operands[1]);
        l->words[5] = x->s.dims[LAST - 1] - 1;
        break;
    case OP_ASSIGN: tell_assigns(&c, l, s); break;
    case OP_SAMPLE: return tell_sample(&c, l, n);
    default: break;
    }
    return 1;
}

uint32_t tell_step(const tell_tuning *t, const memory *m, uint32_t which_plan, const plan *p, const plan_step *s,
                   told *l, err *e)
{
    uint32_t count = tell_dispatches(t, m, which_plan, p, s, l, e);
    /* In one dispatch all are, or none is. */
    for (uint32_t i = 0; i < count && t->brief && !t->one_threads; i++)
        set_constant(&l[i], "SHORT", 1);
    for (uint32_t i = 0; i < count && t->marks; i++)
        set_constant(&l[i], "MARKS", 1);
    return count;
}
