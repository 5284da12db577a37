/* folder_experts: where the rows of experts, and of other weights that are one here, are in a folder. */
#include "model/folder_experts.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_NAME_BYTES = 64, MX_WEIGHTS = 32, MX_BYTES = 16 /* of a block, without its scale */ };

/* Element c of row r of expert e is at part[e] + r * row_step + c * column_step. */
struct model_rows {
    uint32_t rows; /* of an expert */
    uint32_t columns;
    tensor_type type;
    uint64_t row_step, column_step;
    const uint8_t **part;   /* (experts); of MXFP4 the blocks of a row, */
    const uint8_t **scales; /* and here their scales, scale_step from row to row */
    uint64_t scale_step;
    size_t *tensors, tensor_count; /* of the folder */
};

typedef struct named_rows {
    char name[ROWS_NAME_BYTES];
    model_weight w;
    struct model_rows rows;
} named_rows;

struct expert_weights {
    named_rows *all;
    size_t count;
};

typedef struct finding {
    const safetensors *folder;
    const model_config *c;
    const char *prefix;
    expert_weights *x;
    err *e;
} finding;

/* ---- rows ------------------------------------------------------------------- */

/* A row of blocks: here a byte has elements 2i and 2i+1, in GGUF elements i and i+16, after the scale. */
static void put_mx_row(const uint8_t *blocks, const uint8_t *scales, uint32_t columns, uint8_t *to)
{
    for (uint32_t b = 0; b < columns / MX_WEIGHTS; b++, blocks += MX_BYTES) {
        *to++ = scales[b];
        for (int i = 0; i < MX_BYTES; i++) {
            uint8_t low = blocks[i / 2], high = blocks[8 + i / 2];
            *to++ = i % 2 ? (uint8_t)(low >> 4 | (high & 0xf0)) : (uint8_t)((low & 15) | high << 4);
        }
    }
}

void model_rows_put(const struct model_rows *m, uint64_t first, uint64_t count, void *to)
{
    uint64_t bytes = type_bytes(m->type, m->columns), size = bytes / m->columns;
    uint8_t *out = to;
    for (uint64_t i = first; i < first + count; i++, out += bytes) {
        uint64_t expert = i / m->rows, row = i % m->rows;
        const uint8_t *from = m->part[expert] + row * m->row_step;
        if (m->scales)
            put_mx_row(from, m->scales[expert] + row * m->scale_step, m->columns, out);
        else if (m->column_step == size)
            memcpy(out, from, bytes);
        else
            for (uint32_t c = 0; c < m->columns; c++)
                memcpy(out + c * size, from + c * m->column_step, size);
    }
}

void model_rows_mark(const struct model_rows *m, bool *used)
{
    for (size_t i = 0; i < m->tensor_count; i++)
        used[m->tensors[i]] = true;
}

/* ---- tensors ------------------------------------------------------------------ */

/* What `t` is and what its shape should be: "U8 [7, 72], and should be [14, 36]". */
static void set_wrong_shape(const finding *f, const char *name, const safetensor *t, const uint64_t *dims)
{
    str is = {0}, should = {0};
    for (uint32_t i = 0; i < t->dim_count; i++)
        str_addf(&is, "%s%" PRIu64, i ? ", " : "", t->dims[i]);
    for (uint32_t i = 0; dims[i]; i++)
        str_addf(&should, "%s%" PRIu64, i ? ", " : "", dims[i]);
    err_set(f->e, "tensor %s is %s [%s], and should be [%s]", name, t->dtype, is.data ? is.data : "", should.data);
    str_free(&is);
    str_free(&should);
}

/* A tensor of this shape; `dims` ends with 0. NULL, with an error unless it may be absent. */
static const safetensor *tensor_of(const finding *f, const char *name, bool plain, const uint64_t *dims)
{
    const safetensor *t = safetensors_any(f->folder, name);
    uint32_t count = 0;
    if (!t) {
        err_set(f->e, "tensor %s is missing", name);
        return NULL;
    }
    while (dims[count])
        count++;
    if (plain ? !t->readable : strcmp(t->dtype, "U8") != 0) {
        err_set(f->e, "tensor %s is %s, which is not supported here", name, t->dtype);
        return NULL;
    }
    bool fits = t->dim_count == count;
    for (uint32_t i = 0; fits && i < count; i++)
        fits = t->dims[i] == dims[i];
    if (fits)
        return t;
    set_wrong_shape(f, name, t, dims);
    return NULL;
}

