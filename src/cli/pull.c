/* solo pull: a model of a hub into the cache. */
#include "hub/pull.h"
#include "cli/cli.h"
#include "cli/model_name.h"

#include <stdio.h>

typedef struct options {
    const char *name;
} options;

static const option TABLE[] = {{.value = "OWNER/REPO[:FILE]",
                                .required = true,
                                INTO(options, name),
                                .help = "a repository, and which of its models: a file's name, a quantisation such as "
                                        "Q4_K_M in any case, or safetensors"},
                               {0}};

static int run(void *chosen)
{
    err e = {0};
    const options *o = chosen;
    str path = {0};
    bool ok = cli_pull_model(o->name, &path, &e);
    if (ok)
        puts(path.data);
    str_free(&path);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_pull = {
    .name = "pull",
    .summary = "fetch a model from Hugging Face, or another hub",
    .about =
        "Fetches a model into the cache and prints its path. Commands that take a MODEL take the same name, and fetch "
        "what is not there yet.\n\n"
        "Without :FILE it is a GGUF file of Q4_K_M or what comes near, or else the folder of safetensors; all parts of "
        "a split file come. What an earlier try has left is gone on with, and every file is compared with the hub's "
        "checksum before it gets its name. Of a model that is here already, only what has changed is fetched.",
    .notes = "  SOLO_HUB=URL         the hub, https://huggingface.co otherwise; off: nothing is ever fetched\n"
             "  SOLO_HUB_TIMEOUT=S   how long a server may be silent, 30 seconds otherwise\n"
             "  HF_TOKEN=TOKEN       for models that not everybody gets; sent to the hub alone\n"
             "  SOLO_CACHE=DIR       where models are kept, in DIR/models; with off nothing can be pulled\n",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
