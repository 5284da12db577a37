/* Tokens that mark thoughts and calls, as the text that others write: gpt-oss's channels, and Mistral's marks. */
#include "base/file.h"
#include "llm/markup_test.h"
#include "llm/tool_calls.h"
#include "model/chat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a model makes; ~ stands between its tokens. */
static const struct {
    const char *made, *text, *calls; /* names of the tools that are called, one after the other */
} CASES[] = {
    /* gpt-oss */
    {"<|channel|>~analysis~<|message|>~I greet~.~<|end|>~<|start|>~assistant~<|channel|>~final~<|message|>~Hello~!",
     "<think>I greet.</think>\n\nHello!", ""},
    {"<|channel|>~final~<|message|>~Hi", "Hi", ""},
    {"<|channel|>~analysis~<|message|>~Endless", "<think>Endless", ""},
    {"<|channel|>~analysis~<|message|>~One~<|end|>~<|start|>~assistant~<|channel|>~analysis~<|message|>~two~<|end|>~"
     "<|start|>~assistant~<|channel|>~final~<|message|>~Yes",
     "<think>One\n\ntwo</think>\n\nYes", ""},
    {"<|channel|>~analysis~<|message|>~Add~<|end|>~<|start|>~assistant~<|channel|>~commentary~ to~=functions~.add ~"
     "<|constrain|>~json~<|message|>~{\"a\": ~1}",
     "<think>Add</think>\n\n<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call>", "add"},
    {"<|start|>~assistant~ to=functions.add~<|channel|>~commentary json~<|message|>~{}",
     "<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>", "add"},
    {"<|channel|>~commentary~<|message|>~I look.~<|end|>~<|start|>~assistant~<|channel|>~commentary to=functions.a~"
     "<|message|>~{}",
     "I look.<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>", "a"},
    {"<|channel|>~commentary to=functions.a\"\\}~<|message|>~{}",
     "<tool_call>{\"name\": \"a\", \"arguments\": {}}</tool_call>", "a"},
    {"<|channel|>~commentary to=a~<|message|>~no JSON",
     "<tool_call>{\"name\": \"a\", \"arguments\": no JSON}</tool_call>", ""},
    {"<|channel|>~final", "", ""},
    {"Hello~ <|message|>", "Hello <|message|>", ""}, /* no token of its own, and one that stands alone */
    {"<|message|>~x~<|end|>", "<|message|>x<|end|>", ""},
    /* Mistral */
    {"[TOOL_CALLS]~add~[ARGS]~{\"a\": 1}", "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call>",
     "add"},
    {"Well.~[TOOL_CALLS]~ad~d~[CALL_ID]~123456789~[ARGS]~{}~[TOOL_CALLS]~b~[ARGS]~{}",
     "Well.<tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call><tool_call>{\"name\": \"b\", \"arguments\": {}}"
     "</tool_call>",
     "addb"},
    {"[TOOL_CALLS]~ [~{\"name\": \"a\", \"arguments\": {}, \"id\": \"123456789\"}, {\"name\": \"b\", \"arguments\": "
     "{}}]",
     "<tool_call> [{\"name\": \"a\", \"arguments\": {}, \"id\": \"123456789\"}, {\"name\": \"b\", \"arguments\": "
     "{}}]</tool_call>",
     "ab"},
    {"[THINK]~Hm~[/THINK]~Yes", "<think>Hm</think>Yes", ""},
    {"[TOOL_CALLS]~add", "[TOOL_CALLS]add", ""},
    {"[TOOL_CALLS]", "", ""},
    {"[ARGS]~{}", "[ARGS]{}", ""},
};

static char *made_text(const char *made)
{
    markup m = {0};
    str text = {0};
    for (const char *at = made; *at;) {
        size_t length = strcspn(at, "~");
        if (!markup_mark(&m, at, length, &text))
            markup_text(&m, at, length, &text);
        at += length + (at[length] == '~');
    }
    markup_end(&m, &text);
    str_add(&text, "");
    markup_free(&m);
    return text.data;
}

