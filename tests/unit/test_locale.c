/* Numbers are read and written with a point in a program that has set a locale with a comma, and another one's letters. */
#include "base/jsonw.h"
#include "base/number.h"
#include "base/str.h"
#include "model/config.h"
#include "model/jinja.h"
#include "remove_folder.h"
#include "sim/source.h"
#include "sim/table.h"
#include "temporary.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[TEMPORARY_BYTES];

/* One that is made here of the system's sources of locales, or one that it has. A name that was not found once is not looked for
 * again, so it has to be there before. */
static bool set_one(const char *name)
{
    char whole[64], command[TEMPORARY_FILE_BYTES + 64], made[TEMPORARY_FILE_BYTES];
    snprintf(whole, sizeof whole, "%s.UTF-8", name);
    snprintf(made, sizeof made, "%s/%s", folder, whole);
    snprintf(command, sizeof command, "localedef -c -i %s -f UTF-8 %s >/dev/null 2>&1", name, made);
    if (system(command) != -1 && access(made, F_OK) == 0)
        setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, whole) != NULL;
}

static void a_number_has_a_point(void)
{
    char comma[16];
    snprintf(comma, sizeof comma, "%g", 0.5);
    assert_string_equal(comma, "0,5"); /* it is such a locale */

    err e = {0};
    str s = {0};
    str_addf(&s, "%g %.9g", 0.5, 1.25);
    assert_string_equal(s.data, "0.5 1.25");
    str_free(&s);
    jsonw j = jsonw_to(&s);
    jsonw_number(&j, NULL, 0.25);
    assert_non_null(strstr(s.data, "0.25"));
    str_free(&s);
    snprintf(comma, sizeof comma, "%g", 0.5);
    assert_string_equal(comma, "0,5"); /* and the program's is as it was */
    char *end;
    assert_true(number_read("2.5x", &end) == 2.5 && *end == 'x');

    static const char template[] = "{{ 0.5 + 1 }} {{ '2.5' | float }} {{ [0.125] | tojson }}";
    jinja_template *t = jinja_parse(template, sizeof template - 1, &e);
    assert_non_null(t);
    jinja_run *r = jinja_run_new(t);
    jinja_output out = {0};
    assert_true(jinja_render(r, &out, &e));
    assert_string_equal(out.text.data, "1.5 2.5 [0.125]");
    jinja_output_free(&out);
    jinja_run_free(r);
    jinja_template_free(t);

    sim_source sim;
    assert_true(sim_source_read(&sim, "a.wgsl",
                                "override a: f32 = 0.5;\nstruct State { x: f32 }\n"
                                "fn init() -> State { var s: State; return s; }\n"
                                "fn step(s: State) -> State { return s; }\nfn score(s: State) -> f32 { return a; }\n",
                                &e));
    assert_true(sim_source_set(&sim, "a=0.25", &e));
    char *text = sim_source_text(&sim);
    assert_non_null(strstr(text, "0.25"));
    free(text);
    sim_source_free(&sim);

    table numbers;
    assert_true(table_parse(&numbers, "a.csv", "0.5,1.5\n2.5,3.5\n", &e));
    assert_true(numbers.columns == 2 && numbers.values[3] == 3.5f);
    table_free(&numbers);

    model_config c;
    static const char config[] =
        "{\"model_type\":\"llama\",\"vocab_size\":100,\"hidden_size\":64,\"intermediate_size\":96,"
        "\"num_hidden_layers\":4,\"num_attention_heads\":4,\"rms_norm_eps\":0.125}";
    assert_true(config_from_hf(config, sizeof config - 1, "config.json", &c, &e));
    assert_true(c.norm_epsilon == 0.125f);
}

static void with_a_comma(void **unused)
{
    (void)unused;
    if (!set_one("de_DE"))
        skip();
    a_number_has_a_point();
}

static void turkish(void **unused)
{
    (void)unused;
    if (!set_one("tr_TR"))
        skip();
    a_number_has_a_point();
}

static int begin(void **unused)
{
    (void)unused;
    return temporary_folder(folder, "locale") ? 0 : 1;
}

static int end(void **unused)
{
    (void)unused;
    return remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(with_a_comma), cmocka_unit_test(turkish)};
    return cmocka_run_group_tests(tests, begin, end);
}
