/* Feeds bytes to the safetensors reader and to the reader of config.json, and
 * touches everything they let through.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...      fuzz_safetensors CORPUS_FOLDER
 *     cc -DFUZZ_MAIN -fsanitize=address,undefined ...    fuzz_safetensors [-n N] FILE...
 *
 * With FUZZ_MAIN it is a program of its own: it reads each file, then N mutations
 * of them (20,000 unless told), always the same ones. It ends in `ok fuzz_safetensors`.
 *
 * An input is a safetensors file; one that begins with a brace is also the header
 * of one, with the length put before it and data behind, and a config.json. */
#define FUZZ_NAME      "safetensors"
#define FUZZ_MUTATIONS 20000
#include "base/err.h"
#include "base/str.h"
#include "fuzz/config_rules.h"
#include "model/safetensors_test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint64_t seen; /* what was read goes here, so that it is read */

static void check_error(const err *e)
{
    require(e->kind == ERR_FAILED && strncmp(e->text, "input: ", 7) == 0, "an error does not name the file");
    for (const char *p = e->text; *p; p++)
        require((unsigned char)*p >= 0x20 && *p != 0x7f, "an error has control characters");
}

static void touch_tensor(const safetensors *s, size_t i, const uint8_t *bytes, size_t length)
{
    const safetensor *t = safetensors_at(s, i);
    err e = {0};
    const uint8_t *data = t->data;
    require(data >= bytes && data <= bytes + length && t->bytes <= (uint64_t)(bytes + length - data),
            "a tensor is outside the file");
    require(safetensors_has(s, t->name), "a tensor is listed but not found");
    require((safetensors_find(s, t->name, &e) == t) == t->readable, "a tensor cannot be read, or can");
    require(i == 0 || strcmp(safetensors_at(s, i - 1)->name, t->name) < 0, "names are out of order");
    require(t->dim_count <= SAFETENSORS_MAX_DIMS, "too many dimensions");
    uint64_t weights = 1;
    for (uint32_t d = 0; d < t->dim_count; d++)
        weights *= t->dims[d];
    require(!t->readable || t->bytes == weights * (t->type == TYPE_F32 ? 4 : 2), "a tensor's size is wrong");
    for (uint64_t b = 0; b < t->bytes; b++)
        seen += data[b];
    seen += strlen(t->dtype);
}

static void read_tensors(const uint8_t *bytes, size_t length)
{
    err e = {0};
    safetensors *s = safetensors_read(bytes, length, "input", &e);
    if (!s) {
        check_error(&e);
        return;
    }
    for (size_t i = 0; i < safetensors_count(s); i++)
        touch_tensor(s, i, bytes, length);
    require(!safetensors_has(s, ""), "a name that is empty was found");
    safetensors_close(s);
}

/* The input as a header, before `data_bytes` of data. */
static void read_header(const uint8_t *bytes, size_t length, size_t data_bytes)
{
    uint8_t *file = mem_alloc(8 + length + data_bytes);
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)length >> 8 * i);
    memcpy(file + 8, bytes, length);
    read_tensors(file, 8 + length + data_bytes);
    free(file);
}

static void read_config(const uint8_t *bytes, size_t length)
{
    err e = {0};
    model_config c;
    if (!config_from_hf((const char *)bytes, length, "input", &c, &e)) {
        check_error(&e);
        return;
    }
    check_config(&c);
    for (uint32_t i = 0; i < c.layer_count; i++)
        require(config_window(&c, i, 1000) > 0 && (c.window_tok || !c.is_windowed[i]), "a layer sees nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    read_tensors(bytes, length);
    if (length && bytes[0] == '{') {
        read_header(bytes, length, 24);
        read_config(bytes, length);
    }
    return 0;
}

#ifdef FUZZ_MAIN
#include "base/rng.h"

/* Pieces of JSON that readers go wrong at. */
static const char *const words[] = {
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "0",
    "-1",
    "1e308",
    "1e-9",
    "0.5",
    "1.0",
    "24",
    "16",
    "\\u0000",
    "\\u001b",
    "\"F16\"",
    "[[",
    "}}",
    "\"a\"",
    "\"I8\"",
    "\xff",
    "16777217",
    "2147483648",
    "9223372036854775807",
    "\"gemma2\"",
    "\"qwen2\"",
    "\"yarn\"",
    "\"llama3\"",
    "\"longrope\"",
    "\"head_dim\":",
    "\"sliding_window\":",
    "\n",
};

#include "fuzz/mutate_json.h"

#include "fuzz/fuzz_main.h"
#endif
