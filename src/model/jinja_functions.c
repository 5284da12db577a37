/* jinja_functions: what templates call by name: range, dict, namespace, raise_exception, strftime_now; and the
 * formatting of `text % values`. */
#include "base/os.h"
#include "model/jinja_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char NAMES[] = "dict\0namespace\0raise_exception\0range\0strftime_now\0";
enum { FUNCTION_DICT, FUNCTION_NAMESPACE, FUNCTION_RAISE, FUNCTION_RANGE, FUNCTION_NOW };

int jinja_function_named(jinja_text name)
{
    return jinja_find_word(NAMES, name);
}

static jinja_value range(jinja_run *r, const jinja_args *args)
{
    int64_t bounds[3] = {0, 0, 1};
    size_t count = args->given->count;
    jinja_value out = jinja_items_new(&r->k, ITEMS_RANGE);
    if (count < 1 || count > 3)
        jinja_fail(&r->k, "range expected 1 to 3 arguments");
    for (size_t i = 0; i < count && i < 3; i++)
        jinja_arg_whole(&r->k, args, i, NULL, &bounds[count == 1 ? 1 : i]);
    if (bounds[2] == 0)
        jinja_fail(&r->k, "range() arg 3 must not be zero");
    for (int64_t i = bounds[0]; !r->k.failed && (bounds[2] > 0 ? i < bounds[1] : i > bounds[1]);) {
        if (out.as.items->count == JINJA_MAX_RANGE)
            jinja_fail(&r->k, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", JINJA_MAX_RANGE);
        jinja_items_add(&r->k, out.as.items, jinja_whole(i));
        if (__builtin_add_overflow(i, bounds[2], &i))
            break;
    }
    return out;
}

/* dict(mapping or pairs, name=value ...), and the same for namespace. */
static jinja_value new_dict(jinja_run *r, const jinja_args *args, bool namespace)
{
    jinja_core *k = &r->k;
    jinja_value out = jinja_pairs_new(k), from = jinja_none();
    const jinja_pairs *pairs = NULL;
    if (jinja_arg(k, args, 0, NULL, &from) && from.type != JINJA_DICT) {
        const jinja_items *items = jinja_iterate(k, from);
        for (size_t i = 0; items && i < items->count && !k->failed; i++) {
            const jinja_items *pair = jinja_iterate(k, items->at[i]);
            if (!pair || pair->count != 2)
                jinja_fail(k, "dictionary update sequence element #%zu has not 2 items", i);
            else
                jinja_pairs_set(k, out.as.pairs, pair->at[0], pair->at[1]);
        }
    } else if (from.type == JINJA_DICT)
        pairs = from.as.pairs;
    for (int part = 0; part < 2; part++, pairs = args->named)
        for (size_t i = 0; pairs && i < pairs->count && !k->failed; i++)
            jinja_pairs_set(k, out.as.pairs, pairs->at[i].key, pairs->at[i].value);
    for (size_t i = 0; namespace && i < out.as.pairs->count; i++) {
        jinja_value key = out.as.pairs->at[i].key;
        if (key.type == JINJA_TEXT && key.as.text.length && *jinja_bytes(key.as.text) == '_')
            jinja_fail(k, "a namespace takes no names that begin with '_'");
    }
    if (namespace)
        out.type = JINJA_NAMESPACE;
    return out;
}

/* ---- dates ------------------------------------------------------------------------------------------ */

typedef struct date {
    int year, month, day, weekday, yearday, hour, minute, second; /* month, weekday (Sunday), yearday from 0 */
} date;

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static date date_of(int64_t s)
{
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t limit = 253402300799; /* the year 9999 */
    s = s < 0 ? 0 : s > limit ? limit : s;
    int64_t days = s / 86400;
    int left = (int)(s % 86400);
    date d = {.year = 1970,
              .weekday = (int)((days + 4) % 7),
              .hour = left / 3600,
              .minute = left / 60 % 60,
              .second = left % 60};
    while (days >= 365 + is_leap(d.year))
        days -= 365 + is_leap(d.year++);
    d.yearday = (int)days;
    while (days >= month_days[d.month] + (d.month == 1 && is_leap(d.year))) {
        days -= month_days[d.month] + (d.month == 1 && is_leap(d.year));
        d.month++;
    }
    d.day = (int)days + 1;
    return d;
}

static void add_number(jinja_builder *b, int number, int width, char fill)
{
    char text[16];
    snprintf(text, sizeof text, fill == '0' ? "%0*d" : "%*d", fill == '-' ? 0 : width, number);
    jinja_add_word(b, text);
}

/* One format letter; false: it is not known. `fill`: '0', ' ', or '-' for nothing. */
static bool add_date_part(jinja_builder *b, const date *d, char letter, char fill)
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
    static const char *const weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday"};
    int hour12 = d->hour % 12 ? d->hour % 12 : 12;
    switch (letter) {
    case 'Y': add_number(b, d->year, 1, '-'); break;
    case 'y': add_number(b, d->year % 100, 2, fill); break;
    case 'm': add_number(b, d->month + 1, 2, fill); break;
    case 'd': add_number(b, d->day, 2, fill); break;
    case 'e': add_number(b, d->day, 2, fill == '-' ? '-' : ' '); break;
    case 'j': add_number(b, d->yearday + 1, 3, fill); break;
    case 'H': add_number(b, d->hour, 2, fill); break;
    case 'I': add_number(b, hour12, 2, fill); break;
    case 'M': add_number(b, d->minute, 2, fill); break;
    case 'S': add_number(b, d->second, 2, fill); break;
    case 'w': add_number(b, d->weekday, 1, '-'); break;
    case 'p': jinja_add_word(b, d->hour < 12 ? "AM" : "PM"); break;
    case 'B': jinja_add_word(b, months[d->month]); break;
    case 'b': jinja_add(b, months[d->month], 3, false); break;
    case 'A': jinja_add_word(b, weekdays[d->weekday]); break;
    case 'a': jinja_add(b, weekdays[d->weekday], 3, false); break;
    case '%': jinja_add_word(b, "%"); break;
    case 'F':
        add_date_part(b, d, 'Y', '0');
        jinja_add_word(b, "-");
        add_date_part(b, d, 'm', '0');
        jinja_add_word(b, "-");
        return add_date_part(b, d, 'd', '0');
    case 'T':
        add_date_part(b, d, 'H', '0');
        jinja_add_word(b, ":");
        add_date_part(b, d, 'M', '0');
        jinja_add_word(b, ":");
        return add_date_part(b, d, 'S', '0');
    default: return false;
    }
    return true;
}

