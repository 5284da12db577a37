/* model: opening a model, and finding its weights by GGUF's names in any format. */
#include "model/model.h"
#include "base/file.h"
#include "base/str.h"
#include "model/builtin.h"
#include "model/quantised.h"
#include "model/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    CONFIG_MAX_BYTES = 4 << 20,
    NAME_MAX_BYTES = MODEL_NAME_BYTES,
    FIRST_READ_BYTES = 1 << 20,
    HEADER_MAX_BYTES = 512 << 20
};

/* What of a file that is not mapped is in memory. */
typedef struct in_pieces {
    model_reader reader;
    void *header, *piece;
    size_t piece_bytes;
} in_pieces;

/* A weight that model_replace_weight put in the place of the file's. */
typedef struct replacement {
    char name[NAME_MAX_BYTES];
    model_weight w;
} replacement;

struct model {
    char *path;
    gguf *file; /* one of these two */
    safetensors *parts;
    model_config config;
    in_pieces *pieces; /* NULL: all of it can be looked at */
    replacement *replaced;
    size_t replaced_count;
};

/* ---- names --------------------------------------------------------------- */

/* The part of a layer's weight after "blk.N.", here and at Hugging Face. */
typedef struct renamed {
    const char *ours, *theirs;
} renamed;

static const renamed LAYER_NAMES[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_gate_up", "mlp.gate_up_proj"},
    {NULL, NULL},
};
/* Which norm is which depends on how many there are. */
static const renamed TWO_NORMS[] = {{"ffn_norm", "post_attention_layernorm"}, {NULL, NULL}};
static const renamed FOUR_NORMS[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {NULL, NULL},
};
static const renamed MODEL_NAMES[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
    {NULL, NULL},
};

static const char *look_up(const renamed *names, const char *ours, size_t length)
{
    for (; names->ours; names++)
        if (strlen(names->ours) == length && memcmp(names->ours, ours, length) == 0)
            return names->theirs;
    return NULL;
}

/* "blk.3.attn_q.weight" as Hugging Face calls it; false if there is no such thing. */
static bool name_at_hugging_face(const model_config *c, const char *ours, char out[NAME_MAX_BYTES])
{
    unsigned layer;
    int prefix = 0;
    const char *whole = look_up(MODEL_NAMES, ours, strlen(ours));
    if (whole)
        return snprintf(out, NAME_MAX_BYTES, "%s", whole) < NAME_MAX_BYTES;
    if (sscanf(ours, "blk.%u.%n", &layer, &prefix) != 1 || prefix == 0)
        return false;
    const char *part = ours + prefix, *dot = strrchr(part, '.');
    if (!dot)
        return false;
    const char *theirs = look_up(c->post_norms ? FOUR_NORMS : TWO_NORMS, part, (size_t)(dot - part));
    if (!theirs)
        theirs = look_up(LAYER_NAMES, part, (size_t)(dot - part));
    return theirs && snprintf(out, NAME_MAX_BYTES, "model.layers.%u.%s%s", layer, theirs, dot) < NAME_MAX_BYTES;
}

static bool find_in_gguf(const model *m, const char *name, model_weight *w)
{
    const gguf_tensor *t = gguf_find_tensor(m->file, name);
    if (!t || (!t->data && !m->pieces) || t->dim_count > 2 || t->dims[0] > UINT32_MAX || t->dims[1] > UINT32_MAX)
        return false;
    *w = (model_weight){t->type, (uint32_t)t->dims[1], (uint32_t)t->dims[0], t->data, t->bytes, t->offset};
    return true;
}

/* ---- opening ------------------------------------------------------------- */

static bool open_folder(model *m, err *e)
{
    str path = {0};
    str_addf(&path, "%s/config.json", m->path);
    size_t length;
    char *text = file_read(path.data, CONFIG_MAX_BYTES, &length, e);
    bool ok = text && config_from_hf(text, length, path.data, &m->config, e);
    str_free(&path);
    if (ok)
        m->parts = safetensors_open(m->path, e);
    ok = m->parts && quantised_unpack(m, m->parts, text, length, e);
    free(text);
    return ok;
}

