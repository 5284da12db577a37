/* src/gpu/webgpu/pipeline_cache: every layout that Dawn's cache descriptor has had, called as those Dawns call it. */
#include "base/blob_cache_test.h"
#include "gpu/webgpu/device.h"
#include "remove_folder.h"
#include "temporary.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the layouts, as the library has them -------------------------------- */

typedef size_t load_function(const void *key, size_t key_bytes, void *value, size_t value_bytes, void *user);
typedef void store_function(const void *key, size_t key_bytes, const void *value, size_t value_bytes, void *user);
typedef size_t load_callback(size_t key_bytes, const uint8_t *key, size_t value_bytes, uint8_t *value, void *user1,
                             void *user2);
typedef void store_callback(size_t key_bytes, const uint8_t *key, size_t value_bytes, const uint8_t *value, void *user1,
                            void *user2);

typedef struct load_info {
    WGPUChainedStruct *next;
    load_callback *callback;
    void *user1, *user2;
} load_info;

typedef struct store_info {
    WGPUChainedStruct *next;
    store_callback *callback;
    void *user1, *user2;
} store_info;

typedef struct functions { /* 2024 to May 2026 */
    WGPUChainedStruct chain;
    WGPUStringView isolation_key;
    load_function *load;
    store_function *store;
    void *user;
} functions;

typedef struct both { /* June 2026; callbacks are preferred */
    functions f;
    load_info load;
    store_info store;
} both;

typedef struct callbacks { /* since July 2026 */
    WGPUChainedStruct chain;
    WGPUStringView isolation_key;
    load_info load;
    store_info store;
} callbacks;

typedef enum { FUNCTIONS, BOTH, CALLBACKS } layout;

/* ---- a Dawn of each layout ----------------------------------------------- */

typedef struct fake_dawn {
    webgpu_library lib;
    webgpu w;
    layout has;
    functions f;
    callbacks c;
} fake_dawn;

static void take_descriptor(fake_dawn *d)
{
    WGPUChainedStruct *chain = webgpu_pipeline_cache_chain(&d->w);
    assert_non_null(chain);
    assert_int_equal(chain->sType, 0x00050007);
    assert_null(chain->next);
    if (d->has != CALLBACKS)
        memcpy(&d->f, chain, sizeof d->f);
    else
        memcpy(&d->c, chain, sizeof d->c);
    if (d->has == BOTH) {
        both b;
        memcpy(&b, chain, sizeof b);
        assert_null(b.load.next);
        assert_null(b.store.next);
        assert_null(b.load.callback);
        assert_null(b.store.callback);
    }
    if (d->has == CALLBACKS) {
        assert_null(d->c.load.next);
        assert_null(d->c.store.next);
    }
}

static void fake_open(fake_dawn *d, layout has, webgpu_abi abi)
{
    memset(d, 0, sizeof *d);
    d->has = has;
    d->lib.abi = abi;
    d->w.lib = &d->lib;
    snprintf(d->w.base.info.device, sizeof d->w.base.info.device, "a device with layout %d", (int)has);
    take_descriptor(d);
}

static void fake_close(fake_dawn *d)
{
    webgpu_pipeline_cache_free(&d->w);
}

static size_t call_load(fake_dawn *d, const char *key, void *value, size_t bytes)
{
    if (d->has != CALLBACKS)
        return d->f.load ? d->f.load(key, strlen(key), value, bytes, d->f.user) : 0;
    return d->c.load.callback(strlen(key), (const uint8_t *)key, bytes, value, d->c.load.user1, d->c.load.user2);
}

static bool fake_load(fake_dawn *d, const char *key, char *value, size_t room)
{
    size_t bytes = call_load(d, key, NULL, 0);
    if (bytes == 0)
        return false;
    assert_true(bytes < room);
    assert_int_equal(call_load(d, key, value, bytes), bytes);
    value[bytes] = 0;
    return true;
}

static void fake_store(fake_dawn *d, const char *key, const char *value)
{
    size_t n = strlen(key), bytes = strlen(value);
    if (d->has != CALLBACKS)
        d->f.store(key, n, value, bytes, d->f.user);
    else
        d->c.store.callback(n, (const uint8_t *)key, bytes, (const uint8_t *)value, d->c.store.user1, d->c.store.user2);
}

