/* Matrix products: what their kernels are dispatch_desc of their parts, and how the rows are shared out. */
#include "graph/layout.h"
#include "graph/lower_internal.h"

enum {
    LAST = LOWER_LAST_DIM,
    PRODUCT_THREADS = 256,    /* of a workgroup */
    TILE_ROWS = 64,           /* of x, as in matmul_tile.wgsl */
    TILE_COLUMNS = 8,         /* of quads */
    TEAM = 32,                /* as in matmul_vec.wgsl */
    ROW_MOST_QUADS = 1 << 14, /* that it is for: sums that meet in workgroup memory are not worth it for more */
    ROW_LEAST_THREADS = 128,  /* that share x */
    ROW_SQUARED = 512,        /* as in matmul_row.wgsl: as many threads at most */
    ENOUGH_THREADS = 65536,   /* to keep a large GPU's memory busy */
    PART = 16,
    PART_WORDS = 32, /* as in matmul.wgsl */
    BINARY = 256,    /* from here on a step after a product has two operands */
};

static uint32_t quads_of(const plan_part *part, uint32_t rows)
{
    return part->gate_of ? (rows + 1) / 2 : (rows + 3) / 4;
}

static void lower_epilogue(const lowering *c, uint32_t *words, const plan_part *part, uint32_t first_row)
{
    node before = part->matmul;
    words[15] = part->epilogue_count;
    for (uint32_t i = 0; i < part->epilogue_count; before = part->epilogue[i++]) {
        const graph_node *n = node_at(c, part->epilogue[i]);
        uint32_t *w = words + 16 + 4 * i;
        plan_operand o = {0};
        if (n->op == OP_UNARY) {
            w[0] = n->as.unary.kind;
            w[2] = as_word(n->as.unary.a);
            w[3] = as_word(n->as.unary.b);
        } else if (plan_operand_of(c->p->g, part->epilogue[i], before, &o)) {
            w[0] = BINARY + n->as.binary;
            w[1] = at(c, o.other) + first_row;
            w[2] = o.per_row | (o.per_row && lower_is_computed(c, o.other)) << 1;
            w[3] = o.first;
        }
    }
}

static void lower_rope_epilogue(const lowering *c, uint32_t *words, const graph_node *n)
{
    const rope_spec *spec = &n->as.rope;
    words[4] = spec->interleaved ? 3 : 2;
    words[8] = at(c, n->operands[1]);
    words[10] = n->s.dims[3];
    words[11] = angles_fall(spec, words[10]);
    words[12] = as_word(spec->magnitude > 0 ? spec->magnitude : 1);
    words[13] = n->operand_count > 2 ? at(c, n->operands[2]) + 1 : 0;
}

static void lower_part(const lowering *c, dispatch_desc *l, const plan_part *part, const memory_piece *piece,
                       uint32_t *words)
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
        lower_epilogue(c, words, part, piece->first);
    if (part->rope)
        lower_rope_epilogue(c, words, node_at(c, part->rope));
    if (part->store) {
        const graph_node *n = node_at(c, part->store);
        words[5] = n->type == DTYPE_F16 ? 2 : 1;
        words[8] = at(c, n->operands[2]);
        words[9] = n->s.dims[1];
        if (c->form->threads && memory_row_at(c->m, c->which, part->store))
            words[3] = memory_row_at(c->m, c->which, part->store) + piece->first;
        l->state_arena = memory_state_arena(c->m, c->which, n->operands[0]);
    }
}

/* A workgroup of matmul_block.wgsl: rows by columns threads, so many times. */
typedef struct cut {
    uint32_t rows, columns, slices, depth;
} cut;

static uint32_t tiles_of(const dispatch_desc *l, uint32_t rows, cut c)
{
    uint32_t across = 0;
    for (uint32_t p = 0; p < l->words[9]; p++)
        across += (l->words[PART + PART_WORDS * p + 14] + 2 * c.columns - 1) / (2 * c.columns);
    return across * ((rows + 8 * c.rows - 1) / (8 * c.rows));
}

/* Large tiles read least, but only where there are several for each multiprocessor. Else small ones, where slices of k bring
 * the threads: wider, if there still are two for each, and the last to come then wait less for each other. These were the best
 * of some sixty on an H200. */
