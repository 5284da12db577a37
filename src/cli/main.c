/* main: finds the command, reads its options, runs it. */
#include "base/abort_line.h"
#include "base/map.h"
#include "base/progress.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/model_name.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pipes and files must not come to stand where standard input, output and error
 * are expected, even if someone closed those. Not for writing: what is printed to a
 * standard output that was closed has failed. */
static void occupy_standard_streams(void)
{
    for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY))
        if (fd > STDERR_FILENO) {
            close(fd);
            return;
        }
}

static void print(str *text, FILE *to)
{
    fputs(text->data, to);
    str_free(text);
}

/* `words` come behind the command's name. */
static int run_command(const cli_command *c, int count, char *const *words)
{
    err e = {0};
    bool help;
    char *chosen = mem_alloc(c->bytes ? c->bytes : 1);
    int status = 0;
    if (c->bytes)
        memcpy(chosen, c->defaults, c->bytes);
    if (!options_read(c, chosen, count, words, &help, &e))
        status = cli_fail(&e);
    else if (help) {
        str text = {0};
        help_add_command(c, &text);
        print(&text, stdout);
    } else {
        text_list paths = {0};
        status = cli_find_models(c, chosen, &paths, &e) ? c->run(chosen) : cli_fail(&e);
        for (size_t i = 0; i < paths.count; i++)
            free((char *)paths.items[i]);
        free(paths.items);
    }
    options_free(c, chosen);
    free(chosen);
    return status;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Help of all, or of the command that the words name. */
static int help(int count, char *const *words)
{
    err e = {0};
    str text = {0};
    int used;
    const cli_command *c = count ? command_find(count, words, &used) : NULL;
    const command_family *f = count == 1 ? command_family_find(words[0]) : NULL;
    if (c)
        help_add_command(c, &text);
    else if (f)
        command_family_add_help(f, &text);
    else if (count == 0)
        commands_add_help(&text);
    else {
        command_unknown(count, words, &e);
        return cli_fail(&e);
    }
    print(&text, stdout);
    return 0;
}

static int run(int count, char *const *words)
{
    err e = {0};
    int used;
    if (count == 0) {
        str text = {0};
        commands_add_help(&text);
        print(&text, stderr);
        return ERR_USAGE;
    }
    if (is_help(words[0]) || strcmp(words[0], "help") == 0)
        return help(is_help(words[0]) ? 0 : count - 1, words + 1);
    if (strcmp(words[0], "--version") == 0) {
        printf("solo %s (%s)\n", solo_version, solo_commit);
        return 0;
    }
    const cli_command *c = command_find(count, words, &used);
    if (c && !cli_check_environment(&e))
        return cli_fail(&e);
    if (c)
        return run_command(c, count - used, words + used);
    if (count > 1 && command_family_find(words[0]) && is_help(words[1]))
        return help(1, words);
    command_unknown(count, words, &e);
    return cli_fail(&e);
}

/* jansson goes on with less where memory is short, or ends in an assertion. It fills what it gets. */
static void *json_memory(size_t bytes)
{
    return mem_grow(NULL, bytes);
}

/* A file that may not grow further (ulimit -f) is a write that fails, and no end of the program without a word. */
static void survive_limits(void)
{
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN);
#endif
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    survive_limits();
    map_survive_cuts();
    abort_line_allow();
    json_set_alloc_funcs(json_memory, free);
    progress_show();
    return cli_end_output(run(argc > 0 ? argc - 1 : 0, argv + 1));
}
