/* table: numbers from a CSV file: a row per line, as many columns in each, perhaps names in the first line. */
#ifndef SOLO_SIM_TABLE_H
#define SOLO_SIM_TABLE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

typedef struct table {
    uint32_t rows, columns;
    float *values; /* (rows, columns) */
} table;

/* Errors name the line. Numbers that are not finite are errors. */
bool table_read(table *t, const char *path, err *e);
bool table_parse(table *t, const char *name, const char *text, err *e);
void table_free(table *t);

#endif
