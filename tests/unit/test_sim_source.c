/* Files of simulations and tables of data: what is accepted, and the errors for what is not. */
#include "base/str.h"
#include "sim/builtin.h"
#include "sim/sim.h"
#include "sim/source.h"
#include "sim/table.h"
#include "sim/text.h"
#include "sim/threefry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FUNCTIONS \
    "fn init() -> State { var s: State; return s; }\n" \
    "fn step(s: State) -> State { return s; }\n" \
    "fn score(s: State) -> f32 { return 0.0; }\n"

static void reads_a_state_word_by_word(void **unused)
{
    (void)unused;
    err e = {0};
    sim_source s;
    assert_true(sim_source_read(&s, "a.wgsl",
                                "/* a /* nested */ comment */ const N = 2u + 1; // elements\n"
                                "struct Part { turn: vec2f, on: u32 }\n"
                                "struct State { @align(16) x: f32, parts: array<Part, 2>,\n"
                                "  far: array<array<i32, N>, 2 * (N - 2)>, at: vec3<f32>, }\n" FUNCTIONS,
                                &e));
    static const char *const names[] = {"x",
                                        "parts[0].turn.x",
                                        "parts[0].turn.y",
                                        "parts[0].on",
                                        "parts[1].turn.x",
                                        "parts[1].turn.y",
                                        "parts[1].on",
                                        "far[0][0]",
                                        "far[0][1]",
                                        "far[0][2]",
                                        "far[1][0]",
                                        "far[1][1]",
                                        "far[1][2]",
                                        "at.x",
                                        "at.y",
                                        "at.z"};
    assert_int_equal(s.state->words, sizeof names / sizeof *names);
    for (uint32_t i = 0; i < s.state->words; i++)
        assert_string_equal(s.words[i].name, names[i]);
    assert_int_equal(s.words[3].type, SIM_U32);
    assert_int_equal(s.words[7].type, SIM_I32);
    assert_false(s.is_coupled);
    sim_source_free(&s);
}

static void leaves_a_byte_order_mark_out(void **unused)
{
    (void)unused;
    err e = {0};
    sim_source s;
    assert_true(sim_source_read(&s, "a.wgsl", "\xEF\xBB\xBFstruct State { x: f32 }\n" FUNCTIONS, &e));
    assert_int_equal(strncmp(s.file.text, "struct", 6), 0);
    sim_source_free(&s);
}

static void sets_parameters_and_keeps_lines(void **unused)
{
    (void)unused;
    err e = {0};
    sim_source s;
    assert_true(sim_source_read(&s, "a.wgsl",
                                "override N: u32 = 3;\noverride G: f32 =\n   9.8;\nconst GENES = N * 2;\n"
                                "struct State { x: array<f32, N> }\n" FUNCTIONS,
                                &e));
    assert_int_equal(s.state->words, 3);
    assert_int_equal(s.genes, 6);
    assert_true(sim_source_set(&s, "N=5", &e));
    assert_true(sim_source_set(&s, "G=2", &e));
    assert_int_equal(s.state->words, 5);
    assert_int_equal(s.genes, 10);
    char *text = sim_source_text(&s);
    assert_memory_equal(text, "const N: u32 = 5;\nconst G: f32 =\n   2.0;\n",
                        strlen("const N: u32 = 5;\nconst G: f32 =\n   2.0;\n"));
    free(text);
    const char *const wrong[] = {"N=-1", "N=1.5", "N=x", "G=", "G=inf", "M=1", "N", "GENES=3"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err_clear(&e);
        assert_false(sim_source_set(&s, wrong[i], &e));
        assert_int_equal(e.kind, ERR_USAGE);
    }
    err_clear(&e);
    /* a parameter that makes the state too large is an error, too */
    assert_false(sim_source_set(&s, "N=100000", &e));
    sim_source_free(&s);
}

