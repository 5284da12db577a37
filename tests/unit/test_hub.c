/* src/hub: names of models and files, checksums, lists of files, and which of them a name means. What needs a server is in
 * tests/cli/pull.sh. */
#include "base/rng.h"
#include "hub/checksum_block.h"
#include "hub/choose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- names --------------------------------------------------------------------------------- */

static void repositories_have_names(void **unused)
{
    (void)unused;
    hub_name n;
    assert_true(hub_name_parse("Qwen/Qwen2.5-0.5B-Instruct-GGUF", &n));
    assert_string_equal(n.owner, "Qwen");
    assert_string_equal(n.repo, "Qwen2.5-0.5B-Instruct-GGUF");
    assert_null(n.file);
    assert_true(hub_name_parse("a/b:Q4_K_M", &n));
    assert_string_equal(n.file, "Q4_K_M");
    assert_true(hub_name_parse("_a_/b__c:UD/model file.gguf", &n));
    assert_string_equal(n.file, "UD/model file.gguf");
}

static void other_texts_are_no_repositories(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "",         "a",           "a/",       "/a",         "a/b/c",    "./a",
        "../a",     "a/..",        "a/.b",     "a/b.",       "-a/b",     "a/b-",
        "a/b--c",   "a..b/c",      "a/b:",     "a/b:/c",     "a/b:../c", "a/b:c/../d",
        "a/b:c//d", "a/b:.hidden", "a b/c",    "a/b\n",      "a:b/c",    "~a/b",
        "a/m.gguf", "a/m.GGUF",    "a/x.json", "a/b:\x1b[m", "a/b:\xff", "a/m.safetensors"};
    hub_name n;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (hub_name_parse(texts[i], &n))
            fail_msg("'%s' was taken", texts[i]);
    char text[2 * HUB_PART_BYTES + 1];
    memset(text, 'a', sizeof text);
    text[1] = '/';
    text[1 + HUB_PART_BYTES] = 0; /* a repository of the longest name there is, and one more */
    assert_true(hub_name_parse(text, &n));
    text[1 + HUB_PART_BYTES] = 'a';
    text[2 + HUB_PART_BYTES] = 0;
    assert_false(hub_name_parse(text, &n));
}

