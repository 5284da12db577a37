/* level: how much of a workload one dispatch does.
 *
 *   auto   the best level that is safe on the device
 *   none   a dispatch for each operator, or each step
 *   ops    a dispatch for each fused group of operators
 *   token  one dispatch for each token
 *   loop   one dispatch for many tokens, or for all steps of a simulation
 *
 * In the order of fewer dispatches; zero is the best default.              */
#ifndef SOLO_LAUNCH_LEVEL_H
#define SOLO_LAUNCH_LEVEL_H

typedef enum { LEVEL_AUTO, LEVEL_NONE, LEVEL_OPS, LEVEL_TOKEN, LEVEL_LOOP, LEVEL_COUNT } fusion_level;
extern const char *const fusion_names[LEVEL_COUNT];

#endif
