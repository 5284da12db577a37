/* The dispatch experiment as tables a person reads. */
#include "lab/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three digits that matter. */
static void figure(double us, char out[16])
{
    double size = fabs(us);
    if (size < 0.0005)
        us = size = 0;
    snprintf(out, 16, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f", us);
}

static void with_interval(double value, double lo, double hi, char out[64])
{
    char mid[16], low[16], high[16];
    figure(value, mid);
    figure(lo, low);
    figure(hi, high);
    snprintf(out, 64, "%s [%s %s]", mid, low, high);
}

static void result_text(const summary *s, char out[64])
{
    with_interval(s->median, s->ci95[0], s->ci95[1], out);
}

static void print_devices(const dispatch_lab *lab, FILE *to)
{
    for (uint32_t i = 0; i < lab->impl_count; i++) {
        const gpu_info *info = &lab->devices[i].info;
        fprintf(to, "  %-8s %s, %s", info->impl, info->device, gpu_type_name(info->type));
        if (info->type != GPU_TYPE_NONE)
            fprintf(to, ", %s, %u workgroups resident, copy %.1f GB/s", info->impl_version,
                    lab->devices[i].resident_workgroups, lab->devices[i].copy_gbps);
        fputc('\n', to);
    }
    if (!dispatch_one_device(lab))
        fprintf(to, "  These are different devices: compare within an implementation only.\n");
    for (uint32_t i = 0; i < lab->missing_count; i++)
        fprintf(to, "  not here: %s\n", lab->missing[i].text);
}

static void print_ladder(const dispatch_lab *lab, FILE *to)
{
    fprintf(to, "\nWHAT ONE DISPATCH COSTS, in us: slope of time against dispatches [95%% interval]\n");
    for (int k = 0; k < DISPATCH_KINDS; k++) {
        fprintf(to, "\n  %-10s", dispatch_kinds[k]->name);
        for (int s = SUBMIT_SYNC; s < SUBMIT_COUNT; s++)
            fprintf(to, " %-20s", submit_names[s]);
        fputc('\n', to);
        for (uint32_t d = 0; d < lab->impl_count; d++) {
            const char *impl = lab->devices[d].info.impl;
            fprintf(to, "  %-10s", impl);
            for (int s = SUBMIT_SYNC; s < SUBMIT_COUNT; s++) {
                char text[64] = "-";
                const measurement *c = dispatch_find(lab, MEASURE_DISPATCH, impl, s, dispatch_kinds[k]->name);
                if (c)
                    result_text(&c->result, text);
                fprintf(to, " %-20s", text);
            }
            fputc('\n', to);
        }
    }
    fprintf(to, "\n  sync: submit and wait each   each: submit each, wait once   pass: a pass each, one submit\n"
                "  batch: all in one pass       one: a single dispatch, a grid barrier between the steps\n");
}

static void print_calls(const dispatch_lab *lab, FILE *to)
{
    fprintf(to,
            "\nWHERE THE HOST'S TIME GOES, us per dispatch (kernel add; the clock's own cost is taken off)\n\n  %-17s",
            "");
    for (int call = 0; call < CALL_COUNT; call++)
        fprintf(to, " %14s", call_names[call]);
    fputc('\n', to);
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const measurement *k = &lab->measurements[i];
        if (k->spec.name != MEASURE_HOST)
            continue;
        double *samples = mem_alloc(k->rounds * sizeof *samples);
        fprintf(to, "  %-10s %-6s", dispatch_impl(lab, k), submit_names[k->spec.how.submit]);
        for (int call = 0; call < CALL_COUNT; call++) {
            char text[16];
            figure(measurement_calls_summary(k, 1u << call, samples).median, text);
            fprintf(to, " %14s", text);
        }
        fputc('\n', to);
        free(samples);
    }
}

