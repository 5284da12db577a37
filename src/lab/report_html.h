/* report_html: text, numbers and tables of the report.
 *
 * Whatever comes from a record goes through html_text: records are hostile. */
#ifndef SOLO_REPORT_HTML_H
#define SOLO_REPORT_HTML_H

#include "base/str.h"
#include "lab/record_read.h"

/* Some results of a record, in its order. */
typedef struct picked {
    const view_result **items;
    size_t count;
} picked;

/* Up to MOST_SHOWN different words; a chart of more could not be read. */
enum { MOST_SHOWN = 24 };
typedef struct words {
    const char *items[MOST_SHOWN];
    size_t count;
} words;

extern const char report_style[];

void html_text(str *out, const char *text);

/* Three digits that matter: "0.0123", "1.23", "12.3", "123", "4560", "1.20M". */
void html_number(str *out, double value);

/* "us" as people write it: "µs". */
const char *unit_shown(const char *unit);

/* The name of the CSS class that gives an implementation its fixed colour. */
const char *colour_of(const char *impl);

/* The results called `name`; free with picked_free. */
picked results_named(const record_view *record, const char *name);
void picked_free(picked *p);

/* The first result whose parameters have these texts; NULL texts match all. */
const view_result *result_with(const picked *p, const char *key1, const char *text1, const char *key2,
                               const char *text2, const char *key3, const char *text3);

/* The different texts of one parameter. Those in `order` (NULL-terminated, or
 * NULL) come first and in that order, the rest as they appear. */
words words_of(const picked *p, const char *key, const char *const *order);

/* A section with its heading and the sentence that says how to read it. */
void section_open(str *out, const char *heading, const char *caption);
void section_close(str *out);

/* The numbers behind a chart, folded away. */
void numbers_table(str *out, const char *summary, const view_result *const *items, size_t count);

#endif
