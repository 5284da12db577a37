/* A folder's tokenizer as GGUF keys.
 *
 * It is read as `solo tokenize` reads it (tokenizer_json.h), so that what is refused there is refused here. The keys
 * tokenizer.ggml.* are llama.cpp's; those of tokenizer_own.h say the rest, so that the file's tokenizer makes the
 * folder's tokens. Besides the tokenizer's own files:
 *
 *     config.json             the tokens that begin and end a text as ids, where those say nothing
 *     chat_template.jinja     newer folders have the template here                 */
#include "base/file.h"
#include "model/convert.h"
#include "model/tokenizer_internal.h"
#include "model/tokenizer_json_internal.h"
#include "model/tokenizer_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "tokenizer.ggml."

enum { MAX_CONFIG_BYTES = 16 << 20, MAX_TEMPLATE_BYTES = 4 << 20 };

static const float added_score = -1000; /* as llama.cpp's converter has it: merged last */

typedef struct source {
    const char *folder;
    const json_source *json;
    const json_t *model_config; /* config.json, or NULL */
    uint32_t count;             /* tokens of the model */
    err *e;
} source;

static char *path_in(const char *folder, const char *name)
{
    str path = {0};
    str_addf(&path, "%s/%s", folder, name);
    return path.data;
}

static bool wrong(const source *s, const char *what, token_text which)
{
    return err_set(s->e, "%s/tokenizer.json: %s: '%s'", s->folder, what, token_text_shown(which).text);
}

/* ---- what a file can say ---------------------------------------------------------- */

static bool has_space(token_text t)
{
    return t.length && memchr(t.data, ' ', t.length);
}

static bool check(const source *s)
{
    const tokenizer_parts *p = &s->json->parts;
    if (p->kind != TOKENIZER_BPE && p->kind != TOKENIZER_SPM)
        return err_set(s->e, "%s/tokenizer.json: only tokenizers of the type BPE are converted", s->folder);
    if (p->token_count > s->count)
        return err_set(s->e, "%s/tokenizer.json: token %zu, but the model has %u", s->folder, p->token_count - 1,
                       s->count);
    for (size_t i = 0; i < p->merge_count; i++)
        if (has_space(p->merges[i].left) || has_space(p->merges[i].right))
            return wrong(s, "a merge of texts with spaces, which GGUF cannot say", p->merges[i].left);
    return true;
}

/* What llama.cpp leaves out: those who take the file there have other tokens for some texts. */
static void note_unknown_there(const tokenizer_parts *p, str *notes)
{
    bool strips = false;
    for (size_t i = 0; i < p->token_count; i++)
        strips |= p->strips[i] != 0;
    if (p->kind == TOKENIZER_BPE && p->add_space_prefix)
        str_addf(notes, "a space goes before every text; llama.cpp leaves it out\n");
    if (p->nfc)
        str_addf(notes, "texts are brought into the form NFC first; llama.cpp leaves that out\n");
    if (strips)
        str_addf(notes, "some tokens take the spaces beside them; llama.cpp knows that by a model's name only\n");
}

/* ---- tokens -------------------------------------------------------------------------- */

/* SentencePiece has no merges but scores: a token's is the place of the first merge
 * that makes it, so that what merges first scores highest. */
static float *scores_of(const tokenizer_parts *p, const tokenizer *t)
{
    float *scores = mem_alloc(p->token_count * sizeof *scores), none = -(float)p->merge_count;
    for (size_t i = 0; i < p->token_count; i++)
        scores[i] = p->types[i] == TOKEN_NORMAL ? none : p->types[i] == TOKEN_USER_DEFINED ? added_score : 0;
    str whole = {0};
    for (size_t i = 0; i < p->merge_count; i++) {
        whole.length = 0;
        str_add_bytes(&whole, p->merges[i].left.data, p->merges[i].left.length);
        str_add_bytes(&whole, p->merges[i].right.data, p->merges[i].right.length);
        int32_t id = vocab_find(&t->words, whole.data, whole.length);
        if (id >= 0 && p->types[id] == TOKEN_NORMAL && scores[id] == none)
            scores[id] = -(float)i;
    }
    str_free(&whole);
    return scores;
}

static void write_merges(const tokenizer_parts *p, const char *key, gguf_writer *w)
{
    str line = {0};
    gguf_write_array(w, key, GGUF_KIND_TEXT, p->merge_count);
    for (size_t i = 0; i < p->merge_count; i++) {
        line.length = 0;
        str_add_bytes(&line, p->merges[i].left.data, p->merges[i].left.length);
        str_add_bytes(&line, " ", 1);
        str_add_bytes(&line, p->merges[i].right.data, p->merges[i].right.length);
        gguf_write_item_text(w, line.data, line.length);
    }
    str_free(&line);
}

