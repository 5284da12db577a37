/* grammar_check: what holds for the rules of a grammar together. */
#include "serve/grammar_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct checking {
    grammar *g;
    uint32_t *seen_in; /* (states) the walk that saw each last */
    uint32_t walk;
    uint32_t *todo; /* (states) */
    bool *calls;    /* (rules, rules) what each may call before its first byte */
} checking;

static void visit(checking *c, uint32_t state, uint32_t *count)
{
    if (c->seen_in[state] == c->walk)
        return;
    c->seen_in[state] = c->walk;
    c->todo[(*count)++] = state;
}

/* Goes over what can be reached from a rule's start without a byte. Returns whether its end can. */
static bool walk(checking *c, uint32_t rule)
{
    const grammar *g = c->g;
    uint32_t count = 0;
    bool ends = false;
    c->walk++;
    visit(c, g->rules[rule].start, &count);
    while (count) {
        const grammar_state *s = &g->states[c->todo[--count]];
        bool goes_on = s->kind == STATE_JUMP || s->kind == STATE_SPLIT;
        ends = ends || s->kind == STATE_END;
        if (s->kind == STATE_CALL) {
            c->calls[(size_t)rule * g->rule_count + s->other] = true;
            goes_on = g->rules[s->other].can_be_empty;
        }
        if (goes_on)
            visit(c, s->next, &count);
        if (s->kind == STATE_SPLIT)
            visit(c, s->other, &count);
    }
    return ends;
}

static void find_empty(checking *c)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < c->g->rule_count; i++)
            if (walk(c, i) && !c->g->rules[i].can_be_empty)
                changed = c->g->rules[i].can_be_empty = true;
    }
}

/* A rule on a circle of calls, or NO_STATE: goes along the calls, and comes back to a rule that is not left yet. */
static uint32_t find_circle(const checking *c)
{
    enum { NEW, OPEN, DONE };
    uint32_t count = c->g->rule_count, circle = NO_STATE;
    uint8_t *mark = mem_alloc(count + 1);
    uint32_t *path = mem_alloc((count + 1) * sizeof *path), *next = mem_alloc((count + 1) * sizeof *next);
    for (uint32_t first = 0; first < count && circle == NO_STATE; first++) {
        uint32_t depth = 0;
        if (mark[first] != NEW)
            continue;
        path[depth++] = first;
        mark[first] = OPEN;
        while (depth && circle == NO_STATE) {
            uint32_t rule = path[depth - 1], to = next[rule]++;
            if (to == count) {
                mark[rule] = DONE;
                depth--;
            } else if (c->calls[(size_t)rule * count + to] && mark[to] == OPEN)
                circle = to;
            else if (c->calls[(size_t)rule * count + to] && mark[to] == NEW) {
                mark[to] = OPEN;
                path[depth++] = to;
            }
        }
    }
    free(mark);
    free(path);
    free(next);
    return circle;
}

static bool check_calls(grammar *g, err *e)
{
    checking c = {.g = g,
                  .seen_in = mem_alloc((g->state_count + 1) * sizeof *c.seen_in),
                  .todo = mem_alloc((g->state_count + 1) * sizeof *c.todo),
                  .calls = mem_alloc((size_t)g->rule_count * g->rule_count + 1)};
    find_empty(&c);
    uint32_t circle = find_circle(&c);
    free(c.seen_in);
    free(c.todo);
    free(c.calls);
    return circle == NO_STATE || err_set(e, "the grammar's line %u: the rule '%.60s' begins with itself",
                                         g->rules[circle].line, g->rules[circle].name);
}

/* A class begins where a range of some state does, and behind one. */
static void find_classes(grammar *g)
{
    bool begins[257] = {false};
    for (uint32_t i = 0; i < g->state_count; i++)
        if (g->states[i].kind == STATE_BYTES)
            begins[g->states[i].low] = begins[g->states[i].high + 1] = true;
    for (int byte = 1; byte < 256; byte++)
        g->byte_class[byte] = (uint8_t)(g->byte_class[byte - 1] + begins[byte]);
}

bool grammar_check(grammar *g, err *e)
{
    find_classes(g);
    g->root = NO_STATE;
    for (uint32_t i = 0; i < g->rule_count; i++) {
        const grammar_rule *r = &g->rules[i];
        if (!r->is_defined)
            return err_set(e, "the grammar's line %u: there is no rule '%.60s'", r->line, r->name);
        g->root = strcmp(r->name, "root") == 0 ? i : g->root;
    }
    return g->root != NO_STATE ? check_calls(g, e) : err_set(e, "the grammar has no rule 'root'");
}
