/* tokenizer_json: a tokenizer and a chat template from the files of a Hugging Face folder. */
#include "model/tokenizer_json.h"
#include "base/file.h"
#include "model/tokenizer_json_internal.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENIZER_MAX_BYTES = 256 << 20, CONFIG_MAX_BYTES = 16 << 20 };

/* tokenizer_config.json often has a "model_max_length" of 1e30, written as a whole
 * number: there all numbers are read as real ones. */
static json_t *load(const json_file *file, size_t flags, err *e)
{
    json_error_t why;
    json_t *root = json_loadb(file->text, file->length, flags, &why);
    if (!root)
        err_set(e, "%s: not JSON: %s (line %d, column %d)", file->name,
                token_text_shown((token_text){why.text, strlen(why.text)}).text, why.line, why.column);
    else if (!json_is_object(root)) {
        err_set(e, "%s: must hold a JSON object", file->name);
        json_decref(root);
        root = NULL;
    }
    return root;
}

static bool is_encoder(const json_source *s)
{
    return s->parts.kind == TOKENIZER_WORDPIECE || s->parts.kind == TOKENIZER_UNIGRAM;
}

static bool get_model(json_source *s)
{
    s->model = json_object_get(s->root, "model");
    if (!json_is_object(s->model))
        return err_set(s->e, "%s: there is no \"model\"", s->name);
    token_text type = json_text_of(json_object_get(s->model, "type"));
    s->parts.kind = token_text_equals(type, "WordPiece") ? TOKENIZER_WORDPIECE
                    : token_text_equals(type, "Unigram") ? TOKENIZER_UNIGRAM
                                                         : TOKENIZER_BPE;
    s->byte_fallback = json_key_is_true(s->model, "byte_fallback");
    s->parts.no_byte_tokens = !s->byte_fallback;
    if (is_encoder(s))
        return true;
    if (type.data && !token_text_equals(type, "BPE"))
        return err_set(s->e, "%s: a tokenizer of the type '%s' is not supported (BPE, WordPiece and Unigram are)",
                       s->name, token_text_shown(type).text);
    const json_t *dropout = json_get_present(s->model, "dropout");
    if ((dropout && json_number_value(dropout) != 0) || !json_key_is_empty(s->model, "continuing_subword_prefix") ||
        !json_key_is_empty(s->model, "end_of_word_suffix"))
        return err_set(s->e, "%s: dropout, subword prefixes and word suffixes are not supported", s->name);
    s->parts.ignore_merges = json_key_is_true(s->model, "ignore_merges");
    s->parts.fuse_unknown = json_key_is_true(s->model, "fuse_unk");
    return true;
}

/* ---- which tokens begin and end --------------------------------------------------- */

/* "<s>", or an object with that as its "content". */
static int32_t named_token(const json_source *s, const char *key)
{
    const json_t *value = json_get_present(s->settings, key);
    return json_source_find(s, json_text_of(json_is_object(value) ? json_object_get(value, "content") : value));
}

static const json_t *find_template(const json_t *processor)
{
    if (json_key_equals(processor, "type", "TemplateProcessing"))
        return json_object_get(processor, "single");
    const json_t *list = json_object_get(processor, "processors");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_key_equals(json_array_get(list, i), "type", "TemplateProcessing"))
            return json_object_get(json_array_get(list, i), "single");
    return NULL;
}

/* What the template puts before and behind the text. */
static void get_ends_of_template(json_source *s)
{
    const json_t *items = find_template(json_object_get(s->root, "post_processor"));
    bool behind = false;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i), *token = json_object_get(item, "SpecialToken");
        behind = behind || json_object_get(item, "Sequence");
        int32_t id = json_source_find(s, json_text_of(json_object_get(token, "id")));
        if (id < 0)
            continue;
        *(behind ? &s->parts.add_eos : &s->parts.add_bos) = true;
        int32_t *which = behind ? &s->parts.eos : &s->parts.bos;
        *which = *which < 0 || is_encoder(s) ? id : *which;
        if (behind)
            s->parts.ending = id;
    }
    const json_t *older = json_object_get(s->root, "post_processor");
    if (json_key_equals(older, "type", "BertProcessing") || json_key_equals(older, "type", "RobertaProcessing")) {
        s->parts.bos = json_source_find(s, json_text_of(json_array_get(json_object_get(older, "cls"), 0)));
        s->parts.eos = json_source_find(s, json_text_of(json_array_get(json_object_get(older, "sep"), 0)));
        s->parts.add_bos = s->parts.bos >= 0;
        s->parts.add_eos = s->parts.eos >= 0;
    }
}

static void add_end(json_source *s, const json_t *id)
{
    if (!json_is_integer(id) || s->parts.end_count == MAX_ENDS || json_integer_value(id) < 0 ||
        (uint64_t)json_integer_value(id) >= s->parts.token_count)
        return;
    s->ends[s->parts.end_count++] = (int32_t)json_integer_value(id);
}

