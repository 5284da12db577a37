/* The collector without HTTP: storing, migrating, medians, standings, the rate limit. */
#include "collect_record.h"
#include "serve/collect_rate.h"
#include "serve/collect_schema.h"
#include "serve/collect_summary.h"
#include "temporary.h"

#include "base/file.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* the last of all */
#include <cmocka.h>

/* ---- storing --------------------------------------------------------------------------------- */

typedef struct folder {
    char path[TEMPORARY_BYTES], file[TEMPORARY_FILE_BYTES];
} folder;

static int make_folder(void **state)
{
    folder *f = mem_alloc(sizeof *f);
    if (!temporary_folder(f->path, "collect"))
        return 1;
    snprintf(f->file, sizeof f->file, "%s/db", f->path);
    *state = f;
    return 0;
}

static int remove_folder(void **state)
{
    folder *f = *state;
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[TEMPORARY_FILE_BYTES + 8];
        snprintf(path, sizeof path, "%s%s", f->file, endings[i]);
        unlink(path);
    }
    int left = rmdir(f->path);
    free(f);
    return left;
}

/* Adds it with samples times `factor`, at another second. */
static bool add(collect_store *s, double factor, int second, const char *device, char id[COLLECT_ID_BYTES])
{
    static const char *const scaled[] = {"min", "p10", "median", "p90", "mean", "sd"};
    json_t *root = record(), *result, *results = json_object_get(root, "results");
    collect_record r;
    err e = {0};
    char when[32];
    size_t i;
    bool is_new;
    snprintf(when, sizeof when, "2026-11-18T08:46:%02dZ", second);
    json_object_set_new(root, "when", json_string(when));
    json_object_set_new(json_object_get(root, "gpu"), "device", json_string(device));
    json_array_foreach(results, i, result)
    {
        static const char *const lists[] = {"samples", "ci95"};
        for (size_t k = 0; k < sizeof scaled / sizeof *scaled; k++)
            json_object_set_new(result, scaled[k],
                                json_real(factor * json_number_value(json_object_get(result, scaled[k]))));
        for (size_t l = 0; l < 2; l++) {
            json_t *list = json_object_get(result, lists[l]);
            for (size_t k = 0; k < json_array_size(list); k++)
                json_array_set_new(list, k, json_real(factor * json_number_value(json_array_get(list, k))));
        }
    }
    if (!check_json(root, &r, &e))
        fail_msg("%s", e.text);
    collect_points points = collect_points_of(&r.view);
    assert_int_equal(points.count, 3); /* none, loop, and the one over the other */
    if (!collect_store_add(s, &r, &points, &is_new, &e))
        fail_msg("%s", e.text);
    if (id)
        memcpy(id, r.id, COLLECT_ID_BYTES);
    collect_points_free(&points);
    collect_record_free(&r);
    json_decref(root);
    return is_new;
}

static void count_one(void *user, const collect_listed *r)
{
    (void)r;
    ++*(size_t *)user;
}

static void the_same_record_is_kept_once(void **state)
{
    folder *f = *state;
    err e = {0};
    uint64_t count;
    char id[COLLECT_ID_BYTES];
    str body = {0};
    collect_store *s = collect_store_open(f->file, &e);
    assert_non_null(s);
    assert_true(add(s, 1, 1, "NVIDIA Test", id));
    assert_false(add(s, 1, 1, "NVIDIA Test", id));
    assert_true(add(s, 1, 2, "NVIDIA Test", NULL));
    assert_true(collect_store_count(s, &count, &e));
    assert_int_equal(count, 2);
    assert_true(collect_store_get(s, id, &body, &e));
    assert_non_null(strstr(body.data, "NVIDIA Test"));
    collect_store_close(s);
    /* and after it was opened again */
    s = collect_store_open(f->file, &e);
    assert_false(add(s, 1, 1, "NVIDIA Test", NULL));
    size_t listed = 0;
    assert_true(collect_store_list(s, &(collect_filter){.vendor = "NVIDIA", .experiment = "llm"}, 0, 10, count_one,
                                   &listed, &e));
    assert_int_equal(listed, 2);
    listed = 0;
    assert_true(collect_store_list(s, &(collect_filter){.vendor = "' OR 1 = 1"}, 0, 10, count_one, &listed, &e));
    assert_int_equal(listed, 0);
    assert_true(collect_store_list(s, &(collect_filter){0}, 2, 10, count_one, &listed, &e));
    assert_int_equal(listed, 1);
    collect_store_close(s);
    str_free(&body);
}