static bool open_file(model *m, bool builtin, err *e)
{
    m->file = builtin ? builtin_open(e) : gguf_open(m->path, e);
    return m->file && (config_from_gguf(m->file, &m->config, e) || err_context(e, "%s", m->path));
}

model *model_open(const char *path, err *e)
{
    struct stat info;
    model *m = mem_alloc(sizeof *m);
    m->path = mem_dup(path ? path : BUILTIN_NAME);
    bool folder = path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (folder ? open_folder(m, e) : open_file(m, !path, e))
        return m;
    model_close(m);
    return NULL;
}

/* As much of the beginning as describes the model; how much that is shows while it is read. */
static bool read_header(model *m, err *e)
{
    const model_reader *r = &m->pieces->reader;
    size_t have = 0, want = r->file_bytes < FIRST_READ_BYTES ? (size_t)r->file_bytes : FIRST_READ_BYTES;
    while (!m->file) {
        uint64_t needed = 0;
        err why = {0};
        m->pieces->header = mem_grow(m->pieces->header, want);
        if (!r->read(r->user, have, (char *)m->pieces->header + have, want - have, e))
            return err_context(e, "%s", m->path);
        have = want;
        m->file = gguf_read(m->pieces->header, have, r->file_bytes, m->path, &needed, &why);
        if (!m->file && (needed <= have || needed > r->file_bytes || needed > HEADER_MAX_BYTES))
            return err_set_kind(e, why.kind, "%s", why.text);
        want = needed < 2 * (uint64_t)have ? 2 * have : (size_t)needed;
        want = want > r->file_bytes ? (size_t)r->file_bytes : want;
    }
    gguf_part part;
    if (!gguf_get_part(m->file, &part, e))
        return false;
    return part.count == 1 || err_set(e, "%s: is one of %u parts of a model, which can only be opened where they lie",
                                      m->path, part.count);
}