static void get_ids(json_source *s, const json_t *generation)
{
    tokenizer_parts *p = &s->parts;
    p->bos = named_token(s, "bos_token");
    p->eos = named_token(s, "eos_token");
    p->padding = named_token(s, "pad_token");
    p->unknown = json_source_find(s, json_text_of(json_object_get(s->model, "unk_token")));
    if (p->kind == TOKENIZER_UNIGRAM)
        p->unknown = s->unknown;
    p->eot = p->ending = TOKEN_NONE;
    if (p->unknown >= 0 && s->types[p->unknown] == TOKEN_NORMAL)
        s->types[p->unknown] = TOKEN_UNKNOWN;
    get_ends_of_template(s);
    const json_t *add_bos = json_object_get(s->settings, "add_bos_token");
    const json_t *add_eos = json_object_get(s->settings, "add_eos_token");
    if (json_is_boolean(add_bos))
        p->add_bos = json_is_true(add_bos) && p->bos >= 0;
    if (json_is_boolean(add_eos))
        p->add_eos = json_is_true(add_eos) && p->eos >= 0;

    const json_t *ends = json_object_get(generation, "eos_token_id");
    add_end(s, ends);
    for (size_t i = 0; i < json_array_size(ends); i++)
        add_end(s, json_array_get(ends, i));
    if (p->eos < 0 && p->end_count)
        p->eos = s->ends[0];
    p->ends = s->ends;
}

/* ---- all of it ---------------------------------------------------------------------- */

static bool gather(json_source *s)
{
    bool ok = get_model(s), encoder = is_encoder(s);
    ok = ok && (encoder ? json_source_encoder(s) : json_source_cutting(s)) && json_source_tokens(s) &&
         (encoder || json_source_merges(s));
    if (!ok)
        return false;
    json_source_scores(s);
    get_ids(s, s->generation);
    return true;
}

tokenizer *json_source_read(json_source *s, const json_file *tokenizer_json, const json_file *config,
                            const json_file *generation)
{
    s->name = tokenizer_json->name;
    /* of two keys with one name, readers take one or the other */
    s->root = load(tokenizer_json, JSON_REJECT_DUPLICATES, s->e);
    s->settings = s->root && config->text ? load(config, JSON_DECODE_INT_AS_REAL, s->e) : NULL;
    s->generation = s->root && generation->text ? load(generation, 0, s->e) : NULL;
    if (!s->root || (config->text && !s->settings) || (generation->text && !s->generation) || !gather(s))
        return NULL;
    tokenizer *t = tokenizer_new(&s->parts, s->e);
    if (!t)
        err_context(s->e, "%s", s->name);
    return t;
}

void json_source_free(json_source *s)
{
    free(s->tokens);
    free(s->types);
    free(s->strips);
    free(s->merges);
    free(s->added);
    free(s->scores);
    free(s->charsmap);
    json_decref(s->vocab);
    json_decref(s->root);
    json_decref(s->settings);
    json_decref(s->generation);
}

tokenizer *tokenizer_from_json(const json_file *tokenizer_json, const json_file *config, const json_file *generation,
                               err *e)
{
    json_source s = {.e = e};
    tokenizer *t = json_source_read(&s, tokenizer_json, config, generation);
    json_source_free(&s);
    return t;
}

/* A file that is not there is none; one that cannot be read is an error. */
static bool read_if_there(const char *folder, const char *name, size_t limit_bytes, json_file *file, err *e)
{
    str path = {0};
    str_addf(&path, "%s/%s", folder, name);
    *file = (json_file){.name = path.data};
    if (!file_exists(path.data))
        return true;
    file->text = file_read_plain(path.data, limit_bytes, &file->length, e);
    return file->text != NULL;
}

static void forget(json_file *file)
{
    free((char *)file->name);
    free((char *)file->text);
}

tokenizer *json_source_read_folder(json_source *s, const char *path)
{
    json_file main = {0}, config = {0}, generation = {0};
    tokenizer *t = NULL;
    err *e = s->e;
    if (read_if_there(path, "tokenizer.json", TOKENIZER_MAX_BYTES, &main, e) &&
        read_if_there(path, "tokenizer_config.json", CONFIG_MAX_BYTES, &config, e) &&
        read_if_there(path, "generation_config.json", CONFIG_MAX_BYTES, &generation, e)) {
        if (main.text)
            t = json_source_read(s, &main, &config, &generation);
        else
            err_set(e, "%s: there is no tokenizer.json in this folder", path);
    }
    forget(&main);
    forget(&config);
    forget(&generation);
    return t;
}

tokenizer *tokenizer_from_folder(const char *path, err *e)
{
    json_source s = {.e = e};
    tokenizer *t = json_source_read_folder(&s, path);
    json_source_free(&s);
    return t;
}

/* ---- templates ------------------------------------------------------------------------ */

bool chat_template_in_folder(const char *path, str *out, err *e)
{
    json_file config = {0};
    bool ok = read_if_there(path, "tokenizer_config.json", CONFIG_MAX_BYTES, &config, e);
    json_t *root = ok && config.text ? load(&config, JSON_DECODE_INT_AS_REAL, e) : NULL;
    const json_t *found = json_object_get(root, "chat_template");
    token_text text = json_text_of(found);
    for (size_t i = 0; i < json_array_size(found); i++)
        if (json_key_equals(json_array_get(found, i), "name", "default"))
            text = json_text_of(json_object_get(json_array_get(found, i), "template"));
    str_add_bytes(out, text.data ? text.data : "", text.length);
    ok = ok && (root || !config.text);
    json_decref(root);
    forget(&config);
    return ok;
}
