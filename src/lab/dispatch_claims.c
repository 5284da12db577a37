/* dispatch_claims: published claims about dispatch cost, beside the results of this run. */
#include "lab/dispatch.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const claim_verdict_names[] = {"confirmed", "partly", "contradicted", "cannot tell"};

static double cost(const dispatch_lab *lab, const char *impl, submit_policy submit, const char *kind)
{
    const measurement *k = dispatch_find(lab, MEASURE_DISPATCH, impl, submit, kind);
    return k ? k->result.median : NAN;
}

/* Host time of one dispatch with a recording and a submit of its own: every
 * call but the wait. */
static summary api_cost(const dispatch_lab *lab, const char *impl)
{
    const measurement *k = dispatch_find(lab, MEASURE_HOST, impl, SUBMIT_EACH, "add");
    if (!k)
        return stats_summary((samples){0});
    double *values = mem_alloc(k->rounds * sizeof *values);
    summary s = measurement_calls_summary(k, (1u << CALL_WAIT) - 1, values);
    free(values);
    return s;
}

static bool on_software(const dispatch_lab *lab)
{
    return lab->devices[0].info.type == GPU_TYPE_SOFTWARE;
}

static samples samples_of(const measurement *k)
{
    return (samples){k->samples, k->rounds, k->rounds_per_process};
}

/* Cost of one way over cost of another, with its interval. */
static ratio cost_ratio(const measurement *over, const measurement *under)
{
    if (!over || !under)
        return (ratio){NAN, NAN, NAN};
    return stats_ratio(samples_of(under), samples_of(over));
}

/* Fewer processes than this do not show how processes differ. */
enum { FEWEST_PROCESSES = 4 };

/* A ratio that the run did not pin down: too few processes, an interval that spans
 * a factor of two, or a cost that came out as nothing. */
static bool vague(const dispatch_lab *lab, ratio r)
{
    return lab->options.processes < FEWEST_PROCESSES || !(r.lo > 0) || !isfinite(r.hi) || r.hi > 2 * r.lo;
}

static void add_figure(claim *c, const char *fmt, ...)
{
    size_t used = strlen(c->here);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->here + used, sizeof c->here - used, fmt, ap);
    va_end(ap);
}

/* A cost that came out as nothing, or as less, is none, and has no ratio to another. */
static void add_interval(claim *c, double value, const double ends[2], const char *unit, int digits)
{
    for (double left = value; left < 1 && digits < 4; left *= 10)
        digits++; /* 0.04, not 0.0 */
    if (ends[0] > 0 && isfinite(ends[1]))
        add_figure(c, "%.*f%s [%.*f %.*f]", digits, value, unit, digits, ends[0], digits, ends[1]);
    else
        add_figure(c, "cannot tell");
}

static void add_ratio(claim *c, ratio r, int digits)
{
    add_interval(c, r.value, (double[]){r.lo, r.hi}, "x", digits);
}

static void add_cost(claim *c, const summary *us, int digits)
{
    add_interval(c, us->median, us->ci95, " us", digits);
}

static const char *separator(const claim *c)
{
    return c->here[0] ? ", " : "";
}

static const char *const WEBGPU[] = {"dawn", "wgpu", "web"};
enum { WEBGPU_COUNT = 3 };

static claim naive_timing(const dispatch_lab *lab)
{
    claim c = {"timing one operation and waiting for it overstates the cost of a dispatch about 20x",
               "arXiv 2604.02344", "", CLAIM_CANNOT_TELL};
    bool near = true, far = true, any = false;
    for (int i = 0; i < WEBGPU_COUNT; i++) {
        ratio r = cost_ratio(dispatch_find(lab, MEASURE_DISPATCH, WEBGPU[i], SUBMIT_SYNC, "empty"),
                             dispatch_find(lab, MEASURE_DISPATCH, WEBGPU[i], SUBMIT_BATCH, "empty"));
        if (!isfinite(r.value))
            continue;
        add_figure(&c, "%s%s: wait each over one pass: ", separator(&c), WEBGPU[i]);
        add_ratio(&c, r, 1);
        near = near && r.lo >= 10 && r.hi <= 40;
        far = far && (r.hi < 10 || r.lo > 40);
        any = any || !vague(lab, r);
    }
    if (any)
        c.verdict = near ? CLAIM_CONFIRMED : far ? CLAIM_CONTRADICTED : CLAIM_PARTLY;
    return c;
}

