/* Feeds bytes to the reader of LoRA adapters, merged into a model as wide as the built-in one but of few tokens, and touches what comes of it.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...          fuzz_lora CORPUS_FOLDER
 *     cc -DFUZZ_MAIN -fsanitize=address,undefined ...        fuzz_lora [-n N] FILE...
 *
 * An input that begins with "G" is a GGUF adapter behind that; any other is, behind its first letter, the length of an
 * adapter_config.json in two bytes, that, and an adapter_model.safetensors. */
#define FUZZ_NAME      "lora"
#define FUZZ_MUTATIONS 600
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "fuzz/require.h"
#include "model/lora.h"
#include "temporary.h"
#include "tiny_model.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile uint64_t seen; /* what was read goes here, so that it is read */
static char folder[TEMPORARY_BYTES];
static char config[TEMPORARY_FILE_BYTES], weights[TEMPORARY_FILE_BYTES], file[TEMPORARY_FILE_BYTES],
    base[TEMPORARY_FILE_BYTES];

static void remove_folder(void)
{
    unlink(config);
    unlink(weights);
    unlink(file);
    unlink(base);
    rmdir(folder);
}

static void make_folder(void)
{
    if (*config)
        return;
    require(temporary_folder(folder, "fuzz-lora"), "no folder can be made");
    snprintf(config, sizeof config, "%s/adapter_config.json", folder);
    snprintf(weights, sizeof weights, "%s/adapter_model.safetensors", folder);
    snprintf(file, sizeof file, "%s/a.gguf", folder);
    snprintf(base, sizeof base, "%s/base.gguf", folder);
    static const tiny_model tiny = {.arch = "llama",
                                    .layers = 2,
                                    .embedding = 256,
                                    .ffn = 64,
                                    .heads = 4,
                                    .kv_heads = 2,
                                    .head_dim = 64,
                                    .vocab = 32,
                                    .type = TYPE_F16,
                                    .tied = true};
    err e = {0};
    require(tiny_model_write(&tiny, 1, base, &e), e.text);
    atexit(remove_folder);
}

static void put(const char *path, const uint8_t *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    require(f && fwrite(bytes, 1, length, f) == length && fclose(f) == 0, "a file cannot be written");
}

static void touch(const model *m)
{
    for (unsigned layer = 0; layer < 2; layer++) {
        char name[64];
        model_weight w;
        snprintf(name, sizeof name, "blk.%u.attn_q.weight", layer);
        if (model_find_weight(m, name, &w, NULL))
            for (uint64_t i = 0; i < w.bytes; i++)
                seen += ((const uint8_t *)w.data)[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length < 3)
        return 0;
    make_folder();
    bool gguf = bytes[0] == 'G';
    if (gguf)
        put(file, bytes + 1, length - 1);
    else {
        size_t text = bytes[1] | (size_t)bytes[2] << 8;
        text = text < length - 3 ? text : length - 3;
        put(config, bytes + 3, text);
        put(weights, bytes + 3 + text, length - 3 - text);
    }
    err e = {0};
    model *m = model_open(base, &e);
    require(m != NULL, e.text);
    if (lora_merge(m, gguf ? file : folder, 0.5f, &e))
        touch(m);
    else
        require(e.kind == ERR_FAILED && strncmp(e.text, folder, strlen(folder)) == 0 && !strchr(e.text, '\n'),
                "an error does not name the file in one line");
    model_close(m);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
