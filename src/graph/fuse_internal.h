/* fuse_internal: what the fusion passes share (fuse.c, fuse_chain.c). */
#ifndef SOLO_GRAPH_FUSE_INTERNAL_H
#define SOLO_GRAPH_FUSE_INTERNAL_H

#include "graph/plan.h"

enum { NO_STEP = UINT32_MAX };

/* The readers of every node, computed again after every change. */
typedef struct fusing {
    plan *p;
    bool *output;               /* [node] it is an output */
    uint32_t *readers, *reader; /* [node] how many steps read it, and the last of them */
} fusing;

/* The only step that reads a node which is no output, or NO_STEP. */
uint32_t fuse_only_reader(const fusing *f, node n);
/* May step `from` move to just before step `to`? */
bool fuse_may_wait(const plan *p, uint32_t from, uint32_t to);
void fuse_drop(plan *p, uint32_t i);

/* Passes: each makes one change and says whether it did. */
bool fuse_chain(fusing *f);

#endif