static void says_what_is_wrong_and_where(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "'struct State' is missing"},
        {"struct State { x: f32 }", "'fn init' is missing"},
        {"struct State { x: bool }\n" FUNCTIONS, "a.wgsl:1: 'bool'"},
        {"struct State {\n y: f32,\n x: array<f32> }\n" FUNCTIONS, "a.wgsl:3: 'array<f32>'"},
        {"struct State { x: array<f32, 0> }\n" FUNCTIONS, "fixed number"},
        {"struct State { x: array<f32, M> }\n" FUNCTIONS, "fixed number"},
        {"struct State { x: array<f32, 2000> }\n" FUNCTIONS, "from 1 to 1024"},
        {"struct State { x: array<array<f32, 1000>, 1000> }\n" FUNCTIONS, "more than 1024 words"},
        {"struct State { x: State }\n" FUNCTIONS, "types within types"},
        {"struct State {}\n" FUNCTIONS, "struct State is empty"},
        {"struct State { x: f32 }\nfn init(j: u32) -> State { }", "a.wgsl:2: fn init cannot be given 'j: u32'"},
        {"struct State { x: f32 }\nfn init(s: State) -> State { }", "fn init cannot be given 's: State'"},
        {"struct State { x: f32 }\n\nfn init() -> f32 { }", "a.wgsl:3: fn init returns State, not f32"},
        {"struct State { x: f32 }\nfn done(s: State) -> u32 {}\n" FUNCTIONS, "a.wgsl:2: fn done returns bool"},
        {"struct State { x: f32 }\nfn random() {}\n" FUNCTIONS, "a.wgsl:2: the name 'random' is Solo's own"},
        {"struct State { x: f32 }\nfn log(x: f32) -> f32 { return x; }\n" FUNCTIONS, "a.wgsl:2: 'log' is WGSL's own"},
        {"struct State { x: f32 }\nconst max = 3;\n" FUNCTIONS, "a.wgsl:2: 'max' is WGSL's own"},
        {"struct State { x: f32 }\nconst population = 3;\n" FUNCTIONS, "a.wgsl:2: the name 'population' is Solo's own"},
        {"alias u32 = i32;\nstruct State { x: f32 }\n" FUNCTIONS, "a.wgsl:1: 'u32' is WGSL's own"},
        {"struct State { x: f32 }\nfn f() { gene(1u); }\n" FUNCTIONS, "a.wgsl:2: gene() is used"},
        {"struct State { x: f32 }\nconst GENES = 0;\n" FUNCTIONS, "a.wgsl:2: GENES is a whole number"},
        {"struct State { x: f32 }\nconst GENES = GENES;\n" FUNCTIONS, "GENES is a whole number"},
        {"const GENES = 2;\nconst GENE_LOW = 1.0;\nstruct State { x: f32 }\n" FUNCTIONS, "a.wgsl:2: GENE_LOW and"},
        {"override g = 1.0;\nstruct State { x: f32 }\n" FUNCTIONS, "a.wgsl:1: a parameter is written"},
        {"struct State { x: f32 }\nfn done(s: State, t: u32) -> bool {}\n" FUNCTIONS,
         "a.wgsl:2: fn done cannot be given 't: u32'"},
        {"struct State { x: f32 }\nvar<private> seen: u32;\n" FUNCTIONS, "a.wgsl:2: a var outside of functions"},
        {"/* struct", "a.wgsl:1: a comment without an end"},
        {"fn f() {\n{ }", "a.wgsl:1: a '{' without its '}'"},
        {"struct State { x f32 }", "a.wgsl:1: a colon and a type"},
        {"+", "a declaration is expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        sim_source s;
        if (sim_source_read(&s, "a.wgsl", cases[i].text, &e) || !strstr(e.text, cases[i].part))
            fail_msg("'%s' was expected in '%s'", cases[i].part, e.text);
    }
}