/* `count` matrices that shall lie one after the other. */
static named_rows *add(const finding *f, const char *name, uint32_t count, uint32_t rows, uint32_t columns,
                       tensor_type type)
{
    expert_weights *x = f->x;
    x->all = mem_grow(x->all, (x->count + 1) * sizeof *x->all);
    named_rows *n = &x->all[x->count++];
    *n = (named_rows){.rows = {.rows = rows, .columns = columns, .type = type}};
    snprintf(n->name, sizeof n->name, "%s", name);
    n->rows.part = mem_alloc(count * sizeof *n->rows.part);
    n->rows.tensors = mem_alloc((count + 1) * sizeof *n->rows.tensors);
    n->w = (model_weight){.type = type, .rows = count * rows, .columns = columns};
    n->w.bytes = type_bytes(type, (uint64_t)n->w.rows * columns);
    return n;
}

static void uses(const finding *f, named_rows *n, const safetensor *t)
{
    n->rows.tensors[n->rows.tensor_count++] = (size_t)(t - safetensors_at(f->folder, 0));
}

/* Matrices of all experts in one tensor, each `step` bytes, the first beginning at `from`. */
static named_rows *add_all(const finding *f, uint32_t layer, const char *part, uint32_t rows, uint32_t columns,
                           tensor_type type, const safetensor *t, uint64_t from)
{
    char name[ROWS_NAME_BYTES];
    snprintf(name, sizeof name, "blk.%u.%s", layer, part);
    named_rows *n = add(f, name, f->c->expert_count, rows, columns, type);
    for (uint32_t i = 0; i < f->c->expert_count; i++)
        n->rows.part[i] = (const uint8_t *)t->data + i * (t->bytes / f->c->expert_count) + from;
    uses(f, n, t);
    return n;
}

/* ---- the forms ------------------------------------------------------------------ */

/* A tensor for each, whose names have a number between `before` and `after`. A matrix of one row is a vector there. */
static bool find_apart(const finding *f, const char *before, const char *after, const char *ours, uint32_t count,
                       uint32_t rows, uint32_t columns)
{
    char name[MODEL_NAME_BYTES];
    const uint64_t dims[] = {rows, columns, 0};
    named_rows *n = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (snprintf(name, sizeof name, "%s%u%s", before, i, after) >= (int)sizeof name)
            return err_set(f->e, "tensor %s...: a name that is too long", before);
        const safetensor *t = tensor_of(f, name, true, rows == 1 ? dims + 1 : dims);
        if (!t)
            return false;
        if (!n)
            n = add(f, ours, count, rows, columns, t->type);
        if (t->type != n->rows.type)
            return err_set(f->e, "tensor %s is %s, and the same of other numbers is not", name, t->dtype);
        n->rows.part[i] = t->data;
        uses(f, n, t);
    }
    n->rows.column_step = type_bytes(n->rows.type, 1);
    n->rows.row_step = columns * n->rows.column_step;
    return true;
}

static bool find_single(const finding *f, uint32_t layer, const char *where, const char *theirs, const char *ours,
                        uint32_t rows, uint32_t columns)
{
    char before[MODEL_NAME_BYTES / 2], after[32], name[ROWS_NAME_BYTES];
    snprintf(before, sizeof before, "%slayers.%u.%s.experts.", f->prefix, layer, where);
    snprintf(after, sizeof after, ".%s.weight", theirs);
    snprintf(name, sizeof name, "blk.%u.%s", layer, ours);
    return find_apart(f, before, after, name, f->c->expert_count, rows, columns);
}

/* Are they packed, or bytes with scales? Then quantised.c finds them. */
static bool are_quantised(const finding *f, uint32_t layer, const char *where, const char *theirs)
{
    static const char *const ends[] = {"qweight", "weight_packed", "weight_scale", "weight_scale_inv"};
    char name[MODEL_NAME_BYTES];
    bool found = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%slayers.%u.%s.experts.0.%s.%s", f->prefix, layer, where, theirs, ends[i]);
        found |= safetensors_has(f->folder, name);
    }
    return found;
}

