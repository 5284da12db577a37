/* jsonw: writing JSON into a str. Commas are put in by the writer.
 *
 *     str out = {0};
 *     jsonw j = jsonw_to(&out);
 *     jsonw_object(&j, NULL);
 *     jsonw_text(&j, "name", "solo");
 *     jsonw_array(&j, "samples"); jsonw_number(&j, NULL, 1.5); jsonw_end(&j);
 *     jsonw_end(&j);
 *
 * `key` is NULL inside arrays and for the outermost value. A number that is
 * not finite is written as null: JSON has no other way to say it.          */
#ifndef SOLO_JSONW_H
#define SOLO_JSONW_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSONW_MAX_DEPTH = 32 };

typedef struct jsonw {
    str *out;
    int depth;
    bool has_items[JSONW_MAX_DEPTH];
    char close[JSONW_MAX_DEPTH];
    bool flat[JSONW_MAX_DEPTH]; /* this container is written on one line */
    bool rows[JSONW_MAX_DEPTH]; /* each item of this container is written on one line */
} jsonw;

jsonw jsonw_to(str *out);
void jsonw_object(jsonw *j, const char *key);
void jsonw_array(jsonw *j, const char *key);
void jsonw_flat(jsonw *j); /* write the container just opened on one line */
void jsonw_rows(jsonw *j); /* write each item of the container just opened on one line of its own */
void jsonw_end(jsonw *j);
void jsonw_text(jsonw *j, const char *key, const char *value); /* NULL value: null */
void jsonw_number(jsonw *j, const char *key, double value);
void jsonw_count(jsonw *j, const char *key, uint64_t value);
void jsonw_bool(jsonw *j, const char *key, bool value);
void jsonw_null(jsonw *j, const char *key);

#endif
