/* grammar_schema: rules of a grammar from the parts of a JSON schema. */
#include "serve/grammar_schema.h"
#include "serve/grammar_json.h"
#include "serve/grammar.h"
#include "serve/json_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_NODES = 2000, MOST_REFS = 256, MOST_REPEATS = 1000 };

typedef struct reference {
    const json_t *root;
    char *text; /* "#/$defs/NAME" */
} reference;

typedef struct converter {
    const json_t *root; /* what "#" means */
    str rules;          /* those that are complete */
    uint32_t rule_count, node_count, depth;
    reference refs[MOST_REFS]; /* (ref_count) whose rules are ref-NUMBER */
    uint32_t ref_count;
    err *e;
} converter;

static bool convert(converter *c, const json_t *schema, const char *place, str *out);

static bool refuse(converter *c, const char *place, const char *what)
{
    return err_set(c->e, "the schema's %.200s %s", *place ? place : "root", what);
}

/* A text as a literal of the grammar. */
static void add_literal(str *out, const char *text)
{
    str_add(out, "\"");
    for (; *text; text++) {
        unsigned char b = (unsigned char)*text;
        if (b == '"' || b == '\\')
            str_addf(out, "\\%c", b);
        else if (b < 0x20)
            str_addf(out, "\\x%02X", b);
        else
            str_add_bytes(out, text, 1);
    }
    str_add(out, "\"");
}

/* A value as JSON writes it. */
static void add_value(str *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    add_literal(out, text ? text : "null");
    free(text);
}

/* Makes a rule of what was written, and leaves its name. */
static void name_rule(converter *c, const str *body, str *out)
{
    uint32_t number = c->rule_count++;
    str_addf(&c->rules, "r%u ::= %s\n", number, body->length ? body->data : "\"\"");
    str_addf(out, "r%u", number);
}

static bool read_limit(converter *c, const json_t *schema, const char *name, const char *place, uint32_t *limit)
{
    const json_t *value = json_object_get(schema, name);
    if (!value)
        return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > MOST_REPEATS)
        return refuse(c, place, "has a limit that is no whole number up to 1000");
    *limit = (uint32_t)json_integer_value(value);
    return true;
}

/* ---- objects ---------------------------------------------------------------------------------------- */

/* What is required is among the properties: nothing makes other members come. */
static bool check_required(converter *c, const json_t *schema, const char *place)
{
    const json_t *list = json_object_get(schema, "required"), *properties = json_object_get(schema, "properties");
    char what[128];
    if (list && !json_is_array(list))
        return refuse(c, place, "has a required that is no list");
    if (json_object_size(properties) > MOST_NODES || json_array_size(list) > MOST_NODES)
        return refuse(c, place, "has properties, or a required, that are too many");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = json_string_value(json_array_get(list, i));
        if (one && json_object_get(properties, one))
            continue;
        snprintf(what, sizeof what, "requires '%.60s', which is not among its properties", one ? one : "");
        return refuse(c, place, what);
    }
    return true;
}

static void add_key(str *out, const char *name)
{
    json_t *text = json_string(name);
    char *written = json_dumps(text, JSON_ENCODE_ANY);
    add_literal(out, written ? written : "");
    str_add(out, " colon ");
    free(written);
    json_decref(text);
}

/* Members of a name that the schema does not have: their value. "": there are none. */
static bool convert_others(converter *c, const json_t *schema, const char *place, bool has_properties, str *out)
{
    const json_t *others = json_object_get(schema, "additionalProperties");
    if (json_is_object(others))
        return convert(c, others, place, out);
    if (others && !json_is_boolean(others))
        return refuse(c, place, "has additionalProperties that are neither a schema nor true or false");
    if (!has_properties && !json_is_false(others))
        str_add(out, "value");
    return true;
}

/* Two rules for each property, from the last to the first: what may come from it on, where nothing stands before, and
 * where something does. */
