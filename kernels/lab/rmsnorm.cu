//!include "chain.cu"
const unsigned THREADS = 256, N = 896;

__device__ void step_body(unsigned v, unsigned step, unsigned local, const Params *params,
                          const float *__restrict__ weights, volatile unsigned *state) {
    __shared__ float partial[THREADS];
    unsigned old = (step & 1) * N;
    float sum = 0;
    for (unsigned i = local; i < N; i += THREADS) {
        float x = load(state, old + i);
        sum += x * x;
    }
    partial[local] = sum;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (local < half) partial[local] += partial[local + half];
        __syncthreads();
    }
    float scale = rsqrtf(partial[0] / N + 1e-6f);
    for (unsigned i = local; i < N; i += THREADS)
        store(state, N - old + i, load(state, old + (i + 1) % N) * scale * weights[i]);
    __syncthreads();
}
