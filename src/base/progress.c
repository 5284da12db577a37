/* progress: how far long work is, drawn on a terminal. */
#include "base/progress.h"
#include "base/clock.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR_CELLS = 24 };
static const uint64_t REDRAW_NS = 100000000;

static bool is_shown;

void progress_show(void)
{
    is_shown = true;
}

progress progress_start(const char *what, uint64_t total)
{
    return progress_start_at(what, total, 0);
}

progress progress_start_at(const char *what, uint64_t total, uint64_t first)
{
    return (progress){.what = what,
                      .total = total,
                      .first = first,
                      .started_ns = clock_ns(),
                      .on = is_shown && isatty(err_descriptor)};
}

void progress_at(progress *p, uint64_t done)
{
    uint64_t now = p->on ? clock_ns() : 0;
    if (!p->on || now - p->shown_ns < REDRAW_NS || p->total == 0)
        return;
    p->shown_ns = now;
    double share = (double)done / (double)p->total;
    double left_s = done > p->first ? (double)(now - p->started_ns) / 1e9 * ((double)p->total - (double)done) /
                                          (double)(done - p->first)
                                    : 0;
    fprintf(stderr, "\r%s [", p->what);
    for (int i = 0; i < BAR_CELLS; i++)
        fputc(i < share * BAR_CELLS ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f%%  %.0f s left \033[K", share * 100, left_s);
}

void progress_end(progress *p)
{
    if (p->on)
        fputs("\r\033[K", stderr);
}
