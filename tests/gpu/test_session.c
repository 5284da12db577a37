/* A session: texts and conversations over one cache, levels that change, stops, logits. */
#include "gpu/devices.h"
#include "base/file.h"
#include "llm/session.h"
#include "temporary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char TEXT[] = "Once upon a time there was";

typedef struct shown {
    str text;
    answer_report report;
    volatile sig_atomic_t interrupted;
    bool interrupts; /* after the first piece */
} shown;

static void show(void *context, const char *text, size_t bytes)
{
    shown *s = context;
    str_add_bytes(&s->text, text, bytes);
    s->interrupted = s->interrupts;
}

static answer_options options_for(shown *s, uint32_t most_tok)
{
    return (answer_options){.most_tok = most_tok, .print = show, .context = s, .interrupted = &s->interrupted};
}

static session *new_session(const model *m, session_options o)
{
    err e = {0};
    session *s = session_new(device, m, &o, &e);
    if (!s || !session_prepare(s, &e))
        fail_msg("%s", e.text);
    return s;
}

static shown continued(session *s, bool echo, uint32_t most_tok)
{
    err e = {0};
    shown to = {0};
    answer_options o = options_for(&to, most_tok);
    if (!session_continue(s, TEXT, sizeof TEXT - 1, echo, &o, &to.report, &e))
        fail_msg("%s", e.text);
    str_add(&to.text, "");
    return to;
}

static shown said(session *s, const char *text, uint32_t most_tok)
{
    err e = {0};
    shown to = {0};
    answer_options o = options_for(&to, most_tok);
    if (!session_say(s, text, &o, &to.report, &e))
        fail_msg("%s", e.text);
    str_add(&to.text, "");
    return to;
}

static model *open_model(void)
{
    err e = {0};
    model *m = model_open(NULL, &e);
    if (!m)
        fail_msg("%s", e.text);
    return m;
}

static void texts_go_on(void **unused)
{
    (void)unused;
    model *m = open_model();
    session *s = new_session(m, (session_options){.generation.context_tok = 64});
    shown plain = continued(s, false, 8), echoed = continued(s, true, 8);
    assert_int_equal(plain.report.end, ANSWER_LONG);
    assert_int_equal(plain.report.answer_tok, 8);
    assert_memory_equal(echoed.text.data, TEXT, sizeof TEXT - 1);
    assert_string_equal(echoed.text.data + sizeof TEXT - 1, plain.text.data);
    shown all = continued(s, false, 0); /* until the model ends it, or the context does */
    assert_true(all.report.end == ANSWER_FULL || all.report.end == ANSWER_ENDED);
    assert_true(all.report.end == ANSWER_ENDED || all.report.fed_tok + all.report.answer_tok == 64);
    session_add_stop(s, "no such text comes");
    session_add_stop(s, (char[]){plain.text.data[3], plain.text.data[4], 0});
    shown stopped = continued(s, false, 8);
    assert_int_equal(stopped.report.end, ANSWER_STOPPED);
    assert_true(stopped.text.length < plain.text.length);
    session_forget_stops(s);
    shown again = continued(s, false, 8);
    assert_string_equal(again.text.data, plain.text.data);
    shown *const each[] = {&plain, &echoed, &all, &stopped, &again};
    for (int i = 0; i < 5; i++)
        str_free(&each[i]->text);
    session_free(s);
    model_close(m);
}

/* What a conversation had in the cache is gone after another text, and read again. */
static void conversations_survive_other_texts(void **unused)
{
    (void)unused;
    model *m = open_model();
    session *s = new_session(m, (session_options){.generation.context_tok = 96}),
            *other = new_session(m, (session_options){.generation.context_tok = 96});
    shown first = said(s, TEXT, 4), between = continued(s, false, 4), second = said(s, " and", 4);
    shown same = said(other, TEXT, 4), next = said(other, " and", 4);
    assert_string_equal(first.text.data, same.text.data);
    assert_string_equal(second.text.data, next.text.data);
    assert_int_equal(second.report.reused_tok, 0);
    assert_true(next.report.reused_tok > 0);
    assert_int_equal(conversation_count(session_conversation(s)), 4);
    session_begin(s, true);
    assert_int_equal(conversation_count(session_conversation(s)), 0);
    shown anew = said(s, TEXT, 4);
    assert_string_equal(anew.text.data, first.text.data);
    shown *const each[] = {&first, &between, &second, &same, &next, &anew};
    for (int i = 0; i < 6; i++)
        str_free(&each[i]->text);
    session_free(s);
    session_free(other);
    model_close(m);
}

