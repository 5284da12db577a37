/* synth: the shapes of known models, and random weights written block by block. */
#include "model/synth.h"
#include "base/progress.h"
#include "base/rng.h"
#include "model/config_internal.h"
#include "model/gguf_layout.h"
#include "model/synth_internal.h"
#include "model/synth_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the models ------------------------------------------------------------- */

typedef struct shape {
    const char *name;
    model_arch arch;
    uint32_t layers, embedding, ffn, heads, kv_heads, head_dim, vocab, context, window;
    float rope_base, norm_epsilon;
    bool tied, qkv_bias;
    const char *pre; /* GGUF's name of how it cuts text into words */
    bool add_bos;
    float rope_factor; /* llama3's, gemma3's linear one, or gpt-oss's yarn; 0: angles are as they are */
    uint32_t experts, experts_used, expert_ffn;
} shape;

#define NO_EXPERTS 0, 0, 0

/* As their config.json files have it: Qwen2.5 (instruct), Meta-Llama-3-8B, Mistral-7B-v0.3,
 * Phi-3-mini-4k, gemma-2b, Llama-3.2, Qwen3, Qwen3-30B-A3B, gpt-oss-20b, gemma-3, SmolLM3-3B, gemma-4-E2B,
 * gemma-3n-E2B (its text). */
