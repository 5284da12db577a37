/* fuse: the fusion passes of a plan. Each pass looks for one pattern and fuses its steps into one, at the place of the
 * last: the inputs of the others exist by then, and no step in between may read their results. */
#include "base/str.h"
#include "graph/fuse_internal.h"
#include "graph/layout.h"

#include <stdlib.h>
#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1 };

const char *const pass_names[PASS_COUNT] = {"norm",  "gate",     "mix",     "epilogue", "rope",
                                            "chain", "siblings", "combine", "assign"};

static bool reads(const plan *p, const plan_step *s, node n)
{
    node nodes[PLAN_MAX_NODES];
    uint32_t count = plan_reads(p, s, nodes);
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i] == n)
            return true;
    return false;
}

/* The node whose memory a node's value is in: states and inputs are written in place. */
static node home_of(const graph *g, node n)
{
    n = plan_root(g, n);
    const graph_node *at = graph_at(g, n);
    if (at->op == OP_STORE)
        return at->operands[0];
    return at->op == OP_ASSIGN || at->op == OP_SAMPLE ? plan_root(g, at->operands[1]) : n;
}

static uint32_t homes_read(const plan *p, const plan_step *s, node *out)
{
    uint32_t count = plan_reads(p, s, out);
    for (uint32_t i = 0; i < count; i++)
        out[i] = home_of(p->g, out[i]);
    return count;
}

static uint32_t homes_written(const plan *p, const plan_step *s, node *out)
{
    uint32_t count = plan_writes(p, s, out);
    for (uint32_t i = 0; i < count; i++)
        out[i] = home_of(p->g, out[i]);
    const graph_node *n = graph_at(p->g, s->at);
    if (s->op == OP_SAMPLE) /* its history, too */
        out[count++] = plan_root(p->g, n->operands[4]);
    if (s->op == OP_SAMPLE && n->operand_count > 5) { /* and positions and control */
        out[count++] = plan_root(p->g, n->operands[3]);
        out[count++] = plan_root(p->g, n->operands[5]);
    }
    return count;
}

static bool share(const node *a, uint32_t a_count, const node *b, uint32_t b_count)
{
    for (uint32_t i = 0; i < a_count; i++)
        for (uint32_t k = 0; k < b_count; k++)
            if (a[i] == b[k])
                return true;
    return false;
}

/* May the steps be swapped or fused? Not if one writes what the other reads or writes. */
static bool independent(const plan *p, const plan_step *a, const plan_step *b)
{
    node a_reads[PLAN_MAX_NODES], a_writes[PLAN_MAX_NODES], b_reads[PLAN_MAX_NODES], b_writes[PLAN_MAX_NODES];
    uint32_t a_read = homes_read(p, a, a_reads), a_written = homes_written(p, a, a_writes);
    uint32_t b_read = homes_read(p, b, b_reads), b_written = homes_written(p, b, b_writes);
    return !share(a_writes, a_written, b_reads, b_read) && !share(a_writes, a_written, b_writes, b_written) &&
           !share(a_reads, a_read, b_writes, b_written);
}

/* May step `from` move to just before step `to`? */
bool fuse_may_wait(const plan *p, uint32_t from, uint32_t to)
{
    for (uint32_t i = from + 1; i < to; i++)
        if (!independent(p, &p->steps[from], &p->steps[i]))
            return false;
    return true;
}

/* May step `from` move to just behind step `to`, which is before it? */
static bool may_come_earlier(const plan *p, uint32_t from, uint32_t to)
{
    for (uint32_t i = to + 1; i < from; i++)
        if (!independent(p, &p->steps[from], &p->steps[i]))
            return false;
    return true;
}

static void look(fusing *f)
{
    node nodes[PLAN_MAX_NODES];
    memset(f->readers, 0, (graph_count(f->p->g) + 1) * sizeof *f->readers);
    for (uint32_t i = 0; i < f->p->count; i++) {
        uint32_t count = plan_reads(f->p, &f->p->steps[i], nodes);
        for (uint32_t k = 0; k < count; k++) {
            f->readers[nodes[k]]++;
            f->reader[nodes[k]] = i;
        }
    }
}

