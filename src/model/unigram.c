/* unigram: the map of characters, spaces, and the likeliest way to cut a text. */
#include "model/unigram.h"
#include "model/casing.h"
#include "model/spm.h"
#include "model/unicode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHEME_BYTES = 6 }; /* longer ones are looked up character by character */

/* ---- making ------------------------------------------------------------------------------- */

typedef struct entry {
    token_text text;
    uint32_t id;
} entry;

static int by_text(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    size_t least = x->text.length < y->text.length ? x->text.length : y->text.length;
    int order = memcmp(x->text.data, y->text.data, least);
    if (order || x->text.length != y->text.length)
        return order ? order : x->text.length < y->text.length ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

static bool is_found(const unigram *u, uint32_t id)
{
    uint8_t type = u->words->types[id];
    return u->words->texts[id].length &&
           (u->from_json || type == TOKEN_NORMAL || type == TOKEN_USER_DEFINED || type == TOKEN_UNUSED);
}

static void sort_words(unigram *u)
{
    const vocab *v = u->words;
    double least = 0;
    entry *entries = mem_alloc(v->count * sizeof *entries);
    for (size_t i = 0; i < v->count; i++) {
        if (is_found(u, (uint32_t)i))
            entries[u->sorted_count++] = (entry){v->texts[i], (uint32_t)i};
        if (v->scores[i] < least && (u->from_json || v->types[i] == TOKEN_NORMAL))
            least = v->scores[i];
    }
    u->unknown_score = least - 10;
    qsort(entries, u->sorted_count, sizeof *entries, by_text);
    u->sorted = mem_alloc(v->count * sizeof *u->sorted);
    for (size_t i = 0; i < u->sorted_count; i++)
        u->sorted[i] = entries[i].id;
    free(entries);
}

static bool take_charsmap(unigram *u, token_text map, err *e)
{
    const unsigned char *b = (const unsigned char *)map.data;
    if (map.length == 0)
        return true;
    uint64_t trie = map.length < 4 ? 0 : b[0] | b[1] << 8 | b[2] << 16 | (uint64_t)b[3] << 24;
    if (map.length < 4 || trie % 4 || trie > map.length - 4)
        return err_set(e, "the precompiled map of characters is cut or damaged");
    u->charsmap = mem_alloc(map.length);
    memcpy(u->charsmap, map.data, map.length);
    u->charsmap_bytes = map.length;
    u->trie_units = (size_t)trie / 4;
    return true;
}

bool unigram_init(unigram *u, const vocab *v, const tokenizer_parts *parts, err *e)
{
    *u = (unigram){.words = v,
                   .unknown = parts->unknown,
                   .from_json = parts->by_graphemes,
                   .strips_start = parts->strips_start,
                   .strips_end = parts->strips_end,
                   .merges_spaces = parts->merges_spaces,
                   .whitespace_splits = parts->whitespace_splits,
                   .add_prefix = parts->add_space_prefix,
                   .prefix_first_only = parts->prefix_first_only,
                   .space_splits = parts->space_splits,
                   .has_bytes = !parts->no_byte_tokens};
    if (u->unknown < 0)
        return err_set(e, "there is no unknown token");
    for (size_t i = 0; i < v->count; i++)
        if (!isfinite(v->scores[i]))
            return err_set(e, "the score of token %zu is not a number", i);
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        u->byte_ids[byte] = vocab_find(v, name, 6);
        u->has_bytes = u->has_bytes && u->byte_ids[byte] >= 0;
    }
    sort_words(u);
    return take_charsmap(u, parts->charsmap, e);
}

void unigram_free(unigram *u)
{
    free(u->sorted);
    free(u->charsmap);
}

/* ---- the map of characters ------------------------------------------------------------------- */

/* A unit of the trie; one beyond its end is like none. */
static uint32_t unit_at(const unigram *u, uint32_t i)
{
    if (i >= u->trie_units)
        return 0;
    const unsigned char *b = (const unsigned char *)u->charsmap + 4 + (size_t)4 * i;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint32_t offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & 0x200) >> 6);
}

