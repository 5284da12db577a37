/* chat_module: chat templates as a wasm module of their own, for web/template.js. Its calls return 0 when they failed;
 * the error's text, or what was rendered, is at solo_said(). */
#include "model/chat.h"
#include "web/reply.h"

#include <stdlib.h>
#include <string.h>

static str marks; /* of what was rendered, 1 where it is plain */

EXPORT(chat_open) chat_template *chat_open(const char *text, uint32_t bytes)
{
    err e = {0};
    chat_template *t = chat_template_new(text, bytes, &e);
    str *said = reply_text();
    if (!t)
        str_add(said, e.text);
    return t;
}

EXPORT(chat_close) void chat_close(chat_template *t)
{
    chat_template_free(t);
}

EXPORT(chat_plain) const char *chat_plain(void)
{
    return marks.data;
}

static const char *next_text(const char **at, const char *end)
{
    const char *text = *at, *stop = memchr(text, 0, (size_t)(end - text));
    *at = stop ? stop + 1 : end;
    return stop ? text : "";
}

/* As page_template_render has it (host.h). */
EXPORT(chat_render_packed)
int chat_render_packed(const chat_template *t, const char *packed, uint32_t bytes, int ask, int think, double local_s)
{
    err e = {0};
    chat_text out = {0};
    const char *at = packed, *end = packed + bytes, *bos = next_text(&at, end), *eos = next_text(&at, end);
    chat_message *messages = mem_alloc((bytes / 2 + 1) * sizeof *messages);
    size_t count = 0;
    while (at < end) {
        const char *text = next_text(&at, end);
        if (*text)
            messages[count++] = (chat_message){.role = (chat_role)((*text - '0') % CHAT_ROLES), .content = text + 1};
    }
    chat_options o = {.ask = ask != 0, .think = (chat_think)think, .local_s = (int64_t)local_s};
    bool ok = chat_render(t, messages, count, &o, bos, eos, &out, &e);
    str *said = reply_text();
    str_add(said, ok ? "" : e.text);
    marks.length = 0;
    if (ok) {
        str_add_bytes(said, out.text.data, out.text.length);
        for (size_t i = 0; i < out.text.length; i++)
            str_add_bytes(&marks, "", 1);
        for (size_t i = 0; i < out.plain_count; i++)
            memset(marks.data + out.plain[i].start, 1, out.plain[i].length);
    }
    free(messages);
    str_free(&out.text);
    free(out.plain);
    return ok;
}
