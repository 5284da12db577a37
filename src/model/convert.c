/* convert: the weights of a model, a few rows at a time, into a GGUF file of another type. */
#include "model/convert.h"
#include "base/progress.h"
#include "model/check.h"
#include "model/decoder.h"
#include "model/gguf_layout.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_WEIGHTS = 1 << 18 };

static const float f16_largest = 65504;

/* What is written: a tensor, where its weights are, and what is done to them. */
typedef struct job {
    const char *name;
    const uint8_t *data;
    tensor_type from, to;
    uint64_t rows, columns;
    uint32_t turned_heads; /* see layout_tensor */
    layout_tiling tiling;
    float plus;                         /* added to every weight */
    const struct model_rows *rows_from; /* instead of data: see model_weight */
} job;

typedef struct chunk {
    float *floats; /* (CHUNK_WEIGHTS, or a row if that is longer) */
    uint8_t *bytes;
} chunk;

/* ---- weights ------------------------------------------------------------------- */

/* The row of the source that becomes row `to`: the two numbers that one angle turns
 * stand half a head apart there, and side by side in the file. */
static uint64_t turned_row(uint64_t to, uint64_t rows, uint32_t heads)
{
    uint64_t head_dim = rows / heads, head = to / head_dim, i = to % head_dim;
    return head * head_dim + i % 2 * (head_dim / 2) + i / 2;
}

/* The row or column of the source that becomes this one. */
static uint64_t tiled_place(uint64_t to, const layout_tiling *t)
{
    if (to < t->first)
        return to;
    uint64_t head = (to - t->first) / t->size, i = (to - t->first) % t->size;
    return t->first + (head % t->groups * t->each + head / t->groups) * t->size + i;
}

static uint64_t source_row(const job *j, uint64_t to)
{
    if (j->turned_heads)
        return turned_row(to, j->rows, j->turned_heads);
    return j->tiling.groups && !j->tiling.of_columns ? tiled_place(to, &j->tiling) : to;
}

static void tile_columns(const job *j, float *row)
{
    float *was = mem_alloc(j->columns * sizeof *was);
    memcpy(was, row, j->columns * sizeof *was);
    for (uint64_t i = 0; i < j->columns; i++)
        row[i] = was[tiled_place(i, &j->tiling)];
    free(was);
}

static bool is_moved(const job *j)
{
    return j->turned_heads || j->tiling.groups;
}

/* The row of the source, since that is where somebody will look. */
static bool not_finite(const job *j, uint64_t first, size_t place, err *e)
{
    return err_set(e, "tensor %s: row %llu has a number that is not finite", j->name,
                   (unsigned long long)source_row(j, first + place / j->columns));
}

/* Numbers so large that a type's scales, which are halves, might not hold them. */
static bool check_range(const job *j, uint64_t first, const float *x, size_t count, float *largest, err *e)
{
    *largest = 0;
    for (size_t i = 0; i < count; i++) {
        float size = fabsf(x[i]);
        if (!isfinite(size))
            return not_finite(j, first, i, e);
        if (j->to == TYPE_F16 && size > f16_largest)
            return err_set(e, "weight %s has the number %g, which f16 cannot hold; bf16 can", j->name, (double)x[i]);
        *largest = size > *largest ? size : *largest;
    }
    return true;
}

/* `x` becomes what was written. */
static bool check_written(const job *j, uint64_t first, const uint8_t *bytes, float *x, size_t count, err *e)
{
    type_to_f32(j->to, bytes, x, count);
    size_t bad = check_finite(x, count);
    if (bad == count)
        return true;
    return err_set(e, "tensor %s: row %llu has numbers too large for %s", j->name,
                   (unsigned long long)source_row(j, first + bad / j->columns), type_find(j->to)->name);
}

static void load_rows(const job *j, uint64_t first, uint64_t rows, uint8_t *room, float *to)
{
    uint64_t row_bytes = type_bytes(j->from, j->columns);
    if (j->rows_from) {
        model_rows_put(j->rows_from, first, rows, room);
        type_to_f32(j->from, room, to, rows * j->columns);
        return;
    }
    if (!is_moved(j)) {
        type_to_f32(j->from, j->data + first * row_bytes, to, rows * j->columns);
        return;
    }
    for (uint64_t r = 0; r < rows; r++) {
        type_to_f32(j->from, j->data + source_row(j, first + r) * row_bytes, to + r * j->columns, j->columns);
        if (j->tiling.of_columns)
            tile_columns(j, to + r * j->columns);
    }
}

