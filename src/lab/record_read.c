#include "lab/record_read.h"

#include "base/file.h"
#include "base/stats.h"
#include "base/str.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory: one list of blocks, so that any failure frees everything ---- */

typedef struct view_block {
    struct view_block *next;
    max_align_t bytes[];
} view_block;

static void *keep(record_view *view, size_t bytes)
{
    view_block *block = mem_alloc(sizeof *block + bytes);
    block->next = view->blocks;
    view->blocks = block;
    return block->bytes;
}

void record_view_free(record_view *view)
{
    for (view_block *block = view->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *view = (record_view){0};
}

/* Control characters, also the two-byte ones U+0080 to U+009F, to spaces. */
static void blank_controls(char *s)
{
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = ' ';
        else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            p[0] = p[1] = ' ';
    }
}

static const char *keep_text(record_view *view, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(keep(view, bytes), text, bytes);
    blank_controls(copy);
    return copy;
}

static const char *keep_str(record_view *view, str *s)
{
    const char *kept = keep_text(view, s->data ? s->data : "");
    str_free(s);
    return kept;
}

/* ---- typed access: each names the file and the key when it fails ---- */

typedef struct reader {
    record_view *view;
    err *e;
    char where[160]; /* "results[3] (dispatch): ", or "" at the top */
} reader;

static bool wrong(reader *r, const char *key, const char *what)
{
    return err_set(r->e, "%s: not a record: %s\"%s\" %s", r->view->path, r->where, key, what);
}

/* null is what the writer makes of a number that is not finite: absent. */
static json_t *present(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static bool read_text(reader *r, json_t *object, const char *key, const char **out)
{
    json_t *value = present(object, key);
    *out = "";
    if (!value)
        return true;
    if (!json_is_string(value))
        return wrong(r, key, "must be a string");
    *out = keep_text(r->view, json_string_value(value));
    return true;
}

static bool read_number(reader *r, json_t *object, const char *key, double *out)
{
    json_t *value = present(object, key);
    *out = NAN;
    if (!value)
        return true;
    if (!json_is_number(value))
        return wrong(r, key, "must be a number");
    *out = json_number_value(value);
    return true;
}

/* An array of at most `limit` entries; `*out` is NULL when the key is absent. */
static bool read_array(reader *r, json_t *object, const char *key, size_t limit, json_t **out)
{
    char what[64];
    *out = present(object, key);
    if (!*out)
        return true;
    if (!json_is_array(*out))
        return wrong(r, key, "must be an array");
    if (json_array_size(*out) > limit) {
        snprintf(what, sizeof what, "has more than %zu entries", limit);
        return wrong(r, key, what);
    }
    return true;
}

static bool read_object(reader *r, json_t *object, const char *key, json_t **out)
{
    *out = present(object, key);
    return !*out || json_is_object(*out) || wrong(r, key, "must be an object");
}

static bool entry_is_object(reader *r, const char *list, size_t i, json_t *entry)
{
    snprintf(r->where, sizeof r->where, "%s[%zu]: ", list, i);
    if (json_is_object(entry))
        return true;
    return err_set(r->e, "%s: not a record: %s[%zu] must be an object", r->view->path, list, i);
}

/* ---- parameters and the identity made of them ---- */

static const char *value_text(reader *r, json_t *value)
{
    char number[32];
    if (json_is_string(value))
        return keep_text(r->view, json_string_value(value));
    if (json_is_number(value)) {
        snprintf(number, sizeof number, "%.9g", json_number_value(value));
        return keep_text(r->view, number);
    }
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    const char *text = keep_text(r->view, dumped ? dumped : "?");
    free(dumped);
    return text;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const view_param *)a)->key, ((const view_param *)b)->key);
}

static bool read_params(reader *r, json_t *object, view_param **out, size_t *count)
{
    json_t *params, *value;
    const char *key;
    *out = NULL;
    *count = 0;
    if (!read_object(r, object, "params", &params))
        return false;
    if (!params)
        return true;
    *out = keep(r->view, json_object_size(params) * sizeof **out);
    json_object_foreach(params, key, value)(*out)[(*count)++] =
        (view_param){.key = keep_text(r->view, key),
                     .text = value_text(r, value),
                     .number = json_is_number(value) ? json_number_value(value) : NAN};
    if (*count)
        qsort(*out, *count, sizeof **out, by_key);
    return true;
}

