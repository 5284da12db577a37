/* builtin: the simulations that are part of the binary, kernels/sim. */
#ifndef SOLO_SIM_BUILTIN_H
#define SOLO_SIM_BUILTIN_H

#include "sim/table.h"

/* The text of a simulation; NULL: there is none of that name. */
const char *sim_builtin(const char *name);
/* The same simulation written by hand in CUDA, without the text that sim_text_cuda adds; NULL: there is none. */
const char *sim_builtin_cuda(const char *name);
/* Names, in order; NULL behind the last. */
const char *sim_builtin_name(uint32_t i);
/* The first sentence of its file. To be freed. */
char *sim_builtin_summary(const char *name);

/* Synthetic prices for the finance simulation: 16 correlated assets with clustered volatility and slowly changing
 * trends. Random numbers are integers, and every sum and product of doubles is rounded separately: the same prices
 * everywhere. */
void sim_make_prices(table *t, uint32_t rows, uint32_t seed);
/* The rows that its STEPS need, and the default seed. */
enum { SIM_PRICE_ROWS = 1521, SIM_PRICE_SEED = 2024 };

#endif
