/* collect_page: the leaderboard: filters, charts by what was measured, the newest records. */
#include "serve/collect_page.h"

#include "lab/report_html.h"

#include <inttypes.h>
#include <string.h>

/* Beside the style sheet of reports. */
const char collect_style[] =
    ".outlier{fill:none;stroke:var(--c);stroke-width:1.4;stroke-dasharray:2 1.5}a:hover circle,a:focus circle{stroke:"
    "var(--ink);stroke-width:1.5}\n"
    "form{display:flex;flex-wrap:wrap;gap:8px 14px;align-items:end;margin:1em 0}label{font-size:.85rem;color:var(--"
    "soft);display:grid;gap:2px}\n"
    "select,button{font:inherit;padding:5px 8px;border:1px solid var(--rule);border-radius:6px;background:var(--card);"
    "color:var(--ink);max-width:15em}\n"
    "figure details{margin:.4em 0 0}td a{white-space:nowrap}\n";

/* ---- what is chosen ------------------------------------------------------------------------ */

typedef struct choices {
    str *out;
    const char *chosen;
} choices;

static void add_choice(void *user, const char *value)
{
    const choices *c = user;
    str_add(c->out, "<option value=\"");
    html_text(c->out, value);
    str_add(c->out, c->chosen && strcmp(c->chosen, value) == 0 ? "\" selected>" : "\">");
    html_text(c->out, value);
    str_add(c->out, "</option>");
}

static bool add_select(str *out, collect_store *s, const char *name, const char *chosen, err *e)
{
    choices c = {out, chosen};
    str_addf(out, "<label>%s<select name=\"%s\"><option value=\"\">all</option>", name, name);
    bool ok = collect_store_values(s, name, add_choice, &c, e);
    str_add(out, "</select></label>\n");
    return ok;
}

static bool form(str *out, collect_store *s, const collect_view *v, err *e)
{
    const collect_filter *f = &v->filter;
    str_add(out, "<form method=\"get\" action=\"/\"><label>group by<select name=\"by\">");
    for (collect_by by = COLLECT_BY_DEVICE; by <= COLLECT_BY_IMPL; by++)
        add_choice(&(choices){out, collect_by_name(v->by)}, collect_by_name(by));
    str_add(out, "</select></label>\n");
    bool ok = add_select(out, s, "vendor", f->vendor, e) && add_select(out, s, "device", f->device, e) &&
              add_select(out, s, "backend", f->backend, e) && add_select(out, s, "impl", f->impl, e) &&
              add_select(out, s, "browser", f->browser, e);
    if (f->family) {
        str_add(out, "<input type=\"hidden\" name=\"show\" value=\"");
        html_text(out, f->family);
        str_add(out, "\">");
    }
    str_add(out, "<button>Show</button></form>\n");
    return ok;
}

/* A text within an address: all but letters and digits as %XX. */
static void url_text(str *out, const char *text)
{
    for (; *text; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' && *text <= '9');
        if (plain)
            str_add_bytes(out, text, 1);
        else
            str_addf(out, "%%%02X", (unsigned char)*text);
    }
}

/* The same choice for another family, or for all. */
static void link_to(str *out, const collect_view *v, const char *family)
{
    const collect_filter *f = &v->filter;
    const char *const parts[][2] = {{"show", family},        {"vendor", f->vendor}, {"device", f->device},
                                    {"backend", f->backend}, {"impl", f->impl},     {"browser", f->browser}};
    str_addf(out, "/?by=%s", collect_by_name(v->by));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i][1]) {
            str_addf(out, "&amp;%s=", parts[i][0]);
            url_text(out, parts[i][1]);
        }
}

/* ---- charts -------------------------------------------------------------------------------- */

typedef struct family_text {
    const char *name, *heading, *caption;
} family_text;

static const family_text FAMILIES[] = {
    {"dispatch", "What a dispatch costs",
     "Microseconds per dispatch of the smallest kernel: the slope of time over the number of dispatches. Less is "
     "better."},
    {"one", "One dispatch over many",
     "How many times faster the same work is as one dispatch than as many in one pass. More is better."},
    {"decode", "Decode of the built-in model", "Tokens per second by fusion level. More is better."},
    {"prefill", "Prefill of the built-in model", "Tokens per second by fusion level. More is better."},
    {"sim", "Simulations", "Generations per second by fusion level; population × steps. More is better."}};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES, SOME_CHARTS = 6 };

static void chart_title(str *out, const collect_chart *c)
{
    static const char *const variants[][2] = {{"sync", "submit and wait, each (sync)"},
                                              {"each", "submit each, wait at the end (each)"},
                                              {"pass", "a pass each, one submit (pass)"},
                                              {"batch", "all in one pass (batch)"},
                                              {"one", "steps of one dispatch (one)"}};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (strcmp(c->variant, variants[i][0]) == 0) {
            str_add(out, variants[i][1]);
            return;
        }
    /* the level is first: a long title is cut at its end */
    if (strcmp(c->family, "one") != 0)
        str_addf(out, "%s: ", c->variant);
    str_add(out, c->subject);
}

