/* completion_zsh: the completion script of zsh, by its _arguments. */
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/help.h"

#include <string.h>

/* In an explanation brackets and colons have a meaning. */
static void add_explanation(const char *text, str *out)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            str_add(out, "\\");
        str_add_bytes(out, text, 1);
    }
}

/* ":VALUE:ACTION" */
static void add_action(const option *o, str *out)
{
    str names = {0};
    completion_add_names(o, &names);
    str_add(out, ":");
    add_explanation(o->value, out);
    str_add(out, ":");
    if (names.length && (o->lists || o->kind == OPTION_NAMES))
        str_addf(out, "_values -s , name %s", names.data);
    else if (names.length && o->files)
        str_addf(out, "{compadd -- %s; _files}", names.data);
    else if (names.length)
        str_addf(out, "(%s)", names.data);
    else if (o->files)
        str_add(out, o->files == OPTION_FILES ? "_files" : "_files -/");
    else
        str_add(out, " ");
    str_free(&names);
}

static void add_spec(const option *o, const char *dashes, const char *name, str *out)
{
    str spec = {0}, description = {0};
    completion_add_description(o, &description);
    if (o->kind == OPTION_TEXTS)
        str_add(&spec, "*");
    else if (o->letter && o->name)
        str_addf(&spec, "(-%c --%s)", o->letter, o->name);
    str_addf(&spec, "%s%s%s[", dashes, name, option_takes_value(o) && dashes[1] ? "=" : "");
    add_explanation(description.data, &spec);
    str_add(&spec, "]");
    if (option_takes_value(o))
        add_action(o, &spec);
    str_add(out, " \\\n            ");
    completion_add_quoted(spec.data, out);
    str_free(&spec);
    str_free(&description);
}

static void add_option(const option *o, str *out)
{
    if (option_is_operand(o)) {
        str spec = {0};
        if (o->kind == OPTION_TEXTS)
            str_add(&spec, "*");
        else if (!o->required)
            str_add(&spec, ":");
        add_action(o, &spec);
        str_add(out, " \\\n            ");
        completion_add_quoted(spec.data, out);
        str_free(&spec);
        return;
    }
    if (o->letter)
        add_spec(o, "-", (const char[]){o->letter, '\0'}, out);
    if (o->name)
        add_spec(o, "--", o->name, out);
}

static void add_command(const cli_command *c, str *out)
{
    str_addf(out, "    '%s')\n        _arguments -S", c->name);
    for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
        for (const option *o = g->table; !option_is_end(o); o++)
            add_option(o, out);
    add_option(&HELP_OPTION, out);
    str_add(out, "\n        ;;\n");
}

/* An array of 'name:summary'. `f` NULL: the first words of all commands. */
static void add_list(const char *variable, const command_family *f, str *out)
{
    str_addf(out, "    local -a %s=(\n", variable);
    for (size_t k = 0; command_at(k); k++) {
        const cli_command *c = command_at(k);
        str line = {0};
        if (c->hidden || (f ? !command_is_of_family(c, f) : strchr(c->name, ' ') != NULL))
            continue;
        str_addf(&line, "%s:%s", f ? c->name + strlen(f->name) + 1 : c->name, c->summary);
        str_add(out, "        ");
        completion_add_quoted(line.data, out);
        str_add(out, "\n");
        str_free(&line);
    }
    for (size_t i = 0; !f && command_family_at(i); i++) {
        str line = {0};
        str_addf(&line, "%s:%s", command_family_at(i)->name, command_family_at(i)->summary);
        str_add(out, "        ");
        completion_add_quoted(line.data, out);
        str_add(out, "\n");
        str_free(&line);
    }
    str_add(out, f ? "    )\n" : "        'help:the options of a command'\n    )\n");
}

void completion_add_zsh(str *out)
{
    str_add(out, "#compdef solo\n# zsh completion for solo, made by `solo completion zsh`\n\n_solo() {\n");
    add_list("solo_commands", NULL, out);
    for (size_t i = 0; command_family_at(i); i++) {
        str name = {0};
        str_addf(&name, "solo_%s", command_family_at(i)->name);
        add_list(name.data, command_family_at(i), out);
        str_free(&name);
    }
    str_add(out, "    if [[ $words[2] == help ]] && (( CURRENT > 2 )); then\n"
                 "        shift words\n        (( CURRENT-- ))\n    fi\n"
                 "    if (( CURRENT == 2 )); then\n        _describe -t commands command solo_commands\n"
                 "        return\n    fi\n    local solo_command=$words[2]\n");
    for (size_t i = 0; command_family_at(i); i++) {
        const command_family *f = command_family_at(i);
        str_addf(out,
                 "    if [[ $solo_command == %s ]]; then\n"
                 "        if (( CURRENT == 3 )); then\n            _describe -t commands %s solo_%s\n"
                 "            return\n        fi\n"
                 "        solo_command=\"%s $words[3]\"\n        shift words\n        (( CURRENT-- ))\n    fi\n",
                 f->name, f->noun, f->name, f->name);
    }
    str_add(out, "    shift words\n    (( CURRENT-- ))\n    case $solo_command in\n");
    for (size_t k = 0; command_at(k); k++)
        if (!command_at(k)->hidden)
            add_command(command_at(k), out);
    str_add(out, "    esac\n}\n\n_solo \"$@\"\n");
}
