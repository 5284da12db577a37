/* What has to hold in a fuzz target, whatever the input was. FUZZ_NAME is defined before this is included. */
#ifndef SOLO_FUZZ_REQUIRE_H
#define SOLO_FUZZ_REQUIRE_H

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

static inline void require(bool holds, const char *otherwise)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_" FUZZ_NAME ": %s\n", otherwise);
    abort();
}

/* One line that can be printed. */
static inline void require_line(const err *e)
{
    require(e->kind == ERR_FAILED && e->text[0], "an error without a text");
    for (const char *p = e->text; *p; p++)
        require((unsigned char)*p >= 0x20 && *p != 0x7f, "an error has control characters");
}

#endif
