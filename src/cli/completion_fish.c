/* completion_fish: the completion script of fish. */
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/help.h"

#include <string.h>

static const char FUNCTIONS[] = "# Is this the command that was typed?\n"
                                "function __solo_is\n"
                                "    set -l typed (commandline -opc)\n"
                                "    test \"$typed[2]\" = help; and set -e typed[2]\n"
                                "    test \"$typed[2]\" = \"$argv[1]\"; or return 1\n"
                                "    test (count $argv) -lt 2; or test \"$typed[3]\" = \"$argv[2]\"\n"
                                "end\n\n"
                                "# Is the next word the so manyth, and the one before it this?\n"
                                "function __solo_at\n"
                                "    set -l typed (commandline -opc)\n"
                                "    test \"$typed[2]\" = help; and set -e typed[2]\n"
                                "    test (count $typed) -eq $argv[1]; or return 1\n"
                                "    test (count $argv) -lt 2; or test \"$typed[-1]\" = \"$argv[2]\"\n"
                                "end\n\n";

/* complete -c solo -n 'CONDITION' ... -d 'DESCRIPTION' */
static void add_completion(const char *condition, const char *what, const char *description, str *out)
{
    str_add(out, "complete -c solo -n ");
    completion_add_quoted(condition, out);
    str_add(out, what);
    str_add(out, " -d ");
    completion_add_quoted(description, out);
    str_add(out, "\n");
}

static void add_word(const char *condition, const char *word, const char *description, str *out)
{
    str what = {0};
    str_addf(&what, " -f -a %s", word);
    add_completion(condition, what.data, description, out);
    str_free(&what);
}

static void add_commands(str *out)
{
    for (size_t k = 0; command_at(k); k++) {
        const cli_command *c = command_at(k);
        if (!c->hidden && !strchr(c->name, ' '))
            add_word("__solo_at 1", c->name, c->summary, out);
    }
    for (size_t i = 0; command_family_at(i); i++) {
        const command_family *f = command_family_at(i);
        str condition = {0};
        add_word("__solo_at 1", f->name, f->summary, out);
        str_addf(&condition, "__solo_at 2 %s", f->name);
        for (size_t k = 0; command_at(k); k++)
            if (command_is_of_family(command_at(k), f))
                add_word(condition.data, command_at(k)->name + strlen(f->name) + 1, command_at(k)->summary, out);
        str_free(&condition);
    }
    add_word("__solo_at 1", "help", "the options of a command", out);
}

static void add_option(const char *condition, const option *o, str *out)
{
    str what = {0}, names = {0}, description = {0};
    completion_add_names(o, &names);
    completion_add_description(o, &description);
    if (o->letter)
        str_addf(&what, " -s %c", o->letter);
    if (o->name)
        str_addf(&what, " -l %s", o->name);
    if (option_takes_value(o) && !option_is_operand(o))
        str_add(&what, o->files ? " -r -F" : " -x");
    if (names.length) {
        str_add(&what, " -a ");
        completion_add_quoted(names.data, &what);
    }
    if (what.length)
        add_completion(condition, what.data, description.data, out);
    str_free(&what);
    str_free(&names);
    str_free(&description);
}

static void add_command(const cli_command *c, str *out)
{
    bool takes_files = false;
    str condition = {0};
    str_addf(&condition, "__solo_is %s", c->name);
    for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
        for (const option *o = g->table; !option_is_end(o); o++) {
            add_option(condition.data, o, out);
            takes_files = takes_files || (option_is_operand(o) && o->files);
        }
    add_option(condition.data, &HELP_OPTION, out);
    if (!takes_files)
        str_addf(out, "complete -c solo -n '%s' -f\n", condition.data);
    str_free(&condition);
}

void completion_add_fish(str *out)
{
    str_add(out, "# fish completion for solo, made by `solo completion fish`\n\n");
    str_add(out, FUNCTIONS);
    add_commands(out);
    for (size_t k = 0; command_at(k); k++)
        if (!command_at(k)->hidden)
            add_command(command_at(k), out);
}