/* The text that stands for the shortest, or the longest, beginning of `text` that the map has. `*taken`: its bytes. */
static const char *look_up(const unigram *u, const char *text, size_t bytes, bool shortest, size_t *taken)
{
    uint32_t at = offset_of(unit_at(u, 0));
    size_t texts = 4 + 4 * u->trie_units;
    const char *found = NULL;
    for (size_t i = 0; u->trie_units && i < bytes && text[i]; i++) {
        at ^= (unsigned char)text[i];
        uint32_t unit = unit_at(u, at);
        if ((unit & 0x800000FF) != (unsigned char)text[i])
            break;
        at ^= offset_of(unit);
        size_t place = texts + (unit_at(u, at) & 0x7FFFFFFF);
        if (!(unit >> 8 & 1) || place >= u->charsmap_bytes ||
            !memchr(u->charsmap + place, 0, u->charsmap_bytes - place))
            continue;
        found = u->charsmap + place;
        *taken = i + 1;
        if (shortest)
            break;
    }
    return found;
}

/* Does this character go on with the one before it? */
static bool extends(uint32_t c)
{
    return (unicode_class(c) & UNICODE_MARK) || c == 0x200C || c == 0x200D || (c >= 0x1F3FB && c <= 0x1F3FF) ||
           c == 0xFF9E || c == 0xFF9F;
}

/* Nothing goes on with these; characters of private use are like letters. */
static bool is_control(uint32_t c)
{
    bool is_private = (c >= 0xE000 && c <= 0xF8FF) || c >= 0xF0000;
    return c == 0x2028 || c == 0x2029 || (casing_is_unseen(c) && !is_private && c != 0x200C && c != 0x200D);
}

static size_t grapheme_bytes(const char *text, size_t bytes)
{
    size_t length, more;
    uint32_t c = utf8_decode(text, bytes, &length);
    if (c == '\r' && bytes > 1 && text[1] == '\n')
        return 2;
    while (!is_control(c) && length < bytes && extends(utf8_decode(text + length, bytes - length, &more)))
        length += more;
    return length;
}

typedef struct sink {
    str *text, *plain; /* `plain` may be NULL */
} sink;

static void put(sink to, const char *text, size_t bytes, char plain)
{
    str_add_bytes(to.text, text, bytes);
    for (size_t i = 0; to.plain && i < bytes; i++)
        str_add_bytes(to.plain, &plain, 1);
}

static void put_character(const char *text, size_t bytes, char plain, sink to)
{
    size_t length;
    char c[4];
    put(to, c, utf8_put(utf8_decode(text, bytes, &length), c), plain);
}

/* As Hugging Face does it: a short grapheme becomes what its shortest beginning does, whatever else it has. */
static void map_graphemes(const unigram *u, const char *text, size_t bytes, const char *plain, sink to)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        length = grapheme_bytes(text + at, bytes - at);
        size_t taken, one;
        const char *whole = length < GRAPHEME_BYTES ? look_up(u, text + at, length, true, &taken) : NULL;
        if (whole) {
            put(to, whole, strlen(whole), plain && memchr(plain + at, 1, length) ? 1 : 0);
            continue;
        }
        for (size_t i = 0; i < length; i += one) {
            utf8_decode(text + at + i, length - i, &one);
            const char *by = look_up(u, text + at + i, one, true, &taken);
            char mark = plain && memchr(plain + at + i, 1, one) ? 1 : 0;
            if (by)
                put(to, by, strlen(by), mark);
            else
                put_character(text + at + i, length - i, mark, to);
        }
    }
}

