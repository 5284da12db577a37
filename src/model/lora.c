/* lora: an adapter's pairs of matrices found, checked and added to a model's weights. */
#include "model/lora.h"
#include "base/file.h"
#include "base/number.h"
#include "base/str.h"
#include "model/json_values.h"
#include "model/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CONFIG_MAX_BYTES = 1 << 20, MOST_RANK = 4096 };

/* One of the two, rows x columns. */
typedef struct small_matrix {
    tensor_type type;
    uint64_t rows, columns;
    const void *data;
} small_matrix;

/* An adapter, opened. */
typedef struct adapter {
    const char *path;
    gguf *file; /* one of these two */
    safetensors *folder;
    float alpha;    /* 0: the scale is as it is (a file), or the adapter does nothing (a folder) */
    uint64_t rank;  /* that a folder says its matrices have */
    json_t *alphas; /* those of some modules, by name; NULL: they all have the same */
    json_t *ranks;  /* the same of ranks */
    bool by_root;   /* alpha is divided by the root of the rank, not by the rank */
    float scale;    /* that the user asks for */
    size_t used;    /* tensors that were merged */
} adapter;

/* ---- opening ------------------------------------------------------------------------------ */

static bool open_gguf(adapter *a, const model *m, err *e)
{
    gguf_text text;
    a->file = gguf_open(a->path, e);
    if (!a->file)
        return false;
    if (!gguf_get_text(a->file, "adapter.type", &text, NULL) || text.length != 4 || memcmp(text.data, "lora", 4) != 0)
        return err_set(e, "%s: is no LoRA adapter (it has no key 'adapter.type' of 'lora')", a->path);
    const gguf *base = model_get_gguf(m);
    gguf_text arch, own;
    if (base && gguf_get_text(a->file, "general.architecture", &arch, NULL) &&
        gguf_get_text(base, "general.architecture", &own, NULL) &&
        (arch.length != own.length || memcmp(arch.data, own.data, own.length) != 0))
        return err_set(e, "%s: is for a %.*s, and the model is a %.*s", a->path,
                       (int)(arch.length < 40 ? arch.length : 40), arch.data, (int)(own.length < 40 ? own.length : 40),
                       own.data);
    if (gguf_has(a->file, "adapter.lora.alpha") && !gguf_get_f32(a->file, "adapter.lora.alpha", &a->alpha, e))
        return false;
    return true;
}

static bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_object(value) && !json_object_size(value)) || (json_is_array(value) && !json_array_size(value));
}

