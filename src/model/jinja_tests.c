/* jinja_tests: `value is test(argument)`. */
#include "model/jinja_internal.h"
#include "model/unicode.h"

/* The names, in the order of the enum; several have a second name. */
static const char NAMES[] =
    "boolean\0callable\0defined\0divisibleby\0eq\0equalto\0==\0escaped\0even\0false\0filter\0float\0ge\0>=\0gt\0"
    "greaterthan\0>\0in\0integer\0iterable\0le\0<=\0lower\0lt\0lessthan\0<\0mapping\0ne\0!="
    "\0none\0number\0odd\0sameas\0"
    "sequence\0string\0test\0true\0undefined\0upper\0";
enum {
    T_BOOLEAN,
    T_CALLABLE,
    T_DEFINED,
    T_DIVISIBLEBY,
    T_EQ,
    T_EQUALTO,
    T_EQUALS,
    T_ESCAPED,
    T_EVEN,
    T_FALSE,
    T_FILTER,
    T_FLOAT,
    T_GE,
    T_GE_SIGN,
    T_GT,
    T_GREATERTHAN,
    T_GT_SIGN,
    T_IN,
    T_INTEGER,
    T_ITERABLE,
    T_LE,
    T_LE_SIGN,
    T_LOWER,
    T_LT,
    T_LESSTHAN,
    T_LT_SIGN,
    T_MAPPING,
    T_NE,
    T_NE_SIGN,
    T_NONE,
    T_NUMBER,
    T_ODD,
    T_SAMEAS,
    T_SEQUENCE,
    T_TEXT,
    T_TEST,
    T_TRUE,
    T_UNDEFINED,
    T_UPPER
};

int jinja_test_named(jinja_text name)
{
    return jinja_find_word(NAMES, name);
}

/* Has it letters, and are all of them in this case? */
static bool is_cased(jinja_text t, bool upper)
{
    bool some = false;
    for (size_t at = 0, length; at < t.length; at += length) {
        uint8_t class = unicode_class(utf8_decode(jinja_bytes(t) + at, t.length - at, &length));
        if (class & (upper ? UNICODE_LOWER : UNICODE_UPPER))
            return false;
        some = some || (class & (UNICODE_LOWER | UNICODE_UPPER));
    }
    return some;
}

static bool needs(jinja_run *r, bool has)
{
    return has || jinja_fail(&r->k, "the test needs an argument");
}

static bool divides(jinja_run *r, jinja_value v, jinja_value by)
{
    jinja_value left = jinja_math(r, '%', v, by);
    return !r->k.failed && !jinja_is_true(left);
}

static bool is_same(jinja_value a, jinja_value b)
{
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case JINJA_NONE:
    case JINJA_UNDEFINED: return true;
    case JINJA_BOOL: return a.as.yes == b.as.yes;
    case JINJA_WHOLE: return a.as.whole == b.as.whole;
    case JINJA_TEXT: return jinja_same(a.as.text, b.as.text);
    default: return a.as.pairs == b.as.pairs;
    }
}

bool jinja_test(jinja_run *r, int test, jinja_value v, const jinja_args *args)
{
    jinja_core *k = &r->k;
    jinja_value other = jinja_none();
    bool has = jinja_arg(k, args, 0, NULL, &other);
    switch (test) {
    case T_BOOLEAN: return v.type == JINJA_BOOL;
    case T_CALLABLE:
        return v.type == JINJA_UNDEFINED || v.type == JINJA_MACRO || v.type == JINJA_METHOD ||
               v.type == JINJA_FUNCTION || v.type == JINJA_LOOP;
    case T_DEFINED: return v.type != JINJA_UNDEFINED;
    case T_DIVISIBLEBY: return needs(r, has) && divides(r, v, other);
    case T_EQ:
    case T_EQUALTO:
    case T_EQUALS: return needs(r, has) && jinja_equal(k, v, other);
    case T_ESCAPED: return v.safe;
    case T_EVEN: return divides(r, v, jinja_whole(2));
    case T_FALSE: return v.type == JINJA_BOOL && !v.as.yes;
    case T_FILTER: return v.type == JINJA_TEXT && jinja_filter_named(v.as.text) >= 0;
    case T_FLOAT: return v.type == JINJA_REAL;
    case T_GE:
    case T_GE_SIGN: return needs(r, has) && jinja_compare(k, v, other) >= 0;
    case T_GT:
    case T_GREATERTHAN:
    case T_GT_SIGN: return needs(r, has) && jinja_compare(k, v, other) > 0;
    case T_IN: return needs(r, has) && jinja_contains(k, other, v);
    case T_INTEGER: return v.type == JINJA_WHOLE;
    case T_ITERABLE:
        return v.type == JINJA_UNDEFINED || v.type == JINJA_TEXT || v.type == JINJA_LIST || v.type == JINJA_DICT ||
               v.type == JINJA_LOOP;
    case T_LE:
    case T_LE_SIGN: return needs(r, has) && jinja_compare(k, v, other) <= 0;
    case T_LOWER: return is_cased(jinja_str(k, v), false);
    case T_LT:
    case T_LESSTHAN:
    case T_LT_SIGN: return needs(r, has) && jinja_compare(k, v, other) < 0;
    case T_MAPPING: return v.type == JINJA_DICT;
    case T_NE:
    case T_NE_SIGN: return needs(r, has) && !jinja_equal(k, v, other);
    case T_NONE: return v.type == JINJA_NONE;
    case T_NUMBER: return jinja_is_number(v);
    case T_ODD: return !divides(r, v, jinja_whole(2)) && !k->failed;
    case T_SAMEAS: return needs(r, has) && is_same(v, other);
    case T_SEQUENCE:
        return v.type == JINJA_UNDEFINED || v.type == JINJA_TEXT || v.type == JINJA_DICT ||
               (v.type == JINJA_LIST && v.as.items->kind <= ITEMS_RANGE);
    case T_TEXT: return v.type == JINJA_TEXT;
    case T_TEST: return v.type == JINJA_TEXT && jinja_test_named(v.as.text) >= 0;
    case T_TRUE: return v.type == JINJA_BOOL && v.as.yes;
    case T_UNDEFINED: return v.type == JINJA_UNDEFINED;
    default: return is_cased(jinja_str(k, v), true);
    }
}