static void paths_stay_inside(void **unused)
{
    (void)unused;
    static const char *const good[] = {"a", "a/b.gguf", "a b", "\xc3\xbc", "a..b", "\xe2\x82\xac/\xf0\x9f\x98\x80"};
    static const char *const bad[] = {
        "",       "/a",    "a/",       ".",    "..",       "../a",     "a/..",
        "a/../b", "a/./b", "a//b",     ".a",   "a/.b",     "a\nb",     "a\x7f",
        "a\\b",   "\x80",  "\xc2\x85", "\xc3", "\xc0\xaf", "\xe2\x82", "\xf5\x80\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!hub_path_is_safe(good[i]))
            fail_msg("'%s' was refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (hub_path_is_safe(bad[i]))
            fail_msg("'%s' was taken", bad[i]);
    char path[HUB_COMPONENT_BYTES + 2];
    memset(path, 'a', sizeof path);
    path[HUB_COMPONENT_BYTES + 1] = 0;
    assert_false(hub_path_is_safe(path));
    path[HUB_COMPONENT_BYTES] = 0;
    assert_true(hub_path_is_safe(path));
}

static void types_are_words(void **unused)
{
    (void)unused;
    assert_true(hub_path_has_type("model-Q4_K_M.gguf", "q4_k_m"));
    assert_true(hub_path_has_type("model.q4_k_m.gguf", "Q4_K_M"));
    assert_true(hub_path_has_type("Q4_K_M/model-00001-of-00002.gguf", "Q4_K_M"));
    assert_true(hub_path_has_type("model_Q4_0.gguf", "Q4_0"));
    assert_true(hub_path_has_type("Q4_0_4_4/m-Q4_0.gguf", "Q4_0"));
    assert_false(hub_path_has_type("model-Q4_K_M.gguf", "Q4_K"));
    assert_false(hub_path_has_type("model-IQ4_NL.gguf", "Q4_NL"));
    assert_false(hub_path_has_type("model-Q4_0_4_4.gguf", "Q4_0"));
    assert_false(hub_path_has_type("model-BF16.gguf", "F16"));
    assert_false(hub_path_has_type("model.gguf", ""));
}

static void texts_for_people_and_urls(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{0, "0 bytes"},         {999, "999 bytes"},       {1000, "1.0 kB"},           {9949, "9.9 kB"},
                 {9951, "10 kB"},        {999499, "999 kB"},       {999500, "1.0 MB"},         {397000000, "397 MB"},
                 {4700000000, "4.7 GB"}, {999999999999, "1.0 TB"}, {UINT64_MAX, "18446744 TB"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[HUB_SIZE_BYTES];
        hub_size_text(sizes[i].bytes, text);
        assert_string_equal(text, sizes[i].text);
    }
    str url = {0};
    hub_add_escaped(&url, "a b/c?d#e%\xc3\xbc-_.~");
    assert_string_equal(url.data, "a%20b/c%3Fd%23e%25%C3%BC-_.~");
    str_free(&url);
}

/* ---- checksums ----------------------------------------------------------------------------- */

static void is_checksum(checksum_kind kind, const char *text, size_t length, size_t piece, const char *right)
{
    char hex[CHECKSUM_HEX_BYTES];
    checksum c = checksum_begin(kind, length);
    for (size_t at = 0; at < length; at += piece)
        checksum_add(&c, text + at, length - at < piece ? length - at : piece);
    checksum_end(&c, hex);
    assert_string_equal(hex, right);
}

/* The vectors of FIPS 180, and what `git hash-object` says. */
static void checksums_are_those_of_the_standard(void **unused)
{
    (void)unused;
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    is_checksum(CHECKSUM_SHA256, "", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    is_checksum(CHECKSUM_SHA256, "abc", 3, 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (size_t piece = 1; piece < sizeof two_blocks; piece++)
        is_checksum(CHECKSUM_SHA256, two_blocks, sizeof two_blocks - 1, piece,
                    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *many = malloc(1000000);
    memset(many, 'a', 1000000);
    for (size_t piece = 1; piece <= 1000000; piece = piece * 7 + 1)
        is_checksum(CHECKSUM_SHA256, many, 1000000, piece,
                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    is_checksum(CHECKSUM_GIT, many, 1000000, 4096, "de1fbf0c2f34f67f01f355f31ed0cf7319643c5e");
    free(many);
    is_checksum(CHECKSUM_GIT, "", 0, 1, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    is_checksum(CHECKSUM_GIT, "hello\n", 6, 5, "ce013625030ba8dba906f756967f9e9ca394464a");
}

/* ---- lists --------------------------------------------------------------------------------- */

#define GIT "\"oid\": \"0123456789012345678901234567890123456789\""
static void processors_have_the_same_checksum(void **unused)
{
    (void)unused;
    rng r = rng_seed(5);
    uint32_t plain[8] = {1, 2, 3, 4, 5, 6, 7, 8}, fast[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 1000; i++) {
        uint8_t block[1 + CHECKSUM_BLOCK_BYTES];
        for (size_t k = 0; k < sizeof block; k++)
            block[k] = (uint8_t)rng_next(&r);
        checksum_block_plain(plain, block + i % 2);
        if (!checksum_block_fast(fast, block + i % 2))
            skip();
        assert_memory_equal(plain, fast, sizeof plain);
    }
}

#define SHA         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PLAIN(path) "{\"type\": \"file\", \"path\": \"" path "\", \"size\": 10, " GIT "}"

static void lists_are_read(void **unused)
{
    (void)unused;
    err e = {0};
    hub_listing l = {0};
    static const char text[] =
        "[{\"type\": \"directory\", \"path\": \"b\"}," PLAIN("b/a.json") "," PLAIN(".gitattributes") "," PLAIN(
            "onnx/.keep") ",{\"type\": \"file\", \"path\": \"a.gguf\", \"size\": 99, " GIT ", \"lfs\": {\"oid\": \"" SHA
                          "\", \"size\": 5000000000, \"pointerSize\": 135}, \"xetHash\": \"x\"}]";
    assert_true(hub_listing_add_json(&l, text, sizeof text - 1, &e));
    assert_true(hub_listing_sort(&l, &e));
    assert_int_equal(l.count, 2);
    const hub_file *f = hub_listing_find(&l, "a.gguf");
    assert_non_null(f);
    assert_true(f->bytes == 5000000000 && f->kind == CHECKSUM_SHA256);
    assert_string_equal(f->digest, SHA);
    f = hub_listing_find(&l, "b/a.json");
    assert_true(f && f->bytes == 10 && f->kind == CHECKSUM_GIT);
    assert_null(hub_listing_find(&l, "b"));
    hub_listing_free(&l);
}

static void is_refused(const char *text, const char *part)
{
    err e = {0};
    hub_listing l = {0};
    bool ok = hub_listing_add_json(&l, text, strlen(text), &e) && hub_listing_sort(&l, &e);
    hub_listing_free(&l);
    if (ok || !strstr(e.text, part))
        fail_msg("%s: '%s'", text, ok ? "was taken" : e.text);
}

static void bad_lists_are_refused(void **unused)
{
    (void)unused;
    is_refused("", "no list");
    is_refused("<html>", "no list");
    is_refused("{\"error\": \"x\"}", "no list");
    is_refused("[1]", "without a type");
    is_refused("[{\"type\": \"file\"}]", "without a type");
    is_refused("[" PLAIN("../a") "]", "refused");
    is_refused("[" PLAIN("/a") "]", "refused");
    is_refused("[" PLAIN("a\\u001b[2J") "]", "refused");
    is_refused("[" PLAIN("a") "," PLAIN("a") "]", "twice");
    is_refused("[{\"type\": \"file\", \"path\": \"a\", " GIT "}]", "no size for a");
    is_refused("[{\"type\": \"file\", \"path\": \"a\", \"size\": -1, " GIT "}]", "no size for a");
    is_refused("[{\"type\": \"file\", \"path\": \"a\", \"size\": 1e3, " GIT "}]", "no size for a");
    is_refused("[{\"type\": \"file\", \"path\": \"a\", \"size\": 9223372036854775807, " GIT "}]", "no size for a");
    is_refused("[{\"type\": \"file\", \"path\": \"a\", \"size\": 1}]", "no checksum for a");
    is_refused("[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, \"oid\": \"" SHA "\"}]", "no checksum for a");
    is_refused("[{\"type\": \"file\", \"path\": \"a\", \"size\": 1, " GIT ", \"lfs\": {\"oid\": \"../../x\"}}]",
               "no checksum for a");
}

/* ---- choosing ------------------------------------------------------------------------------ */

typedef struct repository {
    hub_listing l;
    hub_models m;
} repository;

/* Paths separated by spaces. */
static repository repository_of(const char *paths)
{
    repository r = {0};
    char *copy = mem_dup(paths), *rest = copy;
    for (char *path; (path = strsep(&rest, " ")) != NULL;)
        hub_listing_add(&r.l, path, 100);
    free(copy);
    assert_true(hub_listing_sort(&r.l, NULL));
    r.m = hub_models_of(&r.l);
    return r;
}

/* `right`: the first file, "folder", or a part of the error with a ! before it. */
static void chooses(const char *paths, const char *file, const char *right)
{
    err e = {0};
    repository r = repository_of(paths);
    const hub_model *m = hub_choose(&r.m, file, &e);
    const char *got = !m ? e.text : m->is_folder ? "folder" : m->files[0]->path;
    if (*right == '!' ? m || !strstr(e.text, right + 1) : !m || strcmp(got, right) != 0)
        fail_msg("%s of '%s': '%s', not '%s'", file ? file : "nothing", paths, got, right);
    hub_models_free(&r.m);
    hub_listing_free(&r.l);
}

static void models_are_chosen(void **unused)
{
    (void)unused;
    static const char types[] = "m-F16.gguf m-IQ4_XS.gguf m-Q2_K.gguf m-Q4_K_M.gguf m-Q4_K_S.gguf m-Q8_0.gguf";
    chooses(types, NULL, "m-Q4_K_M.gguf");
    chooses(types, "f16", "m-F16.gguf");
    chooses(types, "m-q8_0", "m-Q8_0.gguf");
    chooses(types, "M-Q8_0.GGUF", "m-Q8_0.gguf");
    chooses(types, "Q4_K", "!no model 'Q4_K' in it, but m-F16.gguf, m-IQ4_XS.gguf");
    chooses("m-F16.gguf m-Q8_0.gguf", NULL, "m-Q8_0.gguf");
    chooses("m-Q2_K.gguf m-F16.gguf", NULL, "m-F16.gguf");
    chooses("model.gguf", NULL, "model.gguf");
    chooses("a-chat-Q4_K_M.gguf a-Q4_K_M.gguf", NULL, "a-Q4_K_M.gguf");
    chooses("a-Q4_K_M.gguf b-Q4_K_M.gguf", "Q4_K_M", "!several files: a-Q4_K_M.gguf, b-Q4_K_M.gguf");
    chooses("x/m.gguf y/m.gguf", "m.gguf", "!several files");
    chooses("x/m.gguf y/m.gguf", "y/m.gguf", "y/m.gguf");
    chooses("mmproj-Q4_K_M.gguf m.imatrix.gguf m-Q8_0.gguf", NULL, "m-Q8_0.gguf");
    chooses("mmproj-Q4_K_M.gguf", NULL, "!no model in it");
    chooses("README.md pytorch_model.bin config.json", NULL, "!no model in it");
}

static void split_files_are_one_model(void **unused)
{
    (void)unused;
    static const char two[] = "m-Q4_K_M-00001-of-00002.gguf m-Q4_K_M-00002-of-00002.gguf m-Q8_0-00001-of-00002.gguf";
    chooses(two, NULL, "m-Q4_K_M-00001-of-00002.gguf");
    chooses(two, "m-Q4_K_M-00002-of-00002.gguf", "m-Q4_K_M-00001-of-00002.gguf");
    chooses(two, "m-Q4_K_M.gguf", "m-Q4_K_M-00001-of-00002.gguf");
    chooses(two, "Q8_0", "!no model 'Q8_0'");
    chooses("m-00001-of-00000.gguf", NULL, "!no model in it");
    chooses("m-00001-of-99999.gguf", NULL, "!no model in it");
    chooses("-00001-of-00001.gguf", NULL, "-00001-of-00001.gguf");
    repository r = repository_of(two);
    assert_int_equal(r.m.count, 1);
    assert_true(r.m.items[0].count == 2 && r.m.items[0].bytes == 200);
    hub_models_free(&r.m);
    hub_listing_free(&r.l);
}

static void folders_are_models(void **unused)
{
    (void)unused;
    chooses("config.json model.safetensors tokenizer.json", NULL, "folder");
    chooses("config.json model.safetensors m-Q4_0.gguf", NULL, "m-Q4_0.gguf");
    chooses("config.json model.safetensors m-Q4_0.gguf", "safetensors", "folder");
    chooses("model.safetensors", NULL, "!no model in it");
    chooses("config.json sub/model.safetensors", NULL, "!no model in it");
    repository r = repository_of("config.json consolidated.safetensors model-1.safetensors model-2.safetensors "
                                 "model.safetensors.index.json tokenizer.json train.py");
    hub_model *m = hub_choose(&r.m, NULL, NULL);
    err e = {0};
    static const char index[] = "{\"weight_map\": {\"a\": \"model-2.safetensors\", \"b\": \"model-1.safetensors\", "
                                "\"c\": \"model-2.safetensors\"}}";
    assert_true(m && m->needs_shards && m->count == 3);
    assert_true(hub_model_add_shards(m, &r.l, index, sizeof index - 1, &e));
    assert_int_equal(m->count, 5);
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"weight_map\": {}}",
                                      "{\"weight_map\": {\"a\": 1}}",
                                      "{\"weight_map\": {\"a\": \"../x.safetensors\"}}",
                                      "{\"weight_map\": {\"a\": \"train.py\"}}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (hub_model_add_shards(m, &r.l, bad[i], strlen(bad[i]), NULL))
            fail_msg("'%s' was taken", bad[i]);
    assert_int_equal(m->count, 5);
    hub_models_free(&r.m);
    hub_listing_free(&r.l);
}

/* Pooling and the layers behind it are in folders of their own; other formats of theirs are not for Solo. */
static void folders_of_sentence_transformers(void **unused)
{
    (void)unused;
    static const char *const right[] = {
        "1_Pooling/config.json", "2_Dense/config.json",       "2_Dense/model.safetensors",
        "3_Dense/config.json",   "3_Dense/model.safetensors", "config.json",
        "modules.json",          "model.safetensors"};
    repository r = repository_of("1_Pooling/config.json 2_Dense/config.json 2_Dense/model.safetensors "
                                 "2_Dense/pytorch_model.bin 3_Dense/config.json 3_Dense/model.safetensors config.json "
                                 "model.safetensors modules.json onnx/model.onnx");
    hub_model *m = hub_choose(&r.m, NULL, NULL);
    assert_true(m && m->is_folder && m->count == sizeof right / sizeof *right);
    for (size_t i = 0; i < m->count; i++)
        assert_string_equal(m->files[i]->path, right[i]);
    hub_models_free(&r.m);
    hub_listing_free(&r.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repositories_have_names),
        cmocka_unit_test(other_texts_are_no_repositories),
        cmocka_unit_test(paths_stay_inside),
        cmocka_unit_test(types_are_words),
        cmocka_unit_test(texts_for_people_and_urls),
        cmocka_unit_test(checksums_are_those_of_the_standard),
        cmocka_unit_test(processors_have_the_same_checksum),
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(models_are_chosen),
        cmocka_unit_test(split_files_are_one_model),
        cmocka_unit_test(folders_are_models),
        cmocka_unit_test(folders_of_sentence_transformers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
