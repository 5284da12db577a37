/* model_name: from what a person calls a model to its path. */
#ifndef SOLO_CLI_MODEL_NAME_H
#define SOLO_CLI_MODEL_NAME_H

#include "cli/options.h"

/* OWNER/REPO[:FILE] from the hub, or from here where it is the same. Says on stderr what it fetches; Ctrl-C ends the
 * program. */
bool cli_pull_model(const char *name, str *path, err *e);

/* A model in tables and records: its file's name without the folders it lies in; NULL: the built-in one. */
const char *cli_short_name(const char *path);

/* Replaces every MODEL of a command's options (`is_model`) that is no path here but the name of a repository by the path
 * of the model, which is fetched if need be. The texts in `*paths` have to be freed later. */
bool cli_find_models(const cli_command *c, void *chosen, text_list *paths, err *e);

#endif
