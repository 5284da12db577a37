/* Tiny models with random weights, written as GGUF files on the spot, so that whole
 * models are tested where no model is at hand. */
#ifndef SOLO_TEST_TINY_MODEL_H
#define SOLO_TEST_TINY_MODEL_H

#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "graph/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tiny_model {
    const char *arch;
    uint32_t layers, embedding, ffn, heads, kv_heads, head_dim, vocab;
    tensor_type type; /* of the matrices */
    bool qkv_bias, qk_norm, post_norms, tied, ffn_bias;
    const char *one_more;     /* a vector of `embedding` numbers that the file also has, or NULL */
    const char *left_out;     /* a tensor that it has not */
    uint32_t rope_freqs;      /* divisors of so many angles; 0: none */
    float linear_rope_factor; /* 0: none */
    uint32_t context;         /* tokens it says it was made for; 0: 64 */
} tiny_model;

/* ---- the file's parts ------------------------------------------------------ */

enum { TINY_ALIGN = 32, GGUF_U32 = 4, GGUF_F32 = 6, GGUF_TEXT = 8 };

static void put_bytes(str *s, const void *data, size_t n)
{
    str_add_bytes(s, data, n);
}

static void put_u32(str *s, uint32_t v)
{
    put_bytes(s, &v, sizeof v);
}

static void put_u64(str *s, uint64_t v)
{
    put_bytes(s, &v, sizeof v);
}

static void put_text(str *s, const char *text)
{
    put_u64(s, strlen(text));
    put_bytes(s, text, strlen(text));
}

typedef struct tiny_file {
    str keys, tensors, data;
    uint64_t key_count, tensor_count;
    rng r;
} tiny_file;

static void key_u32(tiny_file *f, const char *arch, const char *name, uint32_t value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, name);
    put_text(&f->keys, key);
    put_u32(&f->keys, GGUF_U32);
    put_u32(&f->keys, value);
    f->key_count++;
}

static void key_f32(tiny_file *f, const char *arch, const char *name, float value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, name);
    put_text(&f->keys, key);
    put_u32(&f->keys, GGUF_F32);
    put_bytes(&f->keys, &value, sizeof value);
    f->key_count++;
}

/* Random weights around `middle`; rows of 1 make a vector. */
static void add_tensor(tiny_file *f, const char *name, tensor_type type, uint32_t rows, uint32_t columns, float middle,
                       float spread)
{
    uint64_t count = (uint64_t)rows * columns, bytes = type_bytes(type, count);
    float *values = mem_alloc(count * sizeof *values);
    char *block = mem_alloc(bytes);
    for (uint64_t i = 0; i < count; i++)
        values[i] = middle + spread * (float)(rng_unit(&f->r) * 2 - 1);
    type_from_f32(type, values, block, count);
    put_text(&f->tensors, name);
    put_u32(&f->tensors, rows == 1 ? 1 : 2);
    put_u64(&f->tensors, columns);
    if (rows > 1)
        put_u64(&f->tensors, rows);
    put_u32(&f->tensors, type);
    put_u64(&f->tensors, f->data.length);
    put_bytes(&f->data, block, bytes);
    while (f->data.length % TINY_ALIGN)
        put_bytes(&f->data, "", 1);
    f->tensor_count++;
    free(values);
    free(block);
}

