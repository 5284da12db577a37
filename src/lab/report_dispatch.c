/* The charts of the dispatch experiment in the order they are read.
 *
 * Those that are bars are drawn here: the ladder, patterns, safety, device against host. */
#include "lab/report_html.h"
#include "lab/report_parts.h"
#include "lab/report_svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const impl_order[] = {"dawn", "wgpu", "web", "vulkan", "cuda", "stub", NULL};
const char *const submit_order[] = {"sync", "each", "pass", "batch", "one", NULL};
const char *const kernel_order[] = {"empty", "add", "rmsnorm", "gemv", NULL};
static const char *const pattern_order[] = {"baseline", "bind_group", "param_write", "indirect", "replay", NULL};

bool report_dispatch_knows(const char *name)
{
    static const char *const names[] = {"dispatch", "device", "host", "habit", "submits", "safety", "barrier", "wait"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

void kernel_title(str *out, const char *kernel)
{
    str_addf(out, *kernel ? "kernel %s" : "all kernels", kernel);
}

/* ---- the headline: what each implementation costs at its worst and best ---- */

static void tile(str *out, const char *impl, const char *kernel, const view_result *sync, const view_result *batch)
{
    str_addf(out, "<div class=\"tile %s\"><h4>", colour_of(impl));
    html_text(out, impl);
    str_add(out, "</h4><p class=\"big\">");
    html_number(out, batch->median);
    str_add(out, " <span>");
    html_text(out, unit_shown(batch->unit));
    str_add(out, "</span></p><p>per dispatch in one pass");
    if (*kernel) {
        str_add(out, ", kernel ");
        html_text(out, kernel);
    }
    if (sync && batch->median > 0) {
        str_add(out, ";<br>");
        html_number(out, sync->median);
        str_add(out, " ");
        html_text(out, unit_shown(sync->unit));
        str_add(out, " waiting for each: ");
        html_number(out, sync->median / batch->median);
        str_add(out, "×");
    }
    str_add(out, "</p></div>\n");
}

static void tiles(str *out, const picked *p, const words *impls, const char *kernel)
{
    str_add(out, "<div class=\"tiles\">\n");
    for (size_t i = 0; i < impls->count; i++) {
        const char *impl = impls->items[i];
        const view_result *batch = result_with(p, "impl", impl, "kernel", kernel, "submit", "batch");
        if (batch)
            tile(out, impl, kernel, result_with(p, "impl", impl, "kernel", kernel, "submit", "sync"), batch);
    }
    str_add(out, "</div>\n");
}

/* ---- cards of bars: one per kernel, grouped by implementation ---- */

typedef struct bar_cards {
    const char *row_key;
    const char *const *row_order;
    const char *baseline; /* the row others are divided by, or NULL */
    const char *about;
} bar_cards;

static void note_ratio(bar *b, const view_result *baseline)
{
    if (!baseline || !(baseline->median > 0) || !(b->value > 0))
        return;
    double ratio = b->value / baseline->median;
    snprintf(b->note, sizeof b->note, ratio < 10 ? "%.2f×" : "%.0f×", ratio);
}

static void bar_card(str *out, const picked *p, const bar_cards *c, const char *kernel, axis a)
{
    words impls = words_of(p, "impl", impl_order), rows = words_of(p, c->row_key, c->row_order);
    bar_list bars = {0};
    for (size_t i = 0; i < impls.count; i++) {
        const view_result *baseline =
            c->baseline ? result_with(p, "impl", impls.items[i], "kernel", kernel, c->row_key, c->baseline) : NULL;
        for (size_t k = 0; k < rows.count; k++) {
            const view_result *r = result_with(p, "impl", impls.items[i], "kernel", kernel, c->row_key, rows.items[k]);
            if (r)
                note_ratio(bars_add(&bars, impls.items[i], rows.items[k], r), baseline);
        }
    }
    str title = {0};
    kernel_title(&title, kernel);
    svg_bars(out, &(bar_chart){title.data, c->about, bars.items, bars.count, a});
    str_free(&title);
    bars_free(&bars);
}

/* Four cards stand two by two, not three and one. */
static void cards_open(str *out, size_t count)
{
    str_addf(out, "<div class=\"%s\">\n", count == 4 ? "cards two" : "cards");
}

static axis axis_of(const picked *p)
{
    axis a = AXIS_EMPTY;
    for (size_t i = 0; i < p->count; i++)
        bars_show(&a, p->items[i]);
    return a;
}

static void bar_card_per_kernel(str *out, const picked *p, const bar_cards *c, axis a)
{
    words kernels = words_of(p, "kernel", kernel_order);
    cards_open(out, kernels.count);
    for (size_t i = 0; i < kernels.count; i++)
        bar_card(out, p, c, kernels.items[i], a);
    str_add(out, "</div>\n");
    numbers_table(out, "The numbers", p->items, p->count);
}

static void ladder(str *out, const record_view *record)
{
    picked p = results_named(record, "dispatch");
    if (p.count) {
        words impls = words_of(&p, "impl", impl_order), kernels = words_of(&p, "kernel", kernel_order);
        section_open(out, "What one dispatch costs",
                     "The slope of time against the number of dispatches, for five ways of submitting the same work: "
                     "<b>sync</b> submits and waits for each dispatch, <b>each</b> submits each and waits at the end, "
                     "<b>pass</b> records a pass each, <b>batch</b> records all in one pass, <b>one</b> does all steps "
                     "inside a single dispatch. Shorter is better. The scale is logarithmic: equal distances "
                     "are equal ratios. Whiskers are 95% intervals.");
        tiles(out, &p, &impls, kernels.items[0]);
        axis a = axis_of(&p);
        axis_finish_log(&a);
        bar_card_per_kernel(out, &p,
                            &(bar_cards){"submit", submit_order, NULL,
                                         "Microseconds per dispatch, by implementation and way of submitting."},
                            a);
        section_close(out);
    }
    picked_free(&p);
}

static void patterns(str *out, const record_view *record)
{
    picked p = results_named(record, "habit");
    if (p.count) {
        section_open(out, "What patterns cost",
                     "The cost per dispatch in one pass when each dispatch also does something programs commonly do: "
                     "makes a new <b>bind group</b>, writes its <b>parameters</b>, takes its size from a buffer "
                     "(<b>indirect</b>), or <b>replays</b> commands recorded before. On the right: how many times the "
                     "baseline.");
        axis a = axis_of(&p);
        axis_finish_auto(&a);
        bar_card_per_kernel(out, &p,
                            &(bar_cards){"habit", pattern_order, "baseline",
                                         "Microseconds per dispatch, by implementation and pattern."},
                            a);
        section_close(out);
    }
    picked_free(&p);
}

static void waits(str *out, const record_view *record)
{
    static const char *const wait_order[] = {"polling", "blocking", NULL};
    picked p = results_named(record, "wait");
    if (p.count) {
        section_open(
            out, "How it waits",
            "One submit and one wait per dispatch, with the two ways of waiting: <b>polling</b> asks again and "
            "again and keeps a core busy, <b>blocking</b> sleeps until the driver wakes it. A figure for "
            "\"submit and wait\" that does not say which is half a figure. On the right: times the polling "
            "one.");
        axis a = axis_of(&p);
        axis_finish_auto(&a);
        bar_card_per_kernel(out, &p,
                            &(bar_cards){"wait", wait_order, "polling",
                                         "Microseconds per submit and wait, by implementation and way of waiting."},
                            a);
        section_close(out);
    }
    picked_free(&p);
}

/* ---- safety ---- */

static const char *safety_label(const view_result *r)
{
    bool validation = strcmp(view_param_text(r, "validation"), "true") == 0;
    bool robustness = strcmp(view_param_text(r, "robustness"), "true") == 0;
    if (validation)
        return robustness ? "both on" : "validation";
    return robustness ? "robustness" : "both off";
}

static bool in_card(const view_result *r, const char *impl, const char *kernel, const char *submit)
{
    return strcmp(view_param_text(r, "impl"), impl) == 0 && strcmp(view_param_text(r, "kernel"), kernel) == 0 &&
           strcmp(view_param_text(r, "submit"), submit) == 0;
}

/* Safety is measured for some kernels in some ways of submitting: a card each. */
static void safety_card(str *out, const picked *p, const char *kernel, const char *submit, axis a)
{
    words impls = words_of(p, "impl", impl_order);
    bar_list bars = {0};
    str title = {0};
    for (size_t i = 0; i < impls.count; i++) {
        const view_result *on = NULL;
        for (size_t k = 0; k < p->count; k++)
            if (in_card(p->items[k], impls.items[i], kernel, submit) &&
                strcmp(safety_label(p->items[k]), "both on") == 0)
                on = p->items[k];
        for (size_t k = 0; k < p->count; k++)
            if (in_card(p->items[k], impls.items[i], kernel, submit))
                note_ratio(bars_add(&bars, impls.items[i], safety_label(p->items[k]), p->items[k]), on);
    }
    kernel_title(&title, kernel);
    if (*submit)
        str_addf(&title, ", %s", submit);
    if (bars.count)
        svg_bars(out, &(bar_chart){title.data, "Microseconds per dispatch by which checks are on.", bars.items,
                                   bars.count, a});
    str_free(&title);
    bars_free(&bars);
}

static void safety(str *out, const record_view *record)
{
    picked p = results_named(record, "safety");
    if (p.count) {
        words kernels = words_of(&p, "kernel", kernel_order), ways = words_of(&p, "submit", submit_order);
        section_open(out, "What safety costs",
                     "The cost per dispatch with the implementation's checks on and off: <b>validation</b> of API "
                     "calls, and <b>robustness</b>, which keeps shaders inside their buffers. On the right: how many "
                     "times the cost with both on, as every browser runs.");
        axis a = axis_of(&p);
        axis_finish_auto(&a);
        cards_open(out, kernels.count * ways.count);
        for (size_t i = 0; i < kernels.count; i++)
            for (size_t k = 0; k < ways.count; k++)
                safety_card(out, &p, kernels.items[i], ways.items[k], a);
        str_add(out, "</div>\n");
        numbers_table(out, "The numbers", p.items, p.count);
        section_close(out);
    }
    picked_free(&p);
}

/* ---- device against host ---- */

/* Two bars per way of submitting; `labels` outlives the chart. */
static void device_bars(bar_list *bars, words *labels_of, str labels[MOST_SHOWN][2], const picked *device,
                        const picked *host, const char *impl, const char *kernel)
{
    for (size_t i = 0; i < labels_of->count; i++) {
        const char *submit = labels_of->items[i];
        const view_result *on_gpu = result_with(device, "impl", impl, "kernel", kernel, "submit", submit);
        const view_result *by_clock = result_with(host, "impl", impl, "kernel", kernel, "submit", submit);
        if (!on_gpu)
            continue;
        if (by_clock)
            bars_add(bars, impl, labels[i][0].data, by_clock);
        bar *b = bars_add(bars, impl, labels[i][1].data, on_gpu);
        b->faint = true;
        if (by_clock && by_clock->median > 0 && on_gpu->median > 0)
            snprintf(b->note, sizeof b->note, "%.0f%%", 100 * on_gpu->median / by_clock->median);
    }
}

static void device_card(str *out, const picked *device, const picked *host, const char *kernel, axis a)
{
    words impls = words_of(device, "impl", impl_order), ways = words_of(device, "submit", submit_order);
    str labels[MOST_SHOWN][2] = {0}, title = {0};
    bar_list bars = {0};
    for (size_t i = 0; i < ways.count; i++) {
        str_addf(&labels[i][0], "%s, clock", ways.items[i]);
        str_addf(&labels[i][1], "%s, GPU", ways.items[i]);
    }
    for (size_t i = 0; i < impls.count; i++)
        device_bars(&bars, &ways, labels, device, host, impls.items[i], kernel);
    kernel_title(&title, kernel);
    svg_bars(out, &(bar_chart){title.data, "Cost per dispatch by the host's clock and by the GPU's own.", bars.items,
                               bars.count, a});
    bars_free(&bars);
    str_free(&title);
    for (size_t i = 0; i < ways.count; i++) {
        str_free(&labels[i][0]);
        str_free(&labels[i][1]);
    }
}

static bool has_partner(const view_result *r, const picked *others)
{
    return result_with(others, "impl", view_param_text(r, "impl"), "kernel", view_param_text(r, "kernel"), "submit",
                       view_param_text(r, "submit")) != NULL;
}

static void device_against_host(str *out, const record_view *record)
{
    picked device = results_named(record, "device"), host = results_named(record, "dispatch");
    if (device.count) {
        words kernels = words_of(&device, "kernel", kernel_order);
        section_open(out, "The GPU's own clock against the host's",
                     "The same slope from timestamps the GPU writes. What the clock on the wall shows beyond it is "
                     "spent in the implementation, the driver and the operating system. On the right: the GPU's share "
                     "of the time.");
        axis a = axis_of(&device);
        for (size_t i = 0; i < host.count; i++)
            if (has_partner(host.items[i], &device))
                bars_show(&a, host.items[i]);
        axis_finish_log(&a);
        cards_open(out, kernels.count);
        for (size_t i = 0; i < kernels.count; i++)
            device_card(out, &device, &host, kernels.items[i], a);
        str_add(out, "</div>\n");
        numbers_table(out, "The numbers", device.items, device.count);
        section_close(out);
    }
    picked_free(&device);
    picked_free(&host);
}

void report_dispatch(str *out, const record_view *record)
{
    ladder(out, record);
    report_host_calls(out, record);
    report_time_against_n(out, record);
    device_against_host(out, record);
    patterns(out, record);
    waits(out, record);
    report_submits(out, record);
    safety(out, record);
    report_barriers(out, record);
}
