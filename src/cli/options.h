/* options: the words behind a command, described by tables.
 *
 * A table has a line for each option and each operand (a word without a dash): what it is called, what it takes, what it
 * is for and where its value goes. A command lists the tables it takes, its own and shared ones. The parser, `--help`,
 * the manual pages and the completion in shells all read these tables, so that none of them can say something else.
 *
 *     typedef struct options { const char *model; long tokens; } options;
 *     static const option TABLE[] = {
 *         {.value = "MODEL", .files = OPTION_FILES, INTO(options, model), .help = "a GGUF file"},
 *         {.letter = 'n', .value = "N", .kind = OPTION_WHOLE, .low = 1, .high = 1000, INTO(options, tokens), .help = "..."},
 *         {0}};
 *
 * What a struct holds before the words are read are the defaults; `--help` shows them from there.                    */
#ifndef SOLO_CLI_OPTIONS_H
#define SOLO_CLI_OPTIONS_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    OPTION_TEXT,  /* const char *, with at least `low` bytes; with `files` never empty */
    OPTION_TEXTS, /* text_list: may be given several times, `high` at most if that is not 0 */
    OPTION_FLAG,  /* bool: takes no value */
    OPTION_WHOLE, /* uint32_t or 64 bits, signed or not: a whole number from `low` to `high` */
    OPTION_REAL,  /* float or double, from `low` to `high` */
    OPTION_NAME,  /* an enum: the position of one of the names */
    OPTION_NAMES  /* bool[]: several names, separated by commas */
} option_kind;

typedef enum { OPTION_NO_FILES, OPTION_FILES, OPTION_FOLDERS } option_files;

typedef struct option {
    const char *name;  /* --NAME; NULL: there is only the letter, or it is an operand */
    const char *alias; /* --ALIAS is the same: an earlier name */
    char letter;       /* -L, or 0 */
    const char *value; /* what its value, or the operand, is called in help */
    option_kind kind;
    double low, high;
    bool above_low;                 /* OPTION_REAL: `low` itself is not allowed */
    const char *(*names)(uint32_t); /* the names there are, NULL behind the last. OPTION_TEXT: suggestions */
    const char *only;               /* of those, separated by commas; NULL: all */
    bool lists;                     /* OPTION_TEXT: the value is a list, separated by commas */
    option_files files;             /* what a shell completes */
    bool required;                  /* it must be given */
    bool is_model;                  /* OPTION_TEXT: a model's path, or its name on a hub (model_name.h) */
    bool alone;                     /* with it nothing else is required */
    bool in_usage;                  /* worth naming in the usage line */
    size_t at, bytes;               /* where the value goes: INTO */
    const char *help;               /* {names} stands for the names */
    const char *otherwise;          /* what holds without it; NULL: the default's value is shown; "": nothing is said */
} option;

#define INTO(type, field) .at = offsetof(type, field), .bytes = sizeof(((type *)0)->field)

/* What OPTION_TEXTS fills. The texts are the arguments themselves. */
typedef struct text_list {
    const char **items;
    size_t count;
} text_list;

/* A table, and where in a command's struct that of the table is. */
typedef struct option_group {
    const char *title; /* in help; NULL: right below the usage */
    const option *table;
    size_t at;
} option_group;

enum { COMMAND_MAX_GROUPS = 9, COMMAND_MAX_OPTIONS = 64 };

typedef struct cli_command {
    const char *name;    /* "run"; of a family "bench llm" */
    const char *summary; /* one line */
    const char *about;   /* paragraphs, separated by empty lines */
    const char *notes;   /* the same below the options, where lines that begin with spaces stay as they are; or NULL */
    option_group groups[COMMAND_MAX_GROUPS];
    const void *defaults;                /* the command's struct */
    size_t bytes;                        /* of it; 0: the command has no options */
    bool (*check)(void *chosen, err *e); /* what the tables cannot say; or NULL */
    int (*run)(void *chosen);            /* returns the exit status */
    bool hidden;                         /* in no list */
} cli_command;

/* Reads the words behind the command's name into `chosen`, which has the defaults. False: a usage error.
 * `*help`: help was asked for, and nothing was checked. */
bool options_read(const cli_command *c, void *chosen, int count, char *const *words, bool *help, err *e);
/* Frees the lists in it. */
void options_free(const cli_command *c, void *chosen);

/* Sets one option of a table by its long name. False without an error: there is none of that name. */
bool options_set(const option *table, void *to, const char *name, const char *value, err *e);

/* ---- for those who describe them ---------------------------------------------------------- */

bool option_is_end(const option *o); /* of a table */
bool option_is_operand(const option *o);
bool option_takes_value(const option *o);
/* The i-th name that this one takes, or NULL. */
const char *option_name(const option *o, uint32_t i);
/* "none, ops, token or loop" */
void option_add_names(const option *o, const char *last_separator, str *out);
/* "--temp", or "-n", or "MODEL" */
void option_add_called(const option *o, str *out);
/* What it is for, with its names, its default (`base`: the struct of its table) and its alias. */
void option_add_help(const option *o, const void *base, str *out);

#endif
