/* solo synth: a real model's shapes with random weights. */
#include "cli/cli.h"
#include "model/synth.h"

#include <stdio.h>
#include <string.h>

typedef struct options {
    const char *arch, *type, *path;
    uint64_t seed;
} options;

static const char *arch_name(uint32_t i)
{
    return synth_name(i);
}

static const char *type_name(uint32_t i)
{
    return synth_type(i);
}

static const option TABLE[] = {
    {.value = "ARCH", .names = arch_name, .required = true, INTO(options, arch), .help = "{names}"},
    {.value = "TYPE", .names = type_name, .required = true, INTO(options, type), .help = "of the matrices: {names}"},
    {.value = "OUT.gguf",
     .files = OPTION_FILES,
     .required = true,
     INTO(options, path),
     .help = "the file to write; one that is there is replaced when the new one is complete"},
    {.name = "seed",
     .value = "S",
     .kind = OPTION_WHOLE,
     .high = 1000000000,
     INTO(options, seed),
     .help = "another seed makes other weights"},
    {0}};

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    str notes = {0};
    bool ok = synth_model(o->arch, o->type, o->seed, o->path, &notes, &e);
    if (ok && notes.data)
        fputs(notes.data, stdout);
    str_free(&notes);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {.seed = 1};

const cli_command command_synth = {
    .name = "synth",
    .summary = "a real model's shapes with random weights",
    .about =
        "Writes a GGUF file with a real model's shapes, random weights and a made-up vocabulary of the right size: it "
        "runs as fast as the model, and what it says means nothing.",
    .notes =
        "As in llama.cpp's own files, what makes the logits is q6_k where the type has fewer bits (q8_0 where rows are "
        "no whole number of blocks of 256).",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
