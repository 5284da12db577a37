/* What lower*.c and matmul_*.c share. */
#ifndef SOLO_GRAPH_LOWER_INTERNAL_H
#define SOLO_GRAPH_LOWER_INTERNAL_H

#include "graph/layout.h"
#include "graph/lower.h"

#include <math.h>
#include <string.h>

enum {
    LOWER_LAST_DIM = GRAPH_MAX_DIMS - 1,
    LOWER_ROW_AT_ONCE = 5, /* MOST_AT_ONCE of matmul_row.wgsl */
    LOWER_MUCH_WORKGROUP_BYTES = 20480,
    LOWER_ENOUGH_THREADS = 65536, /* to keep a large GPU's memory busy */
    LOWER_SLOTS_TOGETHER = 4,     /* rows of x that a thread of slots_share_x.wgsl reads together, at least */
};

/* The context in which a step is lowered. */
typedef struct lowering {
    const device_profile *t;
    const launch_form *form;
    const memory *m;
    uint32_t which;
    const plan *p;
    const bool *halves; /* [node] lower_find_halves */
} lowering;

static inline uint32_t as_word(float f)
{
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    return w;
}

/* log2 of the ratio of a pair's angle to that of the pair before it. */
static inline uint32_t rope_log2_ratio(const rope_spec *spec, uint32_t rotated)
{
    return as_word(-2 * log2f(spec->base) / (float)rotated);
}

static inline uint32_t at(const lowering *c, node n)
{
    return memory_at(c->m, c->which, n);
}

static inline const graph_node *node_at(const lowering *c, node n)
{
    return graph_at(c->p->g, n);
}

/* A kernel whose threads make sums by subgroups, if there are any. */
static inline void lower_with_subgroups(const lowering *c, dispatch_desc *l)
{
    l->kernel.subgroup = c->t->subgroup;
    l->kernel.quads = c->t->quads;
}

/* Is the node computed in a run, so that its floats have the epoch bit? */
bool lower_is_computed(const lowering *c, node n);
/* The file in kernels/weight for rows of a type: software has some of its own, which compile faster. */
const char *lower_weight_type(const lowering *c, tensor_type type, uint32_t length);
/* The dispatches of a step; returns how many, 0 with an error. */
uint32_t lower_step_of(const lowering *c, const plan_step *s, dispatch_desc *l, err *e);
/* The row4s of a part's matrix, or of a piece of it. */
static inline uint32_t lower_row4s_of(const plan_part *part, uint32_t rows)
{
    return part->gate_of ? (rows + 1) / 2 : (rows + 3) / 4;
}
/* The most epilogue steps of a part of a product whose arguments are there. */
uint32_t lower_most_epilogue_steps(const dispatch_desc *l);
/* Has every row4 of every part all its rows? */
bool lower_row4s_are_whole(const dispatch_desc *l);
/* matmul_slots.wgsl: rows that are texts of their own. False if the product is not for it. */
bool lower_slots(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t row4s, uint32_t rows,
                 uint32_t chunks, const layout *lies);
/* matmul_slots_combine.wgsl, behind the product that `l` is; returns how many more dispatches there are. */
uint32_t lower_slots_combine(const lowering *c, dispatch_desc *l, const plan_step *s);
/* Leaves out of a product's kernel what its parts do not need. */
void lower_leave_out(dispatch_desc *l, uint32_t parts);
/* The same by matrix units, of weights that are f16: matmul_slots_matrix.wgsl. */
bool lower_slots_matrix(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t row4s, uint32_t rows);
/* Rows of x that a thread reads together: fewer make a shorter kernel, more of them read the norm's weights less often.
 * Each set of so many rows has a subgroup at least. */
uint32_t lower_slots_together(uint32_t rows, uint32_t subgroups);
/* Shares so many units of work among workgroups. Separate dispatches have as many as a megakernel, since each workgroup
 * puts all of x into its memory. */
void lower_slots_groups(const lowering *c, dispatch_desc *l, uint32_t units);
/* The arguments of a part of a matrix product. */
static inline uint32_t *lower_part_args(dispatch_desc *l, uint32_t part)
{
    return l->args + MATMUL_PARTS + PART_SIZE * part;
}
/* Chooses the kernel of a product whose arguments are there, and the arguments that say how the work is shared out:
 * `chunks` of a row, that lie as `lies` says. */
