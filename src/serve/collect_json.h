/* collect_json: JSON of records, read and written as jansson does, in a third of the time.
 *
 * A record is mostly numbers, and most of what taking one costs is reading and writing them. What is unusual is left to
 * jansson, so that there is one opinion on what is JSON, and one set of messages. */
#ifndef SOLO_SERVE_COLLECT_JSON_H
#define SOLO_SERVE_COLLECT_JSON_H

#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>

/* What json_loadb with JSON_REJECT_DUPLICATES makes of it. */
json_t *collect_json_read(const char *text, size_t length, json_error_t *why);
/* On one line, keys sorted, numbers with 15 digits: what json_dumps writes. Records are named by the hash of this
 * text, so it never changes. False: it is not writable. */
bool collect_json_write(json_t *value, str *out);

#endif