static cut choose_cut(const lowering *c, const dispatch_desc *l, uint32_t rows)
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
static uint32_t choose_tiles(const lowering *c, dispatch_desc *l, uint32_t rows)
{
    if (!c->t->specialize || !c->t->blocks) {
        l->kernel.name = "matmul_tile";
        l->words[0] = (rows + TILE_ROWS - 1) / TILE_ROWS;
        return TILE_COLUMNS;
    }
    cut best = choose_cut(c, l, rows);
    l->kernel.name = "matmul_block";
    kernel_set_constant(&l->kernel, "THREADS", best.rows * best.columns * best.slices);
    kernel_set_constant(&l->kernel, "ROWS", best.rows);
    kernel_set_constant(&l->kernel, "COLUMNS", best.columns);
    kernel_set_constant(&l->kernel, "SLICES", best.slices);
    kernel_set_constant(&l->kernel, "DEPTH", best.depth);
    kernel_set_constant(&l->kernel, "WHOLE", l->words[1] % best.depth == 0);
    l->words[0] = (rows + 8 * best.rows - 1) / (8 * best.rows);
    return 2 * best.columns;
}

static uint32_t most_afters(const dispatch_desc *l)
{
    uint32_t most = 0;
    for (uint32_t p = 0; p < l->words[9]; p++)
        if (l->words[PART + PART_WORDS * p + 15] > most)
            most = l->words[PART + PART_WORDS * p + 15];
    return most;
}

/* Few rows of a matrix, or long ones: more threads share them, in smaller workgroups. How many share a row does not
 * depend on how it is launched, so that sums come out alike. */
static void choose_teams(const lowering *c, dispatch_desc *l, uint32_t quads, uint32_t rows, uint32_t chunks)
{
    uint32_t team = TEAM, threads = PRODUCT_THREADS, one = c->form->threads;
    if (c->t->specialize) {
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
        kernel_set_constant(&l->kernel, "THREADS", one ? one : threads);
        kernel_set_constant(&l->kernel, "TEAM", team);
        kernel_set_constant(&l->kernel, "LENGTH", l->words[1]);
        kernel_set_constant(&l->kernel, "PREFETCHES", 1);
        kernel_set_constant(&l->kernel, "NORMS", l->words[5] == 1);
        kernel_set_constant(&l->kernel, "COMBINES_SPLITS", l->words[5] == 2);
        if (l->words[5] != 2)
            kernel_set_constant(&l->kernel, "MAX_SPLITS", 1);
        kernel_set_constant(&l->kernel, "SEGMENT", segment);
        kernel_set_constant(&l->kernel, "SHARED_X_WORDS", one ? c->t->x_floats : segment);
    }
    uint32_t teams = (one ? one : threads) / team, groups = (quads + teams - 1) / teams;
    if (one) {
        l->depends_on_groups = 1u << 0 | 1u << 2;
        l->single_pass = rows == 1;
        if (c->t->specialize) {
            kernel_set_constant(&l->kernel, "PARTS", l->words[9]);
            kernel_set_constant(&l->kernel, "EPILOGUE_STEPS", most_afters(l));
        }
        groups = quads < c->form->groups ? quads : c->form->groups; /* everyone takes some */
    }
    l->kernel.name = "matmul_vec";
    l->polls_epoch = c->t->specialize && l->words[5] != 2 && l->words[1] % 4 == 0;
    lower_with_subgroups(c, l);
    l->words[2] = groups < c->t->most_groups ? groups : c->t->most_groups;
    l->words[0] = rows * l->words[2];
}

/* How matmul_row.wgsl has x, and how its threads share a row: a team of them, so many steps, and so many quads on their way. */
typedef struct row_cut {
    bool packed;
    uint32_t team, steps, turns;
    uint32_t piece; /* of x, in words for each thread, that lies there as floats first */
    uint32_t room;  /* words of workgroup memory that x takes */
} row_cut;

/* As bytes, and a piece of it as floats, which is the largest that there is room for: x_int8.wgsl. */
static uint32_t packed_room(const lowering *c, uint32_t chunks, uint32_t *piece)
{
    uint32_t bytes = (chunks | 1) * 8 + (chunks + 1) / 2 * 4, all = 32 * chunks, floats = 0;
    for (*piece = 8; *piece >= 2; *piece /= 2) {
        floats = *piece * c->form->row_threads < all ? *piece * c->form->row_threads : all;
        if (bytes + floats <= c->t->x_floats)
            break;
    }
    return bytes + floats;
}

