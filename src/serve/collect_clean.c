/* collect_clean: a copy of a record's JSON with the keys that are known, and without paths and addresses. */
#include "serve/collect_clean.h"

#include "base/str.h"
#include "lab/record_fields.h"
#include "serve/collect_json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- texts --------------------------------------------------------------------------------- */

static bool is_path(const char *word)
{
    return word[0] == '/' || word[0] == '\\' || (word[0] == '~' && word[1 + strcspn(word + 1, "/ \t")] == '/') ||
           (word[0] == '.' && (word[1] == '/' || (word[1] == '.' && word[2] == '/'))) ||
           (isalpha((unsigned char)word[0]) && word[1] == ':' && (word[2] == '\\' || word[2] == '/')) ||
           strncasecmp(word, "file:", 5) == 0;
}

static const char *last_part(const char *path, size_t length)
{
    const char *part = path;
    for (const char *at = path; at < path + length; at++)
        if (*at == '/' || *at == '\\')
            part = at + 1;
    return part;
}

static const char WRAPPED_IN[] = "'\"(<[{=:,;|";

/* Where a path begins in a word, if not at its beginning behind one of these; an address of the web is none. */
static const char *find_path(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((i == 0 || (strchr(WRAPPED_IN, word[i - 1]) && strncmp(word + i - 1, "://", 3) != 0)) && is_path(word + i))
            return word + i;
    return NULL;
}

/* One word, with what it may be wrapped in left as it is. */
static void add_clean_word(str *out, const char *word, size_t length)
{
    size_t before = 0;
    while (before < length && strchr(WRAPPED_IN, word[before]))
        before++;
    str_add_bytes(out, word, before);
    word += before;
    length -= before;
    if (memchr(word, '@', length)) {
        str_add(out, "(removed)");
        return;
    }
    const char *path = find_path(word, length), *from = word;
    if (path) {
        str_add_bytes(out, word, (size_t)(path - word));
        from = last_part(path, length - (size_t)(path - word));
    }
    str_add_bytes(out, from, length - (size_t)(from - word));
}

/* `whole`: the text is one value, so that a path in it may have spaces. What controls a terminal becomes spaces:
 * whoever is given the record may print it. */
static json_t *clean_text(const char *dirty, bool whole)
{
    str out = {0};
    str_add(&out, "");
    char *plain = mem_dup(dirty);
    record_blank_controls(plain);
    const char *text = plain;
    if (whole && is_path(text))
        text = last_part(text, strlen(text));
    while (*text) {
        size_t blank = strspn(text, " \t\r\n"), word;
        str_add_bytes(&out, text, blank);
        text += blank;
        word = strcspn(text, " \t\r\n");
        add_clean_word(&out, text, word);
        text += word;
    }
    json_t *cleaned = json_stringn(out.data, out.length);
    str_free(&out);
    free(plain);
    return cleaned;
}

/* ---- objects ------------------------------------------------------------------------------- */

typedef struct cleaner {
    const char *name;
    err *e;
} cleaner;

static json_t *refuse(const cleaner *c, const char *key, const char *what)
{
    /* whoever sent the record chose the key */
    char shown[COLLECT_MAX_KEY + 1];
    size_t length = 0;
    for (; key[length] && length < COLLECT_MAX_KEY; length++)
        shown[length] = (unsigned char)key[length] >= ' ' && (unsigned char)key[length] < 0x7f ? key[length] : '?';
    shown[length] = 0;
    err_set(c->e, "%s: not a record: \"%s\" %s", c->name, shown, what);
    return NULL;
}

static json_t *clean_scalar(const cleaner *c, const char *key, json_t *value, bool whole)
{
    if (!json_is_string(value))
        return json_incref(value);
    if (json_string_length(value) > COLLECT_MAX_TEXT)
        return refuse(c, key, "is longer than 1000 bytes");
    return clean_text(json_string_value(value), whole);
}

static bool is_list_of_numbers(json_t *value)
{
    size_t i;
    json_t *item;
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, item)
    {
        if (!json_is_number(item))
            return false;
    }
    return true;
}

/* Keys that are nobody's invention: a path is none. */
static bool is_name(const char *key)
{
    for (; *key; key++)
        if (!isalnum((unsigned char)*key) && *key != '_' && *key != '-')
            return false;
    return true;
}

