/* model: opening a model, and finding its weights by GGUF's names in any format. */
#include "model/model.h"
#include "base/scan.h"
#include "base/str.h"
#include "model/builtin.h"
#include "model/folder.h"
#include "model/folder_experts.h"
#include "model/latent.h"
#include "model/quantised.h"
#include "model/sentence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_MAX_BYTES = MODEL_NAME_BYTES, FIRST_READ_BYTES = 1 << 20, HEADER_MAX_BYTES = 512 << 20 };

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

/* Rows of experts that were asked for. */
typedef struct kept_rows {
    const struct model_rows *from;
    char *rows;
} kept_rows;

typedef struct put_together {
    kept_rows *kept;
    size_t kept_count;
    char *some;
    size_t some_bytes;
} put_together;

struct model {
    char *path;
    gguf *file; /* one of these two */
    folder *parts;
    model_config config;
    in_pieces *pieces; /* NULL: all of it can be looked at */
    replacement *replaced;
    size_t replaced_count;
    put_together *together;
    expert_weights *split; /* or NULL */
};

/* ---- opening ------------------------------------------------------------- */

static bool find_in_gguf(const model *m, const char *name, model_weight *w)
{
    const gguf_tensor *t = gguf_find_tensor(m->file, name);
    if (!t || (!t->data && !m->pieces) || t->dim_count > 3 || t->dims[0] > UINT32_MAX || t->dims[1] > UINT32_MAX ||
        t->dims[2] > UINT32_MAX / t->dims[1])
        return false; /* matrices of experts lie one after the other */
    *w = (model_weight){.type = t->type,
                        .rows = (uint32_t)(t->dims[1] * t->dims[2]),
                        .columns = (uint32_t)t->dims[0],
                        .data = t->data,
                        .bytes = t->bytes,
                        .offset = t->offset,
                        .tensor = (size_t)(t - gguf_tensor_at(m->file, 0))};
    return true;
}

static bool open_folder(model *m, err *e)
{
    size_t length;
    char *text = folder_read_config(m->path, &length, e);
    m->together = mem_alloc(sizeof *m->together);
    bool ok = text && (m->parts = folder_open(m->path, text, length, &m->config, e)) &&
              quantised_unpack(m, folder_tensors(m->parts), text, length, e) && latent_split(m, e) &&
              sentence_read(m->path, m, m->config.embedding_dim, &m->config.embedding, e);
    free(text);
    return ok;
}

static bool split_experts(model *m, err *e)
{
    if (!m->config.experts_beside && m->config.arch != ARCH_QWEN35_MOE)
        return true;
    m->together = mem_alloc(sizeof *m->together);
    m->split = expert_weights_of_gguf(m, e);
    return m->split != NULL;
}

static bool open_file(model *m, bool builtin, err *e)
{
    m->file = builtin ? builtin_open(e) : gguf_open(m->path, e);
    return m->file && (config_from_gguf(m->file, &m->config, e) || err_context(e, "%s", m->path)) &&
           latent_split(m, e) && split_experts(m, e);
}

model *model_open(const char *path, err *e)
{
    struct stat info;
    model *m = mem_alloc(sizeof *m);
    m->path = mem_dup(path ? path : BUILTIN_NAME);
    bool is_folder = path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (is_folder ? open_folder(m, e) : open_file(m, !path, e))
        return m;
    model_close(m);
    return NULL;
}

model *model_of_tensors(const char *config, const struct safetensor *tensors, size_t count, err *e)
{
    model *m = mem_alloc(sizeof *m);
    m->path = mem_dup("the model");
    m->together = mem_alloc(sizeof *m->together);
    if ((m->parts = folder_of_tensors(m->path, config, tensors, count, &m->config, e)) &&
        quantised_unpack(m, folder_tensors(m->parts), config, strlen(config), e) && latent_split(m, e))
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
    folder_close(m->parts);
    for (size_t i = 0; i < m->replaced_count; i++)
        free((void *)m->replaced[i].w.data);
    free(m->replaced);
    for (size_t i = 0; m->together && i < m->together->kept_count; i++)
        free(m->together->kept[i].rows);
    if (m->together) {
        free(m->together->kept);
        free(m->together->some);
    }
    free(m->together);
    expert_weights_free(m->split);
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
    if (!m->file)
        return folder_find(m->parts, name, w);
    uint32_t layer;
    char post[NAME_MAX_BYTES];
    if (m->config.arch == ARCH_GPT_OSS && scan_numbers(name, "blk.#.ffn_norm.weight", &layer)) {
        snprintf(post, sizeof post, "blk.%u.post_attention_norm.weight", layer); /* what GGUF calls it there */
        name = post;
    }
    return find_in_gguf(m, name, w);
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
    return folder_name_of(m->parts, &m->config, name, out);
}

