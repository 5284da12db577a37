/* err: the text and the kind of an error, set once and extended with context. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_descriptor = 2;

/* Characters that move a terminal's cursor or change its title: below a space, DEL, and U+0080 to U+009F in UTF-8. */
static bool is_control(const char *p)
{
    unsigned char c = (unsigned char)*p, next = (unsigned char)p[1];
    return c < ' ' || c == 0x7F || (c == 0xC2 && next >= 0x80 && next < 0xA0);
}

/* An error is one line: what a library reports over several is joined. Names from files go into errors: what would
 * control a terminal becomes '?'. */
void err_one_line(char *s)
{
    char *out = s;
    for (char *p = s; *p; p++) {
        char c = (*p == '\n' || *p == '\r' || *p == '\t') ? ' ' : is_control(p) ? '?' : *p;
        if (c == '?' && (unsigned char)*p == 0xC2)
            p++;
        if (c == ' ' && (out == s || out[-1] == ' '))
            continue;
        *out++ = c;
    }
    while (out > s && out[-1] == ' ')
        out--;
    *out = 0;
}

static bool set(err *e, err_kind kind, const char *fmt, va_list ap)
{
    if (!e || e->kind != ERR_NONE)
        return false;
    e->kind = kind;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    err_one_line(e->text);
    return false;
}

bool err_set(err *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(e, ERR_FAILED, fmt, ap);
    va_end(ap);
    return false;
}

bool err_set_kind(err *e, err_kind kind, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(e, kind, fmt, ap);
    va_end(ap);
    return false;
}

bool err_context(err *e, const char *fmt, ...)
{
    if (!e || e->kind == ERR_NONE)
        return false;
    char why[sizeof e->text];
    memcpy(why, e->text, sizeof why);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", why);
    err_one_line(e->text);
    return false;
}

void err_clear(err *e)
{
    e->kind = ERR_NONE;
    e->text[0] = 0;
}
