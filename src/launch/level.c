/* The names of fusion levels, as users write them. */
#include "launch/level.h"

const char *const fusion_names[LEVEL_COUNT] = {"auto", "none", "ops", "token", "loop"};
