/* nfc: decomposing, ordering and composing characters. */
#include "model/nfc.h"
#include "model/nfc_tables.h"
#include "model/unicode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tables ---------------------------------------------------------------- */

static const nfc_part *find_parts(uint32_t point)
{
    uint32_t low = 0, high = nfc_part_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (nfc_parts[middle].point < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < nfc_part_count && nfc_parts[low].point == point ? &nfc_parts[low] : NULL;
}

static uint32_t order_of(uint32_t point)
{
    uint32_t low = 0, high = nfc_mark_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (nfc_marks[middle].point < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < nfc_mark_count && nfc_marks[low].point == point ? nfc_marks[low].order : 0;
}

/* Hangul syllables are made of a first, a second and perhaps a third letter by a rule. */
enum {
    SYLLABLE = 0xAC00,
    FIRST = 0x1100,
    SECOND = 0x1161,
    THIRD = 0x11A7,
    FIRSTS = 19,
    SECONDS = 21,
    THIRDS = 28,
    SYLLABLES = FIRSTS * SECONDS * THIRDS
};

/* What two characters become; 0: nothing. */
static uint32_t join(uint32_t left, uint32_t right)
{
    if (left - FIRST < FIRSTS && right - SECOND < SECONDS)
        return SYLLABLE + ((left - FIRST) * SECONDS + (right - SECOND)) * THIRDS;
    if (left - SYLLABLE < SYLLABLES && (left - SYLLABLE) % THIRDS == 0 && right - THIRD - 1 < THIRDS - 1)
        return left + (right - THIRD);
    uint32_t low = 0, high = nfc_pair_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const nfc_pair *p = &nfc_pairs[middle];
        if (p->left < left || (p->left == left && p->right < right))
            low = middle + 1;
        else
            high = middle;
    }
    const nfc_pair *p = &nfc_pairs[low];
    return low < nfc_pair_count && p->left == left && p->right == right ? p->whole : 0;
}

/* ---- taking apart ----------------------------------------------------------------- */

typedef struct letter {
    uint32_t point;
    uint8_t order; /* 0: not a mark that moves */
    char plain;
} letter;

typedef struct letters {
    letter *items;
    size_t count, capacity;
} letters;

static void add_letter(letters *l, uint32_t point, char plain)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 256;
        l->items = mem_grow(l->items, l->capacity * sizeof *l->items);
    }
    l->items[l->count++] = (letter){point, (uint8_t)(point < 0x300 ? 0 : order_of(point)), plain};
}

static void take_apart(letters *l, uint32_t point, char plain)
{
    const nfc_part *parts = point < 0xC0 ? NULL : find_parts(point);
    if (parts) {
        for (uint32_t i = 0; i < parts->count; i++)
            add_letter(l, nfc_pool[parts->first + i], plain);
    } else if (point - SYLLABLE < SYLLABLES) {
        uint32_t n = point - SYLLABLE;
        add_letter(l, FIRST + n / THIRDS / SECONDS, plain);
        add_letter(l, SECOND + n / THIRDS % SECONDS, plain);
        if (n % THIRDS)
            add_letter(l, THIRD + n % THIRDS, plain);
    } else
        add_letter(l, point, plain);
}

/* ---- putting in order, and together -------------------------------------------------- */

/* Marks in a row, by their order, those of the same order as they stand. */
static void sort_run(letter *run, size_t count, letters *scratch)
{
    bool sorted = true;
    for (size_t i = 1; i < count; i++)
        sorted = sorted && run[i - 1].order <= run[i].order;
    if (sorted)
        return;
    if (scratch->capacity < count) {
        scratch->capacity = count;
        scratch->items = mem_grow(scratch->items, count * sizeof *scratch->items);
    }
    size_t starts[NFC_MOST_ORDERS + 1] = {0};
    for (size_t i = 0; i < count; i++)
        starts[run[i].order + 1]++;
    for (int i = 0; i < NFC_MOST_ORDERS; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        scratch->items[starts[run[i].order]++] = run[i];
    memcpy(run, scratch->items, count * sizeof *run);
}

static void put_in_order(letters *l)
{
    letters scratch = {0};
    for (size_t at = 0, end; at < l->count; at = end) {
        end = at + 1;
        if (!l->items[at].order)
            continue;
        while (end < l->count && l->items[end].order)
            end++;
        sort_run(l->items + at, end - at, &scratch);
    }
    free(scratch.items);
}

/* A letter joins the last one that is no mark, unless one between them is in the way. */
static void put_together(letters *l)
{
    size_t out = 0, base = 0;
    bool has_base = false;
    int last = 0; /* the order of the letter before, if it stands between */
    for (size_t i = 0; i < l->count; i++) {
        letter x = l->items[i];
        bool reaches = has_base && (out == base + 1 || (last < x.order && last != 0));
        uint32_t whole = reaches ? join(l->items[base].point, x.point) : 0;
        if (whole) {
            l->items[base].point = whole;
            l->items[base].plain |= x.plain;
            continue;
        }
        if (x.order == 0) {
            base = out;
            has_base = true;
        }
        last = x.order;
        l->items[out++] = x;
    }
    l->count = out;
}

/* ASCII changes in nothing. */
static size_t unchanged_bytes(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && (unsigned char)text[at] < 0x80)
        at++;
    return at;
}

static void add_form(const char *text, size_t bytes, const char *plain, bool together, str *out, str *plain_out)
{
    if (unchanged_bytes(text, bytes) == bytes) {
        str_add_bytes(out, text, bytes);
        if (plain_out)
            str_add_bytes(plain_out, plain, bytes);
        return;
    }
    letters l = {0};
    for (size_t at = 0, length; at < bytes; at += length) {
        uint32_t point = utf8_decode(text + at, bytes - at, &length);
        take_apart(&l, point, plain && memchr(plain + at, 1, length) ? 1 : 0);
    }
    put_in_order(&l);
    if (together)
        put_together(&l);
    for (size_t i = 0; i < l.count; i++) {
        char c[4];
        size_t length = utf8_put(l.items[i].point, c);
        str_add_bytes(out, c, length);
        for (size_t k = 0; plain_out && k < length; k++)
            str_add_bytes(plain_out, &l.items[i].plain, 1);
    }
    free(l.items);
}

void nfc_add(const char *text, size_t bytes, const char *plain, str *out, str *plain_out)
{
    add_form(text, bytes, plain, true, out, plain_out);
}

void nfd_add(const char *text, size_t bytes, const char *plain, str *out, str *plain_out)
{
    add_form(text, bytes, plain, false, out, plain_out);
}
