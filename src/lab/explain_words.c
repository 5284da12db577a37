/* What a step of a plan does, in words. */
#include "lab/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LAST = GRAPH_MAX_DIMS - 1, NAME_ROOM = 48 };

static const char *const UNARY_WORDS[UNARY_COUNT] = {"copy", "-",    "abs",     "square", "sqrt",   "exp",
                                                     "log",  "tanh", "sigmoid", "relu",   "silu",   "gelu",
                                                     "sin",  "cos",  "gelu",    "scale",  "softcap"};
static const char *const BINARY_WORDS[BINARY_COUNT] = {"+", "-", "*", "/", "max", "min", "clamped glu"};
static const char *const REDUCE_WORDS[REDUCE_COUNT] = {"sum", "mean", "maximum", "place of the maximum"};

static const char *const MAP_WORDS[MAP_COUNT] = {[MAP_RSQRT] = "1 / sqrt",
                                                 [MAP_ERF] = "erf",
                                                 [MAP_FLOOR] = "floor",
                                                 [MAP_CEIL] = "ceil",
                                                 [MAP_ROUND] = "round",
                                                 [MAP_SIGN] = "sign",
                                                 [MAP_NOT] = "not",
                                                 [MAP_ADD] = "+",
                                                 [MAP_SUB] = "-",
                                                 [MAP_MUL] = "*",
                                                 [MAP_DIV] = "/",
                                                 [MAP_REMAINDER] = "remainder",
                                                 [MAP_MAX] = "max",
                                                 [MAP_MIN] = "min",
                                                 [MAP_POW] = "power",
                                                 [MAP_EQ] = "==",
                                                 [MAP_NE] = "!=",
                                                 [MAP_LT] = "<",
                                                 [MAP_LE] = "<=",
                                                 [MAP_AND] = "and",
                                                 [MAP_OR] = "or",
                                                 [MAP_XOR] = "xor",
                                                 [MAP_WHERE] = "where",
                                                 [MAP_TAKE] = "elements by their numbers",
                                                 [MAP_PLACE] = "one beside another"};

static const char *map_words(const graph_node *n)
{
    const map_spec *m = &n->as.map;
    return m->kind == MAP_FUNCTION ? UNARY_WORDS[m->function] : MAP_WORDS[m->kind];
}

/* A weight's name without what all of them have: "blk.3.attn_q.weight" is "attn_q". */
static void bare_name(const char *name, char out[NAME_ROOM])
{
    const char *from = name ? name : "";
    if (strncmp(from, "blk.", 4) == 0 && isdigit((unsigned char)from[4]))
        for (from += 4; *from && *from++ != '.';)
            ;
    snprintf(out, NAME_ROOM, "%s", from);
    char *dot = strrchr(out, '.');
    if (dot && dot > out && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0))
        *dot = 0;
}

/* What a product makes. */
static void product_name(const graph *g, node matmul, char out[NAME_ROOM])
{
    static const char *const words[][2] = {{"attn_q", "q"},           {"attn_k", "k"},      {"attn_v", "v"},
                                           {"attn_output", "output"}, {"ffn_gate", "gate"}, {"ffn_up", "up"},
                                           {"ffn_down", "down"},      {"output", "logits"}, {"token_embd", "logits"}};
    bare_name(graph_at(g, graph_at(g, matmul)->operands[1])->name, out);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(out, words[i][0]) == 0) {
            snprintf(out, NAME_ROOM, "%s", words[i][1]);
            return;
        }
}

static bool is_bias(const graph *g, const graph_node *n)
{
    return n->as.binary == BINARY_ADD && graph_at(g, n->operands[1])->op == OP_WEIGHT;
}

static bool is_residual(const graph *g, const graph_node *n)
{
    return n->as.binary == BINARY_ADD && graph_at(g, n->operands[1])->op != OP_WEIGHT &&
           shape_count(graph_at(g, n->operands[0])->s) == shape_count(graph_at(g, n->operands[1])->s);
}

/* What others call a node's value. */
static void value_name(const graph *g, node of, char out[NAME_ROOM])
{
    const graph_node *n = graph_at(g, plan_root(g, of));
    char inner[NAME_ROOM];
    switch (n->op) {
    case OP_EXPERTS:
    case OP_MATMUL: product_name(g, plan_root(g, of), out); return;
    case OP_INPUT:
    case OP_WEIGHT:
    case OP_STATE: bare_name(n->name, out); return;
    case OP_UNARY:
        value_name(g, n->operands[0], inner);
        snprintf(out, NAME_ROOM, "%s(%.30s)", UNARY_WORDS[n->as.unary.kind], inner);
        return;
    case OP_BINARY:
        if (!is_bias(g, n))
            break;
        value_name(g, n->operands[0], out);
        return;
    case OP_RMSNORM:
    case OP_LAYERNORM:
        value_name(g, n->operands[0], out);
        if (out[0] == 'x')
            snprintf(out, NAME_ROOM, "the norm");
        return;
    case OP_ROPE:
    case OP_SLICE:
    case OP_PICK: value_name(g, n->operands[0], out); return;
    default: break;
    }
    snprintf(out, NAME_ROOM, "x");
}