static void marks_become_text(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        str content = {0}, calls = {0}, names = {0};
        char *text = made_text(CASES[i].made);
        assert_string_equal(text, CASES[i].text);
        str_add(&names, "");
        if (tool_calls_find(text, &content, &calls)) {
            size_t count;
            tool_call *list = tool_calls_list(calls.data, &count);
            for (size_t k = 0; k < count; k++)
                str_add(&names, list[k].name);
            tool_calls_free(list, count);
        }
        assert_string_equal(names.data, CASES[i].calls);
        str_free(&content);
        str_free(&calls);
        str_free(&names);
        free(text);
    }
}

/* Where the thoughts are told to end, the model's own tokens do it. */
static void thoughts_are_ended(void **unused)
{
    (void)unused;
    markup m = {0};
    str text = {0};
    assert_string_equal(markup_end_of_thoughts(&m), "\n</think>\n\n");
    markup_mark(&m, "<|channel|>", 11, &text);
    markup_text(&m, "analysis", 8, &text);
    markup_mark(&m, "<|message|>", 11, &text);
    assert_string_equal(markup_end_of_thoughts(&m), "<|end|><|start|>assistant<|channel|>final<|message|>");
    str_free(&text);
    markup_free(&m);
}

/* What a model makes of its tokens, its own template writes as they were: with what was found in it as messages. */
static void published_templates_write_the_same(void **unused)
{
    (void)unused;
    static const struct {
        const char *path, *made, *written;
    } cases[] = {
        {"deps/templates/openai-gpt-oss-120b.jinja",
         "<|channel|>~analysis~<|message|>~I add.~<|end|>~<|start|>~assistant~<|channel|>~commentary to=functions.add ~"
         "<|constrain|>~json~<|message|>~{\"a\": 1}",
         "<|start|>assistant<|channel|>analysis<|message|>I add.<|end|><|start|>assistant to=functions.add<|channel|>"
         "commentary json<|message|>{\"a\": 1}<|call|><|start|>functions.add to=assistant"},
        {"deps/templates/Mistral-Small-3.2-24B-Instruct-2506.jinja", "[TOOL_CALLS]~add~[ARGS]~{\"a\": 1}",
         "[TOOL_CALLS]add[CALL_ID]call00001[ARGS]{\"a\": 1}"},
        {"deps/templates/mistralai-Mistral-Nemo-Instruct-2407.jinja",
         "[TOOL_CALLS]~[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]",
         "[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 1}, \"id\": \"call00001\"}]"}};
    static const char tools[] =
        "[{\"type\": \"function\", \"function\": {\"name\": \"add\", \"description\": \"adds\", "
        "\"parameters\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": "
        "\"integer\"}}}}}]";
    if (!file_exists(cases[0].path))
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        size_t length, count;
        str content = {0}, calls = {0};
        char *text = made_text(cases[i].made), *source = file_read(cases[i].path, 1 << 20, &length, &e);
        chat_template *t = source ? chat_template_new(source, length, &e) : NULL;
        if (!t)
            fail_msg("%s", e.text);
        assert_true(tool_calls_find(text, &content, &calls));
        tool_call *list = tool_calls_list(calls.data, &count);
        const chat_message talk[] = {
            {.role = CHAT_USER, .content = "1+3?"},
            {.role = CHAT_ASSISTANT, .content = content.data, .tool_calls = calls.data},
            {.role = CHAT_TOOL, .content = "4", .tool_call_id = list[0].id, .name = list[0].name}};
        chat_text out = {0};
        if (!chat_render(t, talk, 3, &(chat_options){.ask = true, .tools = tools}, "<s>", "</s>", &out, &e))
            fail_msg("%s: %s", cases[i].path, e.text);
        if (!strstr(out.text.data, cases[i].written))
            fail_msg("%s: %s", cases[i].path, out.text.data);
        chat_text_free(&out);
        tool_calls_free(list, count);
        chat_template_free(t);
        str_free(&content);
        str_free(&calls);
        free(source);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_become_text), cmocka_unit_test(thoughts_are_ended),
                                       cmocka_unit_test(published_templates_write_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