/* Most ways to begin choose the small matrices alone; the others take something out of the model's weights first. */
static bool changes_the_model(const json_t *how)
{
    static const char *const fine[] = {"gaussian", "eva", "orthogonal"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (json_is_string(how) && strcmp(json_string_value(how), fine[i]) == 0)
            return false;
    return how && !json_is_boolean(how);
}

/* PEFT takes them for regular expressions. A dot is one of any character there, and is a dot in every name. */
static bool are_plain_names(json_t *patterns)
{
    const char *name;
    json_t *number;
    json_object_foreach(patterns, name, number)
    {
        if (!json_is_number(number) ||
            name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")] || !*name)
            return false;
    }
    return json_is_object(patterns);
}

/* What PEFT gives the weight that a folder calls so: the number of the first name that is its end. */
static double number_of(json_t *patterns, const model *m, const char *weight, double otherwise)
{
    char theirs[MODEL_NAME_BYTES];
    const char *name;
    json_t *number;
    if (!patterns || !model_name_in_folder(m, weight, theirs))
        return otherwise;
    size_t length = strlen(theirs) - strlen(".weight");
    json_object_foreach(patterns, name, number)
    {
        size_t own = strlen(name);
        if (own <= length && memcmp(theirs + length - own, name, own) == 0 &&
            (own == length || theirs[length - own - 1] == '.'))
            return json_number_value(number);
    }
    return otherwise;
}

/* Those of a folder's configuration, which live as long as the adapter. */
static bool take_patterns(const json_t *root, const char *key, json_t **patterns, const char *file, err *e)
{
    json_t *given = json_object_get(root, key);
    if (is_nothing(given))
        return true;
    if (!are_plain_names(given))
        return err_set(e, "%s: \"%s\" other than names with numbers is not supported", file, key);
    *patterns = json_incref(given);
    return true;
}

/* What PEFT can do and Solo does not. */
static bool read_config(adapter *a, const json_t *root, const char *file, err *e)
{
    static const char *const refused[] = {
        "use_dora",   "fan_in_fan_out",          "modules_to_save", "layer_replication", "trainable_token_indices",
        "use_qalora", "alora_invocation_tokens", "arrow_config"};
    if (!json_key_equals(root, "peft_type", "LORA"))
        return err_set(e, "%s: \"peft_type\" is not LORA", file);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (!is_nothing(json_object_get(root, refused[i])))
            return err_set(e, "%s: \"%s\" is not supported", file, refused[i]);
    if (json_get_present(root, "bias") && !json_key_equals(root, "bias", "none"))
        return err_set(e, "%s: \"bias\" other than none is not supported", file);
    if (changes_the_model(json_get_present(root, "init_lora_weights")))
        return err_set(
            e, "%s: \"init_lora_weights\": the adapter is for weights that PEFT changed, not for the model's", file);
    const json_t *alpha = json_object_get(root, "lora_alpha"), *rank = json_object_get(root, "r");
    const json_t *by_root = json_get_present(root, "use_rslora");
    if (!json_is_number(alpha) || !isfinite((float)json_number_value(alpha)))
        return err_set(e, "%s: \"lora_alpha\" must be a number", file);
    if (!json_is_integer(rank) || json_integer_value(rank) < 1 || json_integer_value(rank) > MOST_RANK)
        return err_set(e, "%s: \"r\" must be a whole number from 1 to %d", file, MOST_RANK);
    if (by_root && !json_is_boolean(by_root))
        return err_set(e, "%s: \"use_rslora\" must be true or false", file);
    a->alpha = (float)json_number_value(alpha);
    a->rank = (uint64_t)json_integer_value(rank);
    a->by_root = json_is_true(by_root);
    return take_patterns(root, "alpha_pattern", &a->alphas, file, e) &&
           take_patterns(root, "rank_pattern", &a->ranks, file, e);
}

static bool open_folder(adapter *a, err *e)
{
    str name = {0}, weights = {0};
    size_t length;
    str_addf(&name, "%s/adapter_config.json", a->path);
    str_addf(&weights, "%s/adapter_model.safetensors", a->path);
    char *text = file_read_plain(name.data, CONFIG_MAX_BYTES, &length, e);
    json_error_t why;
    json_t *root = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &why) : NULL;
    bool ok = text && (json_is_object(root) || err_set(e, "%s: is no JSON object", name.data)) &&
              read_config(a, root, name.data, e);
    if (ok)
        a->folder = safetensors_open(weights.data, e);
    json_decref(root);
    free(text);
    str_free(&name);
    str_free(&weights);
    return ok && a->folder;
}

/* ---- finding the pairs ------------------------------------------------------------------------ */

/* `which`: "a" or "b". 0: it is not there; -1: it cannot be read. */
static int find_small(const adapter *a, const model *m, const char *name, const char *which, small_matrix *out, err *e)
{
    char full[MODEL_NAME_BYTES + 64], theirs[MODEL_NAME_BYTES];
    if (a->file) {
        snprintf(full, sizeof full, "%s.lora_%s", name, which);
        const gguf_tensor *t = gguf_find_tensor(a->file, full);
        if (!t)
            return 0;
        if (t->dim_count > 2 || !t->data)
            return err_set(e, "%s: tensor %s: is no matrix", a->path, full), -1;
        *out = (small_matrix){t->type, t->dims[1], t->dims[0], t->data};
        return 1;
    }
    if (!model_name_in_folder(m, name, theirs))
        return 0;
    char *dot = strrchr(theirs, '.');
    if (!dot)
        return 0;
    *dot = 0;
    snprintf(full, sizeof full, "base_model.model.%s.lora_%s.weight", theirs, *which == 'a' ? "A" : "B");
    if (!safetensors_has(a->folder, full))
        return 0;
    const safetensor *t = safetensors_find(a->folder, full, e);
    if (!t || (t->dim_count != 2 && err_set(e, "%s: tensor %s: is no matrix", a->path, full)))
        return -1;
    if (t->dim_count != 2)
        return -1;
    *out = (small_matrix){t->type, t->dims[0], t->dims[1], t->data};
    return 1;
}

static float *floats_of(const small_matrix *s)
{
    float *floats = mem_alloc(s->rows * s->columns * sizeof *floats);
    type_to_f32(s->type, s->data, floats, s->rows * s->columns);
    return floats;
}

/* The adapter's row for row `row` of the weight. llama's q and k have their rows in another order in GGUF files
 * (convert.c): where only one of adapter and model is one, rows have to be found. */
static uint64_t row_of_b(const adapter *a, const model *m, const char *name, uint64_t row, uint64_t rows)
{
    const model_config *c = model_get_config(m);
    bool q = strstr(name, ".attn_q.") != NULL, k = strstr(name, ".attn_k.") != NULL;
    bool llama = c->arch == ARCH_LLAMA || c->arch == ARCH_MISTRAL, in_gguf = model_get_gguf(m) != NULL;
    uint32_t heads = q ? c->head_count : c->kv_head_count;
    if (!(q || k) || !llama || in_gguf == (a->file != NULL) || !heads || rows % heads)
        return row;
    uint64_t size = rows / heads, head = row / size, i = row % size, half = size / 2;
    return head * size + (in_gguf ? i % 2 * half + i / 2 : i % half * 2 + i / half);
}

static bool merge_pair(adapter *a, model *m, const char *name, const model_weight *base, const small_matrix *small_a,
                       const small_matrix *small_b, err *e)
{
    uint64_t rank = small_a->rows, columns = base->columns;
    if (small_b->columns != rank || small_a->columns != columns || small_b->rows != base->rows || rank == 0 ||
        rank > MOST_RANK)
        return err_set(
            e,
            "%s: weight %s is %u x %u, and the adapter's matrices are %llu x %llu and %llu x %llu, which do not "
            "fit",
            a->path, name, base->rows, base->columns, (unsigned long long)small_b->rows,
            (unsigned long long)small_b->columns, (unsigned long long)small_a->rows,
            (unsigned long long)small_a->columns);
    double alpha = number_of(a->alphas, m, name, (double)a->alpha),
           said = number_of(a->ranks, m, name, (double)a->rank);
    if (a->folder && (double)rank != said)
        return err_set(e, "%s: says that weight %s has the rank %.0f, and its matrices have %llu", a->path, name, said,
                       (unsigned long long)rank);
    float own = alpha == 0 && a->file ? 1 : (float)alpha / (a->by_root ? sqrtf((float)rank) : (float)rank),
          scale = own * a->scale;
    model_weight merged = {
        .type = base->type == TYPE_F32 ? TYPE_F32 : TYPE_F16, .rows = base->rows, .columns = base->columns};
    uint64_t row_bytes = type_bytes(merged.type, columns), base_bytes = type_bytes(base->type, columns);
    merged.bytes = row_bytes * base->rows;
    char *data = mem_alloc(merged.bytes);
    float *fa = floats_of(small_a), *fb = floats_of(small_b), *row = mem_alloc(columns * sizeof *row);
    bool ok = true;
    for (uint64_t r = 0; ok && r < base->rows; r++) {
        const float *b = fb + row_of_b(a, m, name, r, base->rows) * rank;
        type_to_f32(base->type, (const char *)base->data + r * base_bytes, row, columns);
        for (uint64_t k = 0; k < rank; k++) {
            float by = scale * b[k];
            const float *line = fa + k * columns;
            for (uint64_t i = 0; i < columns; i++)
                row[i] += by * line[i];
        }
        for (uint64_t i = 0; i < columns; i++)
            ok &= isfinite(row[i]) && (merged.type == TYPE_F32 || fabsf(row[i]) <= 65504);
        type_from_f32(merged.type, row, data + r * row_bytes, columns);
    }
    free(fa);
    free(fb);
    free(row);
    if (!ok) {
        free(data);
        return err_set(e, "%s: weight %s would have numbers that %s", a->path, name,
                       merged.type == TYPE_F32 ? "are not finite" : "f16 cannot hold");
    }
    merged.data = data;
    merged.tensor = base->tensor;
    model_replace_weight(m, name, &merged);
    a->used += 2;
    return true;
}

static bool merge_weight(adapter *a, model *m, const char *name, err *e)
{
    small_matrix small_a, small_b;
    model_weight base;
    int has_a = find_small(a, m, name, "a", &small_a, e), has_b = find_small(a, m, name, "b", &small_b, e);
    if (has_a < 0 || has_b < 0)
        return false;
    if (!has_a && !has_b)
        return true;
    if (!has_a || !has_b)
        return err_set(e, "%s: weight %s has only one of the two matrices", a->path, name);
    if (model_has_whole(m, name, &base) && base.data)
        return merge_pair(a, m, name, &base, &small_a, &small_b, e);
    if (model_find_weight(m, name, &base, NULL))
        return err_set(e, "%s: weight %s is a part of a larger one in this model, which is not supported", a->path,
                       name);
    return err_set(e, "%s: the model has no weight %s", a->path, name);
}

/* ---- the interface ------------------------------------------------------------------------------- */

static bool merge_all(adapter *a, model *m, err *e)
{
    static const char *const parts[] = {"attn_q",   "attn_k", "attn_v",   "attn_output", "attn_qkv",
                                        "ffn_gate", "ffn_up", "ffn_down", "ffn_gate_up"};
    size_t count = a->file ? gguf_tensor_count(a->file) : safetensors_count(a->folder);
    bool ok = merge_weight(a, m, "output.weight", e);
    for (uint32_t layer = 0; ok && layer < model_get_config(m)->layer_count; layer++)
        for (size_t p = 0; ok && p < sizeof parts / sizeof *parts; p++) {
            char name[MODEL_NAME_BYTES];
            snprintf(name, sizeof name, "blk.%u.%s.weight", layer, parts[p]);
            ok = merge_weight(a, m, name, e);
        }
    if (ok && a->used == 0)
        return err_set(e, "%s: nothing in it is for this model", a->path);
    return ok &&
           (a->used == count || err_set(e, "%s: %zu of its %zu tensors are for no weight that adapters can change here",
                                        a->path, count - a->used, count));
}

bool lora_merge(model *m, const char *path, float scale, err *e)
{
    struct stat info;
    adapter a = {.path = path, .scale = scale};
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    bool ok = (folder ? open_folder(&a, e) : open_gguf(&a, m, e)) && merge_all(&a, m, e);
    gguf_close(a.file);
    safetensors_close(a.folder);
    json_decref(a.alphas);
    json_decref(a.ranks);
    return ok;
}

bool lora_merge_text(model *m, const char *text, err *e)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    float scale = colon && colon[1] ? number_read_float(colon + 1, &end) : 1;
    if (!end || *end || file_exists(text))
        return lora_merge(m, text, 1, e); /* a colon in a name */
    if (!isfinite(scale))
        return err_set_kind(e, ERR_USAGE, "--lora %s: the scale is no number", text);
    char *path = mem_dup(text);
    path[colon - text] = 0;
    bool ok = lora_merge(m, path, scale, e);
    free(path);
    return ok;
}
