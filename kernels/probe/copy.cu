extern "C" __global__ void copy(const uint4 *source, uint4 *destination, const unsigned *count) {
    for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < *count; i += gridDim.x * 256) destination[i] = source[i];
}