static const shape SHAPES[] = {
    {"qwen2.5-0.5b", ARCH_QWEN2, 24, 896, 4864, 14, 2, 64, 151936, 32768, 0, 1e6f, 1e-6f, true, true, "qwen2", false, 0,
     NO_EXPERTS},
    {"qwen2.5-1.5b", ARCH_QWEN2, 28, 1536, 8960, 12, 2, 128, 151936, 32768, 0, 1e6f, 1e-6f, true, true, "qwen2", false,
     0, NO_EXPERTS},
    {"llama-3-8b", ARCH_LLAMA, 32, 4096, 14336, 32, 8, 128, 128256, 8192, 0, 5e5f, 1e-5f, false, false, "llama-bpe",
     true, 0, NO_EXPERTS},
    {"mistral-7b", ARCH_LLAMA, 32, 4096, 14336, 32, 8, 128, 32768, 32768, 0, 1e6f, 1e-5f, false, false, "gpt-2", true,
     0, NO_EXPERTS},
    {"phi-3-mini", ARCH_PHI3, 32, 3072, 8192, 32, 32, 96, 32064, 4096, 2047, 1e4f, 1e-5f, false, false, "gpt-2", true,
     0, NO_EXPERTS},
    {"gemma-2b", ARCH_GEMMA, 18, 2048, 16384, 8, 1, 256, 256000, 8192, 0, 1e4f, 1e-6f, true, false, "gpt-2", true, 0,
     NO_EXPERTS},
    {"llama-3.2-1b", ARCH_LLAMA, 16, 2048, 8192, 32, 8, 64, 128256, 131072, 0, 5e5f, 1e-5f, true, false, "llama-bpe",
     true, 32, NO_EXPERTS},
    {"llama-3.2-3b", ARCH_LLAMA, 28, 3072, 8192, 24, 8, 128, 128256, 131072, 0, 5e5f, 1e-5f, true, false, "llama-bpe",
     true, 32, NO_EXPERTS},
    {"qwen3-0.6b", ARCH_QWEN3, 28, 1024, 3072, 16, 8, 128, 151936, 40960, 0, 1e6f, 1e-6f, true, false, "qwen2", false,
     0, NO_EXPERTS},
    {"qwen3-4b", ARCH_QWEN3, 36, 2560, 9728, 32, 8, 128, 151936, 40960, 0, 1e6f, 1e-6f, true, false, "qwen2", false, 0,
     NO_EXPERTS},
    {"qwen3-30b-a3b", ARCH_QWEN3_MOE, 48,    2048,    6144,  32, 4,   128, 151936, 40960, 0, 1e6f,
     1e-6f,           false,          false, "qwen2", false, 0,  128, 8,   768},
    {"gpt-oss-20b", ARCH_GPT_OSS, 24,    2880, 2880,     64,    8,  64, 201088, 131072, 128,
     150000,        1e-5f,        false, true, "gpt-4o", false, 32, 32, 4,      2880},
    {"gemma-3-1b", ARCH_GEMMA3, 26, 1152, 6912, 4, 1, 256, 262144, 32768, 512, 1e6f, 1e-6f, true, false, "gpt-2", true,
     0, NO_EXPERTS},
    {"gemma-3-4b", ARCH_GEMMA3, 34, 2560, 10240, 8, 4, 256, 262208, 131072, 1024, 1e6f, 1e-6f, true, false, "gpt-2",
     true, 8, NO_EXPERTS},
    {"smollm3-3b", ARCH_SMOLLM3, 36, 2048, 11008, 16, 4, 128, 128256, 65536, 0, 5e6f, 1e-6f, true, false, "llama-bpe",
     false, 0, NO_EXPERTS},
    {"gemma-4-e2b", ARCH_GEMMA4, 35, 1536, 6144, 8, 1, 512, 262144, 131072, 512, 1e6f, 1e-6f, true, false, "gpt-2",
     true, 0, NO_EXPERTS},
    {"gemma-3n-e2b", ARCH_GEMMA3N, 30, 2048, 8192, 8, 2, 256, 262144, 32768, 512, 1e6f, 1e-6f, true, false, "gpt-2",
     true, 0, NO_EXPERTS},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

const char *synth_name(size_t i)
{
    return i < SHAPE_COUNT ? SHAPES[i].name : NULL;
}

/* What only this one has: each fifth layer sees all, and the last 20 of 35 have no keys and values of their own. */
static void set_gemma_4_e2b(model_config *c)
{
    config_set_windows(c, 0, 5);
    c->attention_scale = 1;
    c->local_head_dim = 256;
    c->rope_local_base = default_rope_base;
    config_turn_share(c, 0.25, 1);
    c->kv_shared_layers = 20;
    c->late_ffn_dim = 2 * c->ffn_dim;
    c->per_layer_dim = 256;
    c->per_layer_vocab_tok = c->vocab_tok;
    c->layer_scales = true;
    c->logit_cap = 30;
}

/* What only this one has: the last 10 of 30 layers have no keys and values of their own, the first 10 are sparse. */
static void set_gemma_3n_e2b(model_config *c)
{
    c->attention_scale = 1;
    c->rope_local_base = default_rope_base;
    c->kv_shared_layers = 10;
    c->per_layer_dim = 256;
    c->per_layer_vocab_tok = c->vocab_tok;
    c->streams = 4;
    c->scales_active = true;
    c->laurel_rank = 64;
    c->logit_cap = gemma3n_logit_cap;
    for (int i = 0; i < 10; i++) {
        c->is_sparse[i] = true;
        c->cutoff_deviations[i] = 1.6448536f; /* 95% */
    }
}

static model_config config_of(const shape *s)
{
    model_config c;
    config_set_defaults(&c, s->arch);
    c.layer_count = s->layers;
    c.vocab_tok = s->vocab;
    c.context_tok = s->context;
    c.embedding_dim = s->embedding;
    c.ffn_dim = s->ffn;
    c.head_count = s->heads;
    c.kv_head_count = s->kv_heads;
    c.head_dim = s->head_dim;
    c.attention_scale = (float)(1 / sqrt(s->head_dim));
    c.window_tok = s->window;
    c.qkv_bias = s->qkv_bias;
    c.rope_order = ROPE_ADJACENT; /* random rows need no reordering */
    c.rope_dims = s->head_dim;
    c.rope_base = s->rope_base;
    c.norm_epsilon = s->norm_epsilon;
    c.tied_embeddings = s->tied;
    config_set_windows(&c, 0, config_archs[s->arch].window_period);
    c.rope_local_base = s->arch == ARCH_GEMMA3 ? default_rope_base : 0;
    for (uint32_t i = smollm3_period - 1; s->arch == ARCH_SMOLLM3 && i < s->layers; i += smollm3_period)
        c.is_unrotated[i] = 1;
    c.expert_count = s->experts;
    c.expert_used = s->experts_used;
    c.expert_ffn_dim = s->expert_ffn;
    c.expert_weights_normed = true;
    if (s->arch == ARCH_GPT_OSS) {
        c.output_bias = c.attention_sinks = c.expert_bias = true;
        c.rope_order = ROPE_HALVES;
        c.rope_original_tok = 4096;
        c.rope_magnitude = (float)config_yarn_magnitude(s->rope_factor, 1);
        config_stretch_yarn(&c, s->rope_factor, 32, 1, false);
    } else if (s->rope_factor > 0 && s->arch == ARCH_GEMMA3) {
        config_divide_angles(&c, s->rope_factor);
    } else if (s->rope_factor > 0) {
        c.rope_original_tok = 8192;
        config_stretch_slow_angles(&c, s->rope_factor, 1, 4);
    }
    if (s->arch == ARCH_GEMMA3N)
        set_gemma_3n_e2b(&c);
    if (s->arch == ARCH_GEMMA4)
        set_gemma_4_e2b(&c);
    return c;
}

/* ---- random weights ------------------------------------------------------------ */

/* Twelve numbers of 16 bits added up, as near to normal as weights are, and the same on
 * every machine: nothing but whole numbers and one multiplication. */
static float normal(rng *r)
{
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t bits = rng_next(r);
        sum += (int64_t)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    }
    return (float)(sum - 6 * 0xffff) * 0x1p-16f;
}

