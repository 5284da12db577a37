/* Tiny encoders with the embeddings that transformers makes of some texts (tools/fixtures_embedding.py). */
#ifndef SOLO_TEST_EMBEDDINGS_H
#define SOLO_TEST_EMBEDDINGS_H

#include "golden.h"

#define GOLDEN_EMBEDDINGS "tests/data/embeddings"
enum { TEXT_MAX_TOK = 64 };

typedef struct golden_text {
    uint32_t tokens[TEXT_MAX_TOK], count;
    json_t *embedding, *row; /* of the whole text; of its token 1 */
} golden_text;

static golden_text golden_text_at(json_t *golden, size_t i)
{
    json_t *text = json_array_get(json_object_get(golden, "texts"), i), *tokens = json_object_get(text, "tokens");
    golden_text t = {.count = (uint32_t)json_array_size(tokens),
                     .embedding = json_object_get(text, "embedding"),
                     .row = json_object_get(text, "row")};
    assert_in_range(t.count, 2, TEXT_MAX_TOK);
    for (uint32_t k = 0; k < t.count; k++)
        t.tokens[k] = number_at(tokens, k);
    return t;
}

/* The distance of two vectors, by the length of the right one. */
static void expect_vector(const char *what, json_t *right, const float *got, size_t width)
{
    double squares = 0, off = 0;
    assert_int_equal(json_array_size(right), width);
    for (size_t i = 0; i < width; i++) {
        double value = json_number_value(json_array_get(right, i));
        squares += value * value;
        off += (value - got[i]) * (value - got[i]);
    }
    if (!(sqrt(off) <= golden_tolerance * sqrt(squares)))
        fail_msg("%s: a vector is off by %g of its length", what, sqrt(off / squares));
}

#endif
