/* completion_bash: the completion script of bash. */
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/help.h"

#include <string.h>

/* What does not depend on the tables. Bash splits words at `=`, unless COMP_WORDBREAKS was changed. */
static const char SCRIPT[] =
    "# The value being typed: of the list `names`, of files, or both.\n"
    "_solo_complete() {\n"
    "    local prefix=$1 typed=$2\n"
    "    if [[ -n $lists && $typed == *,* ]]; then\n"
    "        prefix+=${typed%,*},\n"
    "        typed=${typed##*,}\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$names\" -P \"$prefix\" -- \"$typed\"\n"
    "        case $files in\n"
    "        files) compgen -f -P \"$prefix\" -- \"$typed\" ;;\n"
    "        folders) compgen -d -P \"$prefix\" -- \"$typed\" ;;\n"
    "        esac)\n"
    "    [[ -z $files ]] || compopt -o filenames 2>/dev/null\n"
    "    return 0\n"
    "}\n"
    "\n"
    "_solo() {\n"
    "    local typed=${COMP_WORDS[COMP_CWORD]} command='' option='' operand=0 i word names files lists options\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == = && ${COMP_WORDS[i - 1]} == --* ]]; then\n"
    "            continue # the option's value follows\n"
    "        elif [[ $word == = ]]; then\n"
    "            ((++i < COMP_CWORD)) || return 0 # the second half of KEY=VALUE\n"
    "        elif [[ -n $option ]]; then\n"
    "            option=''\n"
    "        elif [[ -z $command || $command == help ]] || _solo_is_family \"$command\"; then\n"
    "            if [[ $command == help || -z $command ]]; then command=$word; else command+=\" $word\"; fi\n"
    "        elif [[ $word == -* ]]; then\n"
    "            _solo_value \"$command\" \"$word\" && option=$word\n"
    "        else\n"
    "            ((operand += 1))\n"
    "        fi\n"
    "    done\n"
    "    names='' files='' lists=''\n"
    "    if [[ -n $option ]]; then\n"
    "        [[ $typed == = ]] && typed=''\n"
    "        _solo_value \"$command\" \"$option\"\n"
    "        _solo_complete '' \"$typed\"\n"
    "    elif [[ -z $command || $command == help ]] || _solo_is_family \"$command\"; then\n"
    "        _solo_commands \"$command\"\n"
    "        _solo_complete '' \"$typed\"\n"
    "    elif [[ $typed == --*=* ]]; then\n"
    "        _solo_value \"$command\" \"${typed%%=*}\" && _solo_complete \"${typed%%=*}=\" \"${typed#*=}\"\n"
    "    elif [[ $typed == -* ]]; then\n"
    "        _solo_options \"$command\"\n"
    "        names=$options\n"
    "        _solo_complete '' \"$typed\"\n"
    "    else\n"
    "        _solo_value \"$command\" \"$operand\"\n"
    "        _solo_complete '' \"$typed\"\n"
    "    fi\n"
    "} && complete -F _solo solo\n";

static void add_families(str *out)
{
    str_add(out, "_solo_is_family() {\n    case $1 in\n");
    for (size_t i = 0; command_family_at(i); i++)
        str_addf(out, "    %s) return 0 ;;\n", command_family_at(i)->name);
    str_add(out, "    *) return 1 ;;\n    esac\n}\n\n");
}

/* The words that may come next, after nothing, `help` or a family. */
static void add_commands(str *out)
{
    str_add(out, "_solo_commands() {\n    case $1 in\n");
    for (size_t i = 0; command_family_at(i); i++) {
        const command_family *f = command_family_at(i);
        str_addf(out, "    %s) names='", f->name);
        for (size_t k = 0; command_at(k); k++)
            if (command_is_of_family(command_at(k), f))
                str_addf(out, "%s ", command_at(k)->name + strlen(f->name) + 1);
        str_add(out, "--help' ;;\n");
    }
    str_add(out, "    *) names='");
    for (size_t k = 0; command_at(k); k++)
        if (!command_at(k)->hidden && !strchr(command_at(k)->name, ' '))
            str_addf(out, "%s ", command_at(k)->name);
    for (size_t i = 0; command_family_at(i); i++)
        str_addf(out, "%s ", command_family_at(i)->name);
    str_add(out, "help --help --version' ;;\n    esac\n}\n\n");
}

static void add_option_names(const option *o, str *out)
{
    if (o->letter)
        str_addf(out, "-%c ", o->letter);
    if (o->name)
        str_addf(out, "--%s ", o->name);
}

static void add_options(str *out)
{
    str_add(out, "# Sets `options`.\n_solo_options() {\n    case $1 in\n");
    for (size_t k = 0; command_at(k); k++) {
        const cli_command *c = command_at(k);
        str_addf(out, "    '%s') options='", c->name);
        for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
            for (const option *o = g->table; !option_is_end(o); o++)
                add_option_names(o, out);
        add_option_names(&HELP_OPTION, out);
        str_add(out, "' ;;\n");
    }
    str_add(out, "    *) options='' ;;\n    esac\n}\n\n");
}

/* The patterns `COMMAND:--OPTION`, or `COMMAND:N` of the N-th operand. */
static void add_patterns(const cli_command *c, const option *o, uint32_t operand, str *out)
{
    const char *separator = "";
    if (option_is_operand(o)) {
        str_addf(out, o->kind == OPTION_TEXTS ? "'%s':[0-9]*" : "'%s:%u'", c->name, operand);
        return;
    }
    if (o->letter) {
        str_addf(out, "'%s:-%c'", c->name, o->letter);
        separator = " | ";
    }
    const char *const names[] = {o->name, o->alias};
    for (int i = 0; i < 2; i++)
        if (names[i]) {
            str_addf(out, "%s'%s:--%s'", separator, c->name, names[i]);
            separator = " | ";
        }
}

static void add_value(const cli_command *c, const option *o, uint32_t operand, str *out)
{
    str_add(out, "    ");
    add_patterns(c, o, operand, out);
    str_add(out, ") ");
    if (option_name(o, 0)) {
        str names = {0};
        completion_add_names(o, &names);
        str_add(out, "names=");
        completion_add_quoted(names.data, out);
        str_add(out, " ");
        str_free(&names);
    }
    if (o->files)
        str_addf(out, "files=%s ", o->files == OPTION_FILES ? "files" : "folders");
    if (o->lists || o->kind == OPTION_NAMES)
        str_add(out, "lists=yes ");
    str_add(out, ";;\n");
}

static void add_values(str *out)
{
    str_add(out, "# COMMAND OPTION|N: what may stand there; fails if it takes no value.\n"
                 "_solo_value() {\n    names='' files='' lists=''\n    case $1:$2 in\n");
    for (size_t k = 0; command_at(k); k++) {
        const cli_command *c = command_at(k);
        uint32_t operands = 0;
        for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
            for (const option *o = g->table; !option_is_end(o); o++)
                if (option_takes_value(o)) {
                    add_value(c, o, operands, out);
                    operands += option_is_operand(o);
                }
    }
    str_add(out, "    *) return 1 ;;\n    esac\n}\n\n");
}

void completion_add_bash(str *out)
{
    str_add(out, "# bash completion for solo, made by `solo completion bash`\n"
                 "# shellcheck shell=bash disable=SC2034 # variables of the caller are set\n\n");
    add_families(out);
    add_commands(out);
    add_options(out);
    add_values(out);
    str_add(out, SCRIPT);
}
