/* report: one self-contained HTML page from one or more records.
 *
 * Nothing on the page is fetched from anywhere and nothing needs a script.
 * Each record has its own part: numbers of different runs are never mixed in
 * one chart. The parts of the work:
 *
 *   report.c           the page: header, one part per record, claims, checks
 *   report_dispatch.c  the charts of the dispatch experiment, and its bars;
 *                      report_host.c its stacks, report_curves.c its lines
 *   report_generic.c   a bar chart for every result no other chart shows
 *   report_bars.c      bar charts          (SVG from numbers)
 *   report_lines.c     points and lines    (SVG from numbers)
 *   report_svg.c       axes, ticks, the frame of a chart
 *   report_html.c      escaping, numbers as people read them, tables
 *   report_style.c     the style sheet                                       */
#ifndef SOLO_REPORT_H
#define SOLO_REPORT_H

#include "base/str.h"
#include "lab/record_read.h"

void report_page(str *out, const record_view *records, size_t count);

#endif
