/* run_program: solo run of a program of PyTorch. */
#ifndef SOLO_CLI_RUN_PROGRAM_H
#define SOLO_CLI_RUN_PROGRAM_H

#include "cli/cli.h"

typedef struct program_options {
    text_list inputs; /* [NAME=]FILE */
    const char *folder;
    uint64_t seed;
} program_options;
extern const option PROGRAM_TABLE[];

bool cli_run_program(const cli_model *m, const program_options *o, err *e);

#endif
