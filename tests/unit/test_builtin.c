/* The built-in model: it is whole, its tokenizer is the one it was trained with,
 * and it knows how a tale goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/cpu.h"
#include "model/builtin_test.h"
#include "model/decoder.h"
#include "model/tokenizer.h"

#include <math.h>
#include <string.h>

static void the_file_is_aligned_and_complete(void **state)
{
    (void)state;
    err e = {0};
    size_t bytes = 0;
    const void *data = builtin_bytes(&bytes);
    assert_int_equal((uintptr_t)data % 64, 0);
    assert_true(bytes > 1 << 20 && bytes < 4 << 20);
    gguf *g = builtin_open(&e);
    assert_non_null(g);
    for (size_t i = 0; i < gguf_tensor_count(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        assert_ptr_equal(t->data, (const char *)data + t->offset);
        assert_true(t->offset + t->bytes <= bytes);
    }
    gguf_close(g);
}

static void no_path_is_the_built_in_model(void **state)
{
    (void)state;
    err e = {0};
    model *m = model_open(NULL, &e);
    assert_non_null(m);
    const model_config *c = model_get_config(m);
    assert_int_equal(c->arch, ARCH_LLAMA);
    assert_true(c->context_tok >= 1024); /* the default benchmark takes 512 tokens and 128 more */
    model_weight w;
    assert_false(model_find_weight(m, "blk.99.attn_q.weight", &w, &e));
    assert_non_null(strstr(e.text, BUILTIN_NAME));
    model_close(m);
}

static void check_ids(const tokenizer *t, const char *text, const int32_t *right, size_t count)
{
    err e = {0};
    token_list list = {0};
    str back = {0};
    assert_true(tokenizer_encode(t, text, strlen(text), false, false, &list, &e));
    assert_int_equal(list.count, count);
    assert_memory_equal(list.ids, right, count * sizeof *right);
    for (size_t i = 0; i < list.count; i++)
        tokenizer_piece(t, list.ids[i], false, &back);
    assert_string_equal(back.data, text);
    str_free(&back);
    token_list_free(&list);
}

/* Ids by Hugging Face's tokenizers, from the tokenizer.json that the model was trained with. */
static void tokens_are_those_it_was_trained_with(void **state)
{
    (void)state;
    err e = {0};
    gguf *g = builtin_open(&e);
    tokenizer *t = tokenizer_from_gguf(g, &e);
    assert_non_null(t);
    const int32_t king[] = {2599, 660, 260, 515, 446, 309, 260, 622, 15};
    const int32_t queen[] = {3,   2080, 487, 310, 432, 594, 261, 1035, 13,  271, 344, 931,
                             414, 1441, 15,  200, 3,   42,  936, 2800, 354, 358, 276, 15};
    const int32_t odd[] = {79, 66, 129, 109, 318, 222, 18, 25, 18, 19, 222, 222, 89};
    check_ids(t, "Once upon a time there was a king.", king, sizeof king / sizeof *king);
    check_ids(t, "\"Who are you?\" asked the Queen, and she didn't laugh.\n\"I'm nobody,\" said he.", queen,
              sizeof queen / sizeof *queen);
    check_ids(t, "na\xC3\xAFve 1812  x", odd, sizeof odd / sizeof *odd);
    assert_true(tokenizer_adds_bos(t));
    assert_true(tokenizer_ends(t, tokenizer_eos(t)));
    tokenizer_free(t);
    gguf_close(g);
}

/* Of the held-out tales: it has not seen this one. */
static const char TALE[] =
    "Once on a time there was a rich merchant, who had an only son called Bobino. Now, as the boy was clever, and had "
    "a great desire for knowledge, his father sent him to be under a master";

/* This one costs 2.60, all that were held out 3.23; guessing among 4,096 tokens would cost 8.3. */
static const double MOST_NATS_PER_TOKEN = 2.65;

static double surprise(const float *logits, uint32_t vocab, int32_t next)
{
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < vocab; i++)
        largest = fmax(largest, (double)logits[i]);
    for (uint32_t i = 0; i < vocab; i++)
        sum += exp((double)logits[i] - largest);
    return largest + log(sum) - (double)logits[next];
}

static void it_expects_what_tales_say(void **state)
{
    (void)state;
    err e = {0};
    model *m = model_open(NULL, &e);
    assert_non_null(m);
    tokenizer *t = tokenizer_from_gguf(model_get_gguf(m), &e);
    token_list list = {0};
    assert_true(tokenizer_encode(t, TALE, sizeof TALE - 1, false, true, &list, &e));
    uint32_t rows = (uint32_t)list.count, vocab = model_get_config(m)->vocab_tok;
    graph *g = decoder_graph(m, &(decoder_options){.rows = rows, .context_tok = rows, .cache = DTYPE_F32}, &e);
    cpu_run *r = g ? cpu_run_new(g, decoder_find_weight, &(decoder_weights){.m = m, .context_tok = rows}, &e) : NULL;
    if (!r)
        fail_msg("%s", e.text);
    memcpy(cpu_words(r, "tokens"), list.ids, rows * sizeof *list.ids);
    cpu_words(r, "position")[0] = 0;
    assert_true(cpu_run_once(r, &e));
    const float *logits = cpu_floats(r, "logits");
    double nats = 0;
    for (uint32_t i = 0; i + 1 < rows; i++)
        nats += surprise(logits + (size_t)i * vocab, vocab, list.ids[i + 1]) / (rows - 1);
    print_message("# %.3f nats per token\n", nats);
    assert_true(nats > 0.5 && nats < MOST_NATS_PER_TOKEN);
    cpu_run_free(r);
    graph_free(g);
    token_list_free(&list);
    tokenizer_free(t);
    model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_aligned_and_complete),
        cmocka_unit_test(no_path_is_the_built_in_model),
        cmocka_unit_test(tokens_are_those_it_was_trained_with),
        cmocka_unit_test(it_expects_what_tales_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
