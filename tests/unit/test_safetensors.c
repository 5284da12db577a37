/* Safetensors files: good ones, sharded ones, and every kind of bad one. */
#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "model/config.h"
#include "model/safetensors_test.h"
#include "remove_folder.h"
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[TEMPORARY_BYTES];

static int make_folder(void **unused)
{
    (void)unused;
    return temporary_folder(folder, "test") ? 0 : -1;
}

static int remove_made_folder(void **unused)
{
    (void)unused;
    return remove_folder(folder);
}

/* ---- building ------------------------------------------------------------ */

/* A header, its length before it and `data_bytes` bytes 0, 1, 2, ... behind it. */
static str build(const char *header, size_t data_bytes)
{
    str s = {0};
    uint64_t n = strlen(header);
    for (int i = 0; i < 8; i++) {
        char c = (char)(n >> 8 * i);
        str_add_bytes(&s, &c, 1);
    }
    str_add(&s, header);
    for (size_t i = 0; i < data_bytes; i++) {
        char c = (char)i;
        str_add_bytes(&s, &c, 1);
    }
    return s;
}

static safetensors *read_built(const char *header, size_t data_bytes, err *e)
{
    *e = (err){0};
    str s = build(header, data_bytes);
    safetensors *t = safetensors_read(s.data, s.length, "f.safetensors", e);
    str_free(&s); /* only shapes and names are looked at after */
    return t;
}

/* Refused, and the error names the file and `part`. */
static void assert_refused(const char *header, size_t data_bytes, const char *part)
{
    err e;
    assert_null(read_built(header, data_bytes, &e));
    assert_int_equal(e.kind, ERR_FAILED);
    if (strncmp(e.text, "f.safetensors: ", 15) != 0 || !strstr(e.text, part))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, part);
}

static void put(const char *name, const char *bytes, size_t length)
{
    char path[TEMPORARY_FILE_BYTES];
    err e = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(file_write(path, bytes, length, &e));
}

static void put_built(const char *name, const char *header, size_t data_bytes)
{
    str s = build(header, data_bytes);
    put(name, s.data, s.length);
    str_free(&s);
}

