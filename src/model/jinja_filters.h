/* jinja_filters: the numbers of the filters, and those that go over lists. */
#ifndef SOLO_JINJA_FILTERS_H
#define SOLO_JINJA_FILTERS_H

#include "model/jinja_internal.h"

/* In the order of their names in jinja_filters.c. */
enum {
    F_ABS,
    F_CAPITALIZE,
    F_COUNT,
    F_D,
    F_DEFAULT,
    F_DICTSORT,
    F_E,
    F_ESCAPE,
    F_FIRST,
    F_FLOAT,
    F_FORMAT,
    F_INDENT,
    F_INT,
    F_ITEMS,
    F_JOIN,
    F_LAST,
    F_LENGTH,
    F_LIST,
    F_LOWER,
    F_MAP,
    F_MAX,
    F_MIN,
    F_REJECT,
    F_REJECTATTR,
    F_REPLACE,
    F_REVERSE,
    F_ROUND,
    F_SAFE,
    F_SELECT,
    F_SELECTATTR,
    F_SORT,
    F_STRING,
    F_SUM,
    F_TITLE,
    F_TOJSON,
    F_TRIM,
    F_UNIQUE,
    F_UPPER
};

/* first, last, join, list, map, max, min, reverse, sort, sum, unique, and those that select. */
jinja_value jinja_filter_items(jinja_run *r, int filter, jinja_value v, const jinja_args *args);
/* The pairs of a dict. */
jinja_value jinja_filter_pairs(jinja_run *r, jinja_value v, items_kind kind);
jinja_value jinja_filter_dictsort(jinja_run *r, jinja_value v, const jinja_args *args);

#endif
