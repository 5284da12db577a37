/* The interpreter of chat templates: what Jinja2 makes of small templates (tests/data/jinja.json), limits, and which
 * characters are a message's. With --render it answers tests/oracle/chat_templates.py instead. */
#include "jinja_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CLOCK_S = 1790000000 }; /* as tests/oracle/jinja_oracle.py */

/* Renders with every text of the context marked as plain; false: the error is in `e`. */
static bool render(const char *template, const json_t *context, jinja_output *out, err *e)
{
    jinja_template *t = jinja_parse(template, strlen(template), e);
    if (!t)
        return false;
    jinja_run *r = jinja_run_new(t);
    const char *name;
    json_t *value;
    jinja_set_clock(r, CLOCK_S);
    json_object_foreach((json_t *)context, name, value) jinja_set(r, name, jinja_of_json(r, value, true));
    bool ok = jinja_render(r, out, e);
    jinja_run_free(r);
    jinja_template_free(t);
    return ok;
}

static void small_templates_as_in_jinja2(void **state)
{
    (void)state;
    json_t *all = json_load_file("tests/data/jinja.json", JSON_ALLOW_NUL, NULL), *one;
    const json_t *context = json_object_get(all, "context");
    size_t i, wrong = 0;
    assert_non_null(all);
    assert_true(json_array_size(json_object_get(all, "cases")) > 140);
    json_array_foreach(json_object_get(all, "cases"), i, one)
    {
        const char *template = json_string_value(json_object_get(one, "template"));
        const json_t *text = json_object_get(one, "text"), *raised = json_object_get(one, "raised");
        jinja_output out = {0};
        err e = {0};
        bool ok = render(template, context, &out, &e);
        bool right = text ? ok && out.text.length == json_string_length(text) &&
                                memcmp(out.text.data, json_string_value(text), out.text.length) == 0
                          : !ok && strncmp(e.text, "chat template, line 1: ", 23) == 0 &&
                                (!raised || strcmp(e.text + 23, json_string_value(raised)) == 0);
        if (!right)
            print_error("%s\n  is     %s\n  not    %s\n", template, ok ? out.text.data : e.text,
                        text ? json_string_value(text) : "refused");
        wrong += !right;
        jinja_output_free(&out);
    }
    json_decref(all);
    assert_int_equal(wrong, 0);
}

/* ---- limits ------------------------------------------------------------------------------------ */

static void expect_error(const char *template, const char *error)
{
    json_t *context = json_pack("{s:s, s:[i, i]}", "text", "abc", "list", 1, 2);
    jinja_output out = {0};
    err e = {0};
    assert_false(render(template, context, &out, &e));
    assert_string_equal(e.text, error);
    jinja_output_free(&out);
    json_decref(context);
}

static void what_never_ends_is_refused(void **state)
{
    (void)state;
    expect_error("\n{% set l = range(9999) %}{% for a in l %}{% for b in l %}{% endfor %}{% endfor %}",
                 "chat template, line 2: the template takes too many steps");
    expect_error("{% set l = [1] %}\n{% for a in l %}\n{% set _ = l.append(a) %}{% endfor %}",
                 "chat template, line 3: the template needs more than 128 MiB");
    expect_error("{% macro m() %}\n{{ m() }}{% endmacro %}{{ m() }}", "chat template, line 2: too deeply nested");
    expect_error(
        "{% set ns = namespace(s='abcdefgh') %}{% for i in range(99) %}\n{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "chat template, line 2: the template needs more than 128 MiB");
    expect_error("{{ 'abcdefgh' * 1000000000000 }}", "chat template, line 1: the template needs more than 128 MiB");
    expect_error("{{ [0] * 1000000000000 }}", "chat template, line 1: the template needs more than 128 MiB");
    expect_error(
        "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}\n{{ ns.l }}",
        "chat template, line 2: too deeply nested");
    expect_error("{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}", "chat template, line 1: too deeply nested");
    expect_error("{{ 9223372036854775807 + 1 }}", "chat template, line 1: a number that is too large");
    expect_error("{{ 10 ** 50 }}", "chat template, line 1: a number that is too large");
}

static void deep_templates_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *before, *again, *middle;
    } deep[] = {{"{{ ", "(", "1"},    {"{{ ", "[", "1"},      {"{{ ", "-", "1"},
                {"{{ ", "not ", "1"}, {"", "{% if 1 %}", ""}, {"{{ 1", " if 1 else 1", ""},
                {"{{ ", "{1:", "1"}};
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        str text = {0};
        err e = {0};
        str_add(&text, deep[i].before);
        for (int k = 0; k < 100000; k++)
            str_add(&text, deep[i].again);
        jinja_template *t = jinja_parse(text.data, text.length, &e);
        assert_null(t);
        assert_non_null(strstr(e.text, "line 1"));
        str_free(&text);
    }
    /* long chains are read, and refused where they are run */
    static const char *const chains[] = {"+1", ".a", "|abs", "[0]", " and 1", "()"};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        str text = {0};
        err e = {0};
        jinja_output out = {0};
        str_add(&text, "{{ 1");
        for (int k = 0; k < 100000; k++)
            str_add(&text, chains[i]);
        str_add(&text, "}}");
        assert_false(render(text.data, NULL, &out, &e));
        jinja_output_free(&out);
        str_free(&text);
    }
}

