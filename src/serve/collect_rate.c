/* collect_rate: a bucket of permissions for each address, which fills up by and by. */
#include "serve/collect_rate.h"

#include "base/clock.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two addresses that fall together share a bucket; one in thousands does. */
enum { BUCKETS = 8192 };

typedef struct bucket {
    double left, since_s; /* how many may still come, as of then */
    bool is_used;
} bucket;

struct collect_rate {
    double most, per_second;
    uint64_t salt; /* so that nobody can choose whom to share a bucket with */
    pthread_mutex_t mutex;
    bucket buckets[BUCKETS];
};

static uint64_t random_salt(void)
{
    uint64_t salt = (uint64_t)(clock_us() * 1000);
    FILE *f = fopen("/dev/urandom", "rb");
    if (f) {
        if (fread(&salt, sizeof salt, 1, f) != 1)
            salt ^= (uint64_t)(uintptr_t)f;
        fclose(f);
    }
    return salt;
}

collect_rate *collect_rate_new(uint32_t per_minute)
{
    collect_rate *r = mem_alloc(sizeof *r);
    r->most = per_minute;
    r->per_second = per_minute / 60.0;
    r->salt = random_salt();
    pthread_mutex_init(&r->mutex, NULL);
    return r;
}

void collect_rate_free(collect_rate *r)
{
    pthread_mutex_destroy(&r->mutex);
    free(r);
}

static bucket *bucket_of(collect_rate *r, const char *address)
{
    struct in6_addr six;
    uint64_t hash = str_hash(STR_HASH_BEGIN, (const char *)&r->salt, sizeof r->salt);
    if (inet_pton(AF_INET6, address, &six) == 1 && !IN6_IS_ADDR_V4MAPPED(&six))
        hash = str_hash(hash, (const char *)&six, 8);
    else
        hash = str_hash(hash, address, strlen(address));
    return &r->buckets[(hash ^ hash >> 32) % BUCKETS];
}

bool collect_rate_take(collect_rate *r, const char *address, double now_s, uint32_t *wait_s)
{
    if (r->most == 0)
        return true;
    pthread_mutex_lock(&r->mutex);
    bucket *b = bucket_of(r, address);
    double left = b->is_used ? fmin(b->left + (now_s - b->since_s) * r->per_second, r->most) : r->most;
    bool may = left >= 1;
    *b = (bucket){may ? left - 1 : left, now_s, true};
    pthread_mutex_unlock(&r->mutex);
    *wait_s = may ? 0 : (uint32_t)ceil((1 - left) / r->per_second);
    return may;
}
