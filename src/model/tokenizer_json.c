#include "model/tokenizer_json.h"
#include "base/file.h"
#include "base/str.h"
#include "model/pretokenize.h"
#include "model/spm.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKENIZER_MAX_BYTES = 256 << 20,
    CONFIG_MAX_BYTES = 16 << 20,
    ADDED_MAX_BYTES = 1024, /* an added token; finding one takes time that grows with it */
    MAX_ENDS = 64,
    SHOWN_BYTES = 80
};

typedef struct source {
    const char *name;                      /* tokenizer.json, as errors call it */
    const json_t *root, *model, *settings; /* `settings`: tokenizer_config.json, or NULL */
    tokenizer_parts parts;
    token_text *tokens;
    uint8_t *types, *strips;
    token_merge *merges;
    added_token *added;
    int32_t ends[MAX_ENDS];
    bool byte_fallback;
    err *e;
} source;

/* ---- JSON -------------------------------------------------------------------- */

/* null stands for absent. */
static const json_t *get(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static token_text text_of(const json_t *value)
{
    return json_is_string(value) ? (token_text){json_string_value(value), json_string_length(value)} : (token_text){0};
}

static bool equals(token_text a, const char *b)
{
    return a.data && a.length == strlen(b) && memcmp(a.data, b, a.length) == 0;
}

static bool key_equals(const json_t *object, const char *key, const char *value)
{
    return equals(text_of(json_object_get(object, key)), value);
}

static bool is_empty(const json_t *object, const char *key)
{
    const json_t *value = get(object, key);
    return !value || (json_is_string(value) && json_string_length(value) == 0);
}

/* A text from the file, short enough and without line ends, for an error. */
typedef struct shown {
    char text[SHOWN_BYTES + 4];
} shown;

static shown show(token_text text)
{
    shown s = {{0}};
    size_t n = text.length < SHOWN_BYTES ? text.length : SHOWN_BYTES;
    for (size_t i = 0; i < n; i++)
        s.text[i] = (unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F ? '?' : text.data[i];
    /* no half characters */
    while (n < text.length && n > 0 && ((unsigned char)text.data[n] & 0xC0) == 0x80)
        s.text[--n] = 0;
    if (n < text.length)
        memcpy(s.text + n, "...", 4);
    return s;
}

/* tokenizer_config.json often has a "model_max_length" of 1e30, written as a whole
 * number: there all numbers are read as real ones. */
static json_t *load(const json_file *file, size_t flags, err *e)
{
    json_error_t why;
    json_t *root = json_loadb(file->text, file->length, flags, &why);
    if (!root)
        err_set(e, "%s: not JSON: %s (line %d, column %d)", file->name,
                show((token_text){why.text, strlen(why.text)}).text, why.line, why.column);
    else if (!json_is_object(root)) {
        err_set(e, "%s: must hold a JSON object", file->name);
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* ---- tokens --------------------------------------------------------------------- */

/* Ids may leave some out, but not so many that memory for them is a burden. */
static bool check_id(source *s, const json_t *id, size_t entries, token_text token)
{
    if (!json_is_integer(id) || json_integer_value(id) < 0)
        return err_set(s->e, "%s: the id of the token '%s' must be a whole number", s->name, show(token).text);
    if ((uint64_t)json_integer_value(id) >= 2 * (uint64_t)entries + 1024)
        return err_set(s->e, "%s: the id of the token '%s' is %lld, but there are %zu tokens", s->name,
                       show(token).text, (long long)json_integer_value(id), entries);
    return true;
}

static bool is_byte_token(token_text t)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    return t.length == 6 && memcmp(t.data, "<0x", 3) == 0 && t.data[5] == '>' && strchr(digits, t.data[3]) &&
           strchr(digits, t.data[4]);
}

static bool put_token(source *s, size_t id, token_text text)
{
    token_text *place = &s->tokens[id];
    if (place->data && (place->length != text.length || memcmp(place->data, text.data, text.length) != 0))
        return err_set(s->e, "%s: the tokens '%s' and '%s' have the same id %zu", s->name, show(*place).text,
                       show(text).text, id);
    *place = text;
    return true;
}

/* An added token goes by the vocabulary's id where it is in there. */
static const json_t *id_of_added(const json_t *vocab, const json_t *added)
{
    const json_t *id = json_object_get(vocab, json_string_value(json_object_get(added, "content")));
    return id ? id : json_object_get(added, "id");
}

static bool check_added(source *s, const json_t *added)
{
    const json_t *content = json_object_get(added, "content");
    if (!json_is_string(content) || json_string_length(content) == 0)
        return err_set(s->e, "%s: an added token has no \"content\"", s->name);
    token_text text = text_of(content);
    if (text.length > ADDED_MAX_BYTES)
        return err_set(s->e, "%s: the added token '%s' has %zu bytes, more than %d", s->name, show(text).text,
                       text.length, ADDED_MAX_BYTES);
    if (is_true(added, "single_word"))
        return err_set(s->e, "%s: the added token '%s' stands for single words, which is not supported", s->name,
                       show(text).text);
    return true;
}

static bool count_tokens(source *s, json_t *vocab, const json_t *added)
{
    size_t entries = json_object_size(vocab) + json_array_size(added), count = 0;
    const char *key;
    json_t *id;
    if (entries > TOKENIZER_MAX_TOKENS)
        return err_set(s->e, "%s: %zu tokens", s->name, entries);
    json_object_foreach(vocab, key, id)
    {
        if (!check_id(s, id, entries, (token_text){key, strlen(key)}))
            return false;
        if ((size_t)json_integer_value(id) >= count)
            count = (size_t)json_integer_value(id) + 1;
    }
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *item = json_array_get(added, i);
        if (!check_added(s, item) ||
            !check_id(s, id_of_added(vocab, item), entries, text_of(json_object_get(item, "content"))))
            return false;
        size_t place = (size_t)json_integer_value(id_of_added(vocab, item));
        if (place >= count)
            count = place + 1;
    }
    s->parts.token_count = count;
    return true;
}

static bool get_tokens(source *s)
{
    json_t *vocab = json_object_get(s->model, "vocab");
    const json_t *added = get(s->root, "added_tokens");
    if (!json_is_object(vocab))
        return err_set(s->e, "%s: \"model\" has no \"vocab\"", s->name);
    if (added && !json_is_array(added))
        return err_set(s->e, "%s: \"added_tokens\" must be a list", s->name);
    if (!count_tokens(s, vocab, added))
        return false;
    size_t count = s->parts.token_count, added_count = json_array_size(added);
    s->tokens = mem_alloc(count * sizeof *s->tokens);
    s->types = mem_alloc(count);
    s->strips = mem_alloc(count);
    s->added = mem_alloc(added_count * sizeof *s->added);
    memset(s->types, TOKEN_NORMAL, count);
    const char *key;
    json_t *id;
    json_object_foreach(vocab, key, id)
    {
        size_t place = (size_t)json_integer_value(id);
        token_text text = {key, strlen(key)};
        if (!put_token(s, place, text))
            return false;
        if (s->byte_fallback && is_byte_token(text))
            s->types[place] = TOKEN_BYTE;
    }
    for (size_t i = 0; i < added_count; i++) {
        const json_t *item = json_array_get(added, i);
        size_t place = (size_t)json_integer_value(id_of_added(vocab, item));
        token_text text = text_of(json_object_get(item, "content"));
        if (!put_token(s, place, text))
            return false;
        s->types[place] = is_true(item, "special") ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
        s->strips[place] = (uint8_t)((is_true(item, "lstrip") ? TOKEN_STRIPS_LEFT : 0) |
                                     (is_true(item, "rstrip") ? TOKEN_STRIPS_RIGHT : 0));
        s->added[i] = (added_token){(int32_t)place, text, is_true(item, "normalized")};
    }
    s->parts.tokens = s->tokens;
    s->parts.types = s->types;
    s->parts.strips = s->strips;
    s->parts.added = s->added;
    s->parts.added_count = added_count;
    return true;
}

/* "left right", or ["left", "right"]. */
static bool get_merge(const json_t *item, token_merge *m)
{
    if (json_is_array(item) && json_array_size(item) == 2) {
        m->left = text_of(json_array_get(item, 0));
        m->right = text_of(json_array_get(item, 1));
        return m->left.length && m->right.length;
    }
    token_text text = text_of(item);
    const char *space = text.length > 2 ? memchr(text.data + 1, ' ', text.length - 2) : NULL;
    if (!space)
        return false;
    size_t left = (size_t)(space - text.data);
    *m = (token_merge){{text.data, left}, {space + 1, text.length - left - 1}};
    return true;
}

static bool get_merges(source *s)
{
    const json_t *list = json_object_get(s->model, "merges");
    if (!json_is_array(list))
        return err_set(s->e, "%s: \"model\" has no list \"merges\"", s->name);
    size_t count = json_array_size(list);
    if (count > TOKENIZER_MAX_TOKENS)
        return err_set(s->e, "%s: %zu merges", s->name, count);
    s->merges = mem_alloc(count * sizeof *s->merges);
    for (size_t i = 0; i < count; i++)
        if (!get_merge(json_array_get(list, i), &s->merges[i]))
            return err_set(s->e, "%s: merge %zu is not of two tokens", s->name, i);
    s->parts.merges = s->merges;
    s->parts.merge_count = count;
    return true;
}

static int32_t find_token(const source *s, token_text text)
{
    const json_t *id = text.length ? json_object_get(json_object_get(s->model, "vocab"), text.data) : NULL;
    if (json_is_integer(id))
        return (int32_t)json_integer_value(id);
    for (size_t i = 0; i < s->parts.added_count; i++)
        if (text.length && s->added[i].text.length == text.length &&
            memcmp(s->added[i].text.data, text.data, text.length) == 0)
            return s->added[i].id;
    return TOKEN_NONE;
}

static bool get_model(source *s)
{
    s->model = json_object_get(s->root, "model");
    if (!json_is_object(s->model))
        return err_set(s->e, "%s: there is no \"model\"", s->name);
    token_text type = text_of(json_object_get(s->model, "type"));
    if (type.data && !equals(type, "BPE"))
        return err_set(s->e, "%s: a tokenizer of the type '%s' is not supported (BPE is)", s->name, show(type).text);
    const json_t *dropout = get(s->model, "dropout");
    if ((dropout && json_number_value(dropout) != 0) || !is_empty(s->model, "continuing_subword_prefix") ||
        !is_empty(s->model, "end_of_word_suffix"))
        return err_set(s->e, "%s: dropout, subword prefixes and word suffixes are not supported", s->name);
    s->byte_fallback = is_true(s->model, "byte_fallback");
    s->parts.no_byte_tokens = !s->byte_fallback;
    s->parts.ignore_merges = is_true(s->model, "ignore_merges");
    s->parts.fuse_unknown = is_true(s->model, "fuse_unk");
    return true;
}

/* ---- how text is cut -------------------------------------------------------------- */

/* The steps of a normalizer or pre-tokenizer: itself, or the list it is. */
typedef struct steps {
    const json_t *one, *list;
    size_t count;
} steps;

static bool get_steps(source *s, const char *what, const char *list_key, steps *out)
{
    *out = (steps){.one = get(s->root, what)};
    if (!out->one)
        return true;
    out->count = 1;
    if (key_equals(out->one, "type", "Sequence")) {
        out->list = json_object_get(out->one, list_key);
        out->count = json_array_size(out->list);
        if (!json_is_array(out->list))
            return err_set(s->e, "%s: the %s has no list \"%s\"", s->name, what, list_key);
    }
    return true;
}

static const json_t *step_at(const steps *all, size_t i)
{
    return all->list ? json_array_get(all->list, i) : all->one;
}

static bool not_supported(source *s, const char *what, const json_t *step)
{
    token_text type = text_of(json_object_get(step, "type"));
    return err_set(s->e, "%s: the %s '%s' is not supported, or not with these settings", s->name, what,
                   show(type).text);
}

/* ByteLevel's own pattern, and that a text is in bytes at all. */
#define STEP_BYTES       "bytes"
#define STEP_GPT2_BYTES  "gpt2-bytes"
#define STEP_DIGIT       "digit "
#define TAIL_OF_PATTERNS "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+ " STEP_BYTES
#define CONTRACTIONS     "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LLAMA_WORDS      "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define LLAMA_SIGNS      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL_OF_PATTERNS
#define HEADS            "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define TAILS            "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(more)      "[^\\r\\n\\p{L}\\p{N}]?" HEADS "*" TAILS "+" more "|[^\\r\\n\\p{L}\\p{N}]?" HEADS "+" TAILS "*" more
#define CASED_SIGNS      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" TAIL_OF_PATTERNS

/* The steps of a pre-tokenizer in one line, as write_steps does it, and what
 * pretokenize.h calls that. */
static const struct {
    const char *steps, *name;
} KNOWN_STEPS[] = {
    {STEP_GPT2_BYTES, "gpt-2"},
    {CONTRACTIONS LLAMA_WORDS "|\\p{N}{1,3}" LLAMA_SIGNS, "llama3"},
    {CONTRACTIONS LLAMA_WORDS "|\\p{N}" LLAMA_SIGNS, "qwen2"},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" TAIL_OF_PATTERNS,
     "qwen35"},
    {CASED("") "|\\p{N}" CASED_SIGNS, "tekken"},
    {CASED("(?i:'s|'t|'re|'ve|'m|'ll|'d)?") "|\\p{N}{1,3}" CASED_SIGNS, "gpt-4o"},
    {STEP_DIGIT STEP_GPT2_BYTES, "starcoder"},
};

/* Line ends in a pattern may be written as themselves or as \r and \n. */
static void add_pattern(str *out, token_text pattern)
{
    for (size_t i = 0; i < pattern.length; i++) {
        if (pattern.data[i] == '\r' || pattern.data[i] == '\n')
            str_add(out, pattern.data[i] == '\r' ? "\\r" : "\\n");
        else
            str_add_bytes(out, &pattern.data[i], 1);
    }
    str_add(out, " ");
}

static bool is_isolated(const json_t *split)
{
    bool inverted = is_true(split, "invert");
    return inverted ? key_equals(split, "behavior", "Removed") : key_equals(split, "behavior", "Isolated");
}

static bool write_step(source *s, const json_t *step, bool alone, str *out)
{
    token_text pattern = text_of(json_object_get(json_object_get(step, "pattern"), "Regex"));
    if (key_equals(step, "type", "Split") && pattern.data && is_isolated(step)) {
        add_pattern(out, pattern);
        return true;
    }
    if (key_equals(step, "type", "Digits") && is_true(step, "individual_digits")) {
        str_add(out, STEP_DIGIT);
        return true;
    }
    if (key_equals(step, "type", "ByteLevel") && (alone || !is_true(step, "add_prefix_space"))) {
        s->parts.add_space_prefix = is_true(step, "add_prefix_space");
        str_add(out, json_is_false(json_object_get(step, "use_regex")) ? STEP_BYTES : STEP_GPT2_BYTES);
        return true;
    }
    return not_supported(s, "pre-tokenizer", step);
}

static bool cut_into_bytes(source *s, const steps *pre)
{
    str line = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < pre->count; i++)
        ok = write_step(s, step_at(pre, i), pre->count == 1, &line);
    const char *name = NULL;
    for (size_t i = 0; i < sizeof KNOWN_STEPS / sizeof *KNOWN_STEPS; i++)
        if (line.data && strcmp(line.data, KNOWN_STEPS[i].steps) == 0)
            name = KNOWN_STEPS[i].name;
    if (ok && !name)
        ok = err_set(s->e, "%s: the pre-tokenizer's pattern is not known: %s", s->name,
                     show((token_text){line.data, line.length}).text);
    if (ok)
        s->parts.pre = (token_text){name, strlen(name)};
    str_free(&line);
    return ok;
}

