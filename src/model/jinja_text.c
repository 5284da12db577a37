/* jinja_text: texts whose bytes have marks. A text is a part of a block; blocks only grow at their end, so that a text
 * which many pieces are added to is not copied each time. */
#include "model/jinja_internal.h"
#include "model/unicode.h"

#include <string.h>

/* ---- building ---------------------------------------------------------------------------- */

static jinja_block *new_block(jinja_core *k, size_t capacity)
{
    if (capacity > UINT32_MAX / 2 || !jinja_has_room(k, 2 * capacity + sizeof(jinja_block)))
        return NULL;
    jinja_block *b = jinja_alloc(k, sizeof *b);
    b->capacity = (uint32_t)capacity;
    b->data = jinja_alloc(k, 2 * capacity);
    b->marks = b->data + capacity;
    return b;
}

/* Room for `length` more; false: the core has failed. */
static bool make_room(jinja_builder *b, size_t length)
{
    size_t used = b->block ? b->block->used : 0;
    if (!jinja_step(b->k, length / 64 + 1))
        return false;
    if (b->block && b->block->capacity - used >= length)
        return true;
    jinja_block *larger = new_block(b->k, used ? 2 * (used + length) : length);
    if (!larger)
        return jinja_fail(b->k, "a text is too long");
    if (used) {
        memcpy(larger->data, b->block->data, used);
        memcpy(larger->marks, b->block->marks, used);
    }
    larger->used = (uint32_t)used;
    b->block = larger;
    return true;
}

void jinja_add(jinja_builder *b, const char *bytes, size_t length, bool plain)
{
    if (length == 0 || !make_room(b, length))
        return;
    memcpy(b->block->data + b->block->used, bytes, length);
    memset(b->block->marks + b->block->used, plain, length);
    b->block->used += (uint32_t)length;
}

void jinja_add_word(jinja_builder *b, const char *word)
{
    jinja_add(b, word, strlen(word), false);
}

void jinja_add_text(jinja_builder *b, jinja_text t)
{
    if (t.length == 0 || !make_room(b, t.length))
        return;
    memcpy(b->block->data + b->block->used, t.block->data + t.start, t.length);
    memcpy(b->block->marks + b->block->used, t.block->marks + t.start, t.length);
    b->block->used += t.length;
}

void jinja_add_point(jinja_builder *b, uint32_t point, bool plain)
{
    char bytes[4];
    jinja_add(b, bytes, utf8_put(point, bytes), plain);
}

jinja_text jinja_built(const jinja_builder *b)
{
    return (jinja_text){b->block, 0, b->block ? b->block->used : 0};
}

jinja_text jinja_text_of(jinja_core *k, const char *bytes, size_t length, bool plain)
{
    jinja_builder b = {k, NULL};
    jinja_add(&b, bytes, length, plain);
    return jinja_built(&b);
}

jinja_text jinja_join(jinja_core *k, jinja_text a, jinja_text b)
{
    if (a.length == 0 || b.length == 0)
        return a.length ? a : b;
    /* behind the end of its block: room that is nobody's */
    jinja_builder to = {k, NULL};
    if (a.start + a.length == a.block->used && a.block->capacity - a.block->used >= b.length) {
        to.block = a.block;
        jinja_add_text(&to, b);
        return k->failed ? a : (jinja_text){a.block, a.start, a.length + b.length};
    }
    jinja_add_text(&to, a);
    jinja_add_text(&to, b);
    return jinja_built(&to);
}

/* ---- comparing and finding ----------------------------------------------------------------- */

bool jinja_same(jinja_text a, jinja_text b)
{
    return a.length == b.length && memcmp(jinja_bytes(a), jinja_bytes(b), a.length) == 0;
}

bool jinja_is(jinja_text a, const char *word)
{
    return a.length == strlen(word) && memcmp(jinja_bytes(a), word, a.length) == 0;
}

/* Bytes of UTF-8 are in the order of the characters. */
int jinja_order(jinja_text a, jinja_text b)
{
    int order = memcmp(jinja_bytes(a), jinja_bytes(b), a.length < b.length ? a.length : b.length);
    return order ? order : a.length < b.length ? -1 : a.length > b.length;
}

size_t jinja_find(jinja_core *k, jinja_text in, jinja_text what, size_t from)
{
    if (from > in.length || !jinja_step(k, (in.length - from) / 64 + 1))
        return SIZE_MAX;
    if (what.length == 0)
        return from;
    const char *at = in.length - from < what.length
                         ? NULL
                         : memmem(jinja_bytes(in) + from, in.length - from, jinja_bytes(what), what.length);
    return at ? (size_t)(at - jinja_bytes(in)) : SIZE_MAX;
}

