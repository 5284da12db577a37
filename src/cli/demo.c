/* solo demo: a first look at this machine: what is here, what a dispatch costs
 * on it and why. */
#include "base/version.h"
#include "cli/cli.h"
#include "lab/dispatch.h"

#include <stdio.h>
#include <string.h>

int cmd_demo(int argc, char **argv)
{
    err e = {0};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        puts("usage: solo demo\n\nWhat works here, and the quick dispatch laboratory on it: under a minute.");
        return 0;
    }
    if (argc > 1) {
        cli_unknown(&(cli_args){argc, 1, argv, &e}, argv[1]);
        return cli_fail(&e);
    }
    printf("solo %s: what does a dispatch cost on this machine, and how much of it is WebGPU?\n\n", solo_version);
    fflush(stdout);
    dispatch_lab lab = {0};
    bool ok = dispatch_measure(&lab, &(dispatch_options){.quick = true}, &e);
    if (ok) {
        dispatch_print(&lab, stdout);
        puts("\nFor the record and the plots:\n"
             "  build/solo bench dispatch --json record.json && build/solo report record.json -o report.html");
    }
    dispatch_free(&lab);
    return ok ? 0 : cli_fail(&e);
}
