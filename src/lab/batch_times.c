/* batch_times: where the time of a step of several texts goes on the device. */
#include "base/str.h"
#include "graph/run.h"
#include "lab/batch.h"

#include <stdlib.h>
#include <string.h>

static void add_time(batch_times *t, const char *kernel, uint32_t columns, double us)
{
    uint32_t i = 0;
    while (i < t->count && (t->of[i].columns != columns || strcmp(t->of[i].kernel, kernel) != 0))
        i++;
    if (i == BATCH_MOST_TIMES)
        i--; /* together with the last ones */
    if (i == t->count) {
        snprintf(t->of[i].kernel, sizeof t->of[i].kernel, "%s", kernel);
        t->of[i].columns = columns;
        t->count++;
    }
    t->of[i].count++;
    t->of[i].us += us;
}

bool batch_time(batch_times *t, batch *b, err *e)
{
    enum { TIMES = 5, ROUNDS = 8 };
    uint32_t which, rounds = ROUNDS;
    graph_run *r = batch_run(b, &which, &rounds);
    const plan *p = graph_run_plan(r, which);
    uint32_t count = graph_run_stages(r, which);
    double *ns = mem_alloc((count + 1) * sizeof *ns), whole_ns = 0;
    bool ok = graph_run_profile(r, which, TIMES, ns, &whole_ns, e);
    double step_us = 1e3 * rounds;
    *t = (batch_times){.whole_us = whole_ns / step_us};
    for (uint32_t i = 0; ok && i < count; i++) {
        graph_dispatch d = graph_run_dispatch(r, which, i);
        add_time(t, d.kernel, graph_at(p->g, p->steps[d.step].at)->s.dims[3], ns[i] / step_us);
    }
    free(ns);
    return ok;
}

void batch_print_times(const batch_times *t, FILE *to)
{
    double all = 0;
    fprintf(to, "\n  %-40s %8s %6s %10s %10s\n", "kernel", "columns", "times", "us each", "us");
    for (uint32_t i = 0; i < t->count; i++) {
        fprintf(to, "  %-40s %8u %6u %10.2f %10.1f\n", t->of[i].kernel, t->of[i].columns, t->of[i].count,
                t->of[i].us / t->of[i].count, t->of[i].us);
        all += t->of[i].us;
    }
    fprintf(to, "  %-40s %8s %6s %10s %10.1f\n", t->whole_us > 0 ? "all phases, and the one dispatch" : "all", "", "",
            "", all);
    if (t->whole_us > 0)
        fprintf(to, "  %-66s %10.1f\n", "", t->whole_us);
}
