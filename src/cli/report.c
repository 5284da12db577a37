/* solo report RECORD.json... -o report.html: one page with plots. */
#include "base/file.h"
#include "cli/cli.h"
#include "lab/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HELP[] = "usage: solo report RECORD.json... -o report.html\n"
                           "\n"
                           "Makes one self-contained page with plots from one or more records.\n"
                           "\n"
                           "  -o FILE   where the page goes; - writes it to standard output\n";

typedef struct options {
    const char **records;
    size_t count;
    const char *out_path;
    bool help;
} options;

static bool parse(options *o, cli_args *a)
{
    const char *word;
    while ((word = cli_next(a))) {
        if (strcmp(word, "--help") == 0)
            o->help = true;
        else if (strcmp(word, "-o") == 0) {
            if (!(o->out_path = cli_value(a, word)))
                return false;
        } else if (word[0] == '-')
            return cli_unknown(a, word);
        else
            o->records[o->count++] = word;
    }
    if (o->help)
        return true;
    if (!o->count)
        return err_set_kind(a->e, ERR_USAGE, "at least one record is needed (solo report --help)");
    if (!o->out_path)
        return err_set_kind(a->e, ERR_USAGE, "-o FILE says where the page goes (solo report --help)");
    return true;
}

static bool report(const options *o, err *e)
{
    record_view *records = mem_alloc(o->count * sizeof *records);
    size_t loaded = 0;
    while (loaded < o->count && record_view_load(&records[loaded], o->records[loaded], e))
        loaded++;
    bool ok = loaded == o->count;
    if (ok) {
        str page = {0};
        report_page(&page, records, loaded);
        ok = file_write(o->out_path, page.data, page.length, e);
        str_free(&page);
    }
    for (size_t i = 0; i < loaded; i++)
        record_view_free(&records[i]);
    free(records);
    return ok;
}

static int run(options *o, cli_args *a)
{
    if (!parse(o, a))
        return cli_fail(a->e);
    if (o->help) {
        fputs(HELP, stdout);
        return 0;
    }
    return report(o, a->e) ? 0 : cli_fail(a->e);
}

int cmd_report(int argc, char **argv)
{
    err e = {0};
    options o = {.records = mem_alloc((size_t)argc * sizeof *o.records)};
    int status = run(&o, &(cli_args){argc, 1, argv, &e});
    free(o.records);
    return status;
}
