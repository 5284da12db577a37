/* The tables of all commands: every option is read, described and completed as its line says. */
#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/help.h"
#include "cli/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- going through all of them --------------------------------------------------------------- */

typedef void (*visit)(const cli_command *c, const option_group *g, const option *o);

static void for_each_option(visit v)
{
    for (size_t i = 0; command_at(i); i++) {
        const cli_command *c = command_at(i);
        for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
            for (const option *o = g->table; !option_is_end(o); o++)
                v(c, g, o);
    }
}

/* Reads these words, without asking for what is required or fits together. */
static char *read_words(const cli_command *c, const char *const *words, int count, err *e)
{
    cli_command bare = *c;
    char *chosen = mem_alloc(c->bytes ? c->bytes : 1);
    bool help;
    option without[COMMAND_MAX_OPTIONS + COMMAND_MAX_GROUPS];
    size_t used = 0;
    if (c->bytes)
        memcpy(chosen, c->defaults, c->bytes);
    bare.check = NULL;
    for (option_group *g = bare.groups; g < bare.groups + COMMAND_MAX_GROUPS && g->table; g++) {
        const option *from = g->table;
        g->table = without + used;
        do {
            without[used] = *from;
            without[used++].required = false;
        } while (!option_is_end(from++));
    }
    bool ok = options_read(&bare, chosen, count, (char *const *)(uintptr_t)words, &help, e);
    assert_int_equal(ok, e->kind == ERR_NONE);
    assert_false(help);
    return chosen;
}

/* A value that the option takes, and that is not its default. */
static void add_good_value(const option *o, const void *base, str *out)
{
    const void *at = (const char *)base + o->at;
    const char *now;
    double standard;
    switch (o->kind) {
    case OPTION_WHOLE:
        standard = o->bytes == 4 ? *(const uint32_t *)at : (double)*(const int64_t *)at;
        str_addf(out, "%.0f", standard == o->high ? o->low : o->high);
        return;
    case OPTION_REAL: str_addf(out, "%.6g", o->high); return;
    case OPTION_NAME:
        now = o->names((uint32_t) * (const int *)at);
        str_add(out, option_name(o, now && strcmp(option_name(o, 0), now) == 0));
        return;
    case OPTION_NAMES: str_add(out, option_name(o, 0)); return;
    default: str_add(out, "some text");
    }
}

static const void *base_of(const cli_command *c, const option_group *g)
{
    return (const char *)c->defaults + g->at;
}

/* ---- reading ------------------------------------------------------------------------------------ */

static bool same_values(const option *o, const char *a, const char *b)
{
    if (o->kind == OPTION_TEXT)
        return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
    if (o->kind != OPTION_TEXTS)
        return memcmp(a, b, o->bytes) == 0;
    const text_list *left = (const text_list *)a, *right = (const text_list *)b;
    return left->count == 1 && right->count == 1 && strcmp(left->items[0], right->items[0]) == 0;
}

static void check_forms(const cli_command *c, const option_group *g, const option *o)
{
    const char *const names[] = {o->name, o->alias};
    for (int i = 0; i < 2; i++) {
        if (!names[i])
            continue;
        str name = {0}, value = {0}, joined = {0};
        err e = {0};
        str_addf(&name, "--%s", names[i]);
        if (option_takes_value(o))
            add_good_value(o, base_of(c, g), &value);
        str_addf(&joined, value.length ? "%s=%s" : "%s", name.data, value.data ? value.data : "");
        char *apart = read_words(c, (const char *[]){name.data, value.data}, value.length ? 2 : 1, &e);
        assert_string_equal(e.text, "");
        char *together = read_words(c, (const char *[]){joined.data}, 1, &e);
        assert_string_equal(e.text, "");
        size_t at = g->at + o->at;
        assert_true(same_values(o, apart + at, together + at));
        if (o->kind != OPTION_TEXT && o->kind != OPTION_TEXTS)
            assert_memory_not_equal(apart + at, (const char *)c->defaults + at, o->bytes);
        options_free(c, apart);
        options_free(c, together);
        free(apart);
        free(together);
        str_free(&name);
        str_free(&value);
        str_free(&joined);
    }
}

static void value_after_a_space_or_an_equals_sign_is_the_same(void **state)
{
    (void)state;
    for_each_option(check_forms);
}

