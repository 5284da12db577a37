/* chat_tools: what a model calls is shown, and its result comes from a command or from who types. */
#include "base/os_process.h"
#include "cli/chat.h"
#include "llm/tool_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ROUNDS = 16, MOST_RESULT_BYTES = 1 << 20 };

/* ---- a command ------------------------------------------------------------------------------ */

/* Nothing behind a limit: whoever calls sees that there is more. */
static void read_all(int fd, str *out)
{
    char piece[4096];
    ssize_t got = 0;
    while (out->length <= MOST_RESULT_BYTES &&
           ((got = read(fd, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0)
            str_add_bytes(out, piece, (size_t)got);
    str_add(out, "");
}

/* Runs the command with the call on its standard input, as a line of JSON; what it writes is the result. What the model
 * says never becomes part of a shell's line. */
static bool run_command(const char *command, const tool_call *call, str *result, err *e)
{
    os_process p;
    int status = -1;
    char how[OS_ENDING_ROOM];
    str line = {0};
    FILE *in = tmpfile();
    if (!in)
        return err_set(e, "the tool's command cannot be run: %s", strerror(errno));
    tool_call_add(call, &line);
    fprintf(in, "%s\n", line.data);
    str_free(&line);
    bool started = fflush(in) == 0 && fseek(in, 0, SEEK_SET) == 0 && os_process_shell(&p, command, fileno(in));
    int why = errno;
    fclose(in);
    if (!started)
        return err_set(e, "the tool's command cannot be run: %s", strerror(why));
    read_all(p.from, result);
    bool is_long = result->length > MOST_RESULT_BYTES;
    if (is_long || strlen(result->data) < result->length) {
        os_process_kill(&p);
        os_process_end(&p, NULL, NULL);
        return is_long ? err_set(e, "the tool's command wrote more than %d bytes for %s", MOST_RESULT_BYTES, call->name)
                       : err_set(e, "the tool's command wrote a zero byte for %s: that is no text", call->name);
    }
    if (!os_process_end(&p, &status, how))
        return err_set(e, "the tool's command was ended for %s, %s", call->name, how);
    return status == 0 || err_set(e, "the tool's command failed for %s, with status %d", call->name, status);
}

/* ---- a person --------------------------------------------------------------------------------- */

static bool ask_person(const chat *c, const tool_call *call, str *result, err *e)
{
    bool cancelled = false;
    char label[64];
    snprintf(label, sizeof label, "%.40s", call->name);
    err_one_line(label);
    strcat(label, " = ");
    char *line = prompt_read(c->input, label, &cancelled);
    bool ok = prompt_ok(c->input, e) && line && !cancelled;
    str_add(result, ok ? line : "");
    free(line);
    return ok || err_set(e, "%s has no result: the model waits for one", call->name);
}

/* ---- calls -------------------------------------------------------------------------------------- */

/* What is not in the list is called by nobody: the model is told. */
static bool call_tool(chat *c, const tool_call *call, err *e)
{
    str line = {0}, result = {0};
    bool listed = tool_list_has(c->tools, call->name), ok = true;
    str_addf(&line, "calls %s(%s)%s", call->name, call->arguments, listed ? "" : ", which is no tool of the list");
    err_one_line(line.data); /* the model may have written anything */
    chat_note(c, line.data);
    if (!listed)
        str_add(&result, "{\"error\": \"there is no tool of this name\"}");
    else if (c->o->tool_command)
        ok = run_command(c->o->tool_command, call, &result, e);
    else
        ok = ask_person(c, call, &result, e);
    while (ok && result.length && result.data[result.length - 1] == '\n')
        result.data[--result.length] = 0;
    if (ok)
        conversation_add_message(
            session_conversation(c->s),
            &(chat_message){.role = CHAT_TOOL, .content = result.data, .tool_call_id = call->id, .name = call->name});
    str_free(&line);
    str_free(&result);
    return ok;
}

/* True if the last answer called tools, and all of them have results. */
static bool call_tools(chat *c, bool *called, err *e)
{
    conversation *talk = session_conversation(c->s);
    chat_message last = conversation_at(talk, conversation_count(talk) - 1);
    str content = {0}, calls = {0};
    *called = last.role == CHAT_ASSISTANT && tool_calls_find(last.content, &content, &calls);
    const char *unread = *called ? NULL : strstr(last.content, TOOL_CALL_TAG);
    bool ok = true;
    if (unread) /* no call that is understood: as the model wrote it */
        printf("%s\n", unread);
    if (*called) {
        size_t count;
        conversation_set_calls(talk, content.data, calls.data);
        tool_call *list = tool_calls_list(calls.data, &count);
        for (size_t i = 0; ok && i < count; i++)
            ok = call_tool(c, &list[i], e);
        tool_calls_free(list, count);
    }
    str_free(&content);
    str_free(&calls);
    return ok;
}

bool chat_use_tools(chat *c, err *e)
{
    bool called = true;
    for (int round = 0; round < MOST_ROUNDS && called; round++) {
        if (!call_tools(c, &called, e))
            return false;
        if (called && !chat_answer(c, CHAT_GO_ON, NULL, e))
            return false;
    }
    if (called)
        chat_note(c, "the model called tools 16 times without an answer: it goes on with the next message");
    return true;
}
