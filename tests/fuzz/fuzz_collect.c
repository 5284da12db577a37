/* Feeds JSON to what cleans and checks a record that is sent to a collector. What it lets through is looked at: cleaned
 * again it is the same, and nothing in it is a path or an address. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "collect"
#define FUZZ_MUTATIONS 20000
#include "fuzz/require.h"
#include "serve/collect_check.h"
#include "serve/collect_clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_record(const collect_record *r)
{
    err e = {0};
    collect_record again;
    require(collect_is_id(r->id), "an id is none");
    require(!strchr(r->body.data, '\n'), "a record has several lines");
    require(!strchr(r->body.data, '@'), "an address is kept");
    require(!strstr(r->body.data, "\"/"), "a path is kept");
    require(r->view.result_count && r->view.check_count && r->view.gpu_count, "something is missing");
    for (size_t i = 0; i < r->view.result_count; i++) {
        const view_result *q = &r->view.results[i];
        require(q->stated_n == (double)q->n && q->n, "another number of samples");
        require(isfinite(q->median) && q->ci95[0] <= q->ci95[1], "no median or interval");
    }
    require(collect_check("record", r->body.data, r->body.length, &again, &e), "refused when cleaned");
    require(strcmp(r->id, again.id) == 0, "another id when cleaned again");
    collect_record_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    err e = {0};
    collect_record r;
    bool ok = collect_check("record", (const char *)bytes, length, &r, &e);
    require(ok == (e.kind == ERR_NONE), "an error beside a result, or neither");
    if (ok) {
        check_record(&r);
        collect_record_free(&r);
    } else
        require_line(&e);
    return 0;
}

#ifdef FUZZ_MAIN
static const char *const words[] = {"\"samples\"", "\"ci95\"",   "\"median\"", "\"checks\"", "\"gpus\"",
                                    "\"params\"",  "\"points\"", "null",       "true",       "-1",
                                    "1e300",       "0",          "{}",         "[]",         "[1,2]",
                                    "\"/a/b\"",    "\"a@b\"",    "\"\\\\x\"",  "\"\"",       "\"us\""};
#include "mutate_json.h"

#include "fuzz_main.h"
#endif
