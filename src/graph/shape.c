/* shape: the shapes of tensors. */
#include "graph/graph_internal.h"

#include <string.h>

shape shape4(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (shape){{a, b, c, d}};
}

shape shape3(uint32_t a, uint32_t b, uint32_t c)
{
    return shape4(1, a, b, c);
}

shape shape2(uint32_t a, uint32_t b)
{
    return shape4(1, 1, a, b);
}

shape shape1(uint32_t a)
{
    return shape4(1, 1, 1, a);
}

uint64_t shape_count(shape s)
{
    uint64_t count = 1;
    for (int i = 0; i < GRAPH_MAX_DIMS; i++)
        count *= s.dims[i];
    return count;
}

bool shape_same(shape a, shape b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}