static bool normalize_bytes(source *s, const steps *normalizer)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        const json_t *step = step_at(normalizer, i);
        if (!key_equals(step, "type", "NFC"))
            return not_supported(s, "normalizer", step);
        s->parts.nfc = true;
    }
    return true;
}

/* Spaces become U+2581, and one is put before the text: by the normalizer ... */
static bool normalize_spaces(source *s, const steps *normalizer, bool *replaces)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        const json_t *step = step_at(normalizer, i);
        if (key_equals(step, "type", "Prepend") && key_equals(step, "prepend", SPM_SPACE))
            s->parts.add_space_prefix = true;
        else if (key_equals(step, "type", "Replace") && key_equals(step, "content", SPM_SPACE) &&
                 key_equals(json_object_get(step, "pattern"), "String", " "))
            *replaces = true;
        else
            return not_supported(s, "normalizer", step);
    }
    if (s->parts.add_space_prefix && !*replaces)
        return err_set(s->e, "%s: the normalizer puts U+2581 first but does not make it of spaces", s->name);
    return true;
}

/* ... or by the pre-tokenizer. */
static bool read_metaspace(source *s, const json_t *step)
{
    const json_t *scheme = get(step, "prepend_scheme");
    if (!key_equals(step, "replacement", SPM_SPACE))
        return not_supported(s, "pre-tokenizer", step);
    s->parts.metaspace = true;
    s->parts.prefix_first_only = key_equals(step, "prepend_scheme", "first");
    s->parts.add_space_prefix = scheme ? !key_equals(step, "prepend_scheme", "never")
                                       : !json_is_false(json_object_get(step, "add_prefix_space"));
    s->parts.space_splits = !json_is_false(json_object_get(step, "split"));
    return true;
}