size_t jinja_find_last(jinja_core *k, jinja_text in, jinja_text what)
{
    if (what.length > in.length || !jinja_step(k, in.length / 16 + 1))
        return SIZE_MAX;
    for (size_t at = in.length - what.length + 1; at-- > 0;)
        if (memcmp(jinja_bytes(in) + at, jinja_bytes(what), what.length) == 0)
            return at;
    return SIZE_MAX;
}

bool jinja_starts(jinja_text t, jinja_text with)
{
    return t.length >= with.length && jinja_same(jinja_part(t, 0, with.length), with);
}

bool jinja_ends(jinja_text t, jinja_text with)
{
    return t.length >= with.length && jinja_same(jinja_part(t, t.length - with.length, with.length), with);
}

jinja_text jinja_replace(jinja_core *k, jinja_text t, jinja_text old, jinja_text by, int64_t most)
{
    jinja_builder b = {k, NULL};
    size_t at = 0, length;
    while (most != 0 && !k->failed) {
        size_t found = jinja_find(k, t, old, at);
        if (found == SIZE_MAX)
            break;
        if (old.length) {
            jinja_add_text(&b, jinja_part(t, at, found - at));
            jinja_add_text(&b, by);
            at = found + old.length;
        } else { /* between all characters */
            jinja_add_text(&b, by);
            if (at >= t.length)
                return jinja_built(&b);
            utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
            jinja_add_text(&b, jinja_part(t, at, length));
            at += length;
        }
        most -= most > 0;
    }
    if (at == 0)
        return t;
    jinja_add_text(&b, jinja_part(t, at, t.length - at));
    return jinja_built(&b);
}

/* ---- characters --------------------------------------------------------------------------------- */

bool jinja_is_space(uint32_t point)
{
    return (point >= 0x1C && point <= 0x1F) || (unicode_class(point) & UNICODE_SPACE);
}

size_t jinja_count_points(jinja_core *k, jinja_text t)
{
    size_t count = 0;
    jinja_step(k, t.length / 64);
    for (size_t at = 0, length; at < t.length; at += length, count++)
        utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
    return count;
}

size_t jinja_point_at(jinja_text t, size_t number)
{
    size_t at = 0;
    for (size_t length; number > 0 && at < t.length; at += length, number--)
        utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
    return at;
}

/* Where the last character begins. */
static size_t last_point(jinja_text t)
{
    size_t at = t.length - 1, length;
    const char *bytes = jinja_bytes(t);
    while (at > 0 && t.length - at < 4 && ((unsigned char)bytes[at] & 0xC0) == 0x80)
        at--;
    utf8_decode(bytes + at, t.length - at, &length);
    return at + length == t.length ? at : t.length - 1;
}

static bool is_stripped(jinja_text point, const jinja_text *chars)
{
    size_t length;
    if (!chars)
        return jinja_is_space(utf8_decode(jinja_bytes(point), point.length, &length));
    for (size_t at = 0; at < chars->length; at += length) {
        utf8_decode(jinja_bytes(*chars) + at, chars->length - at, &length);
        if (jinja_same(jinja_part(*chars, at, length), point))
            return true;
    }
    return false;
}

jinja_text jinja_strip(jinja_text t, const jinja_text *chars, bool left, bool right)
{
    size_t length;
    while (left && t.length) {
        utf8_decode(jinja_bytes(t), t.length, &length);
        if (!is_stripped(jinja_part(t, 0, length), chars))
            break;
        t = jinja_part(t, length, t.length - length);
    }
    while (right && t.length) {
        size_t at = last_point(t);
        if (!is_stripped(jinja_part(t, at, t.length - at), chars))
            break;
        t = jinja_part(t, 0, at);
    }
    return t;
}

/* Python's str.splitlines: more than "\n" ends a line. */
size_t jinja_line_length(jinja_text t, size_t from, size_t *whole)
{
    for (size_t at = from, length; at < t.length; at += length) {
        uint32_t point = utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
        if ((point >= 0x0A && point <= 0x0D) || (point >= 0x1C && point <= 0x1E) || point == 0x85 || point == 0x2028 ||
            point == 0x2029) {
            bool pair = point == '\r' && at + 1 < t.length && jinja_bytes(t)[at + 1] == '\n';
            *whole = at + length + pair - from;
            return at - from;
        }
    }
    *whole = t.length - from;
    return *whole;
}

