/* environment: the variables that are numbers are looked at once, before a command runs: one that is no number would
 * count as another one, or as none, without a word. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 15 };

static const char *const NUMBERS[] = {"SOLO_ONE_GROUPS", "SOLO_ONE_THREADS",     "SOLO_ONE_LOOKS",
                                      "SOLO_ONE_STALL",  "SOLO_SIM_GROUPS",      "SOLO_SIM_LOOKS",
                                      "SOLO_SIM_STALL",  "SOLO_WORKER_SECONDS",  "SOLO_THREADS",
                                      "SOLO_COMPILERS",  "SOLO_WORKGROUP_BYTES", "SOLO_GPU_MEMORY"};

bool cli_check_environment(err *e)
{
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        const char *text = getenv(NUMBERS[i]);
        size_t digits = text ? strspn(text, "0123456789") : 0;
        if (text && (text[digits] || digits > MOST_DIGITS))
            return err_set_kind(e, ERR_USAGE, "%s: takes a whole number (of up to %d digits), not \"%.40s\"",
                                NUMBERS[i], MOST_DIGITS, text);
    }
    return true;
}