/* The fewest chunks for a thread one after the other; then the fewest idle threads. */
static bool choose_row_cut(const lowering *c, const dispatch_desc *l, uint32_t quads, uint32_t chunks,
                           const layout *lies, row_cut *best)
{
    /* Registers are few: those of weights that were asked for and went elsewhere would be waited for at once. */
    enum { MOST_X_WORDS = 32, MOST_WORDS = 92, MOST_HELD_WORDS = 80 };
    uint32_t x_words = best->packed ? 10 : lies->chunk_weights;
    uint32_t each = (quads + c->t->busy_groups - 1) / c->t->busy_groups, least = UINT32_MAX;
    for (uint32_t team = c->form->row_threads; team >= c->t->subgroup && team >= 32; team /= 2) {
        uint32_t steps = (chunks + team - 1) / team, teams = c->form->row_threads / team;
        uint32_t cost = (each + teams - 1) / teams * steps;
        if (steps * x_words <= MOST_X_WORDS && cost <= least) {
            best->team = team;
            best->steps = steps;
            least = cost;
        }
    }
    if (!best->team)
        return false;
    uint32_t words = 4 * ((lies->low_bytes + lies->high_bytes + 3) / 4 + (lies->scale_bytes + lies->factor_bytes > 0));
    uint32_t asked = (chunks * lies->chunk_weights + c->form->row_threads - 1) / c->form->row_threads;
    uint32_t others = best->steps * x_words + asked * (l->words[5] == 1 ? 2 : 1);
    uint32_t left = others < MOST_WORDS ? MOST_WORDS - others : 0,
             held = left < MOST_HELD_WORDS ? left : MOST_HELD_WORDS;
    uint32_t most = held / (words * best->steps), teams = c->form->row_threads / best->team;
    most = most < 1 ? 1 : most > LOWER_ROW_TURNS ? LOWER_ROW_TURNS : most;
    uint32_t wanted = (each + teams - 1) / teams, batches = (wanted + most - 1) / most;
    best->turns = (wanted + batches - 1) / batches;
    best->room = best->packed ? packed_room(c, chunks, &best->piece) : (chunks | 1) * lies->chunk_weights;
    return best->room <= c->t->x_floats;
}

/* Are all parts' rows a whole number of quads? */
static bool all_quads_whole(const dispatch_desc *l)
{
    bool whole = true;
    for (uint32_t p = 0; p < l->words[9]; p++) {
        const uint32_t *words = l->words + PART + PART_WORDS * p;
        whole = whole && words[1] % (words[4] == 1 ? 2 : 4) == 0;
    }
    return whole;
}

/* Elements of x that a thread puts together at once: as many as leave registers for the parts of all of them. */
static void choose_joining(dispatch_desc *l, uint32_t piece)
{
    enum { MOST_PARTS_AT_ONCE = 32 };
    uint32_t splits = l->words[7], at_once = piece;
    while (at_once > 1 && (piece % at_once || at_once * splits > MOST_PARTS_AT_ONCE))
        at_once--;
    kernel_set_constant(&l->kernel, "SPLITS", splits);
    kernel_set_constant(&l->kernel, "COMBINED_WORDS", at_once);
}

