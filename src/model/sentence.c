/* sentence: the modules of a sentence-transformers folder. */
#include "model/sentence.h"
#include "base/file.h"
#include "base/str.h"
#include "model/json_values.h"
#include "model/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 4 << 20, MAX_DENSE_FEATURES = 1 << 17, MAX_TEXT_TOK = 1 << 26 };

typedef struct reading {
    const char *folder;
    model *m;
    model_embedding *o;
    uint32_t width; /* of what the next step gets */
    err *e;
} reading;

/* The first thing that is not supported. */
static bool why_not(reading *r, const char *file, const char *what)
{
    if (!r->o->why_not[0])
        snprintf(r->o->why_not, sizeof r->o->why_not, "%s: %s is not supported", file, what);
    return true;
}

/* An object, or with `list` an array, to be released; NULL without an error: there is no such file. */
static json_t *load(reading *r, const char *name, bool list)
{
    str path = {0};
    str_addf(&path, "%s/%s", r->folder, name);
    json_t *root = NULL;
    size_t length;
    char *text = file_exists(path.data) ? file_read_plain(path.data, MAX_BYTES, &length, r->e) : NULL;
    if (text) {
        json_error_t why;
        root = json_loadb(text, length, 0, &why);
        if (!root)
            err_set(r->e, "%s: not JSON: %s (line %d, column %d)", path.data,
                    token_text_shown((token_text){why.text, strlen(why.text)}).text, why.line, why.column);
        else if (list ? !json_is_array(root) : !json_is_object(root)) {
            err_set(r->e, "%s: not a JSON %s", path.data, list ? "array" : "object");
            json_decref(root);
            root = NULL;
        }
    }
    free(text);
    str_free(&path);
    return root;
}

/* ---- pooling ------------------------------------------------------------------------------- */

