/* Conversations that are much too long for the context: include/solo.h as someone else's program uses it. */
#include "api_device.h"

#include <time.h>

/* What came. */
typedef struct heard {
    char text[256];
    size_t bytes;
} heard;

static bool hear(void *user, const char *text, size_t bytes)
{
    heard *h = user;
    assert_true(h->bytes + bytes < sizeof h->text);
    memcpy(h->text + h->bytes, text, bytes + 1);
    h->bytes += bytes;
    return true;
}

static solo_answer answer_to(solo_session *s, const solo_message *messages, size_t count, heard *h)
{
    solo_error e = {0};
    solo_answer a;
    ok(solo_session_set_messages(s, messages, count, &e) && solo_session_answer(s, 4, hear, h, &a, &e), &e);
    return a;
}

/* As many of the oldest turns are dropped as must be, and soon: each try would take all of the messages again. */
static void long_conversations_are_cut(void **unused)
{
    (void)unused;
    enum { COUNT = 8001, PERIOD = 5, MOST_S = 8 };
    static const char *const texts[] = {"Tom had a red ball.", "Yes!", "4", "He gave it to Ann, who was very happy."};
    static const solo_role roles[PERIOD] = {SOLO_ROLE_USER, SOLO_ROLE_ASSISTANT, SOLO_ROLE_TOOL, SOLO_ROLE_ASSISTANT,
                                            SOLO_ROLE_USER};
    static const char *const templates[] = {"chatml", "none"};
    static solo_message all[COUNT + 1];
    solo_error e = {0};
    all[0] = (solo_message){.role = SOLO_ROLE_SYSTEM, .content = "Be brief."};
    for (size_t i = 1; i <= COUNT; i++)
        all[i] = (solo_message){.role = roles[(i - 1) % PERIOD], .content = texts[i % 4]};
    solo_model *m = solo_model_open(NULL, &e);
    for (size_t n = 0; n < 4; n++) {
        heard cut = {0}, rest = {0}, more = {0};
        size_t system = n % 2;
        solo_session_options o = {.level = SOLO_LEVEL_OPS, .context = 192, .chat_template = templates[n / 2]};
        solo_session *s = solo_session_open(device, m, &o, &e);
        ok(s, &e);
        clock_t from = clock();
        solo_answer a = answer_to(s, all + !system, COUNT + system, &cut);
        assert_true(clock() - from < MOST_S * CLOCKS_PER_SEC);
        size_t gone = a.forgotten_messages;
        assert_true(gone > COUNT - 60 && gone < COUNT);
        /* what stays fits, and with one turn more it would not */
        solo_message kept[100] = {all[0]};
        memcpy(kept + system, all + 1 + gone, (COUNT - gone) * sizeof *kept);
        solo_answer b = answer_to(s, kept, COUNT - gone + system, &rest);
        assert_true(b.forgotten_messages == 0 && b.prompt_tok == a.prompt_tok);
        assert_string_equal(cut.text, rest.text);
        assert_true(kept[system].role == SOLO_ROLE_USER);
        size_t turn = 1;
        while (all[1 + gone - turn].role != SOLO_ROLE_USER)
            turn++;
        memcpy(kept + system, all + 1 + gone - turn, (COUNT - gone + turn) * sizeof *kept);
        b = answer_to(s, kept, COUNT - gone + turn + system, &more);
        assert_int_equal(b.forgotten_messages, turn);
        assert_string_equal(cut.text, more.text);
        solo_session_close(s);
    }
    solo_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_conversations_are_cut),
    };
    return cmocka_run_group_tests_name("dawn", tests, open_dawn, shut);
}