/* A weight that is some rows of a larger one. */
typedef struct part_of {
    const char *part, *whole;
    uint32_t first, rows, whole_rows;
} part_of;

static void take_part(model_weight *w, const part_of *p)
{
    bool vector = w->rows == 1 && p->whole_rows == w->columns;
    uint64_t bytes = vector ? type_bytes(w->type, 1) : type_bytes(w->type, w->columns);
    if (w->data)
        w->data = (const char *)w->data + p->first * bytes;
    w->offset += p->first * bytes;
    w->bytes = p->rows * bytes;
    *(vector ? &w->columns : &w->rows) = p->rows;
}

/* q, k and v in one, or gate and up, which GGUF then calls "ffn_up": so parts come first. A vector's rows are its
 * numbers. */
static bool find_part(const model *m, const char *name, model_weight *w)
{
    const model_config *c = &m->config;
    uint32_t layer;
    char whole[NAME_MAX_BYTES];
    const char *part = scan_numbers(name, "blk.#.", &layer), *dot = part ? strchr(part, '.') : NULL;
    if (!dot || layer >= c->layer_count)
        return false;
    uint32_t head_dim = config_head_dim(c, layer), inner = config_ffn_dim(c, layer);
    uint32_t q = (c->attention_gated ? 2 : 1) * c->head_count * head_dim,
             kv = config_kv_head_count(c, layer) * head_dim;
    const char *gate_up = m->file ? "ffn_up" : "ffn_gate_up";
    const part_of parts[] = {
        {"attn_q", "attn_qkv", 0, q, q + 2 * kv},       {"attn_k", "attn_qkv", q, kv, q + 2 * kv},
        {"attn_v", "attn_qkv", q + kv, kv, q + 2 * kv}, {"ffn_gate", gate_up, 0, inner, 2 * inner},
        {"ffn_up", gate_up, inner, inner, 2 * inner},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const part_of *p = &parts[i];
        snprintf(whole, sizeof whole, "blk.%u.%s%s", layer, p->whole, dot);
        if (strlen(p->part) != (size_t)(dot - part) || memcmp(part, p->part, (size_t)(dot - part)) != 0 ||
            !find_whole(m, whole, w))
            continue;
        bool plain_vector = w->rows == 1 && w->columns == p->whole_rows && type_find(w->type)->block_weights == 1;
        if (w->rows != p->whole_rows && !plain_vector)
            return false;
        take_part(w, p);
        return true;
    }
    return false;
}

bool model_find_weight(const model *m, const char *name, model_weight *w, err *e)
{
    if (find_part(m, name, w) || find_whole(m, name, w))
        return true;
    return err_set(e, "%s: weight %s is missing", m->path, name);
}

/* ---- what is left over ------------------------------------------------------ */

static bool ends_with_any(const char *name, const char *const *ends)
{
    size_t length = strlen(name);
    for (; *ends; ends++)
        if (length >= strlen(*ends) && strcmp(name + length - strlen(*ends), *ends) == 0)
            return true;
    return false;
}

/* Buffers that are computed, not learned; what the configuration has read; towers of models that also see. */
static bool is_harmless(const char *name)
{
    static const char *const ends[] = {
        ".rotary_emb.inv_freq", ".attn_rot_embd.weight", ".attn_rot_embd",         ".attn.bias",
        ".attn.masked_bias",    ".attention.bias",       ".attention.masked_bias", NULL};
    static const char *const begins[] = {"rope_freqs.",
                                         "rope_factors_",
                                         "vision_tower.",
                                         "multi_modal_projector.",
                                         "model.vision_tower.",
                                         "model.multi_modal_projector.",
                                         "model.audio_tower.",
                                         "model.embed_vision.",
                                         "model.embed_audio.",
                                         "model.visual.",
                                         "mtp."};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return ends_with_any(name, ends);
}

