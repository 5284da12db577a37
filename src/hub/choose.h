/* choose: which files of a repository are a model, and which model a name means.
 *
 * A GGUF file is a model, and so are all parts of a split one; safetensors with a config.json are one together. What is
 * missing a part is none. */
#ifndef SOLO_HUB_CHOOSE_H
#define SOLO_HUB_CHOOSE_H

#include "hub/listing.h"
#include "hub/name.h"

typedef struct hub_model {
    const hub_file **files; /* of the listing; of a GGUF model the first is the one to open */
    size_t count;
    uint64_t bytes;
    bool is_folder;
    bool needs_shards; /* a folder whose index, one of the files, names the rest */
} hub_model;

typedef struct hub_models {
    hub_model *items;
    size_t count;
} hub_models;

/* All GGUF models, then the folder if there is one. The listing must be sorted and stay. */
hub_models hub_models_of(const hub_listing *l);
void hub_models_free(hub_models *m);

/* The one that `file` means: a file's name, a quantisation (Q4_K_M), "safetensors" for the folder, or NULL for the one
 * that suits most people. NULL with an error: none, or several. */
hub_model *hub_choose(const hub_models *m, const char *file, err *e);

/* Adds the shards that an index names (model.safetensors.index.json). */
bool hub_model_add_shards(hub_model *m, const hub_listing *l, const char *index, size_t length, err *e);

#define HUB_INDEX_FILE  "model.safetensors.index.json"
/* Fetched last: a folder that has it is complete. */
#define HUB_CONFIG_FILE "config.json"

#endif
