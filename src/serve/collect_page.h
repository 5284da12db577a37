/* collect_page: the leaderboard, as HTML that needs no script. Everything that comes from records is escaped. */
#ifndef SOLO_SERVE_COLLECT_PAGE_H
#define SOLO_SERVE_COLLECT_PAGE_H

#include "serve/collect_summary.h"

/* What the address of the page asks for. */
typedef struct collect_view {
    collect_filter filter; /* its family: all charts of that one; NULL: some of each */
    collect_by by;
} collect_view;

bool collect_page(str *out, collect_store *s, const collect_view *v, err *e);

/* A chart's dots by group, each of which opens its record, and its numbers folded away (collect_plot.c). */
void collect_plot(str *out, const collect_chart *c, const char *title);

extern const char collect_style[];

#endif
