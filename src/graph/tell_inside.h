/* What tell.c and tell_product.c share. */
#ifndef SOLO_GRAPH_TELL_INSIDE_H
#define SOLO_GRAPH_TELL_INSIDE_H

#include "graph/tell.h"

#include <math.h>
#include <string.h>

enum {
    TELL_LAST = GRAPH_MAX_DIMS - 1,
    TELL_ROW_TURNS = 5, /* MOST_AT_ONCE of matmul_row.wgsl */
};

/* A plan's step is being told. */
typedef struct telling {
    const tell_tuning *t;
    const memory *m;
    uint32_t which;
    const plan *p;
} telling;

static inline uint32_t as_word(float f)
{
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    return w;
}

/* log2 of what the angle of a pair is of the one before it. */
static inline uint32_t angles_fall(const rope_spec *spec, uint32_t rotated)
{
    return as_word(-2 * log2f(spec->base) / (float)rotated);
}

static inline uint32_t at(const telling *c, node n)
{
    return memory_at(c->m, c->which, n);
}

static inline const graph_node *node_at(const telling *c, node n)
{
    return graph_at(c->p->g, n);
}

/* A kernel whose threads add up by subgroups, if there are any. */
static inline void tell_by_subgroups(const telling *c, told *l)
{
    l->kernel.subgroup = c->t->subgroup;
    l->kernel.quads = c->t->quads;
}

/* Is it made in the course of a run, so that its floats have marks? */
bool tell_is_made(const telling *c, node n);
/* The file in kernels/weight for rows of a type: software has some of its own, which compile sooner. */
const char *tell_type_of(const telling *c, tensor_type type, uint32_t length);
/* The dispatches of matrix products; 0 with an error. */
uint32_t tell_product(const telling *c, told *l, const plan_step *s, err *e);

#endif
