/* report: the page as a whole: contents, devices, checks, claims, and the results of each record. */
#include "lab/report.h"

#include "lab/busy.h"
#include "lab/report_html.h"
#include "lab/report_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the numbers were measured on ---- */

static void fact(str *out, const char *what, const char *text)
{
    if (!*text)
        return;
    str_addf(out, "<dt>%s</dt><dd>", what);
    html_text(out, text);
    str_add(out, "</dd>");
}

static void number_fact(str *out, const char *what, double value, const char *unit)
{
    if (!isfinite(value))
        return;
    str_addf(out, "<dt>%s</dt><dd>", what);
    if (value == floor(value) && fabs(value) < 1e9)
        str_addf(out, "%.0f", value);
    else
        html_number(out, value);
    str_addf(out, "%s</dd>", unit);
}

static void device_card(str *out, const view_gpu *g)
{
    str_addf(out, "<div class=\"device %s\"><h4>", colour_of(g->impl));
    html_text(out, *g->impl ? g->impl : "device");
    str_add(out, "</h4><dl>");
    fact(out, "version", g->impl_version);
    fact(out, "device", g->device);
    fact(out, "backend", g->backend);
    fact(out, "adapter", g->adapter_type);
    str_add(out, "</dl><details><summary>More</summary><dl>");
    fact(out, "vendor", g->vendor);
    fact(out, "driver", g->driver);
    fact(out, "waits by", g->waits_by);
    number_fact(out, "resident workgroups", g->resident_workgroups, "");
    number_fact(out, "copy", g->copy_gbps, " GB/s");
    fact(out, "features", g->features);
    fact(out, "limits", g->limits);
    str_add(out, "</dl></details></div>\n");
}

static void devices(str *out, const record_view *r)
{
    bool software = false;
    str_add(out, "<div class=\"devices\">\n");
    for (size_t i = 0; i < r->gpu_count && i < MOST_SHOWN; i++) {
        device_card(out, &r->gpus[i]);
        software = software || strcmp(r->gpus[i].adapter_type, "software") == 0;
    }
    str_add(out, "</div>\n");
    if (software)
        str_add(out, "<p class=\"remark\">At least one adapter here is software: it runs shaders on the CPU. What the "
                     "implementations cost on the host is real; what kernels and barriers take is not a GPU's.</p>\n");
}

static void origin(str *out, const record_view *r)
{
    str_add(out, "<dl>");
    fact(out, "measured", r->when);
    fact(out, "file", r->path);
    if (*r->version || *r->commit) {
        str_add(out, "<dt>solo</dt><dd>");
        html_text(out, r->version);
        str_add(out, *r->commit ? ", commit " : "");
        html_text(out, r->commit);
        str_add(out, "</dd>");
    }
    fact(out, "system", r->os);
    fact(out, "CPU", r->cpu);
    number_fact(out, "cores", r->cores, "");
    number_fact(out, "with other work", r->busy, "");
    number_fact(out, "clock step", r->clock_ns, " ns");
    number_fact(out, "clock reading", r->clock_cost_ns, " ns");
    str params = {0};
    str_add(&params, "");
    for (size_t i = 0; i < r->param_count; i++)
        str_addf(&params, "%s%s %s", i ? ", " : "", r->params[i].key, r->params[i].text);
    fact(out, "parameters", params.data);
    str_free(&params);
    str_add(out, "</dl>\n");
}

/* ---- what was verified ---- */

static size_t failed_checks(const record_view *r)
{
    size_t failed = 0;
    for (size_t i = 0; i < r->check_count; i++)
        failed += !r->checks[i].ok;
    return failed;
}

static void banner(str *out, const record_view *r)
{
    size_t failed = failed_checks(r);
    if (failed)
        str_addf(out,
                 "<p class=\"banner failed\">%zu of %zu checks failed. What was not verified is not a result: see "
                 "Checks below.</p>\n",
                 failed, r->check_count);
    else if (!r->check_count)
        str_add(out, "<p class=\"remark\">This record says nothing about what was verified.</p>\n");
    if (busy_is(r->busy, r->cores))
        str_addf(
            out,
            "<p class=\"banner failed\">The machine was busy: %.1f of its %.0f processors did other work meanwhile. "
            "Times are longer than on an idle one, and lie further apart.</p>\n",
            r->busy, r->cores);
}

