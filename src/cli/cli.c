/* cli: the tables that several commands share, and what goes with them. */
#include "cli/cli.h"
#include "base/file.h"
#include "launch/submit.h"
#include "model/check.h"
#include "model/lora.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- standard output ------------------------------------------------------------------------ */

static int output_errno; /* why it failed first; 0: it has not, or nobody looked then */

void cli_flush(void)
{
    if (fflush(stdout) != 0 && !output_errno)
        output_errno = errno;
}

int cli_end_output(int status)
{
    cli_flush();
    if (status != 0 || !ferror(stdout))
        return status;
    fprintf(stderr, "solo: standard output: %s\n", output_errno ? strerror(output_errno) : "cannot write");
    return ERR_FAILED;
}

void cli_print_address(const char *host, uint32_t port)
{
    bool is_six = host && strchr(host, ':') != NULL;
    printf("http://%s%s%s:%u/\n", is_six ? "[" : "", host ? host : "localhost", is_six ? "]" : "", port);
    cli_flush();
}

int cli_fail(const err *e)
{
    fprintf(stderr, "solo: %s\n", e->text);
    return e->kind;
}

/* ---- names --------------------------------------------------------------------------------- */

const char *cli_level_name(uint32_t i)
{
    return i < LEVEL_COUNT ? fusion_names[i] : NULL;
}

const char *cli_submit_name(uint32_t i)
{
    return i < SUBMIT_COUNT ? submit_names[i] : NULL;
}

const char *cli_impl_name(uint32_t i)
{
    return gpu_impl_names[i];
}