void lower_matmul_grid(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t chunks, const layout *lies);
/* Which nodes lie in memory as f16, two to a word, because only products by matrix units read them: to be freed; NULL if
 * there are no such products. */
bool *lower_find_halves(const lowering *c);
static inline bool lower_is_halves(const lowering *c, node n)
{
    return c->halves && c->halves[plan_root(c->p->g, n)];
}
/* The kernel for matrix units; returns the number of row4s of a workgroup, 0 if the product is not for them. */
uint32_t lower_matrix_tiles(const lowering *c, dispatch_desc *l, const plan_step *s);
/* Is an attention computed by a kernel for many rows? */
bool lower_attention_is_tiled(const lowering *c, const plan_step *s);
/* Attention by matrix units: op_attention_matrix.wgsl. False if it is not for them. */
bool lower_attention_matrix(const lowering *c, dispatch_desc *l, const graph_node *n, bool halves);
/* Has software a kernel of its own for so many rows? It takes subgroups. */
bool lower_many_rows(const lowering *c, uint32_t rows);
/* matmul_software.c: a product on software devices that matmul_plain.wgsl suits. Returns the threads of a workgroup, of
 * which each has a row4; 0: it does not suit. */
uint32_t lower_matmul_plain(const lowering *c, dispatch_desc *l, uint32_t rows, tensor_type type);
/* All products with weights of a type share one kernel there, which omits everything that none of them needs. */
void lower_leave_out_for_type(const lowering *c, dispatch_desc *l, tensor_type type);
/* Operators of a mixture of experts. Products with chosen matrices return 0 with an error. */
uint32_t lower_experts(const lowering *c, dispatch_desc *l, const plan_step *s, err *e);
void lower_route(const lowering *c, dispatch_desc *l, const graph_node *n);
void lower_mix(const lowering *c, dispatch_desc *l, const graph_node *n);
/* Such a product by matmul_row.wgsl, its arguments being there: chooses how the work is shared out, as lower_matmul_grid
 * does. False if it is not for that kernel. */
bool lower_experts_row(const lowering *c, dispatch_desc *l, uint32_t row4s, uint32_t chunks, const layout *lies);
/* The arguments of the norm of x that is a part of a product, if there is one. */
void lower_norm_of_x(const lowering *c, dispatch_desc *l, const plan_step *s);
/* Places of the largest, products with a matrix for each head, rows one behind the other. */
void lower_topk(const lowering *c, dispatch_desc *l, const graph_node *n);
uint32_t lower_heads(const lowering *c, dispatch_desc *l, const graph_node *n, err *e);
void lower_join(const lowering *c, dispatch_desc *l, const graph_node *n);
void lower_weigh(const lowering *c, dispatch_desc *l, const graph_node *n);
/* A convolution or a delta rule. */
uint32_t lower_recurrent(const lowering *c, dispatch_desc *l, const plan_step *s);
/* Integers for the next run; the choice of a token. */
void lower_assigns(const lowering *c, dispatch_desc *l, const plan_step *s);
uint32_t lower_sample(const lowering *c, dispatch_desc *l, const graph_node *n);
/* The arguments of a norm that is a step of its own. */
void lower_norm(const lowering *c, dispatch_desc *l, node norm);
/* A chain: heads, or a norm with the row that is added. */
void lower_chain(const lowering *c, dispatch_desc *l, const plan_step *s);
/* As include/cache.wgsl numbers states. */
static inline uint32_t lower_cache(dtype type)
{
    return type == DTYPE_F16 ? 1 : type == DTYPE_Q8_0 ? 3 : type == DTYPE_Q4_0 ? 4 : 0;
}
/* Elements of the largest head that any attention of the graph has. */
uint32_t lower_largest_head(const lowering *c);
/* The dispatches of matrix products; 0 with an error. */
uint32_t lower_matmul(const lowering *c, dispatch_desc *l, const plan_step *s, err *e);
/* lower_map.c: functions and sums of products through strides. lower_text.c: attention without a cache, pooling. */
void lower_attention_whole(const lowering *c, dispatch_desc *l, const graph_node *n);
void lower_map(const lowering *c, dispatch_desc *l, const graph_node *n);
void lower_contract(const lowering *c, dispatch_desc *l, const graph_node *n);
void lower_pool(const lowering *c, dispatch_desc *l, const graph_node *n);
uint32_t lower_gather(const lowering *c, dispatch_desc *l, const graph_node *n);

#endif
