/* grammar_filter: goes through all tokens in the order of their bytes, so that what tokens begin with is read once. */
#include "serve/grammar_filter.h"
#include "base/os.h"
#include "llm/thoughts.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_MASKS = 32, MOST_TOKEN_BYTES = 512 };

struct token_index {
    const tokenizer *t;
    uint32_t vocab, count;
    str bytes;       /* of all tokens */
    size_t *begins;  /* (vocab + 1) of each token's */
    uint32_t *order; /* (count) tokens that have bytes, sorted by them */
    uint16_t *alike; /* (count) bytes that each has in common with the one before */
};

static const char *bytes_of(const token_index *x, uint32_t token, size_t *length)
{
    *length = x->begins[token + 1] - x->begins[token];
    return x->bytes.data + x->begins[token];
}

static int by_bytes(const void *a, const void *b, void *user)
{
    const token_index *x = user;
    size_t n, m;
    const char *p = bytes_of(x, *(const uint32_t *)a, &n), *q = bytes_of(x, *(const uint32_t *)b, &m);
    int c = memcmp(p, q, n < m ? n : m);
    return c ? c : (n > m) - (n < m);
}

token_index *token_index_new(const tokenizer *t, uint32_t vocab)
{
    token_index *x = mem_alloc(sizeof *x);
    x->t = t;
    x->vocab = vocab;
    x->begins = mem_alloc((vocab + 1) * sizeof *x->begins);
    x->order = mem_alloc(vocab * sizeof *x->order);
    x->alike = mem_alloc(vocab * sizeof *x->alike);
    str_add(&x->bytes, "");
    for (uint32_t i = 0; i < vocab; i++) {
        size_t before = x->bytes.length;
        tokenizer_piece(t, (int32_t)i, false, &x->bytes);
        size_t length = x->bytes.length - before;
        x->begins[i + 1] = x->bytes.length;
        if (length && length <= MOST_TOKEN_BYTES && !tokenizer_ends(t, (int32_t)i))
            x->order[x->count++] = i;
    }
    os_sort(x->order, x->count, sizeof *x->order, by_bytes, x);
    for (uint32_t i = 1; i < x->count; i++) {
        size_t n, m, same = 0;
        const char *p = bytes_of(x, x->order[i - 1], &n), *q = bytes_of(x, x->order[i], &m);
        while (same < n && same < m && p[same] == q[same])
            same++;
        x->alike[i] = (uint16_t)same;
    }
    return x;
}

void token_index_free(token_index *x)
{
    if (!x)
        return;
    str_free(&x->bytes);
    free(x->begins);
    free(x->order);
    free(x->alike);
    free(x);
}

/* ---- a text ------------------------------------------------------------------------------------- */

typedef struct kept_mask {
    uint32_t set;
    uint32_t *bits; /* NULL: none is kept here */
} kept_mask;

struct grammar_filter {
    token_filter use;
    const token_index *x;
    matcher *m;
    uint32_t at;    /* the set that the text is in */
    uint32_t asked; /* the one for which `allow` was asked last */
    bool was_asked, asked_waits;
    bool has_ended;
    bool waits;  /* for the end of thoughts */
    str thought; /* its last bytes */
    kept_mask masks[KEPT_MASKS];
    uint32_t next_mask;
};

static void forget_masks(grammar_filter *f)
{
    for (uint32_t i = 0; i < KEPT_MASKS; i++) {
        free(f->masks[i].bits);
        f->masks[i].bits = NULL;
    }
}

/* Sets the bits of tokens whose bytes lead on from here. */
static void mark_tokens(grammar_filter *f, uint32_t *bits)
{
    const token_index *x = f->x;
    uint32_t sets[MOST_TOKEN_BYTES + 1];
    size_t alive = 0; /* so many bytes of the token before lead on */
    sets[0] = f->at;
    for (uint32_t i = 0; i < x->count; i++) {
        size_t length, from = i ? x->alike[i] : 0;
        const char *bytes = bytes_of(x, x->order[i], &length);
        if (from > alive)
            continue;
        for (alive = from; alive < length; alive++) {
            uint32_t next = matcher_step(f->m, sets[alive], (unsigned char)bytes[alive]);
            if (next == MATCHER_DEAD)
                break;
            sets[alive + 1] = next;
        }
        if (alive == length)
            bits[x->order[i] / 32] |= 1u << x->order[i] % 32;
    }
}

