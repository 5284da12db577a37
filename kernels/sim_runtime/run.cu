// What hand-written CUDA kernels of simulations share: the control for the fused WGSL. The buffers and parameters are those
// of run.wgsl. Written in the part of C++ that is also C, so that tests run it on a CPU.
#ifdef __CUDACC_RTC__
#define SOLO_KERNEL extern "C" __global__
#define SOLO_DEVICE static __device__ __forceinline__
#define SOLO_INDIVIDUAL ((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x)
#define SOLO_UNROLL _Pragma("unroll")
#ifdef SOLO_LOOPS // over a network's units: kept, or written out
#define SOLO_UNROLL_UNITS _Pragma("unroll 1")
#else
#define SOLO_UNROLL_UNITS SOLO_UNROLL
#endif
#endif
#ifdef SOLO_FAST // as --use_fast_math would have it, and about as exact as WGSL asks for
#define sinf __sinf
#define cosf __cosf
#define expf __expf
#define logf __logf
SOLO_DEVICE float solo_tanh(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#else
#define solo_tanh tanhf
#endif

typedef struct Params {
    unsigned launch[8]; // include/persistent.wgsl
    unsigned population, step, steps, begins, scores, seed, generation, generations, trace_count, trace_every, tournament, elite;
    float crossover, mutation, sigma;
    unsigned total;
} Params;

SOLO_DEVICE unsigned solo_bits(float x) {
    union { float f; unsigned u; } w;
    w.f = x;
    return w.u;
}

// The n-th pair that individual i draws in a step; 0xffffffff: at the beginning.
SOLO_DEVICE void solo_draw(const Params *run, unsigned i, unsigned step, unsigned n, float out[2]) {
    const unsigned turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const unsigned keys[3] = {run->seed + run->generation * 0x9e3779b9u, i, 0x1bd11bdau ^ (run->seed + run->generation * 0x9e3779b9u) ^ i};
    unsigned x = step + keys[0], y = n + keys[1];
    SOLO_UNROLL
    for (unsigned k = 0; k < 20; k++) {
        x += y;
        y = (y << turns[k % 8] | y >> (32 - turns[k % 8])) ^ x;
        if (k % 4 == 3) {
            x += keys[(k / 4 + 1) % 3];
            y += keys[(k / 4 + 2) % 3] + k / 4 + 1;
        }
    }
    out[0] = (float)(x >> 8) * 0x1p-24f;
    out[1] = (float)(y >> 8) * 0x1p-24f;
}