jinja_text jinja_escape(jinja_core *k, jinja_text t)
{
    static const char special[] = "&<>'\"", *const by[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    jinja_builder b = {k, NULL};
    for (size_t i = 0; i < t.length && !k->failed; i++) {
        char c = jinja_bytes(t)[i];
        const char *found = c ? strchr(special, c) : NULL;
        if (found)
            jinja_add(&b, by[found - special], strlen(by[found - special]), t.block->marks[t.start + i]);
        else
            jinja_add_text(&b, jinja_part(t, i, 1));
    }
    return jinja_built(&b);
}

/* ---- upper and lower case -------------------------------------------------------------------------- */

/* The other case of a letter. Latin, Greek, Cyrillic and Armenian are done by rule; 0: it is not known. */
static uint32_t other_case(uint32_t p, bool upper)
{
    if (p < 0x80)
        return p ^ 0x20;
    if (upper && (p == 0xFF || p == 0xB5))
        return p == 0xFF ? 0x178 : 0x39C;
    if (p >= 0xC0 && p <= 0xFE && p != 0xD7 && p != 0xF7 && p != 0xDF)
        return p ^ 0x20;
    if (p == 0x178)
        return 0xFF;
    if ((p >= 0x100 && p <= 0x12F) || (p >= 0x132 && p <= 0x137) || (p >= 0x14A && p <= 0x177) ||
        (p >= 0x460 && p <= 0x481) || (p >= 0x48A && p <= 0x4BF) || (p >= 0x4D0 && p <= 0x52F) ||
        (p >= 0x1E00 && p <= 0x1E95) || (p >= 0x1EA0 && p <= 0x1EFF))
        return p ^ 1;
    if ((p >= 0x139 && p <= 0x148) || (p >= 0x179 && p <= 0x17E))
        return ((p - 1) ^ 1) + 1;
    if (upper ? p >= 0x3B1 && p <= 0x3C9 && p != 0x3C2 : p >= 0x391 && p <= 0x3A9 && p != 0x3A3)
        return upper ? p - 32 : p + 32;
    if (upper && p == 0x3C2)
        return 0x3A3;
    if (upper ? p >= 0x430 && p <= 0x44F : p >= 0x410 && p <= 0x42F)
        return upper ? p - 32 : p + 32;
    if (upper ? p >= 0x450 && p <= 0x45F : p >= 0x400 && p <= 0x40F)
        return upper ? p - 80 : p + 80;
    if (upper ? p >= 0x561 && p <= 0x586 : p >= 0x531 && p <= 0x556)
        return upper ? p - 48 : p + 48;
    return 0;
}

static void add_cased(jinja_builder *b, uint32_t point, bool upper, bool plain)
{
    uint8_t class = unicode_class(point);
    if (upper && point == 0xDF)
        jinja_add(b, "SS", 2, plain);
    else if (!upper && point == 0x130)
        jinja_add(b, "i\xCC\x87", 3, plain);
    else if (!(class & (upper ? UNICODE_LOWER : UNICODE_UPPER)))
        jinja_add_point(b, point, plain);
    else if (other_case(point, upper))
        jinja_add_point(b, other_case(point, upper), plain);
    else
        jinja_fail(b->k, "U+%04X: its upper or lower case is not known here", point);
}

jinja_text jinja_cased(jinja_core *k, jinja_text t, jinja_case how)
{
    jinja_builder b = {k, NULL};
    bool begins = true; /* a word */
    for (size_t at = 0, length; at < t.length && !k->failed; at += length) {
        uint32_t point = utf8_decode(jinja_bytes(t) + at, t.length - at, &length);
        bool upper = how == CASE_UPPER || (how != CASE_LOWER && begins);
        if (length == 1 && point == UNICODE_REPLACEMENT)
            jinja_add_text(&b, jinja_part(t, at, 1)); /* a byte that is no character stays */
        else
            add_cased(&b, point, upper, t.block->marks[t.start + at]);
        if (how == CASE_TITLE)
            begins = !(unicode_class(point) & (UNICODE_UPPER | UNICODE_LOWER));
        else
            begins = how == CASE_TITLE_FILTER &&
                     (jinja_is_space(point) || (point < 0x80 && point && strchr("-({[<", (int)point)));
    }
    return jinja_built(&b);
}
