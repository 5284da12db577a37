/* Subgroups of other sizes: the same tokens. lavapipe's have as many threads as a vector of the processor has words, which it
 * looks up once in a process, so each size gets one of its own. What Solo does not use (more than 32 threads, sizes that differ
 * from kernel to kernel, as D3D12 and Intel have them) is claimed of the device that is there. */
#include "gpu/make_tokens.h"
#include "gpu/probe.h"
#include "open_tiny.h"

#include <sys/wait.h>
#include <unistd.h>

enum { TOKENS = 5, BITS_OF_A_THREAD = 32 };

static const tiny_model TINY = {"llama", 2, 64, 192, 4, 2, 16, 50, TYPE_F16, .tied = true};

static void make_the_same(const model *m, fusion_level level, const uint32_t right[TOKENS])
{
    uint32_t tokens[TOKENS];
    make_tokens(m, level, tokens, TOKENS);
    assert_memory_equal(right, tokens, sizeof tokens);
}

/* Of the size that LP_NATIVE_VECTOR_WIDTH makes, and without them. */
static void subgroups_of_this_size_make_the_same_tokens(void **unused)
{
    (void)unused;
    err e = {0};
    assert_true(gpu_check_features(device, &e)); /* not every library says how large they are */
    gpu_info *info = (gpu_info *)gpu_get_info(device), real = *info;
    uint32_t size = (uint32_t)atoi(getenv("LP_NATIVE_VECTOR_WIDTH")) / BITS_OF_A_THREAD, right[TOKENS];
    if (!info->has_wgsl || info->subgroup_min != size)
        skip();
    model *m = open_tiny(&TINY, 1);
    info->has_subgroups = false;
    info->subgroup_min = info->subgroup_max = 0;
    make_tokens(m, LEVEL_OPS, right, TOKENS);
    *info = real;
    make_the_same(m, LEVEL_OPS, right);
    make_the_same(m, LEVEL_TOKEN, right);
    if (strcmp(info->family, "dawn") == 0) { /* the kernels of GPUs */
        setenv("SOLO_TUNE", "gpu", 1);
        make_the_same(m, LEVEL_OPS, right);
        unsetenv("SOLO_TUNE");
    }
    model_close(m);
}

static void claimed_sizes_make_the_same_tokens(void **unused)
{
    static const uint32_t claims[][2] = {{4, 128}, {8, 32}, {64, 64}, {128, 128}};
    (void)unused;
    gpu_info *info = (gpu_info *)gpu_get_info(device), real = *info;
    uint32_t right[TOKENS];
    model *m = open_tiny(&TINY, 1);
    make_tokens(m, LEVEL_OPS, right, TOKENS);
    for (size_t i = 0; info->has_wgsl && i < sizeof claims / sizeof *claims; i++) {
        info->subgroup_min = claims[i][0];
        info->subgroup_max = claims[i][1];
        make_the_same(m, LEVEL_OPS, right);
    }
    *info = real;
    model_close(m);
}

/* This program once more, with vectors of so many bits. */
static int run_with_width(const char *program, const char *bits)
{
    pid_t child = fork();
    if (!child) {
        setenv("LP_NATIVE_VECTOR_WIDTH", bits, 1);
        execl(program, program, bits, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(int count, char **args)
{
    if (count > 1) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(subgroups_of_this_size_make_the_same_tokens)};
        return RUN_ON_EACH(tests);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(claimed_sizes_make_the_same_tokens)};
    return RUN_ON_EACH(tests) + run_with_width(args[0], "128") + run_with_width(args[0], "512");
}
