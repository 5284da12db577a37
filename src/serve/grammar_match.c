/* grammar_match: sets of states that a text may be in, found once and kept. */
#include "serve/grammar_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_CONFIGS = 1024,  /* of a set; more: the text is taken for dead */
    MOST_DEPTH = 256,     /* of calls; deeper ones are not made */
    MANY_SETS = 1024,     /* more are forgotten between tokens ... */
    MANY_RETURNS = 65536, /* ... as are these */
    UNKNOWN = UINT32_MAX - 1,
    NO_RETURN = 0,
};

/* Where calls return to: a list that ends with NO_RETURN. Equal lists have the same number. */
typedef struct returns {
    uint32_t state, below, depth, next_alike;
} returns;

typedef struct config {
    uint32_t state, returns;
} config;

typedef struct set {
    config *configs; /* (count) in order; all at states of bytes */
    uint32_t count, next_alike;
    bool may_end;
    uint32_t steps[256]; /* UNKNOWN, MATCHER_DEAD, or a set */
} set;

enum { BUCKETS = 4096 };

struct matcher {
    const grammar *g;
    set **sets; /* (set_count) */
    uint32_t set_count, set_capacity;
    returns *lists; /* (list_count) */
    uint32_t list_count, list_capacity;
    uint32_t set_buckets[BUCKETS], list_buckets[BUCKETS]; /* a number + 1, or 0 */
    /* a set that is being made */
    config seen[MOST_CONFIGS];
    uint32_t seen_count;
    bool may_end, overflows;
};

static void forget_all(matcher *m)
{
    for (uint32_t i = 0; i < m->set_count; i++) {
        free(m->sets[i]->configs);
        free(m->sets[i]);
    }
    m->set_count = 0;
    m->list_count = 1; /* NO_RETURN */
    memset(m->set_buckets, 0, sizeof m->set_buckets);
    memset(m->list_buckets, 0, sizeof m->list_buckets);
}

matcher *matcher_new(const grammar *g)
{
    matcher *m = mem_alloc(sizeof *m);
    m->g = g;
    m->list_capacity = 64;
    m->lists = mem_alloc(m->list_capacity * sizeof *m->lists);
    m->list_count = 1;
    return m;
}

void matcher_free(matcher *m)
{
    if (!m)
        return;
    forget_all(m);
    free(m->sets);
    free(m->lists);
    free(m);
}

static uint32_t push(matcher *m, uint32_t state, uint32_t below)
{
    uint32_t bucket = (state * 2654435761u ^ below * 40503u) % BUCKETS;
    for (uint32_t i = m->list_buckets[bucket]; i; i = m->lists[i - 1].next_alike)
        if (m->lists[i - 1].state == state && m->lists[i - 1].below == below)
            return i - 1;
    if (m->list_count == m->list_capacity) {
        m->list_capacity *= 2;
        m->lists = mem_grow(m->lists, m->list_capacity * sizeof *m->lists);
    }
    m->lists[m->list_count] = (returns){state, below, m->lists[below].depth + 1, m->list_buckets[bucket]};
    m->list_buckets[bucket] = m->list_count + 1;
    return m->list_count++;
}

/* ---- making a set ---------------------------------------------------------------------------------- */

static void see(matcher *m, uint32_t state, uint32_t list)
{
    for (uint32_t i = 0; i < m->seen_count; i++)
        if (m->seen[i].state == state && m->seen[i].returns == list)
            return;
    if (m->seen_count == MOST_CONFIGS)
        m->overflows = true;
    else
        m->seen[m->seen_count++] = (config){state, list};
}

/* Does nothing but return follow this state? Then a call here need not come back. */
static bool only_returns(const grammar *g, uint32_t state)
{
    while (g->states[state].kind == STATE_JUMP)
        state = g->states[state].next;
    return g->states[state].kind == STATE_END;
}

static void go_on_from(matcher *m, config c)
{
    const grammar *g = m->g;
    const grammar_state *s = &g->states[c.state];
    if (s->kind == STATE_JUMP || s->kind == STATE_SPLIT)
        see(m, s->next, c.returns);
    if (s->kind == STATE_SPLIT)
        see(m, s->other, c.returns);
    if (s->kind == STATE_END && c.returns == NO_RETURN)
        m->may_end = true;
    else if (s->kind == STATE_END)
        see(m, m->lists[c.returns].state, m->lists[c.returns].below);
    if (s->kind == STATE_CALL) {
        uint32_t start = g->rules[s->other].start;
        if (only_returns(g, s->next))
            see(m, start, c.returns);
        else if (m->lists[c.returns].depth < MOST_DEPTH)
            see(m, start, push(m, s->next, c.returns));
    }
}

