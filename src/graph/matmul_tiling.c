/* matmul_tiling: chooses the kernel of a matrix product and its tiling: tiles, teams of threads, row4s of a workgroup;
 * and the constants that the kernel is compiled with. */
#include "graph/layout.h"
#include "graph/lower_internal.h"

enum {
    PRODUCT_THREADS = 256, /* of a workgroup */
    TILE_ROWS = 64,        /* of x, as in matmul_tile.wgsl */
    TILE_COLUMNS = 8,      /* of row4s */
    TEAM = 32,             /* as in matmul_vec.wgsl */
    ROW_MOST_ROW4S =
        1 << 14,             /* for matmul_row.wgsl: with more, reducing in workgroup memory costs more than it gains */
    ROW_LEAST_THREADS = 128, /* that share x */
    ROW_SQUARED = 512,       /* as in matmul_row.wgsl: as many threads at most */
};

static const uint32_t *part_args(const dispatch_desc *l, uint32_t part)
{
    return l->args + MATMUL_PARTS + PART_SIZE * part;
}

/* A workgroup of matmul_block.wgsl: ROWS, COLUMNS, SLICES and DEPTH. */
typedef struct cut {
    uint32_t rows, columns, slices, depth;
} cut;

static uint32_t tiles_of(const dispatch_desc *l, uint32_t rows, cut c)
{
    uint32_t across = 0;
    for (uint32_t p = 0; p < l->args[MATMUL_PART_COUNT]; p++)
        across += (part_args(l, p)[PART_ROW4S] + 2 * c.columns - 1) / (2 * c.columns);
    return across * ((rows + 8 * c.rows - 1) / (8 * c.rows));
}

/* Large tiles read least, but need several tiles for each multiprocessor. With fewer, small tiles, whose slices of k
 * give enough threads; wider ones, if there still are two for each multiprocessor, and the last ones then end earlier.
 * These were the best of some sixty on an H200. */
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

/* Returns the number of row4s of a workgroup. */
static uint32_t choose_tiles(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t rows)
{
    uint32_t row4s = lower_matrix_tiles(c, l, s);
    if (row4s)
        return row4s;
    if (!c->t->specialize || !c->t->blocks) {
        l->kernel.name = "matmul_tile";
        l->args[ARG_GROUPS] = (rows + TILE_ROWS - 1) / TILE_ROWS;
        return TILE_COLUMNS;
    }
    cut best = choose_cut(c, l, rows);
    l->kernel.name = "matmul_block";
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, best.rows * best.columns * best.slices);
    kernel_set_constant(&l->kernel, CONSTANT_ROWS, best.rows);
    kernel_set_constant(&l->kernel, CONSTANT_COLUMNS, best.columns);
    kernel_set_constant(&l->kernel, CONSTANT_SLICES, best.slices);
    kernel_set_constant(&l->kernel, CONSTANT_DEPTH, best.depth);
    kernel_set_constant(&l->kernel, CONSTANT_WHOLE, l->args[MATMUL_LENGTH] % best.depth == 0);
    l->args[ARG_GROUPS] = (rows + 8 * best.rows - 1) / (8 * best.rows);
    return 2 * best.columns;
}

uint32_t lower_most_epilogue_steps(const dispatch_desc *l)
{
    uint32_t most = 0;
    for (uint32_t p = 0; p < l->args[MATMUL_PART_COUNT]; p++)
        if (part_args(l, p)[PART_STEP_COUNT] > most)
            most = part_args(l, p)[PART_STEP_COUNT];
    return most;
}

/* matmul_vec.wgsl: if a matrix has few rows, or long ones, more threads share a row, in smaller workgroups. The number
 * of threads that share a row does not depend on the fusion level, so that all levels get the same sums. */
