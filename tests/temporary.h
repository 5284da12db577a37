/* Files and folders that a test makes for itself: where TMPDIR says, or in /tmp. */
#ifndef SOLO_TEST_TEMPORARY_H
#define SOLO_TEST_TEMPORARY_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* of such a name, and of one of a file in such a folder */
enum { TEMPORARY_BYTES = 256, TEMPORARY_FILE_BYTES = TEMPORARY_BYTES + 128 };

static inline char *temporary_pattern(char name[TEMPORARY_BYTES], const char *what)
{
    const char *where = getenv("TMPDIR");
    if (snprintf(name, TEMPORARY_BYTES, "%s/solo-%s-XXXXXX", where && *where ? where : "/tmp", what) >=
        TEMPORARY_BYTES) {
        fputs("TMPDIR is too long for the tests\n", stderr);
        abort();
    }
    return name;
}

/* Makes a file that is empty: its descriptor, or -1. */
static inline int temporary_file(char name[TEMPORARY_BYTES], const char *what)
{
    return mkstemp(temporary_pattern(name, what));
}

static inline bool temporary_folder(char name[TEMPORARY_BYTES], const char *what)
{
    return mkdtemp(temporary_pattern(name, what)) != NULL;
}

#endif
