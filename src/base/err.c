/* err: the text and the kind of an error, set once and extended with context. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_descriptor = 2;

/* How many bytes a character has that moves a terminal's cursor or changes its title (below a space, DEL, U+0080 to
 * U+009F), or that turns the direction of what follows; 0: it is another. */
static int control_bytes(const char *p)
{
    const unsigned char *c = (const unsigned char *)p;
    if (*c < ' ' || *c == 0x7F)
        return 1;
    if (c[0] == 0xC2)
        return c[1] >= 0x80 && c[1] < 0xA0 ? 2 : 0;
    bool turns = c[0] == 0xE2 && ((c[1] == 0x80 && c[2] >= 0xAA && c[2] <= 0xAE) || /* U+202A to U+202E */
                                  (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9));  /* U+2066 to U+2069 */
    return turns ? 3 : 0;
}

/* An error is one line: what a library reports over several is joined. Names from files go into errors: what would
 * control a terminal becomes '?'. */
void err_one_line(char *s)
{
    char *out = s;
    for (char *p = s; *p; p++) {
        int bytes = control_bytes(p);
        char c = (*p == '\n' || *p == '\r' || *p == '\t') ? ' ' : bytes ? '?' : *p;
        if (bytes > 1)
            p += bytes - 1;
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
