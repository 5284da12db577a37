/* Goes on from saved evolutions of any bytes: as they are, and with the simulation and the checksum that they should
 * have, so that what is behind these is looked at, too. See fuzz_gguf.c for how to run it. */
#define FUZZ_NAME      "evolve"
#define FUZZ_MUTATIONS 50000
#include "base/rng.h"
#include "base/str.h"
#include "fuzz/require.h"
#include "sim/evolution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POPULATION = 4, SETUP_AT = 8 }; /* behind the file's first word; 8 bytes, as the checksum at the end */

static const char SOURCE[] = "const GENES = 2;\n"
                             "struct State { x: f32 }\n"
                             "fn init() -> State { return State(gene(0u)); }\n"
                             "fn step(s: State) -> State { return State(s.x + gene(1u)); }\n"
                             "fn score(s: State) -> f32 { return s.x; }\n";

/* Of a device that computes nothing: its kernels are never made. */
static evolution *open_evolution(void)
{
    static sim_source source;
    static sim s;
    err e = {0};
    gpu *device = gpu_open_now(&(gpu_choice){.impl = "stub"}, &e);
    require(device && sim_source_read(&source, "input", SOURCE, &e), e.text);
    s = (sim){.g = device, .source = &source, .options = {.population = POPULATION, .steps = 1, .evolves = true}};
    s.shared = gpu_buffer_new(device, 2 * POPULATION * source.genes * 4, GPU_USE_STORAGE);
    s.genomes = gpu_buffer_new(device, 2 * POPULATION * source.genes * 4, GPU_USE_STORAGE);
    s.scores = gpu_buffer_new(device, 2 * POPULATION * 4, GPU_USE_STORAGE);
    evolution *v = evolve_new(&s, &EVOLVE_DEFAULTS, &e);
    require(v != NULL, e.text);
    return v;
}

static void read_one(evolution *v, const char *bytes, size_t length)
{
    err e = {0};
    bool ok = evolve_take(v, "saved", bytes, length, &e);
    require(ok == (e.kind == ERR_NONE), "an error beside a result, or neither");
    if (!ok) {
        require_line(&e);
        require(strncmp(e.text, "saved ", 6) == 0, "an error does not name the file");
        return;
    }
    volatile double sum = 0; /* what was read is there */
    const double *best = evolve_best(v);
    for (uint32_t i = 0; i <= evolve_generation(v); i++)
        sum += best[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static evolution *v;
    v = v ? v : open_evolution();
    read_one(v, (const char *)bytes, length);
    if (length < SETUP_AT + 16)
        return 0;
    uint64_t setup = evolve_setup(v);
    char *right = mem_alloc(length);
    memcpy(right, bytes, length);
    memcpy(right + SETUP_AT, &setup, sizeof setup);
    uint64_t sum = str_hash(STR_HASH_BEGIN, right, length - sizeof sum);
    memcpy(right + length - sizeof sum, &sum, sizeof sum);
    read_one(v, right, length);
    free(right);
    return 0;
}

#ifdef FUZZ_MAIN
#include "fuzz/mutate_bytes.h"
#include "fuzz/fuzz_main.h"
#endif
