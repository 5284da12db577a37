/* busy: the processors' time as the system counts it, without this process's own. */
#include "lab/busy.h"
#include "base/clock.h"
#include "base/os.h"

static const double SHORTEST_S = 0.5;

void busy_between(busy *b, const busy_times *from, const busy_times *to)
{
    double wall = to->wall_s - from->wall_s, others = to->all_s - from->all_s - (to->own_s - from->own_s);
    bool known = from->processors && from->processors == to->processors && wall >= SHORTEST_S;
    b->processors = known ? to->processors : 0;
    b->others = known && others > 0 ? others / wall : 0;
    if (b->others > b->processors)
        b->others = b->processors;
}

bool busy_is(double others, double processors)
{
    return others >= 0.5 && others >= 0.05 * processors;
}

static busy_times look(void)
{
    busy_times t = {.wall_s = clock_us() * 1e-6};
    if (!os_work_time(&t.all_s, &t.own_s, &t.processors))
        t.processors = 0;
    return t;
}

void busy_begin(busy *b)
{
    b->began = look();
}

void busy_end(busy *b)
{
    busy_times now = look();
    busy_between(b, &b->began, &now);
}

void busy_write(const busy *b, jsonw *j)
{
    if (b && b->processors)
        jsonw_number(j, "busy", b->others);
}

void busy_print(const busy *b, FILE *to)
{
    if (b->processors && busy_is(b->others, b->processors))
        fprintf(to,
                "\nthe machine was busy: %.1f of its %u processors did other work meanwhile; times are longer than on "
                "an idle one, and lie further apart\n",
                b->others, b->processors);
}
