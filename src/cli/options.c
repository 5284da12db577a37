/* options: reads the words behind a command by its tables. */
#include "cli/options.h"
#include "cli/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool option_is_end(const option *o)
{
    return !o->name && !o->letter && !o->value;
}

bool option_is_operand(const option *o)
{
    return !o->name && !o->letter;
}

bool option_takes_value(const option *o)
{
    return o->kind != OPTION_FLAG;
}

void option_add_called(const option *o, str *out)
{
    if (o->name)
        str_addf(out, "--%s", o->name);
    else if (o->letter)
        str_addf(out, "-%c", o->letter);
    else
        str_add(out, o->value);
}

/* ---- names ---------------------------------------------------------------------------- */

static bool is_among(const char *list, const char *name, size_t length)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

/* The position of a name among all, or -1. */
static int find_name(const option *o, const char *name, size_t length)
{
    for (uint32_t i = 0; o->names(i); i++)
        if (strlen(o->names(i)) == length && memcmp(o->names(i), name, length) == 0)
            return !o->only || is_among(o->only, name, length) ? (int)i : -1;
    return -1;
}

const char *option_name(const option *o, uint32_t i)
{
    for (uint32_t all = 0; o->names && o->names(all); all++) {
        const char *name = o->names(all);
        if ((!o->only || is_among(o->only, name, strlen(name))) && i-- == 0)
            return name;
    }
    return NULL;
}

void option_add_names(const option *o, const char *last_separator, str *out)
{
    for (uint32_t i = 0; option_name(o, i); i++) {
        if (i)
            str_add(out, option_name(o, i + 1) ? ", " : last_separator);
        str_add(out, option_name(o, i));
    }
}

/* ---- values --------------------------------------------------------------------------- */

static bool wrong_name(const option *o, const char *called, const char *text, err *e)
{
    str names = {0};
    option_add_names(o, " or ", &names);
    err_set_kind(e, ERR_USAGE, "%s takes %s%s, not '%s'", called, names.data ? names.data : "",
                 o->kind == OPTION_NAMES ? ", separated by commas" : "", text);
    str_free(&names);
    return false;
}

static bool set_names(const option *o, bool *flags, const char *called, const char *text, err *e)
{
    memset(flags, 0, o->bytes);
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int i = find_name(o, at, length);
        if (i < 0 || (size_t)i >= o->bytes / sizeof *flags)
            return wrong_name(o, called, text, e);
        flags[i] = true;
        at += length;
        if (!*at)
            return true;
    }
}

/* As people write numbers: strtod also takes blanks before it, 0x10, inf and nan. */
static bool is_decimal(const char *text)
{
    return text[strspn(text, "0123456789+-.eE")] == '\0';
}

static bool set_whole(const option *o, void *to, const char *called, const char *text, err *e)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || !is_decimal(text) || (double)value < o->low || (double)value > o->high)
        return err_set_kind(e, ERR_USAGE, "%s takes a whole number from %.0f to %.0f, not '%s'", called, o->low,
                            o->high, text);
    if (o->bytes == sizeof(uint32_t))
        *(uint32_t *)to = (uint32_t)value;
    else
        *(int64_t *)to = value;
    return true;
}

static bool set_real(const option *o, void *to, const char *called, const char *text, err *e)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool inside = value >= o->low && value <= o->high && !(o->above_low && value == o->low);
    if (errno || end == text || *end || !inside || !is_decimal(text))
        return err_set_kind(e, ERR_USAGE, "%s takes a number %s %g %s %g, not '%s'", called,
                            o->above_low ? "above" : "from", o->low, o->above_low ? "and up to" : "to", o->high, text);
    if (o->bytes == sizeof(float))
        *(float *)to = (float)value;
    else
        *(double *)to = value;
    return true;
}

static bool add_text(const option *o, text_list *to, const char *called, const char *text, err *e)
{
    if (o->high > 0 && (double)to->count >= o->high)
        return err_set_kind(e, ERR_USAGE, "%s can be given %.0f times at most", called, o->high);
    to->items = mem_grow(to->items, (to->count + 1) * sizeof *to->items);
    to->items[to->count++] = text;
    return true;
}

