/* A folder's tokenizer as GGUF keys.
 *
 * What lies in the folder:
 *
 *     tokenizer.json          the vocabulary, the merges, the added tokens
 *     tokenizer_config.json   which tokens begin and end a text; the chat template
 *     config.json             the same tokens as ids, where the above says nothing
 *     chat_template.jinja     newer folders have the template here                 */
#include "base/file.h"
#include "model/convert.h"
#include "model/json_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "tokenizer.ggml."

enum { MAX_JSON_BYTES = 256 << 20, MAX_TEMPLATE_BYTES = 4 << 20 };

static const float added_score = -1000; /* as llama.cpp's converter has it: merged last */
static const char space_mark[] = "\xe2\x96\x81";

typedef struct source {
    const char *folder;
    json_t *root, *config, *model_config; /* the last two may be NULL */
    const json_t *model;                  /* of root */
    uint32_t count;
    token_text *tokens; /* (count) data NULL: there is none */
    uint8_t *types;     /* (count) token_type */
    float *scores;      /* (count) */
    bool spm;
    err *e;
} source;

/* ---- reading ------------------------------------------------------------------- */

static char *path_in(const char *folder, const char *name)
{
    str path = {0};
    str_addf(&path, "%s/%s", folder, name);
    return path.data;
}

/* NULL without an error if there is no such file. */
static json_t *read_json(const source *s, const char *name, size_t flags)
{
    char *path = path_in(s->folder, name);
    json_t *root = NULL;
    size_t length;
    char *text = file_exists(path) ? file_read(path, MAX_JSON_BYTES, &length, s->e) : NULL;
    if (text) {
        json_error_t why;
        root = json_loadb(text, length, JSON_ALLOW_NUL | flags, &why);
        if (!root)
            err_set(s->e, "%s: not JSON (line %d, column %d)", path, why.line, why.column);
        else if (!json_is_object(root)) {
            err_set(s->e, "%s: not a JSON object", path);
            json_decref(root);
            root = NULL;
        }
    }
    free(text);
    free(path);
    return root;
}

static bool wrong(const source *s, const char *what)
{
    return err_set(s->e, "%s/tokenizer.json: %s", s->folder, what);
}

static bool is(const json_t *text, const char *word)
{
    return json_is_string(text) && strcmp(json_string_value(text), word) == 0;
}

static bool set_token(source *s, json_int_t id, token_text text, uint8_t type)
{
    if (id < 0 || id >= (json_int_t)s->count)
        return err_set(s->e, "%s/tokenizer.json: token %lld, but the model has %u", s->folder, (long long)id, s->count);
    s->tokens[id] = text;
    s->types[id] = type;
    return true;
}

/* "<0x0A>" */
static bool is_byte(token_text t)
{
    return t.length == 6 && memcmp(t.data, "<0x", 3) == 0 && t.data[5] == '>';
}

static bool read_vocabulary(source *s)
{
    const json_t *vocab = json_object_get(s->model, "vocab"), *unknown = json_object_get(s->model, "unk_token");
    if (!json_is_object(vocab))
        return wrong(s, "\"vocab\" is no object");
    const char *key;
    json_t *id;
    json_object_foreach((json_t *)vocab, key, id)
    {
        token_text text = {key, strlen(key)};
        uint8_t type = s->spm && is(unknown, key) ? TOKEN_UNKNOWN : s->spm && is_byte(text) ? TOKEN_BYTE : TOKEN_NORMAL;
        if (!json_is_integer(id))
            return wrong(s, "\"vocab\" has something other than ids");
        if (!set_token(s, json_integer_value(id), text, type))
            return false;
    }
    return true;
}

static bool read_added(source *s)
{
    size_t i;
    json_t *added;
    json_array_foreach(json_object_get(s->root, "added_tokens"), i, added)
    {
        const json_t *id = json_object_get(added, "id"), *content = json_object_get(added, "content");
        bool special = json_is_true(json_object_get(added, "special"));
        if (!json_is_integer(id) || !json_is_string(content))
            return wrong(s, "an added token without id or content");
        json_int_t at = json_integer_value(id);
        bool unknown = at >= 0 && at < (json_int_t)s->count && s->types[at] == TOKEN_UNKNOWN;
        if (!set_token(s, at, json_text_of(content),
                       unknown   ? TOKEN_UNKNOWN
                       : special ? TOKEN_CONTROL
                                 : TOKEN_USER_DEFINED))
            return false;
    }
    return true;
}

