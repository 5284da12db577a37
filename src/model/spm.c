/* spm: merging by score or by rank, with byte tokens for what is not in the vocabulary. */
#include "model/spm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_space(const char *text, size_t bytes)
{
    return bytes >= SPM_SPACE_BYTES && memcmp(text, SPM_SPACE, SPM_SPACE_BYTES) == 0;
}

/* As long as its first byte says, right or wrong. */
static size_t character_bytes(const char *text, size_t bytes)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    return length < bytes ? length : bytes;
}

/* Where the next space begins behind this one. */
static size_t next_space(const char *text, size_t bytes, size_t at)
{
    do
        at += character_bytes(text + at, bytes - at);
    while (at < bytes && !is_space(text + at, bytes - at));
    return at;
}

/* Where the next word begins: a space that follows something else. */
static size_t next_word(const char *text, size_t bytes, size_t at)
{
    while (is_space(text + at, bytes - at))
        at += SPM_SPACE_BYTES;
    while (at < bytes && !is_space(text + at, bytes - at))
        at += character_bytes(text + at, bytes - at);
    return at;
}

void spm_init(spm *s, const vocab *v, const tokenizer_parts *parts)
{
    s->words = v;
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        int32_t id = vocab_find(v, name, 6);
        if (id < 0)
            id = vocab_find(v, &(char){(char)byte}, 1);
        s->byte_ids[byte] = id >= 0 ? id : parts->unknown;
    }
    s->by_rank = !parts->scores;
    s->ignore_merges = parts->ignore_merges;
    s->fuse_unknown = parts->fuse_unknown;
    s->no_byte_tokens = parts->no_byte_tokens;
    s->space_splits = parts->space_splits;
    s->unknown = parts->unknown;
    if (s->by_rank)
        bpe_pairs_init(&s->pairs, v, parts);
    s->words_apart = true;
    for (size_t i = 0; i < v->count; i++)
        if (next_word(v->texts[i].data, v->texts[i].length, 0) < v->texts[i].length)
            s->words_apart = false;
}

void spm_free(spm *s)
{
    bpe_pairs_free(&s->pairs);
}

/* ---- by score -------------------------------------------------------------------- */

typedef struct spm_text {
    const vocab *words;
    const char *bytes;
} spm_text;

/* Floats in falling order as whole numbers in rising order. */
static uint32_t falling(float score)
{
    uint32_t bits;
    score = isnan(score) ? -INFINITY : score + 0.0f; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : ~(bits | 0x80000000u);
}

static bool merge_by_score(const void *context, const merge_symbol *left, const merge_symbol *right, uint32_t *priority,
                           int32_t *id)
{
    const spm_text *t = context;
    *id = vocab_find(t->words, t->bytes + left->start, (size_t)left->length + right->length);
    if (*id < 0)
        return false;
    *priority = falling(t->words->scores[*id]);
    return true;
}

static void encode_by_score(const spm *s, merger *m, const char *text, size_t bytes, token_list *out)
{
    merger_clear(m);
    for (size_t at = 0, length; at < bytes; at += length) {
        length = character_bytes(text + at, bytes - at);
        merger_add(m, (uint32_t)length, TOKEN_NONE);
    }
    merger_run(m, merge_by_score, &(spm_text){s->words, text});
    for (uint32_t i = 0; i < m->count; i++) {
        const merge_symbol *part = &m->symbols[i];
        if (!part->length)
            continue;
        int32_t id = part->id >= 0 ? part->id : vocab_find(s->words, text + part->start, part->length);
        if (id >= 0)
            token_list_add(out, id);
        else
            for (uint32_t b = 0; b < part->length; b++)
                if ((id = s->byte_ids[(unsigned char)text[part->start + b]]) >= 0)
                    token_list_add(out, id);
    }
}

/* ---- by rank ---------------------------------------------------------------------- */

/* A character that is no token: its bytes, or the unknown token. `before` says whether
 * the one before was unknown; returns whether this one is. */
static bool add_strange(const spm *s, merger *m, const char *text, size_t length, bool before)
{
    bool has_bytes = !s->no_byte_tokens;
    for (size_t i = 0; i < length; i++)
        has_bytes = has_bytes && s->byte_ids[(unsigned char)text[i]] != s->unknown;
    if (has_bytes) {
        for (size_t i = 0; i < length; i++)
            merger_add(m, 1, s->byte_ids[(unsigned char)text[i]]);
        return false;
    }
    if (before && s->fuse_unknown)
        m->symbols[m->count - 1].length += (uint32_t)length;
    else
        merger_add(m, (uint32_t)length, s->unknown);
    return true;
}

static void encode_by_rank(const spm *s, merger *m, const char *text, size_t bytes, token_list *out)
{
    merger_clear(m);
    bool strange = false;
    for (size_t at = 0, length; at < bytes; at += length) {
        length = character_bytes(text + at, bytes - at);
        int32_t id = vocab_find(s->words, text + at, length);
        if (id >= 0)
            merger_add(m, (uint32_t)length, id);
        strange = id < 0 && add_strange(s, m, text + at, length, strange);
    }
    merger_run(m, bpe_merge_by_rank, &s->pairs);
    for (uint32_t i = 0; i < m->count; i++)
        if (m->symbols[i].length && m->symbols[i].id >= 0)
            token_list_add(out, m->symbols[i].id);
}

/* ---- texts -------------------------------------------------------------------------- */

static void encode_word(const spm *s, merger *m, const char *text, size_t bytes, token_list *out)
{
    int32_t whole = s->ignore_merges ? vocab_find(s->words, text, bytes) : TOKEN_NONE;
    if (whole >= 0) {
        token_list_add(out, whole);
        return;
    }
    for (size_t at = 0, end; at < bytes; at = end) {
        end = s->words_apart ? next_word(text, bytes, at) : bytes;
        (s->by_rank ? encode_by_rank : encode_by_score)(s, m, text + at, end - at, out);
    }
}

void spm_encode(const spm *s, merger *m, const char *text, size_t bytes, token_list *out)
{
    for (size_t at = 0, end; at < bytes; at = end) {
        end = s->space_splits ? next_space(text, bytes, at) : bytes;
        encode_word(s, m, text + at, end - at, out);
    }
}

/* ---- back to text --------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

void spm_decode(token_text text, bool is_byte, str *out)
{
    if (is_byte) {
        if (text.length == 6 && memcmp(text.data, "<0x", 3) == 0 && hex_digit(text.data[3]) >= 0 &&
            hex_digit(text.data[4]) >= 0)
            str_add_bytes(out, &(char){(char)(hex_digit(text.data[3]) * 16 + hex_digit(text.data[4]))}, 1);
        return;
    }
    for (size_t at = 0; at < text.length;) {
        if (is_space(text.data + at, text.length - at)) {
            str_add_bytes(out, " ", 1);
            at += SPM_SPACE_BYTES;
        } else
            str_add_bytes(out, text.data + at++, 1);
    }
}
