/* collect_import: the records of files and folders into a collector's database. */
#ifndef SOLO_CLI_COLLECT_IMPORT_H
#define SOLO_CLI_COLLECT_IMPORT_H

#include "serve/collect_store.h"

/* Says on standard error what was left out and why, and on standard output how many were added. False: something could
 * not be read or written, or there was no record at all. */
bool collect_import(collect_store *s, const char *const *paths, size_t count, err *e);

#endif
