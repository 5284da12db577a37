/* Where the host's time goes: the calls of the API, stacked. */
#include "lab/report_html.h"
#include "lab/report_parts.h"
#include "lab/report_svg.h"

#include <stdio.h>
#include <string.h>

static const char *const call_order[] = {"encoder",  "begin_pass", "set_pipeline", "set_bind_group", "dispatch",
                                         "end_pass", "finish",     "submit",       "wait",           NULL};

static void legend(str *out, const words *calls)
{
    str_add(out, "<ul class=\"legend\">");
    for (size_t i = 0; i < calls->count; i++) {
        if (strcmp(calls->items[i], "wait") == 0)
            continue;
        str_addf(out, "<li class=\"p%zu\"><i></i>", i % 10);
        html_text(out, calls->items[i]);
        str_add(out, "</li>");
    }
    str_add(out, "</ul>\n");
}

/* One strategy: the parts, and in words the wait, which is not the host's work. */
static stack_row host_row(const picked *p, const char *impl, const char *submit, const words *calls, double *parts)
{
    stack_row row = {.label = submit, .unit = "us", .parts = parts};
    for (size_t k = 0; k < calls->count; k++) {
        const view_result *r = result_with(p, "impl", impl, "submit", submit, "call", calls->items[k]);
        bool waits = strcmp(calls->items[k], "wait") == 0;
        parts[k] = r && !waits ? r->median : 0;
        if (r)
            row.unit = r->unit;
        if (r && waits) {
            str text = {0};
            html_number(&text, r->median);
            snprintf(row.note, sizeof row.note, "and waits %s %s", text.data, unit_shown(r->unit));
            str_free(&text);
        }
    }
    return row;
}

static double row_sum(const stack_row *row, size_t count)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += row->parts[k] > 0 ? row->parts[k] : 0;
    return sum;
}

static void host_card(str *out, const picked *p, const char *impl, const words *calls)
{
    words submits = words_of(p, "submit", submit_order);
    stack_row rows[MOST_SHOWN];
    double parts[MOST_SHOWN][MOST_SHOWN];
    size_t count = 0;
    axis a = AXIS_EMPTY;
    for (size_t i = 0; i < submits.count; i++) {
        if (!result_with(p, "impl", impl, "submit", submits.items[i], NULL, NULL))
            continue;
        rows[count] = host_row(p, impl, submits.items[i], calls, parts[count]);
        axis_show(&a, row_sum(&rows[count], calls->count), true);
        count++;
    }
    axis_finish_from_zero(&a);
    svg_stack(out, &(stack_chart){impl, "Host time per dispatch in each call, stacked, by way of submitting.",
                                  calls->items, calls->count, rows, count, a});
}

void report_host_calls(str *out, const record_view *record)
{
    picked p = results_named(record, "host");
    if (p.count) {
        words calls = words_of(&p, "call", call_order), impls = words_of(&p, "impl", impl_order);
        section_open(out, "Where the host's time goes",
                     "What each kind of call takes on the CPU per dispatch, one after the other, in each way of "
                     "submitting. Waiting is given in words: it is the GPU's time as much as the host's. Each "
                     "implementation has its own scale.");
        legend(out, &calls);
        str_add(out, "<div class=\"cards\">\n");
        for (size_t i = 0; i < impls.count; i++)
            host_card(out, &p, impls.items[i], &calls);
        str_add(out, "</div>\n");
        numbers_table(out, "The numbers", p.items, p.count);
        section_close(out);
    }
    picked_free(&p);
}
