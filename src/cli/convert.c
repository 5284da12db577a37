/* solo convert: a Hugging Face folder as a GGUF file. */
#include "cli/cli.h"
#include "model/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* Would the output replace what it is made from? A single GGUF file may be: the new one has all of it. Of a folder, what
 * is in it is, but for GGUF files; of a split file every part. */
static bool replaces_model(const char *from, const char *to)
{
    enum { NUMBERS = 19, TOTAL = 14 }; /* of "00001-of-00003.gguf" from its end on */
    struct stat info;
    char *source = realpath(from, NULL), *target = realpath(to, NULL);
    size_t n = source ? strlen(source) : 0, m = target ? strlen(target) : 0;
    bool replaces = false;
    if (n && m && stat(source, &info) == 0 && S_ISDIR(info.st_mode)) {
        const char *slash = strrchr(target, '/');
        replaces = (size_t)(slash - target) == n && memcmp(source, target, n) == 0 &&
                   (m < 5 || strcmp(target + m - 5, ".gguf") != 0);
    } else if (n && n == m && n > NUMBERS)
        replaces = memcmp(source, target, n - NUMBERS) == 0 && strcmp(source + n - TOTAL, target + n - TOTAL) == 0 &&
                   memcmp(source + n - TOTAL, "-of-", 4) == 0 && strcmp(source + n - TOTAL, "-of-00001.gguf") != 0;
    free(source);
    free(target);
    return replaces;
}

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    str notes = {0};
    if (replaces_model(o->from, o->to)) {
        err_set_kind(&e, ERR_USAGE, "%s is a part of the model that is to be converted", o->to);
        return cli_fail(&e);
    }
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