static void checks(str *out, const record_view *r)
{
    if (!r->check_count)
        return;
    section_open(out, "Checks", "What was verified while measuring.");
    str_add(out, "<ul class=\"checks\">\n");
    for (size_t i = 0; i < r->check_count; i++) {
        const view_check *c = &r->checks[i];
        str_add(out, c->ok ? "<li><span class=\"ok\">✓ ok</span> " : "<li><span class=\"failed\">✗ failed</span> ");
        html_text(out, c->what);
        str_add(out, *c->detail ? ": " : "");
        html_text(out, c->detail);
        str_add(out, "</li>\n");
    }
    str_add(out, "</ul>\n");
    section_close(out);
}

static const char *verdict_class(const char *verdict)
{
    if (strcmp(verdict, "confirmed") == 0 || strcmp(verdict, "contradicted") == 0)
        return verdict;
    return "unsure";
}

static void claims(str *out, const record_view *r)
{
    if (!r->claim_count)
        return;
    section_open(out, "Claims, and what was seen here",
                 "What others have published, beside what this run shows on this machine.");
    str_add(out, "<ul class=\"claims\">\n");
    for (size_t i = 0; i < r->claim_count; i++) {
        const view_claim *c = &r->claims[i];
        str_addf(out, "<li><span class=\"verdict %s\">", verdict_class(c->verdict));
        html_text(out, *c->verdict ? c->verdict : "cannot tell");
        str_add(out, "</span><span>");
        html_text(out, c->claim);
        str_add(out, "<small>");
        html_text(out, c->said_by);
        str_add(out, "</small></span><span>");
        html_text(out, c->here);
        str_add(out, "</span></li>\n");
    }
    str_add(out, "</ul>\n");
    section_close(out);
}

/* ---- the page ---- */

static void all_results(str *out, const record_view *r)
{
    const view_result **all = mem_alloc(r->result_count * sizeof *all);
    for (size_t i = 0; i < r->result_count; i++)
        all[i] = &r->results[i];
    section_open(out, "Every result", "All that the record holds; single samples are in the record itself.");
    numbers_table(out, "Show all results", all, r->result_count);
    section_close(out);
    free(all);
}

static void record_heading(str *out, const record_view *r)
{
    if (strcmp(r->experiment, "dispatch") == 0)
        str_add(out, "What a dispatch costs");
    else if (*r->experiment) {
        str_add(out, "Experiment ");
        html_text(out, r->experiment);
    } else
        str_add(out, "A record");
}

static void record_part(str *out, const record_view *r, size_t i)
{
    str_addf(out, "<article>\n<h2 id=\"r%zu\">", i + 1);
    record_heading(out, r);
    str_add(out, "</h2>\n");
    banner(out, r);
    origin(out, r);
    str_add(out, "<h3>Implementations and devices</h3>\n");
    devices(out, r);
    report_dispatch(out, r);
    report_generic(out, r);
    claims(out, r);
    checks(out, r);
    all_results(out, r);
    str_add(out, "</article>\n");
}

/* With several records: where each is. Their numbers are not comparable. */
static void contents(str *out, const record_view *records, size_t count)
{
    if (count < 2)
        return;
    str_addf(out,
             "<p class=\"lead\">%zu records. Each part below is one run: compare numbers inside a part, not "
             "across parts.</p>\n<ol>\n",
             count);
    for (size_t i = 0; i < count; i++) {
        str_addf(out, "<li><a href=\"#r%zu\">", i + 1);
        record_heading(out, &records[i]);
        str_add(out, "</a> ");
        html_text(out, records[i].when);
        str_add(out, " ");
        html_text(out, records[i].gpu_count ? records[i].gpus[0].device : "");
        str_add(out, "</li>\n");
    }
    str_add(out, "</ol>\n");
}

void report_page(str *out, const record_view *records, size_t count)
{
    str_add(out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            "<title>Solo report</title>\n<style>\n");
    str_add(out, report_style);
    str_add(out, "</style>\n</head>\n<body>\n<main>\n<h1>Solo report</h1>\n");
    contents(out, records, count);
    for (size_t i = 0; i < count; i++)
        record_part(out, &records[i], i);
    str_add(out, "</main>\n</body>\n</html>\n");
}
