/* prices: makes the synthetic price history of the finance simulation. */
#include "base/str.h"
#include "sim/builtin.h"
#include "sim/threefry.h"

/* Fused multiply-adds would make other prices. GCC makes none with -std=c11, and does not know the pragma. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum { ASSETS = 16 };

/* Nearly normal, mean 0, deviation 1: the sum of twelve uniform numbers. */
static double bell(uint32_t seed, uint32_t day, uint32_t which)
{
    double sum = -6;
    for (uint32_t k = 0; k < 6; k++) {
        uint32_t pair[2];
        threefry((uint32_t[]){seed, which}, (uint32_t[]){day, k}, pair);
        sum += (double)threefry_unit(pair[0]) + (double)threefry_unit(pair[1]);
    }
    return sum;
}

void sim_make_prices(table *t, uint32_t rows, uint32_t seed)
{
    double price[ASSETS], trend[ASSETS] = {0}, fear = 1;
    *t = (table){rows, ASSETS, mem_alloc((size_t)rows * ASSETS * sizeof(float))};
    for (uint32_t a = 0; a < ASSETS; a++)
        price[a] = 20 + 15 * (double)a;
    for (uint32_t day = 0; day < rows; day++) {
        double market = bell(seed, day, ASSETS);
        /* volatility clusters */
        fear = 0.94 * fear + 0.06 * (0.5 + market * market / 2);
        for (uint32_t a = 0; a < ASSETS; a++) {
            double own = bell(seed, day, a), turn = bell(seed, day, ASSETS + 1 + a);
            double beta = 0.5 + (double)a / ASSETS;
            trend[a] = 0.97 * trend[a] + 0.0003 * turn;
            t->values[(size_t)day * ASSETS + a] = (float)price[a];
            double grown = 0.0002 + trend[a] + 0.007 * fear * (beta * market + own);
            price[a] *= 1 + (grown > -0.3 ? grown : -0.3);
        }
    }
}
