/* What the tests of configurations share: comparing one, and a small config.json. */
#ifndef SOLO_TEST_CONFIG_CHECKS_H
#define SOLO_TEST_CONFIG_CHECKS_H

#include "base/str.h"
#include "model/config_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline bool near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(b);
}

static inline void assert_sizes(const model_config *c, uint32_t layers, uint32_t embedding, uint32_t ffn,
                                uint32_t heads, uint32_t kv_heads, uint32_t head_dim, uint32_t vocab, uint32_t context)
{
    assert_int_equal(c->layer_count, layers);
    assert_int_equal(c->embedding_dim, embedding);
    assert_int_equal(c->ffn_dim, ffn);
    assert_int_equal(c->head_count, heads);
    assert_int_equal(c->kv_head_count, kv_heads);
    assert_int_equal(c->head_dim, head_dim);
    assert_int_equal(c->vocab_tok, vocab);
    assert_int_equal(c->context_tok, context);
}

static inline uint32_t windowed_layers(const model_config *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < CONFIG_MAX_LAYERS; i++)
        n += c->is_windowed[i];
    return n;
}

/* A small model of this type, with `more` keys. */
static inline char *small_json(const char *type, const char *more)
{
    str s = {0};
    str_addf(&s,
             "{\"model_type\":\"%s\",\"vocab_size\":100,\"hidden_size\":64,\"intermediate_size\":96,"
             "\"num_hidden_layers\":4,\"num_attention_heads\":4%s%s}",
             type, *more ? "," : "", more);
    return s.data;
}

static inline model_config parse(const char *json)
{
    model_config c;
    err e = {0};
    if (!config_from_hf(json, strlen(json), "config.json", &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static inline model_config parse_small(const char *type, const char *more)
{
    char *text = small_json(type, more);
    model_config c = parse(text);
    free(text);
    return c;
}

#endif
