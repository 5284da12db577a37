/* solo tokenize [MODEL]: the token ids of the text on standard input. */
#include "base/file.h"
#include "cli/cli.h"
#include "model/builtin.h"
#include "model/chat.h"
#include "model/model_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *model;
    const char *system;
    bool bos, plain, each, chat;
} options;

static const option TABLE[] = {
    {.value = "MODEL",
     .files = OPTION_FILES,
     INTO(options, model),
     .is_model = true,
     .help = "a GGUF file, a Hugging Face folder, or OWNER/REPO[:FILE] on a hub (solo pull --help)",
     .otherwise = "the built-in model"},
    {.name = "bos", .kind = OPTION_FLAG, INTO(options, bos), .help = "put the model's beginning-of-text token first"},
    {.name = "plain", .kind = OPTION_FLAG, INTO(options, plain), .help = "special tokens written in the text are text"},
    {.letter = '0',
     .kind = OPTION_FLAG,
     INTO(options, each),
     .help = "the input is several texts, each ended by a zero byte: a line for each"},
    {.name = "chat",
     .kind = OPTION_FLAG,
     INTO(options, chat),
     .help = "with -0: the texts are the turns of a conversation, yours first, in the model's own template: one line, "
             "up to where the model answers"},
    {.name = "system", .value = "TEXT", INTO(options, system), .help = "with --chat: the system's message"},
    {0}};

static bool check(void *chosen, err *e)
{
    const options *o = chosen;
    if ((o->chat && !o->each) || (o->system && !o->chat))
        return err_set_kind(e, ERR_USAGE, "--chat goes with -0, and --system with --chat (solo tokenize --help)");
    return true;
}

static const char *name_of(const options *o)
{
    return o->model ? o->model : BUILTIN_NAME;
}

static bool add_ids(const options *o, const tokenizer *t, const char *text, size_t bytes, str *lines, err *e)
{
    token_list list = {0};
    bool ok = tokenizer_encode(t, text, bytes, !o->plain, o->bos, &list, e);
    for (size_t i = 0; i < list.count; i++)
        str_addf(lines, i ? " %d" : "%d", (int)list.ids[i]);
    str_add(lines, "\n");
    token_list_free(&list);
    return ok;
}

static bool print_ids(const options *o, const tokenizer *t, const str *text, err *e)
{
    str lines = {0};
    bool ok = true;
    if (!o->each)
        ok = add_ids(o, t, text->data, text->length, &lines, e);
    for (size_t at = 0, bytes; ok && o->each && at < text->length; at += bytes + 1) {
        bytes = strnlen(text->data + at, text->length - at);
        ok = add_ids(o, t, text->data + at, bytes, &lines, e);
    }
    ok = ok && (lines.length == 0 || file_write("-", lines.data, lines.length, e));
    str_free(&lines);
    return ok;
}

static bool print_chat(const options *o, const tokenizer *t, const str *text, err *e)
{
    str template = {0};
    if (!chat_template_of_path(o->model, &template, e))
        return false;
    bool ok = template.length || err_set(e, "%s: there is no chat template", name_of(o));
    chat_template *form = ok ? chat_template_new(template.data, template.length, e) : NULL;
    str_free(&template);
    if (!form)
        return false;
    size_t count = 0, most = 1;
    for (size_t i = 0; i < text->length; i++)
        most += text->data[i] == 0;
    chat_message *messages = mem_alloc((most + 1) * sizeof *messages);
    if (o->system)
        messages[count++] = (chat_message){.role = CHAT_SYSTEM, .content = o->system};
    chat_role role = CHAT_USER;
    for (size_t at = 0; at < text->length; at += strlen(text->data + at) + 1) {
        messages[count++] = (chat_message){.role = role, .content = text->data + at};
        role = role == CHAT_USER ? CHAT_ASSISTANT : CHAT_USER;
    }
    token_list list = {0};
    str line = {0};
    ok = chat_encode(form, t, messages, count, &(chat_options){.ask = true}, &list, e);
    for (size_t i = 0; i < list.count; i++)
        str_addf(&line, i ? " %d" : "%d", (int)list.ids[i]);
    str_add(&line, "\n");
    ok = ok && file_write("-", line.data, line.length, e);
    str_free(&line);
    token_list_free(&list);
    free(messages);
    chat_template_free(form);
    return ok;
}

static bool tokenize(const options *o, err *e)
{
    tokenizer *t = tokenizer_of_path(o->model, e);
    if (!t)
        return false;
    str text = {0};
    bool ok = true;
    if (o->bos && tokenizer_bos(t) < 0)
        ok = err_set(e, "%s: the model has no beginning-of-text token", name_of(o));
    ok = ok && cli_read_text("-", &text, e) && (o->chat ? print_chat : print_ids)(o, t, &text, e);
    str_free(&text);
    tokenizer_free(t);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    return tokenize(chosen, &e) ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_tokenize = {
    .name = "tokenize",
    .summary = "the token ids of the text on standard input",
    .about =
        "Prints the token ids of the text on standard input on one line, separated by spaces. The text is taken byte "
        "for byte; special tokens written in it (<|im_end|> and the like) are those tokens.",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .check = check,
    .run = run};
