//!include "chain.cu"
const unsigned THREADS = 256, N = 896, LANES = 32, ROWS = THREADS / LANES;

__device__ void step_body(unsigned v, unsigned step, unsigned local, const Params *params,
                          const float *__restrict__ weights, volatile unsigned *state) {
    __shared__ float x[N], partial[THREADS];
    unsigned old = (step & 1) * N;
    for (unsigned i = local; i < N; i += THREADS) x[i] = load(state, old + i);
    __syncthreads();

    unsigned row = v * ROWS + local / LANES, lane = local % LANES;
    float sum = 0;
    for (unsigned i = lane; i < N; i += LANES) sum += weights[row * N + i] * x[i];
    partial[local] = sum;
    __syncthreads();
    for (unsigned half = LANES / 2; half > 0; half /= 2) {
        if (lane < half) partial[local] += partial[local + half];
        __syncthreads();
    }
    if (lane == 0) store(state, N - old + row, partial[local]);
    __syncthreads();
}
