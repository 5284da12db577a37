/* solo synth: a real model's shapes with random weights. */
#include "cli/cli.h"
#include "model/synth.h"

#include <stdio.h>
#include <string.h>

static const char HELP[] =
    "usage: solo synth ARCH TYPE OUT.gguf [--seed S]\n\n"
    "Writes a GGUF file with a real model's shapes, random weights and a made-up vocabulary of the right size:\n"
    "it runs as fast as the model, and what it says means nothing.\n\n"
    "  ARCH      qwen2.5-0.5b, qwen2.5-1.5b, llama-3-8b, mistral-7b, phi-3-mini or gemma-2b\n"
    "  TYPE      of the matrices: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, q5_k or q6_k\n"
    "  OUT.gguf  the file to write; one that is there is replaced when the new one is complete\n"
    "  --seed S  another seed makes other weights (default 1)\n\n"
    "As in llama.cpp's own files, what makes the logits is q6_k where the type has fewer bits (q8_0 where rows are no\n"
    "whole number of blocks of 256).\n";

typedef struct options {
    const char *words[3]; /* ARCH TYPE OUT.gguf */
    int word_count;
    long seed;
    bool help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--seed") == 0) {
            if (!cli_number(a, word, 0, 1000000000, &o->seed))
                return false;
        } else if (word[0] == '-' || o->word_count == 3)
            return cli_unknown(a, word);
        else
            o->words[o->word_count++] = word;
    }
    if (!o->help && o->word_count < 3)
        return err_set_kind(a->e, ERR_USAGE, "a model's name, a type and a file are wanted (solo synth --help)");
    return true;
}

int cmd_synth(int argc, char **argv)
{
    err e = {0};
    options o = {.seed = 1};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(HELP, stdout);
        return 0;
    }
    str notes = {0};
    bool ok = synth_model(o.words[0], o.words[1], (uint64_t)o.seed, o.words[2], &notes, &e);
    if (ok && notes.data)
        fputs(notes.data, stdout);
    str_free(&notes);
    return ok ? 0 : cli_fail(&e);
}
