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

#endif
