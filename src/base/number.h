/* number: reading and writing numbers with a point, whatever a program that uses this library has set as its locale: where that
 * has a comma, strtod would stop at the point, and WGSL and JSON with commas would be wrong or something else.            */
#ifndef SOLO_NUMBER_H
#define SOLO_NUMBER_H

#include <stdlib.h>

#if defined __wasi__ || defined _WIN32
/* There is one locale, or programs leave it alone. */
typedef int number_locale;
static inline number_locale number_begin(void)
{
    return 0;
}
static inline void number_end(number_locale l)
{
    (void)l;
}
#else
#include <langinfo.h>
#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* Of this thread, between number_begin and number_end; both 0 if there was nothing to do. */
typedef struct number_locale {
    locale_t plain, before;
} number_locale;

static inline number_locale number_begin(void)
{
    number_locale l = {0};
    if (nl_langinfo(RADIXCHAR)[0] != '.' && (l.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)))
        l.before = uselocale(l.plain);
    return l;
}

static inline void number_end(number_locale l)
{
    if (!l.plain)
        return;
    uselocale(l.before);
    freelocale(l.plain);
}
#endif

/* As strtod and strtof. */
static inline double number_read(const char *text, char **end)
{
    number_locale l = number_begin();
    double value = strtod(text, end);
    number_end(l);
    return value;
}

static inline float number_read_float(const char *text, char **end)
{
    number_locale l = number_begin();
    float value = strtof(text, end);
    number_end(l);
    return value;
}

#endif