enum { POOL_BLOCKS = 4096, POOL_BLOCK_WEIGHTS = 256 };

/* Blocks to pick from: of 32 weights, or 256 for the K types. */
typedef struct pool {
    uint8_t *bytes; /* (POOL_BLOCKS, block_bytes) */
    size_t block_bytes, block_weights;
} pool;

static bool is_k(tensor_type type)
{
    return type_find(type)->block_weights == POOL_BLOCK_WEIGHTS;
}

static void put_half(uint8_t *at, double value)
{
    uint16_t h = f32_to_f16((float)value);
    at[0] = (uint8_t)h;
    at[1] = (uint8_t)(h >> 8);
}

/* What minima are of scales, so that weights lie around zero. */
static double middle_of(tensor_type type)
{
    return type == TYPE_Q2_K ? 1.5 : type == TYPE_Q4_K ? 7.5 : 15.5;
}

/* Make every minimum equal to its scale, so that the weights lie around zero. */
static void level_minima(tensor_type type, uint8_t *block)
{
    if (type == TYPE_Q2_K)
        for (int i = 0; i < 16; i++)
            block[i] = (uint8_t)((block[i] & 15) * 0x11);
    for (int i = 0; type == TYPE_TQ2_0 && i < 64; i++) /* 2 bits for three values: the fourth becomes the middle one */
        block[i] &= (uint8_t) ~((block[i] >> 1 & block[i] & 0x55) << 1);
    if (type == TYPE_Q4_K || type == TYPE_Q5_K)
        for (int i = 4; i < 8; i++) {
            block[4 + i] = block[i];
            block[8 + i] = (uint8_t)((block[8 + i] & 15) * 0x11);
        }
}

/* Blocks of 256 are not quantised, which would take long: the bits are random, and the scales such that the deviation is
 * right, by what the blocks turn out to hold. */
static void fill_k(pool *p, tensor_type type, double deviation, rng *r)
{
    const int16_t *at = type_find(type)->scale_at; /* from 1 on */
    double middle = middle_of(type);
    float values[POOL_BLOCK_WEIGHTS];
    double squares = 0;
    for (size_t b = 0; b < POOL_BLOCKS; b++) {
        uint8_t *block = p->bytes + b * p->block_bytes;
        for (size_t i = 0; i < p->block_bytes; i++)
            block[i] = (uint8_t)(rng_next(r) >> 56);
        level_minima(type, block);
        put_half(block + at[0] - 1, 1);
        if (at[1])
            put_half(block + at[1] - 1, middle);
        type_to_f32(type, block, values, POOL_BLOCK_WEIGHTS);
        for (int i = 0; i < POOL_BLOCK_WEIGHTS; i++)
            squares += (double)values[i] * (double)values[i];
    }
    double scale = deviation / sqrt(squares / (POOL_BLOCKS * POOL_BLOCK_WEIGHTS));
    for (size_t b = 0; b < POOL_BLOCKS; b++) {
        put_half(p->bytes + b * p->block_bytes + at[0] - 1, scale);
        if (at[1])
            put_half(p->bytes + b * p->block_bytes + at[1] - 1, scale * middle);
    }
}

static void fill_plain(pool *p, tensor_type type, double deviation, rng *r)
{
    float values[POOL_BLOCK_WEIGHTS];
    for (size_t b = 0; b < POOL_BLOCKS; b++) {
        for (size_t i = 0; i < p->block_weights; i++)
            values[i] = (float)deviation * normal(r);
        type_from_f32(type, values, p->bytes + b * p->block_bytes, p->block_weights);
    }
}

static pool pool_new(void)
{
    return (pool){.bytes = mem_alloc((size_t)POOL_BLOCKS * POOL_BLOCK_WEIGHTS * sizeof(float))};
}

