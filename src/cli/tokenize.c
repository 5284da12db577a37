/* solo tokenize MODEL: the token ids of the text on standard input. */
#include "base/file.h"
#include "cli/cli.h"
#include "model/model_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char HELP[] = "usage: solo tokenize MODEL [--bos] [--plain] [-0] < text\n"
                           "\n"
                           "Prints the token ids of the text on one line, separated by spaces. The text is\n"
                           "taken byte for byte; special tokens written in it (<|im_end|> and the like) are\n"
                           "those tokens. MODEL is a GGUF file or a Hugging Face folder.\n"
                           "\n"
                           "  --bos    put the model's beginning-of-text token first\n"
                           "  --plain  special tokens written in the text are text\n"
                           "  -0       the input is several texts, each ended by a zero byte: a line for each\n";

typedef struct options {
    const char *model;
    bool bos, plain, each, help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--bos") == 0)
            o->bos = true;
        else if (strcmp(word, "--plain") == 0)
            o->plain = true;
        else if (strcmp(word, "-0") == 0)
            o->each = true;
        else if (word[0] == '-' || o->model)
            return cli_unknown(a, word);
        else
            o->model = word;
    }
    if (!o->model && !o->help)
        return err_set_kind(a->e, ERR_USAGE, "a model is needed (solo tokenize --help)");
    return true;
}

static bool read_input(str *text, err *e)
{
    char chunk[65536];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        str_add_bytes(text, chunk, got);
    return ferror(stdin) ? err_set(e, "standard input: %s", strerror(errno)) : true;
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

static bool tokenize(const options *o, err *e)
{
    tokenizer *t = tokenizer_of_path(o->model, e);
    if (!t)
        return false;
    str text = {0};
    bool ok = true;
    if (o->bos && tokenizer_bos(t) < 0)
        ok = err_set(e, "%s: the model has no beginning-of-text token", o->model);
    ok = ok && read_input(&text, e) && print_ids(o, t, &text, e);
    str_free(&text);
    tokenizer_free(t);
    return ok;
}

int cmd_tokenize(int argc, char **argv)
{
    err e = {0};
    options o = {0};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(HELP, stdout);
        return 0;
    }
    return tokenize(&o, &e) ? 0 : cli_fail(&e);
}
