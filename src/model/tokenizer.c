/* tokenizer: making a tokenizer from its parts; its special tokens and its size. */
#include "model/tokenizer.h"
#include "model/tokenizer_internal.h"
#include "model/tokenizer_test.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists of ids ------------------------------------------------------------- */

void token_list_add(token_list *list, int32_t id)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? list->capacity + list->capacity / 2 : 64;
        list->ids = mem_grow(list->ids, list->capacity * sizeof *list->ids);
    }
    list->ids[list->count++] = id;
}

void token_list_free(token_list *list)
{
    free(list->ids);
    *list = (token_list){0};
}

/* ---- special tokens in text ---------------------------------------------------------- */

static bool is_looked_for(const vocab *v, size_t id)
{
    uint8_t type = v->types[id];
    return type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED || type == TOKEN_UNKNOWN;
}

static special special_of(const tokenizer *t, int32_t id)
{
    return (special){t->words.texts[id], id, t->words.types[id] != TOKEN_USER_DEFINED, t->strips[id]};
}

/* Those that the types say. */
static void list_by_type(tokenizer *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->words.count; i++)
        n += is_looked_for(&t->words, i);
    special *list = mem_alloc(n * sizeof *list);
    n = 0;
    for (size_t i = 0; i < t->words.count; i++)
        if (is_looked_for(&t->words, i))
            list[n++] = special_of(t, (int32_t)i);
    specials_init(&t->raw, list, n, false);
    free(list);
}

/* Those that were added, each looked for in the text as it is or as it is normalized. */
static void list_added(tokenizer *t, const tokenizer_parts *parts)
{
    special *list = mem_alloc(parts->added_count * sizeof *list);
    str text = {0};
    for (int normalized = 0; normalized < 2; normalized++) {
        size_t n = 0;
        text.length = 0;
        for (size_t i = 0; i < parts->added_count; i++) {
            const added_token *a = &parts->added[i];
            if (a->normalized != (normalized == 1))
                continue;
            list[n] = special_of(t, a->id);
            if (normalized) {
                size_t start = text.length;
                tokenizer_normalize(t, &(marked_text){a->text.data, a->text.length, false, NULL}, &text, NULL);
                list[n].text = (token_text){NULL, text.length - start};
            } else
                list[n].text = a->text;
            n++;
        }
        /* the text does not move any more */
        for (size_t i = 0, at = 0; normalized && i < n; at += list[i++].text.length)
            list[i].text.data = text.data ? text.data + at : "";
        specials_init(normalized ? &t->normalized : &t->raw, list, n, true);
    }
    str_free(&text);
    free(list);
}

/* ---- making one ------------------------------------------------------------------------------ */

static bool check_id(const tokenizer_parts *parts, const char *what, int32_t id, err *e)
{
    if (id < TOKEN_NONE || (id >= 0 && (size_t)id >= parts->token_count))
        return err_set(e, "the %s token's id is %d, but there are %zu tokens", what, (int)id, parts->token_count);
    return true;
}

static bool check_parts(const tokenizer_parts *parts, err *e)
{
    if (parts->token_count == 0)
        return err_set(e, "the vocabulary is empty");
    if (parts->token_count > TOKENIZER_MAX_TOKENS || parts->merge_count > TOKENIZER_MAX_TOKENS)
        return err_set(e, "the vocabulary is too large: %zu tokens, %zu merges", parts->token_count,
                       parts->merge_count);
    if (parts->kind == TOKENIZER_SPM && !parts->scores && !parts->merge_count)
        return err_set(e, "the vocabulary has no scores and no merges");
    if (parts->kind == TOKENIZER_UNIGRAM && !parts->scores)
        return err_set(e, "the vocabulary has no scores");
    for (size_t i = 0; i < parts->added_count; i++)
        if (parts->added[i].id < 0 || !check_id(parts, "added", parts->added[i].id, e))
            return false;
    for (size_t i = 0; i < parts->end_count; i++)
        if (parts->ends[i] < 0 || !check_id(parts, "end", parts->ends[i], e))
            return false;
    return check_id(parts, "BOS", parts->bos, e) && check_id(parts, "EOS", parts->eos, e) &&
           check_id(parts, "EOT", parts->eot, e) && check_id(parts, "ending", parts->ending, e) &&
           check_id(parts, "unknown", parts->unknown, e) && check_id(parts, "padding", parts->padding, e);
}

