/* The language-model experiment to a person and to a file. */
#include "lab/llm.h"
#include "lab/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void measurement_name(const llm_lab *lab, const llm_measurement *c, char out[16])
{
    snprintf(out, 16, "%s%u", c->kind == LLM_PROMPT ? "pp" : "tg", llm_tokens(lab, c));
}

static void print_measurement(const llm_lab *lab, const llm_measurement *c, FILE *to)
{
    char name[16], share[16] = "", interval[32];
    double per = c->kind == LLM_PROMPT ? 1 : llm_tokens(lab, c);
    measurement_name(lab, c, name);
    if (isfinite(llm_share(lab, c)))
        snprintf(share, sizeof share, "%.0f%%", 100 * llm_share(lab, c));
    snprintf(interval, sizeof interval, "[%.1f %.1f]", c->rate.ci95[0], c->rate.ci95[1]);
    fprintf(to, "  %-7s %-6s %-6s %10.1f  %-21s %9.1f %6s %10.1f %8.1f %8.2f\n", name, fusion_names[c->level],
            submit_names[c->submit], c->rate.median, interval, 1e6 / c->rate.median, share,
            (double)c->counted.dispatches / per, (double)c->counted.passes / per, (double)c->counted.submits / per);
}

void llm_print(const llm_lab *lab, FILE *to)
{
    const llm_options *o = &lab->options;
    fprintf(to, "%s on %s (%s, %s)\n", o->model_name, lab->device.info.device, lab->device.info.impl,
            lab->device.info.driver);
    fprintf(to,
            "%.2f GB of GPU memory; a token at depth %u reads %.1f MB, which a copy at %.0f GB/s allows %.0f times a "
            "second\n\n",
            (double)lab->bytes / 1e9, o->depth_tok, (double)lab->token_bytes / 1e6, lab->device.copy_gbps,
            lab->device.copy_gbps * 1e9 / (double)lab->token_bytes);
    fprintf(to, "  %-7s %-6s %-6s %10s  %-21s %9s %6s %10s %8s %8s\n", "", "fuse", "submit", "tok/s", "95%", "us/tok",
            "limit", "dispatches", "passes", "submits");
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        print_measurement(lab, &lab->measurements[i], to);
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        if (lab->measurements[i].kind == LLM_MADE && lab->measurements[i].workgroups)
            fprintf(to, "\n  %s: one dispatch of %u workgroups of %u threads", fusion_names[lab->measurements[i].level],
                    lab->measurements[i].workgroups, lab->measurements[i].threads);
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const llm_measurement *c = &lab->measurements[i];
        if (c->kind == LLM_PROMPT && c->submit == SUBMIT_BATCH)
            fprintf(to, "\n  time to the first token after %u at %s: %.1f ms", o->prompt_tok, fusion_names[c->level],
                    1e3 * o->prompt_tok / c->rate.median);
    }
    fprintf(to, "\n");
    busy_print(&lab->busy, to);
}

/* ---- the record ------------------------------------------------------------- */

static void write_measurement(const llm_lab *lab, const llm_measurement *c, jsonw *j)
{
    char name[16];
    uint32_t n = lab->options.repetitions;
    double *rates = mem_alloc(n * sizeof *rates), per = c->kind == LLM_PROMPT ? 1 : llm_tokens(lab, c);
    for (uint32_t i = 0; i < n; i++)
        rates[i] = llm_tokens(lab, c) / c->seconds[i];
    measurement_name(lab, c, name);
    jsonw_object(j, NULL);
    jsonw_text(j, "name", name);
    jsonw_object(j, "params");
    jsonw_text(j, "impl", lab->device.info.impl);
    jsonw_text(j, "fuse", fusion_names[c->level]);
    jsonw_text(j, "submit", submit_names[c->submit]);
    jsonw_count(j, "depth", c->kind == LLM_PROMPT ? 0 : lab->options.depth_tok);
    if (c->workgroups) {
        jsonw_count(j, "workgroups", c->workgroups);
        jsonw_count(j, "threads", c->threads);
    }
    jsonw_end(j);
    record_samples(j, "tok/s", (samples){rates, n, 0}, &c->rate, c->counted);
    jsonw_number(j, "us_per_token", 1e6 / c->rate.median);
    if (c->kind == LLM_PROMPT)
        jsonw_number(j, "first_token_ms", 1e3 * llm_tokens(lab, c) / c->rate.median);
    else {
        jsonw_number(j, "share_of_copy_bandwidth", llm_share(lab, c));
        jsonw_number(j, "dispatches_per_token", (double)c->counted.dispatches / per);
        jsonw_number(j, "passes_per_token", (double)c->counted.passes / per);
        jsonw_number(j, "submits_per_token", (double)c->counted.submits / per);
        jsonw_number(j, "bind_groups_per_token", (double)c->counted.bind_groups / per);
    }
    jsonw_end(j);
    free(rates);
}

static void write_checks(const llm_lab *lab, jsonw *j)
{
    uint32_t made = 0, ties = 0;
    str detail = {0};
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        const llm_measurement *c = &lab->measurements[i];
        made += c->kind == LLM_MADE;
        if (c->kind == LLM_MADE && c->mismatch < lab->options.made_tok) {
            ties++;
            str_addf(&detail, "%s %s: from token %u on (gap %.2g of the logits' spread). ", fusion_names[c->level],
                     submit_names[c->submit], c->mismatch + 1, c->gap);
        }
    }
    jsonw_array(j, "checks");
    if (made) {
        str all = {0};
        str_addf(&all, "%u of %u, in every repetition. %s", made - ties, made, detail.data ? detail.data : "");
        record_check(j, "every level and submit policy made the same tokens, or parted at a near tie", true, all.data);
        str_free(&all);
    }
    record_check(j, "errors seen: none", true, "validation, shader, memory and device-loss errors end the run");
    jsonw_end(j);
    str_free(&detail);
}

void llm_record(const llm_lab *lab, str *out)
{
    const llm_options *o = &lab->options;
    jsonw j = jsonw_to(out);
    record_begin(&j, "llm", &lab->device, 1, &lab->busy);
    jsonw_object(&j, "params");
    jsonw_flat(&j);
    jsonw_text(&j, "model", o->model_name);
    jsonw_count(&j, "prompt", o->prompt_tok);
    jsonw_count(&j, "tokens", o->made_tok);
    jsonw_count(&j, "depth", o->depth_tok);
    jsonw_count(&j, "repetitions", o->repetitions);
    jsonw_text(&j, "cache_type", o->cache ? o->cache : "f16");
    jsonw_count(&j, "seed", o->seed);
    jsonw_bool(&j, "bounds_checked", !lab->device.info.unchecked);
    jsonw_count(&j, "gpu_bytes", lab->bytes);
    jsonw_count(&j, "token_bytes", lab->token_bytes);
    jsonw_number(&j, "load_seconds", lab->load_s);
    jsonw_number(&j, "seconds", lab->seconds);
    jsonw_end(&j);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    for (uint32_t i = 0; i < lab->measurement_count; i++)
        write_measurement(lab, &lab->measurements[i], &j);
    jsonw_end(&j);
    if (lab->reference) {
        jsonw_array(&j, "tokens");
        jsonw_flat(&j);
        for (uint32_t i = 0; i < o->made_tok; i++)
            jsonw_count(&j, NULL, lab->reference[i]);
        jsonw_end(&j);
    }
    write_checks(lab, &j);
    jsonw_end(&j);
}
