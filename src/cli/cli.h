/* cli: what the commands share. Each command is one file with one `cli_command`, whose function returns the exit status:
 * 0, 1 it failed, 2 wrong usage, 3 no usable GPU. */
#ifndef SOLO_CLI_H
#define SOLO_CLI_H

#include "base/err.h"
#include "base/str.h"
#include "cli/options.h"
#include "gpu/gpu.h"
#include "graph/plan.h"
#include "llm/generation.h"
#include "model/model.h"

#include <stdbool.h>

extern const cli_command command_info, command_demo, command_run, command_chat, command_tokenize, command_logits,
    command_embed, command_explain, command_convert, command_synth, command_sim, command_bench_dispatch,
    command_bench_llm, command_bench_batch, command_bench_decoder, command_bench_sim, command_bench_graph, command_pull,
    command_models, command_report, command_compare, command_share, command_collect, command_serve, command_web,
    command_completion, command_man;

/* A text that a model made, or that has names from files in it, at once. On a terminal, characters that would control it are shown as \xNN; elsewhere the
 * bytes are those of the text. */
void cli_print_text(const char *text, size_t bytes);

/* What was printed goes out now. */
void cli_flush(void);
/* The exit status at the end: what was printed must have arrived, so a full disk is a failure, with one line. */
int cli_end_output(int status);

/* "solo: TEXT" on stderr; returns the exit status that belongs to the error. */
int cli_fail(const err *e);
/* Are the environment's numbers numbers? */
bool cli_check_environment(err *e);
/* Where a server is, as a browser takes it; at once. NULL: localhost. */
void cli_print_address(const char *host, uint32_t port);

/* ---- names, for tables --------------------------------------------------------------------- */

const char *cli_level_name(uint32_t i);
const char *cli_submit_name(uint32_t i);
const char *cli_impl_name(uint32_t i);
const char *cli_adapter_name(uint32_t i);

/* ---- a model and the device it runs on -------------------------------------------------------- */

/* What every command that runs a model takes. Without a path it is the built-in one. */
typedef struct cli_model {
    const char *path, *impl;
    bool checked;       /* kernels look whether they keep to their memory, on GPUs, too */
    bool wait;          /* no text before the best level has compiled */
    long chunk_ms;      /* 0: not given */
    bool check_tensors; /* look at every weight before anything runs */
    text_list loras;    /* adapters that are merged: FILE[:SCALE] */
    fusion_level level; /* initialise it with the default; LEVEL_AUTO: the best that is safe on the device */
} cli_model;

extern const option MODEL_TABLE[];      /* MODEL */
extern const option BEST_LEVEL_TABLE[]; /* --fuse, where the default is the best level, --chunk and --wait */
extern const option LEVEL_TABLE[];      /* --fuse, where it is the one in `level` */
extern const option DEVICE_TABLE[];     /* --impl, --checked */

extern const option LORA_TABLE[]; /* --lora */

/* The model, with its adapters. */
model *cli_open_model(const cli_model *m, err *e);
/* The device it asks for, opened or not. */
gpu_choice cli_choice(const cli_model *m);
gpu *cli_open_model_gpu(const cli_model *m, err *e);
/* Closes it last of all. If kernels still compile in the background, which closing would wait for, or the device has
 * failed, from which closing may not come back, the process ends here instead, with this status. */
void cli_close_gpu(gpu *g, int status);
/* What a generation has to say, if anything: one line on stderr. */
void cli_print_notice(generation *n);

/* ---- measurements and their records ---------------------------------------------------------- */

extern const option ADAPTER_TABLE[]; /* --adapter, into a gpu_adapter_want */
extern const option RECORD_TABLE[];  /* --json FILE, into a const char * */

/* A record's place is tried before minutes are spent on measuring; writing it says where it is
 * (unless it goes to standard output) and frees it. */
bool cli_record_writable(const char *path, err *e);
bool cli_record_write(str *record, const char *path, err *e);

typedef struct cli_output {
    const char *option, *path; /* path: NULL and "-" are no files */
} cli_output;
/* Do results go into files of their own? */
bool cli_outputs_differ(const cli_output *list, size_t count, err *e);
/* Can a session be saved there? Asked before there is something to lose; NULL: there is none. */
bool cli_session_writable(const char *path, const char *command, err *e);
/* Does a result leave alone what it is made from? NULL and "-" are no files. */
bool cli_keeps_input(const char *option, const char *path, const char *input, err *e);

/* ---- texts ------------------------------------------------------------------------------------- */

/* All of a file, or of standard input if `path` is "-". */
bool cli_read_text(const char *path, str *text, err *e);
/* A file that is used as a C text, and so is refused with a zero byte in it; NULL: it cannot be read. */
char *cli_read_whole_text(const char *path, size_t limit_bytes, err *e);

#endif
