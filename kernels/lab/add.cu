//!include "chain.cu"
const unsigned THREADS = 64, N = 1024;

__device__ void step_body(unsigned v, unsigned step, unsigned local, const Params *params,
                          const float *__restrict__ weights, volatile unsigned *state) {
    unsigned i = v * THREADS + local, old = (step & 1) * N;
    store(state, N - old + i, load(state, old + (i + 257) % N) + 1.0f);
}