/* ---- products ------------------------------------------------------------------- */

/* What comes after the sums of a part, one thing at a time; false at the end. */
static bool part_word(const plan *p, const plan_part *part, uint32_t i, char out[NAME_ROOM])
{
    out[0] = 0;
    if (i < part->epilogue_count) {
        const graph_node *n = graph_at(p->g, part->epilogue[i]);
        if (n->op == OP_UNARY)
            snprintf(out, NAME_ROOM, "%s", UNARY_WORDS[n->as.unary.kind]);
        else if (is_bias(p->g, n))
            snprintf(out, NAME_ROOM, "bias");
        else if (is_residual(p->g, n))
            snprintf(out, NAME_ROOM, "residual");
        else
            snprintf(out, NAME_ROOM, "(%s)", BINARY_WORDS[n->as.binary]);
        return true;
    }
    i -= part->epilogue_count;
    if (part->rope && i-- == 0)
        snprintf(out, NAME_ROOM, "rope");
    else if (part->store && i == 0)
        snprintf(out, NAME_ROOM, "into the cache");
    return out[0] != 0;
}

static bool has_word(const plan *p, const plan_part *part, const char *word)
{
    char other[NAME_ROOM];
    for (uint32_t i = 0; part_word(p, part, i, other); i++)
        if (strcmp(word, other) == 0)
            return true;
    return false;
}

/* A word of part `from`, once for all parts that have it: " + rope (q, k)". */
static void add_word(const plan *p, const plan_step *s, uint32_t from, const char *word, str *out)
{
    uint32_t have = 0;
    for (uint32_t i = 0; i < s->part_count; i++) {
        have += has_word(p, &s->parts[i], word);
        if (i < from && has_word(p, &s->parts[i], word))
            return;
    }
    str_addf(out, " + %s", word);
    for (uint32_t i = 0, said = 0; have < s->part_count && i < s->part_count; i++)
        if (has_word(p, &s->parts[i], word)) {
            char name[NAME_ROOM];
            product_name(p->g, s->parts[i].matmul, name);
            str_addf(out, "%s%s", said++ ? ", " : " (", name);
            if (said == have)
                str_add(out, ")");
        }
}

static void product_words(const plan *p, const plan_step *s, str *out)
{
    char name[NAME_ROOM], other[NAME_ROOM];
    if (s->norm)
        str_add(out, "norm + ");
    if (s->combines_splits)
        str_add(out, "splits combined + ");
    if (s->op == OP_EXPERTS)
        str_add(out, "chosen of ");
    for (uint32_t i = 0; i < s->part_count; i++) {
        const plan_part *part = &s->parts[i];
        product_name(p->g, part->matmul, name);
        str_addf(out, "%s%s", i ? ", " : "", name);
        if (part->gate_of) {
            product_name(p->g, part->gate_of, other);
            str_addf(out, ", %s + ", other);
            if (s->op == OP_EXPERTS && graph_at(p->g, part->result)->as.binary == BINARY_CLAMPED_GLU)
                str_addf(out, "%s of both", BINARY_WORDS[BINARY_CLAMPED_GLU]);
            else if (part->act)
                str_addf(out, "%s(%s) * %s", UNARY_WORDS[graph_at(p->g, part->act)->as.unary.kind], name, other);
            else
                str_addf(out, "%s * %s", name, other);
        }
    }
    if (s->parts[0].mix)
        str_add(out, " + weighted sum");
    for (uint32_t i = 0; i < s->part_count; i++)
        for (uint32_t k = 0; part_word(p, &s->parts[i], k, name); k++)
            add_word(p, s, i, name, out);
}

/* ---- the others ------------------------------------------------------------------ */

static void binary_words(const plan *p, const graph_node *n, str *out)
{
    char a[NAME_ROOM], b[NAME_ROOM];
    value_name(p->g, n->operands[0], a);
    value_name(p->g, n->operands[1], b);
    if (is_bias(p->g, n))
        str_addf(out, "bias of %s", a);
    else if (is_residual(p->g, n))
        str_addf(out, "residual (+ %s)", b);
    else
        str_addf(out, "%s %s %s", a, BINARY_WORDS[n->as.binary], b);
}

