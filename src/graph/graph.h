/* graph: tensors and the operators between them: a workload, described independently
 * of how it is launched.
 *
 *     graph *g = graph_new();
 *     node x = graph_input(g, "x", DTYPE_F32, shape2(4, 64));
 *     node w = graph_weight(g, "w", TYPE_Q8_0, shape2(32, 64));
 *     node y = graph_unary(g, UNARY_SILU, graph_matmul(g, x, w));
 *     graph_output(g, "y", y);
 *     if (!graph_ok(g, &e)) ...
 *
 * Shapes have up to four dimensions, outermost first, all known when the graph is
 * built. Nodes are made in the order in which they can run: a node's operands come
 * before it. The first mistake while building (shapes that do not fit, say) is kept as
 * the graph's error, and building goes on harmlessly, so that callers check once.
 *
 * `state` tensors (a KV cache, a simulation's state) live on between runs and are
 * the only ones an operator may write in place (graph_store).                  */
#ifndef SOLO_GRAPH_H
#define SOLO_GRAPH_H

#include "base/err.h"
#include "graph/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct graph graph;
typedef uint32_t node; /* 0 is no node */

enum { GRAPH_MAX_DIMS = 4, GRAPH_MAX_OPERANDS = 7, GRAPH_MAX_EXPERTS_USED = 64 /* of a row */ };

typedef struct shape {
    uint32_t dims[GRAPH_MAX_DIMS]; /* outermost first; unused leading ones are 1 */
} shape;
shape shape1(uint32_t a);
shape shape2(uint32_t a, uint32_t b);
shape shape3(uint32_t a, uint32_t b, uint32_t c);
shape shape4(uint32_t a, uint32_t b, uint32_t c, uint32_t d);
uint64_t shape_count(shape s);

/* From F16 on: states only. Q8_0 and Q4_0 have 32 elements to a factor, and rows of a multiple of 64 (cache.wgsl). */
typedef enum { DTYPE_F32, DTYPE_U32, DTYPE_F16, DTYPE_Q8_0, DTYPE_Q4_0 } dtype;
/* Bytes of so many elements, a multiple of 64 if they are quantised. */
uint64_t dtype_bytes(dtype type, uint64_t elements);

typedef enum {
    OP_INPUT,  /* written by the caller before a run */
    OP_WEIGHT, /* constant, of any weight type */
    OP_STATE,  /* lives on between runs */
    OP_UNARY,
    OP_BINARY, /* with broadcasting */
    OP_REDUCE, /* over the last dimension */
    OP_SOFTMAX,
    OP_RMSNORM,
    OP_LAYERNORM,
    OP_MATMUL,
    OP_GATHER, /* rows of a weight */
    OP_ROPE,
    OP_ATTENTION,
    OP_ATTENTION_WHOLE, /* over the rows of this run */
    OP_STORE,           /* rows into a state */
    OP_SLICE,           /* of the last dimension */
    OP_RESHAPE,
    OP_PICK,     /* rows of activations */
    OP_TOPK,     /* the places of the largest of a row */
    OP_ROUTE,    /* which experts a row gets, and what each weighs */
    OP_EXPERTS,  /* products with matrices that are chosen at run time */
    OP_MIX,      /* sums of rows with weights */
    OP_WEIGH,    /* elements by their places in a row, as routes */
    OP_HEADS,    /* products with a matrix for each head */
    OP_JOIN,     /* rows one behind the other */
    OP_CONV,     /* a short convolution over rows, those of earlier runs included */
    OP_DELTA,    /* the gated delta rule: attention by a matrix that every row changes */
    OP_POOL,     /* one sum of rows with weights */
    OP_MAP,      /* a function of up to three operands, element by element, each read through strides */
    OP_CONTRACT, /* sums of products of two operands, each read through strides */
    OP_ASSIGN,   /* integers into an input, for the next run */
    OP_SAMPLE,   /* a token from logits, likewise */
    OP_COUNT
} graph_op;
extern const char *const graph_op_names[OP_COUNT];