static bool find_singles(const finding *f, uint32_t layer, const char *where, const char *const theirs[3])
{
    uint32_t inner = f->c->expert_ffn_dim, dim = f->c->embedding_dim;
    if (are_quantised(f, layer, where, theirs[0]))
        return true;
    return find_single(f, layer, where, theirs[0], "ffn_gate_exps.weight", inner, dim) &&
           find_single(f, layer, where, theirs[1], "ffn_up_exps.weight", inner, dim) &&
           find_single(f, layer, where, theirs[2], "ffn_down_exps.weight", dim, inner);
}

/* All in one, gate and up as two halves; or transposed, gate and up side by side (gpt_oss). */
static bool find_fused(const finding *f, uint32_t layer, const char *stem)
{
    uint64_t count = f->c->expert_count, inner = f->c->expert_ffn_dim, dim = f->c->embedding_dim;
    bool transposed = f->c->arch == ARCH_GPT_OSS;
    char name[MODEL_NAME_BYTES];
    const uint64_t both[] = {count, transposed ? dim : 2 * inner, transposed ? 2 * inner : dim, 0},
                   down[] = {count, transposed ? inner : dim, transposed ? dim : inner, 0};
    snprintf(name, sizeof name, "%sgate_up_proj", stem);
    const safetensor *t = tensor_of(f, name, true, both);
    for (int up = 0; t && up < 2; up++) {
        uint64_t size = type_bytes(t->type, 1);
        named_rows *n = add_all(f, layer, up ? "ffn_up_exps.weight" : "ffn_gate_exps.weight", (uint32_t)inner,
                                (uint32_t)dim, t->type, t, up * (transposed ? size : inner * dim * size));
        n->rows.row_step = transposed ? 2 * size : dim * size;
        n->rows.column_step = transposed ? 2 * inner * size : size;
    }
    snprintf(name, sizeof name, "%sdown_proj", stem);
    if (!t || !(t = tensor_of(f, name, true, down)))
        return false;
    uint64_t size = type_bytes(t->type, 1);
    named_rows *n = add_all(f, layer, "ffn_down_exps.weight", (uint32_t)dim, (uint32_t)inner, t->type, t, 0);
    n->rows.row_step = transposed ? size : inner * size;
    n->rows.column_step = transposed ? dim * size : size;
    return true;
}

/* Blocks of MXFP4: rows of gate and up by turns. */
static bool find_mx(const finding *f, uint32_t layer, const char *stem, const char *theirs, const char *ours,
                    uint32_t rows, uint32_t columns, uint32_t turn, uint32_t turns)
{
    uint64_t count = f->c->expert_count, blocks = columns / MX_WEIGHTS, all = (uint64_t)rows * turns;
    const uint64_t block_dims[] = {count, all, blocks, MX_BYTES, 0}, scale_dims[] = {count, all, blocks, 0};
    char name[MODEL_NAME_BYTES];
    if (columns % MX_WEIGHTS)
        return err_set(f->e, "rows of %u numbers, which blocks of %d do not fill", columns, MX_WEIGHTS);
    snprintf(name, sizeof name, "%s%s_blocks", stem, theirs);
    const safetensor *bits = tensor_of(f, name, false, block_dims);
    snprintf(name, sizeof name, "%s%s_scales", stem, theirs);
    const safetensor *scales = bits ? tensor_of(f, name, false, scale_dims) : NULL;
    if (!scales)
        return false;
    named_rows *n = add_all(f, layer, ours, rows, columns, TYPE_MXFP4, bits, turn * blocks * MX_BYTES);
    uses(f, n, scales);
    n->rows.row_step = turns * blocks * MX_BYTES;
    n->rows.scale_step = turns * blocks;
    n->rows.scales = mem_alloc(count * sizeof *n->rows.scales);
    for (uint64_t i = 0; i < count; i++)
        n->rows.scales[i] = (const uint8_t *)scales->data + (i * all + turn) * blocks;
    return true;
}