/* ---- merges -------------------------------------------------------------------- */

/* "a b", or in newer files ["a", "b"]. */
static bool parts_of(const json_t *merge, token_text *left, token_text *right)
{
    if (json_array_size(merge) == 2) {
        *left = json_text_of(json_array_get(merge, 0));
        *right = json_text_of(json_array_get(merge, 1));
    } else {
        token_text both = json_text_of(merge);
        const char *space = both.length > 1 ? memchr(both.data + 1, ' ', both.length - 1) : NULL;
        *left = (token_text){both.data, space ? (size_t)(space - both.data) : 0};
        *right = (token_text){space ? space + 1 : NULL, space ? both.length - left->length - 1 : 0};
    }
    return left->length && right->length;
}

/* SentencePiece has no merges but scores: a token's is the place of the first merge
 * that makes it, so that what merges first scores highest. */
static bool read_scores(source *s)
{
    const json_t *merges = json_object_get(s->model, "merges"), *vocab = json_object_get(s->model, "vocab");
    size_t i, count = json_array_size(merges);
    json_t *merge;
    for (uint32_t t = 0; t < s->count; t++) {
        bool plain = s->types[t] == TOKEN_NORMAL;
        s->scores[t] = plain ? -(float)count : s->types[t] == TOKEN_USER_DEFINED ? added_score : 0;
    }
    str whole = {0};
    bool ok = true;
    json_array_foreach(merges, i, merge)
    {
        token_text left, right;
        if (!parts_of(merge, &left, &right)) {
            ok = wrong(s, "a merge that is not two texts");
            break;
        }
        whole.length = 0;
        str_add_bytes(&whole, left.data, left.length);
        str_add_bytes(&whole, right.data, right.length);
        const json_t *id = json_object_get(vocab, whole.data);
        json_int_t at = json_is_integer(id) ? json_integer_value(id) : -1;
        if (at >= 0 && s->types[at] == TOKEN_NORMAL && s->scores[at] == -(float)count)
            s->scores[at] = -(float)i;
    }
    str_free(&whole);
    return ok;
}

static bool write_merges(const source *s, gguf_writer *w)
{
    const json_t *merges = json_object_get(s->model, "merges");
    size_t i;
    json_t *merge;
    str line = {0};
    bool ok = true;
    gguf_write_array(w, KEY "merges", GGUF_KIND_TEXT, json_array_size(merges));
    json_array_foreach(merges, i, merge)
    {
        token_text left, right;
        if (!parts_of(merge, &left, &right)) {
            ok = wrong(s, "a merge that is not two texts");
            break;
        }
        line.length = 0;
        str_add_bytes(&line, left.data, left.length);
        str_add_bytes(&line, " ", 1);
        str_add_bytes(&line, right.data, right.length);
        gguf_write_item_text(w, line.data, line.length);
    }
    str_free(&line);
    return ok;
}

/* ---- the pre-tokenizer ------------------------------------------------------------ */

