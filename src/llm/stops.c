/* stops: finds stop texts in a text that arrives in pieces. */
#include "llm/stops.h"

#include <string.h>

stops stops_of(const char *const *texts, size_t count)
{
    return (stops){.texts = texts, .count = count};
}

void stops_free(stops *s)
{
    str_free(&s->held);
}

/* Where the stop text begins that ends first, or where the text ends. Which one that is
 * does not depend on the pieces the text comes in. */
static size_t first_stop(const stops *s)
{
    size_t begin = s->held.length, end = s->held.length + 1;
    for (size_t i = 0; i < s->count; i++) {
        size_t length = strlen(s->texts[i]);
        const char *found = length ? memmem(s->held.data, s->held.length, s->texts[i], length) : NULL;
        size_t at = found ? (size_t)(found - s->held.data) : 0;
        if (found && (at + length < end || (at + length == end && at < begin))) {
            begin = at;
            end = at + length;
        }
    }
    return begin;
}

/* The length of the longest end of the text that may be the beginning of this stop text. */
static size_t beginning_at_end(const str *held, const char *text)
{
    size_t length = strlen(text), n = length && length - 1 < held->length ? length - 1 : held->length;
    for (n = length ? n : 0; n > 0; n--)
        if (memcmp(held->data + held->length - n, text, n) == 0)
            break;
    return n;
}

bool stops_add(stops *s, const char *text, size_t bytes, str *out)
{
    if (s->found || bytes == 0)
        return s->found;
    str_add_bytes(&s->held, text, bytes);
    size_t pass = first_stop(s);
    s->found = pass < s->held.length;
    if (!s->found) {
        size_t keep = 0;
        for (size_t i = 0; i < s->count; i++) {
            size_t n = beginning_at_end(&s->held, s->texts[i]);
            keep = n > keep ? n : keep;
        }
        pass = s->held.length - keep;
    }
    str_add_bytes(out, s->held.data, pass);
    memmove(s->held.data, s->held.data + pass, s->held.length - pass);
    s->held.length -= pass;
    return s->found;
}

void stops_end(stops *s, str *out)
{
    if (!s->found && s->held.length)
        str_add_bytes(out, s->held.data, s->held.length);
    s->held.length = 0;
    s->found = false;
}
