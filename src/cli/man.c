/* man: manual pages in troff, and `solo man`, which writes them into a folder. */
#include "base/file.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/help.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- troff ------------------------------------------------------------------------------- */

/* A dash before a letter or another dash is typed like that; within a word it is a hyphen. */
static void add_character(const char *text, size_t i, str *out)
{
    static const char *const special[][2] = {{"\\", "\\e"},   {"`", "\\(ga"}, {"'", "\\(aq"},
                                             {"\"", "\\(dq"}, {"^", "\\(ha"}, {"~", "\\(ti"}};
    for (size_t k = 0; k < sizeof special / sizeof *special; k++)
        if (text[i] == special[k][0][0]) {
            str_add(out, special[k][1]);
            return;
        }
    bool in_word = i > 0 && isalnum((unsigned char)text[i - 1]);
    if (text[i] == '-' && !in_word)
        str_add(out, "\\-");
    else
        str_add_bytes(out, text + i, 1);
}

/* Part of a line of text; `begins`: of its first part, which must not be taken for a request. */
static void add_text(const char *text, size_t length, bool begins, str *out)
{
    if (begins && length && text[0] == '.')
        str_add(out, "\\&");
    for (size_t i = 0; i < length; i++)
        add_character(text, i, out);
}

static void add_line(const char *text, str *out)
{
    add_text(text, strlen(text), true, out);
    str_add(out, "\n");
}

/* Every dash is one that is typed: for names of options and of pages. */
static void add_typed(const char *text, str *out)
{
    for (; *text; text++)
        if (*text == '-')
            str_add(out, "\\-");
        else
            add_character(text, 0, out);
}

/* Paragraphs; lines that begin with a space stay as they are. */
static void add_prose(const char *text, str *out)
{
    bool is_kept = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool keep = *text == ' ';
        if (keep != is_kept)
            str_add(out, keep ? ".PP\n.nf\n" : ".fi\n.PP\n");
        is_kept = keep;
        if (length == 0)
            str_add(out, ".PP\n");
        else {
            add_text(text, length, true, out);
            str_add(out, "\n");
        }
        text += length + (text[length] == '\n');
    }
    if (is_kept)
        str_add(out, ".fi\n");
}

/* ---- pages ------------------------------------------------------------------------------- */

/* "solo-bench-llm" */
static void add_page_name(const cli_command *c, str *out)
{
    str_addf(out, "solo-%s", c->name);
    for (char *at = out->data + out->length - strlen(c->name); *at; at++)
        if (*at == ' ')
            *at = '-';
}

static void add_title(const char *name, const char *summary, str *out)
{
    str_add(out, ".TH ");
    for (const char *at = name; *at; at++)
        if (*at == '-')
            str_add(out, "\\-");
        else
            str_addf(out, "%c", toupper((unsigned char)*at));
    str_addf(out, " 1 \"\" \"solo %s\" \"Solo\"\n.SH NAME\n", solo_version);
    add_typed(name, out);
    str_add(out, " \\- ");
    add_line(summary, out);
}

static void add_option(const option *o, const void *base, str *out)
{
    str text = {0};
    str_add(out, ".TP\n");
    if (option_is_operand(o)) {
        str_add(out, "\\fI");
        add_typed(o->value, out);
        str_addf(out, "\\fR%s\n", o->kind == OPTION_TEXTS ? "..." : "");
    } else {
        if (o->letter)
            str_addf(out, "\\fB\\-%c\\fR%s", o->letter, o->name ? ", " : "");
        if (o->name) {
            str_add(out, "\\fB\\-\\-");
            add_typed(o->name, out);
            str_add(out, "\\fR");
        }
        if (option_takes_value(o)) {
            str_add(out, " \\fI");
            add_typed(o->value, out);
            str_add(out, "\\fR");
        }
        str_add(out, "\n");
    }
    option_add_help(o, base, &text);
    add_line(text.data, out);
    str_free(&text);
}