/* Quoted where the text could be mistaken for a part of the identity. */
static void add_word(str *out, const char *text)
{
    bool plain = *text != 0;
    for (const char *p = text; *p; p++)
        plain = plain && *p != ' ' && *p != '=' && *p != '"' && *p != '\\';
    if (plain) {
        str_add(out, text);
        return;
    }
    str_add(out, "\"");
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            str_add(out, "\\");
        str_add_bytes(out, p, 1);
    }
    str_add(out, "\"");
}

static void add_params(str *out, const view_param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (out->length)
            str_add(out, " ");
        add_word(out, params[i].key);
        str_add(out, "=");
        add_word(out, params[i].text);
    }
}

const char *view_param_text(const view_result *result, const char *key)
{
    for (size_t i = 0; i < result->param_count; i++)
        if (strcmp(result->params[i].key, key) == 0)
            return result->params[i].text;
    return "";
}

double view_param_number(const view_result *result, const char *key)
{
    for (size_t i = 0; i < result->param_count; i++)
        if (strcmp(result->params[i].key, key) == 0)
            return result->params[i].number;
    return NAN;
}

/* ---- one result ---- */

static bool read_samples(reader *r, json_t *object, view_result *out)
{
    json_t *list;
    char key[48];
    if (!read_array(r, object, "samples", RECORD_MAX_SAMPLES, &list))
        return false;
    out->n = json_array_size(list);
    if (out->n == 0)
        return wrong(r, "samples", list ? "is empty" : "is missing");
    out->samples = keep(r->view, out->n * sizeof *out->samples);
    for (size_t i = 0; i < out->n; i++) {
        json_t *sample = json_array_get(list, i);
        if (!json_is_number(sample)) {
            snprintf(key, sizeof key, "samples[%zu]", i);
            return wrong(r, key, json_is_null(sample) ? "is null" : "must be a number");
        }
        out->samples[i] = json_number_value(sample);
    }
    return true;
}

static bool read_points(reader *r, json_t *object, view_result *out)
{
    json_t *list;
    char key[48];
    if (!read_array(r, object, "points", RECORD_MAX_SAMPLES, &list))
        return false;
    out->point_count = json_array_size(list);
    out->x = keep(r->view, out->point_count * sizeof *out->x);
    out->y = keep(r->view, out->point_count * sizeof *out->y);
    for (size_t i = 0; i < out->point_count; i++) {
        json_t *point = json_array_get(list, i);
        json_t *x = json_array_get(point, 0), *y = json_array_get(point, 1);
        if (json_array_size(point) != 2 || !json_is_number(x) || !json_is_number(y)) {
            snprintf(key, sizeof key, "points[%zu]", i);
            return wrong(r, key, "must be two numbers");
        }
        out->x[i] = json_number_value(x);
        out->y[i] = json_number_value(y);
    }
    return true;
}

static bool read_interval(reader *r, json_t *object, double out[2])
{
    json_t *list;
    out[0] = out[1] = NAN;
    if (!read_array(r, object, "ci95", 2, &list))
        return false;
    if (!list)
        return true;
    if (json_array_size(list) != 2)
        return wrong(r, "ci95", "must be two numbers");
    for (size_t i = 0; i < 2; i++) {
        json_t *end = json_array_get(list, i);
        if (json_is_number(end))
            out[i] = json_number_value(end);
        else if (!json_is_null(end))
            return wrong(r, "ci95", "must be two numbers");
    }
    return true;
}

/* What the file says of its samples is not believed: it is worked out again. */
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

