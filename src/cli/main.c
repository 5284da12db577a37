/* solo: the command line. */
#include "base/version.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static void print_help(FILE *to)
{
    fprintf(to,
            "solo %s: WebGPU in as few dispatches as possible, and what each one costs\n\nusage: solo COMMAND ...\n\n",
            solo_version);
    fprintf(to, "\n`solo COMMAND --help` says more. Exit status: 0; 1 it failed; 2 wrong usage; 3 no usable GPU.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return ERR_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("solo %s (%s)\n", solo_version, solo_commit);
        return 0;
    }
    fprintf(stderr, "solo: unknown command '%s' (solo --help)\n", argv[1]);
    return ERR_USAGE;
}
