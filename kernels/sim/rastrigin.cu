// rastrigin.wgsl by hand.
SOLO_KERNEL void solo_all(const Params *run, unsigned *states, unsigned *scores, const float *data, float *genomes, unsigned *traced,
                          unsigned *gate, unsigned *shared) {
    unsigned i = SOLO_INDIVIDUAL, n = run->population;
    (void)data, (void)traced, (void)gate, (void)shared;
    if (i >= n) return;
    float sum = 10.0f * (float)DIMENSIONS;
    for (unsigned k = 0; k < DIMENSIONS; k++) {
        float x = genomes[k * n + i];
        sum += x * x - 10.0f * cosf(6.2831853f * x);
    }
    states[i] = solo_bits(sum);
    scores[i] = solo_bits(-sum);
}
