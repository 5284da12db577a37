/* Which records a collector refuses, and what it leaves out of those that it takes. */
#include "collect_record.h"
#include "serve/collect_clean.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* the last of all */
#include <cmocka.h>

/* The value at "results/0/median"; the last key is given back. */
static json_t *parent_of(json_t *root, const char *path, const char **last)
{
    json_t *at = root;
    const char *slash;
    for (*last = path; (slash = strchr(*last, '/')); *last = slash + 1) {
        char key[64];
        snprintf(key, sizeof key, "%.*s", (int)(slash - *last), *last);
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(key)) : json_object_get(at, key);
    }
    return at;
}

static void change(json_t *root, const char *path, const char *value)
{
    const char *last;
    json_t *parent = parent_of(root, path, &last);
    json_t *now = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    assert_true(!value || now);
    if (json_is_array(parent))
        json_array_set_new(parent, (size_t)atoi(last), now);
    else if (now)
        json_object_set_new(parent, last, now);
    else
        json_object_del(parent, last);
}

static void valid_record_is_taken(void **state)
{
    (void)state;
    err e = {0};
    collect_record r;
    json_t *root = record();
    assert_true(check_json(root, &r, &e));
    assert_true(collect_is_id(r.id));
    assert_int_equal(r.view.result_count, 2);
    collect_record_free(&r);
    json_decref(root);
}

static void each_fault_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value, *said;
    } faults[] = {
        {"schema", NULL, "\"schema\" is missing"},
        {"schema", "\"other\"", "not \"solo-record-1\""},
        {"schema", "7", "must be a string"},
        {"solo/version", NULL, "no \"version\""},
        {"when", "\"yesterday\"", "\"when\" must be a time"},
        {"when", "\"2026-11-18T08:46:3xZ\"", "\"when\" must be a time"},
        {"when", "\"2026-02-29T08:46:39Z\"", "\"when\" must be a time"},
        {"when", "\"2026-13-18T08:46:39Z\"", "\"when\" must be a time"},
        {"when", "\"2026-11-18T24:46:39Z\"", "\"when\" must be a time"},
        {"when", "\"9999-01-01T00:00:00Z\"", "\"when\" must be a time"},
        {"when", "\"0000-01-01T00:00:00Z\"", "\"when\" must be a time"},
        {"host", NULL, "\"host\" must have"},
        {"host", "[1]", "\"host\" must be an object"},
        {"host/os", "{}", "\"os\" must be a text or a number"},
        {"host/cpu", "5", "must be a string"},
        {"clock_ns", "0", "\"clock_ns\" must be above 0"},
        {"clock_ns", NULL, "\"clock_ns\" must be above 0"},
        {"gpu", NULL, "\"gpu\" is missing"},
        {"gpu/device", "\"\"", "\"gpu\" must have"},
        {"gpu/adapter_type", NULL, "\"gpu\" must have"},
        {"gpu/impl", "\"wgpu\"", "none of those in \"gpus\""},
        {"experiment", "\"logits\"", "must be dispatch, llm, sim, decoder or batch"},
        {"experiment", "\"graph\"", "must be dispatch, llm, sim, decoder or batch"},
        {"experiment", "\"dispatch\"", "\"unit\" must be \"us\""},
        {"params", "[]", "\"params\" must be an object"},
        {"results", NULL, "\"results\" is missing"},
        {"results", "[]", "\"results\" is empty"},
        {"results", "{}", "must be an array"},
        {"results/0", "5", "\"results\" must be an object"},
        {"results/0/name", NULL, "\"name\" is missing"},
        {"results/0/unit", "\"furlongs\"", "\"unit\" must be \"tok/s\""},
        {"results/0/params/impl", NULL, "has no \"impl\""},
        {"results/0/samples", NULL, "\"samples\" is missing"},
        {"results/0/samples", "[]", "\"samples\" is empty"},
        {"results/0/samples/1", "null", "no number"},
        {"results/0/samples/1", "\"12\"", "no number"},
        {"results/0/samples/1", "-12", "not above 0"},
        {"results/0/samples/1", "12.5", "by its samples"},
        {"results/0/n", "4", "\"n\" is 4, but 3 by its samples"},
        {"results/0/n", NULL, "\"n\" is missing"},
        {"results/0/median", "11.5", "\"median\" is 11.5, but 11 by its samples"},
        {"results/0/median", NULL, "\"median\" is missing"},
        {"results/0/min", "9", "\"min\" is 9"},
        {"results/0/p10", "10", "\"p10\" is 10"},
        {"results/0/p90", "12", "\"p90\" is 12"},
        {"results/0/mean", "11.1", "\"mean\" is 11.1"},
        {"results/0/sd", "0.5", "\"sd\" is 0.5"},
        {"results/0/ci95", NULL, "\"ci95\" is missing"},
        {"results/0/ci95", "[10, null]", "\"ci95\" is missing"},
        {"results/0/ci95", "[11.2, 12]", "does not contain the median"},
        {"results/0/ci95", "[9, 12]", "reaches beyond the samples"},
        {"results/0/ci95", "[10, 13]", "reaches beyond the samples"},
        {"results/0/ci95", "[10]", "must be two numbers"},
        {"results/0/dispatches", "1.5", "must be whole numbers"},
        {"results/0/passes", "-1", "must be whole numbers"},
        {"results/0/submits", NULL, "must be whole numbers"},
        {"checks", NULL, "\"checks\" is missing"},
        {"checks", "[]", "\"checks\" is missing"},
        {"checks/0/ok", "false", "checks[0] (the same tokens) failed"},
        {"checks/0/ok", "1", "must be true or false"},
        {"checks/0/what", "\"\"", "does not say what was checked"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        err e = {0};
        collect_record r;
        json_t *root = record();
        change(root, faults[i].path, faults[i].value);
        bool ok = check_json(root, &r, &e);
        if (ok || !strstr(e.text, faults[i].said) || strchr(e.text, '\n'))
            fail_msg("%s = %s: %s", faults[i].path, faults[i].value ? faults[i].value : "(none)",
                     ok ? "taken" : e.text);
        json_decref(root);
    }
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } texts[] = {{"", "not JSON"},
                 {"hello", "not JSON"},
                 {"[]", "must be an object"},
                 {"{\"schema\": 1e999}", "not JSON"},
                 {"{\"schema\": \"a\", \"schema\": \"b\"}", "not JSON"},
                 {"{\"schema\": \"\\u0000\"}", "not JSON"},
                 {"{\"schema\": \"\xff\"}", "not JSON"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        err e = {0};
        collect_record r;
        assert_false(collect_check("record", texts[i].text, strlen(texts[i].text), &r, &e));
        assert_non_null(strstr(e.text, texts[i].said));
    }
}

