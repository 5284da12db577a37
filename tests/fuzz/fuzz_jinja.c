/* Runs templates of any bytes, with a conversation. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "jinja"
#define FUZZ_MUTATIONS 20000
#include "base/rng.h"
#include "fuzz/require.h"
#include "model/jinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A letter that no seed has: its first byte is 0xD0. */
#define LETTER "ж"

static jinja_value text(jinja_run *r, const char *t, bool plain)
{
    return jinja_text_value(r, t, strlen(t), plain);
}

static void set_conversation(jinja_run *r)
{
    static const char *const roles[] = {"system", "user", "assistant", "user"}, *const contents[] = {
                                                                                    LETTER, " " LETTER "a\n",
                                                                                    "<think>" LETTER "</think>" LETTER,
                                                                                    LETTER "'\""};
    jinja_value messages = jinja_list(r), tool = jinja_dict(r), tools = jinja_list(r), many = jinja_list(r);
    for (int i = 0; i < 4; i++) {
        jinja_value m = jinja_dict(r);
        jinja_put(r, m, "role", text(r, roles[i], false));
        jinja_put(r, m, "content", text(r, contents[i], true));
        jinja_push(r, messages, m);
        jinja_push(r, many, jinja_whole(3 - 2 * i));
    }
    jinja_put(r, tool, "name", text(r, LETTER, true));
    jinja_put(r, tool, "real", jinja_real(-2.5));
    jinja_put(r, tool, "none", jinja_none());
    jinja_push(r, tools, tool);
    jinja_set(r, "messages", messages);
    jinja_set(r, "tools", tools);
    jinja_set(r, "list", many);
    jinja_set(r, "map", tool);
    jinja_set(r, "text", text(r, LETTER " x" LETTER, true));
    jinja_set(r, "n", jinja_whole(7));
    jinja_set(r, "yes", jinja_bool(true));
    jinja_set(r, "bos_token", text(r, "<s>", false));
    jinja_set(r, "add_generation_prompt", jinja_bool(true));
    jinja_set_clock(r, 1790000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    err e = {0};
    jinja_template *t = jinja_parse((const char *)bytes, length, &e);
    require((t != NULL) == (e.kind == ERR_NONE), "an error beside a result, or neither");
    if (t) {
        jinja_run *r = jinja_run_new(t);
        jinja_output out = {0};
        jinja_set_limits(r, 200000, 4 << 20);
        set_conversation(r);
        bool ok = jinja_render(r, &out, &e);
        require(ok == (e.kind == ERR_NONE), "an error beside a text, or neither");
        require(!ok || out.text.length == out.plain.length, "not a mark for each byte");
        /* a letter of a message stays one, unless the template can write it itself */
        bool can = length && (memchr(bytes, 0xD0, length) || memchr(bytes, '\\', length));
        for (size_t i = 0; ok && !can && i < out.text.length; i++)
            require((unsigned char)out.text.data[i] != 0xD0 || out.plain.data[i] == 1, "a letter lost its mark");
        jinja_output_free(&out);
        jinja_run_free(r);
    }
    require(e.kind == ERR_NONE || strncmp(e.text, "chat template, line ", 20) == 0, "an error does not name the line");
    require(!strchr(e.text, '\n'), "an error has two lines");
    jinja_template_free(t);
    return 0;
}

#ifdef FUZZ_MAIN
/* Words of the language put in, bytes changed, pieces copied and taken out. */
static void mutate_once(rng *r, uint8_t *bytes, size_t *length)
{
    static const char *const words[] = {"{% ",
                                        " %}",
                                        "{{ ",
                                        " }}",
                                        "{#",
                                        "#}",
                                        "-%}",
                                        "{%-",
                                        "{% if yes %}",
                                        "{% endif %}",
                                        "{% else %}",
                                        "{% for m in messages %}",
                                        "{% endfor %}",
                                        "{% set x = ",
                                        "{% macro f(a) %}",
                                        "{% endmacro %}",
                                        "f(1)",
                                        "messages",
                                        "m.content",
                                        "loop.",
                                        "|",
                                        "|join",
                                        "|tojson",
                                        "|trim",
                                        "|length",
                                        "|map('upper')",
                                        "|list",
                                        "|sort",
                                        "|replace('a', text)",
                                        ".split(",
                                        ")",
                                        "(",
                                        "[",
                                        "]",
                                        "[-1:]",
                                        "[::-1]",
                                        ".strip()",
                                        ".format(text)",
                                        " is ",
                                        " in ",
                                        " not ",
                                        " and ",
                                        " if ",
                                        " else ",
                                        "'",
                                        "\"",
                                        "text",
                                        "+",
                                        "*",
                                        "9999999",
                                        "**",
                                        "%",
                                        "~",
                                        "none",
                                        "{}",
                                        "range(",
                                        "namespace(a=1)",
                                        "{% break %}",
                                        "{% raw %}",
                                        "{% filter upper %}",
                                        "{% call f() %}",
                                        ":",
                                        ",",
                                        "\n",
                                        "-",
                                        "0.5",
                                        "|indent(2, true)",
                                        ".replace('', text)"};
    if (*length == 0)
        return;
    size_t at = rng_below(r, (uint32_t)*length), left = *length - at, n = 1 + rng_below(r, 30), from;
    const char *word = words[rng_below(r, sizeof words / sizeof *words)];
    switch (rng_below(r, 5)) {
    case 0: bytes[at] = (uint8_t)(32 + rng_below(r, 95)); break;
    case 1: /* take a piece out */
        n = n < left ? n : left;
        memmove(bytes + at, bytes + at + n, left - n);
        *length -= n;
        break;
    case 2: /* copy a piece over another */
        from = rng_below(r, (uint32_t)*length);
        left = *length - (from > at ? from : at);
        memmove(bytes + at, bytes + from, n < left ? n : left);
        break;
    default: /* put a word in */
        n = strlen(word);
        memmove(bytes + at + n, bytes + at, left);
        memcpy(bytes + at, word, n);
        *length += n;
    }
}

#include "fuzz/fuzz_main.h"
#endif