static void add_options(const cli_command *c, str *out)
{
    bool has_title = false;
    str_add(out, ".SH OPTIONS\n");
    for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++) {
        if (g->title && !has_title)
            add_option(&HELP_OPTION, NULL, out);
        has_title = has_title || g->title;
        if (g->title) {
            str_add(out, ".SS ");
            add_line(g->title, out);
        }
        for (const option *o = g->table; !option_is_end(o); o++)
            add_option(o, (const char *)c->defaults + g->at, out);
    }
    if (!has_title)
        add_option(&HELP_OPTION, NULL, out);
}

static void add_exit_status(str *out)
{
    str_add(out,
            ".SH EXIT STATUS\n0 if all went well, 1 if it failed, 2 for wrong usage, 3 if there is no usable GPU.\n");
}

void man_add_command(const cli_command *c, str *out)
{
    str name = {0}, synopsis = {0};
    add_page_name(c, &name);
    help_add_synopsis(c, &synopsis);
    add_title(name.data, c->summary, out);
    str_add(out, ".SH SYNOPSIS\n.B solo ");
    add_typed(c->name, out);
    str_add(out, "\n");
    const char *rest = synopsis.data + strlen("solo ") + strlen(c->name);
    if (*rest) {
        add_typed(rest + 1, out);
        str_add(out, "\n");
    }
    str_add(out, ".SH DESCRIPTION\n");
    add_prose(c->about, out);
    add_options(c, out);
    if (c->notes) {
        str_add(out, ".SH NOTES\n");
        add_prose(c->notes, out);
    }
    add_exit_status(out);
    str_add(out, ".SH SEE ALSO\n.BR solo (1)\n");
    str_free(&name);
    str_free(&synopsis);
}

void man_add_overview(str *out)
{
    add_title("solo", "WebGPU in as few dispatches as possible, and what each one costs", out);
    str_add(out, ".SH SYNOPSIS\n.B solo\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n");
    add_prose(
        "Runs language models, and simulations that go step by step, on any GPU through WebGPU in as few dispatches as "
        "possible, and measures what each dispatch costs. Each command has a page of its own. Every option with a "
        "long name takes its value as --name value or --name=value.",
        out);
    str_add(out, ".SH COMMANDS\n");
    for (size_t i = 0; command_at(i); i++) {
        const cli_command *c = command_at(i);
        str name = {0};
        if (c->hidden)
            continue;
        add_page_name(c, &name);
        str_add(out, ".TP\n.BR ");
        add_typed(name.data, out);
        str_add(out, " (1)\n");
        add_line(c->summary, out);
        str_free(&name);
    }
    str_add(out, ".TP\n.B solo help\n\\fICOMMAND\\fR: the options of a command; without one, the list of commands\n");
    add_exit_status(out);
}

/* ---- the command --------------------------------------------------------------------------- */

typedef struct options {
    const char *folder;
} options;

static const option TABLE[] = {{.value = "FOLDER",
                                .files = OPTION_FOLDERS,
                                .required = true,
                                INTO(options, folder),
                                .help = "where the pages go; it is made if it is not there"},
                               {0}};

static bool write_page(const char *folder, const cli_command *c, err *e)
{
    str path = {0}, page = {0};
    str_addf(&path, "%s/", folder);
    if (c) {
        add_page_name(c, &path);
        man_add_command(c, &page);
    } else {
        str_add(&path, "solo");
        man_add_overview(&page);
    }
    str_add(&path, ".1");
    bool ok = file_write(path.data, page.data, page.length, e);
    str_free(&path);
    str_free(&page);
    return ok;
}

static int run(void *chosen)
{
    err e = {0};
    const char *folder = ((const options *)chosen)->folder;
    bool ok = mkdir(folder, 0777) == 0 || errno == EEXIST || err_set(&e, "%s: %s", folder, strerror(errno));
    ok = ok && write_page(folder, NULL, &e);
    for (size_t i = 0; ok && command_at(i); i++)
        ok = command_at(i)->hidden || write_page(folder, command_at(i), &e);
    return ok ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_man = {.name = "man",
                                 .summary = "write the manual pages",
                                 .about = "Writes the manual pages, solo(1) and one for each command, into a folder.",
                                 .groups = {{NULL, TABLE, 0}},
                                 .defaults = &DEFAULTS,
                                 .bytes = sizeof(options),
                                 .run = run,
                                 .hidden = true};