static void what_is_too_large_is_refused(void **state)
{
    (void)state;
    err e = {0};
    collect_record r;
    char *text = mem_alloc(COLLECT_MAX_BYTES + 2);
    memset(text, ' ', COLLECT_MAX_BYTES + 1);
    assert_false(collect_check("record", text, COLLECT_MAX_BYTES + 1, &r, &e));
    assert_non_null(strstr(e.text, "larger than"));
    free(text);

    json_t *root = record();
    text = mem_alloc(COLLECT_MAX_TEXT + 2);
    memset(text, 'x', COLLECT_MAX_TEXT + 1);
    json_object_set_new(json_object_get(root, "host"), "cpu", json_string(text));
    err_clear(&e);
    assert_false(check_json(root, &r, &e));
    assert_non_null(strstr(e.text, "\"cpu\" is longer than"));
    free(text);
    json_decref(root);

    root = record();
    for (int i = 0; i <= COLLECT_MAX_KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        json_object_set_new(json_object_get(root, "params"), key, json_integer(i));
    }
    err_clear(&e);
    assert_false(check_json(root, &r, &e));
    assert_non_null(strstr(e.text, "more than 64 keys"));
    json_decref(root);
}

/* ---- what is left out ------------------------------------------------------------------------ */

static void personal_things_are_left_out(void **state)
{
    (void)state;
    err e = {0};
    collect_record r, again;
    json_t *root = record();
    change(root, "host/busy", "0.25");
    change(root, "host/hostname", "\"alices-laptop\"");
    change(root, "user", "\"alice\"");
    change(root, "tokens", "[1, 2, 3]");
    change(root, "params/model", "\"/home/alice/my models/secret.gguf\"");
    change(root, "params/nested", "{\"path\": \"alices-laptop\"}");
    change(root, "checks/0/detail", "\"read from '/home/alice/x.gguf' by alice@alices-laptop, at 3/4 us\"");
    change(root, "host/cpu", "\"a CPU\\u001b[2J, \\u0085 \\u0007/home/alice/x\"");
    change(root, "params/data", "\"data=/home/alice/p.csv\"");
    change(root, "params/home", "\"~alice/lab/p.csv\"");
    change(root, "params/more", "\"as {\\\"x\\\":\\\"/home/alice/q.csv, https://example.org/a\"");
    change(root, "gpu/driver", "\"C:\\\\Users\\\\alice\\\\driver.dll\"");
    assert_true(check_json(root, &r, &e));
    assert_null(strstr(r.body.data, "alice"));
    assert_null(strstr(r.body.data, "tokens\":"));
    assert_null(strstr(r.body.data, "my models"));
    assert_non_null(strstr(r.body.data, "\"busy\":0.25"));
    assert_non_null(strstr(r.body.data, "\"model\":\"secret.gguf\""));
    assert_non_null(strstr(r.body.data, "read from 'x.gguf' by (removed) at 3/4 us"));
    assert_non_null(strstr(r.body.data, "\"data\":\"data=p.csv\""));
    assert_non_null(strstr(r.body.data, "\"home\":\"p.csv\""));
    assert_non_null(strstr(r.body.data, "q.csv, https://example.org/a\""));
    assert_non_null(strstr(r.body.data, "\"driver\":\"driver.dll\""));
    assert_non_null(strstr(r.body.data, "\"cpu\":\"a CPU [2J,     x\""));
    assert_non_null(strstr(r.body.data, "us_per_token"));
    /* cleaned again it is the same, and has the same id */
    assert_true(collect_check("record", r.body.data, r.body.length, &again, &e));
    assert_string_equal(r.id, again.id);
    assert_string_equal(r.body.data, again.body.data);
    collect_record_free(&again);
    collect_record_free(&r);
    json_decref(root);
}

static void layout_does_not_matter(void **state)
{
    (void)state;
    err e = {0};
    collect_record a, b, c;
    json_t *root = record();
    char *sorted = json_dumps(root, JSON_SORT_KEYS | JSON_COMPACT);
    assert_true(check_json(root, &a, &e));
    assert_true(collect_check("record", sorted, strlen(sorted), &b, &e));
    assert_string_equal(a.id, b.id);
    change(root, "when", "\"2026-11-18T08:46:40Z\"");
    assert_true(check_json(root, &c, &e));
    assert_string_not_equal(a.id, c.id);
    free(sorted);
    collect_record_free(&a);
    collect_record_free(&b);
    collect_record_free(&c);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_record_is_taken),        cmocka_unit_test(each_fault_is_refused),
        cmocka_unit_test(other_texts_are_refused),      cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(personal_things_are_left_out), cmocka_unit_test(layout_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