/* `called`: the option as it was typed. */
static bool set_value(const option *o, void *base, const char *called, const char *text, err *e)
{
    void *to = (char *)base + o->at;
    int position;
    switch (o->kind) {
    case OPTION_FLAG: return *(bool *)to = true;
    case OPTION_WHOLE: return set_whole(o, to, called, text, e);
    case OPTION_REAL: return set_real(o, to, called, text, e);
    case OPTION_NAMES: return set_names(o, to, called, text, e);
    case OPTION_NAME:
        position = find_name(o, text, strlen(text));
        if (position < 0)
            return wrong_name(o, called, text, e);
        *(int *)to = position;
        return true;
    case OPTION_TEXT:
    case OPTION_TEXTS: break;
    }
    if ((double)strlen(text) < o->low || (o->files && !*text)) /* no file is called "" */
        return err_set_kind(e, ERR_USAGE, "%s takes a text that is not empty", called);
    if (o->kind == OPTION_TEXTS)
        return add_text(o, to, called, text, e);
    *(const char **)to = text;
    return true;
}

static bool is_called(const option *o, const char *name, size_t length)
{
    return (o->name && strlen(o->name) == length && memcmp(o->name, name, length) == 0) ||
           (o->alias && strlen(o->alias) == length && memcmp(o->alias, name, length) == 0);
}

bool options_set(const option *table, void *to, const char *name, const char *value, err *e)
{
    for (const option *o = table; !option_is_end(o); o++)
        if (is_called(o, name, strlen(name))) {
            char called[64];
            snprintf(called, sizeof called, "--%s", name);
            return set_value(o, to, called, value, e);
        }
    return false;
}

/* ---- words ---------------------------------------------------------------------------- */

typedef struct reader {
    const cli_command *c;
    char *chosen;
    char *const *words;
    int count, at;
    uint32_t operands;               /* read so far */
    bool given[COMMAND_MAX_OPTIONS]; /* by their number in all tables of the command */
    bool alone, only_operands;
    err *e;
} reader;

typedef struct found {
    const option *o;
    void *base;
    uint32_t number;
} found;

/* The next entry of all tables; a zero `f` begins. */
typedef struct cursor {
    uint32_t group, in_group, number;
} cursor;

static bool next_option(const reader *r, cursor *at, found *f)
{
    for (; at->group < COMMAND_MAX_GROUPS && r->c->groups[at->group].table; at->group++, at->in_group = 0) {
        const option_group *g = &r->c->groups[at->group];
        const option *o = &g->table[at->in_group];
        if (option_is_end(o))
            continue;
        *f = (found){o, r->chosen + g->at, at->number++};
        at->in_group++;
        return true;
    }
    return false;
}

static bool find_option(const reader *r, const char *word, size_t length, found *f)
{
    cursor at = {0};
    bool is_long = strncmp(word, "--", 2) == 0;
    while (next_option(r, &at, f)) {
        if (is_long ? is_called(f->o, word + 2, length - 2) : f->o->letter && length == 2 && f->o->letter == word[1])
            return true;
    }
    return false;
}

/* The operand that the next word is; the last one may be several words. */
static bool find_operand(const reader *r, found *f)
{
    cursor at = {0};
    uint32_t number = 0;
    while (next_option(r, &at, f))
        if (option_is_operand(f->o) && (number++ == r->operands || f->o->kind == OPTION_TEXTS))
            return true;
    return false;
}

static bool unknown_option(const reader *r, const char *word, size_t length)
{
    suggestion s = suggest_for(word, length);
    cursor at = {0};
    found f;
    while (next_option(r, &at, &f)) {
        str called = {0};
        if (option_is_operand(f.o))
            continue;
        option_add_called(f.o, &called);
        suggest_consider(&s, called.data);
        str_free(&called);
    }
    suggest_consider(&s, "--help");
    return err_set_kind(r->e, ERR_USAGE, "unknown option '%.*s'%s%s%s (solo %s --help)", (int)length, word,
                        s.best[0] ? "; did you mean " : "", s.best, s.best[0] ? "?" : "", r->c->name);
}

static bool read_operand(reader *r, const char *word)
{
    found f;
    if (!find_operand(r, &f))
        return err_set_kind(r->e, ERR_USAGE, "unknown argument '%s' (solo %s --help)", word, r->c->name);
    r->operands++;
    r->given[f.number] = true;
    return set_value(f.o, f.base, f.o->value, word, r->e);
}

