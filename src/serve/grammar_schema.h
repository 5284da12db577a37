/* grammar_schema: a JSON schema as a grammar in GBNF: of JSON that the schema accepts.
 *
 * Known: type (also a list of them), enum, const, properties, required, additionalProperties, items, minItems, maxItems,
 * minLength, maxLength, anyOf, oneOf, allOf of one, $ref to #, #/$defs/NAME and #/definitions/NAME. What only describes
 * (title, description, default, examples, $schema, $id, $comment, deprecated, readOnly, writeOnly) changes nothing. Any
 * other word is refused. Properties come in the order in which the schema has them, and others only where
 * additionalProperties is a schema or there are no properties.                                                     */
#ifndef SOLO_GRAMMAR_SCHEMA_H
#define SOLO_GRAMMAR_SCHEMA_H

#include "base/err.h"
#include "base/str.h"

#include <jansson.h>

/* An error names the place in the schema. */
bool grammar_of_schema(const json_t *schema, str *out, err *e);
/* A call of one of the functions (as in OpenAI's API: "name", "parameters"), with a text before it and one behind it:
 * {"name": .., "arguments": {..}}, where `arguments` is what that key is called. */
bool grammar_of_calls(const json_t *functions, const char *arguments, const char *before, const char *behind, str *out,
                      err *e);
/* Any object of JSON. */
void grammar_of_any_object(str *out);

#endif
