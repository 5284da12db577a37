/* openai_fields: the fields of an object of JSON, each read by a function of a table. */
#ifndef SOLO_OPENAI_FIELDS_H
#define SOLO_OPENAI_FIELDS_H

#include "serve/openai_request.h"

/* Where a value is: its field's whole name ("messages[2].content"), for errors. */
typedef struct field_place {
    char name[96];
} field_place;

typedef struct field_reader {
    const char *name;
    /* NULL: it is known, and not done here: `why` */
    bool (*read)(void *to, const json_t *value, const field_place *at, openai_fault *f);
    const char *why;
} field_reader;

/* Reads every field of the object that is not null; one that is not in the table is refused. */
bool fields_read(const json_t *object, const field_reader *table, void *to, const field_place *at, openai_fault *f);

/* "messages" and 2: "messages[2]"; and "role": "messages[2].role". */
field_place field_item(const field_place *at, size_t i);
field_place field_member(const field_place *at, const char *name);

bool field_number(const json_t *value, double low, double high, double *to, const field_place *at, openai_fault *f);
bool field_whole(const json_t *value, uint64_t low, uint64_t high, uint32_t *to, const field_place *at,
                 openai_fault *f);
bool field_bool(const json_t *value, bool *to, const field_place *at, openai_fault *f);
bool field_text(const json_t *value, const char **to, const field_place *at, openai_fault *f);
/* A list of whole numbers, one or more; and these, where they are tokens. */
bool field_is_tokens(const json_t *value);
bool field_tokens(const json_t *value, uint32_t vocab, token_list *out, const field_place *at, openai_fault *f);

#endif
