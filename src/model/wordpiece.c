/* wordpiece: normalizing, cutting into words, and the tokens of a word. */
#include "model/wordpiece.h"
#include "model/casing.h"
#include "model/nfc.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

static bool set_prefix(char to[8], size_t *bytes, token_text prefix)
{
    if (prefix.length > 8)
        return false;
    memcpy(to, prefix.data ? prefix.data : "", prefix.length);
    *bytes = prefix.length;
    return true;
}

bool wordpiece_init(wordpiece *w, const vocab *v, const tokenizer_parts *parts, err *e)
{
    *w = (wordpiece){.words = v,
                     .most_characters = parts->most_characters,
                     .unknown = parts->unknown,
                     .clean = parts->clean_text,
                     .space_chinese = parts->space_chinese,
                     .strip_accents = parts->strip_accents,
                     .lowercase = parts->lowercase};
    if (!set_prefix(w->first, &w->first_bytes, parts->first_prefix) ||
        !set_prefix(w->next, &w->next_bytes, parts->next_prefix))
        return err_set(e, "a prefix of more than 8 bytes before the pieces of a word");
    return w->unknown >= 0 || err_set(e, "there is no token for unknown words");
}

/* ---- normalizing ------------------------------------------------------------------------- */

/* Where a text goes, and what of it is plain. */
typedef struct sink {
    str *text, *plain; /* `plain` may be NULL */
} sink;

static void put(sink to, uint32_t point, char plain)
{
    char c[4];
    size_t length = utf8_put(point, c);
    str_add_bytes(to.text, c, length);
    for (size_t i = 0; to.plain && i < length; i++)
        str_add_bytes(to.plain, &plain, 1);
}

/* The characters that are words by themselves; one range begins as Hugging Face's has it. */
static bool is_chinese(uint32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static bool is_space(uint32_t c)
{
    return unicode_class(c) & UNICODE_SPACE;
}

/* What cleaning takes out; line ends and tabs are spaces. */
static bool is_other(uint32_t c)
{
    return c == 0 || c == UNICODE_REPLACEMENT || (casing_is_unseen(c) && c != '\t' && c != '\n' && c != '\r');
}

static void clean(const wordpiece *w, const char *text, size_t bytes, const char *plain, sink to)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        uint32_t c = utf8_decode(text + at, bytes - at, &length);
        char mark = plain && memchr(plain + at, 1, length) ? 1 : 0;
        if (w->clean && is_other(c))
            continue;
        bool alone = w->space_chinese && is_chinese(c);
        if (alone)
            put(to, ' ', mark);
        put(to, w->clean && is_space(c) ? ' ' : c, mark);
        if (alone)
            put(to, ' ', mark);
    }
}

static void fold(const wordpiece *w, const char *text, size_t bytes, const char *plain, sink to)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        uint32_t c = utf8_decode(text + at, bytes - at, &length), lower[2];
        char mark = plain && memchr(plain + at, 1, length) ? 1 : 0;
        if (w->strip_accents && casing_is_accent(c))
            continue;
        size_t count = w->lowercase ? casing_lower(c, lower) : (lower[0] = c, 1);
        for (size_t i = 0; i < count; i++)
            put(to, lower[i], mark);
    }
}

void wordpiece_normalize(const wordpiece *w, const char *text, size_t bytes, const char *plain, str *out,
                         str *plain_out)
{
    str cleaned = {0}, marks = {0}, apart = {0}, apart_marks = {0};
    bool marked = plain && plain_out;
    clean(w, text, bytes, plain, (sink){&cleaned, marked ? &marks : NULL});
    if (w->strip_accents && cleaned.length) {
        nfd_add(cleaned.data, cleaned.length, marked ? marks.data : NULL, &apart, marked ? &apart_marks : NULL);
        fold(w, apart.data, apart.length, marked ? apart_marks.data : NULL, (sink){out, marked ? plain_out : NULL});
    } else if (cleaned.length)
        fold(w, cleaned.data, cleaned.length, marked ? marks.data : NULL, (sink){out, marked ? plain_out : NULL});
    str_free(&cleaned);
    str_free(&marks);
    str_free(&apart);
    str_free(&apart_marks);
}

/* ---- words and their tokens ------------------------------------------------------------------ */

/* Signs are words by themselves: all of ASCII's, also those that are symbols elsewhere, and punctuation. */
static bool is_sign(uint32_t c)
{
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126) ||
           (c >= 0x80 && (unicode_class(c) & UNICODE_PUNCTUATION));
}

/* The longest token that a word has from `at` on, with what stands before it. Returns its bytes of the word; 0: none. */
static size_t longest(const wordpiece *w, const char *word, size_t bytes, size_t at, int32_t *id)
{
    char text[8 + 1024];
    const char *prefix = at ? w->next : w->first;
    size_t before = at ? w->next_bytes : w->first_bytes, most = sizeof text - before;
    size_t end = bytes - at < most ? bytes - at : most;
    if (w->words->longest_bytes < before)
        return 0;
    if (end > w->words->longest_bytes - before)
        end = w->words->longest_bytes - before;
    memcpy(text, prefix, before);
    memcpy(text + before, word + at, end);
    for (; end; end--)
        if ((at + end == bytes || ((unsigned char)word[at + end] & 0xC0) != 0x80) &&
            (*id = vocab_find(w->words, text, before + end)) >= 0)
            return end;
    return 0;
}

static void encode_word(const wordpiece *w, const char *word, size_t bytes, uint32_t characters, token_list *out)
{
    size_t before = out->count;
    bool known = !w->most_characters || characters <= w->most_characters;
    for (size_t at = 0, length; known && at < bytes; at += length) {
        int32_t id;
        length = longest(w, word, bytes, at, &id);
        known = length > 0;
        if (known)
            token_list_add(out, id);
    }
    if (known)
        return;
    out->count = before;
    token_list_add(out, w->unknown);
}

void wordpiece_encode(const wordpiece *w, const char *text, size_t bytes, token_list *out)
{
    size_t start = 0;
    uint32_t characters = 0;
    for (size_t at = 0, length; at <= bytes; at += length) {
        uint32_t c = at < bytes ? utf8_decode(text + at, bytes - at, &length) : (length = 1, ' ');
        bool sign = is_sign(c);
        if (!sign && !is_space(c)) {
            characters++;
            continue;
        }
        if (at > start)
            encode_word(w, text + start, at - start, characters, out);
        if (sign)
            encode_word(w, text + at, length, 1, out);
        start = at + length;
        characters = 0;
    }
}

void wordpiece_decode(const wordpiece *w, token_text text, str *out)
{
    bool goes_on = w->next_bytes ? text.length > w->next_bytes && memcmp(text.data, w->next, w->next_bytes) == 0
                                 : text.length < w->first_bytes || memcmp(text.data, w->first, w->first_bytes) != 0;
    size_t before = goes_on ? w->next_bytes : w->first_bytes;
    if (!goes_on)
        str_add(out, " ");
    str_add_bytes(out, text.data + before, text.length - before);
}