/* The patterns by which families cut text into words, and what GGUF calls them. */
static const struct {
    const char *name, *pattern;
} PATTERNS[] = {
    {"qwen2", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
              "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"llama-bpe",
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"tekken", "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
               "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}|"
               " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    /* phi4 */
    {"gpt-4o",
     "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
     "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|"
     "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};

/* What cuts by itself: the pattern of a Split, or ByteLevel with its own. */
static const char *cut_by(const json_t *step)
{
    const json_t *type = json_object_get(step, "type");
    const char *pattern = json_string_value(json_object_get(json_object_get(step, "pattern"), "Regex"));
    if (is(type, "Split"))
        for (size_t i = 0; pattern && i < sizeof PATTERNS / sizeof *PATTERNS; i++)
            if (strcmp(PATTERNS[i].pattern, pattern) == 0)
                return PATTERNS[i].name;
    /* "" says: nothing is cut; NULL: in a way that is not known */
    if (is(type, "ByteLevel"))
        return json_is_false(json_object_get(step, "use_regex")) ? "" : "gpt-2";
    return is(type, "Digits") ? "digits" : NULL;
}

static const char *pre_tokenizer(const source *s)
{
    const json_t *pre = json_object_get(s->root, "pre_tokenizer"), *steps = json_object_get(pre, "pretokenizers");
    if (!json_is_array(steps))
        return cut_by(pre);
    const char *found = "";
    size_t i;
    json_t *step;
    json_array_foreach(steps, i, step)
    {
        const char *name = cut_by(step);
        if (!name)
            return NULL;
        if (strcmp(found, "digits") == 0 && strcmp(name, "gpt-2") == 0)
            found = "starcoder"; /* digits one by one, then gpt-2's way */
        else if (*name && *found)
            return NULL;
        else if (*name)
            found = name;
    }
    return *found && strcmp(found, "digits") != 0 ? found : NULL;
}

/* ---- special tokens ------------------------------------------------------------------ */

static int64_t find_token(const source *s, const char *text)
{
    for (uint32_t i = 0; text && i < s->count; i++)
        if (s->tokens[i].data && s->tokens[i].length == strlen(text) &&
            memcmp(s->tokens[i].data, text, s->tokens[i].length) == 0)
            return i;
    return -1;
}

/* "<s>", or {"content": "<s>"}; else an id, or the first of several. */
static void write_special(const source *s, gguf_writer *w, const char *name, const char *key)
{
    char field[32];
    snprintf(field, sizeof field, "%s_token", name);
    const json_t *text = json_object_get(s->config, field);
    if (json_is_object(text))
        text = json_object_get(text, "content");
    int64_t id = find_token(s, json_string_value(text));
    snprintf(field, sizeof field, "%s_token_id", name);
    const json_t *number = json_object_get(s->model_config, field);
    if (json_is_array(number))
        number = json_array_get(number, 0);
    if (id < 0 && json_is_integer(number) && json_integer_value(number) >= 0 &&
        json_integer_value(number) < (json_int_t)s->count)
        id = json_integer_value(number);
    if (id >= 0)
        gguf_write_u32(w, key, (uint32_t)id);
}

/* Does the template by which texts are completed begin (or end) with a token? */
static bool template_adds(const source *s, bool at_end)
{
    const json_t *post = json_object_get(s->root, "post_processor"), *parts = json_object_get(post, "processors");
    const json_t *single = json_object_get(post, "single");
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        if (json_object_get(part, "single"))
            single = json_object_get(part, "single");
    }
    size_t count = json_array_size(single);
    return count && json_object_get(json_array_get(single, at_end ? count - 1 : 0), "SpecialToken");
}

static void write_flag(const source *s, gguf_writer *w, const char *name, bool at_end)
{
    char key[64];
    snprintf(key, sizeof key, KEY "%s", name);
    const json_t *said = json_object_get(s->config, name);
    /* always: where a file says nothing, what holds depends on its pre-tokenizer (llama-bpe: a BOS) */
    gguf_write_bool(w, key, json_is_boolean(said) ? json_is_true(said) : template_adds(s, at_end));
}

static void write_template(const source *s, gguf_writer *w)
{
    char *path = path_in(s->folder, "chat_template.jinja");
    size_t length;
    err ignored = {0};
    char *file = file_exists(path) ? file_read(path, MAX_TEMPLATE_BYTES, &length, &ignored) : NULL;
    const json_t *chat = json_object_get(s->config, "chat_template");
    size_t i;
    json_t *one;
    json_array_foreach(chat, i, one)
    {
        if (is(json_object_get(one, "name"), "default")) {
            chat = json_object_get(one, "template");
            break;
        }
    }
    const char *text = file ? file : json_string_value(chat);
    if (text)
        gguf_write_text(w, "tokenizer.chat_template", text);
    free(file);
    free(path);
}

/* ---- writing --------------------------------------------------------------------------- */

/* In a SentencePiece vocabulary, tokens found before anything is merged are found in
 * the text as it was written, with its spaces. */
static void write_user_defined(gguf_writer *w, token_text t)
{
    str plain = {0};
    str_add(&plain, "");
    for (size_t i = 0; i < t.length;) {
        bool mark = t.length - i >= 3 && memcmp(t.data + i, space_mark, 3) == 0;
        str_add_bytes(&plain, mark ? " " : t.data + i, 1);
        i += mark ? 3 : 1;
    }
    gguf_write_item_text(w, plain.data, plain.length);
    str_free(&plain);
}

static void write_tokens(const source *s, gguf_writer *w)
{
    gguf_write_array(w, KEY "tokens", GGUF_KIND_TEXT, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        char filler[32];
        snprintf(filler, sizeof filler, "[PAD%u]", i);
        if (!s->tokens[i].data)
            gguf_write_item_text(w, filler, strlen(filler));
        else if (s->spm && s->types[i] == TOKEN_USER_DEFINED)
            write_user_defined(w, s->tokens[i]);
        else
            gguf_write_item_text(w, s->tokens[i].data, s->tokens[i].length);
    }
    gguf_write_array(w, KEY "token_type", GGUF_KIND_I32, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        gguf_write_item_whole(w, s->tokens[i].data ? s->types[i] : TOKEN_UNUSED);
}

/* Is a space put before the text? */
static bool prepends_space(const source *s)
{
    const json_t *said = json_object_get(s->config, "add_prefix_space");
    if (json_is_boolean(said))
        return json_is_true(said);
    const json_t *normalizer = json_object_get(s->root, "normalizer"), *pre = json_object_get(s->root, "pre_tokenizer");
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(normalizer, "normalizers"), i, step)
    {
        if (is(json_object_get(step, "type"), "Prepend"))
            return true;
    }
    const json_t *scheme = json_object_get(pre, "prepend_scheme");
    return is(json_object_get(normalizer, "type"), "Prepend") ||
           (is(json_object_get(pre, "type"), "Metaspace") &&
            (scheme ? !is(scheme, "never") : !json_is_false(json_object_get(pre, "add_prefix_space"))));
}

static bool write_spm(source *s, gguf_writer *w)
{
    if (!read_scores(s))
        return false;
    gguf_write_text(w, KEY "model", "llama");
    gguf_write_text(w, KEY "pre", "default");
    write_tokens(s, w);
    gguf_write_array(w, KEY "scores", GGUF_KIND_F32, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        gguf_write_item_real(w, (double)s->scores[i]);
    gguf_write_bool(w, KEY "add_space_prefix", prepends_space(s));
    return true;
}

static bool write_bpe(const source *s, gguf_writer *w, str *notes)
{
    const char *pre = pre_tokenizer(s);
    if (!pre)
        str_addf(notes, "tokenizer.json cuts text into words in a way that is not known: written as \"default\"\n");
    gguf_write_text(w, KEY "model", "gpt2");
    gguf_write_text(w, KEY "pre", pre ? pre : "default");
    write_tokens(s, w);
    return write_merges(s, w);
}

static bool write_all(source *s, gguf_writer *w, str *notes)
{
    s->model = json_object_get(s->root, "model");
    const json_t *type = json_object_get(s->model, "type");
    if (type && !is(type, "BPE"))
        return wrong(s, "a vocabulary other than BPE");
    if (!json_is_array(json_object_get(s->model, "merges")))
        return wrong(s, "\"merges\" is no list");
    s->spm = json_is_true(json_object_get(s->model, "byte_fallback"));
    if (!read_vocabulary(s) || !read_added(s) || !(s->spm ? write_spm(s, w) : write_bpe(s, w, notes)))
        return false;
    write_special(s, w, "bos", KEY "bos_token_id");
    write_special(s, w, "eos", KEY "eos_token_id");
    write_special(s, w, "unk", KEY "unknown_token_id");
    write_special(s, w, "pad", KEY "padding_token_id");
    write_flag(s, w, "add_bos_token", false);
    write_flag(s, w, "add_eos_token", true);
    write_template(s, w);
    return true;
}

bool convert_tokenizer(gguf_writer *w, const char *folder, uint32_t vocab_tok, str *notes, err *e)
{
    source s = {.folder = folder, .count = vocab_tok, .e = e};
    s.root = read_json(&s, "tokenizer.json", 0);
    bool ok = e->kind == ERR_NONE;
    if (ok && !s.root) {
        str_addf(notes, "no tokenizer.json in %s: the file has no vocabulary, and takes token ids only\n", folder);
        gguf_write_text(w, KEY "model", "none");
    } else if (ok) {
        s.tokens = mem_alloc(vocab_tok * sizeof *s.tokens);
        s.types = mem_alloc(vocab_tok * sizeof *s.types);
        s.scores = mem_alloc(vocab_tok * sizeof *s.scores);
        /* its model_max_length is often a number that no integer holds */
        s.config = read_json(&s, "tokenizer_config.json", JSON_DECODE_INT_AS_REAL);
        s.model_config = e->kind == ERR_NONE ? read_json(&s, "config.json", 0) : NULL;
        ok = e->kind == ERR_NONE && write_all(&s, w, notes);
    }
    json_decref(s.root);
    json_decref(s.config);
    json_decref(s.model_config);
    free(s.tokens);
    free(s.types);
    free(s.scores);
    return ok;
}