/* A row of biases for each expert. */
static bool find_bias(const finding *f, uint32_t layer, const char *stem, const char *theirs, const char *ours,
                      uint32_t columns, uint32_t turn, uint32_t turns)
{
    char name[MODEL_NAME_BYTES];
    const uint64_t dims[] = {f->c->expert_count, (uint64_t)columns * turns, 0};
    snprintf(name, sizeof name, "%s%s_bias", stem, theirs);
    const safetensor *t = tensor_of(f, name, true, dims);
    if (!t)
        return false;
    uint64_t size = type_bytes(t->type, 1);
    add_all(f, layer, ours, 1, columns, t->type, t, turn * size)->rows.column_step = turns * size;
    return true;
}

static bool find_of_gpt_oss(const finding *f, uint32_t layer, const char *stem)
{
    uint32_t inner = f->c->expert_ffn_dim, dim = f->c->embedding_dim;
    char name[MODEL_NAME_BYTES];
    snprintf(name, sizeof name, "%sgate_up_proj_blocks", stem);
    bool packed = safetensors_has(f->folder, name);
    return (packed ? find_mx(f, layer, stem, "gate_up_proj", "ffn_gate_exps.weight", inner, dim, 0, 2) &&
                         find_mx(f, layer, stem, "gate_up_proj", "ffn_up_exps.weight", inner, dim, 1, 2) &&
                         find_mx(f, layer, stem, "down_proj", "ffn_down_exps.weight", dim, inner, 0, 1)
                   : find_fused(f, layer, stem)) &&
           find_bias(f, layer, stem, "gate_up_proj", "ffn_gate_exps.bias", inner, 0, 2) &&
           find_bias(f, layer, stem, "gate_up_proj", "ffn_up_exps.bias", inner, 1, 2) &&
           find_bias(f, layer, stem, "down_proj", "ffn_down_exps.bias", dim, 0, 1);
}

static bool find_layer(const finding *f, uint32_t layer)
{
    static const char *const usual[] = {"gate_proj", "up_proj", "down_proj"}, *const numbered[] = {"w1", "w3", "w2"};
    char stem[MODEL_NAME_BYTES], name[MODEL_NAME_BYTES];
    snprintf(stem, sizeof stem, "%slayers.%u.%sexperts.", f->prefix, layer, f->c->experts_beside ? "" : "mlp.");
    if (f->c->arch == ARCH_GPT_OSS)
        return find_of_gpt_oss(f, layer, stem);
    snprintf(name, sizeof name, "%.*sgate_up_proj", (int)sizeof name - 16, stem);
    if (safetensors_has(f->folder, name))
        return find_fused(f, layer, stem);
    return f->c->arch == ARCH_MISTRAL ? find_singles(f, layer, "block_sparse_moe", numbered)
                                      : find_singles(f, layer, "mlp", usual);
}

/* gemma3n's matrices that make streams of one, and one of them. */
static bool find_streams(const finding *f)
{
    static const char *const theirs[] = {"altup_projections.", "altup_unembed_projections."},
                             *const ours[] = {"altup_proj.weight", "altup_unembd_proj.weight"};
    for (int i = 0; i < 2; i++) {
        char before[MODEL_NAME_BYTES / 2];
        snprintf(before, sizeof before, "%s%s", f->prefix, theirs[i]);
        if (!find_apart(f, before, ".weight", ours[i], f->c->streams - 1, f->c->embedding_dim, f->c->embedding_dim))
            return false;
    }
    return true;
}

/* stablelm's norms of heads. */
static bool find_head_norms(const finding *f, uint32_t layer)
{
    static const char kinds[] = "qk";
    for (int i = 0; i < 2; i++) {
        char before[MODEL_NAME_BYTES / 2], name[ROWS_NAME_BYTES];
        snprintf(before, sizeof before, "%slayers.%u.self_attn.%c_layernorm.norms.", f->prefix, layer, kinds[i]);
        snprintf(name, sizeof name, "blk.%u.attn_%c_norm.weight", layer, kinds[i]);
        uint32_t heads = i ? f->c->kv_head_count : f->c->head_count;
        if (!find_apart(f, before, ".weight", name, heads, 1, f->c->head_dim))
            return false;
    }
    return true;
}

