/* help: what `--help` prints, from the tables of options.h. */
#ifndef SOLO_CLI_HELP_H
#define SOLO_CLI_HELP_H

#include "cli/options.h"

enum { HELP_COLUMNS = 100 };

/* -h, --help, which every command has. */
extern const option HELP_OPTION;

/* "solo run [MODEL] [-p TEXT] [OPTION]..." */
void help_add_synopsis(const cli_command *c, str *out);
/* "-c, --context N" */
void help_add_left(const option *o, str *out);
void help_add_command(const cli_command *c, str *out);

/* A text at `indent` columns, of which the first line has `column` already, cut at spaces. */
void help_add_wrapped(const char *text, size_t length, size_t indent, size_t column, str *out);

#endif
