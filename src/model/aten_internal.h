/* aten_internal: what the files that lower ATen operators share. */
#ifndef SOLO_ATEN_INTERNAL_H
#define SOLO_ATEN_INTERNAL_H

#include "model/aten.h"
#include "model/names.h"

/* What stands for -infinity, which GPUs need not know. No program has this very number. */
#define ATEN_MINUS_INFINITY (-3e38f)

/* Booleans are integers 0 and 1. */
typedef enum { ATEN_KIND_FLOAT, ATEN_KIND_INT, ATEN_KIND_BOOL } aten_kind;

/* A tensor of the program: elements of a node or of a constant, through strides. */
typedef struct aten_value {
    aten_kind kind;
    uint32_t constant; /* 1 + its number, or 0: */
    node n;
    uint32_t rank, dims[ATEN_MAX_RANK], strides[ATEN_MAX_RANK], offset;
} aten_value;

/* Data that is known when the graph is built. Integers are floats, too, which are exact up to 2^24. */
typedef struct aten_constant {
    char *name; /* of a parameter or buffer, or NULL */
    const void *data;
    float *owned; /* the same, or NULL */
    tensor_type type;
    uint64_t count;
} aten_constant;

/* A constant as a weight of the graph. */
typedef struct aten_weight {
    char *name;
    uint32_t constant;
    shape s;
    node n;
} aten_weight;

/* An RMSNorm of which a node is the last: names of tensors; x is NULL if it is none. */
typedef struct aten_norm {
    const char *x, *weight;
    double epsilon;
} aten_norm;

/* A node of the program. */
typedef struct aten_call {
    const jsonr *json;
    const char *target; /* torch.ops.aten.add.Tensor */
    char op[64];        /* add */
    bool needed;
    aten_norm norm;
} aten_call;

/* A state that is a position, as an integer. */
typedef struct aten_position {
    node state, n;
} aten_position;

typedef struct aten {
    graph *g, *program_graph; /* what is being built: the program's graph, or a small one for a constant */
    err *e;
    aten_constant *constants;
    uint32_t constant_count;
    aten_weight *weights;
    uint32_t weight_count;
    aten_value *values;
    uint32_t value_count;
    names value_of;               /* name -> number of a value */
    names call_of;                /* name of a tensor -> number of the call that makes it */
    names rebound;                /* names of tensors that a node changes in place */
    names changed_to;             /* name of a buffer -> number of the output that says what it is changed to */
    names asked;                  /* names of tensors that other nodes or outputs need */
    const jsonr *metas, *changes; /* descriptions of tensors; outputs of the signature */
    aten_call *calls;
    uint32_t call_count;
    const aten_call *at;  /* the one that is lowered */
    node zero;            /* an input that is always 0 */
    uint64_t folded_work; /* products and sums of which constants were made so far */
    aten_position *positions;
    uint32_t position_count;
} aten;

struct aten_program {
    aten a;
    err error;
    aten_port *inputs, *outputs, *states;
    uint32_t input_count, output_count, state_count, needed;
};

/* ---- aten.c ---- */

/* The name of the tensor that the signature changes a buffer to, or NULL. */
const char *aten_changed_to(const aten *a, const char *buffer);

/* ---- aten_args.c: arguments of the call that is lowered ---- */