static int in_order(const void *a, const void *b)
{
    const config *x = a, *y = b;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return (x->returns > y->returns) - (x->returns < y->returns);
}

static bool is_same(const set *a, const config *configs, uint32_t count, bool may_end)
{
    return a->count == count && a->may_end == may_end && memcmp(a->configs, configs, count * sizeof *configs) == 0;
}

/* The set of all that was seen, and what follows from it without a byte. */
static uint32_t finish_set(matcher *m)
{
    m->may_end = false;
    for (uint32_t i = 0; i < m->seen_count && !m->overflows; i++)
        go_on_from(m, m->seen[i]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->seen_count; i++)
        if (m->g->states[m->seen[i].state].kind == STATE_BYTES)
            m->seen[count++] = m->seen[i];
    if (m->overflows || (count == 0 && !m->may_end))
        return MATCHER_DEAD;
    qsort(m->seen, count, sizeof *m->seen, in_order);
    uint32_t bucket = (uint32_t)(str_hash(STR_HASH_BEGIN, (const char *)m->seen, count * sizeof *m->seen) % BUCKETS);
    for (uint32_t i = m->set_buckets[bucket]; i; i = m->sets[i - 1]->next_alike)
        if (is_same(m->sets[i - 1], m->seen, count, m->may_end))
            return i - 1;
    set *made = mem_alloc(sizeof *made);
    made->configs = mem_alloc((count + 1) * sizeof *made->configs);
    memcpy(made->configs, m->seen, count * sizeof *made->configs);
    made->count = count;
    made->may_end = m->may_end;
    made->next_alike = m->set_buckets[bucket];
    for (int i = 0; i < 256; i++)
        made->steps[i] = UNKNOWN;
    if (m->set_count == m->set_capacity) {
        m->set_capacity = m->set_capacity ? 2 * m->set_capacity : 64;
        m->sets = mem_grow(m->sets, m->set_capacity * sizeof *m->sets);
    }
    m->sets[m->set_count] = made;
    m->set_buckets[bucket] = m->set_count + 1;
    return m->set_count++;
}

static void begin_set(matcher *m)
{
    m->seen_count = 0;
    m->overflows = false;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

uint32_t matcher_start(matcher *m)
{
    begin_set(m);
    see(m, m->g->rules[m->g->root].start, NO_RETURN);
    return finish_set(m);
}

uint32_t matcher_step(matcher *m, uint32_t from, unsigned char byte)
{
    if (from == MATCHER_DEAD)
        return MATCHER_DEAD;
    set *s = m->sets[from];
    if (s->steps[byte] != UNKNOWN)
        return s->steps[byte];
    begin_set(m);
    for (uint32_t i = 0; i < s->count; i++) {
        const grammar_state *at = &m->g->states[s->configs[i].state];
        if (byte >= at->low && byte <= at->high)
            see(m, at->next, s->configs[i].returns);
    }
    uint32_t to = m->seen_count ? finish_set(m) : MATCHER_DEAD;
    for (int alike = 0; alike < 256; alike++)
        if (m->g->byte_class[alike] == m->g->byte_class[byte])
            s->steps[alike] = to;
    return to;
}

bool matcher_may_end(const matcher *m, uint32_t at)
{
    return at != MATCHER_DEAD && m->sets[at]->may_end;
}

/* ---- forgetting ----------------------------------------------------------------------------------------- */

/* A list, written down from its top to its end, and made again. */
static uint32_t copy_list(const returns *lists, uint32_t from, matcher *to)
{
    uint32_t states[MOST_DEPTH + 1], count = 0, list = NO_RETURN;
    for (; from != NO_RETURN; from = lists[from].below)
        states[count++] = lists[from].state;
    while (count)
        list = push(to, states[--count], list);
    return list;
}

bool matcher_tidy(matcher *m, uint32_t *at)
{
    if ((m->set_count < MANY_SETS && m->list_count < MANY_RETURNS) || *at == MATCHER_DEAD || !m->sets[*at]->count)
        return false;
    const set *kept = m->sets[*at];
    uint32_t count = kept->count;
    config *configs = mem_alloc((count + 1) * sizeof *configs);
    returns *lists = mem_alloc(m->list_count * sizeof *lists);
    bool may_end = kept->may_end;
    memcpy(configs, kept->configs, count * sizeof *configs);
    memcpy(lists, m->lists, m->list_count * sizeof *lists);
    forget_all(m);
    begin_set(m);
    for (uint32_t i = 0; i < count; i++)
        see(m, configs[i].state, copy_list(lists, configs[i].returns, m));
    *at = finish_set(m);
    if (*at != MATCHER_DEAD)
        m->sets[*at]->may_end = may_end; /* its way to the end was no state of bytes, and is gone */
    free(configs);
    free(lists);
    return true;
}
