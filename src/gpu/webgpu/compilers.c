/* compilers: threads that compile kernels ahead, each on a device of its own.
 *
 * Dawn compiles in the background with two threads, however many processors there are, and the calls of one device must come
 * one at a time. So a thread here opens a device like the caller's, and makes the kernel there. The result reaches the
 * caller's device through the pipeline cache: when the caller makes the same kernel, SPIR-V and machine code are found. A
 * kernel that fails here fails there again, with its message; nobody looks at the errors of these devices.
 *
 * A thread that has had nothing to do for a while closes its device and ends. */
#include "gpu/webgpu/compilers.h"

#include "base/blob_cache.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/workers.h"
#include "gpu/identity.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_THREADS = 5,   /* no more than so many kernels take long */
    FEWEST_THREADS = 2, /* one more would not be worth a device */
    IDLE_S = 3,
};

typedef enum { JOB_QUEUED, JOB_BEGUN, JOB_DONE } job_state;

struct webgpu_job {
    gpu_source source;
    gpu_kernel_desc desc;
    job_state state;
    bool abandoned; /* nobody waits for it any more */
    uint64_t given_ns;
    webgpu_job *next;
};

struct webgpu_compilers {
    const webgpu *caller;
    str identity;
    pthread_mutex_t opening; /* of the next */
    WGPUInstance instance;   /* theirs: calls of the caller's instance touch all of its devices */
    uint32_t most;
    bool tells_times;
    pthread_mutex_t lock; /* of all that follows, and of jobs */
    pthread_cond_t given, changed;
    webgpu_job *first, **last; /* queued */
    uint32_t serving, idle;    /* threads that take jobs; those of them that wait for one */
    uint32_t alive;            /* threads that have not ended */
    bool closing;
};

/* On GPUs, a third of the processors: the others read weights. SOLO_COMPILERS=N in the environment: so many; 0: none. */
static uint32_t threads_wanted(const webgpu *caller)
{
    const char *text = getenv("SOLO_COMPILERS");
    uint32_t wanted = text && *text ? (uint32_t)strtoul(text, NULL, 10) : workers_wanted() / 3;
    if (!text && (wanted < FEWEST_THREADS || caller->base.info.type == GPU_TYPE_SOFTWARE))
        return 0;
    return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

webgpu_compilers *webgpu_compilers_new(const webgpu *caller)
{
    uint32_t most = threads_wanted(caller);
    if (most == 0 || !caller->pipeline_cache || caller->lib->abi != WEBGPU_DAWN ||
        caller->choice.adapter == GPU_ADAPTER_SOFTWARE)
        return NULL;
    webgpu_compilers *c = mem_alloc(sizeof *c);
    *c = (webgpu_compilers){.caller = caller, .most = most, .tells_times = getenv("SOLO_COMPILE_TIMES")};
    gpu_add_identity(&caller->base.info, &c->identity);
    c->last = &c->first;
    pthread_mutex_init(&c->opening, NULL);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->given, NULL);
    pthread_cond_init(&c->changed, NULL);
    return c;
}

uint32_t webgpu_compilers_count(const webgpu_compilers *c)
{
    return c->most;
}

/* ---- jobs ------------------------------------------------------------------------------------- */

static webgpu_job *job_new(const gpu_kernel_desc *desc)
{
    webgpu_job *job = mem_alloc(sizeof *job);
    *job = (webgpu_job){.desc = *desc, .given_ns = clock_ns()};
    job->source = (gpu_source){.name = mem_dup(desc->source->name), .wgsl = mem_dup(desc->source->wgsl)};
    job->desc.source = &job->source;
    job->desc.entry = mem_dup(desc->entry);
    job->desc.ahead = false;
    return job;
}

static void job_free(webgpu_job *job)
{
    free((char *)job->source.name);
    free((char *)job->source.wgsl);
    free((char *)job->desc.entry);
    free(job);
}

/* ---- what was compiled before ------------------------------------------------------------------- */

static str mark_key(const webgpu_compilers *c, const gpu_kernel_desc *desc)
{
    str key = {0};
    const char *wgsl = desc->source->wgsl;
    str_addf(&key, "compiled kernel %s %016llx, %u bindings\n%s", desc->entry,
             (unsigned long long)str_hash(0, wgsl, strlen(wgsl)), desc->binding_count, c->identity.data);
    return key;
}

bool webgpu_compilers_know(const webgpu_compilers *c, const gpu_kernel_desc *desc)
{
    str key = mark_key(c, desc);
    size_t bytes;
    void *mark = blob_cache_get(key.data, key.length, &bytes);
    free(mark);
    str_free(&key);
    return mark;
}

void webgpu_compilers_note(const webgpu_compilers *c, const gpu_kernel_desc *desc)
{
    str key = mark_key(c, desc);
    blob_cache_put(key.data, key.length, "", 1);
    str_free(&key);
}