static void choose_teams(const lowering *c, dispatch_desc *l, uint32_t row4s, uint32_t rows, uint32_t chunks)
{
    uint32_t team = TEAM, threads = PRODUCT_THREADS, one = c->form->threads;
    if (c->t->specialize) {
        uint32_t length = (l->args[MATMUL_LENGTH] + 31) / 32 * 32;
        while (team < PRODUCT_THREADS && row4s * team < LOWER_ENOUGH_THREADS && chunks > team)
            team *= 2;
        /* Combining the splits of attention is work for many threads. */
        while (l->args[MATMUL_X_FORM] != X_SPLITS && threads > team && threads > 64 &&
               row4s * team / threads < c->t->busy_groups)
            threads /= 2;
        while (length > c->t->x_floats && team > TEAM && team * l->args[MATMUL_CHUNK_VEC4S] * 4 > c->t->x_floats)
            team /= 2; /* so that a segment has room for a step */
        uint32_t step = team * l->args[MATMUL_CHUNK_VEC4S] * 4;
        uint32_t segment = length <= c->t->x_floats ? length : c->t->x_floats / step * step;
        kernel_set_constant(&l->kernel, CONSTANT_THREADS, one ? one : threads);
        kernel_set_constant(&l->kernel, CONSTANT_TEAM, team);
        kernel_set_constant(&l->kernel, CONSTANT_LENGTH, l->args[MATMUL_LENGTH]);
        kernel_set_constant(&l->kernel, CONSTANT_PREFETCHES, 1);
        kernel_set_constant(&l->kernel, CONSTANT_NORMS, l->args[MATMUL_X_FORM] == X_NORMED);
        kernel_set_constant(&l->kernel, CONSTANT_COMBINES_SPLITS, l->args[MATMUL_X_FORM] == X_SPLITS);
        if (l->args[MATMUL_X_FORM] != X_SPLITS)
            kernel_set_constant(&l->kernel, CONSTANT_MAX_SPLITS, 1);
        else if (c->t->tight)
            kernel_set_constant(&l->kernel, CONSTANT_MAX_SPLITS, c->t->max_splits);
        kernel_set_constant(&l->kernel, CONSTANT_SEGMENT, segment);
        kernel_set_constant(&l->kernel, CONSTANT_SHARED_X_WORDS, one ? c->t->x_floats : segment);
    }
    uint32_t teams = (one ? one : threads) / team, groups = (row4s + teams - 1) / teams;
    if (one) {
        l->depends_on_groups = 1u << ARG_GROUPS | 1u << MATMUL_ROW_GROUPS;
        l->single_pass = rows == 1;
        if (c->t->specialize) {
            kernel_set_constant(&l->kernel, CONSTANT_PARTS, l->args[MATMUL_PART_COUNT]);
            kernel_set_constant(&l->kernel, CONSTANT_EPILOGUE_STEPS, lower_most_epilogue_steps(l));
        }
        groups = row4s < c->form->groups ? row4s : c->form->groups; /* every workgroup has some */
    }
    l->kernel.name = "matmul_vec";
    l->polls_epoch = c->t->specialize && l->args[MATMUL_X_FORM] != X_SPLITS && l->args[MATMUL_LENGTH] % 4 == 0;
    lower_with_subgroups(c, l);
    l->args[MATMUL_ROW_GROUPS] = groups < c->t->most_groups ? groups : c->t->most_groups;
    l->args[ARG_GROUPS] = rows * l->args[MATMUL_ROW_GROUPS];
}

/* How matmul_row.wgsl stores x, and how its threads share a row. */
typedef struct row_cut {
    bool packed;
    uint32_t team, steps; /* TEAM and STEPS */
    uint32_t at_once;     /* AT_ONCE: row4s of a team that are in flight */
    uint32_t piece;       /* PIECE_WORDS, if x is int8 */
    uint32_t room;        /* words of workgroup memory that x takes */
} row_cut;

/* Room for x as bytes and for a piece of it as floats, the largest that fits: x_int8.wgsl. */
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

