/* batch_record: several texts at a time, to a file. */
#include "base/jsonw.h"
#include "lab/batch.h"
#include "lab/record.h"

/* What is measured of each level. */
static const struct {
    const char *name;
    bool with_prompts;
} MEASURED[] = {{"making", false}, {"with prompts", true}};

/* If all tokens of a run were made in steps that read a prompt, too, there is no rate without. */
static bool is_measured(const batch_lab *lab, int level, int which)
{
    return lab->options.levels[level] && (MEASURED[which].with_prompts || lab->results[level].making.min > 0);
}

static void write_result(const batch_lab *lab, int level, int which, jsonw *j)
{
    const batch_lab_options *o = &lab->options;
    const batch_lab_result *r = &lab->results[level];
    bool whole = MEASURED[which].with_prompts;
    jsonw_object(j, NULL);
    jsonw_text(j, "name", MEASURED[which].name);
    jsonw_object(j, "params");
    jsonw_text(j, "impl", lab->device.info.impl);
    jsonw_text(j, "fuse", fusion_names[level]);
    jsonw_text(j, "submit", submit_names[SUBMIT_BATCH]);
    jsonw_count(j, "texts", o->texts);
    jsonw_count(j, "prompt_tok", o->prompt_tok);
    jsonw_count(j, "made_tok", o->made_tok);
    jsonw_end(j);
    record_samples(j, "tok/s", (samples){whole ? r->whole_samples : r->making_samples, o->repetitions, 0},
                   whole ? &r->whole : &r->making, r->counted);
    jsonw_number(j, "first_token_ms", 1e3 * r->first_s.median);
    jsonw_count(j, "dispatches_per_token", r->dispatches);
    jsonw_end(j);
}

void batch_record(const batch_lab *lab, str *out)
{
    const batch_lab_options *o = &lab->options;
    jsonw j = jsonw_to(out);
    record_begin(&j, "batch", &lab->device, 1, &lab->busy);
    jsonw_object(&j, "params");
    jsonw_flat(&j);
    jsonw_text(&j, "model", o->model_name);
    jsonw_text(&j, "cache", o->cache ? o->cache : "f16");
    jsonw_count(&j, "repetitions", o->repetitions);
    jsonw_count(&j, "seed", o->seed);
    jsonw_count(&j, "piece_tok", lab->piece_tok);
    jsonw_count(&j, "bytes", lab->bytes);
    jsonw_end(&j);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    for (int level = LEVEL_NONE; level < LEVEL_COUNT; level++)
        for (int which = 0; which < 2; which++)
            if (is_measured(lab, level, which))
                write_result(lab, level, which, &j);
    jsonw_end(&j);
    jsonw_array(&j, "checks");
    record_check(&j, "every level made the same tokens for every text, in every repetition", true, "");
    record_check(&j, "errors seen: none", true, "validation, shader, memory and device-loss errors end the run");
    jsonw_end(&j);
    jsonw_end(&j);
}