static bool read_result_numbers(reader *r, json_t *object, view_result *out)
{
    double n, per_process = 1;
    if (!read_number(r, object, "per_process", &per_process))
        return false;
    bool sensible = isfinite(per_process) && per_process >= 1 && per_process <= (double)out->n;
    out->per_process = sensible ? (size_t)per_process : 1;
    return read_number(r, object, "n", &n) && read_number(r, object, "min", &out->min) &&
           read_number(r, object, "p10", &out->p10) && read_number(r, object, "median", &out->median) &&
           read_number(r, object, "p90", &out->p90) && read_number(r, object, "mean", &out->mean) &&
           read_number(r, object, "sd", &out->sd) && read_interval(r, object, out->ci95) &&
           read_number(r, object, "dispatches", &out->dispatches) && read_number(r, object, "passes", &out->passes) &&
           read_number(r, object, "submits", &out->submits) && read_number(r, object, "intercept", &out->intercept) &&
           read_number(r, object, "r2", &out->r2);
}

static bool read_result(reader *r, json_t *object, size_t i, view_result *out)
{
    if (!entry_is_object(r, "results", i, object) || !read_text(r, object, "name", &out->name))
        return false;
    if (!*out->name)
        return wrong(r, "name", "is missing");
    snprintf(r->where, sizeof r->where, "results[%zu] (%.80s): ", i, out->name);
    if (!read_text(r, object, "unit", &out->unit) || !read_params(r, object, &out->params, &out->param_count) ||
        !read_samples(r, object, out) || !read_points(r, object, out) || !read_result_numbers(r, object, out))
        return false;
    fill_summary(out);
    str identity = {0};
    add_word(&identity, out->name);
    add_params(&identity, out->params, out->param_count);
    out->identity = keep_str(r->view, &identity);
    return true;
}

static bool read_results(reader *r, json_t *root)
{
    json_t *list;
    if (!read_array(r, root, "results", RECORD_MAX_RESULTS, &list))
        return false;
    if (!list)
        return wrong(r, "results", "is missing");
    r->view->result_count = json_array_size(list);
    r->view->results = keep(r->view, r->view->result_count * sizeof *r->view->results);
    for (size_t i = 0; i < r->view->result_count; i++)
        if (!read_result(r, json_array_get(list, i), i, &r->view->results[i]))
            return false;
    r->where[0] = 0;
    return true;
}

/* ---- what it ran on ---- */

/* "subgroups, subgroup_size 8–8, f16": what is false is left out. */
static bool read_summary_of(reader *r, json_t *object, const char *key, const char **out)
{
    json_t *members, *value;
    const char *name;
    str text = {0};
    if (!read_object(r, object, key, &members))
        return false;
    json_object_foreach(members, name, value)
    {
        if (json_is_false(value) || json_is_null(value))
            continue;
        str_addf(&text, "%s%s", text.length ? ", " : "", name);
        if (json_is_array(value) && json_array_size(value) == 2)
            str_addf(&text, " %s–%s", value_text(r, json_array_get(value, 0)), value_text(r, json_array_get(value, 1)));
        else if (!json_is_true(value))
            str_addf(&text, " %s", value_text(r, value));
    }
    *out = keep_str(r->view, &text);
    return true;
}

static bool read_gpu(reader *r, json_t *object, view_gpu *out)
{
    return read_text(r, object, "impl", &out->impl) && read_text(r, object, "impl_version", &out->impl_version) &&
           read_text(r, object, "backend", &out->backend) && read_text(r, object, "vendor", &out->vendor) &&
           read_text(r, object, "device", &out->device) && read_text(r, object, "driver", &out->driver) &&
           read_text(r, object, "adapter_type", &out->adapter_type) &&
           read_text(r, object, "waits_by", &out->waits_by) && read_summary_of(r, object, "features", &out->features) &&
           read_summary_of(r, object, "limits", &out->limits) &&
           read_number(r, object, "resident_workgroups", &out->resident_workgroups) &&
           read_number(r, object, "copy_gbps", &out->copy_gbps);
}

