/* pipeline_cache: what Dawn compiled, kept between runs by the functions it calls to load and store blobs.
 *
 * Dawn asks for the WGSL's SPIR-V and for the driver's pipeline cache under keys of its own. Those need not name the library's
 * build or the driver, so the device's identity stands in front of them. Dawn's threads call this, several at a time.
 *
 * Dawn has had two layouts of the descriptor under one number: functions (until mid-2026), then callbacks with other
 * arguments. The library does not report which it has, but its first call does (`store_or_load`). */
#include "gpu/webgpu/device.h"

#include "base/blob_cache.h"
#include "base/cache.h"
#include "base/str.h"
#include "gpu/identity.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STYPE_DAWN_CACHE = 0x00050007 };

typedef size_t load_function(const void *key, size_t key_bytes, void *value, size_t value_bytes, void *user);
typedef void store_function(const void *key, size_t key_bytes, const void *value, size_t value_bytes, void *user);
typedef void store_callback(size_t key_bytes, const uint8_t *key, size_t value_bytes, const uint8_t *value, void *user1,
                            void *user2);
/* One that is the first layout's store or the second's load. */
typedef size_t either_function(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, void *user);

/* Both as large as the one there was in between, which had the functions and behind them the callbacks. */
typedef struct function_layout {
    load_function *load;
    store_function *store;
    void *user;
    void *no_callbacks[8];
} function_layout;

typedef struct callback_layout {
    void *load_chain;
    either_function *load;
    void *load_user1, *load_user2;
    void *store_chain;
    store_callback *store;
    void *store_user1, *store_user2;
    void *unused[3];
} callback_layout;

typedef struct cache_descriptor {
    WGPUChainedStruct chain;
    WGPUStringView isolation_key;
    union {
        function_layout functions;
        callback_layout callbacks;
    } as;
} cache_descriptor;

/* Dawn asks for a blob's size first, then for the blob. It gets the one whose size it was told, whatever happened to the file. */
typedef struct found_blob {
    str key;
    void *blob;
    size_t bytes;
    struct found_blob *next;
} found_blob;

struct webgpu_pipeline_cache {
    cache_descriptor descriptor;
    char *identity;
    pthread_mutex_t lock; /* for the rest */
    found_blob *found;
    bool has_callbacks, has_functions; /* as calls have shown */
};

/* Kept under this name for a library that has the first layout. */
static char *layout_key(const char *identity)
{
    str key = {0};
    str_addf(&key, "layout of Dawn's cache descriptor\n%s", identity);
    return key.data;
}

/* ---- what Dawn calls ----------------------------------------------------- */

static str full_key(const webgpu_pipeline_cache *c, const void *key, size_t key_bytes)
{
    str full = {0};
    str_addf(&full, "Dawn's blob\n%s\n", c->identity);
    str_add_bytes(&full, key, key_bytes);
    return full;
}

static size_t find_blob(webgpu_pipeline_cache *c, const void *key, size_t key_bytes)
{
    str full = full_key(c, key, key_bytes);
    size_t bytes;
    void *blob = blob_cache_get(full.data, full.length, &bytes);
    if (!blob) {
        str_free(&full);
        return 0;
    }
    found_blob *f = mem_alloc(sizeof *f);
    *f = (found_blob){.key = full, .blob = blob, .bytes = bytes};
    pthread_mutex_lock(&c->lock);
    f->next = c->found;
    c->found = f;
    pthread_mutex_unlock(&c->lock);
    return bytes;
}

static found_blob *take_found(webgpu_pipeline_cache *c, const str *key, size_t bytes)
{
    pthread_mutex_lock(&c->lock);
    found_blob **at = &c->found;
    while (*at && ((*at)->bytes != bytes || (*at)->key.length != key->length ||
                   memcmp((*at)->key.data, key->data, key->length) != 0))
        at = &(*at)->next;
    found_blob *f = *at;
    if (f)
        *at = f->next;
    pthread_mutex_unlock(&c->lock);
    return f;
}

static void free_found(found_blob *f)
{
    str_free(&f->key);
    free(f->blob);
    free(f);
}

static size_t load(const void *key, size_t key_bytes, void *value, size_t value_bytes, void *user)
{
    webgpu_pipeline_cache *c = user;
    if (value_bytes == 0)
        return find_blob(c, key, key_bytes);
    str full = full_key(c, key, key_bytes);
    found_blob *f = take_found(c, &full, value_bytes);
    str_free(&full);
    if (!f)
        return 0;
    memcpy(value, f->blob, value_bytes);
    free_found(f);
    return value_bytes;
}

static void store(const void *key, size_t key_bytes, const void *value, size_t value_bytes, void *user)
{
    str full = full_key(user, key, key_bytes);
    blob_cache_put(full.data, full.length, value, value_bytes);
    str_free(&full);
}

static void store_by_callback(size_t key_bytes, const uint8_t *key, size_t value_bytes, const uint8_t *value,
                              void *user1, void *user2)
{
    (void)user2;
    store(key, key_bytes, value, value_bytes, user1);
}

/* The first layout's store: key, its size, value, its size; a value is never NULL. The second's load: the key's size, key,
 * the value's size, value; the first call's size is zero. So the third argument of the first call tells which. */
static size_t store_or_load(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, void *user)
{
    webgpu_pipeline_cache *cache = user;
    pthread_mutex_lock(&cache->lock);
    if (c == 0)
        cache->has_callbacks = true;
    bool loads = cache->has_callbacks, is_news = !loads && !cache->has_functions;
    cache->has_functions = !loads;
    pthread_mutex_unlock(&cache->lock);
    if (loads)
        return load((const void *)b, a, (void *)d, c, user);
    if (is_news) { /* from the next device on it can load, too */
        char *key = layout_key(cache->identity);
        cache_put(key, "functions");
        free(key);
    }
    store((const void *)a, b, (const void *)c, d, user);
    return 0;
}

/* ---- opening and closing ------------------------------------------------- */

static bool has_function_layout(const webgpu *w, const char *identity)
{
    if (w->lib->abi == WEBGPU_DAWN_2025)
        return true;
    char *key = layout_key(identity), *layout = cache_get(key);
    bool functions = layout && strcmp(layout, "functions") == 0;
    free(key);
    free(layout);
    return functions;
}

WGPUChainedStruct *webgpu_pipeline_cache_chain(webgpu *w)
{
    if (w->lib->abi == WEBGPU_WGPU || !blob_cache_is_on())
        return NULL;
    str identity = {0};
    gpu_add_identity(&w->base.info, &identity);
    webgpu_pipeline_cache *c = w->pipeline_cache = mem_alloc(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->identity = identity.data;
    c->descriptor.chain.sType = (WGPUSType)STYPE_DAWN_CACHE;
    c->descriptor.isolation_key = webgpu_text(NULL); /* it would become a part of each entry point's name */
    if (has_function_layout(w, c->identity))
        c->descriptor.as.functions = (function_layout){.load = load, .store = store, .user = c};
    else
        c->descriptor.as.callbacks =
            (callback_layout){.load = store_or_load, .load_user1 = c, .store = store_by_callback, .store_user1 = c};
    return &c->descriptor.chain;
}

void webgpu_pipeline_cache_free(webgpu *w)
{
    webgpu_pipeline_cache *c = w->pipeline_cache;
    if (!c)
        return;
    while (c->found) {
        found_blob *f = c->found;
        c->found = f->next;
        free_found(f);
    }
    pthread_mutex_destroy(&c->lock);
    free(c->identity);
    free(c);
    w->pipeline_cache = NULL;
}