/* As SentencePiece does it: the longest that the map has, wherever it ends. */
static void map_longest(const unigram *u, const char *text, size_t bytes, const char *plain, sink to)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        const char *by = look_up(u, text + at, bytes - at, false, &length);
        if (!by)
            utf8_decode(text + at, bytes - at, &length);
        char mark = plain && memchr(plain + at, 1, length) ? 1 : 0;
        if (by)
            put(to, by, strlen(by), mark);
        else
            put_character(text + at, bytes - at, mark, to);
    }
}

/* ---- spaces ------------------------------------------------------------------------------------ */

static bool is_white(const char *text, size_t bytes, size_t *length)
{
    return unicode_class(utf8_decode(text, bytes, length)) & UNICODE_SPACE;
}

/* Whitespace at the ends goes, and spaces in a row become one. */
static void merge_spaces(const unigram *u, const str *text, const str *plain, sink to)
{
    size_t start = 0, end = text->length, length;
    while (u->strips_start && start < end && is_white(text->data + start, end - start, &length))
        start += length;
    for (size_t at = start, last = start; u->strips_end && at < text->length; at += length) {
        if (!is_white(text->data + at, text->length - at, &length))
            last = at + length;
        end = last;
    }
    for (size_t at = start; at < end; at++)
        if (!u->merges_spaces || text->data[at] != ' ' || at == start || text->data[at - 1] != ' ')
            put(to, text->data + at, 1, plain->data ? plain->data[at] : 0);
}

/* llama.cpp's: spaces in a row are one where the file says so, and then none is at the end; U+2581 is put first. */
static void mark_spaces(const unigram *u, const str *text, const str *plain, sink to)
{
    bool prefixed = false, in_word = false;
    for (size_t at = 0; at < text->length; at++) {
        char mark = plain->data ? plain->data[at] : 0;
        bool space = text->data[at] == ' ';
        if (space ? !u->merges_spaces : !in_word && ((u->add_prefix && !prefixed) || u->merges_spaces)) {
            put(to, SPM_SPACE, SPM_SPACE_BYTES, mark);
            prefixed = prefixed || !space;
        }
        if (!space)
            put(to, text->data + at, 1, mark);
        in_word = !space;
    }
}

void unigram_normalize(const unigram *u, const char *text, size_t bytes, const char *plain, str *out, str *plain_out)
{
    str mapped = {0}, marks = {0};
    bool marked = plain && plain_out;
    sink between = {&mapped, marked ? &marks : NULL}, to = {out, marked ? plain_out : NULL};
    (u->from_json ? map_graphemes : map_longest)(u, text, bytes, plain, between);
    (u->from_json ? merge_spaces : mark_spaces)(u, &mapped, &marks, to);
    str_free(&mapped);
    str_free(&marks);
}

/* ---- the likeliest tokens ------------------------------------------------------------------------- */

