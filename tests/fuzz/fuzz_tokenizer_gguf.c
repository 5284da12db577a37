/* Feeds GGUF files to the tokenizer, and texts to the tokenizers that come of them. See
 * fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "tokenizer_gguf"
#define FUZZ_MUTATIONS 20000
#include "fuzz/tokenizer_checks.h"
#include "model/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    err e = {0};
    uint64_t wanted;
    gguf *g = gguf_read(bytes, length, length, "input", &wanted, &e);
    if (!g)
        return 0;
    tokenizer *t = tokenizer_from_gguf(g, &e);
    gguf_close(g);
    require((t != NULL) == (e.kind == ERR_NONE), "an error beside a result, or neither");
    require(!strchr(e.text, '\n'), "an error has two lines");
    if (t)
        check_tokenizer(t, bytes, length);
    tokenizer_free(t);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"

#include "fuzz/fuzz_main.h"
#endif