static bool cut_at_spaces(source *s, const steps *pre, bool replaced)
{
    for (size_t i = 0; i < pre->count; i++) {
        const json_t *step = step_at(pre, i);
        if (key_equals(step, "type", "Metaspace") && !replaced && !s->parts.metaspace) {
            if (!read_metaspace(s, step))
                return false;
        } else if (!replaced || !key_equals(step, "type", "Split") ||
                   !key_equals(json_object_get(step, "pattern"), "String", " ") || is_true(step, "invert"))
            return not_supported(s, "pre-tokenizer", step); /* there is no space left to cut at */
    }
    if (!replaced && !s->parts.metaspace)
        return err_set(s->e, "%s: neither bytes nor U+2581 for spaces: this kind of tokenizer is not supported",
                       s->name);
    return true;
}

static bool get_cutting(source *s)
{
    steps normalizer, pre;
    if (!get_steps(s, "normalizer", "normalizers", &normalizer) ||
        !get_steps(s, "pre_tokenizer", "pretokenizers", &pre))
        return false;
    s->parts.kind = TOKENIZER_SPM;
    for (size_t i = 0; i < pre.count; i++)
        if (key_equals(step_at(&pre, i), "type", "ByteLevel"))
            s->parts.kind = TOKENIZER_BPE;
    if (s->parts.kind == TOKENIZER_BPE)
        return normalize_bytes(s, &normalizer) && cut_into_bytes(s, &pre);
    bool replaces = false;
    return normalize_spaces(s, &normalizer, &replaces) && cut_at_spaces(s, &pre, replaces);
}

