#include "cli/cli.h"
#include "graph/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_fail(const err *e)
{
    fprintf(stderr, "solo: %s\n", e->text);
    return e->kind;
}

const char *cli_next(cli_args *a)
{
    return a->at < a->argc ? a->argv[a->at++] : NULL;
}

const char *cli_value(cli_args *a, const char *option)
{
    const char *value = cli_next(a);
    if (!value)
        err_set_kind(a->e, ERR_USAGE, "%s needs a value", option);
    return value;
}

bool cli_number(cli_args *a, const char *option, long lowest, long highest, long *out)
{
    const char *text = cli_value(a, option);
    if (!text)
        return false;
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    if (errno || end == text || *end || *out < lowest || *out > highest)
        return err_set_kind(a->e, ERR_USAGE, "%s takes a whole number from %ld to %ld, not '%s'", option, lowest,
                            highest, text);
    return true;
}

bool cli_unknown(cli_args *a, const char *word)
{
    return err_set_kind(a->e, ERR_USAGE, "unknown %s '%s' (solo %s --help)", word[0] == '-' ? "option" : "argument",
                        word, a->argv[0]);
}

bool cli_adapter(const char *text, gpu_adapter_want *want, err *e)
{
    static const char *const names[] = {"any", "gpu", "software"};
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *want = (gpu_adapter_want)i;
            return true;
        }
    return err_set_kind(e, ERR_USAGE, "--adapter takes gpu, software or any, not '%s'", text ? text : "");
}

bool cli_level(const char *name, fusion_level *level, err *e)
{
    for (int i = 0; i < LEVEL_COUNT; i++)
        if (strcmp(name, fusion_names[i]) == 0) {
            *level = (fusion_level)i;
            return true;
        }
    return err_set_kind(e, ERR_USAGE, "--fuse takes auto, none, ops, token or loop, not '%s'", name);
}

bool cli_model_word(cli_args *a, const char *word, cli_model *m)
{
    if (strcmp(word, "--impl") == 0)
        return (m->impl = cli_value(a, word)) != NULL;
    if (strcmp(word, "--chunk") == 0)
        return cli_number(a, word, 1, 10000, &m->chunk_ms);
    if (strcmp(word, "--checked") == 0)
        return m->checked = true;
    if (strcmp(word, "--fuse") == 0) {
        const char *name = cli_value(a, word);
        return name && cli_level(name, &m->level, a->e);
    }
    if (word[0] == '-' || m->path)
        return cli_unknown(a, word);
    m->path = word;
    return true;
}

gpu_choice cli_choice(const cli_model *m)
{
    return (gpu_choice){.impl = m->impl, .own_kernels = !m->checked};
}

gpu *cli_open_model_gpu(const cli_model *m, err *e)
{
    gpu_choice choice = cli_choice(m);
    return gpu_open_now(&choice, e);
}

fusion_level cli_level_on(const cli_model *m, const gpu *g)
{
    return graph_run_level(g, m->level);
}

void cli_print_notice(generation *n)
{
    char text[1200];
    if (generation_take_notice(n, text, sizeof text))
        fprintf(stderr, "solo: %s\n", text);
}
