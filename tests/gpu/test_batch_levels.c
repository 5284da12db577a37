/* A batch and its megakernel: one that times out, and one that comes while texts are being made. */
#include "gpu/batch_requests.h"
#include "graph/megakernel_test.h"
#include "llm/batch_internal.h"

/* What a dispatch that timed out has left in recurrent states is thrown away. */
static void test_a_time_out_costs_no_token(void **unused)
{
    (void)unused;
    enum { REQUESTS = 2, BARRIER = 20 };
    if (strcmp(gpu_get_info(device)->family, "dawn") != 0 || sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    static asked right[REQUESTS], got[REQUESTS];
    model *m = open_folder("tests/data/families/qwen35-shared");
    setenv("SOLO_ONE_GROUPS", "2", 1);
    batch *b = new_batch(m, &(batch_options){.slots = REQUESTS, .context_tok = CONTEXT, .level = LEVEL_LOOP});
    unsetenv("SOLO_ONE_GROUPS");
    for (uint32_t i = 0; i < REQUESTS; i++) {
        ask(&right[i], 7 + i, batch_vocab(b));
        right[i].max_tok = 20;
        got[i] = right[i];
    }
    batch_set_level(b, LEVEL_OPS);
    serve(b, right, REQUESTS, 0);
    batch_set_level(b, LEVEL_LOOP);
    uint32_t slots[REQUESTS] = {join(b, &got[0]), join(b, &got[1])};
    for (uint32_t steps = 0, left = REQUESTS; left > 0; steps++) {
        if (steps == 2)
            megakernel_set_stall(graph_run_megakernel(b->run, b->programs[LEVEL_LOOP]), BARRIER);
        step(b);
        for (uint32_t i = 0; i < REQUESTS; i++)
            left -= batch_look(b, slots[i]).state != BATCH_FREE && take(b, slots[i], &got[i]);
    }
    assert_int_equal(batch_level(b), LEVEL_OPS);
    check_same(right, got, REQUESTS, "with a time-out");
    batch_free(b);
    model_close(m);
}

/* Texts go on by separate dispatches while the megakernel compiles, and by it afterwards: with the tokens they had. */
static void test_the_megakernel_comes_in_the_middle(void **unused)
{
    (void)unused;
    enum { REQUESTS = 6 };
    if (!can() || !gpu_get_info(device)->can_compile_ahead)
        skip();
    static asked right[REQUESTS], got[REQUESTS];
    static const char *const folders[] = {NULL, "tests/data/families/qwen35-shared"};
    for (int f = 0; f < 2; f++)
        for (int compares = 0; compares < 2; compares++) {
            model *m = folders[f] ? open_folder(folders[f]) : open_tiny(&SMALL, 7);
            batch_options o = {.slots = 3, .context_tok = CONTEXT, .level = LEVEL_OPS, .piece_tok = PIECE};
            batch *apart = new_batch(m, &o);
            o.level = LEVEL_LOOP;
            o.compile = COMPILE_IN_BACKGROUND;
            batch *b = new_batch(m, &o);
            b->always_compares = compares;
            assert_int_equal(batch_level(b), LEVEL_OPS);
            for (uint32_t i = 0; i < REQUESTS; i++) {
                ask(&right[i], i, batch_vocab(b));
                right[i].max_tok += 10;
                got[i] = right[i];
            }
            serve(apart, right, REQUESTS, 0);
            for (int times = 0; times < 1000 && batch_level(b) != LEVEL_LOOP; times++) {
                serve(b, got, REQUESTS, times % 3);
                check_same(right, got, REQUESTS, "while it compiles");
            }
            char notice[1200];
            if (batch_take_notice(b, notice, sizeof notice))
                fail_msg("%s", notice);
            assert_int_equal(batch_level(b), LEVEL_LOOP);
            serve(b, got, REQUESTS, 0);
            check_same(right, got, REQUESTS, "afterwards");
            batch_free(apart);
            batch_free(b);
            model_close(m);
        }
}

/* One dispatch makes many tokens, but one while a prompt waits; and being looked at leaves texts where they are. */
static void test_a_prompt_waits_for_one_token(void **unused)
{
    (void)unused;
    enum { REQUESTS = 2, TIMES = 1, ROUNDS = 4 };
    if (!can())
        skip();
    static asked right[REQUESTS], got[REQUESTS];
    err e = {0};
    model *m = open_tiny(&SMALL, 7);
    batch_options o = {
        .slots = REQUESTS, .context_tok = CONTEXT, .level = LEVEL_LOOP, .piece_tok = PIECE, .chunk_ms = 10000};
    batch *apart = new_batch(m, &o), *b = new_batch(m, &o); /* the second has no cache of the prompts */
    assert_int_equal(batch_level(b), LEVEL_LOOP);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        ask(&right[i], i, batch_vocab(b));
        right[i].max_tok = 30;
        right[i].stop_count = 0;
    }
    right[1].prompt_tok = 3 * PIECE;
    for (uint32_t i = 0; i < 3 * PIECE; i++)
        right[1].prompt[i] = i % batch_vocab(b);
    memcpy(got, right, sizeof got);
    serve(apart, right, REQUESTS, 0);
    batch_free(apart);
    b->chunk_tok = 1;
    uint32_t slots[REQUESTS] = {join(b, &got[0])}, most = 0;
    for (int i = 0; i < 2; i++) {
        step(b);
        take(b, slots[0], &got[0]);
    }
    slots[1] = join(b, &got[1]);
    do {
        step(b);
        if (batch_look(b, slots[1]).state == BATCH_READING && batch_look(b, slots[0]).count > most)
            most = batch_look(b, slots[0]).count;
        take(b, slots[0], &got[0]);
    } while (batch_look(b, slots[1]).state == BATCH_READING);
    assert_int_equal(most, 1);
    take(b, slots[1], &got[1]);
    uint32_t which, rounds = ROUNDS;
    graph_run *r = batch_run(b, &which, &rounds);
    assert_int_equal(rounds, ROUNDS);
    double *ns = mem_alloc((graph_run_stages(r, which) + 1) * sizeof *ns), whole_ns;
    if (!graph_run_profile(r, which, TIMES, ns, &whole_ns, &e))
        fail_msg("%s", e.text);
    free(ns);
    most = 0;
    for (uint32_t left = REQUESTS; left > 0;) {
        step(b);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            if (batch_look(b, slots[i]).state == BATCH_FREE)
                continue;
            most = batch_look(b, slots[i]).count > most ? batch_look(b, slots[i]).count : most;
            left -= take(b, slots[i], &got[i]);
        }
    }
    assert_true(most > 1);
    check_same(right, got, REQUESTS, "after being looked at");
    batch_free(b);
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_time_out_costs_no_token),
                                       cmocka_unit_test(test_a_prompt_waits_for_one_token),
                                       cmocka_unit_test(test_the_megakernel_comes_in_the_middle)};
    return RUN_ON_EACH(tests);
}
