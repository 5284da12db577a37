/* A tokenizer from the keys tokenizer.ggml.* of a GGUF file. */
#include "base/str.h"
#include "model/pretokenize.h"
#include "model/tokenizer_own.h"

#include <stdlib.h>
#include <string.h>

#define KEY "tokenizer.ggml."

/* What the parts point to while a tokenizer is made of them. */
typedef struct gguf_parts {
    tokenizer_parts parts;
    token_text *tokens;
    float *scores;
    uint8_t *types, *strips;
    token_merge *merges;
    char *charsmap;
    own_parts own;
    bool by_rank; /* SPM with merges instead of scores */
} gguf_parts;

static bool is_text(gguf_text a, const char *b)
{
    return a.length == strlen(b) && memcmp(a.data, b, a.length) == 0;
}

static bool get_kind(const gguf *g, gguf_parts *p, err *e)
{
    gguf_text model;
    if (!gguf_get_text(g, KEY "model", &model, e))
        return false;
    if (is_text(model, "gpt2"))
        p->parts.kind = TOKENIZER_BPE;
    else if (is_text(model, "llama"))
        p->parts.kind = TOKENIZER_SPM;
    else if (is_text(model, "gemma4")) { /* spaces and bytes as in SPM, but merges by rank */
        p->parts.kind = TOKENIZER_SPM;
        p->by_rank = true;
    } else if (is_text(model, "bert"))
        p->parts.kind = TOKENIZER_WORDPIECE;
    else if (is_text(model, "t5"))
        p->parts.kind = TOKENIZER_UNIGRAM;
    else
        return err_set(e, KEY "model: the tokenizer '%.*s' is not known (gpt2, llama, gemma4, bert and t5 are)",
                       (int)(model.length < 64 ? model.length : 64), model.data);
    return true;
}

static bool get_pre(const gguf *g, gguf_parts *p, err *e)
{
    gguf_text name = {"default", 7};
    if (p->parts.kind != TOKENIZER_BPE)
        return true;
    if (gguf_has(g, KEY "pre") && !gguf_get_text(g, KEY "pre", &name, e))
        return false;
    const pre_rule *pre = pre_find(name.data, name.length);
    if (!pre)
        return err_set(e, KEY "pre: the pre-tokenizer '%.*s' is not known", (int)(name.length < 64 ? name.length : 64),
                       name.data);
    p->parts.pre = (token_text){name.data, name.length};
    p->parts.ignore_merges = pre_ignores_merges(pre);
    p->parts.add_bos = pre_adds_bos(pre);
    return true;
}

static bool get_tokens(const gguf *g, gguf_parts *p, err *e)
{
    gguf_array a;
    if (!gguf_get_texts(g, KEY "tokens", &a, e))
        return false;
    if (a.count == 0 || a.count > TOKENIZER_MAX_TOKENS)
        return err_set(e, KEY "tokens: %zu tokens", a.count);
    p->tokens = mem_alloc(a.count * sizeof *p->tokens);
    for (size_t i = 0; i < a.count; i++) {
        gguf_text text = gguf_array_text(&a, i);
        p->tokens[i] = (token_text){text.data, text.length};
    }
    p->parts.tokens = p->tokens;
    p->parts.token_count = a.count;
    return true;
}

/* An array with one number for each token. */
static bool get_per_token(const gguf *g, const gguf_parts *p, const char *key, bool whole, gguf_array *a, err *e)
{
    if (!(whole ? gguf_get_whole_numbers : gguf_get_reals)(g, key, a, e))
        return false;
    if (a->count != p->parts.token_count)
        return err_set(e, "%s: %zu of them for %zu tokens", key, a->count, p->parts.token_count);
    return true;
}

static bool get_scores(const gguf *g, gguf_parts *p, err *e)
{
    gguf_array a;
    if ((p->parts.kind != TOKENIZER_SPM && p->parts.kind != TOKENIZER_UNIGRAM) || p->by_rank)
        return true;
    if (!get_per_token(g, p, KEY "scores", false, &a, e))
        return false;
    p->scores = mem_alloc(a.count * sizeof *p->scores);
    for (size_t i = 0; i < a.count; i++)
        p->scores[i] = (float)gguf_array_float(&a, i);
    p->parts.scores = p->scores;
    return true;
}

static bool get_types(const gguf *g, gguf_parts *p, err *e)
{
    gguf_array a;
    if (!gguf_has(g, KEY "token_type"))
        return true;
    if (!get_per_token(g, p, KEY "token_type", true, &a, e))
        return false;
    p->types = mem_alloc(a.count);
    for (size_t i = 0; i < a.count; i++) {
        int64_t type = gguf_array_int(&a, i);
        p->types[i] = type >= TOKEN_NORMAL && type <= TOKEN_BYTE ? (uint8_t)type : TOKEN_UNUSED;
    }
    p->parts.types = p->types;
    return true;
}

