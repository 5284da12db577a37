/* record_read: a record from its JSON, checked while it is read. */
#include "lab/record_read.h"

#include "base/file.h"
#include "base/stats.h"
#include "lab/record_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one result ---- */

static bool read_samples(record_reader *r, json_t *object, view_result *out)
{
    json_t *list;
    char key[48];
    if (!record_read_array(r, object, "samples", RECORD_MAX_SAMPLES, &list))
        return false;
    out->n = json_array_size(list);
    if (out->n == 0)
        return record_wrong(r, "samples", list ? "is empty" : "is missing");
    r->samples += out->n;
    if (r->samples > RECORD_MAX_ALL)
        return record_wrong(r, "samples", "and those before have more than 250000 entries together");
    out->samples = record_keep(r->view, out->n * sizeof *out->samples);
    for (size_t i = 0; i < out->n; i++) {
        json_t *sample = json_array_get(list, i);
        if (!json_is_number(sample)) {
            snprintf(key, sizeof key, "samples[%zu]", i);
            return record_wrong(r, key, json_is_null(sample) ? "is null" : "must be a number");
        }
        out->samples[i] = json_number_value(sample);
    }
    return true;
}

static bool read_points(record_reader *r, json_t *object, view_result *out)
{
    json_t *list;
    char key[48];
    if (!record_read_array(r, object, "points", RECORD_MAX_SAMPLES, &list))
        return false;
    out->point_count = json_array_size(list);
    out->x = record_keep(r->view, out->point_count * sizeof *out->x);
    out->y = record_keep(r->view, out->point_count * sizeof *out->y);
    for (size_t i = 0; i < out->point_count; i++) {
        json_t *point = json_array_get(list, i);
        json_t *x = json_array_get(point, 0), *y = json_array_get(point, 1);
        if (json_array_size(point) != 2 || !json_is_number(x) || !json_is_number(y)) {
            snprintf(key, sizeof key, "points[%zu]", i);
            return record_wrong(r, key, "must be two numbers");
        }
        out->x[i] = json_number_value(x);
        out->y[i] = json_number_value(y);
    }
    return true;
}

static bool read_interval(record_reader *r, json_t *object, double out[2])
{
    json_t *list;
    out[0] = out[1] = NAN;
    if (!record_read_array(r, object, "ci95", 2, &list))
        return false;
    if (!list)
        return true;
    if (json_array_size(list) != 2)
        return record_wrong(r, "ci95", "must be two numbers");
    for (size_t i = 0; i < 2; i++) {
        json_t *end = json_array_get(list, i);
        if (json_is_number(end))
            out[i] = json_number_value(end);
        else if (!json_is_null(end))
            return record_wrong(r, "ci95", "must be two numbers");
    }
    return true;
}

/* The file's statistics are not used, as a rule: they are computed again from its samples. */
static void fill_summary(view_result *out)
{
    summary s = stats_summary((samples){out->samples, out->n, out->per_process});
    out->min = s.min;
    out->p10 = s.p10;
    out->median = s.median;
    out->p90 = s.p90;
    out->mean = s.mean;
    out->sd = s.sd;
    memcpy(out->ci95, s.ci95, sizeof out->ci95);
}

static bool read_result_numbers(record_reader *r, json_t *object, view_result *out)
{
    double per_process = 1;
    if (!record_read_number(r, object, "per_process", &per_process))
        return false;
    bool sensible = isfinite(per_process) && per_process >= 1 && per_process <= (double)out->n;
    out->per_process = sensible ? (size_t)per_process : 1;
    return record_read_number(r, object, "n", &out->stated_n) && record_read_number(r, object, "min", &out->min) &&
           record_read_number(r, object, "p10", &out->p10) && record_read_number(r, object, "median", &out->median) &&
           record_read_number(r, object, "p90", &out->p90) && record_read_number(r, object, "mean", &out->mean) &&
           record_read_number(r, object, "sd", &out->sd) && read_interval(r, object, out->ci95) &&
           record_read_number(r, object, "dispatches", &out->dispatches) &&
           record_read_number(r, object, "passes", &out->passes) &&
           record_read_number(r, object, "submits", &out->submits) &&
           record_read_number(r, object, "intercept", &out->intercept) && record_read_number(r, object, "r2", &out->r2);
}

