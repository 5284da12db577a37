/* commands: the list of commands, which help, the manual and completion go through. */
#ifndef SOLO_CLI_COMMANDS_H
#define SOLO_CLI_COMMANDS_H

#include "cli/options.h"

/* Several commands whose names begin with the same word. */
typedef struct command_family {
    const char *name, *noun, *value, *summary;
} command_family;

/* The i-th, hidden ones too; NULL behind the last. */
const cli_command *command_at(size_t i);
const command_family *command_family_at(size_t i);
/* The command that these words begin with, and how many of them are its name; NULL: none. */
const cli_command *command_find(int count, char *const *words, int *used);
const command_family *command_family_find(const char *name);
bool command_is_of_family(const cli_command *c, const command_family *f);

/* Says of words that begin no command what is wrong with them. */
bool command_unknown(int count, char *const *words, err *e);

void commands_add_help(str *out);
void command_family_add_help(const command_family *f, str *out);

#endif