bool tokenizer_gguf_merges(const gguf *g, const char *key, tokenizer_parts *parts, token_merge **merges, err *e)
{
    gguf_array a;
    if (!gguf_get_texts(g, key, &a, e))
        return false;
    if (a.count > TOKENIZER_MAX_TOKENS)
        return err_set(e, "%s: %zu merges", key, a.count);
    *merges = mem_alloc(a.count * sizeof **merges);
    for (size_t i = 0; i < a.count; i++) {
        gguf_text text = gguf_array_text(&a, i);
        const char *space = text.length > 1 ? memchr(text.data + 1, ' ', text.length - 1) : NULL;
        if (!space)
            continue;
        size_t left = (size_t)(space - text.data);
        (*merges)[i] = (token_merge){{text.data, left}, {space + 1, text.length - left - 1}};
    }
    parts->merges = *merges;
    parts->merge_count = a.count;
    return true;
}

static bool get_merges(const gguf *g, gguf_parts *p, err *e)
{
    return (p->parts.kind != TOKENIZER_BPE && !p->by_rank) ||
           tokenizer_gguf_merges(g, KEY "merges", &p->parts, &p->merges, e);
}

/* An id that is not there stays as it is. */
static bool get_id(const gguf *g, const gguf_parts *p, const char *key, int32_t *id, err *e)
{
    uint32_t value;
    if (!gguf_has(g, key))
        return true;
    if (!gguf_get_u32(g, key, &value, e))
        return false;
    if (value >= p->parts.token_count)
        return err_set(e, "%s: is %u, but there are %zu tokens", key, (unsigned)value, p->parts.token_count);
    *id = (int32_t)value;
    return true;
}

/* Files without such a token may say -1. */
static bool get_id_or_none(const gguf *g, const gguf_parts *p, const char *key, int32_t *id, err *e)
{
    uint32_t value;
    err ignored = {0};
    return (gguf_get_u32(g, key, &value, &ignored) && value == UINT32_MAX) || get_id(g, p, key, id, e);
}

/* For those that nothing depends on, and that files are careless with. */
static void get_id_if_good(const gguf *g, const gguf_parts *p, const char *key, int32_t *id)
{
    err ignored = {0};
    get_id(g, p, key, id, &ignored);
}

/* What characters become, as bytes. */
static bool get_charsmap(const gguf *g, gguf_parts *p, err *e)
{
    gguf_array a;
    static const char key[] = KEY "precompiled_charsmap";
    if (p->parts.kind != TOKENIZER_UNIGRAM || !gguf_has(g, key))
        return true;
    if (!gguf_get_whole_numbers(g, key, &a, e))
        return false;
    p->charsmap = mem_alloc(a.count + 1);
    for (size_t i = 0; i < a.count; i++)
        p->charsmap[i] = (char)gguf_array_int(&a, i);
    p->parts.charsmap = (token_text){p->charsmap, a.count};
    return true;
}

/* Encoders begin a text with what they call "cls", and end it with "sep". */
static bool get_encoder_ids(const gguf *g, gguf_parts *p, err *e)
{
    tokenizer_parts *parts = &p->parts;
    int32_t count = (int32_t)parts->token_count;
    bool bert = parts->kind == TOKENIZER_WORDPIECE;
    parts->bos = bert && count > 101 ? 101 : TOKEN_NONE;
    parts->eos = bert ? count > 102 ? 102 : TOKEN_NONE : count > 1 ? 1 : TOKEN_NONE;
    parts->unknown = bert ? count > 100 ? 100 : TOKEN_NONE : count > 2 ? 2 : TOKEN_NONE;
    parts->eot = parts->ending = parts->padding = TOKEN_NONE;
    get_id_if_good(g, p, KEY "padding_token_id", &parts->padding);
    return get_id(g, p, KEY "unknown_token_id", &parts->unknown, e) &&
           get_id(g, p, KEY "bos_token_id", &parts->bos, e) && get_id(g, p, KEY "eos_token_id", &parts->eos, e) &&
           (!bert || (get_id(g, p, KEY "cls_token_id", &parts->bos, e) &&
                      get_id(g, p, KEY "seperator_token_id", &parts->eos, e)));
}

static bool get_ids(const gguf *g, gguf_parts *p, err *e)
{
    if (p->parts.kind == TOKENIZER_WORDPIECE || p->parts.kind == TOKENIZER_UNIGRAM)
        return get_encoder_ids(g, p, e);
    tokenizer_parts *parts = &p->parts;
    bool is_spm = parts->kind == TOKENIZER_SPM;
    parts->unknown = is_spm ? 0 : TOKEN_NONE;
    parts->bos = is_spm && parts->token_count > 1 ? 1 : TOKEN_NONE;
    parts->eos = is_spm && parts->token_count > 2 ? 2 : TOKEN_NONE;
    parts->eot = parts->ending = parts->padding = TOKEN_NONE;
    get_id_if_good(g, p, KEY "padding_token_id", &parts->padding);
    get_id_if_good(g, p, KEY "eot_token_id", &parts->eot);
    return get_id_or_none(g, p, KEY "unknown_token_id", &parts->unknown, e) &&
           get_id(g, p, KEY "bos_token_id", &parts->bos, e) && get_id(g, p, KEY "eos_token_id", &parts->eos, e);
}

