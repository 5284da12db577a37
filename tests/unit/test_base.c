/* src/base: errors, strings, the JSON writer, clock, statistics, files. */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/jsonw.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/scan.h"
#include "base/stats.h"
#include "temporary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void first_error_is_kept_on_one_line(void **unused)
{
    (void)unused;
    err e = {0};
    assert_false(err_set(&e, "first\n  cause:\t%d", 7));
    assert_false(err_set_kind(&e, ERR_USAGE, "second"));
    assert_string_equal(e.text, "first cause: 7");
    assert_int_equal(e.kind, ERR_FAILED);
    err_context(&e, "file %s", "x.json");
    assert_string_equal(e.text, "file x.json: first cause: 7");
    err_clear(&e);
    assert_int_equal(e.kind, ERR_NONE);
    assert_false(err_set(NULL, "nobody listens"));
    /* what controls a terminal: a title, the cursor, in one byte and in two */
    err_set(&e, "a\033]0;owned\007b \302\2332Jc \302\241\177");
    assert_string_equal(e.text, "a?]0;owned?b ?2Jc \302\241?");
    err_clear(&e);
    /* what turns the direction of the text after it, so that a name shows as another; U+2014 is a dash */
    err_set(&e, "a\342\200\256fdp.exe \342\201\246\342\200\224 \342\200");
    assert_string_equal(e.text, "a?fdp.exe ?\342\200\224 \342\200");
    err_clear(&e);
}

static void a_long_error_is_cut_not_overrun(void **unused)
{
    (void)unused;
    err e = {0};
    char *text = mem_alloc(5000);
    memset(text, 'x', 4999);
    err_set(&e, "%s", text);
    err_context(&e, "%s", text);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    free(text);
}

static void strings_grow(void **unused)
{
    (void)unused;
    str s = {0};
    for (int i = 0; i < 1000; i++)
        str_addf(&s, "%03d ", i);
    assert_int_equal(s.length, 4000);
    assert_memory_equal(s.data, "000 001 ", 8);
    assert_string_equal(s.data + 3996, "999 ");
    str_add_bytes(&s, NULL, 0); /* a sanitizer looks whether memcpy is given it */
    assert_int_equal(s.length, 4000);
    str_free(&s);
    assert_null(s.data);
}

static void json_is_escaped_and_separated(void **unused)
{
    (void)unused;
    str s = {0};
    jsonw j = jsonw_to(&s);
    jsonw_object(&j, NULL);
    jsonw_flat(&j);
    jsonw_text(&j, "a\"b", "line\nend\\\x01");
    jsonw_array(&j, "n");
    jsonw_number(&j, NULL, 0.1);
    jsonw_number(&j, NULL, NAN);
    jsonw_count(&j, NULL, UINT64_MAX);
    jsonw_bool(&j, NULL, true);
    jsonw_null(&j, NULL);
    jsonw_text(&j, NULL, NULL);
    jsonw_end(&j);
    jsonw_object(&j, "empty");
    jsonw_end(&j);
    jsonw_end(&j);
    assert_string_equal(s.data, "{\"a\\\"b\": \"line\\u000aend\\\\\\u0001\", \"n\": [0.1, null, 18446744073709551615, "
                                "true, null, null], \"empty\": {}}\n");
    str_free(&s);
}

static void json_rows_stand_on_one_line_each(void **unused)
{
    (void)unused;
    str s = {0};
    jsonw j = jsonw_to(&s);
    jsonw_object(&j, NULL);
    jsonw_array(&j, "results");
    jsonw_rows(&j);
    for (int i = 0; i < 2; i++) {
        jsonw_object(&j, NULL);
        jsonw_array(&j, "samples");
        jsonw_number(&j, NULL, i);
        jsonw_number(&j, NULL, 0.5);
        jsonw_end(&j);
        jsonw_count(&j, "n", 2);
        jsonw_end(&j);
    }
    jsonw_end(&j);
    jsonw_array(&j, "none");
    jsonw_rows(&j);
    jsonw_end(&j);
    jsonw_object(&j, "more");
    jsonw_count(&j, "n", 1);
    jsonw_end(&j);
    jsonw_end(&j);
    assert_string_equal(s.data, "{\n \"results\": [\n  {\"samples\": [0, 0.5], \"n\": 2},\n"
                                "  {\"samples\": [1, 0.5], \"n\": 2}\n ],\n \"none\": [],\n"
                                " \"more\": {\n  \"n\": 1\n }\n}\n");
    str_free(&s);
}