static bool convert_object(converter *c, const json_t *schema, const char *place, str *out)
{
    const json_t *properties = json_object_get(schema, "properties");
    size_t count = json_object_size(properties);
    str others = {0}, first = {0}, later = {0};
    bool ok = (!properties || json_is_object(properties)) || refuse(c, place, "has properties that are no object");
    ok = ok && check_required(c, schema, place) && convert_others(c, schema, place, count > 0, &others);
    if (ok && others.length) {
        str_addf(&first, "(ws string colon %s (\",\" ws string colon %s)*)?", others.data, others.data);
        str_addf(&later, "(\",\" ws string colon %s)*", others.data);
    }
    const char **names = mem_alloc((count + 1) * sizeof *names);
    const char *key;
    json_t *value;
    size_t filled = 0;
    json_object_foreach((json_t *)properties, key, value) names[filled++] = key;
    for (size_t i = count; ok && i-- > 0;) {
        char inner[256];
        str member = {0}, before = {0}, behind = {0};
        snprintf(inner, sizeof inner, "%s.%.60s", place, names[i]);
        add_key(&member, names[i]);
        ok = convert(c, json_object_get(properties, names[i]), inner, &member);
        name_rule(c, &later, &behind);
        name_rule(c, &first, &before);
        first.length = later.length = 0;
        str_addf(&first, "ws %s %s", member.data, behind.data);
        str_addf(&later, "\",\" ws %s %s", member.data, behind.data);
        if (!schema_requires(schema, names[i])) {
            str_addf(&first, " | %s", before.data);
            str_addf(&later, " | %s", behind.data);
        }
        str_free(&member);
        str_free(&before);
        str_free(&behind);
    }
    str_add(out, "\"{\" ");
    name_rule(c, &first, out);
    str_add(out, " ws \"}\"");
    free(names);
    str_free(&others);
    str_free(&first);
    str_free(&later);
    return ok;
}

/* ---- other types --------------------------------------------------------------------------------------- */

static bool convert_array(converter *c, const json_t *schema, const char *place, str *out)
{
    uint32_t least = 0, most = UINT32_MAX;
    char inner[256];
    str item = {0};
    const json_t *items = json_object_get(schema, "items");
    snprintf(inner, sizeof inner, "%.200s[]", place);
    bool ok = read_limit(c, schema, "minItems", place, &least) && read_limit(c, schema, "maxItems", place, &most);
    if (items)
        ok = ok && convert(c, items, inner, &item);
    else
        str_add(&item, "value");
    str_add(out, "\"[\" ");
    if (ok && most > 0) {
        str_addf(out, "(ws %s (\",\" ws %s){%u,", item.data, item.data, least ? least - 1 : 0);
        if (most != UINT32_MAX)
            str_addf(out, "%u", most - 1);
        str_addf(out, "})%s ", least ? "" : "?");
    }
    str_add(out, "ws \"]\"");
    str_free(&item);
    return ok && (most >= least || refuse(c, place, "has limits that are the wrong way round"));
}

static bool convert_string(converter *c, const json_t *schema, const char *place, str *out)
{
    uint32_t least = 0, most = UINT32_MAX;
    if (!read_limit(c, schema, "minLength", place, &least) || !read_limit(c, schema, "maxLength", place, &most))
        return false;
    if (most == UINT32_MAX && !least)
        str_add(out, "string");
    else if (most == UINT32_MAX)
        str_addf(out, "\"\\\"\" char{%u,} \"\\\"\"", least);
    else
        str_addf(out, "\"\\\"\" char{%u,%u} \"\\\"\"", least, most);
    return most >= least || refuse(c, place, "has limits that are the wrong way round");
}

static bool convert_type(converter *c, const json_t *schema, const char *type, const char *place, str *out)
{
    if (strcmp(type, "object") == 0)
        return convert_object(c, schema, place, out);
    if (strcmp(type, "array") == 0)
        return convert_array(c, schema, place, out);
    if (strcmp(type, "string") == 0)
        return convert_string(c, schema, place, out);
    if (strcmp(type, "integer") != 0 && strcmp(type, "number") != 0 && strcmp(type, "boolean") != 0 &&
        strcmp(type, "null") != 0)
        return refuse(c, place, "has a type that is not known");
    str_add(out, type);
    return true;
}

/* ---- choices and references ------------------------------------------------------------------------------ */

static bool convert_any(converter *c, const json_t *list, const char *place, str *out)
{
    bool ok = json_array_size(list) > 0 || refuse(c, place, "has a list of schemas that is empty, or no list");
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        str_add(out, i ? " | " : "(");
        ok = convert(c, json_array_get(list, i), place, out);
    }
    str_add(out, ")");
    return ok;
}