static void assign_words(const plan *p, const plan_step *s, str *out)
{
    char name[NAME_ROOM];
    str_add(out, "for the next run: ");
    for (uint32_t i = 0; i < s->assign_count; i++) {
        value_name(p->g, graph_at(p->g, s->assigns[i])->operands[1], name);
        str_addf(out, "%s%s", i ? ", " : "", name);
    }
}

static void operator_words(const plan *p, const plan_step *s, str *out)
{
    const graph_node *n = graph_at(p->g, s->at);
    char name[NAME_ROOM];
    switch (s->op) {
    case OP_UNARY:
        value_name(p->g, n->operands[0], name);
        str_addf(out, "%s of %s", UNARY_WORDS[n->as.unary.kind], name);
        break;
    case OP_BINARY: binary_words(p, n, out); break;
    case OP_REDUCE: str_addf(out, "%s of rows", REDUCE_WORDS[n->as.reduce]); break;
    case OP_SOFTMAX: str_add(out, "softmax"); break;
    case OP_RMSNORM:
    case OP_LAYERNORM:
        bare_name(graph_at(p->g, n->operands[1])->name, name);
        str_addf(out, "norm (%s)", name);
        break;
    case OP_GATHER:
        bare_name(graph_at(p->g, n->operands[0])->name, name);
        str_addf(out, "rows of %s", strcmp(name, "token_embd") == 0 ? "the embedding" : name);
        break;
    case OP_ROPE:
        value_name(p->g, n->operands[0], name);
        str_addf(out, "rope of %s", name);
        break;
    case OP_STORE:
        value_name(p->g, n->operands[1], name);
        str_addf(out, "%s into the cache", name);
        break;
    case OP_ATTENTION:
        str_add(out, "attention");
        if (plan_splits(p, s) > 1)
            str_addf(out, " in %u splits%s", plan_splits(p, s), s->split_output ? "" : " + combining them");
        break;
    case OP_ATTENTION_WHOLE: str_add(out, "attention over the whole text"); break;
    case OP_SLICE: str_add(out, "part of each row"); break;
    case OP_PICK: str_add(out, "the selected rows"); break;
    case OP_TOPK: str_add(out, "places of the largest"); break;
    case OP_ROUTE: str_add(out, "choice of experts"); break;
    case OP_POOL: str_add(out, "pooling"); break;
    case OP_MAP: str_add(out, map_words(n)); break;
    case OP_CONTRACT: str_add(out, "sums of products"); break;
    case OP_MIX: str_add(out, "weighted sum"); break;
    case OP_HEADS:
        bare_name(graph_at(p->g, n->operands[0])->name, name);
        str_addf(out, "%s of each head", name);
        break;
    case OP_WEIGH: str_add(out, "what was chosen, weighed"); break;
    case OP_JOIN: str_add(out, "rows joined"); break;
    case OP_CONV: str_add(out, "convolution over rows"); break;
    case OP_DELTA: str_add(out, "delta rule"); break;
    case OP_ASSIGN: assign_words(p, s, out); break;
    case OP_SAMPLE: str_add(out, "scan of the logits + choice of the next token"); break;
    default: str_add(out, graph_op_names[s->op]); break;
    }
}

/* "norm (attn_k_norm) + rope + into the cache". */
static void chain_words(const plan *p, const plan_step *s, str *out)
{
    char name[NAME_ROOM];
    if (s->norm) {
        bare_name(graph_at(p->g, graph_at(p->g, s->norm)->operands[1])->name, name);
        str_addf(out, "norm (%s)", name);
    }
    if (s->rope)
        str_add(out, s->norm ? " + rope" : "rope");
    if (s->op == OP_STORE)
        str_add(out, " + into the cache");
    if (s->op == OP_BINARY)
        str_add(out, " + residual");
}

void explain_words(const plan *p, const plan_step *s, char *out, size_t room)
{
    str text = {0};
    if (s->part_count)
        product_words(p, s, &text);
    else if (plan_is_chain(s))
        chain_words(p, s, &text);
    else
        operator_words(p, s, &text);
    snprintf(out, room, "%s", text.data);
    str_free(&text);
}

void explain_amount(double amount, const char *unit, char out[24])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    for (; amount >= 999.5 && i < 5; i++)
        amount /= 1000;
    if (amount == 0)
        snprintf(out, 24, "-");
    else if (i == 0)
        snprintf(out, 24, "%.0f%s%s", amount, *unit ? " " : "", unit);
    else
        snprintf(out, 24,
                 amount >= 99.5   ? "%.0f %s%s"
                 : amount >= 9.95 ? "%.1f %s%s"
                                  : "%.2f %s%s",
                 amount, prefixes[i], unit);
}
