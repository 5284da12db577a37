/* bpe: merging the pieces of a word by rank, and bytes written as printable characters. */
#include "model/bpe.h"
#include "model/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- merging ---------------------------------------------------------------------- */

void merger_clear(merger *m)
{
    m->count = 0;
    m->heap_count = 0;
}

void merger_add(merger *m, uint32_t length, int32_t id)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity ? m->capacity + m->capacity / 2 : 256;
        m->symbols = mem_grow(m->symbols, m->capacity * sizeof *m->symbols);
    }
    uint32_t i = m->count++;
    merge_symbol *s = &m->symbols[i];
    *s = (merge_symbol){.length = length, .id = id, .before = (int32_t)i - 1, .after = -1};
    if (i > 0) {
        s->start = s[-1].start + s[-1].length;
        s[-1].after = (int32_t)i;
    }
}

void merger_free(merger *m)
{
    free(m->symbols);
    free(m->heap);
    *m = (merger){0};
}

static void heap_push(merger *m, merge_candidate c)
{
    if (m->heap_count == m->heap_capacity) {
        m->heap_capacity = m->heap_capacity ? m->heap_capacity + m->heap_capacity / 2 : 256;
        m->heap = mem_grow(m->heap, m->heap_capacity * sizeof *m->heap);
    }
    size_t at = m->heap_count++;
    for (; at > 0 && m->heap[(at - 1) / 2].order > c.order; at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = c;
}

static merge_candidate heap_pop(merger *m)
{
    merge_candidate top = m->heap[0], last = m->heap[--m->heap_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < m->heap_count) {
        if (child + 1 < m->heap_count && m->heap[child + 1].order < m->heap[child].order)
            child++;
        if (last.order <= m->heap[child].order)
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = last;
    return top;
}

static void consider(merger *m, int32_t left, merge_rule rule, const void *context)
{
    if (left < 0 || m->symbols[left].after < 0)
        return;
    const merge_symbol *l = &m->symbols[left], *r = &m->symbols[l->after];
    uint32_t priority;
    int32_t id;
    if (rule(context, l, r, &priority, &id))
        heap_push(m, (merge_candidate){(uint64_t)priority << 32 | (uint32_t)left, (uint32_t)l->after,
                                       l->length + r->length, id});
}

void merger_run(merger *m, merge_rule rule, const void *context)
{
    for (uint32_t i = 0; i + 1 < m->count; i++)
        consider(m, (int32_t)i, rule, context);
    while (m->heap_count) {
        merge_candidate c = heap_pop(m);
        int32_t place = (int32_t)(uint32_t)c.order;
        merge_symbol *left = &m->symbols[place], *right = &m->symbols[c.right];
        /* a candidate is stale once either side was merged with something else */
        if (!left->length || !right->length || left->length + right->length != c.length)
            continue;
        left->length = c.length;
        left->id = c.id;
        left->after = right->after;
        right->length = 0;
        if (left->after >= 0)
            m->symbols[left->after].before = place;
        consider(m, left->before, rule, context);
        consider(m, place, rule, context);
    }
}

/* ---- how bytes are written ----------------------------------------------------------- */

static bool prints_as_itself(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

typedef struct byte_writing {
    uint32_t of_byte[256];
    int byte_of[512]; /* or -1 */
} byte_writing;

static byte_writing writing_of_bytes(void)
{
    byte_writing w;
    for (int i = 0; i < 512; i++)
        w.byte_of[i] = -1;
    uint32_t next = 256;
    for (unsigned byte = 0; byte < 256; byte++) {
        w.of_byte[byte] = prints_as_itself(byte) ? byte : next++;
        w.byte_of[w.of_byte[byte]] = (int)byte;
    }
    return w;
}

void bpe_decode(token_text text, str *out)
{
    byte_writing w = writing_of_bytes();
    for (size_t at = 0, length; at < text.length; at += length) {
        uint32_t point = utf8_decode(text.data + at, text.length - at, &length);
        if (point < 512 && w.byte_of[point] >= 0)
            str_add_bytes(out, &(char){(char)w.byte_of[point]}, 1);
        else
            str_add_bytes(out, text.data + at, length);
    }
}

/* ---- the pairs ------------------------------------------------------------------------- */

static bpe_pair *pair_slot(const bpe_pairs *p, int32_t left, int32_t right)
{
    /* two rounds: a file that is made so that its pairs meet in one place would have to know both words */
    uint64_t h = (((uint64_t)(uint32_t)left << 32 | (uint32_t)right) ^ p->key.low) * 0x9E3779B97F4A7C15u;
    h = (h ^ h >> 32) * (p->key.high | 1);
    size_t at = (size_t)(h >> 29) & p->mask;
    while (p->slots[at].right != TOKEN_NONE && (p->slots[at].left != left || p->slots[at].right != right))
        at = (at + 1) & p->mask;
    return &p->slots[at];
}

static int32_t find_joined(const vocab *v, token_merge m, str *scratch)
{
    scratch->length = 0;
    str_add_bytes(scratch, m.left.data, m.left.length);
    str_add_bytes(scratch, m.right.data, m.right.length);
    return vocab_find(v, scratch->data, scratch->length);
}

void bpe_pairs_init(bpe_pairs *p, const vocab *v, const tokenizer_parts *parts)
{
    size_t slots = 16;
    while (slots < 2 * parts->merge_count)
        slots *= 2;
    p->mask = slots - 1;
    p->key = hash_new_key();
    p->slots = mem_alloc(slots * sizeof *p->slots);
    for (size_t i = 0; i < slots; i++)
        p->slots[i].right = TOKEN_NONE;
    str scratch = {0};
    for (size_t i = 0; i < parts->merge_count; i++) {
        token_merge m = parts->merges[i];
        int32_t left = vocab_find(v, m.left.data, m.left.length), right = vocab_find(v, m.right.data, m.right.length);
        int32_t id = left < 0 || right < 0 ? TOKEN_NONE : find_joined(v, m, &scratch);
        if (id < 0)
            continue;
        bpe_pair *slot = pair_slot(p, left, right);
        if (slot->right == TOKEN_NONE)
            *slot = (bpe_pair){left, right, id, (uint32_t)i};
    }
    str_free(&scratch);
}

void bpe_pairs_free(bpe_pairs *p)
{
    free(p->slots);
}

bool bpe_merge_by_rank(const void *context, const merge_symbol *left, const merge_symbol *right, uint32_t *priority,
                       int32_t *id)
{
    if (left->id < 0 || right->id < 0)
        return false;
    const bpe_pair *p = pair_slot(context, left->id, right->id);
    *priority = p->rank;
    *id = p->id;
    return p->right != TOKEN_NONE;
}

/* ---- byte-level BPE --------------------------------------------------------------------- */

void bpe_init(bpe *b, const vocab *v, const tokenizer_parts *parts)
{
    b->words = v;
    b->ignore_merges = parts->ignore_merges;
    byte_writing w = writing_of_bytes();
    for (int byte = 0; byte < 256; byte++) {
        char text[4];
        b->byte_ids[byte] = vocab_find(v, text, utf8_put(w.of_byte[byte], text));
    }
    bpe_pairs_init(&b->pairs, v, parts);
}

void bpe_free(bpe *b)
{
    bpe_pairs_free(&b->pairs);
}

/* The token that is the whole word, if it is short enough to be one. */
static int32_t find_word(const bpe *b, const char *word, size_t bytes)
{
    enum { LONGEST = 1024 };
    if (bytes > LONGEST || bytes > b->words->longest_bytes)
        return TOKEN_NONE;
    char text[2 * LONGEST];
    size_t length = 0;
    for (size_t i = 0; i < bytes; i++) {
        int32_t id = b->byte_ids[(unsigned char)word[i]];
        if (id < 0)
            return TOKEN_NONE;
        token_text one = b->words->texts[id];
        memcpy(text + length, one.data, one.length);
        length += one.length;
    }
    return vocab_find(b->words, text, length);
}

void bpe_encode(const bpe *b, merger *m, const char *word, size_t bytes, token_list *out)
{
    int32_t whole = b->ignore_merges ? find_word(b, word, bytes) : TOKEN_NONE;
    if (whole >= 0) {
        token_list_add(out, whole);
        return;
    }
    merger_clear(m);
    for (size_t i = 0; i < bytes; i++)
        merger_add(m, 1, b->byte_ids[(unsigned char)word[i]]);
    merger_run(m, bpe_merge_by_rank, &b->pairs);
    for (uint32_t i = 0; i < m->count; i++)
        if (m->symbols[i].length && m->symbols[i].id >= 0)
            token_list_add(out, m->symbols[i].id);
}
