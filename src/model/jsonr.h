/* jsonr: reads JSON as a tree, which base/jsonw.h writes.
 *
 * Every function takes NULL, too, for what is not there, and for values of another kind returns nothing: a path into
 * a tree can be written without asking at each step. */
#ifndef SOLO_JSONR_H
#define SOLO_JSONR_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef enum { JSONR_NULL, JSONR_BOOL, JSONR_WHOLE, JSONR_REAL, JSONR_TEXT, JSONR_LIST, JSONR_OBJECT } jsonr_kind;
typedef struct jsonr jsonr;

/* UTF-8 without zeros, at most 64 deep. NULL with an error, which names the line. The text is not needed afterwards. */
jsonr *jsonr_read(const char *text, size_t length, err *e);
void jsonr_free(jsonr *root);

bool jsonr_is(const jsonr *v, jsonr_kind kind);
/* A whole number or another one. */
bool jsonr_is_number(const jsonr *v);
bool jsonr_is_true(const jsonr *v);
int64_t jsonr_whole(const jsonr *v);    /* else 0 */
double jsonr_number(const jsonr *v);    /* of whole ones, too; else 0 */
const char *jsonr_text(const jsonr *v); /* else NULL */
size_t jsonr_text_length(const jsonr *v);

/* Members of a list or of an object, in their order; NULL behind the last. */
uint32_t jsonr_count(const jsonr *v);
const jsonr *jsonr_at(const jsonr *v, uint32_t i);
const char *jsonr_key(const jsonr *object, uint32_t i);
/* By its key; the last of several. */
const jsonr *jsonr_get(const jsonr *object, const char *key);
const char *jsonr_get_text(const jsonr *object, const char *key);

#define jsonr_each(item, list) for (uint32_t item##_at = 0; (item = jsonr_at(list, item##_at)) != NULL; item##_at++)

#endif