static void compile(webgpu_compilers *c, webgpu *device, const webgpu_job *job)
{
    uint64_t began_ns = clock_ns();
    webgpu_kernel_free(webgpu_kernel_new(&device->base, &job->desc));
    if (device->base.error.kind == ERR_NONE && !device->base.lost)
        webgpu_compilers_note(c, &job->desc);
    err_clear(&device->base.error);
    if (c->tells_times)
        fprintf(stderr, "solo: compiled %s in %.3f s, begun after %.3f s\n", job->source.name,
                (double)(clock_ns() - began_ns) / 1e9, (double)(began_ns - job->given_ns) / 1e9);
}

/* ---- threads, which hold the lock except where they compile -------------------------------------- */

/* The next job; NULL: it is time to end. */
static webgpu_job *take_job(webgpu_compilers *c)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += IDLE_S;
    c->idle++;
    while (!c->first && !c->closing && pthread_cond_timedwait(&c->given, &c->lock, &until) != ETIMEDOUT)
        ;
    c->idle--;
    webgpu_job *job = c->closing ? NULL : c->first;
    if (!job)
        return NULL;
    c->first = job->next;
    if (!c->first)
        c->last = &c->first;
    job->state = JOB_BEGUN;
    return job;
}

static void end_job(webgpu_compilers *c, webgpu_job *job)
{
    job->state = JOB_DONE;
    if (job->abandoned)
        job_free(job);
    pthread_cond_broadcast(&c->changed);
}

/* One at a time: drivers open devices one after the other anyway. NULL: there is none. */
static webgpu *open_device(webgpu_compilers *c)
{
    bool unused;
    pthread_mutex_lock(&c->opening);
    if (!c->instance)
        c->instance = webgpu_instance_new(c->caller->lib, &unused);
    webgpu *device = c->instance ? webgpu_open_beside(c->caller, c->instance) : NULL;
    pthread_mutex_unlock(&c->opening);
    return device;
}

static void *work(void *user)
{
    webgpu_compilers *c = user;
    webgpu *device = open_device(c); /* without one, jobs are done by nobody here, and by the caller in the end */
    pthread_mutex_lock(&c->lock);
    for (webgpu_job *job; (job = take_job(c));) {
        pthread_mutex_unlock(&c->lock);
        if (device && !device->base.lost)
            compile(c, device, job);
        pthread_mutex_lock(&c->lock);
        end_job(c, job);
    }
    c->serving--;
    pthread_mutex_unlock(&c->lock);
    if (device)
        webgpu_close(&device->base);
    pthread_mutex_lock(&c->lock);
    c->alive--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void start_thread(webgpu_compilers *c)
{
    pthread_t thread;
    sigset_t all, before; /* signals are for the threads that expect them */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, work, c) == 0) {
        pthread_detach(thread);
        c->serving++;
        c->alive++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the caller ------------------------------------------------------------------------------- */

static uint32_t count_queued(const webgpu_compilers *c)
{
    uint32_t count = 0;
    for (const webgpu_job *job = c->first; job; job = job->next)
        count++;
    return count;
}

webgpu_job *webgpu_compilers_give(webgpu_compilers *c, const gpu_kernel_desc *desc)
{
    webgpu_job *job = job_new(desc);
    pthread_mutex_lock(&c->lock);
    *c->last = job;
    c->last = &job->next;
    if (count_queued(c) > c->idle && c->serving < c->most)
        start_thread(c);
    pthread_cond_signal(&c->given);
    pthread_mutex_unlock(&c->lock);
    return job;
}

bool webgpu_job_is_done(webgpu_compilers *c, const webgpu_job *job)
{
    pthread_mutex_lock(&c->lock);
    bool done = job->state == JOB_DONE;
    pthread_mutex_unlock(&c->lock);
    return done;
}

/* Out of the queue, where it stands. */
static void take_back(webgpu_compilers *c, const webgpu_job *job)
{
    webgpu_job **at = &c->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (!*at)
        c->last = at;
}

bool webgpu_job_finish(webgpu_compilers *c, webgpu_job *job)
{
    pthread_mutex_lock(&c->lock);
    bool queued = job->state == JOB_QUEUED;
    if (queued) /* sooner done by the caller */
        take_back(c, job);
    while (!queued && job->state != JOB_DONE)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    job_free(job);
    return !queued;
}

void webgpu_job_abandon(webgpu_compilers *c, webgpu_job *job)
{
    pthread_mutex_lock(&c->lock);
    bool begun = job->state == JOB_BEGUN;
    if (job->state == JOB_QUEUED)
        take_back(c, job);
    job->abandoned = begun;
    pthread_mutex_unlock(&c->lock);
    if (!begun)
        job_free(job);
}

void webgpu_compilers_free(webgpu_compilers *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_cond_broadcast(&c->given);
    while (c->alive > 0)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    if (c->instance)
        c->caller->lib->InstanceRelease(c->instance);
    str_free(&c->identity);
    pthread_mutex_destroy(&c->opening);
    pthread_cond_destroy(&c->changed);
    pthread_cond_destroy(&c->given);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
