/* builtin: the simulations that are part of the binary, kernels/sim. */
#ifndef SOLO_SIM_BUILTIN_H
#define SOLO_SIM_BUILTIN_H

#include "sim/table.h"

/* The text of one; NULL: there is none of that name. */
const char *sim_builtin(const char *name);
/* The same simulation written by hand in CUDA, without what is added to it (sim_text_cuda); NULL: there is none. */
const char *sim_builtin_cuda(const char *name);
/* Names, in order; NULL behind the last. */
const char *sim_builtin_name(uint32_t i);
/* What the first sentence of its file says. To be freed. */
char *sim_builtin_summary(const char *name);

/* Prices that nobody paid, for the one that trades: 16 assets that move together, in calm and in wild times, and after
 * trends that last a while. Random numbers are whole ones, and every sum and product of doubles is rounded by itself: the same
 * everywhere. */
void sim_make_prices(table *t, uint32_t rows, uint32_t seed);
/* The rows that its STEPS need, and which prices are the usual ones. */
enum { SIM_PRICE_ROWS = 1521, SIM_PRICE_SEED = 2024 };

#endif
