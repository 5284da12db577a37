/* layout: how matrices of each weight type lie in a GPU's memory.
 *
 * In a file, blocks are 18 or 210 bytes long, scales and weights mixed. GPUs read
 * fastest 16 aligned bytes at a time, consecutive weights side by side. So the same
 * bits are stored in another order, and in planes: all low bits of a matrix, then all
 * high bits, then all scales. Nothing is rounded, and no type grows, except that rows
 * are padded to complete chunks, packed scales of 3, 4 or 6 bits take a byte each, and tq1_0 becomes tq2_0. A matrix of an I
 * type with a grid begins with that grid: up to eight kilobytes, in the same memory, so that kernels need no tables of
 * their own. Its entries are bytes, one for each weight; of iq1 four bits, as those of a chunk.
 *
 * Rows are made of chunks: what 16 bytes hold for the float types (4 or 8 weights),
 * 32 weights for the quantised ones. In a chunk of 32:
 *     4 bits   word w holds weights 8w .. 8w+7: byte b has 8w+b low and 8w+4+b high
 *     2 bits   word w holds weights 16w ..: byte b has 16w+b lowest, then 16w+4+b ...
 *     1 bit    byte b has 4j+b at bit j
 *     8 bits   word w holds weights 4w .. 4w+3
 * kernels/weight/NAME.wgsl reads it.                                            */
#ifndef SOLO_GRAPH_LAYOUT_H
#define SOLO_GRAPH_LAYOUT_H

#include "graph/type.h"

enum { LAYOUT_ALIGN_BYTES = 256 };

typedef enum { PLANE_GRID, PLANE_LOW, PLANE_HIGH, PLANE_SCALES, PLANE_FACTORS, PLANE_COUNT } layout_plane;

/* What weights are beside floats: whole numbers of a byte at most, times one factor for a chunk, plus one offset; or,
 * for each half of the chunk, times a whole number times such a factor, plus another times the offset; or values of
 * a table of 16, of which a byte of low bits has two. */
typedef enum { BYTES_NONE, BYTES_ONE, BYTES_HALVES, BYTES_PAIRS } layout_form;

typedef struct layout {
    uint32_t chunk_weights;
    uint32_t low_bytes, high_bytes; /* of a chunk */
    uint32_t scale_chunks;          /* chunks that share an entry of the planes of scales and factors */
    uint32_t scale_bytes, factor_bytes;
    const uint16_t *grid; /* what it is made of: type_iq.h */
    uint32_t grid_bytes;  /* once in a matrix, or in each piece of a large one */
    layout_form bytes;
} layout;

const layout *layout_of(tensor_type type);

uint32_t layout_chunks(tensor_type type, uint32_t columns); /* of a row */
uint64_t layout_bytes(tensor_type type, uint32_t rows, uint32_t columns);
/* Where plane `p` of a matrix begins, from the matrix's own beginning. */
uint64_t layout_plane_at(tensor_type type, uint32_t rows, uint32_t columns, layout_plane p);
/* Bytes of a plane for `rows` rows; the grid's are always the same. */
uint64_t layout_plane_bytes(tensor_type type, uint32_t rows, uint32_t columns, layout_plane p);

/* Rows may be packed so many at a time, or a multiple of it: then each plane's share is whole words. */
uint32_t layout_rows_together(tensor_type type);

/* `rows` rows as they stand in a file, into planes of their own; those a type has not may be NULL. */
void layout_pack(tensor_type type, const void *from, uint32_t rows, uint32_t columns, void *planes[PLANE_COUNT]);

#endif
