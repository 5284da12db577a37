/* chat_host: chat templates in a page: those of chat.h, run by a module that the page fetches (host.h). */
#include "model/chat.h"
#include "web/host.h"

#include <stdlib.h>

struct chat_template {
    int32_t number; /* the page's */
};

static bool page_failed(err *e)
{
    char why[600];
    page_why(why, sizeof why);
    return err_set(e, "%s", why);
}

chat_template *chat_template_new(const char *text, size_t length, err *e)
{
    int32_t number = page_template_open(text, (uint32_t)length);
    if (!number) {
        page_failed(e);
        return NULL;
    }
    chat_template *t = mem_alloc(sizeof *t);
    t->number = number;
    return t;
}

chat_template *chat_template_named(const char *name)
{
    (void)name;
    return NULL;
}

void chat_template_free(chat_template *t)
{
    if (t)
        page_template_close(t->number);
    free(t);
}

const char *chat_template_name(const chat_template *t)
{
    (void)t;
    return "own";
}

static void add_packed(str *packed, const char *text)
{
    str_add(packed, text);
    str_add_bytes(packed, "", 1);
}

static void add_spans(chat_text *out, const char *marks)
{
    size_t bytes = out->text.length;
    for (size_t i = 0, end; i < bytes; i = end) {
        for (end = i + 1; end < bytes && marks[end] == marks[i];)
            end++;
        if (!marks[i])
            continue;
        out->plain = mem_grow(out->plain, (out->plain_count + 1) * sizeof *out->plain);
        out->plain[out->plain_count++] = (text_span){i, end - i};
    }
}

bool chat_render(const chat_template *t, const chat_message *messages, size_t count, const chat_options *o,
                 const char *bos, const char *eos, chat_text *out, err *e)
{
    str packed = {0};
    add_packed(&packed, bos);
    add_packed(&packed, eos);
    for (size_t i = 0; i < count; i++) {
        str_add_bytes(&packed, &"0123"[messages[i].role], 1);
        add_packed(&packed, messages[i].content);
    }
    int32_t bytes = page_template_render(t->number, packed.data, (uint32_t)packed.length, o->ask, o->think);
    str_free(&packed);
    if (bytes < 0)
        return page_failed(e);
    char *text = mem_alloc((size_t)bytes + 1), *marks = mem_alloc((size_t)bytes + 1);
    page_template_take(text, marks);
    str_add(&out->text, "");
    str_add_bytes(&out->text, text, (size_t)bytes);
    add_spans(out, marks);
    free(text);
    free(marks);
    return true;
}
