/* choose: models among the files of a repository, and one of them by name. */
#include "hub/choose.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SPLIT_BYTES = 20, MOST_PARTS = 1024, MOST_NAMED = 8 }; /* "-00001-of-00003.gguf" */

/* What Solo or a converter reads beside the weights. */
static const char *const FOLDER_FILES[] = {"1_Pooling/config.json",
                                           "2_Dense/config.json",
                                           "2_Dense/model.safetensors",
                                           "3_Dense/config.json",
                                           "3_Dense/model.safetensors",
                                           "added_tokens.json",
                                           "chat_template.jinja",
                                           "chat_template.json",
                                           HUB_CONFIG_FILE,
                                           "config_sentence_transformers.json",
                                           "generation_config.json",
                                           "merges.txt",
                                           "modules.json",
                                           "quantize_config.json",
                                           "sentence_bert_config.json",
                                           "special_tokens_map.json",
                                           "spiece.model",
                                           "tokenizer.json",
                                           "tokenizer.model",
                                           "tokenizer_config.json",
                                           "vocab.json",
                                           "vocab.txt"};
#define ONE_FILE "model.safetensors"

/* Small and good first; then what is larger than it need be; then what is smaller and worse. */
static const char *const PREFERRED[] = {"Q4_K_M", "Q4_K_S", "IQ4_NL", "IQ4_XS", "MXFP4", "Q4_0",   "Q4_1",
                                        "Q5_K_M", "Q5_K_S", "Q5_0",   "Q5_1",   "Q6_K",  "Q8_0",   "F16",
                                        "BF16",   "F32",    "Q3_K_M", "Q3_K_L", "IQ3_S", "Q3_K_S", "Q2_K",
                                        "Q4_K",   "Q5_K",   "Q3_K",   "TQ2_0",  "IQ2_S"};

/* ---- models -------------------------------------------------------------------------------- */

static void add_file(hub_model *m, const hub_file *f)
{
    m->files = mem_grow(m->files, (m->count + 1) * sizeof *m->files);
    m->files[m->count++] = f;
    m->bytes += f->bytes;
}

static hub_model *add_model(hub_models *m)
{
    m->items = mem_grow(m->items, (m->count + 1) * sizeof *m->items);
    m->items[m->count] = (hub_model){0};
    return &m->items[m->count++];
}

static void drop_last(hub_models *m)
{
    free(m->items[--m->count].files);
}

static bool read_number(const char *at, uint32_t *number)
{
    *number = 0;
    for (int i = 0; i < 5; i++) {
        if (!isdigit((unsigned char)at[i]))
            return false;
        *number = *number * 10 + (uint32_t)(at[i] - '0');
    }
    return true;
}

/* Is it part `*number` (from 1) of `*count`? */
static bool read_split(const char *path, uint32_t *number, uint32_t *count)
{
    size_t length = strlen(path);
    if (length < SPLIT_BYTES)
        return false;
    const char *at = path + length - SPLIT_BYTES;
    return at[0] == '-' && read_number(at + 1, number) && strncmp(at + 6, "-of-", 4) == 0 &&
           read_number(at + 10, count) && strcmp(at + 15, ".gguf") == 0;
}

static bool add_parts(hub_model *m, const hub_listing *l, const char *first, uint32_t count)
{
    size_t stem = strlen(first) - SPLIT_BYTES;
    bool ok = count >= 1 && count <= MOST_PARTS;
    for (uint32_t i = 1; ok && i <= count; i++) {
        str path = {0};
        str_add_bytes(&path, first, stem);
        str_addf(&path, "-%05u-of-%05u.gguf", i, count);
        const hub_file *f = hub_listing_find(l, path.data);
        ok = f != NULL;
        if (ok)
            add_file(m, f);
        str_free(&path);
    }
    return ok;
}

/* Pictures' encoders and what a quantiser measured are GGUF files, but no language models. */
static bool is_gguf_model(const char *path)
{
    const char *name = hub_base_name(path);
    return hub_ends_in(name, ".gguf") && strncasecmp(name, "mmproj", 6) != 0 && !strcasestr(name, "imatrix");
}

static void add_gguf_models(hub_models *m, const hub_listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const hub_file *f = &l->files[i];
        uint32_t number, count;
        if (!is_gguf_model(f->path))
            continue;
        if (!read_split(f->path, &number, &count))
            add_file(add_model(m), f);
        else if (number == 1 && !add_parts(add_model(m), l, f->path, count))
            drop_last(m);
    }
}

static void add_folder(hub_models *m, const hub_listing *l)
{
    const hub_file *index = hub_listing_find(l, HUB_INDEX_FILE), *one = hub_listing_find(l, ONE_FILE);
    if (!hub_listing_find(l, HUB_CONFIG_FILE) || (!index && !one))
        return;
    hub_model *folder = add_model(m);
    folder->is_folder = true;
    folder->needs_shards = index != NULL;
    for (size_t i = 0; i < sizeof FOLDER_FILES / sizeof *FOLDER_FILES; i++) {
        const hub_file *f = hub_listing_find(l, FOLDER_FILES[i]);
        if (f)
            add_file(folder, f);
    }
    add_file(folder, index ? index : one);
}