/* The only step that reads a node which is no output, or NO_STEP. */
uint32_t fuse_only_reader(const fusing *f, node n)
{
    return !f->output[n] && f->readers[n] == 1 ? f->reader[n] : NO_STEP;
}

/* The step one of whose parts has this result, and the index of that part. */
static uint32_t product_of(const plan *p, node result, uint32_t *part)
{
    for (uint32_t i = 0; i < p->count; i++)
        for (*part = 0; *part < p->steps[i].part_count; (*part)++)
            if (p->steps[i].parts[*part].result == result)
                return i;
    return NO_STEP;
}

void fuse_drop(plan *p, uint32_t i)
{
    memmove(&p->steps[i], &p->steps[i + 1], (p->count - i - 1) * sizeof *p->steps);
    p->count--;
}

/* Step `from` takes the place of the later step `to`. */
static void move_into(plan *p, uint32_t from, uint32_t to)
{
    p->steps[to] = p->steps[from];
    p->steps[to].at = p->steps[to].parts[p->steps[to].part_count - 1].result;
    fuse_drop(p, from);
}

static const graph_node *matrix_of(const plan *p, const plan_part *part)
{
    return graph_at(p->g, graph_at(p->g, part->matmul)->operands[1]);
}

static uint64_t step_bytes(const plan *p, const plan_step *s)
{
    node nodes[PLAN_MAX_NODES];
    uint64_t bytes = 0;
    uint32_t count = plan_matrices(p, s, nodes);
    for (uint32_t i = 0; i < count; i++) {
        const graph_node *w = graph_at(p->g, nodes[i]);
        bytes += layout_bytes(w->as.weight, (uint32_t)(shape_count(w->s) / w->s.dims[LAST]), w->s.dims[LAST]);
    }
    return bytes;
}

static bool is_product(const plan_step *s)
{
    return s->op == OP_MATMUL || s->op == OP_EXPERTS;
}

/* Products with chosen matrices must be with those of the same experts, and have biases both or none. */
static bool same_routes(const plan *p, const plan_step *a, const plan_step *b)
{
    const graph_node *m = graph_at(p->g, a->parts[0].matmul), *n = graph_at(p->g, b->parts[0].matmul);
    return a->op == OP_MATMUL || (m->operands[2] == n->operands[2] && m->operand_count == n->operand_count);
}

/* May one step read the matrices of both? */
static bool fit_together(const plan *p, const plan_step *a, const plan_step *b)
{
    return is_product(a) && a->op == b->op && a->x == b->x && a->norm == b->norm && !a->combines_splits &&
           !b->combines_splits && same_routes(p, a, b) &&
           matrix_of(p, &a->parts[0])->as.weight == matrix_of(p, &b->parts[0])->as.weight &&
           step_bytes(p, a) + step_bytes(p, b) <= p->most_matrix_bytes;
}

/* ---- the passes: each makes one change and says whether it did ------------------ */

/* Does a product use `x` for anything but multiplying it? */
static bool also_added(const plan *p, const plan_step *s, node x)
{
    plan_step without = *s;
    without.x = graph_at(p->g, s->parts[0].matmul)->operands[1];
    return reads(p, &without, x);
}

/* All readers of the norm must be products that can fuse it. */
static bool fuse_norms(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i < p->count; i++) {
        node norm = p->steps[i].at;
        uint32_t readers = 0;
        bool all = p->steps[i].op == OP_RMSNORM && !f->output[norm];
        for (uint32_t k = i + 1; all && k < p->count; k++)
            if (reads(p, &p->steps[k], norm)) {
                const plan_step *s = &p->steps[k];
                all = is_product(s) && s->x == norm && !s->norm && !plan_has_many_rows(p, plan_rows(p, s)) &&
                      !also_added(p, s, norm);
                readers++;
            }
        if (!all || !readers)
            continue;
        for (uint32_t k = i + 1; k < p->count; k++)
            if (is_product(&p->steps[k]) && p->steps[k].x == norm && !p->steps[k].norm) {
                p->steps[k].norm = norm;
                p->steps[k].x = graph_at(p->g, norm)->operands[0];
            }
        fuse_drop(p, i);
        return true;
    }
    return false;
}

