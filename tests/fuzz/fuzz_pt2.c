/* Feeds bytes to the reader of .pt2 archives: an error, or a program, whose constants are computed.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...          fuzz_pt2 CORPUS_FOLDER
 *     cc -DFUZZ_MAIN -fsanitize=address,undefined ...        fuzz_pt2 [-n N] FILE...                       */
#include "base/err.h"
#include "base/str.h"
#include "model/pt2.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    err e = {0};
    pt2 *p = pt2_from_bytes(data, size, "fuzzed", &e);
    if (!p == (e.kind == ERR_NONE)) {
        fprintf(stderr, "fuzz_pt2: a program and an error, or neither\n");
        abort();
    }
    pt2_free(p);
    return 0;
}

#ifdef FUZZ_MAIN
#include "base/rng.h"

#define FUZZ_NAME      "pt2"
#define FUZZ_MUTATIONS 1500

/* Another byte, another digit or name, or a cut. */
static void mutate_once(rng *r, uint8_t *bytes, size_t *length)
{
    if (*length == 0)
        return;
    size_t at = rng_below(r, (uint32_t)*length);
    switch (rng_below(r, 8)) {
    case 0: bytes[at] = (uint8_t)rng_below(r, 256); break;
    case 1: *length = at; break;
    default: /* near the end of the JSON a number becomes another */
        for (size_t i = 0; i < *length; i++, at = (at + 1) % *length)
            if (bytes[at] >= '0' && bytes[at] <= '9') {
                bytes[at] = (uint8_t)('0' + rng_below(r, 10));
                break;
            }
    }
}

#include "fuzz/fuzz_main.h"
#endif
