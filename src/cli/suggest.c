/* suggest: compares what was typed with the names there are, by the letters one would have to change. */
#include "cli/suggest.h"

#include <stdio.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters are missing, too many, wrong or swapped with their neighbour. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][SUGGEST_MAX + 1], length_a = strlen(a), length_b = strlen(b);
    for (size_t j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *twice_before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], twice_before[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

suggestion suggest_for(const char *typed, size_t length)
{
    suggestion s = {0};
    if (length < sizeof s.typed)
        memcpy(s.typed, typed, length);
    return s;
}

void suggest_consider(suggestion *s, const char *name)
{
    size_t length = strlen(s->typed), dashes = strspn(s->typed, "-"), letters = length - dashes;
    if (letters < 2 || strlen(name) >= sizeof s->best)
        return;
    size_t distance = edit_distance(s->typed, name);
    /* a beginning is as good as one mistake */
    if (strncmp(s->typed, name, length) == 0)
        distance = least(distance, 1);
    if (distance > (letters < 4 ? 1 : letters < 8 ? 2 : 3) || (s->best[0] && distance >= s->distance))
        return;
    s->distance = distance;
    snprintf(s->best, sizeof s->best, "%s", name);
}
