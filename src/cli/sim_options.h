/* sim_options: what every command that runs a simulation takes. */
#ifndef SOLO_CLI_SIM_OPTIONS_H
#define SOLO_CLI_SIM_OPTIONS_H

#include "cli/cli.h"
#include "sim/sim.h"

typedef struct cli_sim {
    const char *path, *impl, *data_path, *genomes_path;
    text_list parameters;
    long population, steps, seed, chunk_ms, timeout_s; /* population, steps 0: as in the file */
    fusion_level level;                                /* LEVEL_AUTO: not given */
    submit_policy submit;
    gpu_adapter_want adapter;
    /* filled in by cli_sim_open */
    sim_source source;
    table data, genomes;
} cli_sim;

#define CLI_SIM_DEFAULTS \
    { \
        .seed = 1, .chunk_ms = 500, .timeout_s = 60, .submit = SUBMIT_BATCH \
    }

extern const option SIM_TABLE[];        /* its population, steps, parameters and data */
extern const option SIM_LEVEL_TABLE[];  /* --fuse, --submit */
extern const option SIM_DEVICE_TABLE[]; /* --chunk, --timeout, --impl, --adapter */

/* Reads the file, sets its parameters, reads its data. */
bool cli_sim_open(cli_sim *s, err *e);
void cli_sim_close(cli_sim *s);
sim_options cli_sim_options(const cli_sim *c);

#endif