typedef enum {
    UNARY_COPY,
    UNARY_NEG,
    UNARY_ABS,
    UNARY_SQUARE,
    UNARY_SQRT,
    UNARY_EXP,
    UNARY_LOG,
    UNARY_TANH,
    UNARY_SIGMOID,
    UNARY_RELU,
    UNARY_SILU,
    UNARY_GELU, /* the tanh form */
    UNARY_SIN,
    UNARY_COS,
    UNARY_GELU_ERF, /* by the normal distribution */
    UNARY_SCALE,    /* x * a + b */
    UNARY_SOFTCAP,  /* a * tanh(x / a) */
    UNARY_COUNT
} unary_kind;

/* CLAMPED_GLU: a sigmoid(1.702 a) (b + 1) with a up to 7 and b from -7 to 7; never part of a product's epilogue. */
typedef enum {
    BINARY_ADD,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_MAX,
    BINARY_MIN,
    BINARY_CLAMPED_GLU,
    BINARY_COUNT
} binary_kind;
typedef enum { REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX, REDUCE_ARGMAX, REDUCE_COUNT } reduce_kind;

/* Rotation of pairs of a head's first `rotated` elements by position. */
typedef struct rope_spec {
    uint32_t rotated; /* elements of a head that are rotated; the rest pass through */
    bool interleaved; /* pairs (2i, 2i+1); otherwise (i, i + rotated/2) */
    float base;       /* theta */
    node factors; /* of the angles: a weight or input [rotated/2], or 0. With a base of 1, the angle of a position. */
    uint32_t
        factors_from; /* factors [n, rotated/2]: the first row up to this position, the next ones for the next ones */
    float magnitude;  /* scales the result; 0 means 1 */
} rope_spec;

/* Integers for the next run. target[i] = value[i] + added; with an index, one value goes into a list: target[index +
 * added] = value[0], unless that lies beyond its end. A target may be longer than the value: the rest of it stays. */
typedef struct assign_spec {
    uint32_t added; /* a constant, */
    node more;      /* and an integer known only at run time, or 0 */
    node index;     /* or 0 */
} assign_spec;

typedef struct attention_spec {
    float scale;         /* of q . k */
    float softcap;       /* 0: none */
    uint32_t window;     /* how many positions back are seen, itself included; 0: all */
    node sinks;          /* a weight [heads]: the score of a position more, whose value is 0; or 0 */
    uint32_t value_size; /* elements of a value that count, the first ones; 0: all */
    bool whole;          /* keys and values are rows of this run, not stored: graph_attention */
    bool causal;         /* of those: no later ones are seen */
} attention_spec;

/* The weights of experts: a softmax over the scores of those that are chosen, or over all scores. */
typedef enum { ROUTE_OF_CHOSEN, ROUTE_OF_ALL } route_kind;

/* The heads of a delta rule: several of values may share one of keys. */
typedef struct delta_spec {
    uint32_t key_heads, heads; /* of q and of k; of v: a multiple */
    uint32_t key_size, value_size;
    bool tiled; /* head h of v has head h % key_heads of q and k; else neighbours share one */
} delta_spec;

/* Element (i0 .. i5) of a result reads element `offset` + the sum of i * strides of the operand: transposed, broadcast
 * and cut tensors need no copy. Places are modulo 2^32, so that a stride may be negative. */
enum { GRAPH_VIEW_DIMS = 6, GRAPH_MAP_OPERANDS = 3 };
typedef struct graph_view {
    node of;
    uint32_t offset, strides[GRAPH_VIEW_DIMS];
} graph_view;

