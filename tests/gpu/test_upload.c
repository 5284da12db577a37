/* What loading a model costs beside the buffers it ends in: what is on its way to them
 * is in memory of the host until the queue has run, and all of a model at once
 * would double it. On a software device the GPU's memory is the process' own, so
 * the highest memory of the process says all of it. */
#include "devices.h"
#include "graph/memory.h"

#include <sys/mman.h>

enum { COLUMNS = 4096, SMALL = 1024, LARGE = 16384, SMALL_COUNT = 12 };
static const uint64_t MB = 1000000, OURS_MB = 150; /* a second copy of the model is more, what is on its way less */

static uint64_t status_bytes(const char *what)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    unsigned long long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, what, strlen(what)) == 0)
            sscanf(line + strlen(what), ": %llu kB", &kib);
    if (f)
        fclose(f);
    return kib * 1024;
}

/* The highest so far becomes what there is now; false where the system does not let us. */
static bool forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    bool done = f && fputs("5", f) >= 0;
    return f && fclose(f) == 0 && done;
}

/* Zeros that were never written take no memory. */
static void *zeros;
static const void *find_weight(void *unused, const char *name, uint64_t first, uint64_t bytes, err *e)
{
    (void)bytes, (void)e;
    (void)unused, (void)name;
    return (const char *)zeros + first;
}

/* y = W x, for small ones and a last one that is larger than what may be on its way. */
static graph *make_graph(void)
{
    graph *g = graph_new();
    node x = graph_input(g, "x", DTYPE_F32, shape2(1, COLUMNS));
    for (int i = 0; i <= SMALL_COUNT; i++) {
        char weight[16], out[16];
        snprintf(weight, sizeof weight, "w%d", i);
        snprintf(out, sizeof out, "y%d", i);
        node w = graph_weight(g, weight, TYPE_F16, shape2(i < SMALL_COUNT ? SMALL : LARGE, COLUMNS));
        graph_output(g, out, graph_matmul(g, x, w));
    }
    return g;
}

static void test_one_copy(void **unused)
{
    (void)unused;
    err e = {0};
    if (gpu_get_info(device)->type != GPU_TYPE_SOFTWARE) {
        print_message("a GPU's memory is not the process': nothing to see here\n");
        skip();
    }
    uint64_t file_bytes = (uint64_t)LARGE * COLUMNS * 2;
    zeros = mmap(NULL, file_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(zeros, MAP_FAILED);
    graph *g = make_graph();
    plan *p = plan_new(g, gpu_get_info(device)->max_storage_binding_bytes);
    if (!gpu_wait(device, &e) || !forget_peak())
        skip();
    uint64_t before = status_bytes("VmHWM");
    setenv("SOLO_THREADS", "16", 1); /* the most there are without asking, and so the most stages */
    memory *m = memory_new(device, &p, 1, &e);
    if (!m || !memory_upload(m, find_weight, NULL, &e))
        fail_msg("%s", e.text);
    /* Whatever was put off is done before this. */
    uint32_t word = 1;
    if (!gpu_read_now(device, memory_weights(m, 0), 0, &word, sizeof word, &e))
        fail_msg("%s", e.text);
    assert_int_equal(word, 0);
    uint64_t peak = status_bytes("VmHWM") - before, needed = memory_bytes(m);
    print_message("%s: %llu MB of buffers, at most %llu MB in all\n", gpu_get_info(device)->impl,
                  (unsigned long long)(needed / MB), (unsigned long long)(peak / MB));
    assert_true(needed > OURS_MB * MB * 3 / 2);
    assert_in_range(peak, needed / 2, needed + OURS_MB * MB); /* zeros may be kept without memory */
    unsetenv("SOLO_THREADS");
    memory_free(m);
    plan_free(p);
    graph_free(g);
    munmap(zeros, file_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_copy)};
    return RUN_ON_EACH(tests);
}