static bool read_option(reader *r, const char *word)
{
    size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word, "=") : strlen(word);
    const char *value = word[length] ? word + length + 1 : NULL;
    char called[64];
    found f;
    if (length >= sizeof called || !find_option(r, word, length, &f))
        return unknown_option(r, word, length);
    snprintf(called, sizeof called, "%.*s", (int)length, word);
    if (!option_takes_value(f.o) && value)
        return err_set_kind(r->e, ERR_USAGE, "%s takes no value (solo %s --help)", called, r->c->name);
    if (option_takes_value(f.o) && !value) {
        if (r->at == r->count)
            return err_set_kind(r->e, ERR_USAGE, "%s needs a value: %s %s (solo %s --help)", called, called, f.o->value,
                                r->c->name);
        value = r->words[r->at++];
    }
    r->given[f.number] = true;
    r->alone = r->alone || f.o->alone;
    return set_value(f.o, f.base, called, value, r->e);
}

static bool check_required(const reader *r)
{
    cursor at = {0};
    found f;
    while (!r->alone && next_option(r, &at, &f))
        if (f.o->required && !r->given[f.number]) {
            str called = {0};
            option_add_called(f.o, &called);
            err_set_kind(r->e, ERR_USAGE, "%s%s%s is missing (solo %s --help)", called.data,
                         option_is_operand(f.o) ? "" : " ", option_is_operand(f.o) ? "" : f.o->value, r->c->name);
            str_free(&called);
            return false;
        }
    return true;
}

bool options_read(const cli_command *c, void *chosen, int count, char *const *words, bool *help, err *e)
{
    reader r = {.c = c, .chosen = chosen, .words = words, .count = count, .e = e};
    *help = false;
    while (r.at < count) {
        const char *word = words[r.at++];
        bool is_option = word[0] == '-' && !r.only_operands;
        if (is_option && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0))
            return *help = true;
        if (is_option && strcmp(word, "--") == 0)
            r.only_operands = true;
        else if (!(is_option ? read_option(&r, word) : read_operand(&r, word)))
            return false;
    }
    return check_required(&r) && (!c->check || r.alone || c->check(chosen, e));
}

void options_free(const cli_command *c, void *chosen)
{
    reader r = {.c = c, .chosen = chosen};
    cursor at = {0};
    found f;
    while (next_option(&r, &at, &f))
        if (f.o->kind == OPTION_TEXTS)
            free(((text_list *)((char *)f.base + f.o->at))->items);
}

/* ---- descriptions --------------------------------------------------------------------- */

static void add_names_of_flags(const option *o, const bool *flags, str *out)
{
    const char *separator = "";
    for (uint32_t i = 0; o->names(i) && i < o->bytes / sizeof *flags; i++)
        if (flags[i]) {
            str_addf(out, "%s%s", separator, o->names(i));
            separator = ",";
        }
}

/* What is there before anything is read, as one would type it; adds nothing where there is nothing. */
static void add_value(const option *o, const void *base, str *out)
{
    const void *at = (const char *)base + o->at;
    switch (o->kind) {
    case OPTION_TEXT:
        if (*(const char *const *)at)
            str_add(out, *(const char *const *)at);
        break;
    case OPTION_WHOLE:
        str_addf(out, "%lld", o->bytes == sizeof(uint32_t) ? (long long)*(const uint32_t *)at : *(const int64_t *)at);
        break;
    case OPTION_REAL:
        str_addf(out, "%g", o->bytes == sizeof(float) ? (double)*(const float *)at : *(const double *)at);
        break;
    case OPTION_NAME:
        if (o->names((uint32_t) * (const int *)at))
            str_add(out, o->names((uint32_t) * (const int *)at));
        break;
    case OPTION_NAMES: add_names_of_flags(o, at, out); break;
    case OPTION_FLAG:
    case OPTION_TEXTS: break;
    }
}

void option_add_help(const option *o, const void *base, str *out)
{
    const char *names = strstr(o->help, "{names}");
    str_add_bytes(out, o->help, names ? (size_t)(names - o->help) : strlen(o->help));
    if (names) {
        option_add_names(o, " or ", out);
        str_add(out, names + strlen("{names}"));
    }
    str standard = {0};
    if (!o->otherwise)
        add_value(o, base, &standard);
    else
        str_add(&standard, o->otherwise);
    if (standard.length)
        str_addf(out, " (default: %s)", standard.data);
    if (o->alias)
        str_addf(out, "; also --%s", o->alias);
    str_free(&standard);
}
