/* specials: finding the special tokens in a text, and cutting it at them. */
#include "model/specials.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- the lists ---------------------------------------------------------------- */

static int longer_first(const void *a, const void *b)
{
    const special *x = a, *y = b;
    if (x->text.length != y->text.length)
        return x->text.length > y->text.length ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static token_text text_at(const specials *s, int32_t place)
{
    return s->items[place].text;
}

typedef struct placed {
    token_text text;
    int32_t place;
} placed;

static int as_written(const void *a, const void *b)
{
    const placed *p = a, *q = b;
    token_text x = p->text, y = q->text;
    int order = memcmp(x.data, y.data, x.length < y.length ? x.length : y.length);
    if (order)
        return order;
    /* of the same text the first token comes first */
    return x.length != y.length ? (x.length < y.length ? -1 : 1) : p->place < q->place ? -1 : p->place > q->place;
}

static void sort_by_text(specials *s)
{
    placed *all = mem_alloc(s->count * sizeof *all);
    for (size_t i = 0; i < s->count; i++)
        all[i] = (placed){text_at(s, (int32_t)i), (int32_t)i};
    qsort(all, s->count, sizeof *all, as_written);
    for (size_t i = 0; i < s->count; i++)
        s->by_text[i] = all[i].place;
    free(all);
}

void specials_init(specials *s, const special *items, size_t count, bool leftmost)
{
    *s = (specials){.leftmost = leftmost};
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += items[i].text.length;
    s->items = mem_alloc(count * sizeof *s->items);
    s->by_text = mem_alloc(count * sizeof *s->by_text);
    s->bytes = mem_alloc(bytes);
    char *at = s->bytes;
    for (size_t i = 0; i < count; i++) {
        if (items[i].text.length == 0)
            continue;
        special *copy = &s->items[s->count++];
        *copy = items[i];
        memcpy(at, items[i].text.data, items[i].text.length);
        copy->text.data = at;
        at += copy->text.length;
    }
    qsort(s->items, s->count, sizeof *s->items, longer_first);
    sort_by_text(s);
    for (size_t i = 0; i < s->count; i++)
        s->by_first[(unsigned char)text_at(s, s->by_text[i]).data[0] + 1]++;
    for (int i = 0; i < 256; i++)
        s->by_first[i + 1] += s->by_first[i];
}

void specials_free(specials *s)
{
    free(s->items);
    free(s->by_text);
    free(s->bytes);
    *s = (specials){0};
}

/* ---- finding -------------------------------------------------------------------- */

/* The first of by_text[low .. high) whose byte at `depth` is at least `byte`. */
static uint32_t first_with(const specials *s, uint32_t low, uint32_t high, size_t depth, int byte)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((unsigned char)text_at(s, s->by_text[middle]).data[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Those of by_text that begin as the text at `at` does, as more of it is looked at. */
typedef struct narrowing {
    uint32_t low, high;
    size_t depth;
} narrowing;

static narrowing begin_at(const specials *s, const char *text, size_t at)
{
    unsigned char first = (unsigned char)text[at];
    return (narrowing){s->by_first[first], s->by_first[first + 1], 1};
}

/* Take in one more byte; false once none is left. Those that end here were at the
 * beginning of the range and must have been passed over. */
static bool narrow(const specials *s, narrowing *n, const char *text, size_t at, size_t bytes)
{
    if (n->low == n->high || at + n->depth == bytes)
        return false;
    int byte = (unsigned char)text[at + n->depth];
    n->high = first_with(s, n->low, n->high, n->depth, byte + 1);
    n->low = first_with(s, n->low, n->high, n->depth, byte);
    n->depth++;
    return n->low < n->high;
}

static bool ends_here(const specials *s, const narrowing *n)
{
    return n->low < n->high && text_at(s, s->by_text[n->low]).length == n->depth;
}

static bool may_be(const marked_text *text, const special *token, size_t at)
{
    if (!token->control)
        return true;
    if (text->all_plain)
        return false;
    return !text->plain || !memchr(text->plain + at, 1, token->text.length);
}

/* ---- cutting --------------------------------------------------------------------- */

static void add_fragment(fragments *f, fragment item)
{
    if (item.id < 0 && item.length == 0)
        return;
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 16;
        f->items = mem_grow(f->items, f->capacity * sizeof *f->items);
    }
    f->items[f->count++] = item;
}

/* White space that ends at `end`, back to `start` at most. */
static size_t space_before(const char *text, size_t start, size_t end)
{
    while (end > start) {
        size_t at = end - 1, length;
        while (at > start && end - at < 4 && ((unsigned char)text[at] & 0xC0) == 0x80)
            at--;
        uint32_t point = utf8_decode(text + at, end - at, &length);
        if (at + length != end || !(unicode_class(point) & UNICODE_SPACE))
            break;
        end = at;
    }
    return end;
}

static size_t space_after(const char *text, size_t at, size_t end)
{
    for (size_t length; at < end; at += length)
        if (!(unicode_class(utf8_decode(text + at, end - at, &length)) & UNICODE_SPACE))
            break;
    return at;
}

/* The token found at `at`, and the text since `rest`. Returns where the text goes on. */
static size_t take(const char *text, size_t rest, size_t at, size_t end, const special *token, fragments *out)
{
    size_t right = at + token->text.length;
    if (token->strips & TOKEN_STRIPS_LEFT)
        at = space_before(text, rest, at);
    if (token->strips & TOKEN_STRIPS_RIGHT)
        right = space_after(text, right, end);
    if (at > rest)
        add_fragment(out, (fragment){rest, at - rest, TOKEN_NONE});
    add_fragment(out, (fragment){at, 0, token->id});
    return right;
}

static void cut_leftmost(const specials *s, const marked_text *text, fragments *out)
{
    size_t rest = 0;
    for (size_t at = 0; at < text->bytes;) {
        const special *found = NULL;
        narrowing n = begin_at(s, text->data, at);
        do {
            for (bool first = true; ends_here(s, &n); n.low++, first = false)
                if (first && may_be(text, &s->items[s->by_text[n.low]], at))
                    found = &s->items[s->by_text[n.low]];
        } while (narrow(s, &n, text->data, at, text->bytes));
        if (found)
            rest = take(text->data, rest, at, text->bytes, found, out);
        /* a token of spaces is found even where the one before strips them */
        at += found ? found->text.length : 1;
    }
    if (rest < text->bytes)
        add_fragment(out, (fragment){rest, text->bytes - rest, TOKEN_NONE});
}

/* Which may be in the text: by their first bytes, all at once. */
static void note_seen(const specials *s, const marked_text *text, bool *seen)
{
    enum { DEPTH = 32 };
    for (size_t at = 0; at < text->bytes; at++) {
        narrowing n = begin_at(s, text->data, at);
        do {
            for (; ends_here(s, &n) || (n.low < n.high && n.depth == DEPTH); n.low++)
                seen[s->by_text[n.low]] = true;
        } while (narrow(s, &n, text->data, at, text->bytes));
    }
}

static void cut_at_one(const marked_text *text, fragment piece, const special *token, fragments *out)
{
    size_t rest = piece.start, at = piece.start, end = piece.start + piece.length;
    const char *found;
    while (at < end && (found = memmem(text->data + at, end - at, token->text.data, token->text.length))) {
        at = (size_t)(found - text->data);
        if (may_be(text, token, at))
            at = rest = take(text->data, rest, at, end, token, out);
        else
            at++;
    }
    add_fragment(out, (fragment){rest, end - rest, TOKEN_NONE});
}

/* The longest are cut out first, wherever they are; then the next ones from what is
 * left between them. */
static void cut_longest(const specials *s, const marked_text *text, fragments *out)
{
    fragments now = {0}, next = {0};
    bool *seen = mem_alloc(s->count * sizeof *seen);
    note_seen(s, text, seen);
    add_fragment(&now, (fragment){0, text->bytes, TOKEN_NONE});
    for (size_t i = 0; i < s->count; i++) {
        if (!seen[i] || (text->all_plain && s->items[i].control))
            continue;
        next.count = 0;
        for (size_t k = 0; k < now.count; k++) {
            if (now.items[k].id >= 0)
                add_fragment(&next, now.items[k]);
            else
                cut_at_one(text, now.items[k], &s->items[i], &next);
        }
        fragments swap = now;
        now = next;
        next = swap;
    }
    for (size_t k = 0; k < now.count; k++)
        add_fragment(out, now.items[k]);
    free(seen);
    free(now.items);
    free(next.items);
}

void specials_cut(const specials *s, const marked_text *text, fragments *out)
{
    if (s->leftmost)
        cut_leftmost(s, text, out);
    else
        cut_longest(s, text, out);
}