/* One usage error that names the option. */
static void refuses(const cli_command *c, const char *const *words, int count, const char *part)
{
    err e = {0};
    char *chosen = read_words(c, words, count, &e);
    assert_int_equal(e.kind, ERR_USAGE);
    assert_null(strchr(e.text, '\n'));
    if (!strstr(e.text, part))
        fail_msg("'%s' is not in '%s'", part, e.text);
    options_free(c, chosen);
    free(chosen);
}

static void check_mistakes(const cli_command *c, const option_group *g, const option *o)
{
    (void)g;
    str called = {0}, number = {0};
    option_add_called(o, &called);
    if (!option_is_operand(o) && option_takes_value(o))
        refuses(c, (const char *[]){called.data}, 1, "needs a value");
    if (o->name && !option_takes_value(o)) {
        str joined = {0};
        str_addf(&joined, "--%s=yes", o->name);
        refuses(c, (const char *[]){joined.data}, 1, "takes no value");
        str_free(&joined);
    }
    str takes = {0};
    str_addf(&takes, "%s takes ", called.data);
    if (o->kind == OPTION_WHOLE || o->kind == OPTION_REAL) {
        refuses(c, (const char *[]){called.data, "many"}, 2, takes.data);
        refuses(c, (const char *[]){called.data, ""}, 2, takes.data);
        refuses(c, (const char *[]){called.data, "1x"}, 2, takes.data);
        refuses(c, (const char *[]){called.data, "nan"}, 2, takes.data);
        str_addf(&number, "%.0f", o->low - 1);
        refuses(c, (const char *[]){called.data, number.data}, 2, takes.data);
        number.length = 0;
        str_addf(&number, "%.0f", 2 * o->high + 1);
        refuses(c, (const char *[]){called.data, number.data}, 2, takes.data);
    }
    if (o->kind == OPTION_WHOLE)
        refuses(c, (const char *[]){called.data, "1.5"}, 2, takes.data);
    if ((o->kind == OPTION_NAME || o->kind == OPTION_NAMES) && !option_is_operand(o)) {
        refuses(c, (const char *[]){called.data, "nonsense"}, 2, option_name(o, 0));
        refuses(c, (const char *[]){called.data, ""}, 2, takes.data);
    }
    str_free(&called);
    str_free(&number);
    str_free(&takes);
}

static void wrong_values_are_refused_in_one_line(void **state)
{
    (void)state;
    for_each_option(check_mistakes);
}

static void check_required(const cli_command *c, const option_group *g, const option *o)
{
    (void)g;
    char *chosen = mem_alloc(c->bytes ? c->bytes : 1);
    bool help;
    err e = {0};
    if (o->required) {
        memcpy(chosen, c->defaults, c->bytes);
        assert_false(options_read(c, chosen, 0, NULL, &help, &e));
        assert_int_equal(e.kind, ERR_USAGE);
        assert_non_null(strstr(e.text, "is missing"));
    }
    free(chosen);
}

static void what_is_required_is_missed(void **state)
{
    (void)state;
    for_each_option(check_required);
}

static void check_model(const cli_command *c, const option_group *g, const option *o)
{
    (void)g;
    bool called_so = option_is_operand(o) && strcmp(o->value, "MODEL") == 0;
    if (o->is_model != called_so)
        fail_msg("solo %s: %s", c->name,
                 called_so ? "MODEL takes no names of a hub" : "a model that is not called MODEL");
    assert_true(!o->is_model || (o->kind == OPTION_TEXT && o->bytes == sizeof(const char *)));
}

static void every_model_may_be_on_a_hub(void **state)
{
    (void)state;
    for_each_option(check_model);
}

/* Each name and letter stands for one option, whatever tables a command takes. */
static void names_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; command_at(i); i++) {
        const cli_command *c = command_at(i);
        char seen[64 * COMMAND_MAX_OPTIONS] = " --help -h ";
        size_t count = 0;
        for (const option_group *g = c->groups; g < c->groups + COMMAND_MAX_GROUPS && g->table; g++)
            for (const option *o = g->table; !option_is_end(o); o++, count++) {
                char names[3][64] = {"", "", ""};
                if (o->name)
                    snprintf(names[0], sizeof *names, " --%s ", o->name);
                if (o->alias)
                    snprintf(names[1], sizeof *names, " --%s ", o->alias);
                if (o->letter)
                    snprintf(names[2], sizeof *names, " -%c ", o->letter);
                for (int k = 0; k < 3; k++) {
                    if (names[k][0] && strstr(seen, names[k]))
                        fail_msg("solo %s has%stwice", c->name, names[k]);
                    strcat(seen, names[k]);
                }
            }
        assert_true(count < COMMAND_MAX_OPTIONS);
    }
}