/* As it compiles: looks for it, and stores what it made where there was nothing. */
static bool compile(fake_dawn *d, const char *key, const char *value)
{
    char found[64];
    if (fake_load(d, key, found, sizeof found)) {
        assert_string_equal(found, value);
        return true;
    }
    fake_store(d, key, value);
    return false;
}

/* ---- tests --------------------------------------------------------------- */

static char folder[TEMPORARY_BYTES];

static int set_up(void **unused)
{
    (void)unused;
    return temporary_folder(folder, "dawn") ? setenv("SOLO_CACHE", folder, 1) : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    return remove_folder(folder);
}

static void expect_kept(layout has, webgpu_abi abi)
{
    fake_dawn d;
    for (int run = 0; run < 3; run++) {
        fake_open(&d, has, abi);
        assert_int_equal(compile(&d, "one", "its pipeline"), run > 0);
        assert_int_equal(compile(&d, "another", "another's"), run > 0);
        fake_close(&d);
    }
}

static void the_old_one_is_kept(void **unused)
{
    (void)unused;
    expect_kept(FUNCTIONS, WEBGPU_DAWN_2025);
}

static void each_layout_is_recognised(void **unused)
{
    (void)unused;
    expect_kept(FUNCTIONS, WEBGPU_DAWN);
    expect_kept(BOTH, WEBGPU_DAWN);
    expect_kept(CALLBACKS, WEBGPU_DAWN);
}

/* Between Dawn's two questions, another process replaced the file. */
static void a_blob_is_the_one_whose_size_was_given(void **unused)
{
    (void)unused;
    fake_dawn d, other;
    char value[64] = {0};
    fake_open(&d, CALLBACKS, WEBGPU_DAWN);
    fake_open(&other, CALLBACKS, WEBGPU_DAWN);
    fake_store(&d, "key", "first");
    assert_int_equal(call_load(&d, "key", NULL, 0), 5);
    fake_store(&other, "key", "a longer one");
    assert_int_equal(call_load(&d, "key", value, 5), 5);
    assert_memory_equal(value, "first", 5);
    assert_int_equal(call_load(&d, "key", value, 5), 0); /* only once */
    assert_true(fake_load(&d, "key", value, sizeof value));
    assert_string_equal(value, "a longer one");
    assert_int_equal(call_load(&d, "key", NULL, 0), 12); /* what is not fetched is freed */
    fake_close(&d);
    fake_close(&other);
}

static void *compile_often(void *dawn)
{
    char key[16], value[16];
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "key %d", i % 10);
        snprintf(value, sizeof value, "value %d", i % 10);
        compile(dawn, key, value);
    }
    return NULL;
}

static void threads_get_what_they_asked_for(void **unused)
{
    (void)unused;
    static const layout layouts[] = {FUNCTIONS, CALLBACKS};
    for (int l = 0; l < 2; l++) {
        fake_dawn d;
        pthread_t threads[4];
        fake_open(&d, layouts[l], layouts[l] == FUNCTIONS ? WEBGPU_DAWN_2025 : WEBGPU_DAWN);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, compile_often, &d), 0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(compile(&d, "key 7", "value 7"));
        fake_close(&d);
    }
}

static void nothing_is_chained_where_nothing_is_kept(void **unused)
{
    (void)unused;
    webgpu_library lib = {.abi = WEBGPU_WGPU};
    webgpu w = {.lib = &lib};
    assert_null(webgpu_pipeline_cache_chain(&w));
    webgpu_pipeline_cache_free(&w);
    lib.abi = WEBGPU_DAWN;
    setenv("SOLO_CACHE", "off", 1);
    assert_null(webgpu_pipeline_cache_chain(&w));
    webgpu_pipeline_cache_free(&w);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_old_one_is_kept),
        TEST(each_layout_is_recognised),
        TEST(a_blob_is_the_one_whose_size_was_given),
        TEST(threads_get_what_they_asked_for),
        TEST(nothing_is_chained_where_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
