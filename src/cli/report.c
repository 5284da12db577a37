/* solo report: one page with plots of records. */
#include "base/file.h"
#include "cli/cli.h"
#include "lab/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    text_list records;
    const char *out_path;
} options;

static const option TABLE[] = {{.value = "RECORD.json",
                                .kind = OPTION_TEXTS,
                                .files = OPTION_FILES,
                                .required = true,
                                INTO(options, records),
                                .help = "one or more records"},
                               {.name = "output",
                                .letter = 'o',
                                .value = "FILE.html",
                                .files = OPTION_FILES,
                                .required = true,
                                INTO(options, out_path),
                                .help = "where the page goes; - writes it to standard output"},
                               {0}};

static bool report(const options *o, err *e)
{
    record_view *records = mem_alloc(o->records.count * sizeof *records);
    size_t loaded = 0;
    while (loaded < o->records.count && cli_keeps_input("-o", o->out_path, o->records.items[loaded], e) &&
           record_view_load(&records[loaded], o->records.items[loaded], e))
        loaded++;
    bool ok = loaded == o->records.count;
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

static int run(void *chosen)
{
    err e = {0};
    return report(chosen, &e) ? 0 : cli_fail(&e);
}

static const options DEFAULTS = {0};

const cli_command command_report = {.name = "report",
                                    .summary = "one page with plots from one or more records",
                                    .about = "Makes one self-contained page with plots from one or more records.",
                                    .groups = {{NULL, TABLE, 0}},
                                    .defaults = &DEFAULTS,
                                    .bytes = sizeof(options),
                                    .run = run};