/* The few weights that belong to the description. */
static bool read_divisors(model *m, err *e)
{
    static const char *const names[] = {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"};
    for (int i = 0; i < 3; i++) {
        model_weight w;
        if (!find_in_gguf(m, names[i], &w))
            continue;
        const void *data = model_read_weight(m, &w, 0, w.bytes, e);
        if (!data || !config_give_divisors(&m->config, names[i], data, e))
            return false;
    }
    return true;
}

model *model_open_reader(const model_reader *r, const char *name, err *e)
{
    model *m = mem_alloc(sizeof *m);
    m->path = mem_dup(name);
    m->pieces = mem_alloc(sizeof *m->pieces);
    m->pieces->reader = *r;
    if (read_header(m, e) && (config_from_gguf(m->file, &m->config, e) || err_context(e, "%s", m->path)) &&
        (!m->config.rope_divisors_missing || read_divisors(m, e)))
        return m;
    model_close(m);
    return NULL;
}

void model_close(model *m)
{
    if (!m)
        return;
    if (m->file)
        gguf_close(m->file);
    if (m->pieces) {
        free(m->pieces->header);
        free(m->pieces->piece);
        free(m->pieces);
    }
    if (m->parts)
        safetensors_close(m->parts);
    for (size_t i = 0; i < m->replaced_count; i++)
        free((void *)m->replaced[i].w.data);
    free(m->replaced);
    free(m->path);
    free(m);
}

const model_config *model_get_config(const model *m)
{
    return &m->config;
}

const gguf *model_get_gguf(const model *m)
{
    return m->file;
}

const char *model_get_path(const model *m)
{
    return m->path;
}

/* ---- weights ------------------------------------------------------------- */

static bool find_in_parts(const model *m, const char *name, model_weight *w)
{
    char theirs[NAME_MAX_BYTES];
    if (!name_at_hugging_face(&m->config, name, theirs) || !safetensors_has(m->parts, theirs))
        return false;
    const safetensor *t = safetensors_find(m->parts, theirs, NULL);
    if (!t || t->dim_count < 1 || t->dim_count > 2)
        return false;
    uint64_t rows = t->dim_count == 2 ? t->dims[0] : 1, columns = t->dims[t->dim_count - 1];
    if (rows > UINT32_MAX || columns > UINT32_MAX)
        return false;
    *w = (model_weight){t->type, (uint32_t)rows, (uint32_t)columns, t->data, t->bytes, 0};
    return true;
}

static replacement *find_replaced(const model *m, const char *name)
{
    for (size_t i = 0; i < m->replaced_count; i++)
        if (strcmp(m->replaced[i].name, name) == 0)
            return &m->replaced[i];
    return NULL;
}

static bool find_whole(const model *m, const char *name, model_weight *w)
{
    const replacement *r = find_replaced(m, name);
    if (r) {
        *w = r->w;
        return true;
    }
    return m->file ? find_in_gguf(m, name, w) : find_in_parts(m, name, w);
}

void model_replace_weight(model *m, const char *name, const model_weight *w)
{
    replacement *r = find_replaced(m, name);
    if (r)
        free((void *)r->w.data);
    else {
        m->replaced = mem_grow(m->replaced, (m->replaced_count + 1) * sizeof *r);
        r = &m->replaced[m->replaced_count++];
        snprintf(r->name, sizeof r->name, "%s", name);
    }
    r->w = *w;
}

bool model_has_whole(const model *m, const char *name, model_weight *w)
{
    return find_whole(m, name, w);
}

bool model_name_in_folder(const model *m, const char *name, char out[MODEL_NAME_BYTES])
{
    return name_at_hugging_face(&m->config, name, out);
}

/* A weight that is some rows of a larger one. */
typedef struct part_of {
    const char *part, *whole;
    uint32_t first, rows;
} part_of;

static bool find_part(const model *m, const char *name, model_weight *w)
{
    const model_config *c = &m->config;
    uint32_t q = c->head_count * c->head_dim, kv = c->kv_head_count * c->head_dim;
    const part_of parts[] = {
        {"attn_q", "attn_qkv", 0, q},
        {"attn_k", "attn_qkv", q, kv},
        {"attn_v", "attn_qkv", q + kv, kv},
        {"ffn_gate", m->file ? "ffn_up" : "ffn_gate_up", 0, c->ffn_dim},
        {"ffn_up", m->file ? "ffn_up" : "ffn_gate_up", c->ffn_dim, c->ffn_dim},
    };
    unsigned layer;
    char part[64], suffix[16], whole[NAME_MAX_BYTES];
    if (sscanf(name, "blk.%u.%63[^.].%15s", &layer, part, suffix) != 3)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const part_of *p = &parts[i];
        snprintf(whole, sizeof whole, "blk.%u.%s.%s", layer, p->whole, suffix);
        if (strcmp(part, p->part) != 0 || !find_whole(m, whole, w))
            continue;
        if (w->rows < p->first + p->rows || w->rows == p->rows)
            return false;
        uint64_t row_bytes = type_bytes(w->type, w->columns);
        if (w->data)
            w->data = (const char *)w->data + p->first * row_bytes;
        w->offset += p->first * row_bytes;
        w->rows = p->rows;
        w->bytes = p->rows * row_bytes;
        return true;
    }
    return false;
}

/* phi3 in GGUF calls gate and up together "ffn_up": there the part comes first. */
bool model_find_weight(const model *m, const char *name, model_weight *w, err *e)
{
    bool parts_first = m->config.arch == ARCH_PHI3;
    if ((parts_first && find_part(m, name, w)) || find_whole(m, name, w) || (!parts_first && find_part(m, name, w)))
        return true;
    return err_set(e, "%s: weight %s is missing", m->path, name);
}

const void *model_read_weight(const model *m, const model_weight *w, uint64_t first, uint64_t bytes, err *e)
{
    if (first > w->bytes || bytes > w->bytes - first) {
        err_set(e, "%s: bytes of a weight that it does not have", m->path);
        return NULL;
    }
    if (w->data)
        return (const char *)w->data + first;
    in_pieces *p = m->pieces;
    if (p->piece_bytes < bytes) {
        p->piece = mem_grow(p->piece, (size_t)bytes);
        p->piece_bytes = (size_t)bytes;
    }
    if (p->reader.read(p->reader.user, w->offset + first, p->piece, (size_t)bytes, e))
        return p->piece;
    err_context(e, "%s", m->path);
    return NULL;
}