static bool convert_enum(converter *c, const json_t *list, const char *place, str *out)
{
    if (json_array_size(list) == 0)
        return refuse(c, place, "has an enum that is empty, or no list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        str_add(out, i ? " | " : "(");
        add_value(out, json_array_get(list, i));
    }
    str_add(out, ")");
    return true;
}

/* A schema that is referred to has a rule of its own, so that it may refer to itself. */
static bool convert_ref(converter *c, const char *ref, const char *place, str *out)
{
    const json_t *schema = schema_find_ref(c->root, ref);
    uint32_t number = 0;
    if (!json_is_object(schema))
        return refuse(c, place,
                      "refers to something that is not there: #, #/$defs/NAME and #/definitions/NAME are known");
    while (number < c->ref_count && (c->refs[number].root != c->root || strcmp(c->refs[number].text, ref) != 0))
        number++;
    str_addf(out, "ref-%u", number);
    if (number < c->ref_count)
        return true;
    if (c->ref_count == MOST_REFS)
        return refuse(c, place, "has too many references");
    c->refs[c->ref_count++] = (reference){c->root, mem_dup(ref)};
    str body = {0};
    bool ok = convert(c, schema, ref, &body);
    str_addf(&c->rules, "ref-%u ::= %s\n", number, body.data);
    str_free(&body);
    return ok;
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static bool check_words(converter *c, const json_t *schema, const char *place)
{
    static const char known[] =
        " type enum const properties required additionalProperties items minItems maxItems minLength maxLength anyOf "
        "oneOf allOf $ref $defs definitions title description default examples $schema $id $comment deprecated "
        "readOnly writeOnly strict ";
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)schema, key, value)
    {
        char word[64], what[128];
        if (snprintf(word, sizeof word, " %s ", key) >= (int)sizeof word || strchr(key, ' ') || !strstr(known, word)) {
            snprintf(what, sizeof what, "has '%.60s', which is not supported", key);
            return refuse(c, place, what);
        }
    }
    return true;
}

/* Of two words that both say what a value may be, only one would hold: `also`, between spaces, is what may stand beside
 * `word`. NULL: nothing may. */
static bool is_alone(converter *c, const json_t *schema, const char *word, const char *also, const char *place)
{
    static const char says_what[] = " type enum const properties required additionalProperties items minItems maxItems "
                                    "minLength maxLength anyOf oneOf allOf $ref ";
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)schema, key, value)
    {
        char spaced[64], what[160];
        snprintf(spaced, sizeof spaced, " %s ", key);
        if ((word && strcmp(key, word) == 0) || strstr(also, spaced) || !strstr(says_what, spaced))
            continue;
        snprintf(what, sizeof what,
                 word ? "has '%.30s' beside '%s', which is not supported" : "has '%.30s' without a type", key, word);
        return refuse(c, place, what);
    }
    return true;
}

/* A value of an enum, or a const, is of one of the types, where there are any. */
static bool check_value(converter *c, const json_t *schema, const json_t *value, const char *place)
{
    const json_t *type = json_object_get(schema, "type");
    bool fits = !type || (json_is_string(type) && schema_is_of_type(value, json_string_value(type)));
    for (size_t i = 0; !fits && i < json_array_size(type); i++)
        fits = json_is_string(json_array_get(type, i)) &&
               schema_is_of_type(value, json_string_value(json_array_get(type, i)));
    return fits || refuse(c, place, "has a value that is not of its type");
}

static bool check_values(converter *c, const json_t *schema, const char *place)
{
    const json_t *list = json_object_get(schema, "enum"), *constant = json_object_get(schema, "const");
    if (!is_alone(c, schema, list ? "enum" : "const", " type ", place))
        return false;
    bool ok = !constant || check_value(c, schema, constant, place);
    for (size_t i = 0; ok && i < json_array_size(list); i++)
        ok = check_value(c, schema, json_array_get(list, i), place);
    return ok;
}

static bool convert_types(converter *c, const json_t *schema, const char *place, str *out)
{
    const json_t *type = json_object_get(schema, "type");
    if (json_is_string(type))
        return convert_type(c, schema, json_string_value(type), place, out);
    if (!type && json_object_get(schema, "properties"))
        return convert_object(c, schema, place, out);
    if (!type && json_object_get(schema, "items"))
        return convert_array(c, schema, place, out);
    if (!type) {
        str_add(out, "value");
        return is_alone(c, schema, NULL, "", place);
    }
    bool ok = json_array_size(type) > 0;
    for (size_t i = 0; ok && i < json_array_size(type); i++) {
        const char *one = json_string_value(json_array_get(type, i));
        str_add(out, i ? " | " : "(");
        ok = one && convert_type(c, schema, one, place, out);
    }
    str_add(out, ")");
    return ok || refuse(c, place, "has a type that is not known");
}

