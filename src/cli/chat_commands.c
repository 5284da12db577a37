/* chat_commands: what a line that begins with a slash does. */
#include "base/file.h"
#include "base/jsonw.h"
#include "cli/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *chat_think_name(uint32_t i)
{
    static const char *const names[] = {"auto", "on", "off"}; /* as chat_think */
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

bool chat_find_think(const char *name, chat_think *out, err *e)
{
    for (uint32_t i = 0; chat_think_name(i); i++)
        if (strcmp(name, chat_think_name(i)) == 0) {
            *out = (chat_think)i;
            return true;
        }
    return err_set_kind(e, ERR_USAGE, "thinking is auto, on or off, not '%s'", name);
}

static bool save_json(const chat *c, const char *path, err *e)
{
    str out = {0};
    jsonw j = jsonw_to(&out);
    jsonw_object(&j, NULL);
    jsonw_array(&j, "messages");
    for (size_t i = 0; i < conversation_count(session_conversation(c->s)); i++) {
        chat_message m = conversation_at(session_conversation(c->s), i);
        jsonw_object(&j, NULL);
        jsonw_text(&j, "role", chat_role_names[m.role]);
        jsonw_text(&j, "content", m.content);
        if (m.tool_calls)
            jsonw_text(&j, "tool_calls", m.tool_calls);
        if (m.tool_call_id)
            jsonw_text(&j, "tool_call_id", m.tool_call_id);
        if (m.name)
            jsonw_text(&j, "name", m.name);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_end(&j);
    str_add(&out, "\n");
    bool ok =
        file_replaceable(path, out.data, strlen("{\n \"messages\""), e) && file_write(path, out.data, out.length, e);
    str_free(&out);
    return ok;
}

static bool save(chat *c, const char *path, err *e)
{
    size_t length = strlen(path);
    if (!length || strcmp(path, "-") == 0)
        return err_set(e, "/save needs a file's name");
    bool json = length >= 5 && strcmp(path + length - 5, ".json") == 0;
    return json ? save_json(c, path, e) : session_save(c->s, path, e);
}

static bool load(chat *c, const char *path, err *e)
{
    if (!*path)
        return err_set(e, "/load needs a file's name");
    if (!session_load(c->s, path, e))
        return false;
    c->o->sampling.how = *session_sampling(c->s);
    return true;
}

static bool set_system(chat *c, const char *text, err *e)
{
    (void)e;
    conversation_set_system(session_conversation(c->s), text);
    return true;
}

static bool reset(chat *c, const char *unused, err *e)
{
    (void)unused, (void)e;
    conversation_reset(session_conversation(c->s));
    free(c->waiting);
    c->waiting = NULL;
    return true;
}

static bool again(chat *c, const char *unused, err *e)
{
    (void)unused;
    /* the same seed would give the same answer */
    c->o->sampling.how.seed++;
    session_set_sampling(c->s, &c->o->sampling.how);
    if (chat_answer(c, CHAT_AGAIN, NULL, e))
        return true;
    return e->kind != ERR_NONE ? false : err_set(e, "there is no answer yet");
}

static bool compact(chat *c, const char *unused, err *e)
{
    (void)unused;
    return session_compact(c->s, &(answer_options){0}, e) && chat_answer_waiting(c, e);
}

static bool slide(chat *c, const char *unused, err *e)
{
    (void)unused;
    c->slides = true;
    return chat_answer_waiting(c, e);
}

static bool set_think(chat *c, const char *when, err *e)
{
    chat_think think;
    const chat_template *t = session_template(c->s);
    if (!chat_find_think(when, &think, e))
        return false;
    session_set_think(c->s, think);
    return (t && chat_template_can_think(t)) || err_set(e, "this model's template does not ask about thinking");
}

static bool help(chat *c, const char *unused, err *e)
{
    (void)c, (void)unused, (void)e;
    fputs(CHAT_COMMANDS, stderr);
    return true;
}

/* A sampling option by its name without the slash. */
static bool set_sampling(chat *c, const char *name, const char *value, err *e)
{
    if (!sampling_set(&c->o->sampling, name, value, e)) {
        if (e->kind == ERR_NONE)
            err_set(e, "there is no command /%s (/help)", name);
        return false;
    }
    session_set_sampling(c->s, &c->o->sampling.how);
    return true;
}

static const struct {
    const char *name;
    bool (*run)(chat *c, const char *value, err *e);
    bool takes_value;
} COMMANDS[] = {{"help", help, false},        {"system", set_system, true}, {"reset", reset, false},
                {"regenerate", again, false}, {"compact", compact, false},  {"slide", slide, false},
                {"think", set_think, true},   {"save", save, true},         {"load", load, true}};

const char *const chat_commands[] = {"/compact",        "/help",  "/load",  "/min-p", "/quit",  "/regenerate",
                                     "/repeat-penalty", "/reset", "/save",  "/seed",  "/slide", "/system",
                                     "/temp",           "/think", "/top-k", "/top-p", NULL};

static bool takes_nothing(const char *name, err *e)
{
    return err_set(e, "/%s takes nothing (/help)", name);
}

bool chat_command(chat *c, const char *line)
{
    char name[32] = "";
    size_t length = strcspn(line + 1, " \t\n");
    const char *value = line + 1 + length;
    value += strspn(value, " \t\n");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), line + 1);
    bool quits = strcmp(name, "quit") == 0 || strcmp(name, "exit") == 0;
    if (quits && !*value)
        return false;
    err e = {0};
    bool ok = !quits || takes_nothing(name, &e), known = quits;
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS && !known; i++)
        if (strcmp(name, COMMANDS[i].name) == 0) {
            known = true;
            ok = COMMANDS[i].takes_value || !*value ? COMMANDS[i].run(c, value, &e) : takes_nothing(name, &e);
        }
    if (!known)
        ok = set_sampling(c, name, value, &e);
    if (!ok) {
        chat_note(c, e.text);
        c->failed |= !prompt_on_terminal(c->input);
    }
    return true;
}
