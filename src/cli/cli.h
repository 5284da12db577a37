/* cli: what the commands share. Each command is one file with one cmd_
 * function; it returns the exit status: 0, 1 it failed, 2 wrong usage, 3 no
 * usable GPU. */
#ifndef SOLO_CLI_H
#define SOLO_CLI_H

#include "base/err.h"
#include "base/str.h"
#include "gpu/gpu.h"
#include "graph/plan.h"
#include "llm/generation.h"

#include <stdbool.h>

typedef struct cli_command {
    const char *name, *arguments, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} cli_command;

int cmd_info(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_chat(int argc, char **argv);
int cmd_tokenize(int argc, char **argv);
int cmd_logits(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_synth(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_web(int argc, char **argv);

/* "solo: TEXT" on stderr; returns the exit status that belongs to the error. */
int cli_fail(const err *e);

/* Walking through a command line: options first to last, the rest in place. */
typedef struct cli_args {
    int argc, at;
    char **argv;
    err *e;
} cli_args;

/* The next word, or NULL at the end. */
const char *cli_next(cli_args *a);
/* The value of the option just read, or NULL and a usage error. */
const char *cli_value(cli_args *a, const char *option);
/* The same as a whole number within bounds. */
bool cli_number(cli_args *a, const char *option, long lowest, long highest, long *out);
bool cli_unknown(cli_args *a, const char *word);

/* What every command that runs a model takes: MODEL, --fuse LEVEL, --chunk MS, --impl I, --checked.
 * Without a path it is the built-in one. */
typedef struct cli_model {
    const char *path, *impl;
    bool checked;       /* kernels look whether they keep to their memory, on GPUs, too */
    long chunk_ms;      /* 0: not said */
    fusion_level level; /* initialise it with the default; LEVEL_AUTO: the best that is safe on the device */
} cli_model;
/* The device it asks for, opened or not. */
gpu_choice cli_choice(const cli_model *m);
gpu *cli_open_model_gpu(const cli_model *m, err *e);
/* The level to use on this device. */
fusion_level cli_level_on(const cli_model *m, const gpu *g);
/* What a generation has to say, if anything: one line on stderr. */
void cli_print_notice(generation *n);
/* Takes `word` if it is one of these; an unknown option or a second model is an error. */
bool cli_model_word(cli_args *a, const char *word, cli_model *m);

/* none, ops, token, loop. */
bool cli_level(const char *name, fusion_level *level, err *e);

/* A record's place is tried before minutes are spent on measuring; writing it says where it is
 * (unless it goes to standard output) and frees it. */
bool cli_record_writable(const char *path, err *e);
bool cli_record_write(str *record, const char *path, err *e);

/* solo bench llm */
int bench_llm(int argc, char **argv);
extern const char bench_llm_help[];

/* solo bench sim */
int bench_sim(int argc, char **argv);
extern const char bench_sim_help[];

/* gpu, software or any. */
bool cli_adapter(const char *text, gpu_adapter_want *want, err *e);

#endif