/* The fewest chunks for a thread one after the other, then the fewest idle threads. */
static bool choose_row_cut(const lowering *c, const dispatch_desc *l, uint32_t row4s, uint32_t chunks,
                           const layout *lies, row_cut *best)
{
    /* Registers are few: a thread would wait at once for weights that are spilled to memory. */
    enum { MOST_X_WORDS = 32, MOST_WORDS = 92, MOST_HELD_WORDS = 80 };
    uint32_t x_words = best->packed ? 10 : lies->chunk_weights;
    uint32_t each = (row4s + c->t->busy_groups - 1) / c->t->busy_groups, least = UINT32_MAX;
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
    uint32_t words =
        4 * ((lies->low_bytes + lies->high_bytes + 3) / 4 + (lies->scale_bytes > 0) + (lies->factor_bytes > 0));
    uint32_t asked = (chunks * lies->chunk_weights + c->form->row_threads - 1) / c->form->row_threads;
    uint32_t others = best->steps * x_words + asked * (l->args[MATMUL_X_FORM] == X_NORMED ? 2 : 1);
    uint32_t left = others < MOST_WORDS ? MOST_WORDS - others : 0,
             held = left < MOST_HELD_WORDS ? left : MOST_HELD_WORDS;
    uint32_t most = held / (words * best->steps), teams = c->form->row_threads / best->team;
    most = most < 1 ? 1 : most > c->t->max_at_once ? c->t->max_at_once : most;
    uint32_t wanted = (each + teams - 1) / teams, batches = (wanted + most - 1) / most;
    best->at_once = (wanted + batches - 1) / batches;
    best->room = best->packed ? packed_room(c, chunks, &best->piece) : (chunks | 1) * lies->chunk_weights;
    return best->room <= c->t->x_floats;
}

bool lower_row4s_are_whole(const dispatch_desc *l)
{
    bool whole = true;
    for (uint32_t p = 0; p < l->args[MATMUL_PART_COUNT]; p++) {
        const uint32_t *part = part_args(l, p);
        whole = whole && part[PART_ROWS] % (part[PART_FORM] == FORM_GATED ? 2 : 4) == 0;
    }
    return whole;
}

/* Elements of x that a thread combines at once: as many as there are registers for all their splits. */
static void choose_combining(dispatch_desc *l, uint32_t piece)
{
    enum { MOST_SPLITS_AT_ONCE = 32 };
    uint32_t splits = l->args[MATMUL_SPLITS], at_once = piece;
    while (at_once > 1 && (piece % at_once || at_once * splits > MOST_SPLITS_AT_ONCE))
        at_once--;
    kernel_set_constant(&l->kernel, CONSTANT_SPLITS, splits);
    kernel_set_constant(&l->kernel, CONSTANT_COMBINED_WORDS, at_once);
}

