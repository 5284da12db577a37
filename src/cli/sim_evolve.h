/* sim_evolve: the options of evolution, and running one with progress, saving and resuming. */
#ifndef SOLO_CLI_SIM_EVOLVE_H
#define SOLO_CLI_SIM_EVOLVE_H

#include "cli/cli.h"
#include "sim/evolve.h"

typedef struct cli_evolve {
    long generations; /* 0: no evolution */
    evolve_options how;
    const char *save, *resume, *best;
} cli_evolve;

extern const option EVOLVE_TABLE[];

bool cli_evolve_check(const cli_evolve *v, err *e);

/* `*out` must be freed whether it went well or not. Interrupted (Ctrl-C), it saves and fails. */
bool cli_evolve_run(const cli_evolve *v, sim *s, fusion_level level, submit_policy submit, evolution **out, err *e);

#endif
