/* plan_shares: products of several texts whose long rows several workgroups share. */
#include "graph/plan.h"

uint32_t plan_k_shares(const plan *p, const plan_step *s)
{
    enum { MOST = 8, CHUNK = 32, FLOATS = 10240, BYTES = 32768 }; /* of x that workgroup memory has room for */
    const plan_part *part = &s->parts[0];
    if (!p->shares_k || !p->slots || s->op != OP_MATMUL || s->part_count != 1 || s->norm || s->combines_splits ||
        part->gate_of || part->rope || part->store)
        return 1;
    const graph_node *w = graph_at(p->g, graph_at(p->g, part->matmul)->operands[1]);
    tensor_type type = w->as.weight;
    uint32_t room = type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16 ? FLOATS : BYTES;
    uint32_t k = w->s.dims[GRAPH_MAX_DIMS - 1], shares = 1;
    while (shares < MOST && k > 2 * w->s.dims[GRAPH_MAX_DIMS - 2] && k % (2 * shares * CHUNK) == 0 &&
           (uint64_t)k / shares * plan_rows(p, s) > room)
        shares *= 2;
    return shares;
}

uint64_t plan_share_words(const plan *p, const plan_step *s)
{
    uint32_t shares = plan_k_shares(p, s);
    if (shares == 1)
        return 0;
    const graph_node *w = graph_at(p->g, graph_at(p->g, s->parts[0].matmul)->operands[1]);
    return (uint64_t)shares * plan_rows(p, s) * ((w->s.dims[GRAPH_MAX_DIMS - 2] + 3) / 4 * 4);
}
