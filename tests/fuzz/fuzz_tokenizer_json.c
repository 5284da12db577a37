/* Feeds JSON to the reader of tokenizer.json, and texts to the tokenizers that come of
 * it, and of the GGUF file that it is converted to. See fuzz_gguf.c for how to run it. The input is three files with a zero byte
 * between them: tokenizer.json, tokenizer_config.json, generation_config.json; the last
 * two may be missing. */
#define FUZZ_NAME      "tokenizer_json"
#define FUZZ_MUTATIONS 20000
#include "fuzz/tokenizer_checks.h"

#include "fuzz/converted_checks.h"

/* Up to the next zero byte, which is passed over. */
static json_file next_file(const char *name, const char **at, size_t *left)
{
    json_file f = {.name = name, .text = *left ? *at : NULL};
    f.length = *left ? strnlen(*at, *left) : 0;
    size_t taken = f.length < *left ? f.length + 1 : f.length;
    *at += taken;
    *left -= taken;
    return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *at = (const char *)bytes;
    size_t left = length;
    json_file main = next_file("main", &at, &left), config = next_file("config", &at, &left),
              generation = next_file("generation", &at, &left);
    if (!main.text)
        return 0;
    err e = {0};
    json_source source = {.e = &e};
    tokenizer *t = json_source_read(&source, &main, &config, &generation);
    require((t != NULL) == (e.kind == ERR_NONE), "an error beside a result, or neither");
    require(t || strncmp(e.text, "main: ", 6) == 0 || strncmp(e.text, "config: ", 8) == 0 ||
                strncmp(e.text, "generation: ", 12) == 0,
            "an error does not name the file");
    require(!strchr(e.text, '\n'), "an error has two lines");
    if (t) {
        check_tokenizer(t, bytes, length);
        check_converted(&source, t, bytes, length);
    }
    tokenizer_free(t);
    json_source_free(&source);
    return 0;
}

#ifdef FUZZ_MAIN
static const char *const words[] = {
    "0",
    "1",
    "-1",
    "2",
    "300",
    "4294967296",
    "9223372036854775807",
    "1e300",
    "null",
    "true",
    "false",
    "\"\"",
    "\"a\"",
    "\"a b\"",
    "\"<0x41>\"",
    "\"\\u2581\"",
    "\"\\u00e9\"",
    "[]",
    "{}",
    "[\"a\", \"b\"]",
    "\"BPE\"",
    "\"WordPiece\"",
    "\"Unigram\"",
    "\"BertNormalizer\"",
    "\"Precompiled\"",
    "\"WhitespaceSplit\"",
    "\"AAAAAA==\"",
    "\"first\"",
    "\"always\"",
    "\"Sequence\"",
    "\"NFC\"",
    "\"Metaspace\"",
    "\"ByteLevel\"",
    "\"Replace\"",
    "\"Prepend\"",
    "\"Split\"",
    "\"Digits\"",
    "{\"a\": 0}",
    "\"\\ud800\"",
    "\"\\u0000\"",
};
#include "fuzz/mutate_json.h"

#include "fuzz/fuzz_main.h"
#endif
