/* Running a fuzz target without a fuzzer (-DFUZZ_MAIN): the files given (or the target's
 * corpus if none is), then N fixed mutations of them (-n N).
 *
 * The target includes this last, after defining FUZZ_NAME, FUZZ_MUTATIONS and
 * mutate_once. */
#include "base/file.h"

#include <glob.h>

/* A mutation has up to so many steps, and a step may add so many bytes. */
enum { FUZZ_MOST_STEPS = 3, FUZZ_MOST_GROWTH = 64 };

typedef struct input {
    uint8_t *bytes;
    size_t length;
} input;

/* A copy of exactly its length on the heap, so that a sanitizer sees a read past it. */
static void run_copy(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = mem_alloc(length);
    memcpy(copy, bytes, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
}

static void run_mutations(const input *inputs, size_t count, uint64_t mutations)
{
    rng r = rng_seed(1);
    for (uint64_t i = 0; i < mutations && count; i++) {
        const input *in = &inputs[rng_below(&r, (uint32_t)count)];
        size_t length = in->length;
        uint8_t *bytes = mem_alloc(length + FUZZ_MOST_STEPS * FUZZ_MOST_GROWTH);
        memcpy(bytes, in->bytes, length);
        for (uint32_t n = 1 + rng_below(&r, FUZZ_MOST_STEPS); n; n--)
            mutate_once(&r, bytes, &length);
        run_copy(bytes, length);
        free(bytes);
    }
}

static input load_input(const char *path)
{
    err e = {0};
    input in = {0};
    in.bytes = (uint8_t *)file_read(path, 64 << 20, &in.length, &e);
    if (!in.bytes) {
        fprintf(stderr, "fuzz_" FUZZ_NAME ": %s\n", e.text);
        exit(1);
    }
    return in;
}

int main(int argc, char **argv)
{
    uint64_t mutations = FUZZ_MUTATIONS;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        mutations = strtoull(argv[2], NULL, 10);
        first = 3;
    }
    glob_t corpus = {0};
    char **paths = argv + first;
    size_t count = (size_t)(argc - first);
    if (count == 0 && glob("tests/fuzz/corpus/" FUZZ_NAME "/*", 0, NULL, &corpus) == 0) {
        paths = corpus.gl_pathv;
        count = corpus.gl_pathc;
    }
    input *inputs = mem_alloc(count * sizeof *inputs);
    for (size_t i = 0; i < count; i++) {
        inputs[i] = load_input(paths[i]);
        run_copy(inputs[i].bytes, inputs[i].length);
    }
    run_mutations(inputs, count, mutations);
    for (size_t i = 0; i < count; i++)
        free(inputs[i].bytes);
    free(inputs);
    globfree(&corpus);
    /* No input is no test. */
    puts(count ? "ok fuzz_" FUZZ_NAME : "not ok fuzz_" FUZZ_NAME " (no input)");
    return count ? 0 : 1;
}