/* ---- all of them ------------------------------------------------------------------ */

static bool find_all(const finding *f)
{
    const model_config *c = f->c;
    for (uint32_t layer = c->dense_layers; c->expert_count && layer < c->layer_count; layer++)
        if (!find_layer(f, layer))
            return false;
    for (uint32_t layer = 0; c->arch == ARCH_STABLELM && c->qk_norm == QK_NORM_EACH && layer < c->layer_count; layer++)
        if (!find_head_norms(f, layer))
            return false;
    return !c->streams || find_streams(f);
}

/* Once they do not move any more. */
static void point_at_rows(expert_weights *x)
{
    for (size_t i = 0; i < x->count; i++) {
        x->all[i].w.rows_from = &x->all[i].rows;
        x->all[i].w.tensor = x->all[i].rows.tensors[0];
    }
}

expert_weights *expert_weights_find(const safetensors *folder, const model_config *c, const char *prefix, err *e)
{
    finding f = {folder, c, prefix, mem_alloc(sizeof(expert_weights)), e};
    if (!find_all(&f)) {
        expert_weights_free(f.x);
        return NULL;
    }
    point_at_rows(f.x);
    return f.x;
}

/* ---- GGUF -------------------------------------------------------------------------- */

/* Of each expert the rows of gate come first, and then those of up. */
static void split_layer(const finding *f, uint32_t layer, const model_weight *both)
{
    static const char *const ours[] = {"gate", "up"};
    uint32_t count = f->c->expert_count, inner = f->c->expert_ffn_dim;
    uint64_t row = type_bytes(both->type, both->columns);
    for (uint32_t up = 0; up < 2; up++) {
        char name[ROWS_NAME_BYTES];
        snprintf(name, sizeof name, "blk.%u.ffn_%s_exps.weight", layer, ours[up]);
        named_rows *n = add(f, name, count, inner, both->columns, both->type);
        for (uint64_t i = 0; i < count; i++)
            n->rows.part[i] = (const uint8_t *)both->data + (2 * i + up) * inner * row;
        n->rows.row_step = row;
        n->rows.column_step = row / both->columns;
        n->rows.tensors[n->rows.tensor_count++] = both->tensor;
    }
}

expert_weights *expert_weights_of_gguf(model *m, err *e)
{
    const model_config *c = model_get_config(m);
    finding f = {.c = c, .x = mem_alloc(sizeof(expert_weights)), .e = e};
    for (uint32_t layer = 0; layer < c->layer_count; layer++) {
        char name[ROWS_NAME_BYTES];
        model_weight both;
        snprintf(name, sizeof name, "blk.%u.ffn_gate_up_exps.weight", layer);
        if (!model_has_whole(m, name, &both))
            continue; /* the two are there, or missing, which the decoder says */
        if (!both.data || both.rows != 2ull * c->expert_count * c->expert_ffn_dim || both.columns != c->embedding_dim) {
            err_set(e, "%s: weight %s is %u x %u, which does not suit %u experts of %u rows", model_get_path(m), name,
                    both.rows, both.columns, c->expert_count, c->expert_ffn_dim);
            expert_weights_free(f.x);
            return NULL;
        }
        split_layer(&f, layer, &both);
    }
    point_at_rows(f.x);
    for (size_t i = 0; i < f.x->count; i++)
        model_replace_weight(m, f.x->all[i].name, &f.x->all[i].w);
    return f.x;
}

void expert_weights_free(expert_weights *x)
{
    for (size_t i = 0; x && i < x->count; i++) {
        free(x->all[i].rows.part);
        free(x->all[i].rows.scales);
        free(x->all[i].rows.tensors);
    }
    if (x)
        free(x->all);
    free(x);
}

bool expert_weights_get(const expert_weights *x, const char *name, model_weight *w)
{
    for (size_t i = 0; x && i < x->count; i++)
        if (strcmp(x->all[i].name, name) == 0) {
            *w = x->all[i].w;
            return true;
        }
    return false;
}
