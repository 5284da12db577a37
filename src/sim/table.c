/* table: reads numbers from CSV text, and names line and column of a mistake. */
#include "sim/table.h"
#include "base/file.h"
#include "base/number.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t LIMIT_BYTES = (size_t)1 << 30;

typedef struct csv {
    const char *name, *at;
    uint32_t line;
    size_t room;
    table *t;
    err *e;
} csv;

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r");
}

static uint32_t count_columns(const char *at)
{
    uint32_t n = 1;
    for (; *at && *at != '\n'; at++)
        n += *at == ',';
    return n;
}

/* One field up to its comma or the end of the line. */
static bool take_field(csv *c, uint32_t column, float *value)
{
    const char *at = skip_blanks(c->at);
    char *end;
    size_t length = strcspn(at, ",\n");
    *value = number_read_float(at, &end);
    const char *after = skip_blanks(end);
    /* strtof reads past line ends and accepts hexadecimal and infinities, so the characters are checked first */
    if (length == 0 || end == at || end > at + length || (*after && *after != ',' && *after != '\n') ||
        !isfinite(*value)) {
        while (length > 0 && isspace((unsigned char)at[length - 1]))
            length--;
        return length ? err_set(c->e, "%s, line %u, column %u: '%.*s' is not a finite number", c->name, c->line,
                                column + 1, (int)(length < 40 ? length : 40), at)
                      : err_set(c->e, "%s, line %u, column %u is empty", c->name, c->line, column + 1);
    }
    c->at = after + (*after == ',');
    return true;
}

static bool take_row(csv *c)
{
    table *t = c->t;
    uint32_t columns = count_columns(c->at);
    if (columns != t->columns)
        return err_set(c->e, "%s, line %u has %u columns, those before have %u", c->name, c->line, columns, t->columns);
    size_t used = (size_t)t->rows * columns;
    if (used + columns > c->room) {
        c->room = 2 * (used + columns);
        t->values = mem_grow(t->values, c->room * sizeof *t->values);
    }
    for (uint32_t k = 0; k < columns; k++)
        if (!take_field(c, k, &t->values[used + k]))
            return false;
    t->rows++;
    return true;
}

/* Does a field begin as a number does, or is it a name for NaN or infinity? */
static bool like_number(const char *at)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    at = skip_blanks(at);
    size_t length = strcspn(at, ",\n");
    while (length > 0 && isspace((unsigned char)at[length - 1]))
        length--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length == strlen(words[i]) && strncasecmp(at, words[i], length) == 0)
            return true;
    return length && strchr("+-.0123456789", *at);
}

/* The first line has names if no field looks like a number: a row of numbers with one mistake does not count as
 * names. */
static bool is_header(const char *at)
{
    for (; at; at = *(at += strcspn(at, ",\n")) == ',' ? at + 1 : NULL)
        if (like_number(at))
            return false;
    return true;
}

bool table_parse(table *t, const char *name, const char *text, err *e)
{
    csv c = {.name = name, .at = text, .line = 1, .t = t, .e = e};
    bool ok = true, first = true;
    *t = (table){0};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* some programs mark UTF-8 so */
        c.at += 3;
    for (; ok && *c.at; c.line++) {
        const char *next = strchr(c.at, '\n');
        bool blank = *skip_blanks(c.at) == '\n' || !*skip_blanks(c.at);
        if (!blank && first) {
            t->columns = count_columns(c.at);
            first = false;
            ok = is_header(c.at) || take_row(&c);
        } else if (!blank)
            ok = take_row(&c);
        c.at = next ? next + 1 : c.at + strlen(c.at);
    }
    if (ok && t->rows == 0)
        ok = err_set(e, "%s has no rows", name);
    if (!ok)
        table_free(t);
    return ok;
}

bool table_read(table *t, const char *path, err *e)
{
    size_t length;
    char *text = file_read(path, LIMIT_BYTES, &length, e);
    *t = (table){0};
    if (!text)
        return false;
    bool ok =
        strlen(text) == length ? table_parse(t, path, text, e) : err_set(e, "%s is not text: it has a zero byte", path);
    free(text);
    return ok;
}

void table_free(table *t)
{
    free(t->values);
    *t = (table){0};
}
