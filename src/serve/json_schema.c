/* json_schema: what single words of a JSON schema say. */
#include "serve/json_schema.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LOOKS = 2000 };

bool schema_requires(const json_t *schema, const char *name)
{
    const json_t *list = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));
        if (one && strcmp(one, name) == 0)
            return true;
    }
    return false;
}

const json_t *schema_find_ref(const json_t *root, const char *ref)
{
    static const char *const places[] = {"$defs", "definitions"};
    if (strcmp(ref, "#") == 0)
        return root;
    for (int i = 0; i < 2; i++) {
        char begin[32];
        size_t length = (size_t)snprintf(begin, sizeof begin, "#/%s/", places[i]);
        if (strncmp(ref, begin, length) == 0)
            return json_object_get(json_object_get(root, places[i]), ref + length);
    }
    return NULL;
}

bool schema_is_of_type(const json_t *value, const char *type)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object", [JSON_ARRAY] = "array",  [JSON_STRING] = "string", [JSON_INTEGER] = "integer",
        [JSON_REAL] = "number",   [JSON_TRUE] = "boolean", [JSON_FALSE] = "boolean", [JSON_NULL] = "null"};
    return strcmp(type, names[json_typeof(value)]) == 0 || (json_is_number(value) && strcmp(type, "number") == 0);
}

/* `left`: how many schemas may still be looked at. */
static bool is_of_objects(const json_t *root, const json_t *schema, uint32_t *left)
{
    static const char *const choices[] = {"anyOf", "oneOf", "allOf", "enum"};
    const char *ref = json_string_value(json_object_get(schema, "$ref")),
               *type = json_string_value(json_object_get(schema, "type"));
    const json_t *constant = json_object_get(schema, "const");
    if (*left == 0)
        return false;
    --*left;
    if (ref)
        return is_of_objects(root, schema_find_ref(root, ref), left);
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
        const json_t *list = json_object_get(schema, choices[k]);
        bool are_values = strcmp(choices[k], "enum") == 0;
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *one = json_array_get(list, i);
            if (are_values ? !json_is_object(one) : !is_of_objects(root, one, left))
                return false;
        }
        if (list)
            return true;
    }
    if (constant)
        return json_is_object(constant);
    return type ? strcmp(type, "object") == 0
                : !json_object_get(schema, "type") && json_object_get(schema, "properties") != NULL;
}

bool schema_is_of_objects(const json_t *root, const json_t *schema)
{
    uint32_t left = MOST_LOOKS;
    return is_of_objects(root, schema, &left);
}
