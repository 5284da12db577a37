/* solo convert: a Hugging Face folder as a GGUF file. */
#include "cli/cli.h"
#include "model/convert.h"

#include <stdio.h>
#include <string.h>

typedef struct options {
    const char *from, *to, *type;
} options;

static const char *type_name(uint32_t i)
{
    return convert_type_name(i);
}

static const option TABLE[] = {
    {.value = "MODEL",
     .files = OPTION_FILES,
     .required = true,
     INTO(options, from),
     .is_model = true,
     .help = "a Hugging Face folder, OWNER/REPO:safetensors on a hub (solo pull --help), or a GGUF file with weights "
             "of f32, f16 or bf16"},
    {.value = "OUT.gguf",
     .files = OPTION_FILES,
     .required = true,
     INTO(options, to),
     .help = "the file to write; one that is there is replaced when the new one is complete"},
    {.name = "type",
     .value = "TYPE",
     .names = type_name,
     .in_usage = true,
     INTO(options, type),
     .help = "of the matrices: {names}",
     .otherwise = "the one they have"},
    {0}};

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    str notes = {0};
    bool ok = convert_model(o->from, o->to, o->type, &notes, &e);
    if (ok && notes.data)
        fputs(notes.data, stdout);
    str_free(&notes);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_convert = {
    .name = "convert",
    .summary = "a Hugging Face folder as a GGUF file",
    .about = "Writes a model as a GGUF file, which llama.cpp reads, too.",
    .notes =
        "Norms and biases are f32. What makes the logits (the output, or the embedding where there is no other) is "
        "q8_0 "
        "with 4 or 5 bits, and q6_k with K types of fewer than 6. q4_k_m and q5_k_m mix types as llama.cpp does. Rows "
        "that are no whole number of blocks of 32 are f16; those of blocks of 256 get a type of 32.",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
