/* solo compare A.json B.json: is B the same, faster or slower? */
#include "base/file.h"
#include "cli/cli.h"
#include "lab/compare.h"

#include <stdio.h>
#include <string.h>

static const char HELP[] = "usage: solo compare A.json B.json [--json FILE]\n"
                           "\n"
                           "Holds every result of B against the same result of A: same, faster, slower or\n"
                           "cannot tell, with the ratio of the medians and its 95% interval. Less than 5%\n"
                           "is \"same\".\n"
                           "\n"
                           "  --json FILE   also write the comparison as JSON; - writes it to standard\n"
                           "                output, and nothing else\n";

typedef struct options {
    const char *a, *b, *json_path;
    bool help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "--json") == 0) {
            if (!(o->json_path = cli_value(a, word)))
                return false;
        } else if (word[0] == '-' || o->b)
            return cli_unknown(a, word);
        else
            *(o->a ? &o->b : &o->a) = word;
    }
    if (!o->b && !o->help)
        return err_set_kind(a->e, ERR_USAGE, "two records are needed (solo compare --help)");
    return true;
}

/* `--json -` gives standard output to the JSON alone. */
static bool print(const options *o, const compared *c, const record_view *a, const record_view *b, err *e)
{
    str text = {0}, json = {0};
    bool ok = true;
    if (o->json_path) {
        compare_json(&json, c, a, b);
        ok = file_write(o->json_path, json.data, json.length, e);
    }
    if (ok && !(o->json_path && strcmp(o->json_path, "-") == 0)) {
        str_addf(&text, "A: %s\nB: %s\n", a->path, b->path);
        compare_notes(&text, a, b);
        str_add(&text, "\n");
        compare_text(&text, c);
        ok = file_write("-", text.data, text.length, e);
    }
    str_free(&text);
    str_free(&json);
    return ok;
}

static bool compare(const options *o, err *e)
{
    record_view a = {0}, b = {0};
    bool ok = record_view_load(&a, o->a, e) && record_view_load(&b, o->b, e);
    if (ok) {
        compared c = compare_records(&a, &b);
        ok = c.count ? print(o, &c, &a, &b, e)
                     : err_set(e, "%s and %s share no result that can be compared", o->a, o->b);
        compared_free(&c);
    }
    record_view_free(&a);
    record_view_free(&b);
    return ok;
}

int cmd_compare(int argc, char **argv)
{
    err e = {0};
    options o = {0};
    if (!parse(&o, &(cli_args){argc, 1, argv, &e}))
        return cli_fail(&e);
    if (o.help) {
        fputs(HELP, stdout);
        return 0;
    }
    return compare(&o, &e) ? 0 : cli_fail(&e);
}