/* ---- words ---------------------------------------------------------------------------------------- */

typedef struct words {
    const char *first, *second;
    text_list rest;
    bool flag;
    double ratio;
    bool chosen[3];
} words;

static const char *color(uint32_t i)
{
    static const char *const names[] = {"red", "green", "blue"};
    return i < 3 ? names[i] : NULL;
}

static const option WORDS_TABLE[] = {
    {.value = "FIRST", .required = true, INTO(words, first), .help = "first"},
    {.value = "SECOND", INTO(words, second), .help = "second"},
    {.value = "REST", .kind = OPTION_TEXTS, INTO(words, rest), .help = "rest"},
    {.name = "flag", .letter = 'f', .kind = OPTION_FLAG, INTO(words, flag), .help = "flag"},
    {.name = "ratio",
     .value = "R",
     .kind = OPTION_REAL,
     .above_low = true,
     .high = 1,
     INTO(words, ratio),
     .help = "ratio"},
    {.name = "colors",
     .value = "LIST",
     .kind = OPTION_NAMES,
     .names = color,
     .only = "red,blue",
     INTO(words, chosen),
     .help = "{names}"},
    {0}};
static const words WORDS_DEFAULTS = {.ratio = 0.5, .chosen = {[2] = true}};
static const cli_command WORDS = {.name = "words",
                                  .summary = "words",
                                  .about = "Words.",
                                  .groups = {{NULL, WORDS_TABLE, 0}},
                                  .defaults = &WORDS_DEFAULTS,
                                  .bytes = sizeof(words)};

static bool read_all(words *w, err *e, bool *help, int count, const char *const *given)
{
    *w = WORDS_DEFAULTS;
    *e = (err){0};
    return options_read(&WORDS, w, count, (char *const *)(uintptr_t)given, help, e);
}

static void operands_are_taken_in_order_among_options(void **state)
{
    (void)state;
    words w;
    err e;
    bool help;
    assert_true(read_all(&w, &e, &help, 8, (const char *[]){"a", "-f", "b", "--ratio=1", "c", "--", "--flag", "-"}));
    assert_string_equal(w.first, "a");
    assert_string_equal(w.second, "b");
    assert_int_equal(w.rest.count, 3);
    assert_string_equal(w.rest.items[1], "--flag");
    assert_true(w.flag && w.ratio == 1);
    options_free(&WORDS, &w);
    assert_false(read_all(&w, &e, &help, 1, (const char *[]){"-f"}));
    assert_non_null(strstr(e.text, "FIRST is missing (solo words --help)"));
    assert_true(read_all(&w, &e, &help, 3, (const char *[]){"-f", "--help", "--nonsense"}) && help);
}

static void ranges_and_lists_are_kept_to(void **state)
{
    (void)state;
    words w;
    err e;
    bool help;
    assert_false(read_all(&w, &e, &help, 3, (const char *[]){"a", "--ratio", "0"}));
    assert_non_null(strstr(e.text, "--ratio takes a number above 0 and up to 1, not '0'"));
    assert_true(read_all(&w, &e, &help, 3, (const char *[]){"a", "--colors", "red"}));
    assert_true(w.chosen[0] && !w.chosen[1] && !w.chosen[2]);
    assert_true(read_all(&w, &e, &help, 2, (const char *[]){"a", "--colors=blue,red"}));
    assert_true(w.chosen[0] && !w.chosen[1] && w.chosen[2]);
    assert_false(read_all(&w, &e, &help, 2, (const char *[]){"a", "--colors=red,green"}));
    assert_non_null(strstr(e.text, "--colors takes red or blue, separated by commas, not 'red,green'"));
    assert_false(read_all(&w, &e, &help, 2, (const char *[]){"a", "--colors=red,"}));
}

