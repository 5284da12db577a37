/* Feeds JSON to the reader of a hub's list of files, and chooses among what it lets through. See fuzz_gguf.c for how to run
 * it. The input is the list and, behind a zero byte, the index of a folder's shards, which may be missing. */
#define FUZZ_NAME      "hub"
#define FUZZ_MUTATIONS 20000
#include "fuzz/require.h"
#include "hub/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_listing(const hub_listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const hub_file *f = &l->files[i];
        require(hub_path_is_safe(f->path), "a path leads out of the folder");
        require(strlen(f->digest) == checksum_digits(f->kind), "a file has no checksum");
        require(hub_listing_find(l, f->path) == f, "a file is listed but not found");
    }
}

static void check_model(const hub_listing *l, const hub_model *m)
{
    uint64_t bytes = 0;
    require(m->count > 0, "a model without a file");
    for (size_t i = 0; i < m->count; i++) {
        require(m->files[i] >= l->files && m->files[i] < l->files + l->count, "a file of another list");
        bytes += m->files[i]->bytes;
    }
    require(bytes == m->bytes, "a model's size is wrong");
}

static void choose_each(const hub_listing *l, const char *index, size_t length)
{
    hub_models models = hub_models_of(l);
    for (size_t i = 0; i < models.count; i++)
        check_model(l, &models.items[i]);
    static const char *const names[] = {NULL, "Q4_K_M", "safetensors", "a.gguf", "m-00001-of-00002.gguf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        err e = {0};
        hub_model *m = hub_choose(&models, names[i], &e);
        require((m != NULL) == (e.kind == ERR_NONE), "an error beside a result, or neither");
        if (!m)
            require_line(&e);
        else if (m->needs_shards && !hub_model_add_shards(m, l, index, length, &e))
            require_line(&e);
        if (m)
            check_model(l, m);
    }
    hub_models_free(&models);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *text = (const char *)bytes;
    size_t list = strnlen(text, length), index = list < length ? list + 1 : length;
    err e = {0};
    hub_listing l = {0};
    bool ok = hub_listing_add_json(&l, text, list, &e) && hub_listing_sort(&l, &e);
    require(ok == (e.kind == ERR_NONE), "an error beside a result, or neither");
    if (ok) {
        check_listing(&l);
        choose_each(&l, text + index, length - index);
    } else
        require_line(&e);
    hub_listing_free(&l);
    return 0;
}

#ifdef FUZZ_MAIN
static const char *const words[] = {
    "0",
    "-1",
    "9223372036854775807",
    "18446744073709551616",
    "1e300",
    "null",
    "true",
    "\"\"",
    "\"file\"",
    "\"directory\"",
    "\"a\"",
    "\"../a\"",
    "\"/a\"",
    "\"a/../b\"",
    "\"a\\u001b\"",
    "\"\\u0000\"",
    "\"\\u0085\"",
    "\"m-00001-of-00002.gguf\"",
    "\"m-00002-of-00002.gguf\"",
    "\"m-00001-of-99999.gguf\"",
    "\"config.json\"",
    "\"model.safetensors\"",
    "\"model.safetensors.index.json\"",
    "\"a.gguf\"",
    "\"-00001-of-00001.gguf\"",
    "[]",
    "{}",
};
#include "fuzz/mutate_json.h"

#include "fuzz/fuzz_main.h"
#endif