static bool write_rows(const job *j, uint64_t first, uint64_t rows, chunk *c, gguf_writer *w, err *e)
{
    size_t count = rows * j->columns;
    load_rows(j, first, rows, c->bytes, c->floats);
    if (j->from == j->to && !is_moved(j) && j->plus == 0) {
        size_t row_bytes = type_bytes(j->from, j->columns), bad = check_finite(c->floats, count);
        if (bad < count)
            return not_finite(j, first, bad, e);
        /* rows that do not lie one after the other were put into c->bytes */
        return gguf_write_data(w, j->rows_from ? c->bytes : j->data + first * row_bytes, rows * row_bytes);
    }
    for (size_t i = 0; j->plus != 0 && i < count; i++)
        c->floats[i] += j->plus;
    float largest;
    if (!check_range(j, first, c->floats, count, &largest, e) || !type_from_f32(j->to, c->floats, c->bytes, count) ||
        (largest > f16_largest && !check_written(j, first, c->bytes, c->floats, count, e)))
        return false;
    return gguf_write_data(w, c->bytes, type_bytes(j->to, count));
}

static bool write_jobs(const job *jobs, size_t count, gguf_writer *w, err *e)
{
    uint64_t total = 0, done = 0, longest = CHUNK_WEIGHTS;
    for (size_t i = 0; i < count; i++) {
        total += jobs[i].rows * jobs[i].columns;
        longest = jobs[i].columns > longest ? jobs[i].columns : longest;
    }
    chunk c = {mem_alloc(longest * sizeof *c.floats), mem_alloc(longest * sizeof *c.floats)};
    progress p = progress_start("converting", total);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const job *j = &jobs[i];
        uint64_t at_once = longest / (j->columns ? j->columns : 1);
        for (uint64_t row = 0; ok && row < j->rows; row += at_once) {
            uint64_t rows = j->rows - row < at_once ? j->rows - row : at_once;
            ok = write_rows(j, row, rows, &c, w, e);
            progress_at(&p, done += rows * j->columns);
        }
    }
    progress_end(&p);
    free(c.floats);
    free(c.bytes);
    return ok;
}

/* ---- types ------------------------------------------------------------------------ */

/* What a file is to be made of. */
typedef struct wanted {
    tensor_type type, finer; /* `finer`: what makes the logits */
    const layout_mix *mix;   /* NULL: none */
} wanted;

static wanted wanted_of(tensor_type type, const layout_mix *mix)
{
    return (wanted){type, type_find(type)->block_weights == 256 ? TYPE_Q6_K : TYPE_Q8_0, mix};
}

static uint32_t file_type_of(const wanted *w)
{
    return w->mix ? w->mix->file_type : type_find(w->type)->file_type;
}

const char *convert_type_name(uint32_t i)
{
    uint32_t types = 0;
    while (type_name_at(types, true))
        types++;
    return i < types ? type_name_at(i, true) : layout_mix_name(i - types);
}

static bool find_type(const char *name, wanted *w, err *e)
{
    const layout_mix *mix = layout_find_mix(name);
    for (uint32_t i = 0; i < TYPE_NUMBERS; i++) {
        const type_info *info = type_find(i);
        if (mix ? i == mix->type
                : info && strcmp(info->name, name) == 0 && type_from_f32((tensor_type)i, NULL, NULL, 0)) {
            *w = wanted_of((tensor_type)i, mix);
            return true;
        }
    }
    str known = {0};
    for (uint32_t i = 0; convert_type_name(i); i++)
        str_addf(&known, "%s%s", i ? ", " : "", convert_type_name(i));
    err_set_kind(e, ERR_USAGE, "--type takes one of %s, not '%s'", known.data, name);
    str_free(&known);
    return false;
}

/* Counts what did not get the type that was asked for, to tell it once. */
typedef struct fallen {
    size_t finer, smaller;
    tensor_type finer_type, smaller_type;
} fallen;

