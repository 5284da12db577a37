/* memory_names: inputs, outputs, weights and states by name; a name means the same tensor in all plans. */
#include "base/str.h"
#include "graph/memory_internal.h"

#include <string.h>

static uint32_t hash_of(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static uint32_t *table_slot(const memory *m, const char *name)
{
    uint32_t i = hash_of(name) % m->table;
    while (m->by_name[i] && strcmp(m->names[m->by_name[i] - 1].name, name) != 0)
        i = (i + 1) % m->table;
    return &m->by_name[i];
}

named *memory_find_named(const memory *m, const char *name)
{
    uint32_t found = *table_slot(m, name);
    return found ? &m->names[found - 1] : NULL;
}

/* The index of the tensor of that name; a new one if there is none. */
static uint32_t name_number(memory *m, const graph_node *n)
{
    uint32_t *slot = table_slot(m, n->name);
    if (!*slot) {
        m->names[m->name_count] = (named){.name = n->name, .what = n, .at = NO_PLACE, .arena = NO_PLACE};
        *slot = ++m->name_count;
    }
    named *found = &m->names[*slot - 1];
    if (shape_count(n->s) > shape_count(found->what->s))
        found->what = n; /* an input of several sizes takes the place of its largest */
    return *slot - 1;
}

void memory_collect_names(memory *m)
{
    uint32_t nodes = 0;
    for (uint32_t p = 0; p < m->plan_count; p++)
        nodes += graph_count(m->plans[p]->g);
    m->table = nodes * 2 + 1;
    m->by_name = mem_alloc(m->table * sizeof *m->by_name);
    m->names = mem_alloc((nodes + 1) * sizeof *m->names);
    for (uint32_t p = 0; p < m->plan_count; p++) {
        const graph *g = m->plans[p]->g;
        size_t slots = graph_count(g) + 1;
        m->places[p].at = mem_alloc(slots * sizeof(uint32_t));
        m->places[p].named_at = mem_alloc(slots * sizeof(uint32_t));
        m->places[p].sums_at = mem_alloc(slots * sizeof(uint32_t));
        memset(m->places[p].at, 0xff, slots * sizeof(uint32_t));
        memset(m->places[p].named_at, 0xff, slots * sizeof(uint32_t));
        memset(m->places[p].sums_at, 0xff, slots * sizeof(uint32_t));
        for (node i = 1; i < slots; i++)
            if (graph_at(g, i)->name)
                m->places[p].named_at[i] = name_number(m, graph_at(g, i));
        /* A node that is named only through a reshape is the named tensor: it has the same place in all plans. */
        for (node i = 1; i < slots; i++) {
            node root = plan_root(g, i);
            if (graph_at(g, i)->name && m->places[p].named_at[root] == NO_PLACE)
                m->places[p].named_at[root] = m->places[p].named_at[i];
        }
    }
}

named *memory_named(const memory *m, uint32_t p, node n)
{
    uint32_t i = m->places[p].named_at[n];
    return i == NO_PLACE ? NULL : &m->names[i];
}