/* In a SentencePiece vocabulary, tokens found before anything is merged are found in
 * the text as it was written, with its spaces. */
static void write_user_defined(gguf_writer *w, token_text t)
{
    str plain = {0};
    str_add(&plain, "");
    for (size_t i = 0; i < t.length;) {
        bool mark = t.length - i >= 3 && memcmp(t.data + i, SPM_SPACE, 3) == 0;
        str_add_bytes(&plain, mark ? " " : t.data + i, 1);
        i += mark ? 3 : 1;
    }
    gguf_write_item_text(w, plain.data, plain.length);
    str_free(&plain);
}

static uint8_t type_of(const tokenizer_parts *p, size_t i)
{
    bool unknown = p->kind == TOKENIZER_SPM && (int32_t)i == p->unknown;
    return unknown ? TOKEN_UNKNOWN : p->types[i];
}

static void write_tokens(const source *s, gguf_writer *w)
{
    const tokenizer_parts *p = &s->json->parts;
    gguf_write_array(w, KEY "tokens", GGUF_KIND_TEXT, s->count);
    for (size_t i = 0; i < s->count; i++) {
        char filler[32];
        snprintf(filler, sizeof filler, "[PAD%zu]", i);
        if (i >= p->token_count || !p->tokens[i].data)
            gguf_write_item_text(w, filler, strlen(filler));
        else if (p->kind == TOKENIZER_SPM && type_of(p, i) == TOKEN_USER_DEFINED)
            write_user_defined(w, p->tokens[i]);
        else
            gguf_write_item_text(w, p->tokens[i].data, p->tokens[i].length);
    }
    gguf_write_array(w, KEY "token_type", GGUF_KIND_I32, s->count);
    for (size_t i = 0; i < s->count; i++)
        gguf_write_item_whole(w, i < p->token_count && p->tokens[i].data ? type_of(p, i) : TOKEN_UNUSED);
}

/* ---- special tokens ------------------------------------------------------------------ */

/* Where the tokenizer names none, config.json may: an id, or the first of several. */
static void write_special(const source *s, gguf_writer *w, const char *name, int32_t id, const char *key)
{
    char field[32];
    snprintf(field, sizeof field, "%s_token_id", name);
    const json_t *number = json_object_get(s->model_config, field);
    if (json_is_array(number))
        number = json_array_get(number, 0);
    if (id < 0 && json_is_integer(number) && json_integer_value(number) >= 0 &&
        json_integer_value(number) < (json_int_t)s->count)
        id = (int32_t)json_integer_value(number);
    if (id >= 0)
        gguf_write_u32(w, key, (uint32_t)id);
}

