/* Reads any bytes as a list of tools, and as an answer that calls tools; JSON is what Jansson takes for it. See
 * fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "tools"
#define FUZZ_MUTATIONS 50000
#include "base/rng.h"
#include "fuzz/require.h"
#include "llm/tool_calls.h"
#include "model/jinja.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the two differ on purpose: long numbers, what nests deep, and a zero behind a number, which Jansson takes. */
static bool is_ordinary(const char *text, size_t length)
{
    size_t digits = 0, open = 0;
    for (size_t i = 0; i < length; i++) {
        digits = isdigit((unsigned char)text[i]) || strchr("+-.eE", text[i]) ? digits + 1 : 0;
        open += text[i] == '[' || text[i] == '{';
        if (digits > 17 || open > 60 || !text[i])
            return false;
    }
    return true;
}

static void read_json(const char *text, size_t length)
{
    err e = {0};
    jinja_template *t = jinja_parse("{{ x | tojson }}", 16, &e);
    jinja_run *r = jinja_run_new(t);
    jinja_value value;
    json_t *theirs = json_loadb(text, length, JSON_DECODE_ANY, NULL);
    bool ok = jinja_from_json(r, text, length, true, &value);
    if (is_ordinary(text, length))
        require(ok == (theirs != NULL), "another verdict than Jansson's");
    if (ok) {
        jinja_output out = {0};
        jinja_set(r, "x", value);
        if (jinja_render(r, &out, &e)) {
            json_t *again = json_loadb(out.text.data, out.text.length, JSON_DECODE_ANY, NULL);
            if (theirs && is_ordinary(text, length))
                require(again && json_equal(again, theirs), "it is not the same when it is written again");
            json_decref(again);
        }
        jinja_output_free(&out);
    }
    json_decref(theirs);
    jinja_run_free(r);
    jinja_template_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    read_json((const char *)bytes, length);
    char *text = mem_alloc(length + 1);
    memcpy(text, bytes, length);
    str content = {0}, calls = {0};
    tool_list_fault(text);
    if (tool_calls_find(text, &content, &calls)) {
        size_t count;
        tool_call *list = tool_calls_list(calls.data, &count);
        require(count > 0, "calls that are none");
        require(content.length <= strlen(text) && memcmp(content.data, text, content.length) == 0,
                "the content is not the beginning of the answer");
        tool_calls_free(list, count);
    }
    str_free(&content);
    str_free(&calls);
    free(text);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