static claim api_cost_range(const dispatch_lab *lab)
{
    claim c = {"the API costs 24 to 36 us per dispatch on Vulkan (an encoder, a pass and a submit each)",
               "arXiv 2604.02344", "", CLAIM_CANNOT_TELL};
    double low = INFINITY, high = INFINITY; /* of the cheaper one */
    for (int i = 0; i < WEBGPU_COUNT; i++) {
        summary us = api_cost(lab, WEBGPU[i]);
        if (us.n == 0)
            continue;
        add_figure(&c, "%s%s on the host: ", separator(&c), WEBGPU[i]);
        add_cost(&c, &us, 1);
        low = fmin(low, us.ci95[0]);
        high = fmin(high, us.ci95[1]);
    }
    const measurement *pass = dispatch_find(lab, MEASURE_DISPATCH, "dawn", SUBMIT_BATCH, "empty");
    if (pass) {
        add_figure(&c, "%sdawn with the device's time, all in one pass: ", separator(&c));
        add_cost(&c, &pass->result, 2);
    }
    if (!isfinite(low))
        return c;
    if (on_software(lab))
        add_figure(&c, " (software Vulkan is not the claim's hardware)");
    else if (low >= 24 && high <= 36)
        c.verdict = CLAIM_CONFIRMED;
    else if (high < 24 || low > 36)
        c.verdict = CLAIM_CONTRADICTED;
    return c;
}

static claim implementation_choice(const dispatch_lab *lab)
{
    claim c = {"the choice of implementation matters 2.2x within one backend", "arXiv 2604.02344", "",
               CLAIM_CANNOT_TELL};
    int large = 0, small = 0, known = 0;
    for (int s = SUBMIT_SYNC; s <= SUBMIT_BATCH; s++) {
        ratio r = cost_ratio(dispatch_find(lab, MEASURE_DISPATCH, "wgpu", s, "empty"),
                             dispatch_find(lab, MEASURE_DISPATCH, "dawn", s, "empty"));
        add_figure(&c, "%s%s: wgpu over dawn ", separator(&c), submit_names[s]);
        add_ratio(&c, r, 2);
        bool clear = !vague(lab, r);
        known += clear;
        large += clear && (r.lo > 1.8 || r.hi < 1 / 1.8);
        small += clear && r.lo > 1 / 1.8 && r.hi < 1.8;
    }
    if (!isfinite(cost(lab, "wgpu", SUBMIT_SYNC, "empty") + cost(lab, "dawn", SUBMIT_SYNC, "empty")))
        c.here[0] = 0;
    else if (known >= 3)
        c.verdict = large >= 3 ? CLAIM_CONFIRMED : small == known ? CLAIM_CONTRADICTED : CLAIM_PARTLY;
    return c;
}

static claim megakernel_dispatch(const dispatch_lab *lab)
{
    static const submit_policy against[] = {SUBMIT_SYNC, SUBMIT_EACH, SUBMIT_BATCH};
    claim c = {"one dispatch instead of a thousand is 20 to 71x faster (median over 92 devices)", "kernelfusion.dev",
               "", CLAIM_CANNOT_TELL};
    bool all = true, some = false, any = false;
    for (int i = 0; i < WEBGPU_COUNT; i++)
        for (int s = 0; s < 3; s++) {
            ratio r = cost_ratio(dispatch_find(lab, MEASURE_DISPATCH, WEBGPU[i], against[s], "add"),
                                 dispatch_find(lab, MEASURE_DISPATCH, WEBGPU[i], SUBMIT_ONE, "add"));
            if (!isfinite(r.value))
                continue;
            add_figure(&c, "%s%s %s ", separator(&c), WEBGPU[i], submit_names[against[s]]);
            add_ratio(&c, r, 1);
            any = any || !vague(lab, r);
            all = all && !vague(lab, r) && r.lo >= 20;
            some = some || (!vague(lab, r) && r.value >= 20);
        }
    if (any)
        c.verdict = all ? CLAIM_CONFIRMED : some ? CLAIM_PARTLY : CLAIM_CONTRADICTED;
    return c;
}