static void print_device_time(const dispatch_lab *lab, FILE *to)
{
    fprintf(to, "\nTHE DEVICE'S OWN CLOCK, us per dispatch (timestamps around the work)\n\n  %-17s", "");
    for (int k = 0; k < DISPATCH_KINDS; k++)
        fprintf(to, " %-20s", dispatch_kinds[k]->name);
    fputc('\n', to);
    for (uint32_t d = 0; d < lab->impl_count; d++)
        for (int s = SUBMIT_BATCH; s <= SUBMIT_ONE; s++) {
            const char *impl = lab->devices[d].info.impl;
            if (!dispatch_find(lab, MEASURE_DEVICE, impl, s, "add"))
                continue;
            fprintf(to, "  %-10s %-6s", impl, submit_names[s]);
            for (int k = 0; k < DISPATCH_KINDS; k++) {
                char text[64];
                result_text(&dispatch_find(lab, MEASURE_DEVICE, impl, s, dispatch_kinds[k]->name)->result, text);
                fprintf(to, " %-20s", text);
            }
            fputc('\n', to);
        }
}

static const measurement *find_pattern(const dispatch_lab *lab, uint32_t device, launch_pattern pattern)
{
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const measurement *k = &lab->measurements[i];
        if (k->spec.name == MEASURE_PATTERN && k->device == device && k->spec.how.pattern == pattern)
            return k;
    }
    return NULL;
}

static void print_habits(const dispatch_lab *lab, FILE *to)
{
    fprintf(to, "\nWHAT HABITS COST, us per dispatch in one pass (kernel add)\n\n  %-10s", "");
    for (int h = 0; h < PATTERN_COUNT; h++)
        fprintf(to, " %-20s", pattern_names[h]);
    for (uint32_t d = 0; d < lab->impl_count; d++) {
        fprintf(to, "\n  %-10s", lab->devices[d].info.impl);
        for (int h = 0; h < PATTERN_COUNT; h++) {
            char text[64] = "-";
            const measurement *k = find_pattern(lab, d, h);
            if (k)
                result_text(&k->result, text);
            fprintf(to, " %-20s", text);
        }
    }
    fputc('\n', to);
}

static void print_submits(const dispatch_lab *lab, FILE *to)
{
    bool titled = false;
    for (uint32_t d = 0; d < lab->impl_count; d++) {
        const measurement *best = NULL, *only = NULL;
        for (uint32_t i = 0; i < lab->measurement_count; i++) {
            const measurement *k = &lab->measurements[i];
            if (k->spec.name != MEASURE_SUBMITS || k->device != d)
                continue;
            if (!titled)
                fprintf(to, "\nHOW MANY SUBMITS for a batch of %u dispatches, us in all (* the least)\n", k->spec.n[0]);
            titled = true;
            only = only ? only : k;
            if (!best || k->result.median < best->result.median)
                best = k;
        }
        if (!only)
            continue;
        fprintf(to, "\n  %-10s", lab->devices[d].info.impl);
        for (const measurement *k = only; k < lab->measurements + lab->measurement_count &&
                                          k->spec.name == MEASURE_SUBMITS && k->device == only->device;
             k++) {
            char text[16];
            figure(k->result.median, text);
            fprintf(to, " %u:%s%s", k->spec.how.submits, text, k == best ? "*" : "");
        }
    }
    fputc('\n', to);
}

static void print_safety(const dispatch_lab *lab, FILE *to)
{
    bool titled = false;
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const measurement *k = &lab->measurements[i];
        char text[64];
        if (k->spec.name != MEASURE_SAFETY)
            continue;
        if (!titled)
            fprintf(to, "\nWHAT SAFETY COSTS in Dawn, us per dispatch\n\n");
        titled = true;
        result_text(&k->result, text);
        fprintf(to, "  validation %-3s  robustness %-3s  %-5s %-6s %s\n",
                lab->devices[k->device].no_validation ? "off" : "on",
                lab->devices[k->device].no_robustness ? "off" : "on", k->spec.kernel, submit_names[k->spec.how.submit],
                text);
    }
}