static bool is_bare(const plan_step *s)
{
    return s->part_count == 1 && !s->combines_splits && s->parts[0].result == s->parts[0].matmul;
}

/* The functions of kernels/include/epilogue_functions.wgsl. */
static bool may_follow(const graph_node *n)
{
    switch (n->as.unary.kind) {
    case UNARY_SQRT:
    case UNARY_EXP:
    case UNARY_LOG:
    case UNARY_SIN:
    case UNARY_COS: return false;
    default: return true;
    }
}

/* Does step `at` multiply f(gate), or gate itself, by `up`? */
static bool gate_at(fusing *f, uint32_t at, node gate, node up)
{
    plan *p = f->p;
    uint32_t part, act_step = NO_STEP;
    node act = 0;
    if (graph_at(p->g, gate)->op == OP_UNARY) {
        const graph_node *n = graph_at(p->g, gate);
        act_step = fuse_only_reader(f, plan_root(p->g, n->operands[0]));
        if (act_step == NO_STEP || p->steps[act_step].at != gate || n->as.unary.kind >= UNARY_SCALE || !may_follow(n))
            return false;
        act = gate;
        gate = plan_root(p->g, n->operands[0]);
    }
    uint32_t a = product_of(p, gate, &part), b = product_of(p, up, &part);
    if (a == NO_STEP || b == NO_STEP || a == b || !is_bare(&p->steps[a]) || !is_bare(&p->steps[b]) ||
        !fit_together(p, &p->steps[a], &p->steps[b]) || fuse_only_reader(f, up) != at ||
        fuse_only_reader(f, gate) != (act ? act_step : at) || (act && fuse_only_reader(f, act) != at))
        return false;
    plan_step s = p->steps[a];
    s.parts[0].gate_of = up;
    s.parts[0].act = act;
    s.parts[0].result = s.at = p->steps[at].at;
    p->steps[at] = s;
    bool gone[3] = {false};
    uint32_t others[3] = {a, b, act_step};
    for (int round = 0; round < 3; round++) { /* from the last to the first, so that numbers hold */
        int last = -1;
        for (int i = 0; i < 3; i++)
            if (!gone[i] && others[i] != NO_STEP && (last < 0 || others[i] > others[last]))
                last = i;
        if (last >= 0) {
            gone[last] = true;
            fuse_drop(p, others[last]);
        }
    }
    return true;
}

/* Is it a product with chosen matrices, by itself? */
static bool of_experts(const plan *p, node result)
{
    uint32_t part, step = product_of(p, result, &part);
    return step != NO_STEP && p->steps[step].op == OP_EXPERTS && is_bare(&p->steps[step]);
}

static bool fuse_gates(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i < p->count; i++) {
        const graph_node *n = graph_at(p->g, p->steps[i].at);
        bool clamped = n->op == OP_BINARY && n->as.binary == BINARY_CLAMPED_GLU;
        if (p->steps[i].op != OP_BINARY || (n->as.binary != BINARY_MUL && !clamped) ||
            memcmp(&graph_at(p->g, n->operands[0])->s, &graph_at(p->g, n->operands[1])->s, sizeof(shape)) != 0)
            continue;
        node a = plan_root(p->g, n->operands[0]), b = plan_root(p->g, n->operands[1]);
        if (clamped ? of_experts(p, a) && gate_at(f, i, a, b) : gate_at(f, i, a, b) || gate_at(f, i, b, a))
            return true;
    }
    return false;
}