/* matmul_row.wgsl: one row of x, on a device with subgroups. */
static bool choose_row(const lowering *c, dispatch_desc *l, uint32_t row4s, uint32_t rows, uint32_t chunks,
                       const layout *lies)
{
    uint32_t one = c->form->threads;
    bool combines = l->args[MATMUL_X_FORM] == X_SPLITS, norms = l->args[MATMUL_X_FORM] == X_NORMED;
    row_cut cut = {.packed = c->t->int8_dot && lies->bytes != BYTES_NONE};
    if (!c->t->specialize || c->t->vec_only || c->t->subgroup < 4 || rows != 1 || row4s > ROW_MOST_ROW4S)
        return false;
    if (!choose_row_cut(c, l, row4s, chunks, lies, &cut))
        return false;
    bool all_threads = one || combines || cut.packed; /* as many as a megakernel has: the more share x, the better */
    uint32_t least = cut.team > ROW_LEAST_THREADS ? cut.team : ROW_LEAST_THREADS;
    uint32_t threads = all_threads || least > c->form->row_threads ? c->form->row_threads : least;
    uint32_t teams = threads / cut.team;
    static const char *const stored[] = {
        [BYTES_ONE] = "int8", [BYTES_HALVES] = "int8_halves", [BYTES_PAIRS] = "int8_pairs"};
    l->kernel.x = cut.packed ? stored[lies->bytes] : NULL;
    kernel_set_constant(&l->kernel, CONSTANT_THREADS, threads);
    kernel_set_constant(&l->kernel, CONSTANT_TEAM, cut.team);
    kernel_set_constant(&l->kernel, CONSTANT_LENGTH, l->args[MATMUL_LENGTH]);
    kernel_set_constant(&l->kernel, CONSTANT_CHUNK_VEC4S, l->args[MATMUL_CHUNK_VEC4S]);
    kernel_set_constant(&l->kernel, CONSTANT_STEPS, cut.steps);
    kernel_set_constant(&l->kernel, CONSTANT_AT_ONCE, cut.at_once);
    uint32_t words = (chunks * lies->chunk_weights + threads - 1) / threads;
    uint32_t piece = cut.packed && cut.piece < words ? cut.piece : words;
    kernel_set_constant(&l->kernel, CONSTANT_PIECES, (words + piece - 1) / piece);
    kernel_set_constant(&l->kernel, CONSTANT_PIECE_WORDS, piece);
    kernel_set_constant(&l->kernel, CONSTANT_SHARED_X_WORDS, one ? c->t->x_floats : (cut.room + 31) / 32 * 32);
    kernel_set_constant(&l->kernel, CONSTANT_NORMS, norms);
    kernel_set_constant(&l->kernel, CONSTANT_CHAINS, ROW_SQUARED / threads);
    kernel_set_constant(&l->kernel, CONSTANT_COMBINES_SPLITS, combines);
    kernel_set_constant(&l->kernel, CONSTANT_SPLITS_OF_X, one || combines ? c->t->max_splits : 1);
    if (c->t->tight)
        kernel_set_constant(&l->kernel, CONSTANT_MOST_AT_ONCE, c->t->max_at_once);
    if (c->t->one_sum_buffer)
        kernel_set_constant(&l->kernel, CONSTANT_SUM_BUFFERS, 1);
    if (combines)
        choose_combining(l, piece);
    uint32_t groups = (row4s + teams * cut.at_once - 1) / (teams * cut.at_once);
    if (one) {
        enum { MANY_BYTES = 96 << 10, WARMED_BYTES = 64 << 10, SECTOR_BYTES = 32 }; /* of a workgroup */
        uint64_t bytes = 4ull * row4s * chunks * lies->low_bytes;
        l->warms_cache = lies->low_bytes == SECTOR_BYTES / 2 && l->args[MATMUL_PART_COUNT] == 1 &&
                         bytes > (uint64_t)MANY_BYTES * c->t->busy_groups;
        kernel_set_constant(&l->kernel, CONSTANT_WARMED_WORDS,
                            l->warms_cache ? WARMED_BYTES / SECTOR_BYTES / threads : 0);
        l->depends_on_groups =
            1u << ARG_GROUPS | 1u << MATMUL_ROW_GROUPS | 1u << MATMUL_GROUP_ROW4S | 1u << MATMUL_LARGER_GROUPS;
        l->single_pass = true;
        kernel_set_constant(&l->kernel, CONSTANT_PARTS, l->args[MATMUL_PART_COUNT]);
        kernel_set_constant(&l->kernel, CONSTANT_EPILOGUE_STEPS, lower_most_epilogue_steps(l));
        groups = row4s < c->form->groups ? row4s : c->form->groups; /* every workgroup has some */
    } else if (groups > c->t->most_groups)
        groups = c->t->most_groups;
    kernel_set_constant(&l->kernel, CONSTANT_ONCE, (row4s + groups - 1) / groups <= teams * cut.at_once);
    kernel_set_constant(&l->kernel, CONSTANT_WHOLE_ROW4S, lower_row4s_are_whole(l));
    l->kernel.name = "matmul_row";
    l->polls_epoch = true;
    lower_with_subgroups(c, l);
    l->args[ARG_GROUPS] = l->args[MATMUL_ROW_GROUPS] = groups;
    l->args[MATMUL_GROUP_ROW4S] = row4s / groups;
    l->args[MATMUL_LARGER_GROUPS] = row4s % groups;
    return true;
}

/* If a matrix is small, a chunk of 32 weights is too much for a thread: it gets a word of them instead. */
static bool choose_row_by_words(const lowering *c, dispatch_desc *l, uint32_t row4s, uint32_t rows)
{
    enum { FEW_WEIGHTS = 50000 }; /* of a workgroup */
    static const layout by_words = {.chunk_weights = 8, .low_bytes = 4, .scale_chunks = 4, .factor_bytes = 2};
    uint64_t weights = 4ull * row4s * l->args[MATMUL_LENGTH];
    if (strcmp(l->kernel.type, "q4_0") != 0 || l->args[MATMUL_LENGTH] % 32 ||
        weights > (uint64_t)FEW_WEIGHTS * c->t->busy_groups)
        return false;
    dispatch_desc as_it_was = *l;
    l->kernel.type = "q4_0_words";
    l->args[MATMUL_CHUNK_VEC4S] = by_words.chunk_weights / 4;
    if (choose_row(c, l, row4s, rows, l->args[MATMUL_LENGTH] / by_words.chunk_weights, &by_words))
        return true;
    *l = as_it_was;
    return false;
}

