/* chat_template: gives a conversation to a chat template, which is run (jinja.h). A page has this as a module of its own
 * (src/web/chat_module.c, chat_host.c). */
#include "model/chat.h"
#include "model/jinja_internal.h"

#include <stdlib.h>
#include <string.h>

struct chat_template {
    jinja_template *jinja;
    const char *name;
    bool splits_thoughts; /* it takes the thoughts of an answer apart from its text */
    bool lists_parts;     /* a message's content is a list of parts, of which one is text */
    bool without_tools;   /* no variable `tools`, where others want one that is none */
};

const char *const chat_role_names[CHAT_ROLES] = {"system", "user", "assistant", "tool"};

/* ---- messages as values ---------------------------------------------------------------------- */

static jinja_value content_value(jinja_run *r, const chat_template *t, const char *text, size_t length)
{
    jinja_value plain = jinja_text_value(r, text, length, true);
    if (!t->lists_parts)
        return plain;
    jinja_value part = jinja_dict(r), list = jinja_list(r);
    jinja_put(r, part, "type", jinja_text_value(r, "text", 4, false));
    jinja_put(r, part, "text", plain);
    jinja_push(r, list, part);
    return list;
}

/* Thoughts are what stands before "</think>"; the template may have written "<think>" itself, so that an answer does not
 * begin with it. Line ends around both are not part of them. */
static size_t split_thoughts(const char *content, token_text *thoughts)
{
    static const char begin[] = "<think>", end[] = "</think>";
    const char *stop = strstr(content, end), *from = content + strspn(content, " \n");
    if (!stop)
        return 0;
    if (strncmp(from, begin, sizeof begin - 1) == 0)
        from += sizeof begin - 1;
    from += strspn(from, "\n");
    size_t length = stop > from ? (size_t)(stop - from) : 0;
    while (length && from[length - 1] == '\n')
        length--;
    *thoughts = (token_text){from, length};
    stop += sizeof end - 1;
    return (size_t)(stop - content) + strspn(stop, "\n");
}

static void put_plain(jinja_run *r, jinja_value dict, const char *key, const char *text)
{
    if (text)
        jinja_put(r, dict, key, jinja_text_value(r, text, strlen(text), true));
}

static jinja_value *find(jinja_run *r, const jinja_value *dict, const char *key)
{
    if (!dict || dict->type != JINJA_DICT)
        return NULL;
    return jinja_pairs_find(&r->k, dict->as.pairs, jinja_text_value(r, key, strlen(key), false));
}

/* OpenAI's API has a call's arguments as a text of JSON; templates take the object, as in transformers. */
static void open_arguments(jinja_run *r, jinja_value calls)
{
    for (size_t i = 0; i < calls.as.items->count; i++) {
        jinja_value *arguments = find(r, find(r, &calls.as.items->at[i], "function"), "arguments"), object;
        if (arguments && arguments->type == JINJA_TEXT &&
            jinja_from_json(r, jinja_bytes(arguments->as.text), arguments->as.text.length, true, &object) &&
            object.type == JINJA_DICT)
            *arguments = object;
    }
}

static bool put_json(jinja_run *r, jinja_value dict, const char *key, const char *json, err *e)
{
    jinja_value value;
    if (!json)
        return true;
    if (!jinja_from_json(r, json, strlen(json), true, &value) || value.type != JINJA_LIST)
        return err_set(e, "the %s are no list of JSON", key);
    open_arguments(r, value);
    jinja_put(r, dict, key, value);
    return true;
}

static bool message_value(jinja_run *r, const chat_template *t, const chat_message *m, jinja_value *out, err *e)
{
    jinja_value dict = jinja_dict(r);
    const char *role = chat_role_names[m->role], *content = m->content;
    token_text thoughts;
    size_t answer = m->role == CHAT_ASSISTANT && t->splits_thoughts ? split_thoughts(content, &thoughts) : 0;
    jinja_put(r, dict, "role", jinja_text_value(r, role, strlen(role), false));
    jinja_put(r, dict, "content", content_value(r, t, content + answer, strlen(content + answer)));
    if (answer) {
        jinja_value text = jinja_text_value(r, thoughts.data, thoughts.length, true);
        jinja_put(r, dict, "reasoning_content", text);
        jinja_put(r, dict, "thinking", text); /* what gpt-oss calls them */
    }
    put_plain(r, dict, "tool_call_id", m->tool_call_id);
    put_plain(r, dict, "name", m->name);
    *out = dict;
    return put_json(r, dict, "tool_calls", m->tool_calls, e);
}

