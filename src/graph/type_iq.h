/* type_iq: types whose weights are looked up: in a table of 16 values (iq4, mxfp4), as three values (tq), or several at
 * once in a grid (the I types of up to 3 bits). What they are made of is in type_iq.c and type_grid.c.
 *
 * An entry of a grid is 8 weights of two bits, or 4 of three, the first weight lowest; what the bits mean:
 *     iq2   8, 25, 43                       iq1    -1, 0, 1
 *     iq3_xxs   4, 12, 20, 28, 36, 44, 52, 62    iq3_s   1, 3, 5 .. 15                                        */
#ifndef SOLO_GRAPH_TYPE_IQ_H
#define SOLO_GRAPH_TYPE_IQ_H

#include <stddef.h>
#include <stdint.h>

/* A page does without the grids: files of these types are large models' as a rule, and the tables take as much room as all
 * kernels of other types. */
#ifdef __wasm__
enum { TYPE_HAS_GRIDS = 0 };
#else
enum { TYPE_HAS_GRIDS = 1 };
#endif

enum {
    IQ4_NL_BYTES = 2 + 16,
    MXFP4_BYTES = 1 + 16,
    IQ4_XS_BYTES = 2 + 2 + 4 + 128,
    TQ1_0_BYTES = 48 + 4 + 2,
    TQ2_0_BYTES = 64 + 2,
    IQ2_XXS_BYTES = 2 + 64,
    IQ2_XS_BYTES = 2 + 64 + 8,
    IQ2_S_BYTES = 2 + 64 + 8 + 8,
    IQ3_XXS_BYTES = 2 + 64 + 32,
    IQ3_S_BYTES = 2 + 64 + 8 + 32 + 4,
    IQ1_S_BYTES = 2 + 32 + 16,
    IQ1_M_BYTES = 32 + 16 + 8
};

extern const int8_t iq4_values[16], mxfp4_values[16];

void iq4_nl_read(const uint8_t *from, float *to, size_t blocks);
void mxfp4_read(const uint8_t *from, float *to, size_t blocks);
void iq4_xs_read(const uint8_t *from, float *to, size_t blocks);
void tq1_0_read(const uint8_t *from, float *to, size_t blocks);
void tq2_0_read(const uint8_t *from, float *to, size_t blocks);
void iq4_nl_write(const float *from, uint8_t *to, size_t blocks);
void mxfp4_write(const float *from, uint8_t *to, size_t blocks);

/* Weight i of a block of tq1_0, 0 to 2. */
int tq1_0_at(const uint8_t *block, int i);
/* The half that is spread over the scales of iq1_m. */
uint16_t iq1_m_half(const uint8_t *scales);

/* ---- type_grid.c ---- */

extern const uint16_t iq2_xxs_grid[256], iq2_xs_grid[512], iq2_s_grid[1024], iq3_xxs_grid[256], iq3_s_grid[512],
    iq1_grid[2048];

void iq2_xxs_read(const uint8_t *from, float *to, size_t blocks);
void iq2_xs_read(const uint8_t *from, float *to, size_t blocks);
void iq2_s_read(const uint8_t *from, float *to, size_t blocks);
void iq3_xxs_read(const uint8_t *from, float *to, size_t blocks);
void iq3_s_read(const uint8_t *from, float *to, size_t blocks);
void iq1_s_read(const uint8_t *from, float *to, size_t blocks);
void iq1_m_read(const uint8_t *from, float *to, size_t blocks);

#endif