static void pool_fill(pool *p, tensor_type type, double deviation, rng *r)
{
    p->block_weights = is_k(type) ? POOL_BLOCK_WEIGHTS : 32;
    p->block_bytes = type_bytes(type, p->block_weights);
    if (is_k(type))
        fill_k(p, type, deviation, r);
    else
        fill_plain(p, type, deviation, r);
}

/* Rows of a plain type may end within a block: the last one is cut. A copy of a size
 * known beforehand is a few moves; one of any size is a call. */
#define PICK_BLOCKS(size) \
    case size: \
        for (; bytes >= (size); bytes -= (size), to += (size), bits = rng_next(r)) \
            memcpy(to, p->bytes + bits % POOL_BLOCKS * (size), size); \
        break;

static void pick(const pool *p, rng *r, uint8_t *to, size_t bytes)
{
    uint64_t bits = rng_next(r);
    switch (p->block_bytes) {
        PICK_BLOCKS(18) /* q4_0 */
        PICK_BLOCKS(20)
        PICK_BLOCKS(22)
        PICK_BLOCKS(24)
        PICK_BLOCKS(34) /* q8_0 */
        PICK_BLOCKS(64) /* f16, bf16 */
    default:
        for (; bytes >= p->block_bytes; bytes -= p->block_bytes, to += p->block_bytes, bits = rng_next(r))
            memcpy(to, p->bytes + bits % POOL_BLOCKS * p->block_bytes, p->block_bytes);
    }
    memcpy(to, p->bytes + bits % POOL_BLOCKS * p->block_bytes, bytes);
}

void synth_weights(tensor_type type, double deviation, uint64_t seed, void *to, size_t count)
{
    rng r = rng_seed(seed);
    pool p = pool_new();
    pool_fill(&p, type, deviation, &r);
    pick(&p, &r, to, type_bytes(type, count));
    free(p.bytes);
}

/* ---- the tensors ------------------------------------------------------------------ */

enum { CHUNK_BYTES = 1 << 20 };

/* Every tensor has random numbers of its own, from its name. */
static uint64_t seed_of(const char *name, uint64_t seed)
{
    rng r = rng_seed(seed);
    for (; *name; name++)
        r.state = rng_next(&r) ^ (uint8_t)*name;
    return rng_next(&r);
}

static bool is_vector(const layout_tensor *t)
{
    return t->role == ROLE_NORM || t->role == ROLE_BIAS || t->role == ROLE_DIVISORS;
}

static bool write_vector(gguf_writer *w, const layout_tensor *t, rng *r)
{
    float middle = t->role == ROLE_NORM ? 1 : 0;
    for (uint32_t i = 0; i < t->columns; i++) {
        float value = t->divisors ? t->divisors[i] : middle + 0.1f * normal(r);
        uint8_t bytes[4];
        type_from_f32(TYPE_F32, &value, bytes, 1);
        if (!gguf_write_data(w, bytes, sizeof bytes))
            return false;
    }
    return true;
}

static bool write_matrix(gguf_writer *w, const layout_tensor *t, pool *p, uint8_t *chunk, rng *r, progress *shown,
                         uint64_t *done)
{
    uint64_t left = type_bytes(t->type, (uint64_t)t->rows * t->columns);
    pool_fill(p, t->type, 1 / sqrt(t->columns), r);
    uint64_t at_once = CHUNK_BYTES / p->block_bytes * p->block_bytes;
    while (left) {
        size_t now = left < at_once ? (size_t)left : (size_t)at_once;
        pick(p, r, chunk, now);
        if (!gguf_write_data(w, chunk, now))
            return false;
        left -= now;
        progress_at(shown, *done += now);
    }
    return true;
}

static bool write_tensors(gguf_writer *w, const tensor_list *l, uint64_t seed)
{
    uint64_t total = 0, done = 0;
    for (size_t i = 0; i < l->count; i++)
        total += type_bytes(l->tensors[i].type, (uint64_t)l->tensors[i].rows * l->tensors[i].columns);
    pool p = pool_new();
    uint8_t *chunk = mem_alloc(CHUNK_BYTES);
    progress shown = progress_start("writing", total);
    bool ok = true;
    for (size_t i = 0; ok && i < l->count; i++) {
        const layout_tensor *t = &l->tensors[i];
        rng r = rng_seed(seed_of(t->name, seed));
        ok = is_vector(t) ? write_vector(w, t, &r) : write_matrix(w, t, &p, chunk, &r, &shown, &done);
    }
    progress_end(&shown);
    free(chunk);
    free(p.bytes);
    return ok;
}

