/* Stages: what is written into one arrives, in order and by turns, from any thread; mistakes are errors of one line. */
#include "devices.h"

#include <pthread.h>

enum { WORDS = 1 << 18, BYTES = 4 * WORDS, ROUNDS = 12, STAGES = 3 };

static void expect_error(gpu *g, const char *text)
{
    err e = {0};
    assert_false(gpu_ok(g, &e));
    if (!strstr(e.text, text))
        fail_msg("\"%s\" instead of \"%s\"", e.text, text);
    gpu_take_error(g, NULL);
}

typedef struct filling {
    uint32_t *memory, value;
} filling;

static void *fill(void *user)
{
    const filling *f = user;
    for (uint32_t i = 0; i < WORDS; i++)
        f->memory[i] = f->value + i;
    return NULL;
}

/* Each round writes all of the buffer: the last one is what is there. A write before and one after keep their order. */
static void check_rounds(gpu *g)
{
    err e = {0};
    gpu_buffer *b = gpu_buffer_new(g, BYTES + 8, GPU_USE_STORAGE);
    gpu_stage *stages[STAGES];
    uint32_t word = 7, *got = malloc(BYTES + 8);
    for (int i = 0; i < STAGES; i++)
        stages[i] = gpu_stage_new(g, BYTES);
    uint64_t written = gpu_get_counters(g).bytes_written;
    gpu_write(g, b, 0, &word, 4);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        gpu_stage *s = stages[round % STAGES];
        filling f = {gpu_stage_open(s), round * 1000000};
        assert_non_null(f.memory);
        assert_ptr_equal(gpu_stage_open(s), f.memory); /* it is open already */
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fill, &f), 0);
        pthread_join(thread, NULL);
        /* two halves, changed over; the first word of all is left alone */
        gpu_stage_send(s, (gpu_stage_copy[]){{BYTES / 2, b, 4, BYTES / 2}, {0, b, 4 + BYTES / 2, BYTES / 2}}, 2);
    }
    gpu_write(g, b, BYTES + 4, &word, 4);
    assert_int_equal(gpu_get_counters(g).bytes_written - written, (uint64_t)ROUNDS * BYTES + 8);
    if (!gpu_read_now(g, b, 0, got, BYTES + 8, &e))
        fail_msg("%s", e.text);
    assert_true(got[0] == 7 && got[WORDS + 1] == 7);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(got[1 + i], (ROUNDS - 1) * 1000000 + (i + WORDS / 2) % WORDS);
    for (int i = 0; i < STAGES; i++)
        gpu_stage_free(stages[i]);
    gpu_buffer_free(b);
    free(got);
}

static void bytes_arrive(void **unused)
{
    (void)unused;
    check_rounds(device);
}

static void bytes_arrive_where_stages_are_plain_memory(void **unused)
{
    (void)unused;
    gpu *stub = open_or_fail("stub");
    check_rounds(stub);
    gpu_close(stub);
}

static void mistakes_are_errors(void **unused)
{
    (void)unused;
    gpu_buffer *b = gpu_buffer_new(device, 64, GPU_USE_STORAGE);
    gpu_stage *s = gpu_stage_new(device, 64);
    assert_non_null(gpu_stage_open(s));
    gpu_stage_send(s, &(gpu_stage_copy){0, b, 32, 64}, 1);
    expect_error(device, "does not fit");
    gpu_stage_send(s, &(gpu_stage_copy){32, b, 0, 64}, 1);
    expect_error(device, "a copy of 64 bytes at 32 of a stage of 64");
    gpu_stage_send(s, &(gpu_stage_copy){2, b, 0, 4}, 1);
    expect_error(device, "a copy of 4 bytes at 2");
    gpu_stage_free(gpu_stage_new(device, 6));
    expect_error(device, "multiple of 4");
    assert_non_null(gpu_stage_open(s)); /* it is as good as before */
    gpu_stage_free(s);                  /* while it is open */
    gpu_stage_free(NULL);
    gpu_buffer_free(b);
}

static void a_lost_device_has_none(void **unused)
{
    (void)unused;
    gpu *g = open_or_fail(gpu_get_info(device)->family);
    gpu_buffer *b = gpu_buffer_new(g, 64, GPU_USE_STORAGE);
    gpu_stage *open = gpu_stage_new(g, 64), *sent = gpu_stage_new(g, 64);
    assert_non_null(gpu_stage_open(open));
    assert_non_null(gpu_stage_open(sent));
    gpu_stage_send(sent, &(gpu_stage_copy){0, b, 0, 64}, 1);
    gpu_lose(g);
    gpu_stage *late = gpu_stage_new(g, 64);
    assert_null(gpu_stage_open(late));
    assert_null(gpu_stage_open(sent));
    gpu_stage_send(open, &(gpu_stage_copy){0, b, 0, 64}, 1);
    gpu_stage_free(late);
    gpu_stage_free(open);
    gpu_stage_free(sent);
    gpu_buffer_free(b);
    gpu_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive),
        cmocka_unit_test(bytes_arrive_where_stages_are_plain_memory),
        cmocka_unit_test(mistakes_are_errors),
        cmocka_unit_test(a_lost_device_has_none),
    };
    return RUN_ON_EACH(tests);
}