/* A kernel that is compiled for one product omits everything that the product does not need. */
void lower_leave_out(dispatch_desc *l, uint32_t parts)
{
    bool gates = false, rotates = false, states = false, rows = false, kept = false, operands = false;
    uint32_t functions = 0, function = 0;
    for (uint32_t p = 0; p < parts; p++) {
        const uint32_t *part = part_args(l, p);
        gates |= part[PART_FORM] == FORM_GATED;
        rotates |= part[PART_FORM] > FORM_GATED;
        states |= part[PART_DESTINATION] > DESTINATION_ACTIVATIONS;
        rows |= part[PART_DESTINATION] > DESTINATION_ACTIVATIONS && part[PART_ROW_COPY] > 0;
        kept |= part[PART_DESTINATION] > DESTINATION_ACTIVATIONS && part[PART_ROW_COPY] == 0;
        for (uint32_t i = 0; i < part[PART_STEP_COUNT]; i++) {
            uint32_t kind = part[PART_STEPS + STEP_SIZE * i + STEP_KIND];
            operands |= kind >= STEP_BINARY;
            if (kind < STEP_BINARY) {
                functions += functions == 0 || function != kind;
                function = kind;
            }
        }
    }
    l->epoch_only = l->polls_epoch && !kept;
    kernel_set_constant(&l->kernel, CONSTANT_GATES, gates);
    kernel_set_constant(&l->kernel, CONSTANT_ROPE, rotates);
    kernel_set_constant(&l->kernel, CONSTANT_STATES, states);
    kernel_set_constant(&l->kernel, CONSTANT_ROWS_TOO, rows);
    kernel_set_constant(&l->kernel, CONSTANT_OPERANDS, operands);
    kernel_set_constant(&l->kernel, CONSTANT_FUNCTIONS, functions > 0);
    if (functions == 1)
        kernel_set_constant(&l->kernel, CONSTANT_FUNCTION, function);
}

bool lower_experts_row(const lowering *c, dispatch_desc *l, uint32_t row4s, uint32_t chunks, const layout *lies)
{
    if (!choose_row(c, l, row4s, 1, chunks, lies))
        return false;
    lower_leave_out(l, 1);
    l->warms_cache = false; /* which weights they are is not known before */
    return true;
}

void lower_matmul_grid(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t chunks, const layout *lies)
{
    uint32_t row4s = 0, rows = plan_rows(c->p, s), filled = 0;
    for (uint32_t p = 0; p < s->part_count; p++)
        row4s += part_args(l, p)[PART_ROW4S];
    /* The tiled kernels have a fixed number of threads, which differs from the megakernel's. */
    bool tiled = plan_has_many_rows(c->p, rows) && !c->form->threads && !lower_many_rows(c, rows);
    tensor_type type = node_at(c, node_at(c, s->parts[0].matmul)->operands[1])->as.weight;
    uint32_t plain = c->t->compile_fast && !tiled ? lower_matmul_plain(c, l, rows, type) : 0;
    uint32_t each = tiled ? choose_tiles(c, l, s, rows) : plain ? plain : 1;
    for (uint32_t p = 0; p < s->part_count; p++) {
        uint32_t *part = lower_part_args(l, p);
        part[PART_END] = filled += (part[PART_ROW4S] + each - 1) / each * each;
    }
    l->args[MATMUL_ROW4S] = filled;
    l->args[MATMUL_X_ROWS] = rows;
    if (tiled) {
        l->args[MATMUL_ROW_GROUPS] = filled / each;
        l->args[ARG_GROUPS] *= l->args[MATMUL_ROW_GROUPS];
    } else if (!plain && !lower_slots_matrix(c, l, s, row4s, rows) &&
               !lower_slots(c, l, s, row4s, rows, chunks, lies) && !choose_row_by_words(c, l, row4s, rows) &&
               !choose_row(c, l, row4s, rows, chunks, lies))
        choose_teams(c, l, row4s, rows, chunks);
    if (c->t->specialize)
        lower_leave_out(l, s->part_count);
    else if (c->t->compile_fast)
        lower_leave_out_for_type(c, l, type);
}