/* "gpus" lists every device; a run on a single one may say only "gpu". */
static bool read_gpus(reader *r, json_t *root)
{
    json_t *list, *first;
    if (!read_array(r, root, "gpus", RECORD_MAX_RESULTS, &list) || !read_object(r, root, "gpu", &first))
        return false;
    size_t count = list ? json_array_size(list) : first ? 1 : 0;
    r->view->gpus = keep(r->view, count * sizeof *r->view->gpus);
    for (; r->view->gpu_count < count; r->view->gpu_count++) {
        size_t i = r->view->gpu_count;
        json_t *gpu = list ? json_array_get(list, i) : first;
        if (!entry_is_object(r, list ? "gpus" : "gpu", i, gpu) || !read_gpu(r, gpu, &r->view->gpus[i]))
            return false;
    }
    r->where[0] = 0;
    return true;
}

static bool read_origin(reader *r, json_t *root)
{
    record_view *view = r->view;
    json_t *solo, *host;
    if (!read_object(r, root, "solo", &solo) || !read_object(r, root, "host", &host))
        return false;
    return read_params(r, root, &view->params, &view->param_count) && read_text(r, solo, "version", &view->version) &&
           read_text(r, solo, "commit", &view->commit) && read_text(r, host, "os", &view->os) &&
           read_text(r, host, "cpu", &view->cpu) && read_number(r, host, "cores", &view->cores) &&
           read_text(r, root, "when", &view->when) && read_text(r, root, "experiment", &view->experiment) &&
           read_number(r, root, "clock_ns", &view->clock_ns) &&
           read_number(r, root, "clock_cost_ns", &view->clock_cost_ns);
}

/* ---- what was verified, and what others say ---- */

static bool read_checks(reader *r, json_t *root)
{
    json_t *list;
    if (!read_array(r, root, "checks", RECORD_MAX_RESULTS, &list))
        return false;
    r->view->check_count = json_array_size(list);
    r->view->checks = keep(r->view, r->view->check_count * sizeof *r->view->checks);
    for (size_t i = 0; i < r->view->check_count; i++) {
        json_t *object = json_array_get(list, i);
        view_check *check = &r->view->checks[i];
        if (!entry_is_object(r, "checks", i, object) || !read_text(r, object, "what", &check->what) ||
            !read_text(r, object, "detail", &check->detail))
            return false;
        if (!json_is_boolean(json_object_get(object, "ok")))
            return wrong(r, "ok", "must be true or false");
        check->ok = json_is_true(json_object_get(object, "ok"));
    }
    r->where[0] = 0;
    return true;
}

static bool read_claims(reader *r, json_t *root)
{
    json_t *list;
    if (!read_array(r, root, "claims", RECORD_MAX_RESULTS, &list))
        return false;
    r->view->claim_count = json_array_size(list);
    r->view->claims = keep(r->view, r->view->claim_count * sizeof *r->view->claims);
    for (size_t i = 0; i < r->view->claim_count; i++) {
        json_t *object = json_array_get(list, i);
        view_claim *claim = &r->view->claims[i];
        if (!entry_is_object(r, "claims", i, object) || !read_text(r, object, "claim", &claim->claim) ||
            !read_text(r, object, "said_by", &claim->said_by) || !read_text(r, object, "here", &claim->here) ||
            !read_text(r, object, "verdict", &claim->verdict))
            return false;
    }
    r->where[0] = 0;
    return true;
}

/* ---- the whole ---- */

static bool read_schema(reader *r, json_t *root)
{
    const char *schema;
    if (!json_is_object(root))
        return err_set(r->e, "%s: not a record: the outermost value must be an object", r->view->path);
    if (!read_text(r, root, "schema", &schema))
        return false;
    if (!*schema)
        return wrong(r, "schema", "is missing");
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
        blank_controls(why.text);
        err_set(e, "%s: not JSON: line %d: %s", path, why.line, why.text);
    }
    return root;
}

bool record_view_parse(record_view *view, const char *path, const char *text, size_t length, err *e)
{
    *view = (record_view){0};
    json_t *root = parse_json(path, text, length, e);
    if (!root)
        return false;
    view->path = keep_text(view, path);
    reader r = {.view = view, .e = e};
    bool ok = read_schema(&r, root) && read_origin(&r, root) && read_gpus(&r, root) && read_results(&r, root) &&
              read_checks(&r, root) && read_claims(&r, root);
    json_decref(root);
    if (!ok)
        record_view_free(view);
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
