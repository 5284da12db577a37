/* completion: `solo completion`, which prints a script that completes command lines in a shell. */
#include "cli/cli.h"
#include "cli/documents.h"

#include <stdio.h>
#include <string.h>

void completion_add_description(const option *o, str *out)
{
    size_t length = strcspn(o->help, ";{");
    while (length && strchr(" :", o->help[length - 1]))
        length--;
    if (length)
        str_add_bytes(out, o->help, length);
    else
        str_add(out, o->value);
}

void completion_add_names(const option *o, str *out)
{
    for (uint32_t i = 0; option_name(o, i); i++)
        str_addf(out, "%s%s", i ? " " : "", option_name(o, i));
}

void completion_add_quoted(const char *text, str *out)
{
    str_add(out, "'");
    for (; *text; text++)
        if (*text == '\'')
            str_add(out, "'\\''");
        else
            str_add_bytes(out, text, 1);
    str_add(out, "'");
}

/* ---- the command --------------------------------------------------------------------------- */

typedef enum { SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELL_COUNT } shell;

typedef struct options {
    shell shell;
} options;

static const char *shell_name(uint32_t i)
{
    static const char *const names[] = {[SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish"};
    return i < SHELL_COUNT ? names[i] : NULL;
}

static const option TABLE[] = {{.value = "SHELL",
                                .kind = OPTION_NAME,
                                .names = shell_name,
                                .required = true,
                                INTO(options, shell),
                                .help = "{names}",
                                .otherwise = ""},
                               {0}};

static int run(void *chosen)
{
    static void (*const add[])(str *) = {
        [SHELL_BASH] = completion_add_bash, [SHELL_ZSH] = completion_add_zsh, [SHELL_FISH] = completion_add_fish};
    str text = {0};
    add[((const options *)chosen)->shell](&text);
    fputs(text.data, stdout);
    str_free(&text);
    return 0;
}

static const options DEFAULTS = {0};

const cli_command command_completion = {
    .name = "completion",
    .summary = "a script that completes command lines in a shell",
    .about =
        "Prints a script with which a shell completes commands, options, their values and files. `make install` puts "
        "it where shells look for it; in a shell of bash, `source <(solo completion bash)` does without.",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