static void earlier_tables_are_brought_up_to_date(void **state)
{
    folder *f = *state;
    err e = {0};
    collect_store *s = collect_store_open(f->file, &e);
    assert_non_null(s);
    add(s, 1, 1, "NVIDIA Test", NULL);
    collect_store_close(s);
    /* back to version 1 by hand */
    collect_db db = {0};
    assert_true(collect_db_open(&db, f->file, &e));
    assert_true(collect_db_do(&db, "DROP INDEX points_by_subject", &e));
    assert_true(collect_db_do(&db, "DROP INDEX records_by_experiment", &e));
    assert_true(collect_db_do(&db, "DELETE FROM solo_schema WHERE version > 1", &e));
    assert_true(collect_schema_migrate(&db, &e));
    assert_true(collect_db_do(&db, "DROP INDEX points_by_subject", &e)); /* it is there again */
    /* of a version that does not exist yet */
    assert_true(collect_db_do(&db, "INSERT INTO solo_schema (version) VALUES (99)", &e));
    collect_db_close(&db);
    assert_null(collect_store_open(f->file, &e));
    assert_non_null(strstr(e.text, "tables of version 99, from a newer Solo"));
}

static void a_file_that_is_no_database_is_refused(void **state)
{
    folder *f = *state;
    err e = {0};
    static const char text[] = "this is not a database, and long enough to be sure of that: ................";
    assert_true(file_write(f->file, text, sizeof text, &e));
    assert_null(collect_store_open(f->file, &e));
    assert_non_null(strstr(e.text, f->file));
    err_clear(&e);
    assert_null(collect_store_open("mysql://there", &e));
    assert_non_null(strstr(e.text, "postgresql://"));
}

/* ---- medians --------------------------------------------------------------------------------- */

static const collect_chart *chart_of(const collect_summary *s, const char *family, const char *variant, bool software)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->charts[i].family, family) == 0 && strcmp(s->charts[i].variant, variant) == 0 &&
            s->charts[i].is_software == software)
            return &s->charts[i];
    return NULL;
}

static void groups_have_medians(void **state)
{
    folder *f = *state;
    err e = {0};
    collect_summary summary;
    collect_store *s = collect_store_open(f->file, &e);
    for (int i = 0; i < 6; i++)
        add(s, 1 + 0.01 * i, i, "NVIDIA Test", NULL);
    add(s, 40, 10, "NVIDIA Test", NULL); /* too good to be true */
    add(s, 0.5, 11, "Radeon Test", NULL);
    add(s, 0.1, 12, "llvmpipe (LLVM 15)", NULL);
    assert_true(collect_summary_make(&summary, s, &(collect_filter){0}, COLLECT_BY_DEVICE, &e));
    const collect_chart *c = chart_of(&summary, "decode", "loop", false);
    assert_non_null(c);
    assert_int_equal(c->count, 2);
    assert_string_equal(c->groups[0].label, "NVIDIA Test, dawn");
    assert_int_equal(c->groups[0].count, 7);
    assert_int_equal(c->groups[0].outliers, 1);
    assert_true(fabs(c->groups[0].median - 110 * 1.025) < 1e-9);
    assert_true(c->groups[0].lo <= c->groups[0].median && c->groups[0].median <= c->groups[0].hi);
    assert_true(c->groups[0].dots[0].is_outlier);
    /* one record alone brings its own interval */
    assert_true(fabs(c->groups[1].median - 55) < 1e-9 && c->groups[1].lo < 55 && c->groups[1].hi > 55);
    assert_non_null(chart_of(&summary, "decode", "loop", true)); /* software is apart */
    c = chart_of(&summary, "one", "one over many", false);
    assert_non_null(c);
    assert_true(fabs(c->groups[0].median - 10) < 1e-9);
    collect_summary_free(&summary);

    assert_true(collect_summary_make(&summary, s, &(collect_filter){.vendor = "AMD"}, COLLECT_BY_VENDOR, &e));
    c = chart_of(&summary, "decode", "none", false);
    assert_int_equal(c->count, 1);
    assert_string_equal(c->groups[0].label, "AMD");
    collect_summary_free(&summary);
    collect_store_close(s);
}

