/* Feeds bytes to the GGUF reader and touches everything it lets through.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...      fuzz_gguf CORPUS_FOLDER
 *     cc -DFUZZ_MAIN -fsanitize=address,undefined ...    fuzz_gguf [-n N] FILE...
 *
 * With FUZZ_MAIN it is a program of its own: it reads each file (those of
 * tests/fuzz/corpus/gguf if none is given), then N mutations of them (50,000 unless
 * told), always the same ones. It ends in `ok fuzz_gguf`.
 *
 * Each input is read three times: as a whole file, as the first part of one that is
 * longer by the number in the input's last two bytes, and as a page reads it, with as
 * many bytes at a time as were asked for. */
#define FUZZ_NAME      "gguf"
#define FUZZ_MUTATIONS 50000
#include "base/err.h"
#include "base/str.h"
#include "fuzz/require.h"
#include "model/gguf_test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint64_t seen; /* what was read goes here, so that it is read */

static void touch(const void *bytes, size_t length)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum = sum * 31 + ((const uint8_t *)bytes)[i];
    seen += sum;
}

static void touch_array(const gguf_array *a)
{
    for (size_t i = 0; i <= a->count; i++) { /* one past the end, too */
        gguf_text t = gguf_array_text(a, i);
        touch(t.data, t.length);
        seen += (uint64_t)gguf_array_int(a, i);
        double d = gguf_array_float(a, i);
        touch(&d, sizeof d);
    }
}

static void touch_key(const gguf *g, size_t i)
{
    gguf_text key = gguf_key_at(g, i), text;
    char *name = mem_alloc(key.length + 1);
    memcpy(name, key.data, key.length);
    require(gguf_has(g, name), "a key is listed but not found");

    err e = {0};
    uint32_t whole;
    float real;
    bool truth;
    gguf_array array;
    int kinds = 0;
    if (gguf_get_u32(g, name, &whole, &e))
        seen += whole, kinds++;
    if (gguf_get_f32(g, name, &real, &e))
        touch(&real, sizeof real), kinds++;
    if (gguf_get_bool(g, name, &truth, &e))
        seen += truth, kinds++;
    if (gguf_get_text(g, name, &text, &e))
        touch(text.data, text.length), kinds++;
    if (gguf_get_texts(g, name, &array, &e))
        touch_array(&array), kinds++;
    if (gguf_get_numbers(g, name, &array, &e))
        touch_array(&array), kinds++;
    require(kinds <= 1, "a value is of two kinds");
    require(kinds == 1 || e.text[0], "a value that cannot be had has no error");
    free(name);
}

static void touch_tensor(const gguf *g, size_t i, size_t available, uint64_t file_bytes)
{
    const gguf_tensor *t = gguf_tensor_at(g, i);
    char name[65] = "";
    require(t->name.length < sizeof name, "a tensor's name is too long");
    memcpy(name, t->name.data, t->name.length);
    require(gguf_find_tensor(g, name) == t, "a tensor is listed but not found");

    uint64_t weights = t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
    require(weights > 0 && t->bytes == type_bytes(t->type, weights), "a tensor's size is wrong");
    require(t->offset <= file_bytes && t->bytes <= file_bytes - t->offset, "a tensor is outside the file");
    require((t->data != NULL) == (t->offset + t->bytes <= available), "a tensor's data is wrongly there, or not");
    if (!t->data)
        return;
    float *floats = mem_alloc((size_t)weights * sizeof *floats);
    type_to_f32(t->type, t->data, floats, (size_t)weights);
    touch(floats, (size_t)weights * sizeof *floats);
    free(floats);
}

static void read_as(const uint8_t *bytes, size_t available, uint64_t file_bytes)
{
    err e = {0};
    uint64_t wanted = 1;
    gguf *g = gguf_read(bytes, available, file_bytes, "input", &wanted, &e);
    if (!g) {
        require(e.kind == ERR_FAILED && strncmp(e.text, "input: ", 7) == 0, "an error does not name the file");
        require(!strchr(e.text, '\n'), "an error has two lines");
        require(wanted == 0 || (wanted > available && wanted <= file_bytes), "wants bytes that cannot be had");
        return;
    }
    require(wanted == 0 && e.kind == ERR_NONE, "an error beside a result");
    seen += gguf_version(g);
    for (size_t i = 0; i < gguf_key_count(g); i++)
        touch_key(g, i);
    for (size_t i = 0; i < gguf_tensor_count(g); i++)
        touch_tensor(g, i, available, file_bytes);
    require(!gguf_has(g, "") && !gguf_find_tensor(g, ""), "a name that is empty was found");
    gguf_close(g);
}

/* More and more of it, never a byte that was not asked for: the verdict is that on the whole, and so is the list. */
static void read_in_pieces(const uint8_t *bytes, size_t length)
{
    err right = {0}, e = {0};
    gguf *whole = gguf_read(bytes, length, length, "input", NULL, &right), *g = NULL;
    size_t have = length < 8 ? length : 8;
    for (uint64_t wanted = 0; !g; err_clear(&e)) {
        uint8_t *piece = mem_alloc(have); /* a sanitizer sees a read past it */
        memcpy(piece, bytes, have);
        g = gguf_read(piece, have, length, "input", &wanted, &e);
        if (g)
            require(whole && gguf_tensor_count(g) == gguf_tensor_count(whole) &&
                        gguf_key_count(g) == gguf_key_count(whole),
                    "in pieces it is another file");
        gguf_close(g);
        free(piece);
        if (g || !wanted)
            break;
        require(wanted > have && wanted <= length, "wants bytes that cannot be had");
        have = (size_t)wanted;
    }
    require((g != NULL) == (whole != NULL), "another verdict in pieces");
    require(whole || strcmp(right.text, e.text) == 0, "another error in pieces");
    gguf_close(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    read_as(bytes, length, length);
    read_in_pieces(bytes, length);
    if (length >= 2)
        read_as(bytes, length, length + bytes[length - 1] * 256u + bytes[length - 2]);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