/* Members and locals may have any name: only a call is one. */
static void tells_calls_from_names(void **unused)
{
    (void)unused;
    static const struct {
        const char *body;
        bool coupled, data;
    } cases[] = {
        {"let other = s.other_x + s.data; let gene = other; return s.gene(gene);", false, false},
        {"return other_x(0u);", true, false},
        {"return other (0u).x;", true, false},
        {"return f32(data_rows());", false, true},
        {"return data\n(0u, 1u);", false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        err e = {0};
        sim_source s;
        snprintf(text, sizeof text,
                 "struct State { x: f32, data: f32, other_x: f32 }\nfn f(s: State) -> f32 { %s }\n%s", cases[i].body,
                 FUNCTIONS);
        if (!sim_source_read(&s, "a.wgsl", text, &e))
            fail_msg("%s", e.text);
        assert_int_equal(s.is_coupled, cases[i].coupled);
        assert_int_equal(s.uses_data, cases[i].data);
        sim_source_free(&s);
    }
}

/* Constants that name others twice each would take 2^60 looks. */
static void refuses_constants_of_exponential_time(void **unused)
{
    (void)unused;
    char text[8192] = "const A0 = 1;\n";
    for (int i = 1; i < 60; i++)
        snprintf(text + strlen(text), 64, "const A%d = A%d + A%d;\n", i, i - 1, i - 1);
    strcat(text, "const GENES = A59;\nstruct State { x: f32 }\n" FUNCTIONS);
    err e = {0};
    sim_source s;
    assert_false(sim_source_read(&s, "a.wgsl", text, &e));
}

static void reads_all_that_is_built_in(void **unused)
{
    (void)unused;
    uint32_t n = 0;
    for (; sim_builtin_name(n); n++) {
        err e = {0};
        sim_source s;
        const char *name = sim_builtin_name(n);
        if (!sim_source_read(&s, name, sim_builtin(name), &e))
            fail_msg("%s", e.text);
        assert_true(s.steps && s.population);
        assert_int_equal(s.is_coupled, strcmp(name, "nbody") == 0 || strcmp(name, "epidemic") == 0);
        if (strcmp(name, "acrobot") == 0)
            assert_int_equal(s.genes, 163);
        if (strcmp(name, "finance") == 0)
            assert_int_equal(s.genes, 246);
        char *summary = sim_builtin_summary(name);
        assert_true(strlen(summary) > 20 && summary[strlen(summary) - 1] == '.' && !strchr(summary, '\n'));
        free(summary);
        sim_source_free(&s);
    }
    assert_int_equal(n, 13);
    assert_null(sim_builtin("no such"));
}

/* Errors of compilers about a line are about the same line of the file. */
static void turns_messages_to_the_file(void **unused)
{
    (void)unused;
    err e = {0};
    sim_source s;
    assert_true(sim_source_read(&s, "a.wgsl", "struct State { x: f32 }\n" FUNCTIONS, &e));
    err_set(&e, "dawn: kernel 'a.wgsl', WGSL line 3: no such thing: \"x\"");
    sim_text_error(&s, &e);
    assert_string_equal(e.text, "a.wgsl:3: no such thing: \"x\"");
    err_clear(&e);
    err_set(&e, "dawn: kernel 'a.wgsl', WGSL line 300: no such thing: \"x\"");
    sim_text_error(&s, &e);
    assert_string_equal(e.text, "a.wgsl: does not fit what Solo adds to it: no such thing: \"x\"");
    sim_source_free(&s);
}

static void reads_tables(void **unused)
{
    (void)unused;
    err e = {0};
    table t;
    assert_true(table_parse(&t, "t.csv", "day,price\r\n1, 2.5\r\n\n-3e2,+4", &e));
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.columns, 2);
    assert_true(t.values[1] == 2.5f && t.values[2] == -300.0f && t.values[3] == 4.0f);
    table_free(&t);
    /* names that begin as words for no number do, and a mark of UTF-8, which is no name */
    assert_true(table_parse(&t, "t.csv", "infected,nano\n1,2\n", &e) && t.rows == 1);
    table_free(&t);
    assert_true(table_parse(&t, "t.csv",
                            "\xef\xbb\xbf"
                            "1,2\n3,4\n",
                            &e) &&
                t.rows == 2 && t.values[0] == 1.0f);
    table_free(&t);
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"x1,2\n3,4\n", "t.csv, line 1, column 1: 'x1' is not a finite number"},
        {"NaN,a\n3,4\n", "t.csv, line 1, column 1: 'NaN' is not a finite number"},
        {",2\n3,4\n", "t.csv, line 1, column 1 is empty"},
        {"", "t.csv has no rows"},
        {"a,b\n", "has no rows"},
        {"1,2\n3\n", "t.csv, line 2 has 1 columns, those before have 2"},
        {"a,b\n1,2\n\n3,x4\n", "t.csv, line 4, column 2: 'x4' is not a finite number"},
        {"1,2\n3,\n", "t.csv, line 2, column 2 is empty"},
        {"1,nan\n", "line 1, column 2: 'nan'"},
        {"1\n1e99\n", "line 2, column 1: '1e99'"},
        {"1 2\n", "line 1, column 1: '1 2'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_clear(&e);
        if (table_parse(&t, "t.csv", cases[i].text, &e) || !strstr(e.text, cases[i].part))
            fail_msg("'%s' was expected in '%s'", cases[i].part, e.text);
    }
}