static bool read_result(record_reader *r, json_t *object, size_t i, view_result *out)
{
    if (!record_entry_is_object(r, "results", i, object) || !record_read_text(r, object, "name", &out->name))
        return false;
    if (!*out->name)
        return record_wrong(r, "name", "is missing");
    snprintf(r->where, sizeof r->where, "results[%zu] (%.80s): ", i, out->name);
    if (!record_read_text(r, object, "unit", &out->unit) ||
        !record_read_params(r, object, &out->params, &out->param_count) || !read_samples(r, object, out) ||
        !read_points(r, object, out) || !read_result_numbers(r, object, out))
        return false;
    if (!r->keep_stated)
        fill_summary(out);
    out->identity = record_identity(r, out);
    return true;
}

static bool read_results(record_reader *r, json_t *root)
{
    json_t *list;
    if (!record_read_array(r, root, "results", RECORD_MAX_RESULTS, &list))
        return false;
    if (!list)
        return record_wrong(r, "results", "is missing");
    r->view->result_count = json_array_size(list);
    r->view->results = record_keep(r->view, r->view->result_count * sizeof *r->view->results);
    for (size_t i = 0; i < r->view->result_count; i++)
        if (!read_result(r, json_array_get(list, i), i, &r->view->results[i]))
            return false;
    r->where[0] = 0;
    return true;
}

/* ---- what it ran on ---- */

/* "subgroups, subgroup_size 8–8, f16": what is false is left out. */
static bool read_summary_of(record_reader *r, json_t *object, const char *key, const char **out)
{
    json_t *members, *value;
    const char *name;
    str text = {0};
    if (!record_read_object(r, object, key, &members))
        return false;
    json_object_foreach(members, name, value)
    {
        if (json_is_false(value) || json_is_null(value))
            continue;
        str_addf(&text, "%s%s", text.length ? ", " : "", name);
        if (json_is_array(value) && json_array_size(value) == 2)
            str_addf(&text, " %s–%s", record_value_text(r, json_array_get(value, 0)),
                     record_value_text(r, json_array_get(value, 1)));
        else if (!json_is_true(value))
            str_addf(&text, " %s", record_value_text(r, value));
    }
    *out = record_keep_str(r->view, &text);
    return true;
}

static bool read_gpu(record_reader *r, json_t *object, view_gpu *out)
{
    return record_read_text(r, object, "impl", &out->impl) &&
           record_read_text(r, object, "impl_version", &out->impl_version) &&
           record_read_text(r, object, "backend", &out->backend) &&
           record_read_text(r, object, "vendor", &out->vendor) && record_read_text(r, object, "device", &out->device) &&
           record_read_text(r, object, "driver", &out->driver) &&
           record_read_text(r, object, "adapter_type", &out->adapter_type) &&
           record_read_text(r, object, "waits_by", &out->waits_by) &&
           read_summary_of(r, object, "features", &out->features) &&
           read_summary_of(r, object, "limits", &out->limits) &&
           record_read_number(r, object, "resident_workgroups", &out->resident_workgroups) &&
           record_read_number(r, object, "copy_gbps", &out->copy_gbps);
}

/* "gpus" lists every device; a run on a single one may say only "gpu". */
static bool read_gpus(record_reader *r, json_t *root)
{
    json_t *list, *first;
    if (!record_read_array(r, root, "gpus", RECORD_MAX_RESULTS, &list) || !record_read_object(r, root, "gpu", &first))
        return false;
    size_t count = list ? json_array_size(list) : first ? 1 : 0;
    r->view->gpus = record_keep(r->view, count * sizeof *r->view->gpus);
    for (; r->view->gpu_count < count; r->view->gpu_count++) {
        size_t i = r->view->gpu_count;
        json_t *gpu = list ? json_array_get(list, i) : first;
        if (!record_entry_is_object(r, list ? "gpus" : "gpu", i, gpu) || !read_gpu(r, gpu, &r->view->gpus[i]))
            return false;
    }
    r->where[0] = 0;
    return true;
}

