/* thoughts: looks for the tags around a model's thoughts. */
#include "llm/thoughts.h"

#include <string.h>

/* How many of the last bytes could be the beginning of the tag. */
static size_t could_begin(const str *s, const char *tag)
{
    size_t length = strlen(tag);
    for (size_t n = s->length < length - 1 ? s->length : length - 1; n > 0; n--)
        if (memcmp(s->data + s->length - n, tag, n) == 0)
            return n;
    return 0;
}

static void drop(str *s, size_t bytes)
{
    memmove(s->data, s->data + bytes, s->length - bytes + 1);
    s->length -= bytes;
}

static void pass(thoughts *t, size_t bytes, thoughts_part part, void *context)
{
    if (bytes)
        part(context, t->state == THOUGHTS_THINKING, t->held.data, bytes);
    drop(&t->held, bytes);
}

/* Only blanks may stand before the first tag. */
static void begin(thoughts *t)
{
    size_t blanks = strspn(t->held.data, " \n"), rest = t->held.length - blanks, length = strlen(THOUGHTS_BEGIN);
    if (memcmp(t->held.data + blanks, THOUGHTS_BEGIN, rest < length ? rest : length) != 0)
        t->state = THOUGHTS_ANSWERING;
    else if (rest >= length) {
        t->state = THOUGHTS_THINKING;
        drop(&t->held, blanks + length);
    }
}

void thoughts_add(thoughts *t, const char *text, size_t bytes, thoughts_part part, void *context)
{
    str_add_bytes(&t->held, text, bytes);
    str_add(&t->held, "");
    if (t->state == THOUGHTS_UNKNOWN)
        begin(t);
    if (t->state == THOUGHTS_THINKING) {
        const char *end = strstr(t->held.data, THOUGHTS_END);
        pass(t, end ? (size_t)(end - t->held.data) : t->held.length - could_begin(&t->held, THOUGHTS_END), part,
             context);
        if (end) {
            drop(&t->held, strlen(THOUGHTS_END));
            t->state = THOUGHTS_ANSWERING;
        }
    }
    if (t->state == THOUGHTS_ANSWERING)
        pass(t, t->held.length, part, context);
}

void thoughts_end(thoughts *t, thoughts_part part, void *context)
{
    if (t->held.length)
        pass(t, t->held.length, part, context);
}

void thoughts_free(thoughts *t)
{
    str_free(&t->held);
}
