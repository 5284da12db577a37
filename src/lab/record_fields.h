/* record_fields: typed fields of a record's JSON, checked and kept as long as the record. */
#ifndef SOLO_RECORD_FIELDS_H
#define SOLO_RECORD_FIELDS_H

#include "base/str.h"
#include "lab/record_read.h"

#include <jansson.h>

/* Memory that record_view_free frees; texts without control characters. */
void *record_keep(record_view *view, size_t bytes);
const char *record_keep_text(record_view *view, const char *text);
const char *record_keep_str(record_view *view, str *s); /* frees s */
/* Control characters, also the two-byte ones U+0080 to U+009F, to spaces. */
void record_blank_controls(char *s);

typedef struct record_reader {
    record_view *view;
    err *e;
    char where[160];  /* "results[3] (dispatch): ", or "" at the top */
    bool keep_stated; /* statistics are those of the file */
    size_t samples;   /* of all results so far */
} record_reader;

/* The record of a JSON value that was parsed; `keep_stated`: with the statistics that it states, NAN where it has none, for
 * those who check them. Fails as record_view_parse does. */
bool record_view_from(record_view *view, const char *path, json_t *root, bool keep_stated, err *e);

/* Each fails with an error that names the file and the key. What is absent or null is "", NAN or NULL. */
bool record_wrong(record_reader *r, const char *key, const char *what);
bool record_read_text(record_reader *r, json_t *object, const char *key, const char **out);
bool record_read_number(record_reader *r, json_t *object, const char *key, double *out);
bool record_read_array(record_reader *r, json_t *object, const char *key, size_t limit, json_t **out);
bool record_read_object(record_reader *r, json_t *object, const char *key, json_t **out);
/* Is entry i of this list an object? From here on, errors name it. */
bool record_entry_is_object(record_reader *r, const char *list, size_t i, json_t *entry);

/* ---- parameters (record_params.c) ---- */

/* A value of any type as a text. */
const char *record_value_text(record_reader *r, json_t *value);
/* The object "params", sorted by key. */
bool record_read_params(record_reader *r, json_t *object, view_param **out, size_t *count);
/* "name key=value ...": what makes two results the same measurement. */
const char *record_identity(record_reader *r, const view_result *result);

#endif