static void family_section(str *out, const collect_summary *s, const family_text *f, const collect_view *v,
                           bool software)
{
    size_t count = 0, most = v->filter.family ? (size_t)-1 : SOME_CHARTS;
    for (size_t i = 0; i < s->count; i++) {
        const collect_chart *c = &s->charts[i];
        if (strcmp(c->family, f->name) != 0 || c->is_software != software || ++count > most)
            continue;
        if (count == 1) {
            section_open(out, f->heading, f->caption);
            str_add(out, "<div class=\"cards\">\n");
        }
        str title = {0};
        chart_title(&title, c);
        collect_plot(out, c, title.data);
        str_free(&title);
    }
    if (!count)
        return;
    str_add(out, "</div>\n");
    if (count > most) {
        str_add(out, "<p><a href=\"");
        link_to(out, v, f->name);
        str_addf(out, "\">All %zu charts</a></p>\n", count);
    }
    section_close(out);
}

static size_t charts_of(const collect_summary *s, bool software)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += s->charts[i].is_software == software;
    return count;
}

static void charts(str *out, const collect_summary *s, const collect_view *v)
{
    for (int software = 0; software < 2; software++) {
        if (!charts_of(s, software))
            continue;
        str_add(out, software
                         ? "<h2>Software adapters, apart</h2>\n<p class=\"caption\">They run shaders on the CPU: what "
                           "a call costs the host is real, what a kernel takes is not a GPU's.</p>\n"
                         : "<h2>GPUs</h2>\n");
        for (size_t i = 0; i < FAMILY_COUNT; i++)
            family_section(out, s, &FAMILIES[i], v, software);
    }
    if (!s->count)
        str_add(out, "<p class=\"remark\">No record fits this choice.</p>\n");
}

/* ---- the newest ---------------------------------------------------------------------------- */

static void newest_row(void *user, const collect_listed *r)
{
    str *out = user;
    str_addf(out, "<tr><td><a href=\"/records/%s\">", r->id);
    html_text(out, r->measured);
    str_add(out, "</a></td><td>");
    html_text(out, r->experiment);
    str_add(out, "</td><td>");
    html_text(out, r->device);
    str_add(out, "</td><td>");
    html_text(out, r->impl);
    str_add(out, "</td><td>");
    html_text(out, r->backend);
    str_add(out, "</td><td>");
    html_text(out, r->browser);
    str_add(out, "</td></tr>\n");
}

static bool newest(str *out, collect_store *s, const collect_view *v, err *e)
{
    enum { NEWEST = 20 };
    str_add(out, "<h2>Newest records</h2>\n<div class=\"scroll\"><table><thead><tr><th>Measured</th><th>Experiment</th>"
                 "<th>Device</th><th>Implementation</th><th>Backend</th><th>Browser</th></tr></thead><tbody>\n");
    bool ok = collect_store_list(s, &v->filter, 0, NEWEST, newest_row, out, e);
    str_add(out, "</tbody></table></div>\n<p>Everything: <a href=\"/api/export.ndjson\">NDJSON</a>, "
                 "<a href=\"/api/export.csv\">CSV</a>, <a href=\"/api/summary\">medians as JSON</a>, "
                 "<a href=\"/api/records\">records as JSON</a>.</p>\n");
    return ok;
}

bool collect_page(str *out, collect_store *s, const collect_view *v, err *e)
{
    collect_summary summary;
    uint64_t count;
    if (!collect_store_count(s, &count, e) || !collect_summary_make(&summary, s, &v->filter, v->by, e))
        return false;
    str_add(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>Solo leaderboard</title>\n<style>\n");
    str_add(out, report_style);
    str_add(out, collect_style);
    str_addf(
        out,
        "</style>\n</head>\n<body>\n<main>\n<h1>What a dispatch costs, everywhere</h1>\n"
        "<p class=\"lead\">%" PRIu64 " records, measured with <code>solo bench</code> or on Solo's page and sent by "
        "<code>solo share</code>. Medians over records with their 95%% intervals; every dot opens its record; a dashed "
        "ring is an outlier, which is not counted.%s</p>\n",
        count, v->filter.family ? " <a href=\"/\">All families</a>" : "");
    bool ok = form(out, s, v, e);
    charts(out, &summary, v);
    ok = ok && newest(out, s, v, e);
    str_add(out, "</main>\n</body>\n</html>\n");
    collect_summary_free(&summary);
    return ok;
}