static void take_away(const char *name)
{
    char path[TEMPORARY_FILE_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static const char small[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                            "\"b\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
                            "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                            "\"none\":{\"dtype\":\"BF16\",\"shape\":[0,7],\"data_offsets\":[16,16]},"
                            "\"ids\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[16,24]}}  ";

/* ---- one file ------------------------------------------------------------ */

static void reads_a_file(void **unused)
{
    (void)unused;
    err e = {0};
    put_built("one.safetensors", small, 24);
    char path[TEMPORARY_FILE_BYTES];
    snprintf(path, sizeof path, "%s/one.safetensors", folder);
    safetensors *s = safetensors_open(path, &e);
    assert_non_null(s);
    assert_int_equal(safetensors_count(s), 4);
    assert_string_equal(safetensors_at(s, 0)->name, "a");
    assert_string_equal(safetensors_at(s, 2)->name, "ids");
    assert_string_equal(safetensors_at(s, 2)->dtype, "I64");
    assert_false(safetensors_at(s, 2)->readable);

    const safetensor *b = safetensors_find(s, "b", &e);
    assert_non_null(b);
    assert_int_equal(b->type, TYPE_F16);
    assert_true(b->dim_count == 2 && b->dims[0] == 2 && b->dims[1] == 3 && b->bytes == 12);
    for (int i = 0; i < 12; i++)
        assert_int_equal(((const uint8_t *)b->data)[i], 4 + i);
    const safetensor *a = safetensors_find(s, "a", &e);
    assert_true(a && a->type == TYPE_F32 && a->dim_count == 0 && a->bytes == 4);
    const safetensor *none = safetensors_find(s, "none", &e);
    assert_true(none && none->type == TYPE_BF16 && none->bytes == 0);
    safetensors_close(s);
    take_away("one.safetensors");
}

static void says_which_tensor_is_missing_or_cannot_be_read(void **unused)
{
    (void)unused;
    err e = {0};
    safetensors *s = read_built("{\"x\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]},"
                                "\"y\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
                                3, &e);
    assert_non_null(s);
    assert_true(safetensors_has(s, "x"));
    assert_false(safetensors_has(s, "z"));
    assert_null(safetensors_find(s, "x", &e));
    assert_string_equal(e.text, "f.safetensors: tensor x: is of type F4; only F32, F16 and BF16 can be read");
    err_clear(&e);
    assert_null(safetensors_find(s, "y", &e));
    assert_non_null(strstr(e.text, "tensor y: is of type I8"));
    err_clear(&e);
    assert_null(safetensors_find(s, "z", &e));
    assert_string_equal(e.text, "f.safetensors: tensor z: missing");
    safetensors_close(s);

    s = read_built("{}", 0, &e);
    assert_non_null(s);
    assert_int_equal(safetensors_count(s), 0);
    assert_false(safetensors_has(s, "x"));
    safetensors_close(s);
    safetensors_close(NULL);
}

static void refuses_wrong_lengths(void **unused)
{
    (void)unused;
    err e = {0};
    assert_null(safetensors_read("", 0, "f.safetensors", &e));
    assert_non_null(strstr(e.text, "too short"));
    err_clear(&e);
    assert_null(safetensors_read("\x03\0\0\0\0\0\0\0{}", 10, "f.safetensors", &e));
    assert_non_null(strstr(e.text, "a header of 3 bytes in a file of 10"));
    err_clear(&e);
    assert_null(safetensors_read("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "f.safetensors", &e));
    assert_non_null(strstr(e.text, "cut off"));

    size_t n = 17 << 20;
    char *large = mem_alloc(8 + n);
    memset(large + 8, ' ', n);
    large[2] = 0x10;
    large[3] = 1; /* 17 MiB */
    err_clear(&e);
    assert_null(safetensors_read(large, 8 + n, "f.safetensors", &e));
    assert_non_null(strstr(e.text, "larger than"));
    free(large);
}

static void refuses_wrong_headers(void **unused)
{
    (void)unused;
    assert_refused("", 0, "not JSON");
    assert_refused("[]", 0, "not a JSON object");
    assert_refused("{\"a\":1}", 0, "tensor a: is not a JSON object");
    assert_refused("{\"\":{}}", 0, "name is empty");
    assert_refused("{\"a\\u001b[2J\":{}}", 0, "control characters");
    assert_refused("{\"__metadata__\":[]}", 0, "__metadata__");
    assert_refused("{\"a\":{},\"a\":{}}", 0, "duplicate");
    assert_refused("{\"a\":{}} x", 0, "not JSON");
    assert_refused("{\"__metadata__\":{\"x\":[[[[[[[[[]]]]]]]]]}}", 0, "nests deeper");
    err e;
    safetensors *s = read_built("{\"__metadata__\":{\"x\":\"[[[[[[[[[[[[\\\"[[[[\"}}", 0, &e); /* only a text */
    assert_non_null(s);
    safetensors_close(s);
}

static void refuses_wrong_tensors(void **unused)
{
    (void)unused;
    assert_refused("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "tensor a: \"dtype\"");
    assert_refused("{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "\"dtype\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "tensor a: \"shape\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "\"shape\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4, "\"shape\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, "\"shape\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
                   "\"shape\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
                   "weights of F32");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "tensor a: \"data_offsets\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "\"data_offsets\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,-4]}}", 4, "\"data_offsets\"");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "not in the file");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "not in the file");
    assert_refused(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[9223372036854775804,9223372036854775807]}}", 4,
        "not in the file");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
                   "tensor a: has 4 bytes, but its shape has 2 weights of F32");
    assert_refused("{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},"
                   "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[2,6]}}",
                   6, "tensor b: its data overlap those of a");
    assert_refused("{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]},"
                   "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[4,8]}}",
                   8, "tensor b: a gap of 2 bytes");
    assert_refused("{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 3, "belong to no tensor");
}

