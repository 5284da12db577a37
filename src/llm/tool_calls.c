/* tool_calls: finds calls of tools in answers, and lists them. */
#include "llm/tool_calls.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- in a text -------------------------------------------------------------------------- */

/* A call, from an object that a model wrote; NULL: it is none. */
static json_t *call_of(const json_t *written, size_t number)
{
    const json_t *name = json_object_get(written, "name");
    json_t *arguments = json_object_get(written, "arguments");
    char id[32];
    if (!arguments)
        arguments = json_object_get(written, "parameters");
    if (!json_is_string(name) || !json_is_object(arguments))
        return NULL;
    snprintf(id, sizeof id, "call%05zu", number); /* nine letters and digits, as Mistral's templates want them */
    return json_pack("{s:s, s:s, s:{s:s, s:O}}", "type", "function", "id", id, "function", "name",
                     json_string_value(name), "arguments", arguments);
}

static bool add_one(json_t *list, const json_t *written)
{
    json_t *call = call_of(written, json_array_size(list) + 1);
    return call && json_array_append_new(list, call) == 0;
}

/* A call, or a list of them. */
static bool add_call(json_t *list, const char *text, size_t length)
{
    json_t *written = json_loadb(text, length, 0, NULL);
    size_t count = json_array_size(written);
    bool ok = json_is_array(written) ? count > 0 : add_one(list, written);
    for (size_t i = 0; ok && i < count; i++)
        ok = add_one(list, json_array_get(written, i));
    json_decref(written);
    return ok;
}

/* Between tags: false if what stands there is no call. */
static bool add_tagged(json_t *list, const char *text)
{
    static const char begin[] = TOOL_CALL_TAG, end[] = TOOL_CALL_END;
    for (const char *at = strstr(text, begin); at; at = strstr(at, begin)) {
        at += sizeof begin - 1;
        const char *stop = strstr(at, end);
        size_t length = stop ? (size_t)(stop - at) : strlen(at); /* the model may end its turn without the tag */
        if (!add_call(list, at, length))
            return false;
        at += length;
    }
    return json_array_size(list) > 0;
}

bool tool_calls_find(const char *text, str *content, str *calls)
{
    const char *thoughts = strstr(text, "</think>"), *answer = thoughts ? thoughts + strlen("</think>") : text;
    const char *first = strstr(answer, TOOL_CALL_TAG), *object = answer + strspn(answer, " \n\t");
    json_t *list = json_array();
    bool found = first ? add_tagged(list, first) : add_call(list, object, strlen(object));
    char *json = found ? json_dumps(list, 0) : NULL;
    json_decref(list);
    if (!json)
        return false;
    str_add_bytes(content, text, (size_t)((first ? first : object) - text));
    str_add(content, "");
    str_add(calls, json);
    free(json);
    return true;
}

/* ---- lists --------------------------------------------------------------------------------- */

static char *json_of(const json_t *value)
{
    char *json = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL, *copy = mem_dup(json ? json : "");
    free(json);
    return copy;
}

static char *text_of(const json_t *value)
{
    return json_is_string(value) ? mem_dup(json_string_value(value)) : json_of(value);
}

tool_call *tool_calls_list(const char *calls, size_t *count)
{
    json_t *list = json_loads(calls, 0, NULL);
    size_t most = list ? json_array_size(list) : 0;
    tool_call *out = mem_alloc((most + 1) * sizeof *out);
    *count = 0;
    for (size_t i = 0; i < most; i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *function = json_object_get(item, "function");
        if (json_is_string(json_object_get(function, "name")))
            out[(*count)++] =
                (tool_call){text_of(json_object_get(item, "id")), text_of(json_object_get(function, "name")),
                            text_of(json_object_get(function, "arguments"))};
    }
    json_decref(list);
    return out;
}

void tool_calls_free(tool_call *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].id);
        free(list[i].name);
        free(list[i].arguments);
    }
    free(list);
}

void tool_call_add(const tool_call *call, str *out)
{
    json_t *name = json_string(call->name);
    char *quoted = json_of(name);
    str_addf(out, "{\"name\": %s, \"arguments\": %s}", quoted, call->arguments);
    free(quoted);
    json_decref(name);
}

/* What OpenAI takes, and the separators that others have in names. */
static bool is_tool_name(const char *name)
{
    enum { MOST_LETTERS = 128 };
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/");
    return length > 0 && length <= MOST_LETTERS && !name[length];
}

const char *tool_list_fault(const char *json)
{
    json_t *list = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    const char *fault = !list ? "it is not JSON, or has a key twice" : !json_is_array(list) ? "it is no list" : NULL;
    json_t *seen = json_object();
    for (size_t i = 0; !fault && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(json_object_get(item, "function"), "name"));
        if (!name)
            fault = "not all of its items have a function with a name";
        else if (!is_tool_name(name))
            fault = "a function's name is made of up to 128 letters, digits and _-.:/";
        else if (json_object_get(seen, name))
            fault = "two of its functions have the same name";
        else
            json_object_set_new(seen, name, json_true());
    }
    json_decref(seen);
    json_decref(list);
    return fault;
}

bool tool_list_has(const char *json, const char *name)
{
    json_t *list = json_loads(json, 0, NULL);
    bool found = false;
    for (size_t i = 0; !found && i < json_array_size(list); i++) {
        const json_t *function = json_object_get(json_array_get(list, i), "function");
        found = strcmp(json_string_value(json_object_get(function, "name")), name) == 0;
    }
    json_decref(list);
    return found;
}
