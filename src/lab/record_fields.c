/* record_fields: typed fields of a record's JSON, checked and kept as long as the record. */
#include "lab/record_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory: one list of blocks, so that any failure frees everything ---- */

typedef struct view_block {
    struct view_block *next;
    max_align_t bytes[];
} view_block;

void *record_keep(record_view *view, size_t bytes)
{
    view_block *block = mem_alloc(sizeof *block + bytes);
    block->next = view->blocks;
    view->blocks = block;
    return block->bytes;
}

void record_view_free(record_view *view)
{
    for (view_block *block = view->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *view = (record_view){0};
}

void record_blank_controls(char *s)
{
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = ' ';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            p[0] = p[1] = ' ';
    }
}

const char *record_keep_text(record_view *view, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(record_keep(view, bytes), text, bytes);
    record_blank_controls(copy);
    return copy;
}

const char *record_keep_str(record_view *view, str *s)
{
    const char *kept = record_keep_text(view, s->data ? s->data : "");
    str_free(s);
    return kept;
}

/* ---- typed access ---- */

bool record_wrong(record_reader *r, const char *key, const char *what)
{
    return err_set(r->e, "%s: not a record: %s\"%s\" %s", r->view->path, r->where, key, what);
}

/* null is what the writer makes of a number that is not finite: absent. */
static json_t *present(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

bool record_read_text(record_reader *r, json_t *object, const char *key, const char **out)
{
    json_t *value = present(object, key);
    *out = "";
    if (!value)
        return true;
    if (!json_is_string(value))
        return record_wrong(r, key, "must be a string");
    *out = record_keep_text(r->view, json_string_value(value));
    return true;
}

bool record_read_number(record_reader *r, json_t *object, const char *key, double *out)
{
    json_t *value = present(object, key);
    *out = NAN;
    if (!value)
        return true;
    if (!json_is_number(value))
        return record_wrong(r, key, "must be a number");
    *out = json_number_value(value);
    return true;
}

/* An array of at most `limit` entries; `*out` is NULL when the key is absent. */
bool record_read_array(record_reader *r, json_t *object, const char *key, size_t limit, json_t **out)
{
    char what[64];
    *out = present(object, key);
    if (!*out)
        return true;
    if (!json_is_array(*out))
        return record_wrong(r, key, "must be an array");
    if (json_array_size(*out) > limit) {
        snprintf(what, sizeof what, "has more than %zu entries", limit);
        return record_wrong(r, key, what);
    }
    return true;
}

bool record_read_object(record_reader *r, json_t *object, const char *key, json_t **out)
{
    *out = present(object, key);
    return !*out || json_is_object(*out) || record_wrong(r, key, "must be an object");
}

bool record_entry_is_object(record_reader *r, const char *list, size_t i, json_t *entry)
{
    snprintf(r->where, sizeof r->where, "%s[%zu]: ", list, i);
    if (json_is_object(entry))
        return true;
    return err_set(r->e, "%s: not a record: %s[%zu] must be an object", r->view->path, list, i);
}
