/* Tiny models saved by transformers with their logits at every position of a prompt
 * and the greedy tokens after it: ../shared/models/hf, where it is there. */
#ifndef SOLO_TEST_GOLDEN_H
#define SOLO_TEST_GOLDEN_H

#include "base/file.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const ARCHITECTURES[] = {"llama", "mistral", "qwen2", "phi3", "gemma", "gemma2"};
enum { ARCHITECTURE_COUNT = sizeof ARCHITECTURES / sizeof *ARCHITECTURES };

static json_t *golden_or_skip(const char *arch, char folder[128])
{
    char path[160];
    snprintf(folder, 128, "../shared/models/hf/%s", arch);
    snprintf(path, sizeof path, "%s/golden.json", folder);
    if (!file_exists(path))
        skip();
    json_t *golden = json_load_file(path, 0, NULL);
    assert_non_null(golden);
    return golden;
}

static uint32_t number_at(json_t *list, size_t i)
{
    return (uint32_t)json_integer_value(json_array_get(list, i));
}

/* Within two thousandths of how far the logits of a position spread. */
static void expect_logits(const char *arch, size_t position, json_t *right, const float *got)
{
    size_t n = json_array_size(right);
    double low = INFINITY, high = -INFINITY, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double value = json_number_value(json_array_get(right, i));
        low = fmin(low, value);
        high = fmax(high, value);
        worst = fmax(worst, fabs(value - got[i]));
    }
    if (!(worst <= 2e-3 * (high - low)))
        fail_msg("%s, position %zu: logits off by %g where they spread over %g", arch, position, worst, high - low);
}

/* A way of running a model: made for so many rows, given tokens and the position
 * of the first, answering with logits (rows, vocab). */
typedef struct golden_runner {
    void *(*open)(const char *folder, uint32_t rows);
    const float *(*run)(void *session, const uint32_t *tokens, uint32_t position);
    void (*close)(void *session, uint32_t runs);
} golden_runner;

enum { GOLDEN_CONTEXT = 64 };

static void golden_prompt_at_once(const golden_runner *way, const char *arch)
{
    char folder[128];
    json_t *golden = golden_or_skip(arch, folder), *prompt = json_object_get(golden, "prompt");
    json_t *right = json_object_get(golden, "logits");
    uint32_t count = (uint32_t)json_array_size(prompt), tokens[GOLDEN_CONTEXT];
    for (uint32_t i = 0; i < count; i++)
        tokens[i] = number_at(prompt, i);
    void *session = way->open(folder, count);
    const float *logits = way->run(session, tokens, 0);
    for (uint32_t i = 0; i < count; i++) {
        expect_logits(arch, i, json_array_get(right, i), logits);
        logits += json_array_size(json_array_get(right, i));
    }
    way->close(session, 1);
    json_decref(golden);
}

/* Token by token through the cache, then on by itself. A token may differ where the
 * best two are closer than rounding. */
static void golden_one_by_one(const golden_runner *way, const char *arch)
{
    char folder[128];
    json_t *golden = golden_or_skip(arch, folder), *prompt = json_object_get(golden, "prompt");
    json_t *right = json_object_get(golden, "logits"), *greedy = json_object_get(golden, "greedy");
    json_t *margin = json_object_get(golden, "greedy_margin");
    size_t vocab = json_array_size(json_array_get(right, 0));
    void *session = way->open(folder, 1);
    uint32_t position = 0;
    const float *logits = NULL;
    for (; position < json_array_size(prompt); position++) {
        uint32_t token = number_at(prompt, position);
        logits = way->run(session, &token, position);
        expect_logits(arch, position, json_array_get(right, position), logits);
    }
    for (size_t i = 0; i < json_array_size(greedy) && position < GOLDEN_CONTEXT; i++) {
        uint32_t best = 0, wanted = number_at(greedy, i);
        for (uint32_t t = 1; t < vocab; t++)
            best = logits[t] > logits[best] ? t : best;
        if (best != wanted && json_number_value(json_array_get(margin, i)) > 1e-3)
            fail_msg("%s: greedy token %zu is %u instead of %u", arch, i, best, wanted);
        logits = way->run(session, &wanted, position++);
    }
    way->close(session, position);
    json_decref(golden);
}

#endif