static void near_names_are_suggested(void **state)
{
    static const char *const cases[][2] = {{"--falg", "--flag"},    {"--ratoi", "--ratio"}, {"-ratio", "--ratio"},
                                           {"--color", "--colors"}, {"--fl", "--flag"},     {"--hlep", "--help"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str part = {0};
        str_addf(&part, "unknown option '%s'; did you mean %s?", cases[i][0], cases[i][1]);
        refuses(&WORDS, (const char *[]){cases[i][0]}, 1, part.data);
        str_free(&part);
    }
    refuses(&WORDS, (const char *[]){"--dance"}, 1, "unknown option '--dance' (solo words --help)");
    refuses(&WORDS, (const char *[]){"-x"}, 1, "unknown option '-x' (solo words --help)");
    refuses(&WORDS, (const char *[]){"--dance=now"}, 1, "unknown option '--dance' (");
    char long_name[400] = "--";
    memset(long_name + 2, 'x', sizeof long_name - 3);
    refuses(&WORDS, (const char *[]){long_name}, 1, "unknown option '--xxx");
}

/* ---- descriptions ---------------------------------------------------------------------------------- */

static void check_help(const cli_command *c, const option_group *g, const option *o)
{
    str help = {0}, left = {0};
    help_add_command(c, &help);
    str_add(&left, "\n  ");
    help_add_left(o, &left);
    if (!strstr(help.data, left.data))
        fail_msg("solo %s --help does not have '%s'", c->name, left.data);
    str text = {0};
    option_add_help(o, base_of(c, g), &text);
    assert_null(strstr(text.data, "{names}"));
    if (o->alias)
        assert_non_null(strstr(help.data, o->alias));
    str_free(&help);
    str_free(&left);
    str_free(&text);
}

static void help_has_every_option(void **state)
{
    (void)state;
    for_each_option(check_help);
}

static void help_fits_a_terminal(void **state)
{
    (void)state;
    for (size_t i = 0; command_at(i); i++) {
        str help = {0};
        help_add_command(command_at(i), &help);
        for (const char *line = help.data; *line; line += strcspn(line, "\n") + 1) {
            if (strcspn(line, "\n") > HELP_COLUMNS)
                fail_msg("solo %s --help: too long: %.*s", command_at(i)->name, (int)strcspn(line, "\n"), line);
            assert_true(line[0] == '\n' || line[strcspn(line, "\n") - 1] != ' ');
        }
        str_free(&help);
    }
}

static void defaults_are_those_of_the_struct(void **state)
{
    (void)state;
    str text = {0};
    option_add_help(&WORDS_TABLE[4], &WORDS_DEFAULTS, &text);
    str_add(&text, "|");
    option_add_help(&WORDS_TABLE[5], &WORDS_DEFAULTS, &text);
    assert_string_equal(text.data, "ratio (default: 0.5)|red or blue (default: blue)");
    str_free(&text);
}

static void check_documents(const cli_command *c, const option_group *g, const option *o)
{
    (void)g;
    str page = {0}, scripts[3] = {{0}, {0}, {0}}, wanted = {0};
    if (!o->name || c->hidden)
        return;
    man_add_command(c, &page);
    str_add(&wanted, "\\fB\\-\\-");
    for (const char *at = o->name; *at; at++)
        str_addf(&wanted, "%s%c", *at == '-' ? "\\" : "", *at);
    assert_non_null(strstr(page.data, wanted.data));
    completion_add_bash(&scripts[0]);
    completion_add_zsh(&scripts[1]);
    completion_add_fish(&scripts[2]);
    for (int i = 0; i < 3; i++) {
        char text[64];
        snprintf(text, sizeof text, i == 0 ? "--%s " : i == 1 ? "--%s" : " -l %s ", o->name);
        if (!strstr(scripts[i].data, text))
            fail_msg("'%s' is in no line of script %d", text, i);
        str_free(&scripts[i]);
    }
    str_free(&page);
    str_free(&wanted);
}

static void documents_have_every_option(void **state)
{
    (void)state;
    for_each_option(check_documents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_after_a_space_or_an_equals_sign_is_the_same),
        cmocka_unit_test(wrong_values_are_refused_in_one_line),
        cmocka_unit_test(what_is_required_is_missed),
        cmocka_unit_test(every_model_may_be_on_a_hub),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(operands_are_taken_in_order_among_options),
        cmocka_unit_test(ranges_and_lists_are_kept_to),
        cmocka_unit_test(near_names_are_suggested),
        cmocka_unit_test(help_has_every_option),
        cmocka_unit_test(help_fits_a_terminal),
        cmocka_unit_test(defaults_are_those_of_the_struct),
        cmocka_unit_test(documents_have_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