/* One row of x, and enough subgroups: everything of it is in registers. */
static bool choose_row(const lowering *c, dispatch_desc *l, uint32_t quads, uint32_t rows, uint32_t chunks,
                       const layout *lies)
{
    uint32_t one = c->form->threads;
    bool joins = l->words[5] == 2, norms = l->words[5] == 1;
    row_cut cut = {.packed = c->t->int8_dot && lies->bytes};
    if (!c->t->specialize || c->t->subgroup < 4 || rows != 1 || quads > ROW_MOST_QUADS)
        return false;
    if (!choose_row_cut(c, l, quads, chunks, lies, &cut))
        return false;
    bool all_threads = one || joins || cut.packed; /* that one dispatch would have: the more share x, the better */
    uint32_t least = cut.team > ROW_LEAST_THREADS ? cut.team : ROW_LEAST_THREADS;
    uint32_t threads = all_threads || least > c->form->row_threads ? c->form->row_threads : least;
    uint32_t teams = threads / cut.team;
    l->kernel.packed = cut.packed;
    kernel_set_constant(&l->kernel, "THREADS", threads);
    kernel_set_constant(&l->kernel, "TEAM", cut.team);
    kernel_set_constant(&l->kernel, "LENGTH", l->words[1]);
    kernel_set_constant(&l->kernel, "CHUNK_VEC4S", l->words[11]);
    kernel_set_constant(&l->kernel, "STEPS", cut.steps);
    kernel_set_constant(&l->kernel, "AT_ONCE", cut.turns);
    uint32_t words = (chunks * lies->chunk_weights + threads - 1) / threads;
    uint32_t piece = cut.packed && cut.piece < words ? cut.piece : words;
    kernel_set_constant(&l->kernel, "PIECES", (words + piece - 1) / piece);
    kernel_set_constant(&l->kernel, "PIECE_WORDS", piece);
    kernel_set_constant(&l->kernel, "SHARED_X_WORDS", one ? c->t->x_floats : (cut.room + 31) / 32 * 32);
    kernel_set_constant(&l->kernel, "NORMS", norms);
    kernel_set_constant(&l->kernel, "CHAINS", ROW_SQUARED / threads);
    kernel_set_constant(&l->kernel, "COMBINES_SPLITS", joins);
    kernel_set_constant(&l->kernel, "SPLITS_OF_X", one || joins ? PLAN_MAX_COMBINED : 1);
    if (joins)
        choose_joining(l, piece);
    uint32_t groups = (quads + teams * cut.turns - 1) / (teams * cut.turns);
    if (one) {
        enum { MANY_BYTES = 96 << 10, TOUCHED_BYTES = 64 << 10, SECTOR_BYTES = 32 }; /* of a workgroup */
        uint64_t bytes = 4ull * quads * chunks * lies->low_bytes;
        l->warms_cache =
            lies->low_bytes == SECTOR_BYTES / 2 && l->words[9] == 1 && bytes > (uint64_t)MANY_BYTES * c->t->busy_groups;
        kernel_set_constant(&l->kernel, "WARMED_WORDS", l->warms_cache ? TOUCHED_BYTES / SECTOR_BYTES / threads : 0);
        l->depends_on_groups = 1u << 0 | 1u << 2 | 1u << 13 | 1u << 14;
        l->single_pass = true;
        kernel_set_constant(&l->kernel, "PARTS", l->words[9]);
        kernel_set_constant(&l->kernel, "EPILOGUE_STEPS", most_afters(l));
        groups = quads < c->form->groups ? quads : c->form->groups; /* everyone takes some */
    } else if (groups > c->t->most_groups)
        groups = c->t->most_groups;
    kernel_set_constant(&l->kernel, "ONCE", (quads + groups - 1) / groups <= teams * cut.turns);
    kernel_set_constant(&l->kernel, "WHOLE_ROW4S", all_quads_whole(l));
    l->kernel.name = "matmul_row";
    l->polls_epoch = true;
    lower_with_subgroups(c, l);
    l->words[0] = l->words[2] = groups;
    l->words[13] = quads / groups;
    l->words[14] = quads % groups;
    return true;
}

/* A thread's chunk of 32 weights is too much where there are few of them: then each has a word. */
static bool choose_row_by_words(const lowering *c, dispatch_desc *l, uint32_t quads, uint32_t rows)
{
    enum { FEW_WEIGHTS = 50000 }; /* of a workgroup */
    static const layout by_words = {.chunk_weights = 8, .low_bytes = 4, .scale_chunks = 4, .factor_bytes = 2};
    uint64_t weights = 4ull * quads * l->words[1];
    if (strcmp(l->kernel.type, "q4_0") != 0 || l->words[1] % 32 || weights > (uint64_t)FEW_WEIGHTS * c->t->busy_groups)
        return false;
    dispatch_desc as_it_was = *l;
    l->kernel.type = "q4_0_words";
    l->words[11] = by_words.chunk_weights / 4;
    if (choose_row(c, l, quads, rows, l->words[1] / by_words.chunk_weights, &by_words))
        return true;
    *l = as_it_was;
    return false;
}

/* In software, where each kernel more takes longer to compile than to run, there is one for all products with weights of a type:
 * nothing is in it that none of them needs. */