static void levels_and_sampling_stay_set(void **unused)
{
    (void)unused;
    model *m = open_model();
    session *s =
        new_session(m, (session_options){.generation = {.level = LEVEL_OPS, .all_levels = true, .context_tok = 64}});
    sampling how = {.temperature = 1.5f, .seed = 5};
    shown greedy = continued(s, false, 6);
    session_set_sampling(s, &how);
    shown random = continued(s, false, 6);
    assert_string_not_equal(random.text.data, greedy.text.data);
    session_set_level(s, LEVEL_NONE);
    assert_int_equal(generation_level(session_generation(s)), LEVEL_NONE);
    shown none = continued(s, false, 6);
    assert_string_equal(none.text.data, random.text.data);
    err e = {0};
    assert_true(session_finish(s, &e)); /* nothing is made in the background here */
    assert_int_equal(generation_level(session_generation(s)), LEVEL_NONE);
    session_set_level(s, LEVEL_AUTO);
    assert_int_equal(generation_level(session_generation(s)), LEVEL_OPS);
    shown ops = continued(s, false, 6);
    assert_string_equal(ops.text.data, random.text.data);
    shown *const each[] = {&greedy, &random, &none, &ops};
    for (int i = 0; i < 4; i++)
        str_free(&each[i]->text);
    session_free(s);
    model_close(m);
}

static void interrupts_end_an_answer(void **unused)
{
    (void)unused;
    model *m = open_model();
    session *s = new_session(m, (session_options){.generation.context_tok = 64});
    err e = {0};
    shown to = {.interrupts = true};
    answer_options o = options_for(&to, 20);
    assert_true(session_continue(s, TEXT, sizeof TEXT - 1, false, &o, &to.report, &e));
    assert_int_equal(to.report.end, ANSWER_INTERRUPTED);
    assert_true(to.report.answer_tok < 20);
    str_free(&to.text);
    session_free(s);
    model_close(m);
}

static void logits_need_no_texts(void **unused)
{
    (void)unused;
    err e = {0};
    model *m = model_open("tests/data/models/qwen2-old", &e); /* a folder without a tokenizer */
    assert_non_null(m);
    uint32_t vocab = model_get_config(m)->vocab_tok, tokens[] = {3, 5, 7, 11};
    session *s = session_new(device, m, &(session_options){0}, &e);
    assert_non_null(s);
    float *all = calloc(4 * vocab, sizeof *all), *some = calloc(2 * vocab, sizeof *some);
    assert_true(session_logits(s, tokens, 4, all, &e) && session_logits(s, tokens, 2, some, &e));
    for (uint32_t i = 0; i < 2 * vocab; i++)
        assert_true(fabsf(all[i] - some[i]) < 1e-3f);
    assert_true(session_logits(s, tokens + 1, 2, some, &e));
    assert_true(fabsf(all[0] - some[0]) > 1e-6f); /* other tokens, by the same run */
    assert_false(session_logits(s, &vocab, 1, some, &e));
    err_clear(&e);
    assert_false(session_prepare(s, &e));
    assert_non_null(strstr(e.text, "tests/data/models/qwen2-old"));
    free(all);
    free(some);
    session_free(s);
    model_close(m);
}

/* `none` adds in another order than `ops`: logits differ by rounding, more where keys are rounded to f16. Each level
 * draws exactly what its own logits say, so texts part only where a draw falls on the border of two tokens. */