/* The first error: the node, and its line of Python. Returns false. */
bool aten_fail(aten *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const jsonr *aten_arg(const aten *a, const char *name); /* the value itself, or NULL where it is absent or None */
bool aten_has(const aten *a, const char *name);
int64_t aten_int(aten *a, const char *name, int64_t otherwise);
double aten_float(aten *a, const char *name, double otherwise);
bool aten_bool(const aten *a, const char *name, bool otherwise);
/* Whole numbers of a list, or one number; returns how many, at most `room`; 0 if there are none. */
uint32_t aten_ints(aten *a, const char *name, int64_t *out, uint32_t room);
const char *aten_text(const aten *a, const char *name);
const char *aten_tensor_name(const aten *a, const char *name); /* or NULL */
/* The call's argument as a value; a number becomes a constant. False with an error. */
bool aten_get(aten *a, const char *name, aten_value *out);
/* Has the tensor no elements? Then nothing is made of it, and it adds nothing to what it is joined with. */
bool aten_is_empty(const aten *a, const char *name);
/* Tensors of a list, and how many; false with an error. An absent one has rank UINT32_MAX. If the call joins them, those
 * without elements are left out. */
bool aten_get_list(aten *a, const char *name, bool joins, aten_value *out, uint32_t room, uint32_t *count);
bool aten_find_value(aten *a, const char *name, aten_value *out);
/* The call's outputs. */
bool aten_put(aten *a, const aten_value *v);
bool aten_put_nth(aten *a, uint32_t nth, const aten_value *v);
bool aten_asks(const aten *a, uint32_t nth); /* Does anything need it? */
/* Dimension `dim` of so many, counted from the end if it is negative. */
bool aten_dim(aten *a, int64_t dim, uint32_t rank, uint32_t *out);
aten_kind aten_kind_of(int type);

/* aten_stored.c: a stored tensor as a value. Floats stay where they are, other types become floats. */
bool aten_stored_value(aten *a, const char *name, const aten_tensor *t, aten_value *out);

/* ---- aten_value.c ---- */

uint64_t aten_count(const aten_value *v);
bool aten_is_contiguous(const aten_value *v);
aten_value aten_shaped(aten_kind kind, uint32_t rank, const uint32_t *dims); /* contiguous, of nothing yet */
uint32_t aten_add_constant(aten *a, const char *name, const void *data, float *owned, tensor_type type, uint64_t count);
aten_value aten_scalar(aten *a, aten_kind kind, double number);
/* floats: made of malloc; becomes the program's. */
aten_value aten_from_floats(aten *a, aten_kind kind, uint32_t rank, const uint32_t *dims, float *floats);
/* An element of a constant. */
double aten_constant_at(const aten *a, const aten_value *v, uint64_t i);
/* Is its memory a state's? Then only maps read it. */
bool aten_is_in_state(const aten *a, const aten_value *v);
/* The node whose elements the value's strides count; a constant becomes a weight. */
node aten_root(aten *a, const aten_value *v);
/* A node of exactly the value's elements in their order, in this shape: a copy where they lie otherwise. 0: an error. */
node aten_in_shape(aten *a, const aten_value *v, shape s);
node aten_rows(aten *a, const aten_value *v); /* [rows, last dimension] */
/* The same as a value. */
bool aten_contiguous(aten *a, const aten_value *v, aten_value *out);
/* A constant as the weight [rows, columns] of a product; 0 if it is none or lies otherwise. */
node aten_matrix(aten *a, const aten_value *v);
aten_value aten_permuted(const aten_value *v, const uint32_t *order);
bool aten_expanded(aten *a, const aten_value *v, uint32_t rank, const uint32_t *dims, aten_value *out);
bool aten_reshaped(aten *a, const aten_value *v, uint32_t rank, const uint32_t *dims, aten_value *out);
/* Of as many dimensions as there may be, a value with one too many, which whatever computes with it refuses. */
aten_value aten_unsqueezed(const aten_value *v, uint32_t dim);
aten_value aten_without_dim(const aten_value *v, uint32_t dim);

/* ---- aten_map.c ---- */

/* A function of `count` operands, broadcast to one shape. `spec` has the kind and its constants. */
bool aten_map(aten *a, map_spec spec, aten_kind kind, const aten_value *operands, uint32_t count, aten_value *out);
bool aten_unary(aten *a, unary_kind function, const aten_value *x, aten_value *out);
bool aten_binary(aten *a, map_kind kind, const aten_value *x, const aten_value *y, aten_value *out);
bool aten_with_number(aten *a, map_kind kind, const aten_value *x, double y, aten_value *out);
/* x in the box that begins at `first`, and `rest` (or NULL: `outside`) around it, to a tensor of these sizes. */
bool aten_place(aten *a, const aten_value *x, const uint32_t *first, const aten_value *rest, double outside,
                const uint32_t *dims, aten_value *out);
/* Elements of x, which has the result's sizes, each `stride` times the integer of `index` further on; of so many. */
bool aten_take(aten *a, const aten_value *x, const aten_value *index, uint32_t stride, uint32_t count, aten_value *out);
bool aten_cast(aten *a, const aten_value *x, aten_kind kind, aten_value *out);
/* Of two: the first where the condition holds. */
bool aten_choose(aten *a, const aten_value *condition, const aten_value *x, const aten_value *y, aten_value *out);
/* A constant 0, 1, 2 .. */
aten_value aten_count_up(aten *a, uint32_t count);
/* Of two matrices for each of the leading dimensions, broadcast. */
bool aten_matmul(aten *a, const aten_value *x, const aten_value *y, aten_value *out);
/* Over the last dimension, which remains as 1. */
bool aten_reduce_last(aten *a, reduce_kind kind, const aten_value *x, aten_value *out);
/* Over some dimensions (bits). */
bool aten_reduce(aten *a, reduce_kind kind, const aten_value *x, uint32_t which, bool keep, aten_value *out);

/* ---- aten_patterns.c ---- */

/* Is the node the last of an RMSNorm that is written out? Then it needs x and the weight only. */
bool aten_find_norm(aten *a, aten_call *call);
bool aten_lower_norm(aten *a);

/* ---- aten_decode.c ---- */

/* [1, heads, positions, size] with the positions outermost in memory, as attention reads a cache. */
bool aten_is_cache(const aten_value *v);
/* Puts a tensor that was just computed in the place of what it is: RoPE, or attention over a cache. */
void aten_recognise(aten *a, aten_value *v);
/* The source as the only row along dim 2 that changes of a cache. False, without an error, if it is something else. */
bool aten_store_row(aten *a, const aten_value *x, uint32_t dim, const aten_value *index, const aten_value *source,
                    aten_value *out);

/* ---- aten_scatter.c ---- */

/* Of numbers of so many elements: those below zero count from the end. */
bool aten_from_the_start(aten *a, const aten_value *index, uint32_t count, aten_value *out);
/* x with the source at the places along dim that the index [n] numbers; or plus it. */
bool aten_put_at(aten *a, const aten_value *x, uint32_t dim, const aten_value *index, const aten_value *source,
                 bool adds, aten_value *out);

/* ---- aten_windows.c ---- */

/* What moves over the last two dimensions. */
typedef struct aten_window {
    uint32_t size[2], stride[2], before[2], after[2], dilation[2];
} aten_window;
/* One number for both directions, or two; of 3 dimensions only the second counts. */
bool aten_pair(aten *a, const char *name, uint32_t rank, uint32_t otherwise, uint32_t out[2]);
bool aten_padding(aten *a, uint32_t rank, aten_window *w);
/* [n, c, h, w] with something around it, as [n, c, places, places, window, window]. */
bool aten_windows(aten *a, const aten_value *x, const aten_window *w, double outside, aten_value *out);

/* ---- operators ---- */

typedef bool (*aten_lowering)(aten *a);
typedef struct aten_operator {
    const char *op;
    aten_lowering lower;
} aten_operator;
/* Or NULL. */
const aten_operator *aten_find_operator(const char *op);
/* Each file has a table, closed by {0}. */
extern const aten_operator aten_view_operators[], aten_elementwise_operators[], aten_reduce_operators[],
    aten_product_operators[], aten_index_operators[], aten_scatter_operators[], aten_window_operators[],
    aten_pool_operators[], aten_norm_operators[], aten_make_operators[];

#endif
