/* base/progress.h in a page, which draws it. */
#include "base/progress.h"
#include "base/clock.h"
#include "web/host.h"

static const uint64_t REDRAW_NS = 50000000;

progress progress_start(const char *what, uint64_t total)
{
    page_progress(what, 0, (double)total);
    return (progress){.what = what, .total = total, .started_ns = clock_ns(), .on = 1};
}

void progress_at(progress *p, uint64_t done)
{
    uint64_t now = clock_ns();
    if (!p->on || (now - p->shown_ns < REDRAW_NS && done < p->total))
        return;
    p->shown_ns = now;
    page_progress(p->what, (double)done, (double)p->total);
}

void progress_end(progress *p)
{
    if (p->on)
        page_progress(p->what, (double)p->total, (double)p->total);
}
