/* openai_messages: messages in OpenAI's form become those of a chat template. */
#include "serve/openai_messages.h"
#include "llm/thoughts.h"
#include "llm/tool_calls.h"
#include "serve/grammar_schema.h"

#include <stdlib.h>
#include <string.h>

/* A message while it is read. */
typedef struct reading {
    openai_request *q;
    chat_message m;
    bool has_role;
    const char *thoughts;
} reading;

#define READER(name) static bool name(void *to, const json_t *value, const field_place *at, openai_fault *f)
#define READING      ((reading *)to)

/* Text that the request keeps until it is freed. */
static const char *keep(openai_request *q, char *text)
{
    q->owned = mem_grow(q->owned, (q->owned_count + 1) * sizeof *q->owned);
    q->owned[q->owned_count++] = text;
    return text;
}

static const char *keep_str(openai_request *q, str *text)
{
    str_add(text, "");
    return keep(q, text->data);
}

/* ---- one message ------------------------------------------------------------------------------- */

READER(read_role)
{
    static const struct {
        const char *name;
        chat_role role;
    } roles[] = {{"system", CHAT_SYSTEM},
                 {"developer", CHAT_SYSTEM},
                 {"user", CHAT_USER},
                 {"assistant", CHAT_ASSISTANT},
                 {"tool", CHAT_TOOL}};
    const char *name;
    if (!field_text(value, &name, at, f))
        return false;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(name, roles[i].name) == 0) {
            READING->m.role = roles[i].role;
            READING->has_role = true;
            return true;
        }
    return openai_refuse(f, 400, at->name, "invalid_value", "%s is none of system, developer, user, assistant and tool",
                         at->name);
}

/* A text, or parts that are texts. */
READER(read_content)
{
    str all = {0};
    if (!json_is_array(value))
        return field_text(value, &READING->m.content, at, f);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *part = json_array_get(value, i);
        const char *type = json_string_value(json_object_get(part, "type")),
                   *text = json_string_value(json_object_get(part, "text"));
        field_place here = field_item(at, i);
        if (!type || strcmp(type, "text") != 0 || !text || json_object_size(part) != 2) {
            str_free(&all);
            return openai_refuse(f, 400, here.name, "unsupported_value", "%s is no text: only texts are taken",
                                 here.name);
        }
        str_add(&all, text);
    }
    READING->m.content = keep_str(READING->q, &all);
    return true;
}

READER(read_calls)
{
    size_t count = 0;
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    tool_call *calls = tool_calls_list(text, &count);
    bool ok = count > 0 && count == json_array_size(value);
    tool_calls_free(calls, count);
    READING->m.tool_calls = keep(READING->q, text);
    return ok || openai_refuse(f, 400, at->name, "invalid_value", "%s is no list of calls of functions", at->name);
}

READER(read_call_id)
{
    return field_text(value, &READING->m.tool_call_id, at, f);
}

READER(read_name)
{
    return field_text(value, &READING->m.name, at, f);
}

READER(read_thoughts)
{
    return field_text(value, &READING->thoughts, at, f);
}

static const field_reader MESSAGE_FIELDS[] = {{"role", read_role, NULL},
                                              {"content", read_content, NULL},
                                              {"tool_calls", read_calls, NULL},
                                              {"tool_call_id", read_call_id, NULL},
                                              {"name", read_name, NULL},
                                              {"reasoning_content", read_thoughts, NULL},
                                              {"refusal", NULL, "a template has no place for it"},
                                              {"audio", NULL, "only texts are taken"},
                                              {"function_call", NULL, "tool_calls replace it"},
                                              {0}};

/* What no field can say by itself. */
static bool check_message(reading *r, const field_place *at, openai_fault *f)
{
    const chat_message *m = &r->m;
    const char *wrong = NULL;
    if (!r->has_role)
        wrong = "has no role";
    else if (!m->content && !(m->role == CHAT_ASSISTANT && m->tool_calls))
        wrong = "has no content";
    else if (m->role != CHAT_ASSISTANT && (m->tool_calls || r->thoughts))
        wrong = "has tool_calls or reasoning_content, which only an assistant has";
    else if (m->role == CHAT_TOOL && !m->tool_call_id)
        wrong = "has no tool_call_id";
    else if (m->role != CHAT_TOOL && (m->tool_call_id || m->name))
        wrong = "has a tool_call_id or a name, which only a tool has here";
    return !wrong || openai_refuse(f, 400, at->name, "invalid_value", "%s %s", at->name, wrong);
}

