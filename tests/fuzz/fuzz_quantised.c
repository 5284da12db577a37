/* Feeds bytes to the reader of GPTQ, AWQ and fp8 folders, and touches everything it lets through.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...          fuzz_quantised CORPUS_FOLDER
 *     cc -DFUZZ_MAIN -fsanitize=address,undefined ...        fuzz_quantised [-n N] FILE...
 *
 * An input is the length of a config.json in two bytes, that, and a safetensors file. Its weights replace those of the
 * built-in model. */
#define FUZZ_NAME      "quantised"
#define FUZZ_MUTATIONS 3000
#include "base/err.h"
#include "base/str.h"
#include "fuzz/require.h"
#include "model/quantised.h"
#include "model/safetensors_test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint64_t seen; /* what was read goes here, so that it is read */

static void touch(const model *m)
{
    static const char *const names[] = {"blk.0.attn_q.weight", "blk.0.attn_v.weight", "blk.1.ffn_down.weight"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        model_weight w;
        if (!model_find_weight(m, names[n], &w, NULL))
            continue;
        require(w.bytes == type_bytes(w.type, (uint64_t)w.rows * w.columns), "a weight's size is wrong");
        for (uint64_t i = 0; i < w.bytes; i++)
            seen += ((const uint8_t *)w.data)[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length < 2)
        return 0;
    size_t text = bytes[0] | (size_t)bytes[1] << 8, rest = length - 2;
    text = text < rest ? text : rest;
    err e = {0}, ignored = {0};
    safetensors *s = safetensors_read(bytes + 2 + text, rest - text, "input", &ignored);
    if (!s)
        return 0;
    model *m = model_open(NULL, &e);
    require(m != NULL, "the built-in model does not open");
    if (quantised_unpack(m, s, (const char *)bytes + 2, text, &e))
        touch(m);
    else
        require(e.kind == ERR_FAILED && !strchr(e.text, '\n'), "an error is not one line");
    model_close(m);
    safetensors_close(s);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
