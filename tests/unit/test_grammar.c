/* Grammars: what they accept byte by byte, what is wrong with them, and those made of JSON schemas. */
#include "serve/grammar.h"
#include "serve/grammar_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* "yes": the whole text is accepted; "begins": it could go on; "no". */
static const char *verdict(const char *gbnf, const char *text)
{
    err e = {0};
    grammar *g = grammar_parse(gbnf, strlen(gbnf), &e);
    if (!g)
        fail_msg("%s in: %s", e.text, gbnf);
    matcher *m = matcher_new(g);
    uint32_t at = matcher_start(m);
    for (const char *c = text; *c; c++) {
        at = matcher_step(m, at, (unsigned char)*c);
        matcher_tidy(m, &at);
    }
    const char *said = at == MATCHER_DEAD ? "no" : matcher_may_end(m, at) ? "yes" : "begins";
    matcher_free(m);
    grammar_free(g);
    return said;
}

static void what_is_accepted(void **state)
{
    (void)state;
    static const char list[] = "root ::= \"[\" item (\",\" item)* \"]\" # a list\nitem ::= [a-c]+ | root\n";
    static const struct {
        const char *gbnf, *text, *verdict;
    } cases[] = {
        {"root ::= \"yes\" | \"no\"", "yes", "yes"},
        {"root ::= \"yes\" | \"no\"", "n", "begins"},
        {"root ::= \"yes\" | \"no\"", "nope", "no"},
        {"root ::= \"yes\" |\n  \"no\"\n", "no", "yes"},
        {list, "[a,bc,[c]]", "yes"},
        {list, "[a,bc,[c]", "begins"},
        {list, "[a,,b]", "no"},
        {list, "[[[[[[[[[[a]]]]]]]]]]", "yes"},
        {"root ::= [0-9]{2,3}", "1", "begins"},
        {"root ::= [0-9]{2,3}", "12", "yes"},
        {"root ::= [0-9]{2,3}", "1234", "no"},
        {"root ::= [0-9]{2,}", "123456", "yes"},
        {"root ::= [0-9]{3}", "123", "yes"},
        {"root ::= (\"a\" \"b\"?){2}", "aba", "yes"},
        {"root ::= (\"a\" \"b\"?){2}", "abb", "no"},
        {"root ::= \"a\"{0,3} \"b\"", "b", "yes"},
        {"root ::= \"a\"{0,3} \"b\"", "aab", "yes"},
        {"root ::= \"a\"{0,3} \"b\"", "aaaab", "no"},
        {"root ::= \"a\"{1,} \"b\"", "aab", "yes"},
        {"root ::= \"a\"{0} \"b\"", "b", "yes"},
        {"root ::= [a-z]{0,1000} \"!\"", "abc!", "yes"},
        {"root ::= c{5,900}\nc ::= [a-z] | \"\\\\\" [nt]", "ab\\ncd", "yes"},
        {"root ::= \"a\"* \"b\"", "aaab", "yes"},
        {"root ::= (\"a\"?)* \"b\"", "aaab", "yes"},
        {"root ::= \"\"", "", "yes"},
        {"root ::= a b c\na ::= \"x\"?\nb ::= \"y\"?\nc ::= \"z\"?", "xz", "yes"},
        {"root ::= [^a-z]", "ä", "yes"},
        {"root ::= [^a-z]", "b", "no"},
        {"root ::= [^a-z]", "\xc3", "begins"},
        {"root ::= [^a-z]", "\xff", "no"},
        {"root ::= [à-ö]", "é", "yes"},
        {"root ::= [à-ö]", "ú", "no"},
        {"root ::= .{3}", "aé€", "yes"},
        {"root ::= . .", "😀x", "yes"},
        {"root ::= .", "\xed\xa0\x80", "no"}, /* half of a pair of UTF-16 */
        {"root ::= [\\x41-\\x43\\u20AC\\U0001F600]+", "AB€😀", "yes"},
        {"root ::= \"\\n\\t\\\"\\\\\"", "\n\t\"\\", "yes"},
        {"root ::= [\\]\\-a]+", "]-a", "yes"},
        {"root ::= [a-]+", "-a", "yes"},
        {"root ::= \"(\" root? \")\"", "((()))", "yes"},
        {"root ::= \"a\" root | \"b\"", "aaaaaaaaab", "yes"},
        {"root-1 ::= \"x\"\nroot ::= root-1", "x", "yes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(verdict(cases[i].gbnf, cases[i].text), cases[i].verdict) != 0)
            fail_msg("%s: '%s' is not '%s'", cases[i].gbnf, cases[i].text, cases[i].verdict);
}

static void every_character_of_utf8(void **state)
{
    (void)state;
    err e = {0};
    static const char gbnf[] = "root ::= [\\x00-\\U0010FFFF]";
    grammar *g = grammar_parse(gbnf, sizeof gbnf - 1, &e);
    assert_non_null(g);
    matcher *m = matcher_new(g);
    uint32_t start = matcher_start(m), whole = 0;
    /* all sequences of up to three bytes, and the lead bytes of four */
    for (uint32_t a = 0; a < 256; a++) {
        uint32_t one = matcher_step(m, start, (unsigned char)a);
        whole += matcher_may_end(m, one);
        for (uint32_t b = 0; one != MATCHER_DEAD && b < 256; b++) {
            uint32_t two = matcher_step(m, one, (unsigned char)b);
            whole += matcher_may_end(m, two);
            for (uint32_t c = 0; two != MATCHER_DEAD && c < 256; c++)
                whole += matcher_may_end(m, matcher_step(m, two, (unsigned char)c));
        }
    }
    assert_int_equal(whole, 0x10000 - 0x800);
    matcher_free(m);
    grammar_free(g);
}

static void deep_texts_stay_bounded(void **state)
{
    (void)state;
    err e = {0};
    static const char gbnf[] = "root ::= \"[\" (root (\",\" root)*)? \"]\"";
    grammar *g = grammar_parse(gbnf, sizeof gbnf - 1, &e);
    matcher *m = matcher_new(g);
    uint32_t at = matcher_start(m);
    at = matcher_step(m, at, '[');
    for (int round = 0; round < 100; round++) {
        if (round)
            at = matcher_step(m, at, ',');
        for (int i = 0; i < 200; i++) {
            at = matcher_step(m, at, i < 100 ? '[' : ']');
            assert_int_not_equal(at, MATCHER_DEAD);
            matcher_tidy(m, &at);
        }
    }
    at = matcher_step(m, at, ',');
    for (int i = 0; i < 1000; i++) /* deeper than calls may be: no text, but no harm */
        at = matcher_step(m, at, '[');
    assert_int_equal(at, MATCHER_DEAD);
    matcher_free(m);
    grammar_free(g);
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "no rule 'root'"},
        {"a ::= \"b\"", "no rule 'root'"},
        {"root ::= other", "no rule 'other'"},
        {"root ::= \"a", "line 1"},
        {"root ::= [a", "line 1"},
        {"root = \"a\"", "::= is missing"},
        {"root ::= (\"a\"", "parenthesis"},
        {"root ::= \"a\" )", "no part of a rule"},
        {"root ::= \"a\"\nroot ::= \"b\"", "line 2: a rule is there twice"},
        {"root ::= root \"a\"", "begins with itself"},
        {"root ::= a\na ::= b\nb ::= \"x\"? a", "begins with itself"},
        {"root ::= (root)*", "begins with itself"},
        {"root ::= [z-a]", "wrong way round"},
        {"root ::= \"a\"{3,2}", "wrong way round"},
        {"root ::= \"a\"{5000}", "too many repetitions"},
        {"root ::= \"a\"{x}", "number of repetitions"},
        {"root ::= \"a\"{2", "closing brace"},
        {"root ::= ((\"a\"{4000}){4000}){4000}", "too many states"},
        {"root ::= \"\\q\"", "escape"},
        {"root ::= \"\\x4\"", "hexadecimal"},
        {"root ::= \"\\UFFFFFFFF\"", "no character"},
        {"root ::= \"\xff\"", "UTF-8"},
        {"root ::= *", "no part of a rule"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        grammar *g = grammar_parse(cases[i][0], strlen(cases[i][0]), &e);
        if (g || !strstr(e.text, cases[i][1]))
            fail_msg("%s: '%s'", cases[i][0], e.text);
        grammar_free(g);
    }
    str nested = {0};
    err e = {0};
    str_add(&nested, "root ::= ");
    for (int i = 0; i < 1000; i++)
        str_add(&nested, "(");
    assert_null(grammar_parse(nested.data, nested.length, &e));
    assert_non_null(strstr(e.text, "nested too deep"));
    str_free(&nested);
}

/* ---- schemas --------------------------------------------------------------------------------------- */

static char *gbnf_of(const char *schema, err *e)
{
    json_t *read = json_loads(schema, 0, NULL);
    assert_non_null(read);
    str out = {0};
    bool ok = grammar_of_schema(read, &out, e);
    json_decref(read);
    if (ok)
        return out.data;
    str_free(&out);
    return NULL;
}

static void schemas(void **state)
{
    (void)state;
#define OBJECT(properties, more) "{\"type\":\"object\",\"properties\":{" properties "}" more "}"
    static const char both[] =
        OBJECT("\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"string\"}", ",\"required\":[\"a\"]");
    static const char tree[] =
        "{\"$ref\":\"#/$defs/"
        "node\",\"$defs\":{\"node\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"number\"},"
        "\"next\":{\"anyOf\":[{\"$ref\":\"#/$defs/node\"},{\"type\":\"null\"}]}},\"required\":[\"v\",\"next\"],"
        "\"additionalProperties\":false}}}";
    static const struct {
        const char *schema, *text, *verdict;
    } cases[] = {
        {"{}", "[1, {\"a\": null}]", "yes"},
        {"{\"type\":\"boolean\"}", "true", "yes"},
        {"{\"type\":\"boolean\"}", "1", "no"},
        {"{\"type\":\"integer\"}", "-12", "yes"},
        {"{\"type\":\"integer\"}", "01", "no"},
        {"{\"type\":\"integer\"}", "1.5", "no"},
        {"{\"type\":\"number\"}", "1.5e-7", "yes"},
        {"{\"type\":\"number\"}", "9999999999999999e99", "yes"},
        {"{\"type\":\"number\"}", "1e+99", "yes"},
        {"{\"type\":\"number\"}", "1e-300", "yes"},
        {"{\"type\":\"number\"}", "1e999", "no"}, /* no double */
        {"{\"type\":\"string\"}", "\"\\uD83d\\uDE00\\u001f\\u0100\\ud7FF\\uE000\"", "yes"},
        {"{\"type\":\"string\"}", "\"\\u0000\"", "no"},
        {"{\"type\":\"string\"}", "\"\\ud800\"", "no"}, /* half of a pair */
        {"{\"type\":\"string\"}", "\"\\ud800\\u0041\"", "no"},
        {"{\"type\":\"string\"}", "\"\\udc00\"", "no"},
        {"{\"type\":\"string\",\"maxLength\":1}", "\"\\ud83d\\ude00\"", "yes"},
        {"{\"type\":[\"string\",\"null\"]}", "null", "yes"},
        {"{\"type\":[\"string\",\"null\"]}", "\"a\\u00e9\\n\"", "yes"},
        {"{\"type\":\"string\"}", "\"a\nb\"", "no"},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"a\"", "no"},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"aé€\"", "yes"},
        {"{\"type\":\"string\",\"maxLength\":1000}", "\"It was a dark night\"", "yes"},
        {"{\"enum\":[\"red\",5,null]}", "5", "yes"},
        {"{\"enum\":[\"red\",5,null]}", "\"blue\"", "no"},
        {"{\"const\":{\"a\":[1]}}", "{\"a\":[1]}", "yes"},
        {"{\"enum\":[\"say \\\"hi\\\"\"]}", "\"say \\\"hi\\\"\"", "yes"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}", "[1,2]", "yes"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}", "[]", "no"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":2}", "[1,2,3]", "no"},
        {"{\"type\":\"array\",\"maxItems\":0}", "[]", "yes"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[]", "yes"},
        {both, "{\"a\": 1, \"b\": \"x\"}", "yes"},
        {both, "{\"a\":1}", "yes"},
        {both, "{\"b\":\"x\"}", "no"},
        {both, "{\"a\":1,\"c\":2}", "no"},
        {both, "{\n  \"a\": 1\n}", "yes"},
        {OBJECT("\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}", ""), "{}", "yes"},
        {OBJECT("\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}", ""), "{\"b\":1}", "yes"},
        {OBJECT("\"a\":{\"type\":\"integer\"}", ",\"additionalProperties\":{\"type\":\"null\"}"),
         "{\"a\":1,\"x\":null}", "yes"},
        {OBJECT("\"a\":{\"type\":\"integer\"}", ",\"additionalProperties\":{\"type\":\"null\"}"), "{\"x\":1}", "no"},
        {"{\"type\":\"object\"}", "{\"x\":[{}]}", "yes"},
        {"{\"type\":\"object\",\"additionalProperties\":false}", "{\"x\":1}", "no"},
        {tree, "{\"v\":1,\"next\":{\"v\":2,\"next\":null}}", "yes"},
        {tree, "{\"v\":1,\"next\":{\"v\":2}}", "no"},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"allOf\":[{\"type\":\"null\"}]}],\"title\":\"t\"}", "null", "yes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        char *gbnf = gbnf_of(cases[i].schema, &e);
        if (!gbnf)
            fail_msg("%s: %s", cases[i].schema, e.text);
        if (strcmp(verdict(gbnf, cases[i].text), cases[i].verdict) != 0)
            fail_msg("%s: '%s' is not '%s'\n%s", cases[i].schema, cases[i].text, cases[i].verdict, gbnf);
        free(gbnf);
    }
}