/* Of those that share `depth` bytes, the first whose next byte is at least `byte`. */
static size_t first_with(const unigram *u, size_t low, size_t high, size_t depth, unsigned byte)
{
    while (low < high) {
        size_t middle = (low + high) / 2;
        token_text t = u->words->texts[u->sorted[middle]];
        if (t.length <= depth || (unsigned char)t.data[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The best way to a place in the text: its last token, and where that begins. */
typedef struct path {
    double score;
    size_t from;
    int32_t id; /* TOKEN_NONE: no way leads here */
} path;

static void offer(path *to, double score, size_t from, int32_t id)
{
    if (to->id == TOKEN_NONE || score > to->score)
        *to = (path){score, from, id};
}

static void offer_all(const unigram *u, const char *text, size_t bytes, size_t at, path *paths)
{
    size_t low = 0, high = u->sorted_count, character;
    bool single = false;
    utf8_decode(text + at, bytes - at, &character);
    for (size_t depth = 0; at + depth < bytes && low < high; depth++) {
        unsigned byte = (unsigned char)text[at + depth];
        low = first_with(u, low, high, depth, byte);
        high = byte < 255 ? first_with(u, low, high, depth, byte + 1) : high;
        if (low == high || u->words->texts[u->sorted[low]].length != depth + 1)
            continue;
        int32_t id = (int32_t)u->sorted[low];
        double score = !u->from_json && u->words->types[id] == TOKEN_USER_DEFINED ? 0 : (double)u->words->scores[id];
        offer(&paths[at + depth + 1], paths[at].score + score, at, id);
        single = single || depth + 1 == character;
    }
    if (!single)
        offer(&paths[at + character], paths[at].score + u->unknown_score, at, u->unknown);
}

/* Unknown tokens in a row are one, or the bytes of what they stand for. */
static void add_unknown(const unigram *u, const char *text, size_t bytes, token_list *out)
{
    for (size_t i = 0; u->has_bytes && i < bytes; i++)
        token_list_add(out, u->byte_ids[(unsigned char)text[i]]);
    if (!u->has_bytes)
        token_list_add(out, u->unknown);
}

static void encode_piece(const unigram *u, const char *text, size_t bytes, token_list *out)
{
    if (!bytes)
        return;
    path *paths = mem_alloc((bytes + 1) * sizeof *paths);
    size_t *starts = mem_alloc((bytes + 1) * sizeof *starts), count = 0, character;
    for (size_t i = 1; i <= bytes; i++)
        paths[i].id = TOKEN_NONE;
    for (size_t at = 0; at < bytes; at += character) {
        utf8_decode(text + at, bytes - at, &character);
        offer_all(u, text, bytes, at, paths);
    }
    for (size_t at = bytes; at; at = paths[at].from)
        starts[count++] = at;
    size_t strange = bytes + 1; /* where unknown tokens in a row begin */
    while (count--) {
        const path *p = &paths[starts[count]];
        bool unknown = p->id == u->unknown;
        if (unknown && strange > bytes)
            strange = p->from;
        if (strange <= bytes && !unknown) {
            add_unknown(u, text + strange, p->from - strange, out);
            strange = bytes + 1;
        }
        if (!unknown)
            token_list_add(out, p->id);
    }
    if (strange <= bytes)
        add_unknown(u, text + strange, bytes - strange, out);
    free(paths);
    free(starts);
}

static bool is_mark(const char *text, size_t bytes)
{
    return bytes >= SPM_SPACE_BYTES && memcmp(text, SPM_SPACE, SPM_SPACE_BYTES) == 0;
}

/* A word of Hugging Face's: U+2581 for spaces, one before it, and cut where they are. */
static void encode_marked(const unigram *u, const char *text, size_t bytes, bool at_start, token_list *out)
{
    str marked = {0};
    bool has_mark = bytes && (text[0] == ' ' || is_mark(text, bytes));
    if (u->add_prefix && !has_mark && (at_start || !u->prefix_first_only))
        str_add(&marked, SPM_SPACE);
    for (size_t i = 0; i < bytes; i++)
        str_add_bytes(&marked, text[i] == ' ' ? SPM_SPACE : text + i, text[i] == ' ' ? SPM_SPACE_BYTES : 1);
    for (size_t at = 0, end; at < marked.length; at = end) {
        end = u->space_splits ? at + 1 : marked.length;
        while (end < marked.length && !is_mark(marked.data + end, marked.length - end))
            end++;
        encode_piece(u, marked.data + at, end - at, out);
    }
    str_free(&marked);
}

void unigram_encode(const unigram *u, const char *text, size_t bytes, bool at_start, token_list *out)
{
    if (!u->from_json) {
        encode_piece(u, text, bytes, out);
        return;
    }
    size_t start = 0, length;
    if (!u->whitespace_splits) {
        encode_marked(u, text, bytes, at_start, out);
        return;
    }
    for (size_t at = 0; at <= bytes; at += length) {
        bool white = at == bytes || is_white(text + at, bytes - at, &length);
        if (at == bytes)
            length = 1;
        if (!white)
            continue;
        if (at > start)
            encode_marked(u, text + start, at - start, at_start && start == 0, out);
        start = at + length;
    }
}