/* What every template reads. */
static void set_common(jinja_run *r, const chat_template *t, const chat_options *o, const char *bos, const char *eos)
{
    jinja_set(r, "add_generation_prompt", jinja_bool(o->ask));
    jinja_set(r, "bos_token", jinja_text_value(r, bos, strlen(bos), false));
    jinja_set(r, "eos_token", jinja_text_value(r, eos, strlen(eos), false));
    jinja_set(r, "documents", jinja_none());
    if (!t->without_tools && !o->tools)
        jinja_set(r, "tools", jinja_none());
    if (o->think != CHAT_THINK_AUTO) {
        /* most have the first name, DeepSeek the second */
        jinja_set(r, "enable_thinking", jinja_bool(o->think == CHAT_THINK_ON));
        jinja_set(r, "thinking", jinja_bool(o->think == CHAT_THINK_ON));
    }
    if (o->local_s)
        jinja_set_clock(r, o->local_s);
}

static bool run(const chat_template *t, const chat_message *messages, size_t count, const chat_options *o,
                const char *bos, const char *eos, jinja_output *out, err *e)
{
    jinja_run *r = jinja_run_new(t->jinja);
    jinja_value list = jinja_list(r), item, tools;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = message_value(r, t, &messages[i], &item, e);
        jinja_push(r, list, item);
    }
    jinja_set(r, "messages", list);
    set_common(r, t, o, bos, eos);
    if (ok && o->tools) {
        ok = (jinja_from_json(r, o->tools, strlen(o->tools), true, &tools) && tools.type == JINJA_LIST) ||
             err_set(e, "the tools are no list of JSON");
        if (ok)
            jinja_set(r, "tools", tools);
    }
    ok = ok && jinja_render(r, out, e);
    jinja_run_free(r);
    return ok;
}

/* ---- templates ----------------------------------------------------------------------------------- */

/* Does a message appear in what it writes? */
static bool shows_message(const chat_template *t)
{
    static const char word[] = "QZJX";
    err ignored = {0};
    jinja_output out = {0};
    bool ok = run(t, &(chat_message){.role = CHAT_USER, .content = word}, 1, &(chat_options){.ask = true, .local_s = 1},
                  "", "", &out, &ignored) &&
              strstr(out.text.data, word);
    jinja_output_free(&out);
    return ok;
}

/* Templates differ in what they take: most a text and tools that are none, some (of models that see) a list of parts,
 * some no tools at all. The first form in which a message gets through. */
static void find_form(chat_template *t)
{
    for (int form = 0; form < 4; form++) {
        t->lists_parts = form & 1;
        t->without_tools = form & 2;
        if (shows_message(t))
            return;
    }
    t->lists_parts = t->without_tools = false; /* it says why when it is used */
}

chat_template *chat_template_new(const char *text, size_t length, err *e)
{
    jinja_template *jinja = jinja_parse(text, length, e);
    if (!jinja)
        return NULL;
    chat_template *t = mem_alloc(sizeof *t);
    *t = (chat_template){.jinja = jinja, .name = "own"};
    static const char gpt_oss[] = "message.thinking";
    t->splits_thoughts =
        jinja_mentions(jinja, "reasoning_content") || memmem(text, length, gpt_oss, sizeof gpt_oss - 1);
    find_form(t);
    return t;
}

chat_template *chat_template_named(const char *name)
{
    static const char chatml[] =
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
    chat_template *t = strcmp(name, "chatml") == 0 ? chat_template_new(chatml, sizeof chatml - 1, NULL) : NULL;
    if (t)
        t->name = "chatml";
    return t;
}

void chat_template_free(chat_template *t)
{
    if (!t)
        return;
    jinja_template_free(t->jinja);
    free(t);
}

const char *chat_template_name(const chat_template *t)
{
    return t->name;
}

bool chat_template_takes_tools(const chat_template *t)
{
    return jinja_mentions(t->jinja, "tools");
}

bool chat_template_can_think(const chat_template *t)
{
    return jinja_mentions(t->jinja, "enable_thinking") || jinja_mentions(t->jinja, "thinking");
}

/* ---- rendering --------------------------------------------------------------------------- */

static void add_span(chat_text *out, size_t start, size_t length)
{
    if (out->plain_count == out->plain_capacity) {
        out->plain_capacity = out->plain_capacity ? 2 * out->plain_capacity : 8;
        out->plain = mem_grow(out->plain, out->plain_capacity * sizeof *out->plain);
    }
    out->plain[out->plain_count++] = (text_span){start, length};
}

bool chat_render(const chat_template *t, const chat_message *messages, size_t count, const chat_options *o,
                 const char *bos, const char *eos, chat_text *out, err *e)
{
    jinja_output written = {0};
    bool ok = run(t, messages, count, o, bos, eos, &written, e);
    for (size_t i = 0, end; ok && i < written.plain.length; i = end) {
        for (end = i + 1; end < written.plain.length && written.plain.data[end] == written.plain.data[i];)
            end++;
        if (written.plain.data[i])
            add_span(out, i, end - i);
    }
    if (ok) {
        out->text = written.text;
        written.text = (str){0};
    }
    jinja_output_free(&written);
    return ok;
}