static void leave_out_of_all(const lowering *c, dispatch_desc *l, tensor_type type)
{
    bool norms = false, joins = false, gates = false, turns = false, states = false, operands = false,
         functions = false, parts = false, divisors = false;
    uint32_t afters = 0;
    for (const plan_step *s = c->p->steps; s < c->p->steps + c->p->count; s++) {
        if (s->op != OP_MATMUL || node_at(c, node_at(c, s->parts[0].matmul)->operands[1])->as.weight != type)
            continue;
        parts |= s->part_count > 1;
        norms |= s->norm != 0;
        joins |= s->combines_splits;
        for (const plan_part *part = s->parts; part < s->parts + s->part_count; part++) {
            gates |= part->gate_of != 0;
            functions |= part->gate_of != 0;
            turns |= part->rope != 0;
            divisors |= part->rope && node_at(c, part->rope)->operand_count > 2;
            uint32_t steps = part->gate_of ? 1 : part->epilogue_count;
            afters = steps > afters ? steps : afters;
            states |= part->store != 0;
            for (uint32_t i = 0; i < part->epilogue_count; i++) {
                bool unary = node_at(c, part->epilogue[i])->op == OP_UNARY;
                functions |= unary;
                operands |= !unary;
            }
        }
    }
    kernel_set_constant(&l->kernel, "NORMS", norms);
    kernel_set_constant(&l->kernel, "COMBINES_SPLITS", joins);
    kernel_set_constant(&l->kernel, "GATES", gates);
    kernel_set_constant(&l->kernel, "ROPE", turns);
    kernel_set_constant(&l->kernel, "STATES", states);
    kernel_set_constant(&l->kernel, "OPERANDS", operands);
    kernel_set_constant(&l->kernel, "FUNCTIONS", functions);
    if (strcmp(l->kernel.name, "matmul_plain") == 0) {
        kernel_set_constant(&l->kernel, "PARTS", parts);
        kernel_set_constant(&l->kernel, "EPILOGUE_STEPS", afters);
        kernel_set_constant(&l->kernel, "DIVISORS", divisors);
        kernel_set_constant(&l->kernel, "PLACED", turns || states);
        kernel_set_constant(&l->kernel, "TABLE", c->form->threads > 0);
        kernel_set_constant(&l->kernel, "SEPARATE", c->form->threads == 0);
    }
}

/* Kernels made for a shape have nothing in them that it does not need. */
static void leave_out(dispatch_desc *l, uint32_t parts)
{
    bool gates = false, turns = false, states = false, rows = false, kept = false, operands = false;
    uint32_t functions = 0, function = 0;
    for (uint32_t p = 0; p < parts; p++) {
        const uint32_t *words = l->words + PART + PART_WORDS * p;
        gates |= words[4] == 1;
        turns |= words[4] > 1;
        states |= words[5] > 0;
        rows |= words[5] > 0 && words[3] > 0;
        kept |= words[5] > 0 && words[3] == 0;
        for (uint32_t i = 0; i < words[15]; i++) {
            operands |= words[16 + 4 * i] >= BINARY;
            if (words[16 + 4 * i] < BINARY) {
                functions += functions == 0 || function != words[16 + 4 * i];
                function = words[16 + 4 * i];
            }
        }
    }
    l->epoch_only = l->polls_epoch && !kept;
    kernel_set_constant(&l->kernel, "GATES", gates);
    kernel_set_constant(&l->kernel, "ROPE", turns);
    kernel_set_constant(&l->kernel, "STATES", states);
    kernel_set_constant(&l->kernel, "ROWS_TOO", rows);
    kernel_set_constant(&l->kernel, "OPERANDS", operands);
    kernel_set_constant(&l->kernel, "FUNCTIONS", functions > 0);
    if (functions == 1)
        kernel_set_constant(&l->kernel, "FUNCTION", function);
}

const char *lower_weight_type(const lowering *c, tensor_type type, uint32_t length)
{
    static const char *const fours[][2] = {{"q4_0", "q4_0_vec4"}, {"q8_0", "q8_0_vec4"}};
    const char *name = type_find(type)->name;
    for (size_t i = 0; i < sizeof fours / sizeof *fours; i++)
        if (c->t->compile_fast && length % 32 == 0 && strcmp(fours[i][0], name) == 0)
            return fours[i][1];
    return name;
}

