/* decoder_report: the small decoder's times, to a person and to a record. */
#include "base/jsonw.h"
#include "lab/decoder.h"
#include "lab/record.h"

static bool is_compared(const decoder_lab *lab, int submit)
{
    return submit != SUBMIT_ONE && lab->ways[SUBMIT_ONE].measured && lab->device.info.type != GPU_TYPE_NONE;
}

void decoder_print(const decoder_lab *lab, FILE *to)
{
    fprintf(to, "%s on %s\n%d tokens through %d layers, %u times; all of it in ms\n\n", lab->device.info.impl,
            lab->device.info.device, CHAIN_DECODER_TOKENS, CHAIN_DECODER_LAYERS, lab->options.repetitions);
    fprintf(to, "%-7s %10s %8s %9s  %-19s %s\n", "submit", "dispatches", "submits", "median", "95% interval",
            "over one dispatch");
    for (int i = 0; i < SUBMIT_COUNT; i++) {
        const decoder_way *w = &lab->ways[i];
        if (!w->measured)
            continue;
        fprintf(to, "%-7s %10llu %8llu %9.3f  [%8.3f %8.3f]", submit_names[i],
                (unsigned long long)w->counted.dispatches, (unsigned long long)w->counted.submits, w->time.median / 1e3,
                w->time.ci95[0] / 1e3, w->time.ci95[1] / 1e3);
        ratio r = is_compared(lab, i) ? decoder_over_one(lab, (submit_policy)i) : (ratio){0};
        if (is_compared(lab, i))
            fprintf(to, " %6.1fx [%.1f %.1f]%s", r.value, r.lo, r.hi, r.lo <= 1 && r.hi >= 1 ? ", cannot tell" : "");
        fputc('\n', to);
    }
    fprintf(to,
            "\nOne workgroup works in all of them, as in the published benchmark; it says 20x to 71x, the median of\n"
            "92 devices (kernelfusion.dev), without saying how many dispatches lay between two waits.\n");
    busy_print(&lab->busy, to);
}

static void write_way(const decoder_lab *lab, int submit, jsonw *j)
{
    const decoder_way *w = &lab->ways[submit];
    jsonw_object(j, NULL);
    jsonw_text(j, "name", "decoder");
    jsonw_object(j, "params");
    jsonw_text(j, "impl", lab->device.info.impl);
    jsonw_text(j, "submit", submit_names[submit]);
    jsonw_text(j, "kernel", chain_decoder.name);
    jsonw_count(j, "tokens", CHAIN_DECODER_TOKENS);
    jsonw_count(j, "layers", CHAIN_DECODER_LAYERS);
    jsonw_count(j, "steps", CHAIN_DECODER_STEPS);
    jsonw_end(j);
    record_samples(j, "us", (samples){w->us, lab->options.repetitions, 0}, &w->time, w->counted);
    jsonw_end(j);
}

void decoder_record(const decoder_lab *lab, str *out)
{
    jsonw j = jsonw_to(out);
    char checked[80];
    snprintf(checked, sizeof checked, "%u runs, x and the cache of all tokens", lab->outputs_checked);
    record_begin(&j, "decoder", &lab->device, 1, &lab->busy);
    jsonw_object(&j, "params");
    jsonw_flat(&j);
    jsonw_count(&j, "repetitions", lab->options.repetitions);
    jsonw_count(&j, "seed", lab->options.seed);
    jsonw_number(&j, "seconds", lab->seconds);
    jsonw_end(&j);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    for (int i = 0; i < SUBMIT_COUNT; i++)
        if (lab->ways[i].measured)
            write_way(lab, i, &j);
    jsonw_end(&j);
    jsonw_array(&j, "checks");
    if (lab->outputs_checked)
        record_check(&j, "every run's output is the CPU's", true, checked);
    record_check(&j, "errors seen: none", true, "validation, shader, memory and device-loss errors end the run");
    jsonw_end(&j);
    jsonw_end(&j);
}
