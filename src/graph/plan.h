/* plan: what is launched, in order, to compute a graph.
 *
 * A plan begins with a step for each operator (the level `none`). Passes then make
 * fewer steps of them, one kind of fusion each, in any order (the level `ops` applies
 * them all). A step refers to the graph's own nodes: code that runs or explains a plan
 * looks shapes and operands up in the graph.
 *
 * Most fusion is around products. A product step multiplies x by up to three
 * matrices, its parts, and each part has an epilogue for its sums:
 *
 *     x -> [norm] -> times matrix -> [biases, functions, residuals] -> [rotated] -> [into a state]
 *                    or f(times gate) * (times up)
 *                    or the sum over chosen matrices, [residual]
 *
 * Where a norm stands between a product and what comes after it, that is a step of its own, a chain:
 *
 *     heads of x -> [norm] -> [rotated] -> [into a state]
 *     x -> norm -> residual                                                                      */
#ifndef SOLO_GRAPH_PLAN_H
#define SOLO_GRAPH_PLAN_H

#include "graph/graph.h"
#include "launch/level.h"

/* Rows of x from which products are tiled: those take x as it is. */
enum { PLAN_TILED_ROWS = 4 };

enum { PLAN_MAX_PARTS = 3, PLAN_MAX_EPILOGUE = 4, PLAN_MAX_ASSIGNS = 4, PLAN_MAX_NODES = 48 };

typedef struct plan_part {
    node matmul;
    node gate_of;                     /* gated: the product that matmul's, through `act`, is multiplied with; else 0 */
    node act;                         /* gated: a unary node, or 0 */
    node epilogue[PLAN_MAX_EPILOGUE]; /* unary and binary nodes, in order */
    uint32_t epilogue_count;
    node rope, store; /* or 0 */
    node mix;         /* OP_EXPERTS: the weighted sum of what the experts make, or 0 */
    node result;      /* the node that other steps read: the last of these */
} plan_part;

typedef struct plan_step {
    graph_op op;
    node at; /* the node it computes; of a product the last */
    /* OP_MATMUL; OP_EXPERTS, whose products are with matrices that are chosen at run time: one part */
    node x, norm; /* x is the norm's operand if there is one */
    /* A chain has x, too, but no parts: `at` is the last of its nodes, whose operator `op` is. */
    node rope; /* or 0; it may be the last */
    plan_part parts[PLAN_MAX_PARTS];
    uint32_t part_count;
    bool combines_splits; /* x is attention in splits, which this step combines */
    /* OP_ATTENTION */
    bool split_output; /* the step that reads it combines its splits */
    /* OP_ASSIGN: all nodes of the step, `at` among them */
    node assigns[PLAN_MAX_ASSIGNS];
    uint32_t assign_count;
} plan_step;

typedef struct plan {
    const graph *g;
    plan_step *steps;
    uint32_t count;
    uint64_t most_matrix_bytes; /* that a step may have: what a device binds at once */
    bool no_alias;              /* activations never reuse memory */
    bool unsplit;               /* attention is never split: few workgroups have enough work */
    bool shares_k;              /* plan_k_shares; set before the activations are placed */
    uint32_t slots;             /* graph_slots; their rows are never tiled, and have the sums of a single row */
} plan;

typedef enum {
    PASS_NORM,     /* norms into the products that follow */
    PASS_GATE,     /* f(gate) * up: both products in one */
    PASS_MIX,      /* weighted sums of what experts make, and the residual, into the products before */
    PASS_EPILOGUE, /* biases, functions and residuals after a product */
    PASS_ROPE,     /* rotation, and the write into a state */
    PASS_CHAIN,    /* norms with the rotation, write or residual that follows */
    PASS_SIBLINGS, /* products of the same x together */
    PASS_COMBINE,  /* combining the splits of attention in the product that follows */
    PASS_ASSIGN,   /* assignments together */
    PASS_COUNT
} plan_pass;
extern const char *const pass_names[PASS_COUNT];

/* A step for each operator. The graph must outlive the plan. */
plan *plan_new(const graph *g, uint64_t most_matrix_bytes);
void plan_free(plan *p);
/* Returns how many steps fewer there are. */
uint32_t plan_apply(plan *p, plan_pass pass);
void plan_fuse(plan *p, fusion_level level);

/* ---- looking at a plan ------------------------------------------------------ */

/* The node whose elements these are: reshaping moves nothing. */
node plan_root(const graph *g, node n);
/* The nodes (roots) a step reads, weights and states among them, and those it writes;
 * returns how many, at most PLAN_MAX_NODES. */
uint32_t plan_reads(const plan *p, const plan_step *s, node *out);
uint32_t plan_writes(const plan *p, const plan_step *s, node *out);
/* Is it a chain? */
bool plan_is_chain(const plan_step *s);
/* The weight matrices of a step: products and gathers have them. */
uint32_t plan_matrices(const plan *p, const plan_step *s, node *out);
/* The nodes a step computes, in an order in which they can be. */
uint32_t plan_nodes(const plan *p, const plan_step *s, node *out);
/* Rows of x a product works on. */
uint32_t plan_rows(const plan *p, const plan_step *s);
/* Are there kernels for so many rows at once? Rows that are texts of their own have those for one. */
bool plan_has_many_rows(const plan *p, uint32_t rows);
/* How many workgroups share the positions of each head of an attention: more than one if there
 * are few heads and many positions. */
enum { PLAN_MAX_SPLITS = 16, PLAN_MAX_COMBINED = 256 /* splits of a row that a product can combine */ };
uint32_t plan_splits(const plan *p, const plan_step *s);
/* How many workgroups share the elements of each row of x: more than one where several texts have long rows, of which a
 * workgroup would read more than it multiplies. */
uint32_t plan_k_shares(const plan *p, const plan_step *s);
/* Words of what they make; 0: they share nothing. */
uint64_t plan_share_words(const plan *p, const plan_step *s);
/* Of a binary node in an epilogue: the operand that is not the previous result, whether every row has its own, and
 * whether it comes first. False if the node cannot be fused. */
typedef struct plan_operand {
    node other;
    bool per_row, first;
} plan_operand;
bool plan_operand_of(const graph *g, node binary, node before, plan_operand *o);

/* What a step costs, with `depth` positions in the states attention reads. */
typedef struct plan_cost {
    uint64_t weight_bytes, state_bytes, activation_bytes, flops;
} plan_cost;
plan_cost plan_cost_of(const plan *p, const plan_step *s, uint32_t depth);

#endif