/* matmul_plain.wgsl reads four weights at a time, and whole fours. */
static bool fits_plain(const lowering *c, const dispatch_desc *l, const char *type)
{
    static const char *const types[] = {"q4_0_vec4", "q8_0_vec4", "f32", "f16", "bf16"};
    bool fits = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        fits |= strcmp(types[i], type) == 0;
    return fits && c->t->compile_fast && l->words[1] % 8 == 0 && l->words[5] != 2;
}

/* A thread for each quad. */
static uint32_t choose_plain(const lowering *c, dispatch_desc *l, uint32_t rows, const char *type)
{
    enum { THREADS = 8 }; /* as in matmul_plain.wgsl */
    uint32_t threads = c->form->threads ? c->form->threads : THREADS, filled = 0;
    for (uint32_t p = 0; p < l->words[9]; p++)
        filled += (l->words[PART + PART_WORDS * p + 14] + threads - 1) / threads;
    l->kernel.name = "matmul_plain";
    l->kernel.type = type;
    l->words[2] = c->form->threads ? c->form->groups : filled > c->t->most_groups ? c->t->most_groups : filled;
    l->words[0] = rows * l->words[2];
    return threads;
}

/* How the quads of all parts are shared out; of tiles, each part begins with a new workgroup. */
static void choose_grid(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t chunks, const layout *lies)
{
    uint32_t quads = 0, rows = plan_rows(c->p, s), filled = 0;
    for (uint32_t p = 0; p < s->part_count; p++)
        quads += l->words[PART + PART_WORDS * p + 14];
    /* The kernel for tiles has its own number of threads, which one dispatch has not. */
    bool tiled = rows >= PLAN_TILED_ROWS && !c->form->threads;
    tensor_type type = node_at(c, node_at(c, s->parts[0].matmul)->operands[1])->as.weight;
    const char *plain_type = lower_weight_type(c, type, l->words[1]);
    bool plain = !tiled && fits_plain(c, l, plain_type);
    uint32_t each = tiled ? choose_tiles(c, l, rows) : plain ? choose_plain(c, l, rows, plain_type) : 1;
    for (uint32_t p = 0; p < s->part_count; p++) {
        uint32_t *words = l->words + PART + PART_WORDS * p;
        words[0] = filled += (words[14] + each - 1) / each * each;
    }
    l->words[3] = filled;
    l->words[10] = rows;
    if (tiled) {
        l->words[2] = filled / each;
        l->words[0] *= l->words[2];
    } else if (!plain && !choose_row_by_words(c, l, quads, rows) && !choose_row(c, l, quads, rows, chunks, lies))
        choose_teams(c, l, quads, rows, chunks);
    if (c->t->specialize)
        leave_out(l, s->part_count);
    else if (c->t->compile_fast)
        leave_out_of_all(c, l, type);
}

static const memory_matrix *matrix_of(const lowering *c, const plan_part *part)
{
    return memory_matrix_of(c->m, c->which, node_at(c, part->matmul)->operands[1]);
}

/* A dispatch binds one buffer of weights and one of states: is what part `k` needs in them? */
static bool lies_beside(const lowering *c, const dispatch_desc *l, const plan_step *s, uint32_t k, err *e)
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
uint32_t lower_matmul(const lowering *c, dispatch_desc *l, const plan_step *s, err *e)
{
    const graph_node *w = node_at(c, node_at(c, s->parts[0].matmul)->operands[1]);
    const memory_matrix *first_matrix = matrix_of(c, &s->parts[0]);
    uint32_t pieces = first_matrix->piece_count, k = w->s.dims[LAST];
    dispatch_desc common = {.kernel.type = type_find(w->as.weight)->name};
    common.words[1] = k;
    common.words[4] = at(c, s->x);
    common.words[15] = lower_is_computed(c, s->x);
    if (s->norm) {
        const graph_node *norm = node_at(c, s->norm);
        common.words[5] = 1;
        common.words[6] = at(c, norm->operands[1]);
        common.words[7] = as_word(norm->as.rmsnorm.epsilon);
        common.words[8] = as_word(norm->as.rmsnorm.weight_offset);
    }
    if (s->combines_splits) {
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
            lower_part(c, &l[i], &s->parts[p], &matrix->pieces[i], words);
        }
        choose_grid(c, &l[i], s, layout_chunks(w->as.weight, k), layout_of(w->as.weight));
    }
    return pieces;
}