static tensor_type choose(tensor_role role, const char *name, uint32_t columns, uint32_t layers, const wanted *w,
                          fallen *f)
{
    tensor_type type = layout_choose_type(role, columns, w->type, w->finer);
    if (layout_stays_f32(role))
        return type;
    if (role == ROLE_OUTPUT && type != w->type) {
        f->finer++;
        f->finer_type = type;
    } else if (columns % type_find(w->type)->block_weights) {
        f->smaller++;
        f->smaller_type = type;
    }
    return role == ROLE_MATRIX || role == ROLE_EXPERTS ? layout_mixed_type(w->mix, name, columns, layers, type) : type;
}

static void tell(const fallen *f, tensor_type wanted, str *notes)
{
    const type_info *info = type_find(wanted);
    if (f->finer)
        str_addf(notes, "what makes the logits is %s, not %s\n", type_find(f->finer_type)->name, info->name);
    if (f->smaller)
        str_addf(notes, "%zu weight%s %s, not %s: the rows are no whole number of blocks of %u\n", f->smaller,
                 f->smaller == 1 ? " is" : "s are", type_find(f->smaller_type)->name, info->name, info->block_weights);
}

/* ---- from a folder ------------------------------------------------------------------ */

static bool find_source(const model *m, const layout_tensor *t, job *j, err *e)
{
    *j = (job){.name = t->name, .to = t->type, .rows = t->rows, .columns = t->columns};
    if (t->role == ROLE_DIVISORS) {
        j->data = (const uint8_t *)t->divisors;
        j->from = TYPE_F32;
        return true;
    }
    model_weight source;
    if (!model_find_weight(m, t->source, &source, e))
        return false;
    if (source.rows != t->rows || source.columns != t->columns)
        return err_set(e, "weight %s is %u x %u and should be %u x %u", t->source, source.rows, source.columns, t->rows,
                       t->columns);
    j->data = source.data;
    j->rows_from = source.rows_from;
    j->from = source.type;
    j->turned_heads = t->turned_heads;
    j->tiling = t->tiling;
    j->plus = t->role == ROLE_NORM && model_get_config(m)->norm_adds_one ? 1 : 0;
    if (t->role == ROLE_BIAS && is_moved(j)) { /* a vector's rows are its numbers */
        j->rows = t->columns;
        j->columns = 1;
    }
    return true;
}

/* The last part of a path. */
static char *name_of(const char *path)
{
    char *name = mem_dup(path);
    for (size_t n = strlen(name); n > 1 && name[n - 1] == '/'; n--)
        name[n - 1] = 0;
    const char *slash = strrchr(name, '/');
    if (slash && slash[1])
        memmove(name, slash + 1, strlen(slash));
    return name;
}

static bool from_folder(const model *m, const char *from, const char *to, const wanted *wanted, str *notes, err *e)
{
    const model_config *c = model_get_config(m);
    if (!layout_check(c, notes, e))
        return err_context(e, "%s", from);
    graph *decoder = decoder_graph(m, &(decoder_options){.rows = 1, .context_tok = 1}, e);
    graph_free(decoder);
    if (!decoder) /* a weight is missing, or one is there that would be lost */
        return false;
    tensor_list l = gguf_layout_of(c);
    job *jobs = mem_alloc(l.count * sizeof *jobs);
    fallen f = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < l.count; i++) {
        layout_tensor *t = &l.tensors[i];
        struct wanted here = *wanted;
        here.type = layout_wanted_type(t, wanted->type);
        t->type = choose(t->role, t->name, t->columns, c->layer_count, &here, &f);
        ok = find_source(m, t, &jobs[i], e);
        if (jobs[i].from == TYPE_MXFP4) /* from which too much is lost, and nothing gained */
            jobs[i].to = t->type = TYPE_MXFP4;
    }
    gguf_writer *w = ok ? gguf_writer_open(to, e) : NULL;
    if (w) {
        char *name = name_of(from);
        layout_write_keys(w, c, name, file_type_of(wanted));
        free(name);
        ok = convert_tokenizer(w, from, c->vocab_tok, notes, e);
        for (size_t i = 0; i < l.count; i++)
            layout_write_tensor(w, &l.tensors[i]);
        ok = ok && write_jobs(jobs, l.count, w, e);
        ok = gguf_writer_close(w, ok, e) && ok;
        tell(&f, wanted->type, notes);
    }
    free(jobs);
    tensor_list_free(&l);
    return w && ok;
}

