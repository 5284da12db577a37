/* No tensor of a file is left out without a word: a decoder uses it, it is known not to matter, or it is an error. */
#include "graph/cpu.h"
#include "model/decoder.h"
#include "temporary.h"
#include "tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { VOCAB = 40, EMBEDDING = 32 };

static const tiny_model PLAIN = {"llama", 3, EMBEDDING, 48, 2, 1, 16, VOCAB, TYPE_F32, .tied = false};

/* The model's decoder, or NULL with its error. */
static graph *decoder_of(const tiny_model *tiny, model **m, err *e)
{
    char path[TEMPORARY_BYTES];
    close(temporary_file(path, "unused"));
    assert_true(tiny_model_write(tiny, 5, path, e));
    *m = model_open(path, e);
    unlink(path);
    return *m ? decoder_graph(*m, &(decoder_options){.rows = 1, .context_tok = 8}, e) : NULL;
}

static void assert_error(const tiny_model *tiny, const char *part)
{
    err e = {0};
    model *m;
    graph *g = decoder_of(tiny, &m, &e);
    if (g || !strstr(e.text, part))
        fail_msg("'%s' instead of '%s'", e.text, part);
    model_close(m);
}

/* The logits after two tokens. */
static void run(const tiny_model *tiny, float logits[VOCAB])
{
    err e = {0};
    model *m;
    graph *g = decoder_of(tiny, &m, &e);
    cpu_run *r = g ? cpu_run_new(g, decoder_find_weight, &(decoder_weights){.m = m, .context_tok = 8}, &e) : NULL;
    if (!r)
        fail_msg("%s", e.text);
    for (uint32_t position = 0; position < 2; position++) {
        cpu_words(r, "tokens")[0] = 7 + position;
        cpu_words(r, "position")[0] = position;
        assert_true(cpu_run_once(r, &e));
    }
    memcpy(logits, cpu_floats(r, "logits"), VOCAB * sizeof *logits);
    cpu_run_free(r);
    graph_free(g);
    model_close(m);
}

static float difference(const float *a, const float *b)
{
    float most = 0;
    for (int i = 0; i < VOCAB; i++)
        most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

static void what_is_unknown_is_an_error(void **unused)
{
    (void)unused;
    static const char *const names[] = {"blk.1.attn_q.bias", "blk.2.attn_output.bias", "blk.1.ffn_down.bias",
                                        "output_norm.bias",  "blk.0.attn_sub_norm",    "blk.3.attn_norm.weight",
                                        "something"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tiny_model tiny = PLAIN;
        char part[96];
        tiny.one_more = names[i];
        snprintf(part, sizeof part, "tensor %s: a llama is not known to have it", names[i]);
        assert_error(&tiny, part);
    }
}

static void what_does_not_matter_is_none(void **unused)
{
    (void)unused;
    float plain[VOCAB], more[VOCAB];
    tiny_model tiny = PLAIN;
    run(&tiny, plain);
    tiny.one_more = "blk.1.attn_rot_embd.weight";
    run(&tiny, more);
    assert_memory_equal(plain, more, sizeof plain);
}

/* Biases in the first layer mean biases in all. */
static void biases_of_some_layers_are_an_error(void **unused)
{
    (void)unused;
    tiny_model tiny = PLAIN;
    tiny.qkv_bias = tiny.ffn_bias = true;
    float logits[VOCAB];
    run(&tiny, logits);
    tiny.left_out = "blk.2.attn_k.bias";
    assert_error(&tiny, "weight blk.2.attn_k.bias is missing");
    tiny.left_out = "blk.1.ffn_gate.bias";
    assert_error(&tiny, "weight blk.1.ffn_gate.bias is missing");
    tiny.left_out = "blk.0.attn_q.bias";
    assert_error(&tiny, "tensor blk.0.attn_k.bias: a llama is not known to have it");
}

static void feed_forward_biases_count(void **unused)
{
    (void)unused;
    float plain[VOCAB], biased[VOCAB];
    tiny_model tiny = PLAIN;
    run(&tiny, plain);
    tiny.ffn_bias = true;
    run(&tiny, biased);
    assert_true(difference(plain, biased) > 0.01f);
}

/* Divisors of each angle and a factor of all: both are in effect. */
static void factors_multiply_divisors(void **unused)
{
    (void)unused;
    tiny_model tiny = PLAIN;
    tiny.rope_freqs = 8;
    err e = {0};
    model *m, *scaled;
    graph *g = decoder_of(&tiny, &m, &e);
    tiny.linear_rope_factor = 4;
    graph *h = decoder_of(&tiny, &scaled, &e);
    if (!g || !h)
        fail_msg("%s", e.text);
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < 8; i++) {
            float divisor = model_get_config(m)->rope_divisors[which][i];
            assert_true(divisor > 1.4f && divisor < 2.6f);
            assert_true(model_get_config(scaled)->rope_divisors[which][i] == 4 * divisor);
        }
    graph_free(g);
    graph_free(h);
    model_close(m);
    model_close(scaled);
}