tokenizer *tokenizer_new(const tokenizer_parts *parts, err *e)
{
    if (!check_parts(parts, e))
        return NULL;
    const pre_rule *pre = NULL;
    if (parts->kind == TOKENIZER_BPE && !(pre = pre_find(parts->pre.data, parts->pre.length))) {
        err_set(e, "the pre-tokenizer '%.*s' is not known", (int)(parts->pre.length < 64 ? parts->pre.length : 64),
                parts->pre.data);
        return NULL;
    }
    tokenizer *t = mem_alloc(sizeof *t);
    t->kind = parts->kind;
    t->pre = pre;
    t->bos = parts->bos;
    t->eos = parts->eos;
    t->eot = parts->eot;
    t->ending = parts->ending >= 0 ? parts->ending : parts->eos;
    t->unknown = parts->unknown;
    t->padding = parts->padding;
    t->add_bos = parts->add_bos;
    t->add_eos = parts->add_eos;
    t->add_space_prefix = parts->add_space_prefix;
    t->metaspace = parts->metaspace;
    t->nfc = parts->nfc;
    t->prefix_first_only = parts->prefix_first_only;
    t->strips = mem_alloc(parts->token_count);
    if (parts->strips)
        memcpy(t->strips, parts->strips, parts->token_count);
    t->ends = mem_alloc(parts->token_count * sizeof *t->ends);
    vocab_init(&t->words, parts);
    tokenizer_mark_known(t);
    for (size_t i = 0; i < parts->end_count; i++)
        t->ends[parts->ends[i]] = true;
    /* normalizing needs these two */
    bool ok = (t->kind != TOKENIZER_WORDPIECE || wordpiece_init(&t->wordpiece, &t->words, parts, e)) &&
              (t->kind != TOKENIZER_UNIGRAM || unigram_init(&t->unigram, &t->words, parts, e));
    if (!ok) {
        tokenizer_free(t);
        return NULL;
    }
    if (parts->added)
        list_added(t, parts);
    else
        list_by_type(t);
    if (t->kind == TOKENIZER_BPE)
        bpe_init(&t->bpe, &t->words, parts);
    else if (t->kind == TOKENIZER_SPM)
        spm_init(&t->spm, &t->words, parts);
    return t;
}

void tokenizer_free(tokenizer *t)
{
    if (!t)
        return;
    bpe_free(&t->bpe);
    spm_free(&t->spm);
    unigram_free(&t->unigram);
    vocab_free(&t->words);
    free(t->strips);
    free(t->ends);
    specials_free(&t->raw);
    specials_free(&t->normalized);
    free(t);
}

/* ---- its special tokens and its size --------------------------------------------------------- */

size_t tokenizer_size(const tokenizer *t)
{
    return t->words.count;
}

int32_t tokenizer_bos(const tokenizer *t)
{
    return t->bos;
}

int32_t tokenizer_eos(const tokenizer *t)
{
    return t->eos;
}

int32_t tokenizer_eot(const tokenizer *t)
{
    return t->eot;
}

int32_t tokenizer_unknown(const tokenizer *t)
{
    return t->unknown;
}

int32_t tokenizer_padding(const tokenizer *t)
{
    return t->padding;
}

bool tokenizer_adds_bos(const tokenizer *t)
{
    return t->add_bos;
}

bool tokenizer_adds_eos(const tokenizer *t)
{
    return t->add_eos;
}

int32_t tokenizer_ending(const tokenizer *t)
{
    return t->ending;
}

bool tokenizer_ends(const tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->words.count && t->ends[id];
}

uint32_t tokenizer_list_ends(const tokenizer *t, uint32_t ids[TOKENIZER_MAX_ENDS])
{
    uint32_t count = 0;
    for (size_t id = 0; id < t->words.count && count < TOKENIZER_MAX_ENDS; id++)
        if (t->ends[id])
            ids[count++] = (uint32_t)id;
    return count;
}

int32_t tokenizer_find(const tokenizer *t, token_text text)
{
    return vocab_find(&t->words, text.data, text.length);
}