static void none_and_ops_part_by_rounding_only(void **unused)
{
    (void)unused;
    enum { TOKENS = 24 };
    static const struct {
        const char *cache;
        double most; /* of the logits' spread */
    } CASES[] = {{"f32", 5e-6}, {"f16", 1e-3}};
    err e = {0};
    model *m = open_model();
    uint32_t vocab = model_get_config(m)->vocab_tok, fed[] = {403, 407, 55, 78};
    float *logits[2] = {calloc(vocab, sizeof(float)), calloc(vocab, sizeof(float))};
    sampling how = {.temperature = 1, .seed = 3};
    sample_words words = sample_pack(&how);
    for (int c = 0; c < 2; c++) {
        generation *n[2];
        for (int i = 0; i < 2; i++) {
            n[i] = generation_new(device, m,
                                  &(generation_options){.level = i ? LEVEL_OPS : LEVEL_NONE,
                                                        .submit = SUBMIT_BATCH,
                                                        .context_tok = 64,
                                                        .cache = CASES[c].cache},
                                  &e);
            assert_non_null(n[i]);
            generation_set_sampling(n[i], &how);
            assert_true(generation_feed(n[i], fed, 4, &e));
        }
        for (int t = 0; t < TOKENS; t++) {
            uint32_t tokens[2], history[1] = {0};
            double apart = 0, low = INFINITY, high = -INFINITY;
            for (int i = 0; i < 2; i++) {
                assert_true(generation_logits(n[i], logits[i], &e));
                assert_true(generation_next(n[i], &tokens[i], &e));
                assert_int_equal(tokens[i],
                                 sample_on_cpu(logits[i], vocab, &words, history, 1, (uint32_t)(4 + t), NULL));
            }
            for (uint32_t k = 0; k < vocab; k++) {
                apart = fmax(apart, fabs((double)logits[0][k] - (double)logits[1][k]));
                low = fmin(low, (double)logits[0][k]);
                high = fmax(high, (double)logits[0][k]);
            }
            if (apart > CASES[c].most * (high - low))
                fail_msg("%s: token %d: logits %g apart, spread %g", CASES[c].cache, t, apart, high - low);
            if (tokens[0] != tokens[1]) { /* a border: both go on with the same one */
                generation_rewind(n[1], (uint32_t)(4 + t));
                assert_true(generation_feed(n[1], &tokens[0], 1, &e));
            }
        }
        generation_free(n[0]);
        generation_free(n[1]);
    }
    free(logits[0]);
    free(logits[1]);
    model_close(m);
}

/* ---- saved sessions ---------------------------------------------------------------------- */

static const sampling DRAWN = {.temperature = 0.9f, .top_k = 50, .repeat_penalty = 1.1f, .seed = 11};

static session *new_at(const model *m, fusion_level level, uint32_t context_tok)
{
    session *s = new_session(
        m, (session_options){.generation = {.level = level, .context_tok = context_tok}, .template = "chatml"});
    session_set_sampling(s, &DRAWN);
    return s;
}

static shown went_on(session *s, const char *text, uint32_t most_tok)
{
    err e = {0};
    shown to = {0};
    answer_options o = options_for(&to, most_tok);
    if (!session_continue_on(s, text, strlen(text), false, &o, &to.report, &e))
        fail_msg("%s", e.text);
    str_add(&to.text, "");
    return to;
}

/* What is saved, loaded into another session and continued there is what the first one makes without a break. */
static void saved_sessions_go_on_as_if_nothing_had_been(void **unused)
{
    (void)unused;
    err e = {0};
    char path[TEMPORARY_BYTES];
    model *m = open_model();
    close(temporary_file(path, "session"));
    for (int kind = 0; kind < 2; kind++) {
        const fusion_level level = kind ? LEVEL_LOOP : LEVEL_OPS;
        session *a = new_at(m, level, 256), *b = new_at(m, level, 200); /* another length of context, too */
        if (generation_level(session_generation(a)) != level) { /* one dispatch is not possible on this device */
            session_free(a);
            session_free(b);
            continue;
        }
        session_set_sampling(b, &(sampling){0});
        /* a conversation */
        shown first = said(a, TEXT, 9);
        if (!session_save(a, path, &e) || !session_load(b, path, &e))
            fail_msg("%s", e.text);
        shown second = said(a, "And then?", 9), again = said(b, "And then?", 9);
        assert_string_equal(second.text.data, again.text.data);
        assert_int_equal(second.report.reused_tok, again.report.reused_tok);
        assert_true(again.report.reused_tok > 8);
        assert_int_equal(conversation_count(session_conversation(b)), 4);
        /* a text */
        session_continues(a);
        session_continues(b);
        assert_false(session_load(b, path, &e)); /* that file is a conversation */
        assert_non_null(strstr(e.text, "is a conversation with turns"));
        err_clear(&e);
        shown begun = continued(a, false, 7);
        assert_true(session_save(a, path, &e));
        shown more = went_on(a, "", 9);
        assert_true(session_load(b, path, &e));
        shown loaded = went_on(b, "", 9);
        assert_string_equal(more.text.data, loaded.text.data);
        shown *const each[] = {&first, &second, &again, &begun, &more, &loaded};
        for (int i = 0; i < 6; i++)
            str_free(&each[i]->text);
        session_free(a);
        session_free(b);
    }
    unlink(path);
    model_close(m);
}