/* ---- a folder whose output may be its embedding --------------------------------- */

static void write_folder(const char *folder, float first_of_output)
{
    char path[TEMPORARY_FILE_BYTES];
    err e = {0};
    str header = {0}, file = {0};
    snprintf(path, sizeof path, "%s/config.json", folder);
    const char *config = "{\"model_type\":\"llama\",\"vocab_size\":2,\"hidden_size\":2,\"intermediate_size\":2,"
                         "\"num_hidden_layers\":1,\"num_attention_heads\":1,\"tie_word_embeddings\":true}";
    assert_true(file_write(path, config, strlen(config), &e));
    static const char *const names[] = {"model.embed_tokens.weight",
                                        "lm_head.weight",
                                        "model.layers.0.self_attn.q_proj.weight",
                                        "model.layers.0.self_attn.k_proj.weight",
                                        "model.layers.0.self_attn.v_proj.weight",
                                        "model.layers.0.self_attn.o_proj.weight",
                                        "model.layers.0.mlp.gate_proj.weight",
                                        "model.layers.0.mlp.up_proj.weight",
                                        "model.layers.0.mlp.down_proj.weight",
                                        "model.norm.weight",
                                        "model.layers.0.input_layernorm.weight",
                                        "model.layers.0.post_attention_layernorm.weight"};
    size_t at = 0;
    float data[64] = {0};
    for (int i = 0; i < 12; i++) {
        size_t count = i < 9 ? 4 : 2;
        str_addf(&header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s2],\"data_offsets\":[%zu,%zu]}", i ? "," : "{",
                 names[i], i < 9 ? "2," : "", at * 4, (at + count) * 4);
        at += count;
    }
    str_addf(&header, "}");
    data[4] = first_of_output;
    put_u64(&file, header.length);
    put_bytes(&file, header.data, header.length);
    put_bytes(&file, data, at * 4);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_true(file_write(path, file.data, file.length, &e));
    str_free(&header);
    str_free(&file);
}

static void a_tied_output_is_the_embedding(void **unused)
{
    (void)unused;
    char folder[TEMPORARY_BYTES], path[TEMPORARY_FILE_BYTES];
    assert_true(temporary_folder(folder, "tied"));
    for (int differs = 0; differs < 2; differs++) {
        err e = {0};
        write_folder(folder, (float)differs);
        model *m = model_open(folder, &e);
        graph *g = m ? decoder_graph(m, &(decoder_options){.rows = 1, .context_tok = 8}, &e) : NULL;
        if (differs)
            assert_non_null(strstr(e.text, "tensor lm_head.weight differs from the embedding"));
        else if (!g)
            fail_msg("%s", e.text);
        graph_free(g);
        model_close(m);
    }
    static const char *const files[] = {"config.json", "model.safetensors"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unknown_is_an_error),        cmocka_unit_test(what_does_not_matter_is_none),
        cmocka_unit_test(biases_of_some_layers_are_an_error), cmocka_unit_test(feed_forward_biases_count),
        cmocka_unit_test(factors_multiply_divisors),          cmocka_unit_test(a_tied_output_is_the_embedding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