static void the_clock_moves_forward_and_knows_its_cost(void **unused)
{
    (void)unused;
    uint64_t a = clock_ns(), b = clock_ns();
    assert_true(b >= a);
    assert_true(clock_resolution_ns() > 0 && clock_resolution_ns() < 1e7);
    assert_true(clock_cost_ns() > 0 && clock_cost_ns() < 1e6);
    char when[32];
    clock_utc(when);
    assert_int_equal(strlen(when), strlen("2026-01-31T12:00:00Z"));
}

static void summary_of_known_samples(void **unused)
{
    (void)unused;
    double values[101];
    for (int i = 0; i <= 100; i++)
        values[i] = 100 - i;
    summary s = stats_summary((samples){values, 101, 1});
    assert_true(s.n == 101 && s.min == 0 && s.median == 50 && s.mean == 50);
    assert_true(fabs(s.p10 - 10) < 1e-9 && fabs(s.p90 - 90) < 1e-9);
    assert_true(fabs(s.sd - 29.3002) < 1e-3);
    assert_true(s.ci95[0] < 50 && s.ci95[0] > 30 && s.ci95[1] > 50 && s.ci95[1] < 70);
    assert_true(values[0] == 100);
    assert_true(isnan(stats_summary((samples){0}).median));
    double one = 3;
    s = stats_summary((samples){&one, 1, 1});
    assert_true(s.median == 3 && s.sd == 0 && s.ci95[0] == 3 && s.ci95[1] == 3);
    /* the bits of an interval are in records, and do not change */
    for (int i = 0; i < 50; i++)
        values[i] = (i * 37 % 53) * 0.5 + i * 0.01;
    s = stats_summary((samples){values, 50, 5});
    assert_true(s.ci95[0] == 9.5199999999999996 && s.ci95[1] == 17.509999999999998);
}

/* The interval must hold the true median about as often as it says. */
static void intervals_cover(void **unused)
{
    (void)unused;
    enum { TRIALS = 300, N = 25 };
    rng r = rng_seed(5);
    int covered = 0;
    for (int t = 0; t < TRIALS; t++) {
        double values[N];
        for (int i = 0; i < N; i++)
            values[i] = -log(1 - rng_unit(&r)); /* median ln 2, long tail */
        summary s = stats_summary((samples){values, N, 1});
        covered += s.ci95[0] <= log(2) && log(2) <= s.ci95[1];
    }
    assert_true(covered > TRIALS * 0.90 && covered <= TRIALS);
}

/* Five processes, alike inside and different from each other: what counts is
 * five, not fifty. */
static void groups_widen_the_interval(void **unused)
{
    (void)unused;
    double values[50];
    for (int i = 0; i < 50; i++)
        values[i] = 10 + (i / 10) * 5 + 0.01 * (i % 10);
    summary apart = stats_summary((samples){values, 50, 1}), together = stats_summary((samples){values, 50, 10});
    assert_true(together.median == apart.median);
    assert_true(together.ci95[0] < 16 && together.ci95[1] > 24);
    assert_true(apart.ci95[1] - apart.ci95[0] < together.ci95[1] - together.ci95[0]);
    for (int i = 0; i < 50; i++)
        values[i] = 10 + 0.01 * ((i * 7) % 10); /* processes alike: grouping changes little */
    together = stats_summary((samples){values, 47, 10});
    assert_true(together.ci95[1] - together.ci95[0] < 0.06);
}

static void lines_are_fitted(void **unused)
{
    (void)unused;
    double x[] = {1, 2, 4, 8}, y[] = {5, 7, 11, 19};
    line_fit f = stats_line(x, y, 4);
    assert_true(fabs(f.slope - 2) < 1e-12 && fabs(f.intercept - 3) < 1e-12 && fabs(f.r2 - 1) < 1e-12);
    double same[] = {2, 2};
    assert_true(isnan(stats_line(same, y, 2).slope));
}

static void ratios_have_intervals(void **unused)
{
    (void)unused;
    double a[20], b[20];
    for (int i = 0; i < 20; i++) {
        a[i] = 10 + i * 0.01;
        b[i] = 20 + i * 0.01;
    }
    ratio q = stats_ratio((samples){a, 20, 1}, (samples){b, 20, 1});
    assert_true(q.value > 1.99 && q.value < 2.01 && q.lo <= q.value && q.value <= q.hi && q.hi < 2.02);
    assert_true(isnan(stats_ratio((samples){a, 0, 1}, (samples){b, 20, 1}).value));
}