static bool convert_inner(converter *c, const json_t *schema, const char *place, str *out)
{
    const json_t *any = json_object_get(schema, "anyOf"), *one = json_object_get(schema, "oneOf"),
                 *all = json_object_get(schema, "allOf"), *ref = json_object_get(schema, "$ref"),
                 *list = json_object_get(schema, "enum"), *constant = json_object_get(schema, "const");
    if (ref && !json_is_string(ref))
        return refuse(c, place, "has a $ref that is no text");
    if (ref && !is_alone(c, schema, "$ref", "", place))
        return false;
    if (ref)
        return convert_ref(c, json_string_value(ref), place, out);
    if (any || one || all) {
        if (!is_alone(c, schema, any ? "anyOf" : one ? "oneOf" : "allOf", "", place))
            return false;
    } else if ((list || constant) && !check_values(c, schema, place))
        return false;
    if (any || one)
        return convert_any(c, any ? any : one, place, out);
    if (all && json_array_size(all) != 1)
        return refuse(c, place, "has an allOf of more than one schema");
    if (all)
        return convert(c, json_array_get(all, 0), place, out);
    if (constant) {
        add_value(out, constant);
        return true;
    }
    return list ? convert_enum(c, list, place, out) : convert_types(c, schema, place, out);
}

/* Appends an expression that is whole by itself. */
static bool convert(converter *c, const json_t *schema, const char *place, str *out)
{
    if (json_is_true(schema)) {
        str_add(out, "value");
        return true;
    }
    if (!json_is_object(schema))
        return refuse(c, place, "is no schema");
    if (++c->node_count > MOST_NODES || c->rules.length > GRAMMAR_MOST_BYTES)
        return refuse(c, place, "makes it too large");
    if (++c->depth > MOST_DEPTH)
        return refuse(c, place, "is nested too deep");
    str body = {0};
    bool ok = check_words(c, schema, place) && convert_inner(c, schema, place, &body);
    if (ok)
        name_rule(c, &body, out);
    str_free(&body);
    c->depth--;
    return ok;
}

/* The grammar whose root was converted: that, between two texts. */
static bool finish(converter *c, bool ok, const str *root, const char *before, const char *behind, str *out, err *e)
{
    if (ok) {
        str_add(out, "root ::= begin ");
        add_literal(out, before);
        str_addf(out, " %s ", root->data);
        add_literal(out, behind);
        str_addf(out, "\n%s%s", grammar_json_rules, c->rules.length ? c->rules.data : "");
    } else
        err_set(e, "%s", c->e->text);
    for (uint32_t i = 0; i < c->ref_count; i++)
        free(c->refs[i].text);
    str_free(&c->rules);
    return ok;
}

bool grammar_of_schema(const json_t *schema, str *out, err *e)
{
    err fault = {0};
    converter c = {.root = schema, .e = &fault};
    str root = {0};
    bool ok = finish(&c, convert(&c, schema, "", &root), &root, "", "", out, e);
    str_free(&root);
    return ok;
}

/* ---- calls of functions ------------------------------------------------------------------------------------ */

/* The arguments of a call, which are an object whatever the schema leaves open. Its references are its own. */
static bool convert_parameters(converter *c, const json_t *schema, const char *place, str *out)
{
    err none = {0};
    converter looks = {.e = &none};
    if (!schema || json_is_null(schema) || json_is_true(schema) ||
        (json_is_object(schema) && check_words(&looks, schema, place) && is_alone(&looks, schema, NULL, "", place))) {
        str_add(out, "object");
        return true;
    }
    c->root = schema;
    return convert(c, schema, place, out) &&
           (schema_is_of_objects(schema, schema) ||
            refuse(c, place, "lets values come that are no object, as arguments are"));
}

bool grammar_of_calls(const json_t *functions, const char *arguments, const char *before, const char *behind, str *out,
                      err *e)
{
    err fault = {0};
    converter c = {.e = &fault};
    str root = {0};
    char place[64];
    bool ok = true;
    snprintf(place, sizeof place, ".%s", arguments);
    for (size_t i = 0; ok && i < json_array_size(functions); i++) {
        const json_t *function = json_array_get(functions, i);
        str body = {0};
        str_add(&body, "\"{\" ws ");
        add_key(&body, "name");
        add_value(&body, json_object_get(function, "name"));
        str_add(&body, " \",\" ws ");
        add_key(&body, arguments);
        ok = convert_parameters(&c, json_object_get(function, "parameters"), place, &body);
        str_add(&body, " ws \"}\"");
        str_add(&root, i ? " | " : "(");
        name_rule(&c, &body, &root);
        str_free(&body);
    }
    str_add(&root, ")");
    ok = finish(&c, ok, &root, before, behind, out, e);
    str_free(&root);
    return ok;
}

void grammar_of_any_object(str *out)
{
    str_addf(out, "root ::= begin object\n%s", grammar_json_rules);
}