/* An answer that ends at its limit of tokens, at any token of a dispatch: the next turn reads the same cache. */
static void limits_of_answers_leave_a_whole_cache(void **unused)
{
    (void)unused;
    model *m = open_model();
    session *one = new_at(m, LEVEL_LOOP, 256), *many = new_at(m, LEVEL_OPS, 256);
    if (generation_level(session_generation(one)) == LEVEL_LOOP)
        for (uint32_t turn = 0; turn < 6; turn++) {
            shown a = said(one, "Go on.", 1 + turn % 3), b = said(many, "Go on.", 1 + turn % 3);
            assert_string_equal(a.text.data, b.text.data);
            str_free(&a.text);
            str_free(&b.text);
        }
    session_free(one);
    session_free(many);
    model_close(m);
}

static void refuse(session *s, const char *path, const char *bytes, size_t length, const char *why)
{
    err e = {0};
    size_t before = conversation_count(session_conversation(s));
    assert_true(file_write(path, bytes, length, &e));
    assert_false(session_load(s, path, &e));
    if (!strstr(e.text, why) || strchr(e.text, '\n'))
        fail_msg("'%s' does not say '%s'", e.text, why);
    assert_int_equal(conversation_count(session_conversation(s)), before);
}

static void damaged_and_foreign_sessions_are_refused(void **unused)
{
    (void)unused;
    err e = {0};
    char path[TEMPORARY_BYTES];
    size_t length;
    model *m = open_model(), *other = model_open("../shared/models/stories260K/f32.gguf", &e);
    err_clear(&e);
    close(temporary_file(path, "session"));
    session *s = new_at(m, LEVEL_OPS, 96);
    shown first = said(s, TEXT, 4);
    assert_true(session_save(s, path, &e));
    char *bytes = file_read(path, 1 << 30, &length, &e), *bad = malloc(length);
    assert_non_null(bytes);
    for (size_t cut = 0; cut < length; cut += 1 + length / 40)
        refuse(s, path, bytes, cut, cut < 96 ? "is no saved session" : "damaged");
    for (size_t at = 0; at < length; at += 1 + length / 40) {
        memcpy(bad, bytes, length);
        bad[at] ^= 4;
        refuse(s, path, bad, length, at < 8 ? "no saved session" : at < 12 ? "version" : "damaged");
    }
    /* it still goes on as before, and takes the whole file */
    assert_true(file_write(path, bytes, length, &e) && session_load(s, path, &e));
    session *small = new_at(m, LEVEL_OPS, 8);
    assert_false(session_load(small, path, &e));
    assert_non_null(strstr(e.text, "too many for a context of 8"));
    err_clear(&e);
    session *exact =
        new_session(m, (session_options){.generation = {.level = LEVEL_OPS, .context_tok = 96, .cache = "f32"},
                                         .template = "chatml"});
    assert_false(session_load(exact, path, &e));
    assert_non_null(strstr(e.text, "another type of cache"));
    err_clear(&e);
    if (other) {
        session *foreign = new_at(other, LEVEL_OPS, 96);
        assert_false(session_load(foreign, path, &e));
        assert_non_null(strstr(e.text, "another model"));
        session_free(foreign);
    }
    session_free(small);
    session_free(exact);
    session_free(s);
    str_free(&first.text);
    free(bytes);
    free(bad);
    unlink(path);
    model_close(other);
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_go_on),
        cmocka_unit_test(conversations_survive_other_texts),
        cmocka_unit_test(levels_and_sampling_stay_set),
        cmocka_unit_test(interrupts_end_an_answer),
        cmocka_unit_test(logits_need_no_texts),
        cmocka_unit_test(none_and_ops_part_by_rounding_only),
        cmocka_unit_test(saved_sessions_go_on_as_if_nothing_had_been),
        cmocka_unit_test(limits_of_answers_leave_a_whole_cache),
        cmocka_unit_test(damaged_and_foreign_sessions_are_refused),
    };
    return RUN_ON_EACH(tests);
}
