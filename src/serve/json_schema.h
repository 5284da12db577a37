/* json_schema: what single words of a JSON schema say. `root`: the schema that "#" means. */
#ifndef SOLO_JSON_SCHEMA_H
#define SOLO_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

/* Is this property one that has to be there? */
bool schema_requires(const json_t *schema, const char *name);
/* What "#", "#/$defs/NAME" or "#/definitions/NAME" refers to; NULL: nothing. */
const json_t *schema_find_ref(const json_t *root, const char *ref);
bool schema_is_of_type(const json_t *value, const char *type);
/* Does it let nothing but objects come? Not if that is not known after some 2,000 looks. */
bool schema_is_of_objects(const json_t *root, const json_t *schema);

#endif
