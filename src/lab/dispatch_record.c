/* The dispatch experiment as a record. */
#include "lab/dispatch.h"
#include "lab/record.h"
#include "lab/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_params(const dispatch_lab *lab, const measurement *k, const char *call, jsonw *j)
{
    const measurement_spec *spec = &k->spec;
    jsonw_object(j, "params");
    jsonw_text(j, "impl", dispatch_impl(lab, k));
    jsonw_text(j, "submit", submit_names[spec->how.submit]);
    jsonw_text(j, "kernel", spec->kernel);
    if (call)
        jsonw_text(j, "call", call);
    if (spec->name == MEASURE_PATTERN)
        jsonw_text(j, "habit", pattern_names[spec->how.pattern]);
    if (spec->name == MEASURE_SUBMITS) {
        jsonw_count(j, "dispatches", spec->n[0]);
        jsonw_count(j, "submits", spec->how.submits);
    }
    if (spec->name == MEASURE_SAFETY) {
        jsonw_bool(j, "validation", !lab->devices[k->device].no_validation);
        jsonw_bool(j, "robustness", !lab->devices[k->device].no_robustness);
    }
    if (spec->name == MEASURE_WAIT)
        jsonw_text(j, "wait", gpu_wait_names[spec->wait_mode]);
    if (spec->how.submit == SUBMIT_ONE)
        jsonw_count(j, "workgroups", spec->one_workgroups);
    jsonw_end(j);
}

static void write_points(const measurement *k, jsonw *j)
{
    jsonw_array(j, "points");
    for (uint32_t i = 0; i < k->rounds * k->spec.points; i++) {
        jsonw_array(j, NULL);
        jsonw_count(j, NULL, k->spec.n[i % k->spec.points]);
        jsonw_number(j, NULL, k->us[i]);
        jsonw_end(j);
    }
    jsonw_end(j);
    jsonw_number(j, "intercept", k->fit.intercept);
    jsonw_number(j, "r2", k->fit.r2);
}

static void write_measurement(const dispatch_lab *lab, const measurement *k, jsonw *j)
{
    jsonw_object(j, NULL);
    jsonw_text(j, "name", measurement_names[k->spec.name]);
    write_params(lab, k, NULL, j);
    record_samples(j, "us", (samples){k->samples, k->rounds, k->rounds_per_process}, &k->result, k->counted);
    if (k->spec.points > 1)
        write_points(k, j);
    jsonw_end(j);
}

static void write_calls(const dispatch_lab *lab, const measurement *k, jsonw *j)
{
    double *values = mem_alloc(k->rounds * sizeof *values);
    for (int call = 0; call < CALL_COUNT; call++) {
        summary s = measurement_calls_summary(k, 1u << call, values);
        jsonw_object(j, NULL);
        jsonw_text(j, "name", measurement_names[k->spec.name]);
        write_params(lab, k, call_names[call], j);
        record_samples(j, "us", (samples){values, k->rounds, k->rounds_per_process}, &s, k->counted);
        jsonw_end(j);
    }
    free(values);
}

/* What was verified, and how often; nothing is said of what was not. */
static void count_check(jsonw *j, const char *what, uint64_t count, const char *of)
{
    str detail = {0};
    str_addf(&detail, "%llu %s", (unsigned long long)count, of);
    if (count > 0)
        record_check(j, what, true, detail.data);
    str_free(&detail);
}

static void write_checks(const dispatch_lab *lab, jsonw *j)
{
    jsonw_array(j, "checks");
    count_check(j, "outputs equal the CPU reference, and so each other across launch strategies", lab->outputs_checked,
                "runs, each after it was timed");
    count_check(j, "waits ended after the device's own clock says the work did", lab->waits_checked,
                "timed runs, and every strategy and way of waiting in each process beforehand");
    char own[128];
    snprintf(own, sizeof own, "each implementation with a %s of its own, the runs of all interleaved in random order",
             worker_own);
    count_check(j, own, lab->options.processes, "times anew per implementation; intervals count these");
    record_check(j, "errors seen: none", true, "validation, shader, memory and device-loss errors end the run");
    record_check(j, "all implementations on one device", dispatch_one_device(lab), lab->devices[0].info.device);
    for (uint32_t i = 0; i < lab->missing_count; i++)
        record_check(j, "implementation not here", true, lab->missing[i].text);
    jsonw_end(j);
}

static void write_claims(const dispatch_lab *lab, jsonw *j)
{
    claim claims[CLAIM_COUNT];
    dispatch_claims(lab, claims);
    jsonw_array(j, "claims");
    jsonw_rows(j);
    for (int i = 0; i < CLAIM_COUNT; i++) {
        jsonw_object(j, NULL);
        jsonw_text(j, "claim", claims[i].text);
        jsonw_text(j, "said_by", claims[i].said_by);
        jsonw_text(j, "here", claims[i].here);
        jsonw_text(j, "verdict", claim_verdict_names[claims[i].verdict]);
        jsonw_end(j);
    }
    jsonw_end(j);
}

void dispatch_record(const dispatch_lab *lab, str *out)
{
    jsonw j = jsonw_to(out);
    record_begin(&j, "dispatch", lab->devices, lab->impl_count, &lab->busy);
    jsonw_object(&j, "params");
    jsonw_flat(&j);
    jsonw_bool(&j, "quick", lab->options.quick);
    jsonw_count(&j, "rounds", lab->options.rounds);
    jsonw_count(&j, "processes", lab->options.processes);
    jsonw_count(&j, "seed", lab->options.seed);
    jsonw_count(&j, "runs", lab->runs);
    jsonw_number(&j, "seconds", lab->seconds);
    jsonw_end(&j);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    for (uint32_t i = 0; i < lab->measurement_count; i++) {
        if (lab->measurements[i].spec.name == MEASURE_HOST)
            write_calls(lab, &lab->measurements[i], &j);
        else
            write_measurement(lab, &lab->measurements[i], &j);
    }
    jsonw_end(&j);
    write_checks(lab, &j);
    write_claims(lab, &j);
    jsonw_end(&j);
}