/* What may stand in parameters, features and limits: texts, numbers, yes or no, lists of numbers. */
static json_t *clean_values(const cleaner *c, const char *key, json_t *object)
{
    const char *name;
    json_t *value, *out = json_object();
    if (!json_is_object(object))
        return refuse(c, key, "must be an object");
    if (json_object_size(object) > COLLECT_MAX_KEYS)
        return refuse(c, key, "has more than 64 keys");
    json_object_foreach(object, name, value)
    {
        json_t *cleaned;
        if (strlen(name) > COLLECT_MAX_KEY)
            return refuse(c, key, "has a key of more than 64 bytes");
        if (!is_name(name) || json_is_object(value) || (json_is_array(value) && !is_list_of_numbers(value)))
            continue;
        if (!(cleaned = clean_scalar(c, name, value, true)))
            return NULL;
        json_object_set_new(out, name, cleaned);
    }
    return out;
}

/* A key that is kept, and how its value is. */
typedef struct known_key {
    const char *name;
    enum { SCALAR, VALUES, NUMBERS, ANY_NUMBERS, OBJECT, LIST } shape;
    const struct known_key *keys; /* of OBJECT, and of each entry of LIST */
    bool other_numbers;           /* of those, keys with numbers are kept whatever they are called */
} known_key;

static const known_key SOLO_KEYS[] = {{"version", SCALAR, NULL, 0}, {"commit", SCALAR, NULL, 0}, {0}};
static const known_key HOST_KEYS[] = {{"os", SCALAR, NULL, 0},
                                      {"cpu", SCALAR, NULL, 0},
                                      {"cores", SCALAR, NULL, 0},
                                      {"busy", SCALAR, NULL, 0},
                                      {"page", SCALAR, NULL, 0},
                                      {"cross_origin_isolated", SCALAR, NULL, 0},
                                      {0}};
static const known_key GPU_KEYS[] = {{"impl", SCALAR, NULL, 0},         {"impl_version", SCALAR, NULL, 0},
                                     {"backend", SCALAR, NULL, 0},      {"vendor", SCALAR, NULL, 0},
                                     {"device", SCALAR, NULL, 0},       {"driver", SCALAR, NULL, 0},
                                     {"adapter_type", SCALAR, NULL, 0}, {"waits_by", SCALAR, NULL, 0},
                                     {"features", VALUES, NULL, 0},     {"limits", VALUES, NULL, 0},
                                     {"memory", VALUES, NULL, 0},       {"resident_workgroups", SCALAR, NULL, 0},
                                     {"copy_gbps", SCALAR, NULL, 0},    {0}};
static const known_key RESULT_KEYS[] = {{"name", SCALAR, NULL, 0},
                                        {"params", VALUES, NULL, 0},
                                        {"unit", SCALAR, NULL, 0},
                                        {"samples", NUMBERS, NULL, 0},
                                        {"ci95", ANY_NUMBERS, NULL, 0},
                                        {"points", ANY_NUMBERS, NULL, 0},
                                        {0}};
static const known_key CHECK_KEYS[] = {
    {"what", SCALAR, NULL, 0}, {"ok", SCALAR, NULL, 0}, {"detail", SCALAR, NULL, 0}, {0}};
static const known_key CLAIM_KEYS[] = {{"claim", SCALAR, NULL, 0},
                                       {"said_by", SCALAR, NULL, 0},
                                       {"here", SCALAR, NULL, 0},
                                       {"verdict", SCALAR, NULL, 0},
                                       {0}};
static const known_key RECORD_KEYS[] = {{"schema", SCALAR, NULL, 0},
                                        {"solo", OBJECT, SOLO_KEYS, 0},
                                        {"when", SCALAR, NULL, 0},
                                        {"host", OBJECT, HOST_KEYS, 0},
                                        {"gpu", OBJECT, GPU_KEYS, 0},
                                        {"gpus", LIST, GPU_KEYS, 0},
                                        {"clock_ns", SCALAR, NULL, 0},
                                        {"clock_cost_ns", SCALAR, NULL, 0},
                                        {"experiment", SCALAR, NULL, 0},
                                        {"params", VALUES, NULL, 0},
                                        {"results", LIST, RESULT_KEYS, true},
                                        {"checks", LIST, CHECK_KEYS, 0},
                                        {"claims", LIST, CLAIM_KEYS, 0},
                                        {0}};