/* ---- from a GGUF file ------------------------------------------------------------------ */

static bool begins(gguf_text text, const char *with)
{
    return text.length >= strlen(with) && memcmp(text.data, with, strlen(with)) == 0;
}

/* All keys but those that this file says of itself. */
static void copy_keys(const gguf *g, const wanted *wanted, gguf_writer *w)
{
    static const char *const own[] = {"general.alignment", "general.file_type", "general.quantization_version"};
    for (size_t i = 0; i < gguf_key_count(g); i++) {
        gguf_text key = gguf_key_at(g, i);
        bool skip = begins(key, "split.");
        for (size_t o = 0; o < sizeof own / sizeof *own; o++)
            skip |= key.length == strlen(own[o]) && begins(key, own[o]);
        if (!skip)
            gguf_write_copy(w, g, i);
    }
    layout_write_file_type(w, file_type_of(wanted));
}

static bool is_plain(tensor_type type)
{
    return type_find(type)->block_weights == 1;
}

static bool plan_tensor(const gguf *g, const gguf_tensor *t, const char *name, uint32_t layers, const wanted *wanted,
                        job *j, fallen *f, err *e)
{
    bool output =
        gguf_find_tensor(g, gguf_find_tensor(g, "output.weight") ? "output.weight" : "token_embd.weight") == t;
    *j = (job){.data = t->data, .from = t->type, .to = t->type, .columns = t->dims[0]};
    j->rows = t->dims[1] * t->dims[2] * t->dims[3];
    if (t->dim_count < 2)
        return true;
    if (t->dims[0] > UINT32_MAX)
        return err_set(e, "tensor %.*s: rows of %llu numbers", (int)t->name.length, t->name.data,
                       (unsigned long long)t->dims[0]);
    j->to = choose(output ? ROLE_OUTPUT : ROLE_MATRIX, name, (uint32_t)t->dims[0], layers, wanted, f);
    if (!is_plain(t->type) && t->type != j->to)
        return err_set(e, "tensor %.*s is %s: only f32, f16 and bf16 are converted, from the others too much is lost",
                       (int)t->name.length, t->name.data, type_find(t->type)->name);
    return true;
}

static bool from_file(const gguf *g, uint32_t layers, const char *from, const char *to, const wanted *wanted,
                      str *notes, err *e)
{
    size_t count = gguf_tensor_count(g);
    job *jobs = mem_alloc(count * sizeof *jobs);
    char **names = mem_alloc(count * sizeof *names);
    fallen f = {0};
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        names[i] = mem_alloc(t->name.length + 1);
        memcpy(names[i], t->name.data, t->name.length);
        ok = ok && (plan_tensor(g, t, names[i], layers, wanted, &jobs[i], &f, e) || err_context(e, "%s", from));
        jobs[i].name = names[i];
    }
    gguf_writer *w = ok ? gguf_writer_open(to, e) : NULL;
    if (w) {
        copy_keys(g, wanted, w);
        for (size_t i = 0; i < count; i++) {
            const gguf_tensor *t = gguf_tensor_at(g, i);
            gguf_write_tensor(w, names[i], jobs[i].to, t->dim_count, t->dims);
        }
        ok = write_jobs(jobs, count, w, e);
        ok = gguf_writer_close(w, ok, e) && ok;
        tell(&f, wanted->type, notes);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    free(jobs);
    return w && ok;
}

/* ---- either ------------------------------------------------------------------------------ */

bool convert_model(const char *from, const char *to, const char *type_name, str *notes, err *e)
{
    wanted wanted = wanted_of(TYPE_F16, NULL);
    if (type_name && !find_type(type_name, &wanted, e))
        return false;
    model *m = model_open(from, e);
    model_weight embedding;
    bool ok = m && (type_name || model_find_weight(m, "token_embd.weight", &embedding, e));
    if (ok && !type_name)
        wanted = wanted_of(embedding.type, NULL);
    const gguf *g = ok ? model_get_gguf(m) : NULL;
    ok = ok && (g ? from_file(g, model_get_config(m)->layer_count, from, to, &wanted, notes, e)
                  : from_folder(m, from, to, &wanted, notes, e));
    model_close(m);
    return ok;
}