/* ---- which tokens begin and end --------------------------------------------------- */

/* "<s>", or an object with that as its "content". */
static int32_t named_token(const source *s, const char *key)
{
    const json_t *value = get(s->settings, key);
    return find_token(s, text_of(json_is_object(value) ? json_object_get(value, "content") : value));
}

static const json_t *find_template(const json_t *processor)
{
    if (key_equals(processor, "type", "TemplateProcessing"))
        return json_object_get(processor, "single");
    const json_t *list = json_object_get(processor, "processors");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (key_equals(json_array_get(list, i), "type", "TemplateProcessing"))
            return json_object_get(json_array_get(list, i), "single");
    return NULL;
}

/* What the template puts before and behind the text. */
static void get_ends_of_template(source *s)
{
    const json_t *items = find_template(json_object_get(s->root, "post_processor"));
    bool behind = false;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i), *token = json_object_get(item, "SpecialToken");
        behind = behind || json_object_get(item, "Sequence");
        int32_t id = find_token(s, text_of(json_object_get(token, "id")));
        if (id < 0)
            continue;
        *(behind ? &s->parts.add_eos : &s->parts.add_bos) = true;
        int32_t *which = behind ? &s->parts.eos : &s->parts.bos;
        *which = *which < 0 ? id : *which;
    }
}

