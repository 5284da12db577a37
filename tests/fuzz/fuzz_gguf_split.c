/* Feeds two files to what joins the parts of a split GGUF model, and touches everything it lets through.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...          fuzz_gguf_split CORPUS_FOLDER
 *     cc -DFUZZ_MAIN -fsanitize=address,undefined ...        fuzz_gguf_split [-n N] FILE...
 *
 * An input is the length of the first file in two bytes, and both files. */
#define FUZZ_NAME      "gguf_split"
#define FUZZ_MUTATIONS 20000
#include "base/err.h"
#include "base/str.h"
#include "fuzz/require.h"
#include "model/gguf_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint64_t seen; /* what was read goes here, so that it is read */

static void touch(const gguf *g)
{
    for (size_t i = 0; i < gguf_tensor_count(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        char name[65] = "";
        memcpy(name, t->name.data, t->name.length);
        require(gguf_find_tensor(g, name) == t, "a tensor is listed but not found");
        for (uint64_t b = 0; b < t->bytes; b++)
            seen += ((const uint8_t *)t->data)[b];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length < 2)
        return 0;
    size_t first = bytes[0] | (size_t)bytes[1] << 8, rest = length - 2;
    first = first < rest ? first : rest;
    err e = {0};
    gguf *parts[2];
    parts[0] = gguf_read(bytes + 2, first, first, "input", NULL, &e);
    parts[1] = gguf_read(bytes + 2 + first, rest - first, rest - first, "input", NULL, &e);
    if (!parts[0] || !parts[1]) {
        gguf_close(parts[0]);
        gguf_close(parts[1]);
        return 0;
    }
    gguf *g = gguf_join(parts, 2, &e);
    if (g)
        touch(g);
    else
        require(e.kind == ERR_FAILED && strncmp(e.text, "input: ", 7) == 0 && !strchr(e.text, '\n'),
                "an error does not name the file in one line");
    gguf_close(g);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
