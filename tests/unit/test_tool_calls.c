/* Calls of tools found in answers. */
#include "llm/tool_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text, *content, *names, *arguments; /* names NULL: no calls; arguments of the first */
} CASES[] = {
    {"<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>", "", "add", "{\"a\": 1}"},
    {"Let me see.\n<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>\n<tool_call>{\"name\": \"b\", "
     "\"arguments\": {}}",
     "Let me see.\n", "ab", "{}"},
    {"<think>hm <tool_call></think>\n<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>",
     "<think>hm <tool_call></think>\n", "a", "{}"},
    {"\n{\"name\": \"add\", \"parameters\": {\"a\": \"x\"}}", "\n", "add", "{\"a\": \"x\"}"},
    {"<tool_call>[{\"name\": \"a\", \"arguments\": {\"x\": 2}}, {\"name\": \"b\", \"arguments\": {}}]</tool_call>", "",
     "ab", "{\"x\": 2}"},
    {"<tool_call>[]</tool_call>", "", NULL, NULL},
    {"<tool_call>[{\"name\": \"a\", \"arguments\": {}}, 1]</tool_call>", "", NULL, NULL},
    {"Hello", "", NULL, NULL},
    {"{\"name\": \"add\"}", "", NULL, NULL},
    {"{\"name\": 1, \"arguments\": {}}", "", NULL, NULL},
    {"<tool_call>add(1, 2)</tool_call>", "", NULL, NULL},
    {"<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call><tool_call>?</tool_call>", "", NULL, NULL},
    {"", "", NULL, NULL},
};

static void calls_are_found(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        str content = {0}, calls = {0}, names = {0};
        bool found = tool_calls_find(CASES[i].text, &content, &calls);
        if (found != (CASES[i].names != NULL))
            fail_msg("%s", CASES[i].text);
        if (found) {
            size_t count;
            tool_call *list = tool_calls_list(calls.data, &count);
            for (size_t k = 0; k < count; k++)
                str_add(&names, list[k].name);
            assert_string_equal(content.data, CASES[i].content);
            assert_string_equal(names.data, CASES[i].names);
            assert_string_equal(list[0].arguments, CASES[i].arguments);
            assert_string_equal(list[0].id, "call00001");
            tool_calls_free(list, count);
        }
        str_free(&content);
        str_free(&calls);
        str_free(&names);
    }
}

/* What a model writes in a name stays in the name: it ends no text, and begins no line. */
static void names_stay_names(void **unused)
{
    (void)unused;
    str content = {0}, calls = {0}, line = {0};
    size_t count;
    assert_true(tool_calls_find("{\"name\": \"a\\\", \\\"b\\\": \\n\\u001b\", \"arguments\": {\"x\": \"\\n\"}}",
                                &content, &calls));
    tool_call *list = tool_calls_list(calls.data, &count);
    assert_int_equal(count, 1);
    tool_call_add(&list[0], &line);
    assert_string_equal(line.data, "{\"name\": \"a\\\", \\\"b\\\": \\n\\u001B\", \"arguments\": {\"x\": \"\\n\"}}");
    tool_calls_free(list, count);
    str_free(&content);
    str_free(&calls);
    str_free(&line);
}

static void lists_are_checked(void **unused)
{
    (void)unused;
    assert_null(tool_list_fault("[]"));
    assert_null(tool_list_fault("[{\"type\": \"function\", \"function\": {\"name\": \"add\"}}]"));
    assert_non_null(strstr(tool_list_fault("x"), "not JSON"));
    assert_non_null(strstr(tool_list_fault("{}"), "no list"));
    assert_non_null(strstr(tool_list_fault("[{\"name\": \"add\"}]"), "a function with a name"));
    assert_null(tool_list_fault("[{\"function\": {\"name\": \"a.b:c/d-e_1\"}}]"));
    static const char *const odd[] = {"", "a b", "a\\n", "a\\\"", "<a>", "\303\244"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char list[80];
        snprintf(list, sizeof list, "[{\"function\": {\"name\": \"%s\"}}]", odd[i]);
        assert_non_null(strstr(tool_list_fault(list), "128 letters"));
    }
    assert_non_null(strstr(tool_list_fault("[{\"function\": {\"name\": \"a\"}}, {\"function\": {\"name\": \"a\"}}]"),
                           "the same name"));
    size_t count;
    tool_calls_free(tool_calls_list("[{\"function\": {\"name\": 1}}, 2]", &count), 0);
    assert_int_equal(count, 0);
    tool_calls_free(tool_calls_list("nothing", &count), 0);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_found), cmocka_unit_test(names_stay_names),
                                       cmocka_unit_test(lists_are_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