typedef enum {
    MAP_FUNCTION, /* of one number: `function` with the constants a and b */
    MAP_RSQRT,
    MAP_ERF,
    MAP_FLOOR,
    MAP_CEIL,
    MAP_ROUND, /* halves to the even neighbour */
    MAP_SIGN,
    MAP_NOT, /* 1 for 0, else 0 */
    MAP_ADD, /* from here on of two */
    MAP_SUB,
    MAP_MUL,
    MAP_DIV,       /* of integers: rounded down */
    MAP_REMAINDER, /* of the division that is rounded down */
    MAP_MAX,
    MAP_MIN,
    MAP_POW,
    MAP_EQ, /* 1 or 0 */
    MAP_NE,
    MAP_LT,
    MAP_LE,
    MAP_AND,
    MAP_OR,
    MAP_XOR,
    MAP_WHERE, /* x is not 0: y, else z */
    MAP_TAKE,  /* the element of x that is y (negative: from the end) times `take_stride` further on */
    MAP_PLACE, /* x inside of a box, outside y, or the constant a */
    MAP_COUNT
} map_kind;

typedef struct map_spec {
    map_kind kind;
    unary_kind function;
    float a, b;
    bool integers;                  /* computed in i32, else in f32; operands of the other type are converted */
    dtype type;                     /* of the result: f32, or u32 for integers, which may be negative */
    uint32_t dims[GRAPH_VIEW_DIMS]; /* of the result, outermost first; unused leading ones are 1 */
    graph_view views[GRAPH_MAP_OPERANDS];
    uint32_t view_count;
    uint32_t take_stride, take_count;                      /* MAP_TAKE: places that there are */
    uint32_t first[GRAPH_VIEW_DIMS], end[GRAPH_VIEW_DIMS]; /* MAP_PLACE: the box; x is read at its own coordinates */
} map_spec;

/* The sum over k of x * y: their strides over the result's dimensions, and along k. */
typedef struct contract_spec {
    uint32_t dims[GRAPH_VIEW_DIMS];
    graph_view x, y;
    uint32_t k, x_stride, y_stride;
} contract_spec;

/* A node as the graph stores it. */
typedef struct graph_node {
    graph_op op;
    dtype type;
    shape s;
    const char *name; /* inputs, weights, states and outputs; else NULL */
    node operands[GRAPH_MAX_OPERANDS];
    uint32_t operand_count;
    bool unused; /* graph_find_unused: it is not computed */
    union {
        uint32_t tuning_hint; /* of an input */
        tensor_type weight;
        struct {
            unary_kind kind;
            float a, b;
        } unary;
        binary_kind binary;
        reduce_kind reduce;
        struct {
            float epsilon;
            float weight_offset; /* gemma's weights are stored less one */
        } rmsnorm;
        float layernorm_epsilon;
        bool gather_consecutive;
        float softmax_scale;
        rope_spec rope;
        attention_spec attention;
        uint32_t slice_start;
        route_kind route;
        uint32_t expert_count;
        uint32_t topk_groups;
        struct {
            bool normed;
            float scale;
        } weigh;
        assign_spec assign;
        delta_spec delta;
        map_spec map;
        contract_spec contract;
    } as;
} graph_node;

graph *graph_new(void);
void graph_free(graph *g);
bool graph_ok(const graph *g, err *e);
/* From now on it is invalid: there is no such `what`. False. */
bool graph_refuse(graph *g, const char *what, unsigned number);
bool graph_refuse_unnamed(graph *g, const char *what); /* nor can `what` do without a name */

uint32_t graph_count(const graph *g); /* nodes are 1 .. count */
const graph_node *graph_at(const graph *g, node n);
node graph_find(const graph *g, const char *name); /* of an input, weight, state or output; or 0 */

/* Returns `bytes` bytes of the named weight from byte `first` on, as they stand in a file: so a model need not be in
 * memory all at once. NULL: there is no such weight, or reading failed, with an error. The data is valid until the next
 * call. But if the first and the last row of a weight are as far apart in memory as in the file, as in a mapped file,
 * all of it is valid until the run is made: several threads read it. */