/* What the experts of a row make is added up, and the residual to it: for few rows, whose matrices are read only once. */
static bool fuse_mixes(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i < p->count; i++) {
        plan_step *s = &p->steps[i];
        plan_part *part = &s->parts[0];
        uint32_t reader = s->op == OP_EXPERTS && !part->gate_of ? fuse_only_reader(f, part->result) : NO_STEP;
        if (reader == NO_STEP || plan_is_chain(&p->steps[reader]) || s->norm || part->epilogue_count ||
            !fuse_may_wait(p, i, reader))
            continue;
        const graph_node *routed = graph_at(p->g, part->matmul), *n = graph_at(p->g, p->steps[reader].at);
        plan_operand o;
        if (!part->mix && n->op == OP_MIX && plan_root(p->g, n->operands[0]) == part->matmul &&
            n->operands[1] == routed->operands[2] && (p->slots || routed->s.dims[1] < PLAN_TILED_ROWS) &&
            graph_at(p->g, routed->operands[0])->s.dims[1] == routed->s.dims[1])
            part->result = part->mix = p->steps[reader].at;
        else if (part->mix && n->op == OP_BINARY && n->as.binary == BINARY_ADD &&
                 plan_operand_of(p->g, p->steps[reader].at, part->result, &o) && o.per_row)
            part->result = part->epilogue[part->epilogue_count++] = p->steps[reader].at;
        else
            continue;
        move_into(p, i, reader);
        return true;
    }
    return false;
}

/* Is there an element for each row of the matrix? A product seen in another shape may be added to otherwise. */
static bool for_every_row(const plan *p, const plan_part *part, node other)
{
    return shape_count(graph_at(p->g, other)->s) == graph_at(p->g, part->matmul)->s.dims[LAST];
}

static bool fuse_epilogues(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t k = 0; k < p->steps[i].part_count; k++) {
            plan_part *part = &p->steps[i].parts[k];
            uint32_t reader = fuse_only_reader(f, part->result);
            if (reader == NO_STEP || p->steps[i].op != OP_MATMUL || p->steps[i].part_count > 1 ||
                p->steps[i].combines_splits || part->gate_of || part->rope || part->store ||
                part->epilogue_count == PLAN_MAX_EPILOGUE || plan_is_chain(&p->steps[reader]))
                continue;
            plan_operand o;
            const plan_step *s = &p->steps[reader];
            if (!(s->op == OP_UNARY && may_follow(graph_at(p->g, s->at))) &&
                !(s->op == OP_BINARY && plan_operand_of(p->g, s->at, part->result, &o) &&
                  (o.per_row || for_every_row(p, part, o.other))))
                continue;
            if (!fuse_may_wait(p, i, reader))
                continue;
            part->result = part->epilogue[part->epilogue_count++] = s->at;
            move_into(p, i, reader);
            return true;
        }
    return false;
}

/* RoPE must rotate complete heads, in row4s of two pairs. */
static bool can_turn(const plan *p, const plan_part *part, node rope)
{
    const graph_node *n = graph_at(p->g, rope);
    uint32_t size = n->s.dims[LAST];
    return !part->rope && graph_rope_factor_rows(p->g, n) <= 1 && n->as.rope.rotated == size && size % 4 == 0 &&
           graph_at(p->g, part->matmul)->s.dims[LAST] == n->s.dims[2] * size;
}

/* A quantised state needs 32 elements at once. The store's position must be that of the rotation, if there is one: a part has one position. */
static bool can_store(const plan *p, const plan_part *part, node store)
{
    const graph_node *n = graph_at(p->g, store);
    return n->type < DTYPE_Q8_0 && graph_at(p->g, part->matmul)->s.dims[LAST] == n->s.dims[2] * n->s.dims[3] &&
           plan_root(p->g, n->operands[1]) == part->result &&
           (!part->rope || plan_root(p->g, graph_at(p->g, part->rope)->operands[1]) == plan_root(p->g, n->operands[2]));
}

static bool fuse_ropes(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i < p->count; i++) {
        plan_part *part = &p->steps[i].parts[0];
        uint32_t reader = p->steps[i].op == OP_MATMUL && p->steps[i].part_count == 1 && !p->steps[i].combines_splits &&
                                  !part->gate_of && !part->store
                              ? fuse_only_reader(f, part->result)
                              : NO_STEP;
        /* Heads may lie across the pieces of a matrix that is not bound at once. */
        if (reader == NO_STEP || plan_is_chain(&p->steps[reader]) || !fuse_may_wait(p, i, reader) ||
            step_bytes(p, &p->steps[i]) > p->most_matrix_bytes)
            continue;
        const plan_step *s = &p->steps[reader];
        if (s->op == OP_ROPE && can_turn(p, part, s->at))
            part->result = part->rope = s->at;
        else if (s->op == OP_STORE && can_store(p, part, s->at))
            part->result = part->store = s->at;
        else
            continue;
        move_into(p, i, reader);
        return true;
    }
    return false;
}

