// The CUDA control of chain.wgsl: the same steps, the same two launches.
struct Params { unsigned step, steps, workgroups, spin_limit; };

__device__ float load(volatile unsigned *state, unsigned i) { return __uint_as_float(state[i]); }
__device__ void store(volatile unsigned *state, unsigned i, float value) { state[i] = __float_as_uint(value); }

__device__ void step_body(unsigned v, unsigned step, unsigned local, const Params *params,
                          const float *__restrict__ weights, volatile unsigned *state);

__device__ bool grid_barrier(volatile unsigned *gate, unsigned local, unsigned nth, unsigned workgroups,
                             unsigned spin_limit) {
    __shared__ unsigned must_leave;
    __threadfence();
    __syncthreads();
    if (local == 0) {
        atomicAdd((unsigned *)&gate[0], 1u);
        unsigned spins = 0;
        while (gate[0] < nth * workgroups && !gate[1])
            if (++spins > spin_limit) gate[1] = 1;
        must_leave = gate[1];
        __threadfence();
    }
    __syncthreads();
    return must_leave != 0;
}

extern "C" __global__ void each(const Params *params, const float *__restrict__ weights, volatile unsigned *state,
                                volatile unsigned *gate) {
    step_body(blockIdx.x, params->step, threadIdx.x, params, weights, state);
}

extern "C" __global__ void one(const Params *params, const float *__restrict__ weights, volatile unsigned *state,
                               volatile unsigned *gate) {
    for (unsigned s = 0; s < params->steps; s++) {
        for (unsigned v = blockIdx.x; v < params->workgroups; v += gridDim.x)
            step_body(v, params->step + s, threadIdx.x, params, weights, state);
        if (grid_barrier(gate, threadIdx.x, s + 1, gridDim.x, params->spin_limit)) return;
    }
}