static void add_end(source *s, const json_t *id)
{
    if (!json_is_integer(id) || s->parts.end_count == MAX_ENDS || json_integer_value(id) < 0 ||
        (uint64_t)json_integer_value(id) >= s->parts.token_count)
        return;
    s->ends[s->parts.end_count++] = (int32_t)json_integer_value(id);
}

static void get_ids(source *s, const json_t *generation)
{
    tokenizer_parts *p = &s->parts;
    p->bos = named_token(s, "bos_token");
    p->eos = named_token(s, "eos_token");
    p->padding = named_token(s, "pad_token");
    p->unknown = find_token(s, text_of(json_object_get(s->model, "unk_token")));
    p->eot = TOKEN_NONE;
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

static tokenizer *make(source *s, const json_t *generation)
{
    tokenizer *t = NULL;
    if (get_model(s) && get_cutting(s) && get_tokens(s) && get_merges(s)) {
        get_ids(s, generation);
        t = tokenizer_new(&s->parts, s->e);
        if (!t)
            err_context(s->e, "%s", s->name);
    }
    free(s->tokens);
    free(s->types);
    free(s->strips);
    free(s->merges);
    free(s->added);
    return t;
}

tokenizer *tokenizer_from_json(const json_file *tokenizer_json, const json_file *config, const json_file *generation,
                               err *e)
{
    json_t *root = load(tokenizer_json, 0, e);
    json_t *settings = root && config->text ? load(config, JSON_DECODE_INT_AS_REAL, e) : NULL;
    json_t *generating = root && generation->text ? load(generation, 0, e) : NULL;
    bool ok = root && (settings || !config->text) && (generating || !generation->text);
    tokenizer *t = NULL;
    if (ok)
        t = make(&(source){.name = tokenizer_json->name, .root = root, .settings = settings, .e = e}, generating);
    json_decref(root);
    json_decref(settings);
    json_decref(generating);
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
    file->text = file_read(path.data, limit_bytes, &file->length, e);
    return file->text != NULL;
}

static void forget(json_file *file)
{
    free((char *)file->name);
    free((char *)file->text);
}

tokenizer *tokenizer_from_folder(const char *path, err *e)
{
    json_file main = {0}, config = {0}, generation = {0};
    tokenizer *t = NULL;
    if (read_if_there(path, "tokenizer.json", TOKENIZER_MAX_BYTES, &main, e) &&
        read_if_there(path, "tokenizer_config.json", CONFIG_MAX_BYTES, &config, e) &&
        read_if_there(path, "generation_config.json", CONFIG_MAX_BYTES, &generation, e)) {
        if (main.text)
            t = tokenizer_from_json(&main, &config, &generation, e);
        else
            err_set(e, "%s: there is no tokenizer.json in this folder", path);
    }
    forget(&main);
    forget(&config);
    forget(&generation);
    return t;
}

/* ---- templates ------------------------------------------------------------------------ */

bool chat_template_in_folder(const char *path, str *out, err *e)
{
    json_file config = {0};
    bool ok = read_if_there(path, "tokenizer_config.json", CONFIG_MAX_BYTES, &config, e);
    json_t *root = ok && config.text ? load(&config, JSON_DECODE_INT_AS_REAL, e) : NULL;
    const json_t *found = json_object_get(root, "chat_template");
    token_text text = text_of(found);
    for (size_t i = 0; i < json_array_size(found); i++)
        if (key_equals(json_array_get(found, i), "name", "default"))
            text = text_of(json_object_get(json_array_get(found, i), "template"));
    str_add_bytes(out, text.data ? text.data : "", text.length);
    ok = ok && (root || !config.text);
    json_decref(root);
    forget(&config);
    return ok;
}