typedef const void *(*graph_weight_source)(void *user, const char *name, uint64_t first, uint64_t bytes, err *e);

/* How a weight is used: as the matrix of a product or the table rows are taken from,
 * or (norms, biases) element by element beside activations; bits, both may be set. */
enum { WEIGHT_AS_MATRIX = 1, WEIGHT_AS_FLOATS = 2 };
int graph_weight_uses(const graph *g, node weight);
uint64_t graph_weight_bytes(const graph_node *weight); /* in a file */

node graph_input(graph *g, const char *name, dtype type, shape s);
/* A typical value of an input of one word: autotuning times kernels with it. */
void graph_set_tuning_hint(graph *g, node input, uint32_t word);
node graph_weight(graph *g, const char *name, tensor_type type, shape s);
node graph_state(graph *g, const char *name, dtype type, shape s);
void graph_output(graph *g, const char *name, node n);

node graph_unary(graph *g, unary_kind kind, node x);
node graph_scale(graph *g, node x, float a, float b);
node graph_softcap(graph *g, node x, float cap);
node graph_binary(graph *g, binary_kind kind, node a, node b); /* dims equal, or 1 in b */
node graph_reduce(graph *g, reduce_kind kind, node x);
node graph_softmax(graph *g, node x, float scale);
node graph_rmsnorm(graph *g, node x, node weight, float epsilon, float weight_offset);
node graph_layernorm(graph *g, node x, node weight, node bias, float epsilon); /* bias: or 0 */
node graph_matmul(graph *g, node x, node weight);                              /* [.., k] and [n, k] to [.., n] */
node graph_gather(graph *g, node weight, node rows);                           /* [n, k] and u32 [t] to [t, k] */
node graph_gather_from(graph *g, node weight, node first, uint32_t count);     /* `count` rows from u32 first [1] on */
/* A position is u32 [1], that of row 0; or [t]: rows are then texts of their own (slots), each with its position, and a
 * state is [t, capacity, ..]: each has its part of it. A row whose position is beyond the capacity is idle: it stores
 * nothing, and what it makes does not matter. All operators of a graph have the one or the other. */
node graph_rope(graph *g, node x, node position, rope_spec spec);        /* x [t, heads, size] */
uint32_t graph_rope_factor_rows(const graph *g, const graph_node *rope); /* 0: it has no factors */
/* Rows of x [t, ..] into state [capacity, ..] from row `position` on. Its value is the state. */
node graph_store(graph *g, node state, node x, node position);
/* q [t, heads, size] over stored keys and values [capacity, kv heads, size], row i seeing positions
 * up to position + i. To [t, heads * size], or [t, heads * value_size]; values may be the keys. With `whole`, keys and
 * values are activations, `position` is the last row that counts (at most the last there is), and all rows see all others
 * up to it: within a window those less than it away, on both sides. */
node graph_attention(graph *g, node q, node keys, node values, node position, attention_spec spec);
node graph_slice(graph *g, node x, uint32_t start, uint32_t count);
node graph_reshape(graph *g, node x, shape s);
node graph_pick(graph *g, node x, node rows);      /* [n, k] and u32 [t] to [t, k] */
node graph_topk(graph *g, node x, uint32_t count); /* [.., n] to u32 [.., count]: largest first, of equals the first */
/* The same among some groups only: a row is `count_of_groups` groups of neighbours, of which u32 groups [.., s] names s. */
node graph_topk_of(graph *g, node x, uint32_t count, node groups, uint32_t count_of_groups);
/* A weight [heads * n, k] is a matrix for each head: x [t, heads, k] to [t, heads, n]. */
node graph_heads(graph *g, node weight, node x);
node graph_join(graph *g, node a, node b); /* [.., m] and [.., n] to [.., m + n] */
/* The elements of x [t, n] at u32 places [t, s], as routes: [t, 2 * s], the places as floats, then the elements times
 * `scale`, divided by their sum if `normed`. */