static void refuses_what_is_not_a_file(void **unused)
{
    (void)unused;
    err e = {0};
    assert_null(safetensors_open("no/such/model", &e));
    assert_non_null(strstr(e.text, "no/such/model: No such file"));
    err_clear(&e);
    assert_null(safetensors_open(folder, &e));
    assert_non_null(strstr(e.text, "neither model.safetensors nor"));
    put("empty", "", 0);
    char path[TEMPORARY_FILE_BYTES];
    snprintf(path, sizeof path, "%s/empty", folder);
    err_clear(&e);
    assert_null(safetensors_open(path, &e));
    assert_non_null(strstr(e.text, "too short"));
    take_away("empty");
#ifndef _WIN32 /* has no pipes among files */
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    err_clear(&e);
    assert_null(safetensors_open(path, &e));
    assert_non_null(strstr(e.text, "/pipe: "));
    take_away("pipe");
#endif
}

/* ---- shards -------------------------------------------------------------- */

static const char index_name[] = "model.safetensors.index.json";
static const char shard_a[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
static const char shard_b[] = "{\"b\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[0,4]},"
                              "\"c\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[4,6]}}";

static void reads_shards(void **unused)
{
    (void)unused;
    put_built("model-1.safetensors", shard_a, 4);
    put_built("model-2.safetensors", shard_b, 6);
    const char index[] = "{\"metadata\":{\"total_size\":8},\"weight_map\":"
                         "{\"b\":\"model-2.safetensors\",\"c\":\"model-2.safetensors\",\"a\":\"model-1.safetensors\"}}";
    put(index_name, index, strlen(index));
    err e = {0};
    safetensors *s = safetensors_open(folder, &e);
    assert_non_null(s);
    assert_int_equal(safetensors_count(s), 3);
    const safetensor *a = safetensors_find(s, "a", &e), *b = safetensors_find(s, "b", &e);
    assert_true(safetensors_has(s, "c"));
    assert_true(a && a->type == TYPE_F32 && a->dim_count == 1);
    assert_true(b && b->type == TYPE_BF16 && b->dims[1] == 2);
    assert_memory_equal(b->data, "\0\1\2\3", 4);
    safetensors_close(s);

    char slash[TEMPORARY_BYTES + 1]; /* the same folder, by another name */
    snprintf(slash, sizeof slash, "%s/", folder);
    s = safetensors_open(slash, &e);
    assert_non_null(s);
    safetensors_close(s);
}

static void assert_index_refused(const char *index, const char *part)
{
    put(index_name, index, strlen(index));
    err e = {0};
    assert_null(safetensors_open(folder, &e));
    if (strncmp(e.text, folder, strlen(folder)) != 0 || !strstr(e.text, part))
        fail_msg("\"%s\" does not mention \"%s\"", e.text, part);
}

static void refuses_wrong_indices(void **unused)
{
    (void)unused;
    put_built("model-1.safetensors", shard_a, 4);
    put_built("model-2.safetensors", shard_b, 6);
    put_built("again.safetensors", shard_a, 4);
    put_built("short.safetensors", shard_a, 3);
    assert_index_refused("", "is not JSON");
    assert_index_refused("7", "is not JSON");
    assert_index_refused("[[[[[[[[[]]]]]]]]]", "nests deeper");
    assert_index_refused("{}", "weight_map");
    assert_index_refused("{\"weight_map\":{}}", "weight_map");
    assert_index_refused("{\"weight_map\":{\"a\":1}}", "tensor a: \"weight_map\" must name a file in this folder");
    static const char *const ways[] = {"",       ".",   "..",      "../model-1.safetensors", "/etc/passwd", "a/b",
                                       "a\\\\b", "..x", "x\\u0007"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char index[128];
        snprintf(index, sizeof index, "{\"weight_map\":{\"a\":\"%s\"}}", ways[i]);
        assert_index_refused(index, "tensor a: \"weight_map\" must name a file in this folder");
    }
    assert_index_refused("{\"weight_map\":{\"a\\u001b\":\"x\"}}", "control characters");
    assert_index_refused("{\"weight_map\":{\"a\":\"not-there.safetensors\"}}", "not-there.safetensors: No such file");
    assert_index_refused("{\"weight_map\":{\"a\":\"short.safetensors\"}}", "short.safetensors: tensor a: its data");
    assert_index_refused("{\"weight_map\":{\"c\":\"model-1.safetensors\"}}", "tensor c: is not in model-1.safetensors");
    assert_index_refused("{\"weight_map\":{\"b\":\"model-1.safetensors\",\"a\":\"model-2.safetensors\"}}",
                         "is not in model-");
    assert_index_refused("{\"weight_map\":{\"a\":\"model-1.safetensors\",\"b\":\"again.safetensors\"}}",
                         "tensor a: is in two files");
    assert_index_refused("{\"weight_map\":{\"a\":\"model-1.safetensors\"},\"weight_map\":{}}", "duplicate");

    char path[TEMPORARY_FILE_BYTES];
    take_away(index_name);
    snprintf(path, sizeof path, "%s/%s", folder, index_name);
    assert_int_equal(mkdir(path, 0700), 0);
    err e = {0};
    assert_null(safetensors_open(folder, &e));
    assert_non_null(strstr(e.text, "is a folder"));
}

/* ---- damage -------------------------------------------------------------- */

/* Touch everything that may be touched; the sanitizers see what may not. */
static unsigned look_at_all(const safetensors *s)
{
    unsigned sum = 0;
    for (size_t i = 0; i < safetensors_count(s); i++) {
        const safetensor *t = safetensors_at(s, i);
        sum += (unsigned)strlen(t->name) + (unsigned)strlen(t->dtype) + t->dim_count;
        for (uint64_t b = 0; b < t->bytes; b++)
            sum += ((const uint8_t *)t->data)[b];
    }
    return sum;
}

/* In memory of exactly this length, so that a byte too far is noticed. */
static bool survives(const char *bytes, size_t length, unsigned *sum)
{
    char *copy = malloc(length ? length : 1);
    memcpy(copy, bytes, length);
    err e = {0};
    safetensors *s = safetensors_read(copy, length, "f", &e);
    if (s)
        *sum += look_at_all(s);
    else
        assert_true(e.kind == ERR_FAILED && strncmp(e.text, "f: ", 3) == 0);
    safetensors_close(s);
    free(copy);
    return s != NULL;
}

static void survives_truncation_and_corruption(void **unused)
{
    (void)unused;
    str s = build(small, 24);
    unsigned sum = 0;
    for (size_t n = 0; n < s.length; n++)
        assert_false(survives(s.data, n, &sum));
    assert_true(survives(s.data, s.length, &sum));

    rng r = rng_seed(11);
    for (size_t i = 0; i < s.length; i++) {
        char was = s.data[i];
        for (int bit = 0; bit < 8; bit++) {
            s.data[i] = (char)(was ^ 1 << bit);
            survives(s.data, s.length, &sum);
        }
        const char likely[] = {0, '"', '{', '}', '[', ']', '-', '9', ',', (char)rng_next(&r)};
        for (size_t k = 0; k < sizeof likely; k++) {
            s.data[i] = likely[k];
            survives(s.data, s.length, &sum);
        }
        s.data[i] = was;
    }
    assert_true(sum > 0);
    str_free(&s);
}

/* ---- real folders, where they are ---------------------------------------- */

static size_t expect(const safetensors *s, uint64_t rows, uint64_t columns, const char *fmt, ...)
{
    char name[128];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    err e = {0};
    const safetensor *t = safetensors_find(s, name, &e);
    if (!t)
        fail_msg("%s", e.text);
    assert_int_equal(t->dim_count, columns ? 2 : 1);
    assert_int_equal(t->dims[0], rows);
    if (columns)
        assert_int_equal(t->dims[1], columns);
    return 1;
}

static size_t expect_layer(const safetensors *s, const model_config *c, uint32_t i)
{
    uint64_t x = c->embedding_dim, q = (uint64_t)c->head_count * c->head_dim,
             kv = (uint64_t)c->kv_head_count * c->head_dim;
    size_t n = expect(s, x, 0, "model.layers.%u.input_layernorm.weight", i) +
               expect(s, x, 0, "model.layers.%u.post_attention_layernorm.weight", i) +
               expect(s, x, q, "model.layers.%u.self_attn.o_proj.weight", i) +
               expect(s, x, c->ffn_dim, "model.layers.%u.mlp.down_proj.weight", i);
    if (c->arch == ARCH_PHI3)
        return n + expect(s, q + 2 * kv, x, "model.layers.%u.self_attn.qkv_proj.weight", i) +
               expect(s, 2 * c->ffn_dim, x, "model.layers.%u.mlp.gate_up_proj.weight", i);
    n += expect(s, q, x, "model.layers.%u.self_attn.q_proj.weight", i) +
         expect(s, kv, x, "model.layers.%u.self_attn.k_proj.weight", i) +
         expect(s, kv, x, "model.layers.%u.self_attn.v_proj.weight", i) +
         expect(s, c->ffn_dim, x, "model.layers.%u.mlp.gate_proj.weight", i) +
         expect(s, c->ffn_dim, x, "model.layers.%u.mlp.up_proj.weight", i);
    if (c->qkv_bias)
        n += expect(s, q, 0, "model.layers.%u.self_attn.q_proj.bias", i) +
             expect(s, kv, 0, "model.layers.%u.self_attn.k_proj.bias", i) +
             expect(s, kv, 0, "model.layers.%u.self_attn.v_proj.bias", i);
    if (c->post_norms)
        n += expect(s, x, 0, "model.layers.%u.pre_feedforward_layernorm.weight", i) +
             expect(s, x, 0, "model.layers.%u.post_feedforward_layernorm.weight", i);
    return n;
}

static void folders_hold_what_their_configurations_imply(void **unused)
{
    (void)unused;
    static const char *const names[] = {"llama", "mistral", "qwen2", "phi3", "gemma", "gemma2"};
    static const tensor_type types[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_BF16, TYPE_BF16, TYPE_BF16};
    if (!file_exists("../shared/models/hf"))
        skip();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[128];
        err e = {0};
        size_t length;
        model_config c;
        snprintf(path, sizeof path, "../shared/models/hf/%s/config.json", names[k]);
        char *text = file_read(path, 1 << 20, &length, &e);
        assert_non_null(text);
        assert_true(config_from_hf(text, length, path, &c, &e));
        free(text);
        snprintf(path, sizeof path, "../shared/models/hf/%s", names[k]);
        safetensors *s = safetensors_open(path, &e);
        if (!s)
            fail_msg("%s", e.text);

        size_t n = expect(s, c.vocab_tok, c.embedding_dim, "model.embed_tokens.weight") +
                   expect(s, c.embedding_dim, 0, "model.norm.weight");
        if (!c.tied_embeddings)
            n += expect(s, c.vocab_tok, c.embedding_dim, "lm_head.weight");
        for (uint32_t i = 0; i < c.layer_count; i++)
            n += expect_layer(s, &c, i);
        assert_int_equal(n, safetensors_count(s)); /* and nothing else */
        assert_int_equal(safetensors_find(s, "model.norm.weight", &e)->type, types[k]);
        safetensors_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_a_file, make_folder, remove_made_folder),
        cmocka_unit_test(says_which_tensor_is_missing_or_cannot_be_read),
        cmocka_unit_test(refuses_wrong_lengths),
        cmocka_unit_test(refuses_wrong_headers),
        cmocka_unit_test(refuses_wrong_tensors),
        cmocka_unit_test_setup_teardown(refuses_what_is_not_a_file, make_folder, remove_made_folder),
        cmocka_unit_test_setup_teardown(reads_shards, make_folder, remove_made_folder),
        cmocka_unit_test_setup_teardown(refuses_wrong_indices, make_folder, remove_made_folder),
        cmocka_unit_test(survives_truncation_and_corruption),
        cmocka_unit_test(folders_hold_what_their_configurations_imply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
