// finance.wgsl by hand: all days in one kernel, the account in registers, genes copied once, prices shared by all threads through the caches.
SOLO_KERNEL void solo_all(const Params *run, unsigned *states, unsigned *scores, const float *data, float *genomes, unsigned *traced,
                          unsigned *gate, unsigned *shared) {
    enum { ASSETS = 16, INPUTS = 7, UNITS = 10, OUTPUTS = 6, HISTORY = 20, OUT = UNITS * (INPUTS + UNITS + 1), GENES = OUT + OUTPUTS * UNITS + OUTPUTS };
    unsigned i = SOLO_INDIVIDUAL, n = run->population, trades = 0, calls = 0;
    (void)traced, (void)gate, (void)shared;
    if (i >= n) return;
    float own[GENES];
    SOLO_UNROLL_UNITS
    for (unsigned k = 0; k < GENES; k++) own[k] = genomes[k * n + i];
    float equity = 1.0f, peak = 1.0f, position[ASSETS], hidden[UNITS];
    for (unsigned a = 0; a < ASSETS; a++) position[a] = 0.0f;
    for (unsigned u = 0; u < UNITS; u++) hidden[u] = 0.0f;
    for (unsigned t = 0; t < run->steps && equity >= 0.001f; t++) {
        const float *today = data + (t + HISTORY) * ASSETS;
        float day[ASSETS], week[ASSETS], month[ASSETS], market[4] = {0.0f, 0.0f, 0.0f, 0.0f}, leverage = 0.0f;
        SOLO_UNROLL
        for (unsigned a = 0; a < ASSETS; a++) {
            day[a] = 50.0f * (today[a] / (today - ASSETS)[a] - 1.0f);
            week[a] = 20.0f * (today[a] / (today - 5 * ASSETS)[a] - 1.0f);
            month[a] = 10.0f * (today[a] / (today - HISTORY * ASSETS)[a] - 1.0f);
            market[0] += day[a] / ASSETS;
            market[1] += week[a] / ASSETS;
            market[2] += month[a] / ASSETS;
            market[3] += fabsf(day[a]) / ASSETS;
            leverage += fabsf(position[a]);
        }
        float input[INPUTS] = {market[0], market[1], market[2], market[3], leverage, equity / peak - 1.0f, (float)t / (float)run->total};
        float next[UNITS], output[OUTPUTS], wanted[ASSETS], all = 0.0f, traded = 0.0f;
        SOLO_UNROLL_UNITS
        for (unsigned u = 0; u < UNITS; u++) {
            float sum = own[UNITS * (INPUTS + UNITS) + u];
            SOLO_UNROLL
            for (unsigned k = 0; k < INPUTS; k++) sum += own[u * INPUTS + k] * input[k];
            SOLO_UNROLL
            for (unsigned k = 0; k < UNITS; k++) sum += own[UNITS * INPUTS + u * UNITS + k] * hidden[k];
            next[u] = solo_tanh(sum);
        }
        SOLO_UNROLL
        for (unsigned u = 0; u < UNITS; u++) hidden[u] = next[u];
        SOLO_UNROLL_UNITS
        for (unsigned o = 0; o < OUTPUTS; o++) {
            float sum = own[OUT + OUTPUTS * UNITS + o];
            SOLO_UNROLL
            for (unsigned u = 0; u < UNITS; u++) sum += own[OUT + o * UNITS + u] * hidden[u];
            output[o] = sum;
        }
        SOLO_UNROLL
        for (unsigned a = 0; a < ASSETS; a++) {
            wanted[a] = solo_tanh(output[0] * day[a] + output[1] * week[a] + output[2] * month[a] + output[3] * fabsf(day[a]) + output[4]);
            all += fabsf(wanted[a]);
        }
        float scale = MAX_LEVERAGE / (1.0f + expf(-output[5])) / fmaxf(all, 1.0f);
        leverage = 0.0f;
        SOLO_UNROLL
        for (unsigned a = 0; a < ASSETS; a++) {
            float change = scale * wanted[a] - position[a];
            if (fabsf(change) > BAND) {
                position[a] += change;
                traded += fabsf(change);
                trades++;
            }
            leverage += fabsf(position[a]);
        }
        float gain = -FEE * traded - INTEREST * fmaxf(leverage - 1.0f, 0.0f);
        SOLO_UNROLL
        for (unsigned a = 0; a < ASSETS; a++) {
            float grown = (today + ASSETS)[a] / today[a] - 1.0f;
            gain += position[a] * grown;
            position[a] *= 1.0f + grown;
        }
        float left = fmaxf(1.0f + gain, 0.001f);
        equity *= left;
        leverage = 0.0f;
        SOLO_UNROLL
        for (unsigned a = 0; a < ASSETS; a++) {
            position[a] /= left;
            leverage += fabsf(position[a]);
        }
        if (leverage > MARGIN) {
            equity *= fmaxf(1.0f - PENALTY * leverage, 0.001f);
            SOLO_UNROLL
            for (unsigned a = 0; a < ASSETS; a++) position[a] = 0.0f;
            calls++;
        }
        equity = fmaxf(equity, 1e-6f);
        peak = fmaxf(peak, equity);
    }
    states[i] = solo_bits(equity);
    states[n + i] = solo_bits(peak);
    for (unsigned a = 0; a < ASSETS; a++) states[(2 + a) * n + i] = solo_bits(position[a]);
    for (unsigned u = 0; u < UNITS; u++) states[(2 + ASSETS + u) * n + i] = solo_bits(hidden[u]);
    states[(2 + ASSETS + UNITS) * n + i] = trades;
    states[(3 + ASSETS + UNITS) * n + i] = calls;
    scores[i] = solo_bits(logf(equity));
}
