/* Tiny models saved by transformers, with its logits at positions of a prompt and the
 * greedy tokens after it (golden.json; tools/fixtures.py says what is in it). */
#ifndef SOLO_TEST_GOLDEN_H
#define SOLO_TEST_GOLDEN_H

#include "base/file.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Folders of models with a golden.json: our own, which are always here (tools/fixtures.py
 * makes them), and others, which need not be. */
static const char OUR_MODELS[] = "tests/data/models", OTHER_MODELS[] = "../shared/models/hf";
#define GOLDEN_FAMILIES "tests/data/families" /* our own, too */
#define GOLDEN_EXPERTS  "tests/data/experts"  /* likewise, as GGUF files */

enum { GOLDEN_MODELS_MAX = 64, GOLDEN_PATH_BYTES = 320 };

typedef struct golden_list {
    char path[GOLDEN_MODELS_MAX][GOLDEN_PATH_BYTES];
    size_t count;
} golden_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Those that are in `root`, by name; skips the test if there are none and none need be. */
static const golden_list *golden_models(const char *root)
{
    static golden_list list;
    list.count = 0;
    DIR *folder = opendir(root);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char golden[GOLDEN_PATH_BYTES + 16], *path = list.path[list.count];
        snprintf(path, GOLDEN_PATH_BYTES, "%s/%s", root, entry->d_name);
        snprintf(golden, sizeof golden, "%s/golden.json", path);
        if (file_exists(golden))
            assert_true(++list.count < GOLDEN_MODELS_MAX);
    }
    if (folder)
        closedir(folder);
    if (list.count == 0 && root == OTHER_MODELS)
        skip();
    if (list.count == 0)
        fail_msg("no models in %s (tests run in the root of the repository)", root);
    qsort(list.path, list.count, sizeof *list.path, by_name);
    return &list;
}

/* The model itself: the folder, or a GGUF file in it. */
static const char *golden_model(const char *folder)
{
    static char path[GOLDEN_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/model.gguf", folder);
    return file_exists(path) ? path : folder;
}

static json_t *golden_of(const char *folder)
{
    char path[GOLDEN_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/golden.json", folder);
    json_t *golden = json_load_file(path, 0, NULL);
    if (!golden)
        fail_msg("%s is not JSON", path);
    return golden;
}

static uint32_t number_at(json_t *list, size_t i)
{
    return (uint32_t)json_integer_value(json_array_get(list, i));
}

/* The right logits at a position; NULL where the file has none. */
static json_t *golden_logits(json_t *golden, uint32_t position)
{
    json_t *logits = json_object_get(golden, "logits"), *positions = json_object_get(golden, "positions");
    if (!positions)
        return json_array_get(logits, position);
    for (size_t i = 0; i < json_array_size(positions); i++)
        if (number_at(positions, i) == position)
            return json_array_get(logits, i);
    return NULL;
}

/* How far off logits may be, of how far those of a position spread. */
static double golden_tolerance = 1e-4;

static void expect_logits(const char *model, uint32_t position, json_t *right, const float *got)
{
    double low = INFINITY, high = -INFINITY, worst = 0;
    for (size_t i = 0; i < json_array_size(right); i++) {
        double value = json_number_value(json_array_get(right, i));
        low = fmin(low, value);
        high = fmax(high, value);
        worst = isfinite(got[i]) ? fmax(worst, fabs(value - got[i])) : INFINITY;
    }
    if (right && !(worst <= golden_tolerance * (high - low)))
        fail_msg("%s, position %u: logits off by %g where they spread over %g", model, position, worst, high - low);
}

/* A way of running a model: made for so many rows, given tokens and the position
 * of the first, answering with logits (rows, vocab). */
typedef struct golden_runner {
    void *(*open)(const char *folder, uint32_t rows);
    const float *(*run)(void *session, const uint32_t *tokens, uint32_t position);
    void (*close)(void *session, uint32_t runs);
} golden_runner;

enum { GOLDEN_CONTEXT = 64 };

static inline void golden_prompt_at_once(const golden_runner *way, const char *folder)
{
    json_t *golden = golden_of(folder), *prompt = json_object_get(golden, "prompt");
    size_t vocab = json_array_size(golden_logits(golden, 0));
    uint32_t count = (uint32_t)json_array_size(prompt), tokens[GOLDEN_CONTEXT];
    assert_in_range(count, 1, GOLDEN_CONTEXT);
    assert_in_range(vocab, 1, 1 << 20);
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = number_at(prompt, i);
    void *session = way->open(golden_model(folder), count);
    const float *logits = way->run(session, tokens, 0);
    for (uint32_t i = 0; i < count; i++)
        expect_logits(folder, i, golden_logits(golden, i), logits + i * vocab);
    way->close(session, 1);
    json_decref(golden);
}

/* Token by token through the cache, then on by itself. A token may differ where the
 * best two are closer than rounding. */
static inline void golden_one_by_one(const golden_runner *way, const char *folder)
{
    json_t *golden = golden_of(folder), *prompt = json_object_get(golden, "prompt");
    json_t *greedy = json_object_get(golden, "greedy"), *margin = json_object_get(golden, "greedy_margin");
    size_t vocab = json_array_size(golden_logits(golden, 0));
    void *session = way->open(golden_model(folder), 1);
    uint32_t position = 0;
    const float *logits = NULL;
    for (; position < json_array_size(prompt); position++) {
        uint32_t token = number_at(prompt, position);
        logits = way->run(session, &token, position);
        expect_logits(folder, position, golden_logits(golden, position), logits);
    }
    for (size_t i = 0; i < json_array_size(greedy) && position < GOLDEN_CONTEXT; i++) {
        uint32_t best = 0, wanted = number_at(greedy, i);
        for (uint32_t t = 1; t < vocab; t++)
            best = logits[t] > logits[best] ? t : best;
        if (best != wanted && json_number_value(json_array_get(margin, i)) > 1e-3)
            fail_msg("%s: greedy token %zu is %u instead of %u", folder, i, best, wanted);
        logits = way->run(session, &wanted, position++);
    }
    way->close(session, position);
    json_decref(golden);
}

/* One of the two, for every model of a folder. */
static inline void golden_each(const golden_runner *way, const char *root,
                               void (*check)(const golden_runner *way, const char *folder))
{
    const golden_list *models = golden_models(root);
    for (size_t i = 0; i < models->count; i++)
        check(way, models->path[i]);
}

#endif
