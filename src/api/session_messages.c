/* The public API's conversations: messages, tools, saved sessions. */
#include "api/model.h"
#include "api/session.h"
#include "llm/tool_calls.h"

_Static_assert((int)SOLO_ROLE_SYSTEM == (int)CHAT_SYSTEM && (int)SOLO_ROLE_TOOL == (int)CHAT_TOOL, "the same order");

static bool are_messages(const solo_message *messages, size_t count, err *e)
{
    for (size_t i = 0; i < count; i++)
        if ((unsigned)messages[i].role > SOLO_ROLE_TOOL || !messages[i].content)
            return err_set_kind(e, ERR_USAGE, "message %zu has no role that there is, or no content", i);
    return true;
}

static chat_message inner(const solo_message *m)
{
    return (chat_message){(chat_role)m->role, m->content, m->tool_calls, m->tool_call_id, m->name};
}

static bool add_messages(solo_session *s, const solo_message *messages, size_t count, bool anew, err *e)
{
    if (!are_messages(messages, count, e) || !api_session_prepare(s, e))
        return false;
    if (anew)
        session_begin(s->s, true);
    for (size_t i = 0; i < count; i++) {
        chat_message m = inner(&messages[i]);
        conversation_add_message(session_conversation(s->s), &m);
    }
    return true;
}

bool solo_session_set_messages(solo_session *s, const solo_message *messages, size_t count, solo_error *to)
{
    err e = {0};
    return api_is_here(s, to) && (!count || api_is_here(messages, to)) &&
           api_result(to, &e, add_messages(s, messages, count, true, &e));
}

bool solo_session_add_message(solo_session *s, const solo_message *m, solo_error *to)
{
    err e = {0};
    return api_is_here(s, to) && api_is_here(m, to) && api_result(to, &e, add_messages(s, m, 1, false, &e));
}

size_t solo_session_message_count(const solo_session *s)
{
    const conversation *c = s ? session_conversation(s->s) : NULL;
    return c ? conversation_count(c) : 0;
}

solo_message solo_session_message(const solo_session *s, size_t i)
{
    if (i >= solo_session_message_count(s))
        return (solo_message){0};
    chat_message m = conversation_at(session_conversation(s->s), i);
    return (solo_message){(solo_role)m.role, m.content, m.tool_calls, m.tool_call_id, m.name};
}

static bool set_tools(solo_session *s, const char *json, err *e)
{
    const char *fault = json ? tool_list_fault(json) : NULL;
    const chat_template *t = session_template(s->s);
    if (fault)
        return err_set_kind(e, ERR_USAGE, "this is no list of tools: %s", fault);
    if (json && (!t || !chat_template_takes_tools(t)))
        return err_set_kind(e, ERR_USAGE, "this model's template takes no tools");
    if (!api_session_prepare(s, e))
        return false;
    conversation_set_tools(session_conversation(s->s), json);
    return true;
}

bool solo_session_set_tools(solo_session *s, const char *json, solo_error *to)
{
    err e = {0};
    return api_is_here(s, to) && api_result(to, &e, set_tools(s, json, &e));
}

bool solo_session_take_calls(solo_session *s)
{
    conversation *c = s ? session_conversation(s->s) : NULL;
    str content = {0}, calls = {0};
    chat_message last = c && conversation_count(c) ? conversation_at(c, conversation_count(c) - 1) : (chat_message){0};
    bool found = last.role == CHAT_ASSISTANT && tool_calls_find(last.content, &content, &calls);
    if (found)
        conversation_set_calls(c, content.data, calls.data);
    str_free(&content);
    str_free(&calls);
    return found;
}

bool solo_session_save(solo_session *s, const char *path, solo_error *to)
{
    err e = {0};
    return api_is_here(s, to) && api_is_here(path, to) &&
           api_result(to, &e, api_session_prepare(s, &e) && session_save(s->s, path, &e));
}

bool solo_session_load(solo_session *s, const char *path, solo_error *to)
{
    err e = {0};
    return api_is_here(s, to) && api_is_here(path, to) &&
           api_result(to, &e, api_session_prepare(s, &e) && session_load(s->s, path, &e));
}
