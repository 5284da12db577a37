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
    .summary = "download a model from Hugging Face or another hub",
    .about =
        "Downloads a model into the cache and prints its path. Commands that take a MODEL accept the same name, and "
        "download what is missing.\n\n"
        "Without :FILE it takes a GGUF model of Q4_K_M or the nearest type, else the folder of safetensors. All parts "
        "of a split file are downloaded. Interrupted downloads are resumed, and every file is compared with the hub's "
        "checksum. Of a model that is already in the cache, only files that have changed are downloaded.",
    .notes = "  SOLO_HUB=URL         the hub, https://huggingface.co otherwise; off: nothing is ever fetched\n"
             "  SOLO_HUB_TIMEOUT=S   how long a server may be silent, 30 seconds otherwise\n"
             "  HF_TOKEN=TOKEN       for models that not everybody gets; sent to the hub alone\n"
             "  SOLO_CACHE=DIR       where models are kept, in DIR/models; with off nothing can be pulled\n",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