/* Of the layers after the last one, which the decoder does not have. */
static bool is_of_extra_layer(const model *m, const char *name)
{
    uint32_t layer;
    return m->config.extra_layers && scan_numbers(name, "blk.#.", &layer) && layer >= m->config.layer_count &&
           layer - m->config.layer_count < m->config.extra_layers;
}

/* Heads of an encoder for other tasks than embeddings, and what older files count positions with. */
static bool is_beside_encoder(const model *m, const char *name)
{
    static const char *const begins[] = {"pooler.", "cls.predictions.", "cls.seq_relationship.", "lm_head."};
    static const char *const ends[] = {"embeddings.position_ids", NULL};
    if (!m->parts || !m->config.norms_after_sum)
        return false;
    const char *from = strncmp(name, "bert.", 5) == 0 ? name + 5 : strncmp(name, "roberta.", 8) == 0 ? name + 8 : name;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(from, begins[i], strlen(begins[i])) == 0)
            return true;
    return ends_with_any(from, ends);
}

/* An output of its own although the embedding shall serve: the same numbers, or a mistake. */
static bool is_second_output(const model *m, size_t tensor, bool *same)
{
    model_weight embedding, output;
    if (!m->parts || !m->config.tied_embeddings || !find_whole(m, "output.weight", &output) ||
        output.tensor != tensor || !find_whole(m, "token_embd.weight", &embedding))
        return false;
    *same = embedding.type == output.type && embedding.bytes == output.bytes &&
            memcmp(embedding.data, output.data, output.bytes) == 0;
    return true;
}

size_t model_tensor_count(const model *m)
{
    return m->file ? gguf_tensor_count(m->file) : folder_tensor_count(m->parts);
}

bool model_refuse_unused(const model *m, const bool *used, err *e)
{
    for (size_t i = 0; i < model_tensor_count(m); i++) {
        char name[NAME_MAX_BYTES];
        if (used[i])
            continue;
        gguf_text text = m->file ? gguf_tensor_at(m->file, i)->name : (gguf_text){folder_tensor_name(m->parts, i), 0};
        snprintf(name, sizeof name, "%.*s", m->file ? (int)text.length : NAME_MAX_BYTES, text.data);
        bool same = false, second = is_second_output(m, i, &same);
        bool quantised =
            m->parts && m->replaced_count && quantised_leaves_out(folder_tensors(m->parts), i, m->config.expert_count);
        if (is_harmless(name) || is_of_extra_layer(m, name) || quantised || is_beside_encoder(m, name) || same)
            continue;
        if (second)
            return err_set(e,
                           "%s: tensor %s differs from the embedding, which \"tie_word_embeddings\" makes the output",
                           m->path, name);
        return err_set(e, "%s: tensor %s: a %s is not known to have it", m->path, name,
                       config_arch_name(m->config.arch));
    }
    return true;
}

/* Rows that do not lie one after the other. All of a weight is kept; some of it, until the next call. */
static const void *read_rows(const model *m, const model_weight *w, uint64_t first, uint64_t bytes)
{
    uint64_t row_bytes = w->bytes / w->rows, from = first / row_bytes, to = (first + bytes + row_bytes - 1) / row_bytes;
    put_together *t = m->together;
    for (size_t i = 0; i < t->kept_count; i++)
        if (t->kept[i].from == w->rows_from)
            return t->kept[i].rows + first;
    if (bytes == w->bytes) {
        t->kept = mem_grow(t->kept, (t->kept_count + 1) * sizeof *t->kept);
        t->kept[t->kept_count] = (kept_rows){w->rows_from, mem_alloc((size_t)bytes)};
        model_rows_put(w->rows_from, 0, w->rows, t->kept[t->kept_count].rows);
        return t->kept[t->kept_count++].rows;
    }
    if (t->some_bytes < (to - from) * row_bytes) {
        t->some_bytes = (size_t)((to - from) * row_bytes);
        t->some = mem_grow(t->some, t->some_bytes);
    }
    model_rows_put(w->rows_from, from, to - from, t->some);
    return t->some + (first - from * row_bytes);
}

const void *model_read_weight(const model *m, const model_weight *w, uint64_t first, uint64_t bytes, err *e)
{
    if (first > w->bytes || bytes > w->bytes - first) {
        err_set(e, "%s: bytes of a weight that it does not have", m->path);
        return NULL;
    }
    if (w->data)
        return (const char *)w->data + first;
    if (w->rows_from)
        return read_rows(m, w, first, bytes);
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
