/* Reads one record or two, between them a zero byte, as `solo compare` and `solo report` do, and compares and shows what
 * is let through. A verdict that is more than "cannot tell" has an interval behind it. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "record"
#define FUZZ_MUTATIONS 3000
#include "base/str.h"
#include "fuzz/require.h"
#include "lab/compare.h"
#include "lab/report.h"

#include <math.h>
#include <string.h>

static void require_printable(const char *text)
{
    for (const char *p = text; *p; p++)
        require((unsigned char)*p >= 0x20 && *p != 0x7f, "a control character of a record got through");
}

static void check_view(const record_view *v)
{
    const char *const texts[] = {v->version, v->commit, v->when, v->os, v->cpu, v->experiment, v->page};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        require_printable(texts[i]);
    for (size_t i = 0; i < v->result_count; i++) {
        const view_result *r = &v->results[i];
        require_printable(r->identity);
        for (size_t k = 0; k < r->n; k++)
            require(isfinite(r->samples[k]), "a sample is no number");
        for (size_t k = 0; k < r->point_count; k++)
            require(isfinite(r->x[k]) && isfinite(r->y[k]), "a point is no number");
    }
}

static void check_verdict(const comparison *c)
{
    double lo = c->ratio.lo, hi = c->ratio.hi;
    require((c->verdict == VERDICT_CANNOT_TELL) == (c->why[0] != 0), "a verdict and a reason, or neither");
    if (c->verdict == VERDICT_CANNOT_TELL)
        return;
    require(c->a->n >= 3 && c->b->n >= 3, "a verdict of fewer than three samples");
    require(lo <= hi, "a verdict without an interval");
    if (c->verdict == VERDICT_SAME)
        require(lo >= 1 - COMPARE_THRESHOLD - 1e-9 && hi <= 1 + COMPARE_THRESHOLD + 1e-9, "same, beyond 5%");
    else
        require(lo > 1 || hi < 1, "a difference whose interval has 1 in it");
}

static void compare(const record_view *a, const record_view *b)
{
    compared c = compare_records(a, b);
    str out = {0};
    size_t sum = 0;
    for (size_t i = 0; i < c.count; i++)
        check_verdict(&c.items[i]);
    for (int v = 0; v < VERDICT_KINDS; v++)
        sum += c.verdicts[v];
    require(sum == c.count, "verdicts are counted wrongly");
    compare_notes(&out, a, b);
    compare_text(&out, &c);
    for (size_t i = 0; i < out.length; i++)
        require(out.data[i] == '\n' || ((unsigned char)out.data[i] >= 0x20 && out.data[i] != 0x7f),
                "a comparison has control characters");
    compare_json(&out, &c, a, b);
    str_free(&out);
    compared_free(&c);
}

static void show(const record_view *records, size_t count)
{
    str page = {0};
    report_page(&page, records, count);
    static const char *const never[] = {"<script", "=\"nan", "=\"-nan", "=\"inf", "=\"-inf"}; /* texts have no quotes */
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        require(!strstr(page.data, never[i]), "a page with a script, or with a place that is no number");
    str_free(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *text = (const char *)bytes;
    size_t first = strnlen(text, length), second = first < length ? first + 1 : length, count = 0;
    record_view views[2];
    const char *const texts[] = {text, text + second};
    const size_t lengths[] = {first, length - second};
    for (int i = 0; i < 2; i++) {
        err e = {0};
        if (i == 1 && second == length)
            break;
        if (record_view_parse(&views[count], "record", texts[i], lengths[i], &e))
            check_view(&views[count++]);
        else
            require_line(&e);
    }
    if (count == 2)
        compare(&views[0], &views[1]);
    if (count)
        show(views, count);
    for (size_t i = 0; i < count; i++)
        record_view_free(&views[i]);
    return 0;
}

#ifdef FUZZ_MAIN
static const char *const words[] = {
    "\"samples\"", "\"ci95\"", "\"median\"", "\"points\"",   "\"params\"", "null",       "true",    "-1",
    "1e300",       "0",        "1e-300",     "{}",           "[]",         "[1,2,3]",    "[[1,2]]", "\"<script>\"",
    "\"\\u001b\"", "\"us\"",   "\"tok/s\"",  "\"dispatch\"", "\"slope\"",  "[5,5,5,5,5]"};
#include "mutate_json.h"

#include "fuzz_main.h"
#endif
