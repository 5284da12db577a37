//!include "chain.cu"
const unsigned MAX_WORKGROUPS = 4096;

__device__ void step_body(unsigned v, unsigned step, unsigned local, const Params *params,
                          const float *__restrict__ weights, volatile unsigned *state) {
    if (local == 0) {
        unsigned old = (step & 1) * MAX_WORKGROUPS;
        state[MAX_WORKGROUPS - old + v] = state[old + (v + 1) % params->workgroups] + 1;
    }
}