dispatch_shares dispatch_share(const dispatch_lab *lab, const char *impl, submit_policy submit)
{
    const measurement *webgpu = dispatch_find(lab, MEASURE_DISPATCH, impl, submit, "empty");
    const measurement *vulkan = dispatch_find(lab, MEASURE_DISPATCH, "vulkan", submit, "empty");
    const measurement *stub = dispatch_find(lab, MEASURE_DISPATCH, "stub", submit, "empty");
    dispatch_shares s = {.known = webgpu && vulkan && stub && dispatch_one_device(lab)};
    if (s.known) {
        s.total = webgpu->result.median;
        s.webgpu = stats_difference(samples_of(vulkan), samples_of(webgpu));
        s.vulkan = stats_difference(samples_of(stub), samples_of(vulkan));
        s.harness = stub->result.median;
    }
    return s;
}

static claim validation_is_the_overhead(const dispatch_lab *lab)
{
    claim c = {"validation is what a WebGPU dispatch costs more", "common belief", "", CLAIM_CANNOT_TELL};
    const measurement *with = NULL, *without = NULL;
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const measurement *k = &lab->measurements[i];
        const lab_device *d = &lab->devices[k->device];
        if (k->spec.name != MEASURE_SAFETY || strcmp(d->info.impl, "dawn") != 0 || k->spec.how.submit != SUBMIT_BATCH ||
            strcmp(k->spec.kernel, "add") != 0 || d->no_robustness)
            continue;
        *(d->no_validation ? &without : &with) = k;
    }
    const measurement *vulkan = dispatch_find(lab, MEASURE_DISPATCH, "vulkan", SUBMIT_BATCH, "add");
    if (!with || !without || !vulkan || !dispatch_one_device(lab))
        return c;
    ratio saving = cost_ratio(with, without), gap = cost_ratio(with, vulkan);
    const measurement *all[] = {with, without, vulkan};
    for (int i = 0; i < 3; i++) {
        add_figure(&c, "%s", (const char *[]){"one pass: dawn ", ", without validation ", ", bare Vulkan "}[i]);
        add_cost(&c, &all[i]->result, 2);
    }
    if (gap.hi <= 1)
        add_figure(&c, ": there is no gap to explain");
    else if (gap.lo <= 1)
        add_figure(&c, ": the gap to bare Vulkan is within the noise");
    else {
        /* Shares of the gap, at both ends of the saving's interval. */
        double least = (1 - 1 / saving.lo) / (1 - 1 / gap.value), most = (1 - 1 / saving.hi) / (1 - 1 / gap.value);
        add_figure(&c, ": validation is %.0f%% [%.0f %.0f] of the gap",
                   100 * (1 - 1 / saving.value) / (1 - 1 / gap.value), 100 * least, 100 * most);
        c.verdict = most < 0.5                   ? CLAIM_CONTRADICTED
                    : least > 0.75               ? CLAIM_CONFIRMED
                    : least > 0.1 && most < 0.95 ? CLAIM_PARTLY
                                                 : CLAIM_CANNOT_TELL;
    }
    if (gap.hi <= 1)
        c.verdict = CLAIM_CONTRADICTED;
    return c;
}

void dispatch_claims(const dispatch_lab *lab, claim claims[CLAIM_COUNT])
{
    claims[0] = naive_timing(lab);
    claims[1] = api_cost_range(lab);
    claims[2] = implementation_choice(lab);
    claims[3] = megakernel_dispatch(lab);
    claims[4] = validation_is_the_overhead(lab);
}
