/* store: the models that were fetched, in the user's cache folder: models/HUB/OWNER/REPO/FILE.
 *
 * A file under its own name is complete and was checked. One that is being fetched has a hidden name that ends in .part
 * and has its checksum in it, so that the next try resumes the same contents or begins anew. Of a folder of
 * safetensors config.json comes last, so that a folder which has it is complete. There is no other record: what lies there
 * is what is so. */
#ifndef SOLO_HUB_STORE_H
#define SOLO_HUB_STORE_H

#include "hub/choose.h"
#include "hub/site.h"

/* CACHE/models, or CACHE/models/HUB/OWNER/REPO. False with an error: SOLO_CACHE=off. */
bool store_add_root(str *path, err *e);
bool store_add_folder(str *path, const hub_site *s, const hub_name *n, err *e);

/* The plain files below a folder that are not hidden, sorted; none if there is no such folder. `*all_bytes` has the
 * hidden ones, too. */
hub_listing store_list(const char *folder, uint64_t *all_bytes);

/* The models among them; of a folder of safetensors all that belongs to it. */
hub_models store_models(const hub_listing *l);

/* Nobody else changes the folder while this is held: a descriptor, or -1 with an error. The folder is made. If
 * somebody else has it, that is an error, or with `say` a line, and then it is waited for. */
int store_lock(const char *folder, void (*say)(const char *line), err *e);
void store_unlock(int lock);

/* Where the model is that a name means, if all of it is here. */
bool store_find(const hub_site *s, const hub_name *n, str *path);
/* The same of a model of this listing. */
void store_add_path(const char *folder, const hub_model *m, str *path);
/* Remembers that it was used now. */
void store_touch(const char *path);

/* Removes these files, or, without a model, all of the folder; and the folders that become empty. */
bool store_remove(const char *folder, const hub_model *m, err *e);

#endif