static void add_layer(tiny_file *f, const tiny_model *m, uint32_t layer)
{
    uint32_t q = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim;
    struct {
        const char *part;
        uint32_t rows, columns;
        bool here, is_norm;
    } parts[] = {{"attn_norm.weight", 1, m->embedding, true, true},
                 {"attn_q.weight", q, m->embedding, true, false},
                 {"attn_k.weight", kv, m->embedding, true, false},
                 {"attn_v.weight", kv, m->embedding, true, false},
                 {"attn_q.bias", 1, q, m->qkv_bias, false},
                 {"attn_k.bias", 1, kv, m->qkv_bias, false},
                 {"attn_v.bias", 1, kv, m->qkv_bias, false},
                 {"attn_q_norm.weight", 1, m->head_dim, m->qk_norm, true},
                 {"attn_k_norm.weight", 1, m->head_dim, m->qk_norm, true},
                 {"attn_output.weight", m->embedding, q, true, false},
                 {"post_attention_norm.weight", 1, m->embedding, m->post_norms, true},
                 {"ffn_norm.weight", 1, m->embedding, true, true},
                 {"ffn_gate.weight", m->ffn, m->embedding, true, false},
                 {"ffn_up.weight", m->ffn, m->embedding, true, false},
                 {"ffn_down.weight", m->embedding, m->ffn, true, false},
                 {"ffn_gate.bias", 1, m->ffn, m->ffn_bias, false},
                 {"ffn_up.bias", 1, m->ffn, m->ffn_bias, false},
                 {"ffn_down.bias", 1, m->embedding, m->ffn_bias, false},
                 {"post_ffw_norm.weight", 1, m->embedding, m->post_norms, true}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%u.%s", layer, parts[i].part);
        bool vector = parts[i].rows == 1;
        if (parts[i].here && !(m->left_out && strcmp(m->left_out, name) == 0))
            add_tensor(f, name, vector ? TYPE_F32 : m->type, parts[i].rows, parts[i].columns, parts[i].is_norm ? 1 : 0,
                       0.25f);
    }
}

static void add_keys(tiny_file *f, const tiny_model *m)
{
    put_text(&f->keys, "general.architecture");
    put_u32(&f->keys, GGUF_TEXT);
    put_text(&f->keys, m->arch);
    f->key_count++;
    key_u32(f, m->arch, "block_count", m->layers);
    key_u32(f, m->arch, "context_length", m->context ? m->context : 64);
    key_u32(f, m->arch, "embedding_length", m->embedding);
    key_u32(f, m->arch, "feed_forward_length", m->ffn);
    key_u32(f, m->arch, "attention.head_count", m->heads);
    key_u32(f, m->arch, "attention.head_count_kv", m->kv_heads);
    key_u32(f, m->arch, "attention.key_length", m->head_dim);
    key_u32(f, m->arch, "attention.value_length", m->head_dim);
    key_u32(f, m->arch, "rope.dimension_count", m->head_dim);
    key_f32(f, m->arch, "attention.layer_norm_rms_epsilon", 1e-5f);
    key_f32(f, m->arch, "rope.freq_base", 10000);
    if (m->linear_rope_factor > 0)
        key_f32(f, m->arch, "rope.scaling.factor", m->linear_rope_factor);
    if (m->post_norms) {
        key_u32(f, m->arch, "attention.sliding_window", 5);
        key_f32(f, m->arch, "attn_logit_softcapping", 50);
        key_f32(f, m->arch, "final_logit_softcapping", 30);
    }
}

static bool tiny_model_write(const tiny_model *m, uint64_t seed, const char *path, err *e)
{
    tiny_file f = {.r = rng_seed(seed)};
    add_keys(&f, m);
    add_tensor(&f, "token_embd.weight", m->type, m->vocab, m->embedding, 0, 0.25f);
    for (uint32_t layer = 0; layer < m->layers; layer++)
        add_layer(&f, m, layer);
    add_tensor(&f, "output_norm.weight", TYPE_F32, 1, m->embedding, 1, 0.25f);
    if (!m->tied)
        add_tensor(&f, "output.weight", m->type, m->vocab, m->embedding, 0, 0.25f);
    if (m->one_more)
        add_tensor(&f, m->one_more, TYPE_F32, 1, m->embedding, 0, 0.25f);
    if (m->rope_freqs)
        add_tensor(&f, "rope_freqs.weight", TYPE_F32, 1, m->rope_freqs, 2, 0.5f);
    str out = {0};
    put_bytes(&out, "GGUF", 4);
    put_u32(&out, 3);
    put_u64(&out, f.tensor_count);
    put_u64(&out, f.key_count);
    put_bytes(&out, f.keys.data, f.keys.length);
    put_bytes(&out, f.tensors.data, f.tensors.length);
    while (out.length % TINY_ALIGN)
        put_bytes(&out, "", 1);
    put_bytes(&out, f.data.data, f.data.length);
    bool ok = file_write(path, out.data, out.length, e);
    str_free(&out);
    str_free(&f.keys);
    str_free(&f.tensors);
    str_free(&f.data);
    return ok;
}

#endif