static void write_template(const source *s, gguf_writer *w)
{
    char *path = path_in(s->folder, "chat_template.jinja");
    size_t length;
    err ignored = {0};
    char *file = file_exists(path) ? file_read_plain(path, MAX_TEMPLATE_BYTES, &length, &ignored) : NULL;
    const json_t *chat = json_object_get(s->json->settings, "chat_template");
    size_t i;
    json_t *one;
    json_array_foreach(chat, i, one)
    {
        if (json_key_equals(one, "name", "default")) {
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

static void write_spm(const source *s, const tokenizer *t, gguf_writer *w)
{
    const tokenizer_parts *p = &s->json->parts;
    gguf_write_text(w, KEY "model", "llama");
    gguf_write_text(w, KEY "pre", "default");
    write_tokens(s, w);
    float *scores = scores_of(p, t);
    gguf_write_array(w, KEY "scores", GGUF_KIND_F32, s->count);
    for (size_t i = 0; i < s->count; i++)
        gguf_write_item_real(w, i < p->token_count ? (double)scores[i] : 0);
    free(scores);
    gguf_write_bool(w, KEY "add_space_prefix", p->add_space_prefix);
    write_merges(p, OWN_KEY "merges", w);
}

static void write_bpe(const source *s, gguf_writer *w)
{
    const tokenizer_parts *p = &s->json->parts;
    gguf_write_text(w, KEY "model", "gpt2");
    /* llama.cpp's own name of it */
    gguf_write_text(w, KEY "pre", token_text_equals(p->pre, "llama3") ? "llama-bpe" : p->pre.data);
    write_tokens(s, w);
    write_merges(p, KEY "merges", w);
}

static void write_own(tokenizer_parts p, gguf_writer *w)
{
    bool strips = false;
    for (int i = 0; i < OWN_FLAGS; i++)
        gguf_write_bool(w, own_flag_names[i], *own_flag(&p, i));
    gguf_write_array(w, OWN_KEY "ids", GGUF_KIND_I32, OWN_IDS);
    for (int i = 0; i < OWN_IDS; i++)
        gguf_write_item_whole(w, *own_id(&p, i));
    gguf_write_array(w, OWN_KEY "ends", GGUF_KIND_I32, p.end_count);
    for (size_t i = 0; i < p.end_count; i++)
        gguf_write_item_whole(w, p.ends[i]);
    gguf_write_array(w, OWN_KEY "added", GGUF_KIND_I32, p.added_count);
    for (size_t i = 0; i < p.added_count; i++)
        gguf_write_item_whole(w, p.added[i].id);
    gguf_write_array(w, OWN_KEY "added_texts", GGUF_KIND_TEXT, p.added_count);
    for (size_t i = 0; i < p.added_count; i++)
        gguf_write_item_text(w, p.added[i].text.data, p.added[i].text.length);
    gguf_write_array(w, OWN_KEY "added_normalized", GGUF_KIND_BOOL, p.added_count);
    for (size_t i = 0; i < p.added_count; i++) {
        gguf_write_item_whole(w, p.added[i].normalized);
        strips |= p.strips[p.added[i].id] != 0;
    }
    if (!strips)
        return;
    gguf_write_array(w, OWN_KEY "strips", GGUF_KIND_U8, p.token_count);
    for (size_t i = 0; i < p.token_count; i++)
        gguf_write_item_whole(w, p.strips[i]);
}

static void write_all(const source *s, const tokenizer *t, gguf_writer *w)
{
    const tokenizer_parts *p = &s->json->parts;
    if (p->kind == TOKENIZER_SPM)
        write_spm(s, t, w);
    else
        write_bpe(s, w);
    write_special(s, w, "bos", p->bos, KEY "bos_token_id");
    write_special(s, w, "eos", p->eos, KEY "eos_token_id");
    write_special(s, w, "unk", p->unknown, KEY "unknown_token_id");
    write_special(s, w, "pad", p->padding, KEY "padding_token_id");
    /* always: where a file says nothing, what holds depends on its pre-tokenizer (llama-bpe: a BOS) */
    gguf_write_bool(w, KEY "add_bos_token", p->add_bos);
    gguf_write_bool(w, KEY "add_eos_token", p->add_eos);
    write_own(*p, w);
    write_template(s, w);
}

static bool read_model_config(const char *folder, json_t **config, err *e)
{
    char *path = path_in(folder, "config.json");
    size_t length;
    char *text = file_exists(path) ? file_read_plain(path, MAX_CONFIG_BYTES, &length, e) : NULL;
    json_error_t why;
    if (text && !(*config = json_loadb(text, length, JSON_ALLOW_NUL, &why)))
        err_set(e, "%s: not JSON (line %d, column %d)", path, why.line, why.column);
    free(text);
    free(path);
    return e->kind == ERR_NONE;
}

bool convert_tokenizer_read(gguf_writer *w, const json_source *json, const tokenizer *t, const char *folder,
                            uint32_t vocab_tok, str *notes, err *e)
{
    json_t *config = NULL;
    source s = {.folder = folder, .json = json, .count = vocab_tok, .e = e};
    bool ok = check(&s) && read_model_config(folder, &config, e);
    s.model_config = config;
    if (ok) {
        note_unknown_there(&json->parts, notes);
        write_all(&s, t, w);
    }
    json_decref(config);
    return ok;
}

bool convert_tokenizer(gguf_writer *w, const char *folder, uint32_t vocab_tok, str *notes, err *e)
{
    char *path = path_in(folder, "tokenizer.json");
    bool there = file_exists(path);
    free(path);
    if (!there) {
        str_addf(notes, "no tokenizer.json in %s: the file has no vocabulary, and takes token ids only\n", folder);
        gguf_write_text(w, KEY "model", "none");
        return true;
    }
    json_source json = {.e = e};
    tokenizer *t = json_source_read_folder(&json, folder);
    bool ok = t && convert_tokenizer_read(w, &json, t, folder, vocab_tok, notes, e);
    tokenizer_free(t);
    json_source_free(&json);
    return ok;
}