static void shuffling_keeps_everything(void **unused)
{
    (void)unused;
    uint32_t items[100], seen = 0, moved = 0;
    for (uint32_t i = 0; i < 100; i++)
        items[i] = i;
    rng r = rng_seed(1);
    rng_shuffle(&r, items, 100);
    for (uint32_t i = 0; i < 100; i++) {
        seen += items[i];
        moved += items[i] != i;
    }
    assert_int_equal(seen, 4950);
    assert_true(moved > 80);
    for (int i = 0; i < 1000; i++)
        assert_true(rng_below(&r, 7) < 7);
}

static void a_file_comes_back_as_written(void **unused)
{
    (void)unused;
    char folder[TEMPORARY_BYTES], path[TEMPORARY_FILE_BYTES];
    assert_true(temporary_folder(folder, "test"));
    snprintf(path, sizeof path, "%s/a.txt", folder);
    err e = {0};
    size_t n = 0;
    assert_true(file_writable(path, &e));
    assert_true(file_write(path, "one", 3, &e));
    assert_true(file_write(path, "twelve", 6, &e));
    char *text = file_read(path, 100, &n, &e);
    assert_non_null(text);
    assert_int_equal(n, 6);
    assert_string_equal(text, "twelve");
    free(text);
    assert_null(file_read(path, 5, &n, &e));
    assert_non_null(strstr(e.text, "larger than 5 bytes"));
    unlink(path);
    rmdir(folder);
}

static void files_that_cannot_be_read_or_written_say_why(void **unused)
{
    (void)unused;
    size_t n;
    err e = {0};
    assert_null(file_read("/no/such/file", 100, &n, &e));
    assert_non_null(strstr(e.text, "/no/such/file: No such file"));
    err_clear(&e);
    assert_null(file_read("/tmp", 100, &n, &e));
    assert_non_null(strstr(e.text, "folder"));
    err_clear(&e);
    assert_false(file_write("/no/such/folder/x", "a", 1, &e));
    assert_non_null(strstr(e.text, "cannot write"));
    err_clear(&e);
    assert_false(file_writable("/no/such/folder/x", &e));
    if (access("/dev/full", W_OK) == 0) {
        err_clear(&e);
        assert_false(file_write("/dev/full", "a", 1, &e));
        assert_non_null(strstr(e.text, "No space left"));
    }
}

static void numbers_of_a_known_form(void **unused)
{
    (void)unused;
    uint32_t n[2] = {0};
    const char *rest = scan_numbers("blk.12.a", "blk.#.", n);
    assert_string_equal(rest, "a");
    assert_int_equal(n[0], 12);
    assert_string_equal(scan_numbers("4294967295,0", "#,#", n), "");
    assert_true(n[0] == UINT32_MAX && n[1] == 0);
    static const char *const others[] = {"", "1", "1,", ",2", "1;2", "-1,2", " 1,2", "1, 2", "4294967296,2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (scan_numbers(others[i], "#,#", n))
            fail_msg("'%s' was read", others[i]);
}

/* Of the bytes 0, 1, 2 .. with the key 0, 1 .. 15, as the authors' own vectors have it. */
static void hashes_are_siphash(void **unused)
{
    (void)unused;
    hash_key key = {0x0706050403020100u, 0x0F0E0D0C0B0A0908u};
    const char bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    assert_true(hash_bytes(&key, bytes, 0) == 0xABAC0158050FC4DCu);
    assert_true(hash_bytes(&key, bytes, 7) != hash_bytes(&key, bytes, 8));
    hash_key one = hash_new_key(), other = hash_new_key();
    assert_true(hash_bytes(&one, bytes, 10) != hash_bytes(&other, bytes, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_is_kept_on_one_line),
        cmocka_unit_test(a_long_error_is_cut_not_overrun),
        cmocka_unit_test(strings_grow),
        cmocka_unit_test(json_is_escaped_and_separated),
        cmocka_unit_test(json_rows_stand_on_one_line_each),
        cmocka_unit_test(the_clock_moves_forward_and_knows_its_cost),
        cmocka_unit_test(summary_of_known_samples),
        cmocka_unit_test(intervals_cover),
        cmocka_unit_test(groups_widen_the_interval),
        cmocka_unit_test(lines_are_fitted),
        cmocka_unit_test(ratios_have_intervals),
        cmocka_unit_test(shuffling_keeps_everything),
        cmocka_unit_test(a_file_comes_back_as_written),
        cmocka_unit_test(files_that_cannot_be_read_or_written_say_why),
        cmocka_unit_test(numbers_of_a_known_form),
        cmocka_unit_test(hashes_are_siphash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