hub_models hub_models_of(const hub_listing *l)
{
    hub_models m = {0};
    add_gguf_models(&m, l);
    add_folder(&m, l);
    return m;
}

void hub_models_free(hub_models *m)
{
    while (m->count)
        drop_last(m);
    free(m->items);
    *m = (hub_models){0};
}

/* ---- one of them --------------------------------------------------------------------------- */

/* How a text may mean a GGUF model, the most exact first. */
typedef enum { BY_PATH, BY_FILE_NAME, BY_STEM, BY_TYPE, WAYS } way;

static bool is_stem(const char *path, const char *text)
{
    uint32_t number, count;
    const char *name = hub_base_name(path);
    size_t end = read_split(name, &number, &count) ? SPLIT_BYTES : strlen(".gguf"), length = strlen(name) - end;
    return (strlen(text) == length && strncasecmp(name, text, length) == 0) ||
           (hub_ends_in(text, ".gguf") && strlen(text) == length + strlen(".gguf") &&
            strncasecmp(name, text, length) == 0);
}

static bool means(const hub_model *m, const char *text, way how)
{
    switch (how) {
    case BY_TYPE: return hub_path_has_type(m->files[0]->path, text);
    case BY_STEM: return is_stem(m->files[0]->path, text);
    case BY_PATH:
    case BY_FILE_NAME:
    case WAYS: break;
    }
    for (size_t i = 0; i < m->count; i++)
        if (how == BY_PATH ? strcmp(m->files[i]->path, text) == 0
                           : strcasecmp(hub_base_name(m->files[i]->path), text) == 0)
            return true;
    return false;
}

/* "a.gguf, b.gguf and 3 more": those that mean the text in this way, or all. */
static void add_paths(const hub_models *m, const char *text, way how, str *out)
{
    size_t named = 0, more = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (text && (m->items[i].is_folder || !means(&m->items[i], text, how)))
            continue;
        if (named == MOST_NAMED)
            more++;
        else
            str_addf(out, "%s%.80s", named++ ? ", " : "",
                     m->items[i].is_folder ? "safetensors" : m->items[i].files[0]->path);
    }
    if (more)
        str_addf(out, " and %zu more", more);
}

static hub_model *choose_named(const hub_models *m, const char *text, err *e)
{
    for (way how = 0; how < WAYS; how++) {
        hub_model *found = NULL;
        size_t count = 0;
        for (size_t i = 0; i < m->count; i++)
            if (!m->items[i].is_folder && means(&m->items[i], text, how)) {
                found = &m->items[i];
                count++;
            }
        if (count == 1)
            return found;
        if (count > 1) {
            str paths = {0};
            add_paths(m, text, how, &paths);
            err_set(e, "'%.100s' can mean several files: %s", text, paths.data);
            str_free(&paths);
            return NULL;
        }
    }
    str paths = {0};
    add_paths(m, NULL, WAYS, &paths);
    err_set(e, "there is no model '%.100s' in it, but %s", text, paths.data);
    str_free(&paths);
    return NULL;
}

/* Of several of the same type the one with the shortest name: the others add what they are besides. */
static hub_model *choose_type(const hub_models *m, const char *type)
{
    hub_model *found = NULL;
    for (size_t i = 0; i < m->count; i++)
        if (!m->items[i].is_folder && (!type || hub_path_has_type(m->items[i].files[0]->path, type)) &&
            (!found || strlen(m->items[i].files[0]->path) < strlen(found->files[0]->path)))
            found = &m->items[i];
    return found;
}

hub_model *hub_choose(const hub_models *m, const char *file, err *e)
{
    hub_model *last = m->count ? &m->items[m->count - 1] : NULL, *found = NULL;
    if (!last) {
        err_set(e,
                "there is no model in it that Solo can read: neither a GGUF file nor safetensors with a config.json");
        return NULL;
    }
    if (file && last->is_folder && strcasecmp(file, "safetensors") == 0)
        return last;
    if (file)
        return choose_named(m, file, e);
    for (size_t i = 0; !found && i < sizeof PREFERRED / sizeof *PREFERRED; i++)
        found = choose_type(m, PREFERRED[i]);
    found = found ? found : choose_type(m, NULL);
    return found ? found : last;
}

/* ---- shards -------------------------------------------------------------------------------- */

static bool has_file(const hub_model *m, const hub_file *f)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->files[i] == f)
            return true;
    return false;
}

bool hub_model_add_shards(hub_model *m, const hub_listing *l, const char *index, size_t length, err *e)
{
    json_error_t why;
    json_t *root = json_loadb(index, length, JSON_REJECT_DUPLICATES, &why);
    json_t *map = json_object_get(root, "weight_map"), *shard;
    const char *tensor;
    bool ok = json_object_size(map) > 0 || err_set(e, HUB_INDEX_FILE ": has no weight_map");
    json_object_foreach(map, tensor, shard)
    {
        const char *path = json_string_value(shard);
        const hub_file *f = path ? hub_listing_find(l, path) : NULL;
        if (!ok)
            break;
        if (!f || !hub_ends_in(f->path, ".safetensors"))
            ok = err_set(e, HUB_INDEX_FILE ": names a shard that the repository does not have");
        else if (!has_file(m, f))
            add_file(m, f);
    }
    json_decref(root);
    return ok;
}
