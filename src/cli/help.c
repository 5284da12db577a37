/* help: lays out usage, description and options of a command for a terminal. */
#include "cli/help.h"

#include <string.h>

enum { LEFT_INDENT = 2, LEFT_COLUMNS = 24 };

const option HELP_OPTION = {.name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "show this help"};

static void add_spaces(size_t count, str *out)
{
    str_addf(out, "%*s", (int)count, "");
}

void help_add_wrapped(const char *text, size_t length, size_t indent, size_t column, str *out)
{
    bool first = true;
    for (size_t at = 0; at < length;) {
        size_t word = 0;
        while (at + word < length && text[at + word] != ' ' && text[at + word] != '\n')
            word++;
        if (word && !first && column + 1 + word > HELP_COLUMNS) {
            str_add(out, "\n");
            add_spaces(indent, out);
            column = indent;
            first = true;
        }
        if (word) {
            str_add(out, first ? "" : " ");
            str_add_bytes(out, text + at, word);
            column += word + !first;
            first = false;
        }
        at += word + 1;
    }
    str_add(out, "\n");
}

/* ---- usage ------------------------------------------------------------------------------ */

static void add_usage_of(const option *o, str *out)
{
    bool is_operand = option_is_operand(o);
    str_add(out, o->required ? " " : " [");
    if (is_operand)
        str_addf(out, "%s%s", o->value, o->kind == OPTION_TEXTS ? "..." : "");
    else {
        if (o->letter)
            str_addf(out, "-%c", o->letter);
        else
            str_addf(out, "--%s", o->name);
        if (option_takes_value(o))
            str_addf(out, " %s", o->value);
    }
    str_add(out, o->required ? "" : "]");
}

void help_add_synopsis(const cli_command *c, str *out)
{
    bool more = false;
    str operands = {0}, options = {0};
    for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
        for (const option *o = g->table; !option_is_end(o); o++) {
            if (option_is_operand(o))
                add_usage_of(o, &operands);
            else if (o->required || o->in_usage)
                add_usage_of(o, &options);
            else
                more = true;
        }
    str_addf(out, "solo %s%s%s%s", c->name, operands.data ? operands.data : "", options.data ? options.data : "",
             more ? " [OPTION]..." : "");
    str_free(&operands);
    str_free(&options);
}

/* ---- options ---------------------------------------------------------------------------- */

void help_add_left(const option *o, str *out)
{
    if (option_is_operand(o)) {
        str_addf(out, "%s%s", o->value, o->kind == OPTION_TEXTS ? "..." : "");
        return;
    }
    if (o->letter)
        str_addf(out, "-%c%s", o->letter, o->name ? ", " : "");
    else
        str_add(out, "    ");
    if (o->name)
        str_addf(out, "--%s", o->name);
    if (option_takes_value(o))
        str_addf(out, " %s", o->value);
}

static size_t left_width(const option *o)
{
    str left = {0};
    help_add_left(o, &left);
    size_t width = left.length;
    str_free(&left);
    return width;
}

/* The column where descriptions begin. */
static size_t find_column(const cli_command *c)
{
    size_t widest = left_width(&HELP_OPTION);
    for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
        for (const option *o = g->table; !option_is_end(o); o++)
            if (left_width(o) > widest && left_width(o) <= LEFT_COLUMNS)
                widest = left_width(o);
    return LEFT_INDENT + widest + 2;
}

static void add_option(const option *o, const void *base, size_t column, str *out)
{
    str text = {0};
    size_t before = out->length;
    add_spaces(LEFT_INDENT, out);
    help_add_left(o, out);
    if (out->length - before + 2 > column) {
        str_add(out, "\n");
        before = out->length;
    }
    add_spaces(column - (out->length - before), out);
    option_add_help(o, base, &text);
    help_add_wrapped(text.data, text.length, column, column, out);
    str_free(&text);
}

static void add_options(const cli_command *c, str *out)
{
    size_t column = find_column(c);
    bool has_title = false;
    for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++) {
        if (g->title && !has_title)
            add_option(&HELP_OPTION, NULL, column, out);
        has_title = has_title || g->title;
        if (g->title)
            str_addf(out, "\n%s:\n", g->title);
        for (const option *o = g->table; !option_is_end(o); o++)
            add_option(o, (const char *)c->defaults + g->at, column, out);
    }
    if (!has_title)
        add_option(&HELP_OPTION, NULL, column, out);
}

/* ---- prose ------------------------------------------------------------------------------ */

/* Paragraphs are wrapped; lines that begin with a space stay as they are. */
static void add_prose(const char *text, str *out)
{
    while (*text) {
        const char *end = text;
        bool is_kept = *text == ' ' || *text == '\n';
        do {
            end += strcspn(end, "\n");
            end += *end == '\n';
        } while (!is_kept && *end && *end != '\n' && *end != ' ');
        if (is_kept)
            str_add_bytes(out, text, (size_t)(end - text));
        else
            help_add_wrapped(text, (size_t)(end - text), 0, 0, out);
        text = end;
    }
    if (out->data[out->length - 1] != '\n')
        str_add(out, "\n");
}

void help_add_command(const cli_command *c, str *out)
{
    str synopsis = {0};
    help_add_synopsis(c, &synopsis);
    str_add(out, "usage: ");
    help_add_wrapped(synopsis.data, synopsis.length, strlen("usage: solo ") + strlen(c->name) + 1, strlen("usage: "),
                     out);
    str_add(out, "\n");
    add_prose(c->about, out);
    str_add(out, "\n");
    add_options(c, out);
    if (c->notes) {
        str_add(out, "\n");
        add_prose(c->notes, out);
    }
    str_free(&synopsis);
}