static bool get_flag(const gguf *g, const char *key, bool *flag, err *e)
{
    return !gguf_has(g, key) || gguf_get_bool(g, key, flag, e);
}

/* llama.cpp's tokens have U+2581 before the first piece of a word; all text is in lower case unless told otherwise. */
static bool get_encoder_flags(const gguf *g, gguf_parts *p, err *e)
{
    tokenizer_parts *parts = &p->parts;
    bool suffix = false, bert = parts->kind == TOKENIZER_WORDPIECE;
    parts->first_prefix = (token_text){"\xE2\x96\x81", 3};
    parts->lowercase = parts->clean_text = parts->space_chinese = true;
    parts->no_byte_tokens = true;
    parts->add_bos = bert;
    parts->add_eos = true;
    if (!get_flag(g, KEY "add_bos_token", &parts->add_bos, e) ||
        !get_flag(g, bert ? KEY "add_sep_token" : KEY "add_eos_token", &parts->add_eos, e) ||
        !get_flag(g, KEY "add_space_prefix", &parts->add_space_prefix, e) ||
        !get_flag(g, KEY "remove_extra_whitespaces", &parts->merges_spaces, e) ||
        !get_flag(g, KEY "treat_whitespace_as_suffix", &suffix, e) ||
        !get_flag(g, KEY "normalizer.lowercase", &parts->lowercase, e))
        return false;
    parts->strip_accents = parts->lowercase;
    return !suffix || err_set(e, KEY "treat_whitespace_as_suffix: is not supported");
}

static bool get_flags(const gguf *g, gguf_parts *p, err *e)
{
    if (p->parts.kind == TOKENIZER_WORDPIECE || p->parts.kind == TOKENIZER_UNIGRAM)
        return get_encoder_flags(g, p, e);
    if (p->parts.kind == TOKENIZER_SPM)
        p->parts.add_bos = p->parts.add_space_prefix = true;
    if (p->by_rank)
        p->parts.add_space_prefix = false;
    return get_flag(g, KEY "add_bos_token", &p->parts.add_bos, e) &&
           get_flag(g, KEY "add_eos_token", &p->parts.add_eos, e) &&
           get_flag(g, KEY "add_space_prefix", &p->parts.add_space_prefix, e);
}

static bool contains(gguf_text text, const char *word)
{
    size_t n = strlen(word);
    for (size_t at = 0; at + n <= text.length; at++)
        if (strncasecmp(text.data + at, word, n) == 0)
            return true;
    return false;
}

/* GGUF does not say which tokens take the spaces behind them. Phi-3's do. */
static void guess_strips(const gguf *g, gguf_parts *p)
{
    static const char *const kept[] = {"<unk>", "<s>", "<|endoftext|>"};
    gguf_text name;
    err ignored = {0};
    if (!p->types || !gguf_has(g, "general.name") || !gguf_get_text(g, "general.name", &name, &ignored) ||
        !(contains(name, "phi-3") || contains(name, "phi3")))
        return;
    p->strips = mem_alloc(p->parts.token_count);
    for (size_t i = 0; i < p->parts.token_count; i++) {
        gguf_text text = {p->tokens[i].data, p->tokens[i].length};
        bool special = p->types[i] >= TOKEN_UNKNOWN && p->types[i] <= TOKEN_USER_DEFINED;
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            special = special && !is_text(text, kept[k]);
        p->strips[i] = special || is_text(text, "</s>") ? TOKEN_STRIPS_RIGHT : 0;
    }
    p->parts.strips = p->strips;
}

tokenizer *tokenizer_from_gguf(const gguf *g, err *e)
{
    gguf_parts p = {0};
    tokenizer *t = NULL;
    if (get_kind(g, &p, e) && get_pre(g, &p, e) && get_tokens(g, &p, e) && get_scores(g, &p, e) &&
        get_types(g, &p, e) && get_merges(g, &p, e) && get_charsmap(g, &p, e) && get_ids(g, &p, e) &&
        get_flags(g, &p, e)) {
        guess_strips(g, &p);
        t = own_read(g, &p.parts, &p.own, e) ? tokenizer_new(&p.parts, e) : NULL;
    }
    own_free(&p.own);
    free(p.tokens);
    free(p.scores);
    free(p.charsmap);
    free(p.types);
    free(p.strips);
    free(p.merges);
    return t;
}