/* ---- all of it ------------------------------------------------------------------------ */

static const shape *find_shape(const char *name, err *e)
{
    str known = {0};
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        if (strcmp(SHAPES[i].name, name) == 0) {
            str_free(&known);
            return &SHAPES[i];
        }
        str_addf(&known, "%s%s", i ? ", " : "", SHAPES[i].name);
    }
    err_set_kind(e, ERR_USAGE, "unknown model '%s' (known: %s)", name, known.data);
    str_free(&known);
    return NULL;
}

/* iq1_m has no half of its own to scale its blocks by. */
const char *synth_type(uint32_t i)
{
    for (uint32_t n = 0; n <= i; n++)
        i += type_name_at(n, false) && strcmp(type_name_at(n, false), "iq1_m") == 0;
    return type_name_at(i, false);
}

static bool find_type(const char *name, tensor_type *type, err *e)
{
    str known = {0};
    for (uint32_t i = 0; synth_type(i); i++) {
        for (uint32_t n = 0; strcmp(synth_type(i), name) == 0 && n < TYPE_NUMBERS; n++)
            if (type_find(n) == type_named(name)) {
                *type = (tensor_type)n;
                str_free(&known);
                return true;
            }
        str_addf(&known, "%s%s", i ? ", " : "", synth_type(i));
    }
    err_set_kind(e, ERR_USAGE, "unknown type '%s' (known: %s)", name, known.data);
    str_free(&known);
    return false;
}

static void tell(const tensor_list *l, tensor_type wanted, str *notes)
{
    for (size_t i = 0; i < l->count; i++) {
        const layout_tensor *t = &l->tensors[i];
        if (!layout_stays_f32(t->role) && t->type != wanted &&
            (t->role == ROLE_OUTPUT || strncmp(t->name, "blk.0.", 6) == 0))
            str_addf(notes, "%s is %s, not %s\n", t->name, type_find(t->type)->name, type_find(wanted)->name);
    }
}

static tensor_list list_tensors(const model_config *c, tensor_type type)
{
    tensor_list l = gguf_layout_of(c);
    /* as llama.cpp quantises: what makes the logits is finer */
    for (size_t i = 0; i < l.count; i++)
        l.tensors[i].type = layout_choose_type(l.tensors[i].role, l.tensors[i].columns,
                                               layout_wanted_type(&l.tensors[i], type), TYPE_Q6_K);
    return l;
}

bool synth_outline(const char *arch, const char *type_name, uint32_t layers, const char *path, err *e)
{
    tensor_type type;
    const shape *s = find_shape(arch, e);
    gguf_writer *w = s && find_type(type_name, &type, e) ? gguf_writer_open(path, e) : NULL;
    if (!w)
        return false;
    model_config c = config_of(s);
    c.layer_count = layers ? layers : c.layer_count;
    c.rope_scaling = ROPE_PLAIN;        /* divisors of zero would not be read */
    if (layers && c.kv_shared_layers) { /* both kinds of layers, with keys and values and without */
        c.kv_shared_layers = layers / 2;
        config_set_windows(&c, 0, 2);
    }
    tensor_list l = list_tensors(&c, type);
    layout_write_keys(w, &c, "no weights", type_find(type)->file_type);
    for (size_t i = 0; i < l.count; i++)
        layout_write_tensor(w, &l.tensors[i]);
    tensor_list_free(&l);
    return gguf_writer_close(w, gguf_write_no_data(w), e);
}

bool synth_model(const char *arch, const char *type_name, uint64_t seed, const char *path, str *notes, err *e)
{
    tensor_type type;
    const shape *s = find_shape(arch, e);
    if (!s || !find_type(type_name, &type, e))
        return false;
    model_config c = config_of(s);
    tensor_list l = list_tensors(&c, type);
    gguf_writer *w = gguf_writer_open(path, e);
    bool ok = w != NULL;
    if (ok) {
        /* not by its own name: tokenizers know some of those, and expect their tokens */
        layout_write_keys(w, &c, "random weights", type_find(type)->file_type);
        gguf_write_text(w, "general.description", s->name);
        synth_write_tokenizer(w, s->vocab, s->pre, s->add_bos);
        for (size_t i = 0; i < l.count; i++)
            layout_write_tensor(w, &l.tensors[i]);
        ok = write_tensors(w, &l, seed);
        ok = gguf_writer_close(w, ok, e) && ok;
        tell(&l, type, notes);
    }
    tensor_list_free(&l);
    return ok;
}