static jinja_value strftime_now(jinja_run *r, const jinja_args *args)
{
    jinja_text format = {0};
    jinja_builder b = {&r->k, NULL};
    if (!jinja_arg_text(&r->k, args, 0, "format", &format))
        jinja_fail(&r->k, "strftime_now needs a format");
    date d = date_of(r->has_clock ? r->local_s : os_local_time(time(NULL)));
    const char *bytes = jinja_bytes(format);
    for (size_t i = 0; i < format.length && !r->k.failed; i++) {
        if (bytes[i] != '%') {
            jinja_add_text(&b, jinja_part(format, i, 1));
            continue;
        }
        bool bare = i + 2 < format.length && bytes[i + 1] == '-';
        i += bare ? 2 : 1;
        if (i >= format.length || !add_date_part(&b, &d, bytes[i], bare ? '-' : '0'))
            jinja_fail(&r->k, "strftime_now: a format that is not known");
    }
    return jinja_text_as(jinja_built(&b));
}

/* ---- text % values ------------------------------------------------------------------------------------ */

jinja_value jinja_percent(jinja_run *r, jinja_text format, jinja_value values)
{
    jinja_core *k = &r->k;
    jinja_builder b = {k, NULL};
    bool several = jinja_is_items(values, ITEMS_TUPLE);
    size_t next = 0, count = several ? values.as.items->count : 1;
    const char *bytes = jinja_bytes(format);
    for (size_t i = 0; i < format.length && !k->failed; i++) {
        if (bytes[i] != '%') {
            jinja_add_text(&b, jinja_part(format, i, 1));
            continue;
        }
        char letter = ++i < format.length ? bytes[i] : 0;
        if (letter == '%') {
            jinja_add_word(&b, "%");
            continue;
        }
        if (!letter || !strchr("srdi", letter))
            jinja_fail(k, "a format that is not supported: only %%s, %%r, %%d and %%%%");
        else if (next == count)
            jinja_fail(k, "not enough arguments for format string");
        if (k->failed)
            break;
        jinja_value v = several ? values.as.items->at[next] : values;
        next++;
        if (letter == 's')
            jinja_add_text(&b, jinja_str(k, v));
        else if (letter == 'r')
            jinja_add_repr(&b, v);
        else if (!jinja_is_number(v) || (v.type == JINJA_REAL && !(v.as.real > -9e15 && v.as.real < 9e15)))
            jinja_fail(k, "%%d format: a real number is required, not %s", jinja_type_name(v));
        else
            jinja_add_repr(&b, jinja_whole(v.type == JINJA_REAL   ? (int64_t)v.as.real
                                           : v.type == JINJA_BOOL ? v.as.yes
                                                                  : v.as.whole));
    }
    if (next < count && (several || values.type != JINJA_DICT))
        jinja_fail(k, "not all arguments converted during string formatting");
    return jinja_text_as(jinja_built(&b));
}

jinja_value jinja_call_function(jinja_run *r, int function, const jinja_args *args)
{
    jinja_value message = jinja_none();
    switch (function) {
    case FUNCTION_DICT: return new_dict(r, args, false);
    case FUNCTION_NAMESPACE: return new_dict(r, args, true);
    case FUNCTION_RANGE: return range(r, args);
    case FUNCTION_NOW: return strftime_now(r, args);
    default: break;
    }
    jinja_arg(&r->k, args, 0, "message", &message);
    jinja_text text = jinja_str(&r->k, message);
    jinja_fail_with(&r->k, text);
    return jinja_none();
}
