/* suggest: the name that someone who mistyped one may have meant. */
#ifndef SOLO_CLI_SUGGEST_H
#define SOLO_CLI_SUGGEST_H

#include <stddef.h>

enum { SUGGEST_MAX = 48 };

typedef struct suggestion {
    char typed[SUGGEST_MAX];
    char best[SUGGEST_MAX]; /* empty: none is close */
    size_t distance;        /* of the best */
} suggestion;

/* Names longer than SUGGEST_MAX are close to nothing. */
suggestion suggest_for(const char *typed, size_t length);
void suggest_consider(suggestion *s, const char *name);

#endif