/* A flag for each way to pool, or since 2025 one name. */
static const struct {
    const char *flag, *name;
    model_pooling pooling;
} POOLINGS[] = {{"pooling_mode_mean_tokens", "mean", POOLING_MEAN},
                {"pooling_mode_cls_token", "cls", POOLING_CLS},
                {"pooling_mode_lasttoken", "lasttoken", POOLING_LAST},
                {"pooling_mode_max_tokens", "max", POOLING_UNSAID},
                {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", POOLING_UNSAID},
                {"pooling_mode_weightedmean_tokens", "weightedmean", POOLING_UNSAID}};
enum { POOLING_COUNT = sizeof POOLINGS / sizeof *POOLINGS };

static bool read_pooling(reading *r, const char *file)
{
    json_t *root = load(r, file, false);
    if (!root)
        return err_set(r->e, "%s/%s: is missing", r->folder, file);
    const json_t *name = json_get_present(root, "pooling_mode");
    int found = 0;
    for (int i = 0; i < POOLING_COUNT; i++)
        if (name ? json_key_equals(root, "pooling_mode", POOLINGS[i].name) : json_key_is_true(root, POOLINGS[i].flag)) {
            r->o->pooling = POOLINGS[i].pooling;
            found++;
        }
    if (found != 1 || r->o->pooling == POOLING_UNSAID)
        why_not(r, file, "pooling other than by one of mean, first and last token");
    if (json_is_false(json_object_get(root, "include_prompt")))
        why_not(r, file, "\"include_prompt\" false");
    json_decref(root);
    return true;
}

/* ---- layers behind it ------------------------------------------------------------------------- */

static bool take_weight(reading *r, const safetensors *from, const char *path, const char *name, uint32_t rows,
                        uint32_t columns, const char *part)
{
    const safetensor *t = safetensors_find(from, name, r->e);
    char ours[32];
    if (!t)
        return false;
    bool vector = t->dim_count == 1 && rows == 1 && t->dims[0] == columns;
    if (!vector && (t->dim_count != 2 || t->dims[0] != rows || t->dims[1] != columns))
        return err_set(r->e, "%s: tensor %s: must be %u x %u", path, name, rows, columns);
    void *data = mem_alloc(t->bytes);
    memcpy(data, t->data, t->bytes);
    snprintf(ours, sizeof ours, "dense_%u.%s", r->o->dense_count + 2, part);
    model_replace_weight(
        r->m, ours,
        &(model_weight){
            .type = t->type, .rows = rows, .columns = columns, .data = data, .bytes = t->bytes, .tensor = SIZE_MAX});
    return true;
}

static bool read_layer(reading *r, const json_t *root, const char *path, dense_layer *d)
{
    const json_t *in = json_object_get(root, "in_features"), *out = json_object_get(root, "out_features");
    token_text act = json_text_of(json_object_get(root, "activation_function"));
    d->biased = !json_is_false(json_object_get(root, "bias"));
    d->tanh = !act.data || token_text_equals(act, "torch.nn.modules.activation.Tanh");
    if (act.data && !d->tanh && !token_text_equals(act, "torch.nn.modules.linear.Identity"))
        why_not(r, path, "an activation other than tanh");
    if (!json_is_integer(in) || json_integer_value(in) != r->width)
        return err_set(r->e, "%s/%s: \"in_features\" must be %u, as before it", r->folder, path, r->width);
    if (!json_is_integer(out) || json_integer_value(out) < 1 || json_integer_value(out) > MAX_DENSE_FEATURES)
        return err_set(r->e, "%s/%s: \"out_features\" must be 1 to %d", r->folder, path, MAX_DENSE_FEATURES);
    d->columns = r->width;
    d->rows = (uint32_t)json_integer_value(out);
    return true;
}

static bool read_dense(reading *r, const char *module)
{
    str config = {0}, weights = {0};
    dense_layer d = {0};
    str_addf(&config, "%s/config.json", module);
    str_addf(&weights, "%s/%s/model.safetensors", r->folder, module);
    json_t *root = load(r, config.data, false);
    bool ok = root || err_set(r->e, "%s/%s: is missing", r->folder, config.data);
    ok = ok && read_layer(r, root, config.data, &d);
    safetensors *from = ok ? safetensors_open(weights.data, r->e) : NULL;
    ok = from && take_weight(r, from, weights.data, "linear.weight", d.rows, d.columns, "weight") &&
         (!d.biased || take_weight(r, from, weights.data, "linear.bias", 1, d.rows, "bias"));
    if (ok) {
        r->o->dense[r->o->dense_count++] = d;
        r->width = d.rows;
    }
    safetensors_close(from);
    json_decref(root);
    str_free(&config);
    str_free(&weights);
    return ok;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

/* Names of modules are those of Python classes, of which the last part stays as versions go by. */
static bool is_module(const json_t *module, const char *name)
{
    token_text type = json_text_of(json_object_get(module, "type"));
    size_t n = strlen(name);
    return type.length > n && type.data[type.length - n - 1] == '.' &&
           memcmp(type.data + type.length - n, name, n) == 0;
}

/* A folder below this one, without a way out. */
static bool is_inside(token_text path)
{
    return path.data && path.length && path.length < 200 && !memchr(path.data, '/', path.length) &&
           !memchr(path.data, 0, path.length) && path.data[0] != '.';
}

static bool read_module(reading *r, const json_t *module, bool *pooled)
{
    token_text path = json_text_of(json_object_get(module, "path"));
    str file = {0};
    bool ok = true;
    if (is_module(module, "Transformer")) {
        if (path.length)
            why_not(r, "modules.json", "an encoder in a folder of its own");
    } else if (is_module(module, "Normalize"))
        r->o->raw = false;
    else if (!is_module(module, "Pooling") && !is_module(module, "Dense"))
        why_not(r, "modules.json", token_text_shown(json_text_of(json_object_get(module, "type"))).text);
    else if (!is_inside(path))
        ok = err_set(r->e, "%s/modules.json: a module's \"path\" must be a folder in it", r->folder);
    else if (is_module(module, "Pooling")) {
        str_addf(&file, "%s/config.json", path.data);
        ok = read_pooling(r, file.data);
        *pooled = true;
    } else if (!*pooled || !r->o->raw || r->o->dense_count == CONFIG_MAX_DENSE)
        why_not(r, "modules.json", "this number or order of Dense modules");
    else
        ok = read_dense(r, path.data);
    str_free(&file);
    return ok;
}

static void read_limits(reading *r)
{
    json_t *root = load(r, "sentence_bert_config.json", false);
    const json_t *most = json_object_get(root, "max_seq_length");
    if (json_is_integer(most) && json_integer_value(most) > 0 && json_integer_value(most) < MAX_TEXT_TOK)
        r->o->most_tok = (uint32_t)json_integer_value(most);
    if (json_key_is_true(root, "do_lower_case"))
        why_not(r, "sentence_bert_config.json", "\"do_lower_case\"");
    json_decref(root);
    root = load(r, "config_sentence_transformers.json", false);
    if (json_get_present(root, "default_prompt_name"))
        why_not(r, "config_sentence_transformers.json", "\"default_prompt_name\"");
    json_decref(root);
}

bool sentence_read(const char *folder, model *m, uint32_t embedding_dim, model_embedding *o, err *e)
{
    reading r = {.folder = folder, .m = m, .o = o, .width = embedding_dim, .e = e};
    json_t *modules = load(&r, "modules.json", true);
    bool pooled = false;
    if (!modules)
        return e->kind == ERR_NONE;
    o->raw = true;
    for (size_t i = 0; e->kind == ERR_NONE && i < json_array_size(modules); i++)
        read_module(&r, json_array_get(modules, i), &pooled);
    if (e->kind == ERR_NONE)
        read_limits(&r);
    json_decref(modules);
    return e->kind == ERR_NONE;
}