static bool fuse_siblings(fusing *f)
{
    plan *p = f->p;
    for (uint32_t a = 0; a < p->count; a++)
        for (uint32_t b = a + 1; p->steps[a].op == OP_MATMUL && b < p->count; b++) {
            plan_step *first = &p->steps[a], *second = &p->steps[b];
            if (second->op != OP_MATMUL || first->part_count + second->part_count > PLAN_MAX_PARTS ||
                !fit_together(p, first, second) || !independent(p, first, second))
                continue;
            bool waits = fuse_may_wait(p, a, b);
            if (!waits && !may_come_earlier(p, b, a))
                continue;
            plan_step both = *first;
            memcpy(both.parts + both.part_count, second->parts, second->part_count * sizeof *both.parts);
            both.part_count += second->part_count;
            both.at = second->at;
            p->steps[waits ? b : a] = both;
            fuse_drop(p, waits ? a : b);
            return true;
        }
    return false;
}

/* The splits lie in scratch memory, so the product must be the next step. */
static bool fuse_combines(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i + 1 < p->count; i++) {
        plan_step *a = &p->steps[i], *product = &p->steps[i + 1];
        if (a->op != OP_ATTENTION || a->split_output || plan_splits(p, a) == 1 || fuse_only_reader(f, a->at) != i + 1 ||
            product->op != OP_MATMUL || product->norm || plan_root(p->g, product->x) != a->at)
            continue;
        const graph_node *q = graph_at(p->g, graph_at(p->g, a->at)->operands[0]);
        if (plan_rows(p, product) != 1 || q->s.dims[1] != 1 || q->s.dims[3] % 4 != 0 ||
            q->s.dims[2] * plan_splits(p, a) > PLAN_MAX_COMBINED)
            continue;
        a->split_output = product->combines_splits = true;
        return true;
    }
    return false;
}

static bool fuse_assigns(fusing *f)
{
    plan *p = f->p;
    for (uint32_t i = 0; i + 1 < p->count; i++) {
        plan_step *a = &p->steps[i], *b = &p->steps[i + 1];
        if (a->op != OP_ASSIGN || b->op != OP_ASSIGN || a->assign_count + b->assign_count > PLAN_MAX_ASSIGNS)
            continue;
        memcpy(a->assigns + a->assign_count, b->assigns, b->assign_count * sizeof *a->assigns);
        a->assign_count += b->assign_count;
        a->at = b->at;
        fuse_drop(p, i + 1);
        return true;
    }
    return false;
}

uint32_t plan_apply(plan *p, plan_pass pass)
{
    static bool (*const passes[PASS_COUNT])(fusing *) = {
        [PASS_NORM] = fuse_norms,         [PASS_GATE] = fuse_gates,       [PASS_MIX] = fuse_mixes,
        [PASS_EPILOGUE] = fuse_epilogues, [PASS_ROPE] = fuse_ropes,       [PASS_CHAIN] = fuse_chain,
        [PASS_SIBLINGS] = fuse_siblings,  [PASS_COMBINE] = fuse_combines, [PASS_ASSIGN] = fuse_assigns};
    uint32_t before = p->count;
    size_t slots = graph_count(p->g) + 1;
    fusing f = {p, mem_alloc(slots * sizeof(bool)), mem_alloc(slots * sizeof(uint32_t)),
                mem_alloc(slots * sizeof(uint32_t))};
    for (node i = 1; i < slots; i++)
        if (graph_at(p->g, i)->name)
            f.output[plan_root(p->g, i)] = true;
    do
        look(&f);
    while (passes[pass](&f));
    free(f.output);
    free(f.readers);
    free(f.reader);
    return before - p->count;
}

void plan_fuse(plan *p, fusion_level level)
{
    for (int pass = 0; level != LEVEL_NONE && pass < PASS_COUNT; pass++)
        plan_apply(p, (plan_pass)pass);
}
