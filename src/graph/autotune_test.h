/* autotune_test: what only tests set of autotuning. */
#ifndef SOLO_GRAPH_AUTOTUNE_TEST_H
#define SOLO_GRAPH_AUTOTUNE_TEST_H

#include <stdbool.h>

/* The first form is timed against itself, though it was set by hand, or is the only one. */
extern bool autotune_times_twice;

#endif