static void mark_ends(const grammar_filter *f, uint32_t *bits)
{
    for (uint32_t i = 0; i < f->x->vocab; i++)
        if (tokenizer_ends(f->x->t, (int32_t)i))
            bits[i / 32] |= 1u << i % 32;
}

static bool has_any(const uint32_t *bits, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (bits[i])
            return true;
    return false;
}

static bool allow(void *user, uint32_t *bits, uint32_t vocab)
{
    grammar_filter *f = user;
    size_t words = (vocab + 31) / 32;
    f->asked = f->at;
    f->asked_waits = f->waits;
    f->was_asked = true;
    if (f->has_ended)
        return false;
    memset(bits, f->waits ? 0xff : 0, words * sizeof *bits);
    if (f->waits)
        return true;
    for (uint32_t i = 0; i < KEPT_MASKS; i++)
        if (f->masks[i].bits && f->masks[i].set == f->at) {
            memcpy(bits, f->masks[i].bits, words * sizeof *bits);
            return has_any(bits, words);
        }
    mark_tokens(f, bits);
    if (matcher_may_end(f->m, f->at))
        mark_ends(f, bits);
    kept_mask *k = &f->masks[f->next_mask++ % KEPT_MASKS];
    free(k->bits);
    k->bits = mem_alloc(words * sizeof *bits);
    k->set = f->at;
    memcpy(k->bits, bits, words * sizeof *bits);
    return has_any(bits, words);
}

static bool is_same(void *user)
{
    const grammar_filter *f = user;
    return f->was_asked && !f->has_ended && f->asked_waits == f->waits && (f->waits || f->asked == f->at);
}

/* As mark_tokens and mark_ends have it, for one token. */
static bool may_come(void *user, uint32_t token)
{
    const grammar_filter *f = user;
    size_t length;
    const char *bytes = bytes_of(f->x, token, &length);
    if (f->has_ended)
        return false;
    if (f->waits)
        return true;
    if (tokenizer_ends(f->x->t, (int32_t)token))
        return matcher_may_end(f->m, f->at);
    uint32_t at = f->at;
    for (size_t i = 0; i < length && length <= MOST_TOKEN_BYTES; i++)
        at = matcher_step(f->m, at, (unsigned char)bytes[i]);
    return length && length <= MOST_TOKEN_BYTES && at != MATCHER_DEAD;
}

/* Is this the end of the thoughts? What stands behind it in the same token is not looked at. */
static bool ends_thoughts(grammar_filter *f, const char *bytes, size_t length)
{
    size_t tag = strlen(THOUGHTS_END);
    str_add_bytes(&f->thought, bytes, length);
    bool found = memmem(f->thought.data, f->thought.length, THOUGHTS_END, tag) != NULL;
    if (f->thought.length > tag) {
        memmove(f->thought.data, f->thought.data + f->thought.length - tag, tag);
        f->thought.length = tag;
    }
    return found;
}

static void chosen(void *user, uint32_t token)
{
    grammar_filter *f = user;
    size_t length;
    const char *bytes = bytes_of(f->x, token, &length);
    if (tokenizer_ends(f->x->t, (int32_t)token))
        f->has_ended = true;
    else if (f->waits)
        f->waits = !length || !ends_thoughts(f, bytes, length);
    else
        for (size_t i = 0; i < length; i++)
            f->at = matcher_step(f->m, f->at, (unsigned char)bytes[i]);
    if (matcher_tidy(f->m, &f->at)) {
        forget_masks(f);
        f->was_asked = false;
    }
}

grammar_filter *grammar_filter_new(const grammar *g, const token_index *x, bool after_thoughts)
{
    grammar_filter *f = mem_alloc(sizeof *f);
    *f = (grammar_filter){
        .use = {allow, chosen, may_come, is_same, f}, .x = x, .m = matcher_new(g), .waits = after_thoughts};
    f->at = matcher_start(f->m);
    return f;
}

bool grammar_filter_can_begin(const grammar_filter *f)
{
    uint32_t *bits = mem_alloc((f->x->vocab + 31) / 32 * sizeof *bits);
    bool can = f->use.allow(f->use.user, bits, f->x->vocab);
    free(bits);
    return can;
}

void grammar_filter_free(grammar_filter *f)
{
    if (!f)
        return;
    forget_masks(f);
    matcher_free(f->m);
    str_free(&f->thought);
    free(f);
}

const token_filter *grammar_filter_use(grammar_filter *f)
{
    return &f->use;
}

bool grammar_filter_is_whole(const grammar_filter *f)
{
    return !f->waits && matcher_may_end(f->m, f->at);
}
