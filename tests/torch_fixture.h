/* What the tests of PyTorch's programs share: tests/data/torch, which tools/torch_fixtures.py writes. */
#ifndef SOLO_TEST_TORCH_FIXTURE_H
#define SOLO_TEST_TORCH_FIXTURE_H

#include "base/str.h"
#include "model/pt2.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TORCH_FIXTURES[] = {"convnet", "encoder",   "cache",  "decoder", "window", "unusual",
                                             "norms",   "operators", "places", "windows", "joined"};
enum { TORCH_FIXTURE_COUNT = sizeof TORCH_FIXTURES / sizeof *TORCH_FIXTURES };

static inline pt2 *torch_open(const char *name)
{
    char path[100];
    err e = {0};
    snprintf(path, sizeof path, "tests/data/torch/%s.pt2", name);
    pt2 *p = pt2_open(path, &e);
    if (!p)
        fail_msg("%s", e.text);
    return p;
}

/* The runs of NAME.json; to be freed by json_decref. */
static inline json_t *torch_runs(const char *name)
{
    char path[100];
    json_error_t why;
    snprintf(path, sizeof path, "tests/data/torch/%s.json", name);
    json_t *json = json_load_file(path, 0, &why);
    if (!json)
        fail_msg("%s: %s", path, why.text);
    return json;
}

/* The numbers of an input as words; to be freed. */
static inline uint32_t *torch_words(const json_t *run, const aten_port *port)
{
    const json_t *list = json_object_get(json_object_get(run, "inputs"), port->name);
    uint32_t *words = mem_alloc(port->count * sizeof *words);
    assert_int_equal(json_array_size(list), port->count);
    for (uint64_t i = 0; i < port->count; i++) {
        double number = json_number_value(json_array_get(list, i));
        float f = (float)number;
        if (port->type == ATEN_F32)
            memcpy(&words[i], &f, sizeof f);
        else
            words[i] = (uint32_t)(int32_t)number;
    }
    return words;
}

/* Within 1e-4 of what torch computed, relative to the spread of the output. */
static inline void torch_compare(const json_t *run, const aten_port *port, const uint32_t *words, const char *what)
{
    const json_t *list = json_object_get(json_object_get(run, "outputs"), port->name);
    double sum = 0, squares = 0;
    assert_int_equal(json_array_size(list), port->count);
    for (uint64_t i = 0; i < port->count; i++) {
        double right = json_number_value(json_array_get(list, i));
        sum += right;
        squares += right * right;
    }
    double mean = sum / (double)port->count, spread = sqrt(fabs(squares / (double)port->count - mean * mean)) + 1e-2;
    for (uint64_t i = 0; i < port->count; i++) {
        double right = json_number_value(json_array_get(list, i));
        float f;
        memcpy(&f, &words[i], sizeof f);
        double got = port->type == ATEN_F32 ? (double)f : (double)(int32_t)words[i];
        if (!(fabs(got - right) <= (port->type == ATEN_F32 ? 1e-4 * spread : 0)))
            fail_msg("%s: %s[%u] is %.9g instead of %.9g", what, port->name, (unsigned)i, got, right);
    }
}

#endif