static bool read_origin(record_reader *r, json_t *root)
{
    record_view *view = r->view;
    json_t *solo, *host;
    if (!record_read_object(r, root, "solo", &solo) || !record_read_object(r, root, "host", &host))
        return false;
    return record_read_params(r, root, &view->params, &view->param_count) &&
           record_read_text(r, solo, "version", &view->version) && record_read_text(r, solo, "commit", &view->commit) &&
           record_read_text(r, host, "os", &view->os) && record_read_text(r, host, "cpu", &view->cpu) &&
           record_read_text(r, host, "page", &view->page) && record_read_number(r, host, "cores", &view->cores) &&
           record_read_number(r, host, "busy", &view->busy) && record_read_text(r, root, "when", &view->when) &&
           record_read_text(r, root, "experiment", &view->experiment) &&
           record_read_number(r, root, "clock_ns", &view->clock_ns) &&
           record_read_number(r, root, "clock_cost_ns", &view->clock_cost_ns);
}

/* ---- what was verified, and what others say ---- */

static bool read_checks(record_reader *r, json_t *root)
{
    json_t *list;
    if (!record_read_array(r, root, "checks", RECORD_MAX_RESULTS, &list))
        return false;
    r->view->check_count = json_array_size(list);
    r->view->checks = record_keep(r->view, r->view->check_count * sizeof *r->view->checks);
    for (size_t i = 0; i < r->view->check_count; i++) {
        json_t *object = json_array_get(list, i);
        view_check *check = &r->view->checks[i];
        if (!record_entry_is_object(r, "checks", i, object) || !record_read_text(r, object, "what", &check->what) ||
            !record_read_text(r, object, "detail", &check->detail))
            return false;
        if (!json_is_boolean(json_object_get(object, "ok")))
            return record_wrong(r, "ok", "must be true or false");
        check->ok = json_is_true(json_object_get(object, "ok"));
    }
    r->where[0] = 0;
    return true;
}

static bool read_claims(record_reader *r, json_t *root)
{
    json_t *list;
    if (!record_read_array(r, root, "claims", RECORD_MAX_RESULTS, &list))
        return false;
    r->view->claim_count = json_array_size(list);
    r->view->claims = record_keep(r->view, r->view->claim_count * sizeof *r->view->claims);
    for (size_t i = 0; i < r->view->claim_count; i++) {
        json_t *object = json_array_get(list, i);
        view_claim *claim = &r->view->claims[i];
        if (!record_entry_is_object(r, "claims", i, object) || !record_read_text(r, object, "claim", &claim->claim) ||
            !record_read_text(r, object, "said_by", &claim->said_by) ||
            !record_read_text(r, object, "here", &claim->here) ||
            !record_read_text(r, object, "verdict", &claim->verdict))
            return false;
    }
    r->where[0] = 0;
    return true;
}

/* ---- the whole ---- */

static bool read_schema(record_reader *r, json_t *root)
{
    const char *schema;
    if (!json_is_object(root))
        return err_set(r->e, "%s: not a record: the outermost value must be an object", r->view->path);
    if (!record_read_text(r, root, "schema", &schema))
        return false;
    if (!*schema)
        return record_wrong(r, "schema", "is missing");
    if (strcmp(schema, "solo-record-1") != 0)
        return err_set(r->e, "%s: not a record this version reads: \"schema\" is \"%.60s\", not \"solo-record-1\"",
                       r->view->path, schema);
    return true;
}

static json_t *parse_json(const char *path, const char *text, size_t length, err *e)
{
    json_error_t why;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &why);
    if (!root) {
        record_blank_controls(why.text);
        err_set(e, "%s: not JSON: line %d: %s", path, why.line, why.text);
    }
    return root;
}

bool record_view_from(record_view *view, const char *path, json_t *root, bool keep_stated, err *e)
{
    *view = (record_view){0};
    view->path = record_keep_text(view, path);
    record_reader r = {.view = view, .e = e, .keep_stated = keep_stated};
    bool ok = read_schema(&r, root) && read_origin(&r, root) && read_gpus(&r, root) && read_results(&r, root) &&
              read_checks(&r, root) && read_claims(&r, root);
    if (!ok)
        record_view_free(view);
    return ok;
}

bool record_view_parse(record_view *view, const char *path, const char *text, size_t length, err *e)
{
    *view = (record_view){0};
    json_t *root = parse_json(path, text, length, e);
    bool ok = root && record_view_from(view, path, root, false, e);
    json_decref(root);
    return ok;
}

bool record_view_load(record_view *view, const char *path, err *e)
{
    size_t length;
    *view = (record_view){0};
    char *text = file_read(path, RECORD_MAX_BYTES, &length, e);
    if (!text)
        return false;
    bool ok = record_view_parse(view, path, text, length, e);
    free(text);
    return ok;
}