bool openai_read_messages(void *to, const json_t *value, const field_place *at, openai_fault *f)
{
    openai_request *q = to;
    if (!json_is_array(value))
        return openai_refuse(f, 400, at->name, "invalid_type", "%s is no list", at->name);
    if (json_array_size(value) > OPENAI_MOST_MESSAGES)
        return openai_refuse(f, 400, at->name, "invalid_value", "%s has more than %d of them", at->name,
                             OPENAI_MOST_MESSAGES);
    q->messages = mem_alloc((json_array_size(value) + 1) * sizeof *q->messages);
    for (size_t i = 0; i < json_array_size(value); i++) {
        field_place here = field_item(at, i);
        reading r = {.q = q};
        if (!fields_read(json_array_get(value, i), MESSAGE_FIELDS, &r, &here, f) || !check_message(&r, &here, f))
            return false;
        if (r.thoughts) {
            str with = {0};
            str_addf(&with, THOUGHTS_BEGIN "\n%s\n" THOUGHTS_END "\n\n%s", r.thoughts, r.m.content ? r.m.content : "");
            r.m.content = keep_str(q, &with);
        }
        r.m.content = r.m.content ? r.m.content : "";
        q->messages[q->message_count++] = r.m;
    }
    return true;
}

/* ---- tools -------------------------------------------------------------------------------------- */

bool openai_read_tools(void *to, const json_t *value, const field_place *at, openai_fault *f)
{
    openai_request *q = to;
    if (json_is_array(value) && json_array_size(value) == 0)
        return true;
    q->tools = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *fault = tool_list_fault(q->tools);
    return !fault || openai_refuse(f, 400, at->name, "invalid_value", "%s: %s", at->name, fault);
}

/* "auto", "none", "required", or {"type": "function", "function": {"name": ...}}. */
bool openai_read_tool_choice(void *to, const json_t *value, const field_place *at, openai_fault *f)
{
    openai_request *q = to;
    const char *choice = json_string_value(value), *type = json_string_value(json_object_get(value, "type"));
    const json_t *function = json_object_get(value, "function");
    q->only_tool = json_string_value(json_object_get(function, "name"));
    bool is_one = type && strcmp(type, "function") == 0 && q->only_tool && json_object_size(value) == 2 &&
                  json_object_size(function) == 1;
    if (choice && strcmp(choice, "none") == 0)
        q->tool_choice = TOOLS_NONE;
    else if (is_one || (choice && strcmp(choice, "required") == 0))
        q->tool_choice = TOOLS_REQUIRED;
    else if (!choice || strcmp(choice, "auto") != 0)
        return openai_refuse(f, 400, at->name, "invalid_value",
                             "%s is none of \"auto\", \"none\", \"required\" and a function", at->name);
    return true;
}

bool openai_read_parallel_calls(void *to, const json_t *value, const field_place *at, openai_fault *f)
{
    bool several;
    if (!field_bool(value, &several, at, f))
        return false;
    ((openai_request *)to)->one_call = !several;
    return true;
}

/* Arguments are kept to a schema only where a call is forced: then all of the text is. */
static bool check_strict(const openai_request *q, openai_fault *f)
{
    const json_t *tools = json_object_get(q->body, "tools");
    field_place at = {"tools"};
    for (size_t i = 0; i < json_array_size(tools) && q->tool_choice == TOOLS_AUTO; i++)
        if (json_is_true(json_object_get(json_object_get(json_array_get(tools, i), "function"), "strict"))) {
            field_place here = field_item(&at, i);
            return openai_refuse(f, 400, here.name, "unsupported_value",
                                 "%s: function.strict needs tool_choice to be \"required\" or a function", here.name);
        }
    return true;
}

bool openai_check_tools(openai_request *q, openai_fault *f)
{
    const json_t *choice = json_object_get(q->body, "tool_choice"),
                 *parallel = json_object_get(q->body, "parallel_tool_calls");
    if (!q->tools && ((choice && !json_is_null(choice)) || (parallel && !json_is_null(parallel))))
        return openai_refuse(f, 400, choice ? "tool_choice" : "parallel_tool_calls", "invalid_value", "%s needs tools",
                             choice ? "tool_choice" : "parallel_tool_calls");
    return check_strict(q, f);
}

/* ---- a call that has to come ------------------------------------------------------------------------ */

bool openai_force_call(openai_request *q, bool with_tags, openai_fault *f)
{
    const json_t *tools = json_object_get(q->body, "tools");
    json_t *functions = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        json_t *function = json_object_get(json_array_get(tools, i), "function");
        const char *name = json_string_value(json_object_get(function, "name"));
        if (!q->only_tool || strcmp(name, q->only_tool) == 0)
            json_array_append(functions, function);
    }
    err e = {0};
    str gbnf = {0};
    bool ok = json_array_size(functions) > 0 ||
              openai_refuse(f, 400, "tool_choice", "invalid_value", "tool_choice: there is no tool '%.60s'",
                            q->only_tool ? q->only_tool : "");
    if (ok && !grammar_of_calls(functions, with_tags ? "arguments" : "parameters", with_tags ? TOOL_CALL_TAG "\n" : "",
                                with_tags ? "\n</tool_call>" : "", &gbnf, &e))
        ok = openai_refuse(f, 400, "tools", "unsupported_value", "tools: %s", e.text);
    json_decref(functions);
    q->gbnf = gbnf.data;
    q->gbnf_field = "tools";
    return ok;
}