static void a_large_group_has_an_interval_by_ranks(void **state)
{
    folder *f = *state;
    err e = {0};
    collect_summary summary;
    collect_store *s = collect_store_open(f->file, &e);
    add(s, 1, 0, "NVIDIA Test", NULL);
    /* as if there were 400 more of it, from 1.001 to 1.4 times as fast */
    collect_db db = {0};
    assert_true(collect_db_open(&db, f->file, &e));
    assert_true(collect_db_do(&db,
                              "CREATE TEMP TABLE numbers AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
                              "SELECT i + 1 FROM n WHERE i < 400) SELECT i FROM n",
                              &e));
    assert_true(collect_db_do(&db,
                              "INSERT INTO records (id, received, measured, experiment, version, vendor, device, "
                              "backend, impl, browser, software, body) SELECT id || i, received, measured, experiment, "
                              "version, vendor, device, backend, impl, browser, software, body FROM records, numbers",
                              &e));
    assert_true(collect_db_do(&db,
                              "INSERT INTO points SELECT id || i, family, subject, variant, unit, vendor, device, "
                              "backend, impl, browser, software, value * (1 + 0.001 * i), lo, hi FROM points, numbers",
                              &e));
    collect_db_close(&db);
    assert_true(collect_summary_make(&summary, s, &(collect_filter){0}, COLLECT_BY_VENDOR, &e));
    const collect_group *g = &chart_of(&summary, "decode", "loop", false)->groups[0];
    assert_int_equal(g->count, 401);
    assert_true(fabs(g->median - 110 * 1.2) < 1e-9);
    /* 1.96 / 2 of the root of 401 is 19.6: the ranks 180 and 220 */
    assert_true(fabs(g->lo - 110 * 1.18) < 1e-9 && fabs(g->hi - 110 * 1.22) < 1e-9);
    collect_summary_free(&summary);
    collect_store_close(s);
}

static void a_record_has_a_standing(void **state)
{
    folder *f = *state;
    err e = {0};
    char id[COLLECT_ID_BYTES];
    str out = {0};
    collect_store *s = collect_store_open(f->file, &e);
    for (int i = 0; i < 4; i++)
        add(s, 1 + i, i, "NVIDIA Test", i == 2 ? id : NULL);
    add(s, 0.01, 10, "llvmpipe", NULL); /* not among those compared with */
    assert_true(collect_standing_json(&out, s, id, &e));
    json_t *json = json_loads(out.data, 0, NULL), *list = json_object_get(json, "standing");
    assert_int_equal(json_array_size(list), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *one = json_array_get(list, i);
        bool is_ratio = strcmp(json_string_value(json_object_get(one, "family")), "one") == 0;
        assert_int_equal(json_number_value(json_object_get(one, "others")), 3);
        /* better than two of three; the ratio is the same for all */
        double expected = is_ratio ? 0 : 2 / 3.0;
        assert_true(fabs(json_number_value(json_object_get(one, "better_than")) - expected) < 1e-6);
    }
    json_decref(json);
    str_free(&out);
    assert_true(collect_standing_json(&out, s, "0000", &e));
    assert_int_equal(out.length, 0);
    collect_store_close(s);
}

static void an_address_sends_only_so_many(void **state)
{
    (void)state;
    uint32_t wait_s = 0;
    collect_rate *r = collect_rate_new(3);
    for (int i = 0; i < 3; i++)
        assert_true(collect_rate_take(r, "10.0.0.1", 100, &wait_s));
    assert_false(collect_rate_take(r, "10.0.0.1", 100, &wait_s));
    assert_int_equal(wait_s, 20);
    assert_true(collect_rate_take(r, "10.0.0.2", 100, &wait_s));
    assert_true(collect_rate_take(r, "10.0.0.1", 120.1, &wait_s));
    assert_false(collect_rate_take(r, "10.0.0.1", 120.1, &wait_s));
    /* a network of IPv6 is one */
    for (int i = 0; i < 3; i++)
        assert_true(collect_rate_take(r, "2001:db8::1", 200, &wait_s));
    assert_false(collect_rate_take(r, "2001:db8::ffff:2", 200, &wait_s));
    collect_rate_free(r);
    r = collect_rate_new(0);
    for (int i = 0; i < 1000; i++)
        assert_true(collect_rate_take(r, "10.0.0.1", 100, &wait_s));
    collect_rate_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_record_is_kept_once, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(earlier_tables_are_brought_up_to_date, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_database_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(groups_have_medians, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_large_group_has_an_interval_by_ranks, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_record_has_a_standing, make_folder, remove_folder),
        cmocka_unit_test(an_address_sends_only_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
