/* solo convert: a Hugging Face folder as a GGUF file. */
#include "cli/cli.h"
#include "model/convert.h"

#include <stdio.h>
#include <string.h>

static const char HELP[] =
    "usage: solo convert MODEL OUT.gguf [--type TYPE]\n\n"
    "Writes a model as a GGUF file, which llama.cpp reads, too.\n\n"
    "  MODEL        a Hugging Face folder, or a GGUF file with weights of f32, f16 or bf16\n"
    "  OUT.gguf     the file to write; one that is there is replaced when the new one is complete\n"
    "  --type TYPE  of the matrices: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0 or q5_1 (default: the one they have)\n\n"
    "Norms and biases are f32. With 4 or 5 bits what makes the logits (the output, or the embedding where there is\n"
    "no other) is q8_0. Rows that are no whole number of blocks of 32 are f16.\n";

typedef struct options {
    const char *from, *to, *type;
    bool help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--type") == 0) {
            if (!(o->type = cli_value(a, word)))
                return false;
        } else if (word[0] == '-' || o->to)
            return cli_unknown(a, word);
        else if (o->from)
            o->to = word;
        else
            o->from = word;
    }
    if (!o->help && !o->to)
        return err_set_kind(a->e, ERR_USAGE, "a model and a file to write are wanted (solo convert --help)");
    return true;
}

int cmd_convert(int argc, char **argv)
{
    err e = {0};
    options o = {0};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(HELP, stdout);
        return 0;
    }
    str notes = {0};
    bool ok = convert_model(o.from, o.to, o.type, &notes, &e);
    if (ok && notes.data)
        fputs(notes.data, stdout);
    str_free(&notes);
    return ok ? 0 : cli_fail(&e);
}