node graph_weigh(graph *g, node x, node places, bool normed, float scale);
/* A mixture of experts. Scores [t, n] choose the `count` experts with the largest (of equals the first) for each row: to
 * [t, 2 * count], their numbers, which are exact as floats, and then their weights. */
node graph_route(graph *g, node scores, uint32_t count, route_kind kind);
/* A weight [count * n, k] is `count` matrices, of which routes [t, 2 * s] choose some for each row. x [t, k], or [t, s, k]
 * if each has a row of its own, to [t, s, n]. bias: [count, n], a row for each matrix, or 0. */
node graph_experts(graph *g, node x, node weight, node bias, uint32_t count, node routes);
node graph_pool(graph *g, node x, node weights); /* [n, k] and [1, n]: the sum of rows with these weights, to [1, k] */
node graph_mix(graph *g, node x, node routes);   /* [t, s, k] and [t, 2 * s]: sums with their weights, to [t, k] */
/* A causal convolution over the rows of x [t, n], each column with a kernel of its own, a row of weight [n, width]; then
 * silu. The f32 state [width - 1, n] has the rows before the first, and gets the last ones; at u32 position [1] 0 there
 * are none before. If `last` (u32 [1], or 0) is there, rows after that one do not count. No other node may have the
 * state. With a position for each row [t], the state has a part for each [t, ..], and there is no `last`. */
node graph_conv(graph *g, node x, node weight, node state, node position, node last);
/* The gated delta rule. x [t, (2 key_heads) * key_size + heads * value_size] has q, k and v; alpha and beta [t, heads]
 * are gates before their functions, rate [heads] a weight. For each head a matrix S, in the f32 state [heads, key_size,
 * value_size], goes from row to row, from zeros at position 0:
 *     q, k = q / |q| / sqrt(key_size), k / |k|
 *     S = S * exp(rate * softplus(alpha));  S += k (v - k S) sigmoid(beta);  the row's result is q S
 * To [t, heads * value_size]. `last` and the state are as those of graph_conv. */
node graph_delta(graph *g, node x, node alpha, node beta, node rate, node state, node position, node last,
                 delta_spec spec);
/* To a tensor of shape s, which has as many elements as the spec's dimensions. An operand may be an f32 state. */
node graph_map(graph *g, const map_spec *spec, shape s);
node graph_contract(graph *g, const contract_spec *spec, shape s);
/* Into an input, after everything in this run that reads it. Its value is the target's. */
node graph_assign(graph *g, node target, node value, assign_spec spec);
/* A token sampled from logits [1, n] as graph/sample.h describes: into the first element of the input `target` and, at
 * place `so_far` (u32 [1], the number of tokens before it), into the input `history`, a ring of tokens. `settings` is
 * an input of SAMPLE_WORDS words. Its value is the target's. */
node graph_sample(graph *g, node target, node logits, node settings, node so_far, node history);
/* The same for rows that are texts of their own: of logits [t, n], into `tokens` [t], with settings [t, SAMPLE_WORDS] and
 * a history [t, capacity + 1] of each. So many tokens as its position and one are before it; afterwards the position is
 * the next, or of an idle row: after the last token that is wanted, or a stop token. `control` is an input [t,
 * SAMPLE_CONTROL_WORDS], `steering` one of [t, sample_steering_words], or 0: graph/sample.h. Idle rows change nothing. */
node graph_sample_rows(graph *g, node tokens, node logits, node settings, node positions, node history, node control,
                       node steering);
/* How many rows of a graph are texts of their own; 0: none. */
uint32_t graph_slots(const graph *g);

/* Marks nodes that no output, state or input of the next run depends on. */
void graph_find_unused(graph *g);

/* For files that define operators: a node whose operands must be there; `wrong` says what is the matter with their
 * shapes. */
node graph_add_node(graph *g, graph_node n, const char *wrong);

#endif
