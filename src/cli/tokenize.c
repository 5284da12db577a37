/* solo tokenize MODEL: the token ids of the text on standard input. */
#include "base/file.h"
#include "cli/cli.h"
#include "model/gguf.h"
#include "model/tokenizer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char HELP[] = "usage: solo tokenize MODEL [--bos] < text\n"
                           "\n"
                           "Prints the token ids of the text on one line, separated by spaces. The text is\n"
                           "taken byte for byte; special tokens written in it (<|im_end|> and the like) are\n"
                           "those tokens. MODEL is a GGUF file.\n"
                           "\n"
                           "  --bos   put the model's beginning-of-text token first\n";

typedef struct options {
    const char *model;
    bool bos, help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--bos") == 0)
            o->bos = true;
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

static bool print_ids(const tokenizer *t, const str *text, bool bos, err *e)
{
    token_list list = {0};
    str line = {0};
    bool ok = tokenizer_encode(t, text->data, text->length, true, bos, &list, e);
    if (ok) {
        for (size_t i = 0; i < list.count; i++)
            str_addf(&line, i ? " %d" : "%d", (int)list.ids[i]);
        str_add(&line, "\n");
        ok = file_write("-", line.data, line.length, e);
    }
    token_list_free(&list);
    str_free(&line);
    return ok;
}

static bool tokenize(const options *o, err *e)
{
    gguf *g = gguf_open(o->model, e);
    if (!g)
        return false;
    tokenizer *t = tokenizer_from_gguf(g, e);
    gguf_close(g);
    if (!t) /* what the file's reader says names the file already */
        return strncmp(e->text, o->model, strlen(o->model)) == 0 ? false : err_context(e, "%s", o->model);
    str text = {0};
    bool ok = true;
    if (o->bos && tokenizer_bos(t) < 0)
        ok = err_set(e, "%s: the model has no beginning-of-text token", o->model);
    ok = ok && read_input(&text, e) && print_ids(t, &text, o->bos, e);
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
