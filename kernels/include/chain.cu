// The CUDA control of chain.wgsl: the same steps, the same two launches.
struct Params {
    unsigned roll_call, spin_limit, stall, zero, polls_epoch, unused[3]; // as in persistent.wgsl
    unsigned step, steps, workgroups;
};
enum { ARRIVED, LEFT, SIGNED_IN, RESIDENT };
#define TIMED_OUT 0x80000000u

__device__ float load(volatile unsigned *state, unsigned i) { return __uint_as_float(state[i]); }
__device__ void store(volatile unsigned *state, unsigned i, float value) { state[i] = __float_as_uint(value); }

__device__ void step_body(unsigned v, unsigned step, unsigned local, const Params *params,
                          const float *__restrict__ weights, volatile unsigned *state);

// False: a workgroup timed out.
__device__ bool grid_barrier(volatile unsigned *grid, unsigned local, unsigned nth, unsigned workgroups,
                             unsigned spin_limit) {
    __shared__ unsigned seen;
    __threadfence();
    __syncthreads();
    if (local == 0) {
        atomicAdd((unsigned *)&grid[ARRIVED], 1u);
        unsigned spins = 0;
        while ((seen = grid[ARRIVED]) < nth * workgroups)
            if (++spins > spin_limit) atomicOr((unsigned *)&grid[ARRIVED], TIMED_OUT);
        __threadfence();
    }
    __syncthreads();
    return seen < TIMED_OUT;
}

__device__ void roll_call(volatile unsigned *grid, unsigned local, unsigned spin_limit) {
    if (local == 0) {
        unsigned spins = 0;
        atomicAdd((unsigned *)&grid[SIGNED_IN], 1u);
        while (!grid[RESIDENT])
            if (++spins > spin_limit) atomicMax((unsigned *)&grid[RESIDENT], grid[SIGNED_IN]);
    }
}

__device__ void leave(volatile unsigned *grid, unsigned local, unsigned workgroups) {
    if (local == 0 && atomicAdd((unsigned *)&grid[LEFT], 1u) + 1 == workgroups) grid[ARRIVED] = grid[LEFT] = 0;
}

extern "C" __global__ void each(const Params *params, const float *__restrict__ weights, volatile unsigned *state,
                                volatile unsigned *grid) {
    step_body(blockIdx.x, params->step, threadIdx.x, params, weights, state);
}

extern "C" __global__ void one(const Params *params, const float *__restrict__ weights, volatile unsigned *state,
                               volatile unsigned *grid) {
    if (params->roll_call) {
        roll_call(grid, threadIdx.x, params->spin_limit);
        return;
    }
    for (unsigned s = 0; s < params->steps; s++) {
        for (unsigned v = blockIdx.x; v < params->workgroups; v += gridDim.x)
            step_body(v, params->step + s, threadIdx.x, params, weights, state);
        if (!grid_barrier(grid, threadIdx.x, s + 1, gridDim.x, params->spin_limit)) return;
    }
    leave(grid, threadIdx.x, gridDim.x);
}
