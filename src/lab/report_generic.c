/* A bar chart for every name of result that no other chart shows, so that unknown experiments can be read. */
#include "lab/report_html.h"
#include "lab/report_parts.h"
#include "lab/report_svg.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BARS = 60, MOST_KEYS = 8 };

/* The parameters, besides the implementation, in which these results differ. */
static words telling_keys(const picked *p)
{
    words keys = {0};
    for (size_t i = 0; i < p->items[0]->param_count && keys.count < MOST_KEYS; i++) {
        const char *key = p->items[0]->params[i].key;
        if (strcmp(key, "impl") != 0 && words_of(p, key, NULL).count > 1)
            keys.items[keys.count++] = key;
    }
    return keys;
}

static str label_of(const view_result *r, const words *keys)
{
    str label = {0};
    str_add(&label, keys->count ? "" : r->name);
    for (size_t i = 0; i < keys->count; i++)
        str_addf(&label, "%s%s", i ? " · " : "", view_param_text(r, keys->items[i]));
    return label;
}

static str title_of(const picked *p, const words *keys)
{
    str title = {0};
    str_addf(&title, "%s", p->items[0]->name);
    for (size_t i = 0; i < keys->count; i++)
        str_addf(&title, "%s%s", i ? " · " : " by ", keys->items[i]);
    return title;
}

static void card(str *out, const record_view *record, const char *name)
{
    picked p = results_named(record, name);
    words keys = telling_keys(&p), impls = words_of(&p, "impl", impl_order);
    str title = title_of(&p, &keys), labels[MOST_BARS] = {0};
    bar_list bars = {0};
    axis a = AXIS_EMPTY;
    for (size_t i = 0; i < impls.count; i++)
        for (size_t k = 0; k < p.count && bars.count < MOST_BARS; k++) {
            if (strcmp(view_param_text(p.items[k], "impl"), impls.items[i]) != 0)
                continue;
            labels[bars.count] = label_of(p.items[k], &keys);
            bars_show(&a, p.items[k]);
            bars_add(&bars, impls.items[i], labels[bars.count].data, p.items[k]);
        }
    axis_finish_auto(&a);
    svg_bars(out, &(bar_chart){title.data, "Median of each result with its 95% interval.", bars.items, bars.count, a});
    for (size_t i = 0; i < MOST_BARS; i++)
        str_free(&labels[i]);
    bars_free(&bars);
    str_free(&title);
    picked_free(&p);
}

/* The names no other chart shows, each once. */
static words other_names(const record_view *record)
{
    words names = {0};
    for (size_t i = 0; i < record->result_count && names.count < MOST_SHOWN; i++) {
        const char *name = record->results[i].name;
        bool seen = report_dispatch_knows(name);
        for (size_t k = 0; k < names.count && !seen; k++)
            seen = strcmp(names.items[k], name) == 0;
        if (!seen)
            names.items[names.count++] = name;
    }
    return names;
}

void report_generic(str *out, const record_view *record)
{
    words names = other_names(record);
    if (!names.count)
        return;
    section_open(out, "Results",
                 "The median of each result, with its 95% interval as a whisker. For times shorter is better, for "
                 "rates (anything per second) longer is. Each chart has its own scale; one that spans more than a "
                 "factor of twenty is logarithmic.");
    str_add(out, "<div class=\"cards\">\n");
    for (size_t i = 0; i < names.count; i++)
        card(out, record, names.items[i]);
    str_add(out, "</div>\n");
    section_close(out);
}