/* ---- whose characters ------------------------------------------------------------------------------ */

/* `marks`: a letter for each byte, p where it is plain. */
static void expect_marks(const char *template, const char *text, const char *marks)
{
    json_t *context = json_pack("{s:s, s:[s, s], s:{s:s}}", "m", " <a>b ", "l", "x", "<y", "d", "k<", "v");
    jinja_output out = {0};
    err e = {0};
    assert_true(render(template, context, &out, &e));
    assert_string_equal(out.text.data, text);
    for (size_t i = 0; i < out.text.length; i++)
        if ((marks[i] == 'p') != out.plain.data[i])
            fail_msg("%s: the mark of '%c', number %zu", template, text[i], i);
    jinja_output_free(&out);
    json_decref(context);
}

static void messages_stay_plain(void **state)
{
    (void)state;
    expect_marks("[{{ m }}]", "[ <a>b ]", ".pppppp.");
    expect_marks("{{ '<' + m|trim + '>' }}", "<<a>b>", ".pppp.");
    expect_marks("{{ '<' ~ m[1:4] ~ '>' }}", "<<a>>", ".ppp.");
    expect_marks("{{ m|upper|trim }}", "<A>B", "pppp");
    expect_marks("{{ m.strip().replace('a', 'tt') }}", "<tt>b", "p..pp");
    expect_marks("{{ 'x-y'.replace('-', m.strip()) }}", "x<a>by", ".pppp.");
    expect_marks("{{ l|join('|') }}", "x|<y", "p.pp");
    expect_marks("{{ l|tojson }}", "[\"x\", \"<y\"]", "..p....pp..");
    expect_marks("{{ d|tojson }}", "{\"k<\": \"v\"}", "..pp....p..");
    expect_marks("{{ d }}", "{'k<': 'v'}", "..pp....p..");
    expect_marks("{{ m|e|trim }}", "&lt;a&gt;b", "pppppppppp");
    expect_marks("{{ '%s|%s' % (m.strip(), 1) }}", "<a>b|1", "pppp..");
    expect_marks("{{ '[{}]'.format(m.strip()) }}", "[<a>b]", ".pppp.");
    expect_marks("{% set x %}<{{ m.strip() }}{% endset %}{{ x }}{% macro f(a) %}<{{ a }}{% endmacro %}{{ f(l[1]) }}",
                 "<<a>b<<y", ".pppp.pp");
    expect_marks("{{ m.split('>')[1]|trim }}{{ m.strip()[::-1] }}{{ l|map('upper')|list|join }}", "bb>a<X<Y",
                 "pppppppp");
    expect_marks("{% for c in l[1] %}{{ c }}.{% endfor %}{{ l[1] * 2 }}{{ m|trim|indent(2, true) }}", "<.y.<y<y  <a>b",
                 "p.p.pppp..pppp");
    expect_marks("{% set ns = namespace(t='') %}{% for c in l %}{% set ns.t = ns.t + '<' + c %}{% endfor %}{{ ns.t }}",
                 "<x<<y", ".p.pp");
}

/* ---- for the oracle ---------------------------------------------------------------------------- */

/* Lines of {"template": text, "context": {...}, "clock": seconds} on standard input, answered by lines with "text" or "error". */
static int render_lines(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *job = json_loads(line, JSON_ALLOW_NUL, NULL), *answer = json_object();
        const json_t *template = json_object_get(job, "template"), *context = json_object_get(job, "context");
        err e = {0};
        jinja_output out = {0};
        jinja_template *t = jinja_parse(json_string_value(template), json_string_length(template), &e);
        jinja_run *r = t ? jinja_run_new(t) : NULL;
        const char *name;
        json_t *value;
        if (r)
            jinja_set_clock(r, json_integer_value(json_object_get(job, "clock")));
        json_object_foreach((json_t *)context, name, value) if (r)
        {
            bool own = strstr(name, "_token") != NULL;
            jinja_set(r, name, jinja_of_json(r, value, !own));
        }
        if (r && jinja_render(r, &out, &e)) {
            json_object_set_new(answer, "text", json_stringn(out.text.data, out.text.length));
            str marks = {0};
            for (size_t i = 0; i < out.plain.length; i++)
                str_add(&marks, out.plain.data[i] ? "1" : "0");
            json_object_set_new(answer, "plain", json_string(marks.data ? marks.data : ""));
            str_free(&marks);
        } else
            json_object_set_new(answer, "error", json_string(e.text));
        json_dumpf(answer, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
        putchar('\n');
        fflush(stdout);
        jinja_output_free(&out);
        jinja_run_free(r);
        jinja_template_free(t);
        json_decref(job);
        json_decref(answer);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--render") == 0)
        return render_lines();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_templates_as_in_jinja2),
        cmocka_unit_test(what_never_ends_is_refused),
        cmocka_unit_test(deep_templates_are_refused),
        cmocka_unit_test(messages_stay_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