const char *cli_adapter_name(uint32_t i)
{
    static const char *const names[] = {
        [GPU_ADAPTER_ANY] = "any", [GPU_ADAPTER_GPU] = "gpu", [GPU_ADAPTER_SOFTWARE] = "software"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

/* ---- tables -------------------------------------------------------------------------------- */

#define LEVEL_HELP \
    "the fusion level; none: a dispatch for each operator; ops: for each group of them; token: for each token; loop: " \
    "for many tokens"

const option MODEL_TABLE[] = {
    {.value = "MODEL",
     .files = OPTION_FILES,
     INTO(cli_model, path),
     .is_model = true,
     .help = "a GGUF file, a Hugging Face folder, or OWNER/REPO[:FILE] on a hub (solo pull --help)",
     .otherwise = "the built-in model"},
    {.name = "check-tensors",
     .kind = OPTION_FLAG,
     INTO(cli_model, check_tensors),
     .help = "look at every weight first, and refuse one that is not finite"},
    {0}};

const option BEST_LEVEL_TABLE[] = {{.name = "fuse",
                                    .value = "LEVEL",
                                    .kind = OPTION_NAME,
                                    .names = cli_level_name,
                                    INTO(cli_model, level),
                                    .help = LEVEL_HELP,
                                    .otherwise = "loop on GPUs where that is seen to work, else ops"},
                                   {.name = "chunk",
                                    .value = "MS",
                                    .kind = OPTION_WHOLE,
                                    .low = 1,
                                    .high = 10000,
                                    INTO(cli_model, chunk_ms),
                                    .help = "with loop, how long a dispatch takes at most, about",
                                    .otherwise = "50"},
                                   {.name = "wait",
                                    .kind = OPTION_FLAG,
                                    INTO(cli_model, wait),
                                    .help = "begin when the best level has compiled; without it, and without --fuse, "
                                            "ops begins and the text changes over"},
                                   {0}};

const option LEVEL_TABLE[] = {{.name = "fuse",
                               .value = "LEVEL",
                               .kind = OPTION_NAME,
                               .names = cli_level_name,
                               INTO(cli_model, level),
                               .help = LEVEL_HELP},
                              {0}};

const option LORA_TABLE[] = {{.name = "lora",
                              .value = "FILE[:SCALE]",
                              .kind = OPTION_TEXTS,
                              .low = 1,
                              .high = 8,
                              .files = OPTION_FILES,
                              INTO(cli_model, loras),
                              .help =
                                  "a LoRA adapter that is merged into the weights: a GGUF file or a PEFT folder; may "
                                  "be given several times"},
                             {0}};

model *cli_open_model(const cli_model *m, err *e)
{
    model *opened = model_open(m->path, e);
    for (size_t i = 0; opened && i < m->loras.count; i++)
        if (!lora_merge_text(opened, m->loras.items[i], e)) {
            model_close(opened);
            return NULL;
        }
    if (opened && m->check_tensors && !model_check_weights(opened, e)) {
        model_close(opened);
        return NULL;
    }
    return opened;
}

const option DEVICE_TABLE[] = {
    {.name = "impl",
     .value = "I",
     .names = cli_impl_name,
     .only = "dawn,wgpu,vulkan",
     .files = OPTION_FILES,
     INTO(cli_model, impl),
     .help = "the implementation: {names}, or a library's path",
     .otherwise = "the first that works"},
    {.name = "checked",
     .kind = OPTION_FLAG,
     INTO(cli_model, checked),
     .help = "kernels look whether they keep to their memory, as in browsers; on GPUs they do not otherwise"},
    {0}};

const option ADAPTER_TABLE[] = {{.name = "adapter",
                                 .value = "A",
                                 .kind = OPTION_NAME,
                                 .names = cli_adapter_name,
                                 .bytes = sizeof(gpu_adapter_want),
                                 .help = "the kind of adapter: {names}; gpu makes software an error"},
                                {0}};

const option RECORD_TABLE[] = {{.name = "json",
                                .value = "FILE",
                                .files = OPTION_FILES,
                                .bytes = sizeof(const char *),
                                .help = "write the record; - writes it to standard output and nothing else"},
                               {0}};

/* ---- models -------------------------------------------------------------------------------- */

gpu_choice cli_choice(const cli_model *m)
{
    return (gpu_choice){.impl = m->impl, .own_kernels = !m->checked};
}

gpu *cli_open_model_gpu(const cli_model *m, err *e)
{
    gpu_choice choice = cli_choice(m);
    return gpu_open_now(&choice, e);
}

void cli_close_gpu(gpu *g, int status)
{
    err failed = {0};
    if (g && (gpu_is_compiling(g) || !gpu_ok(g, &failed))) {
        status = cli_end_output(status);
        fflush(NULL);
        _exit(status);
    }
    gpu_close(g);
}

void cli_print_notice(generation *n)
{
    char text[1200];
    if (generation_take_notice(n, text, sizeof text))
        fprintf(stderr, "solo: %s\n", text);
}

/* ---- records and texts ----------------------------------------------------------------------- */

bool cli_record_writable(const char *path, err *e)
{
    return !path || strcmp(path, "-") == 0 || file_writable(path, e);
}

bool cli_record_write(str *record, const char *path, err *e)
{
    bool ok = file_write(path, record->data, record->length, e);
    if (ok && strcmp(path, "-") != 0)
        printf("\nrecord: %s\n", path);
    str_free(record);
    return ok;
}

enum { MAX_TEXT_BYTES = 1 << 30 }; /* as a tokenizer has it */

static bool read_standard_input(str *text, err *e)
{
    char chunk[65536];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, stdin)) > 0) {
        if (text->length + got > MAX_TEXT_BYTES)
            return err_set(e, "standard input: larger than 1 GiB");
        str_add_bytes(text, chunk, got);
    }
    return ferror(stdin) ? err_set(e, "standard input: %s", strerror(errno)) : true;
}

bool cli_read_text(const char *path, str *text, err *e)
{
    size_t length;
    if (strcmp(path, "-") == 0)
        return read_standard_input(text, e);
    char *data = file_read(path, MAX_TEXT_BYTES, &length, e);
    if (!data)
        return false;
    *text = (str){data, length, length + 1};
    return true;
}

char *cli_read_whole_text(const char *path, size_t limit_bytes, err *e)
{
    size_t length;
    char *text = file_read(path, limit_bytes, &length, e);
    if (!text || strlen(text) == length)
        return text;
    free(text);
    err_set(e, "%s is not text: it has a zero byte", path);
    return NULL;
}

/* ---- texts that models and files make --------------------------------------------------------- */

/* Below a space but tab and line end, DEL, U+0080 to U+009F: how many bytes that is, or 0. */
static size_t control_bytes(const unsigned char *p, size_t left)
{
    if ((p[0] < ' ' && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7F)
        return 1;
    return left > 1 && p[0] == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0 ? 2 : 0;
}

void cli_print_text(const char *text, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    bool terminal = isatty(STDOUT_FILENO);
    for (size_t at = 0, n; at < bytes; at += n ? n : 1) {
        n = terminal ? control_bytes(p + at, bytes - at) : 0;
        if (n)
            printf("\\x%02x", n == 1 ? p[at] : p[at + 1]);
        else
            putchar(p[at]);
    }
    cli_flush();
}
