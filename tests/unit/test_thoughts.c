/* Thoughts told from answers, however the text is cut into pieces. */
#include "llm/thoughts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

typedef struct seen {
    str thoughts, answer;
} seen;

static void take(void *context, bool is_thought, const char *text, size_t bytes)
{
    seen *s = context;
    str_add_bytes(is_thought ? &s->thoughts : &s->answer, text, bytes);
}

static const struct {
    const char *text, *thoughts, *answer;
    bool opened; /* by the template */
} CASES[] = {
    {"Hello", "", "Hello", false},
    {"<think>\nhm\n</think>\n\nYes.", "\nhm\n", "\n\nYes.", false},
    {" \n<think>a</think>b", "a", "b", false},
    {"hm</think>Yes <think> no", "hm", "Yes <think> no", true},
    {"a < b </ c </thin", "a < b </ c </thin", "", true},
    {"<thinking about it", "", "<thinking about it", false},
    {"<thi", "", "<thi", false},
    {"a</think></think>", "a", "</think>", true},
    {"", "", "", false},
};

static void thoughts_are_told_from_answers(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (size_t piece = 1; piece < 12; piece++) {
            thoughts t = {.state = CASES[i].opened ? THOUGHTS_THINKING : THOUGHTS_UNKNOWN};
            seen s = {0};
            const char *at = CASES[i].text;
            for (size_t left = strlen(at), n; left; left -= n, at += n) {
                n = left < piece ? left : piece;
                thoughts_add(&t, at, n, take, &s);
            }
            thoughts_end(&t, take, &s);
            str_add(&s.thoughts, "");
            str_add(&s.answer, "");
            assert_string_equal(s.thoughts.data, CASES[i].thoughts);
            assert_string_equal(s.answer.data, CASES[i].answer);
            thoughts_free(&t);
            str_free(&s.thoughts);
            str_free(&s.answer);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(thoughts_are_told_from_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