static void print_waits(const dispatch_lab *lab, FILE *to)
{
    fprintf(to, "\nHOW IT WAITS, us per submit and wait (kernel add)\n\n");
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const measurement *k = &lab->measurements[i];
        char text[64];
        if (k->spec.name != MEASURE_WAIT || lab->devices[k->device].info.type == GPU_TYPE_NONE)
            continue;
        result_text(&k->result, text);
        fprintf(to, "  %-10s %-9s %s\n", dispatch_impl(lab, k), gpu_wait_names[k->spec.wait_mode], text);
    }
}

static void print_barriers(const dispatch_lab *lab, FILE *to)
{
    fprintf(to, "\nA GRID BARRIER inside one dispatch, us per step, by workgroups of 256 threads\n");
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const measurement *k = &lab->measurements[i];
        char text[64];
        if (k->spec.name != MEASURE_BARRIER)
            continue;
        if (i == 0 || lab->measurements[i - 1].spec.name != MEASURE_BARRIER)
            fprintf(to, "\n  %-10s", dispatch_impl(lab, k));
        result_text(&k->result, text);
        fprintf(to, " %u: %s ", k->spec.one_workgroups, text);
    }
    fputc('\n', to);
}

static void print_shares(const dispatch_lab *lab, FILE *to)
{
    static const char *const impls[] = {"dawn", "wgpu"};
    bool titled = false;
    for (int i = 0; i < 2; i++)
        for (int s = SUBMIT_SYNC; s <= SUBMIT_BATCH; s++) {
            dispatch_shares share = dispatch_share(lab, impls[i], s);
            if (!share.known)
                continue;
            if (!titled)
                fprintf(to,
                        "\nHOW MUCH OF A DISPATCH IS WEBGPU, by difference (kernel empty), us\n\n"
                        "  %-17s %8s   %-22s %-22s %s\n",
                        "", "in all", "WebGPU", "Vulkan and device", "harness");
            titled = true;
            char webgpu[64], vulkan[64];
            with_interval(share.webgpu.value, share.webgpu.lo, share.webgpu.hi, webgpu);
            with_interval(share.vulkan.value, share.vulkan.lo, share.vulkan.hi, vulkan);
            fprintf(to, "  %-10s %-6s %8.2f   %-22s %-22s %.3f\n", impls[i], submit_names[s], share.total, webgpu,
                    vulkan, share.harness);
        }
}

static void print_claims(const dispatch_lab *lab, FILE *to)
{
    claim claims[CLAIM_COUNT];
    dispatch_claims(lab, claims);
    fprintf(to, "\nWHAT OTHERS SAID, AND WHAT THIS DEVICE SAYS\n\n");
    for (int i = 0; i < CLAIM_COUNT; i++)
        fprintf(to, "  %-12s %s (%s)\n               %s\n", claim_verdict_names[claims[i].verdict], claims[i].text,
                claims[i].said_by, claims[i].here[0] ? claims[i].here : "not measured in this run");
}

void dispatch_print(const dispatch_lab *lab, FILE *to)
{
    fprintf(to,
            "solo bench dispatch: %u rounds in %u processes per implementation, %llu runs, every output checked, %.0f "
            "s\n\n",
            lab->options.rounds, lab->options.processes, (unsigned long long)lab->runs, lab->seconds);
    if (lab->left_out)
        fprintf(
            to,
            "%u more processes were left out: they would have taken more than %.0f s. This machine is busy, or slow; "
            "intervals are wider for it.\n\n",
            lab->left_out, lab->options.limit_s);
    if (lab->left_out_variants)
        fprintf(to, "Dawn with parts of its safety off was left out: to set up the others took long.\n\n");
    print_devices(lab, to);
    print_ladder(lab, to);
    print_shares(lab, to);
    print_calls(lab, to);
    print_device_time(lab, to);
    print_habits(lab, to);
    print_submits(lab, to);
    print_safety(lab, to);
    print_waits(lab, to);
    print_barriers(lab, to);
    print_claims(lab, to);
    busy_print(&lab->busy, to);
}
