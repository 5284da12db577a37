/* solo compare: is B the same, faster or slower? */
#include "base/file.h"
#include "cli/cli.h"
#include "lab/compare.h"

#include <stdio.h>
#include <string.h>

typedef struct options {
    const char *a, *b, *json_path;
} options;

static const option TABLE[] = {
    {.value = "A.json", .files = OPTION_FILES, .required = true, INTO(options, a), .help = "a record"},
    {.value = "B.json",
     .files = OPTION_FILES,
     .required = true,
     INTO(options, b),
     .help = "the record compared with it"},
    {.name = "json",
     .value = "FILE",
     .files = OPTION_FILES,
     INTO(options, json_path),
     .help = "also write the comparison as JSON; - writes it to standard output, and nothing else"},
    {0}};

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
    bool ok = cli_keeps_input("--json", o->json_path, o->a, e) && cli_keeps_input("--json", o->json_path, o->b, e) &&
              record_view_load(&a, o->a, e) && record_view_load(&b, o->b, e);
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

static int run(void *chosen)
{
    err e = {0};
    return compare(chosen, &e) ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_compare = {
    .name = "compare",
    .summary = "two records: same, faster, slower or cannot tell",
    .about =
        "Compares every result of B with the same result of A: same, faster, slower or cannot tell, with the ratio of "
        "the medians and its 95% interval. Less than 5% is \"same\".",
    .groups = {{NULL, TABLE, 0}},
    .defaults = &DEFAULTS,
    .bytes = sizeof(options),
    .run = run};
