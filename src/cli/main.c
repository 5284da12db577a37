/* solo: the command line. */
#include "base/version.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const cli_command COMMANDS[] = {
    {"info", "[--json]", "the implementations and adapters that work here", cmd_info},
    {"demo", "", "a first look: what is here, and what a dispatch costs on it", cmd_demo},
    {"bench", "dispatch|llm|sim [OPTIONS]", "measure what each dispatch costs, and how fast models are", cmd_bench},
    {"run", "[MODEL] -p TEXT [-n N]", "continue a text", cmd_run},
    {"chat", "[MODEL]", "a conversation", cmd_chat},
    {"tokenize", "[MODEL] [--bos] < text", "a text as token ids", cmd_tokenize},
    {"logits", "[MODEL] --tokens 5,9,11", "what a model thinks of the next token", cmd_logits},
    {"explain", "[MODEL] [--svg FILE]", "what is launched for a token: steps, bytes, limits", cmd_explain},
    {"convert", "MODEL OUT.gguf", "a Hugging Face folder as a GGUF file", cmd_convert},
    {"synth", "ARCH TYPE OUT.gguf", "a real model's shapes with random weights", cmd_synth},
    {"sim", "NAME|FILE.wgsl [OPTIONS]", "a simulation, step by step, in one dispatch", cmd_sim},
    {"report", "RECORD.json... -o FILE.html", "one page with plots from one or more records", cmd_report},
    {"compare", "A.json B.json", "same, faster, slower or cannot tell", cmd_compare},
    {"web", "[--port N]", "the page, for browsers on this machine", cmd_web},
};
enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

static void print_help(FILE *to)
{
    fprintf(to,
            "solo %s: WebGPU in as few dispatches as possible, and what each one costs\n\nusage: solo COMMAND ...\n\n",
            solo_version);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-8s %-28s %s\n", COMMANDS[i].name, COMMANDS[i].arguments, COMMANDS[i].summary);
    fprintf(to, "\n`solo COMMAND --help` says more. Exit status: 0; 1 it failed; 2 wrong usage; 3 no usable GPU.\n");
}

/* Pipes and files must not come to stand where standard input, output and error
 * are expected, even if someone closed those. */
static void occupy_standard_streams(void)
{
    for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR))
        if (fd > STDERR_FILENO) {
            close(fd);
            return;
        }
}

static int run(int argc, char **argv)
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
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc - 1, argv + 1);
    fprintf(stderr, "solo: unknown command '%s' (solo --help)\n", argv[1]);
    return ERR_USAGE;
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    int status = run(argc, argv);
    /* What was printed must have arrived: a full disk is a failure. */
    if (status == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        fprintf(stderr, "solo: standard output: %s\n", strerror(errno));
        status = ERR_FAILED;
    }
    return status;
}