/* Kernels written by hand read what they expect, wherever it is. */
static void cuda_controls_get_what_they_expect(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        uint32_t population, steps, rows, columns;
        const char *part; /* NULL: it suits */
    } cases[] = {
        {"finance", 100, 1500, 1521, 16, NULL},
        {"finance", 100, 1501, 1521, 16, "at least 1522 rows"},
        {"finance", 100, 10, 1521, 15, "16 columns"},
        {"finance", 20000000, 10, 1521, 16, "32 bits"},
        {"acrobot", 100, 10, 0, 0, NULL},
        {"pi", 100, 10, 0, 0, "only acrobot, finance and rastrigin"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        sim_source s;
        table t = {cases[i].rows, cases[i].columns, NULL};
        assert_true(sim_source_read(&s, cases[i].name, sim_builtin(cases[i].name), &e));
        sim_options o = {.population = cases[i].population, .steps = cases[i].steps, .data = t.rows ? &t : NULL};
        bool suits = sim_cuda_suits(&s, &o, &e);
        if (suits != !cases[i].part || (cases[i].part && !strstr(e.text, cases[i].part)))
            fail_msg("%s: '%s'", cases[i].name, e.text);
        sim_source_free(&s);
    }
}

/* The vectors that Random123 was published with. */
static void draws_what_others_draw(void **unused)
{
    (void)unused;
    static const uint32_t cases[][6] = {
        {0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
        {~0u, ~0u, ~0u, ~0u, 0x1cb996fc, 0xbb002be7},
        {0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[2];
        threefry(cases[i], cases[i] + 2, out);
        assert_memory_equal(out, cases[i] + 4, 8);
    }
    assert_true(threefry_unit(0) == 0.0f && threefry_unit(~0u) < 1.0f);
}

/* `count` times `open`, then `rest`, in a function. */
static bool is_too_deep(const char *open, size_t count, const char *rest)
{
    str text = {0};
    err e = {0};
    sim_source s;
    str_add(&text, "struct State { x: f32 }\nfn f() { x = ");
    for (size_t i = 0; i < count; i++)
        str_add(&text, open);
    str_addf(&text, "%s; }\n" FUNCTIONS, rest);
    bool ok = sim_source_read(&s, "a.wgsl", text.data, &e);
    assert_true(ok || strstr(e.text, "too deep") || strstr(e.text, "without its"));
    if (ok)
        sim_source_free(&s);
    str_free(&text);
    return strstr(e.text, "a.wgsl:2: too deep") != NULL;
}

static void bounds_what_compilers_nest(void **unused)
{
    (void)unused;
    static const struct {
        const char *open;
        size_t most; /* that is taken */
    } CASES[] = {{"(", 126}, {"abs(", 126},   {"[", 126},    {"- ", 127},
                 {"!", 127}, {"array<", 127}, {"x + ", 511}, {"x; if (x) { } else if (x) { } else ", 100}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        assert_false(is_too_deep(CASES[i].open, CASES[i].most, "x"));
        assert_int_equal(is_too_deep(CASES[i].open, 3000, "x"), CASES[i].most != 100);
    }
    assert_true(is_too_deep("{", 128, "x"));
    assert_true(is_too_deep("if (x) { } else ", 200, "x"));
    assert_false(is_too_deep("if (x) { } else ", 100, "x"));
    assert_false(is_too_deep("-1.0, ", 20000, "x")); /* a long table is not deep */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_state_word_by_word),
        cmocka_unit_test(leaves_a_byte_order_mark_out),
        cmocka_unit_test(sets_parameters_and_keeps_lines),
        cmocka_unit_test(says_what_is_wrong_and_where),
        cmocka_unit_test(bounds_what_compilers_nest),
        cmocka_unit_test(tells_calls_from_names),
        cmocka_unit_test(refuses_constants_of_exponential_time),
        cmocka_unit_test(reads_all_that_is_built_in),
        cmocka_unit_test(turns_messages_to_the_file),
        cmocka_unit_test(reads_tables),
        cmocka_unit_test(cuda_controls_get_what_they_expect),
        cmocka_unit_test(draws_what_others_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
