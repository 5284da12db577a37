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
    s->words_apart = true;
    for (size_t i = 0; i < v->count; i++)
        if (next_word(v->texts[i].data, v->texts[i].length, 0) < v->texts[i].length)
            s->words_apart = false;
}

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

static void encode_part(const spm *s, merger *m, const char *text, size_t bytes, token_list *out)
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

void spm_encode(const spm *s, merger *m, const char *text, size_t bytes, token_list *out)
{
    for (size_t at = 0, end; at < bytes; at = end) {
        end = s->words_apart ? next_word(text, bytes, at) : bytes;
        encode_part(s, m, text + at, end - at, out);
    }
}

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
