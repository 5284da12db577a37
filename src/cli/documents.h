/* documents: the manual pages and the completion scripts, made of the tables of all commands. */
#ifndef SOLO_CLI_DOCUMENTS_H
#define SOLO_CLI_DOCUMENTS_H

#include "cli/options.h"

/* solo(1), and solo-NAME(1) of a command, in troff (man.c). */
void man_add_overview(str *out);
void man_add_command(const cli_command *c, str *out);

/* Scripts that complete commands, options, values and files in a shell (completion_bash.c and so on). */
void completion_add_bash(str *out);
void completion_add_zsh(str *out);
void completion_add_fish(str *out);

/* ---- what those share (completion.c) --------------------------------------------------------- */

/* What an option is for, in few words. */
void completion_add_description(const option *o, str *out);
/* Names that it takes, separated by spaces; nothing if there are none. */
void completion_add_names(const option *o, str *out);
/* In single quotes, as all three shells read it. */
void completion_add_quoted(const char *text, str *out);

#endif