static char *gbnf_of_call(const char *parameters, err *e)
{
    str text = {0}, out = {0};
    str_addf(&text, "[{\"name\":\"f\"%s%s}]", *parameters ? ",\"parameters\":" : "", parameters);
    json_t *functions = json_loads(text.data, 0, NULL);
    assert_non_null(functions);
    bool ok = grammar_of_calls(functions, "arguments", "<", ">", &out, e);
    json_decref(functions);
    str_free(&text);
    if (ok)
        return out.data;
    str_free(&out);
    return NULL;
}

static void calls_of_functions(void **state)
{
    (void)state;
#define DEFS ",\"$defs\":{\"x\":{\"enum\":[\"y\"]}}"
    static const struct {
        const char *parameters, *text, *verdict;
    } cases[] = {
        {"", "<{\"name\":\"f\",\"arguments\":{\"a\":1}}>", "yes"},
        {"", "<{\"name\":\"f\",\"arguments\":5}>", "no"},
        {"", "<{\"name\":\"g\",\"arguments\":{}}>", "no"},
        {"{}", "<{\"name\":\"f\",\"arguments\":5}>", "no"},
        {"null", "<{ \"name\": \"f\", \"arguments\": {} }>", "yes"},
        {"true", "<{\"name\":\"f\",\"arguments\":[]}>", "no"},
        {"{\"title\":\"t\"}", "<{\"name\":\"f\",\"arguments\":{}}>", "yes"},
        {OBJECT("\"a\":{\"$ref\":\"#/$defs/x\"}", DEFS), "<{\"name\":\"f\",\"arguments\":{\"a\":\"y\"}}>", "yes"},
        {OBJECT("\"a\":{\"$ref\":\"#/$defs/x\"}", DEFS), "<{\"name\":\"f\",\"arguments\":{\"a\":\"z\"}}>", "no"},
        {OBJECT("\"a\":{\"$ref\":\"#\"}", ""), "<{\"name\":\"f\",\"arguments\":{\"a\":{\"a\":{}}}}>", "yes"},
        {OBJECT("\"a\":{\"$ref\":\"#\"}", ""),
         "<{\"name\":\"f\",\"arguments\":{\"a\":{\"name\":\"f\",\"arguments\":{}}}}>", "no"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        char *gbnf = gbnf_of_call(cases[i].parameters, &e);
        if (!gbnf)
            fail_msg("%s: %s", cases[i].parameters, e.text);
        if (strcmp(verdict(gbnf, cases[i].text), cases[i].verdict) != 0)
            fail_msg("%s: '%s' is not '%s'\n%s", cases[i].parameters, cases[i].text, cases[i].verdict, gbnf);
        free(gbnf);
    }
    static const char *const refused[] = {"{\"type\":\"boolean\"}",
                                          "{\"type\":[\"object\",\"null\"]}",
                                          "{\"items\":{}}",
                                          "{\"const\":5}",
                                          "{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"null\"}]}",
                                          "{\"anyOf\":[{\"$ref\":\"#/$defs/x\"}]" DEFS "}"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        err e = {0};
        assert_null(gbnf_of_call(refused[i], &e));
        if (!strstr(e.text, "no object"))
            fail_msg("%s: %s", refused[i], e.text);
    }
    /* choices that double again and again: neither is known in time */
    err e = {0};
    str doubling = {0};
    str_add(&doubling, "{\"$ref\":\"#/$defs/a0\",\"$defs\":{");
    for (int i = 0; i < 25; i++)
        str_addf(&doubling, "\"a%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/a%d\"},{\"$ref\":\"#/$defs/a%d\"}]},", i, i + 1,
                 i + 1);
    str_add(&doubling, "\"a25\":{\"type\":\"object\"}}}");
    assert_null(gbnf_of_call(doubling.data, &e));
    str_free(&doubling);
}

static void schemas_that_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[]", "is no schema"},
        {OBJECT("\"a\":{}", ",\"required\":[\"a\",5]"), "requires ''"},
        {"{\"type\":\"thing\"}", "type that is not known"},
        {"{\"type\":[]}", "type that is not known"},
        {"{\"type\":\"string\",\"pattern\":\"a\"}", "'pattern'"},
        {"{\"type\":\"integer\",\"minimum\":1}", "'minimum'"},
        {OBJECT("\"a\":{\"format\":\"date\"}", ""), ".a has 'format'"},
        {"{\"$ref\":\"#/$defs/none\"}", "not there"},
        {"{\"$ref\":\"https://example.org/x\"}", "not there"},
        {"{\"$ref\":5}", "no text"},
        {"{\"anyOf\":[]}", "empty"},
        {"{\"enum\":{}}", "empty"},
        {"{\"allOf\":[{},{}]}", "allOf"},
        {"{\"type\":\"array\",\"minItems\":3,\"maxItems\":2}", "wrong way round"},
        {"{\"type\":\"array\",\"minItems\":-1}", "limit"},
        {"{\"type\":\"string\",\"maxLength\":1e9}", "limit"},
        {"{\"properties\":[]}", "no object"},
        {"{\"type\":\"object\",\"additionalProperties\":5}", "additionalProperties"},
        /* of two words that say what a value may be only one would hold */
        {"{\"type\":\"string\",\"enum\":[\"a\",1]}", "not of its type"},
        {"{\"type\":[\"integer\",\"null\"],\"const\":1.5}", "not of its type"},
        {"{\"enum\":[1,2],\"const\":2}", "'const' beside 'enum'"},
        {"{\"const\":\"a\",\"minLength\":2}", "'minLength' beside 'const'"},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"const\":1}},\"type\":\"string\"}", "'type' beside '$ref'"},
        {"{\"allOf\":[{\"const\":1}],\"type\":\"string\"}", "'type' beside 'allOf'"},
        {"{\"anyOf\":[{\"const\":1}],\"oneOf\":[{\"const\":2}]}", "'oneOf' beside 'anyOf'"},
        {"{\"minLength\":3}", "'minLength' without a type"},
        {"{\"type\":\"object\",\"required\":[\"z\"]}", "requires 'z'"},
        {"{\"type\":\"object\",\"required\":\"z\"}", "no list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        char *gbnf = gbnf_of(cases[i][0], &e);
        if (gbnf || !strstr(e.text, cases[i][1]))
            fail_msg("%s: '%s'", cases[i][0], e.text);
    }
    err e = {0};
    char *gbnf = gbnf_of("{\"$ref\":\"#\"}", &e); /* nothing but itself */
    assert_non_null(gbnf);
    assert_null(grammar_parse(gbnf, strlen(gbnf), &e));
    assert_non_null(strstr(e.text, "begins with itself"));
    free(gbnf);
}

static void a_schema_that_requires_without_an_end(void **state)
{
    (void)state;
    err e = {0};
    json_t *schema = json_pack("{s:s, s:{s:{}}, s:[]}", "type", "object", "properties", "a", "required"), *list;
    list = json_object_get(schema, "required");
    for (int i = 0; i < 400000; i++)
        json_array_append_new(list, json_string("a"));
    str out = {0};
    assert_false(grammar_of_schema(schema, &out, &e));
    assert_non_null(strstr(e.text, "too many"));
    str_free(&out);
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_accepted),
        cmocka_unit_test(every_character_of_utf8),
        cmocka_unit_test(deep_texts_stay_bounded),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(schemas),
        cmocka_unit_test(calls_of_functions),
        cmocka_unit_test(schemas_that_are_refused),
        cmocka_unit_test(a_schema_that_requires_without_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
