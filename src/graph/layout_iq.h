/* layout_iq: packs a block of a type of 256 weights of type_iq.h. Used by layout.c only. */
#ifndef SOLO_GRAPH_LAYOUT_IQ_H
#define SOLO_GRAPH_LAYOUT_IQ_H

#include "graph/layout.h"

/* Each points to the block's place in a plane; those a type has not are not looked at. */
void layout_pack_iq(tensor_type type, const uint8_t *from, uint8_t *low, uint8_t *high, uint8_t *scales,
                    uint8_t *factors);

/* 32 bits, of which bit i is weight i's in a file, as a plane of bits has them. */
void layout_put_bits(uint8_t *to, const uint8_t *from);

/* The grid that a matrix begins with. */
void layout_put_grid(tensor_type type, const layout *l, uint8_t *to);

#endif