static json_t *clean_object(const cleaner *c, const char *key, json_t *object, const known_key *keys,
                            bool other_numbers);

static json_t *clean_list(const cleaner *c, const known_key *k, json_t *list)
{
    size_t i;
    json_t *item, *out = json_array();
    if (!json_is_array(list))
        return refuse(c, k->name, "must be an array");
    json_array_foreach(list, i, item)
    {
        json_t *cleaned = clean_object(c, k->name, item, k->keys, k->other_numbers);
        if (!cleaned)
            return NULL;
        json_array_append_new(out, cleaned);
    }
    return out;
}

/* A list of numbers; or, of ci95 and points, also of null and of such lists, which the reader checks further. */
static json_t *clean_numbers(const cleaner *c, const known_key *k, json_t *list)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list))
        return refuse(c, k->name, "must be an array");
    json_array_foreach(list, i, item)
    {
        bool fits =
            json_is_number(item) || (k->shape == ANY_NUMBERS && (json_is_null(item) || is_list_of_numbers(item)));
        if (!fits)
            return refuse(c, k->name, "has an entry that is no number");
    }
    return json_incref(list);
}

static json_t *clean_value(const cleaner *c, const known_key *k, json_t *value)
{
    switch (k->shape) {
    case VALUES: return clean_values(c, k->name, value);
    case NUMBERS:
    case ANY_NUMBERS: return clean_numbers(c, k, value);
    case OBJECT: return clean_object(c, k->name, value, k->keys, k->other_numbers);
    case LIST: return clean_list(c, k, value);
    case SCALAR: break;
    }
    if (json_is_object(value) || json_is_array(value))
        return refuse(c, k->name, "must be a text or a number");
    return clean_scalar(c, k->name, value, strcmp(k->name, "impl") == 0);
}

/* What a result says about itself in numbers: tokens and dispatches per token, say. */
static bool keep_other_numbers(const cleaner *c, const char *key, json_t *from, json_t *to)
{
    const char *name;
    json_t *value;
    json_object_foreach(from, name, value)
    {
        if (!is_name(name) || !json_is_number(value) || json_object_get(to, name))
            continue;
        if (strlen(name) > COLLECT_MAX_KEY || json_object_size(to) >= COLLECT_MAX_KEYS)
            return refuse(c, key, "has more than 64 keys, or one of more than 64 bytes"), false;
        json_object_set(to, name, value);
    }
    return true;
}

static json_t *clean_object(const cleaner *c, const char *key, json_t *object, const known_key *keys,
                            bool other_numbers)
{
    json_t *out = json_object();
    if (!json_is_object(object))
        return refuse(c, key, "must be an object");
    for (const known_key *k = keys; k->name; k++) {
        json_t *value = json_object_get(object, k->name), *cleaned;
        if (!value || json_is_null(value))
            continue;
        if (!(cleaned = clean_value(c, k, value)))
            return NULL;
        json_object_set_new(out, k->name, cleaned);
    }
    if (other_numbers && !keep_other_numbers(c, key, object, out))
        return NULL;
    return out;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static json_t *parse(const char *name, const char *text, size_t length, err *e)
{
    json_error_t why;
    if (length > COLLECT_MAX_BYTES) {
        err_set(e, "%s: larger than %d bytes", name, COLLECT_MAX_BYTES);
        return NULL;
    }
    json_t *root = collect_json_read(text, length, &why);
    if (root && json_is_object(root))
        return root;
    /* jansson quotes what it stumbled over: not for a line that others read */
    char *quoted = strstr(why.text, " near '");
    if (quoted)
        *quoted = 0;
    if (root)
        err_set(e, "%s: not a record: the outermost value must be an object", name);
    else
        err_set(e, "%s: not JSON: line %d, column %d: %s", name, why.line, why.column, why.text);
    return NULL;
}

json_t *collect_clean(const char *name, const char *text, size_t length, err *e)
{
    json_t *root = parse(name, text, length, e);
    if (!root)
        return NULL;
    cleaner c = {name, e};
    return clean_object(&c, "record", root, RECORD_KEYS, false);
}
