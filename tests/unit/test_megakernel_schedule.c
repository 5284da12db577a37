/* Phases of one dispatch as text: what comes again is a loop. */
#include "graph/megakernel_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void what_comes_again_is_found(void **unused)
{
    (void)unused;
    static const uint32_t model[] = {0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5}, all_alike[] = {7, 7, 7, 7},
                          none[] = {1, 2, 3};
    schedule_loop l = schedule_find_loop(model, 12);
    assert_int_equal(l.first, 1);
    assert_int_equal(l.period, 3);
    assert_int_equal(l.times, 3);
    l = schedule_find_loop(all_alike, 4);
    assert_int_equal(l.period, 1);
    assert_int_equal(l.times, 4);
    assert_int_equal(schedule_find_loop(none, 3).times, 1);
    assert_true(schedule_possible(model, 12));
}

static void too_many_places_are_refused(void **unused)
{
    (void)unused;
    uint32_t different[SCHEDULE_MAX_SITES + 1];
    for (uint32_t i = 0; i <= SCHEDULE_MAX_SITES; i++)
        different[i] = i;
    assert_true(schedule_possible(different, SCHEDULE_MAX_SITES));
    assert_false(schedule_possible(different, SCHEDULE_MAX_SITES + 1));
}

static uint32_t count_of(const char *text, const char *what)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

/* Each phase stands in the text once, however often it comes. */
static void phases_stand_in_the_text_once(void **unused)
{
    (void)unused;
    static const uint32_t phases[] = {0, 1, 2, 1, 2, 1, 2, 3};
    static const schedule_kernel kernels[] = {{0},
                                              {.prefetches = true, .single_pass = true, .per_iteration = true},
                                              {.single_pass = true, .per_iteration = true},
                                              {0}};
    str text = {0};
    schedule_add(&(schedule){phases, 8, kernels, 4, NULL}, &text);
    for (int i = 0; i < 4; i++) {
        char call[32];
        snprintf(call, sizeof call, i == 1 ? "work_%d(" : "body_%d(", i);
        assert_int_equal(count_of(text.data, call), 1);
    }
    assert_int_equal(count_of(text.data, "prefetch_1("), 2); /* before the loop, and in it for the next time */
    assert_int_equal(count_of(text.data, "time < 3u"), 1);
    str_free(&text);
}

/* Kernels of one kind do not end the loop: an iteration has the one that the table names. None of them prefetches, since data
 * for each would occupy registers. */
static void kernels_of_one_kind_are_one_place(void **unused)
{
    (void)unused;
    static const uint32_t phases[] = {0, 1, 2, 4, 2, 1, 2, 3}, kinds[] = {0, 1, 2, 1, 2, 1, 2, 3};
    static const schedule_kernel kernels[] = {
        {0}, {.prefetches = true}, {.prefetches = true}, {0}, {.prefetches = true}};
    str text = {0};
    schedule_add(&(schedule){phases, 8, kernels, 5, kinds}, &text);
    assert_int_equal(count_of(text.data, "time < 3u; time++"), 1);
    assert_int_equal(count_of(text.data, "let which = phase_word((time * 2u + 1u) * PHASE_WORDS, 1u);"), 1);
    assert_int_equal(count_of(text.data, "if (which == 1u) {"), 1);
    assert_int_equal(count_of(text.data, "if (which == 4u) {"), 1);
    assert_int_equal(count_of(text.data, "body_1("), 1);
    assert_int_equal(count_of(text.data, "body_4("), 1);
    assert_int_equal(count_of(text.data, "work_2("), 1);
    assert_int_equal(count_of(text.data, "prefetch_4("), 0);
    str_free(&text);
}

/* If they prefetch the same type, they do so into one variable. */
static void kernels_of_one_kind_share_what_they_prefetch(void **unused)
{
    (void)unused;
    static const uint32_t phases[] = {0, 1, 2, 4, 2, 1, 2, 3}, kinds[] = {0, 1, 2, 1, 2, 1, 2, 3};
    static const schedule_kernel kernels[] = {
        {0}, {.prefetches = true}, {0}, {0}, {.prefetches = true, .shares_fetched = true, .leader = 1}};
    str text = {0};
    schedule_add(&(schedule){phases, 8, kernels, 5, kinds}, &text);
    assert_int_equal(count_of(text.data, "var fetched_"), 1);
    assert_int_equal(count_of(text.data, "work_1(args, v, local, fetched_1)"), 1);
    assert_int_equal(count_of(text.data, "work_4(args, v, local, fetched_1)"), 1);
    assert_int_equal(count_of(text.data, "fetched_1 = prefetch_4(args, group.x, local)"), 1); /* for the next time */
    assert_int_equal(count_of(text.data, "fetched_4"), 0);
    str_free(&text);
}

/* The kernel whose variable that is stands there in the first iteration, unless the other stands elsewhere, too. */
static void leaders_are_found(void **unused)
{
    (void)unused;
    static const uint32_t phases[] = {0, 1, 2, 4, 2, 1, 5, 5, 1, 3}, kinds[] = {0, 1, 2, 1, 2, 1, 2, 1, 2, 3};
    assert_int_equal(schedule_leader(phases, kinds, 10, 4), 1);
    assert_int_equal(schedule_leader(phases, kinds, 10, 2), 2);
    assert_int_equal(schedule_leader(phases, kinds, 10, 5), 5); /* at both sites */
    assert_int_equal(schedule_leader(phases, kinds, 10, 3), 3); /* behind the loop */
}

/* There is no barrier only where both phases use epoch bits. */
static void epoch_bits_stand_in_for_barriers(void **unused)
{
    (void)unused;
    static const uint32_t phases[] = {0, 1, 2, 1, 2, 3};
    for (int polled = 0; polled < 2; polled++)
        for (int last = 0; last < 2; last++) {
            schedule_kernel kernels[4] = {{.epoch_only = polled}, {.epoch_only = polled}, {.epoch_only = polled}, {0}};
            kernels[3].epoch_only = polled && last;
            str text = {0};
            schedule_add(&(schedule){phases, 6, kernels, 4, NULL}, &text);
            /* 0 to 1, 1 to 2, and 2 to 1 or 3, which is one place; the end of a round is always a barrier. */
            assert_int_equal(count_of(text.data, "pass_without_barrier("), polled ? 2 + last : 0);
            assert_int_equal(count_of(text.data, "wait_for_all("), 4);
            assert_int_equal(count_of(text.data, "if (solo_params.launch.polls_epoch == 0u) {\nwait_for_all("),
                             polled ? 2 + last : 0);
            str_free(&text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_again_is_found),
        cmocka_unit_test(too_many_places_are_refused),
        cmocka_unit_test(phases_stand_in_the_text_once),
        cmocka_unit_test(kernels_of_one_kind_are_one_place),
        cmocka_unit_test(epoch_bits_stand_in_for_barriers),
        cmocka_unit_test(kernels_of_one_kind_share_what_they_prefetch),
        cmocka_unit_test(leaders_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
