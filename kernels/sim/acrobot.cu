// acrobot.wgsl by hand: all steps in one kernel, the state in registers, genes copied once.
typedef struct Links { float a1, a2, v1, v2; } Links;

SOLO_DEVICE Links change(Links s, float torque) {
    const float half_pi = 1.57079633f;
    float c = cosf(s.a2), n = sinf(s.a2);
    float d1 = 3.5f + c, d2 = 1.25f + 0.5f * c;
    float phi2 = 4.9f * cosf(s.a1 + s.a2 - half_pi);
    float phi1 = -0.5f * s.v2 * s.v2 * n - s.v2 * s.v1 * n + 14.7f * cosf(s.a1 - half_pi) + phi2;
    Links k;
    k.a1 = s.v1;
    k.a2 = s.v2;
    k.v2 = (torque + d2 / d1 * phi1 - 0.5f * s.v1 * s.v1 * n - phi2) / (1.25f - d2 * d2 / d1);
    k.v1 = -(d2 * k.v2 + phi1) / d1;
    return k;
}

SOLO_DEVICE Links moved(Links s, Links k, float by) {
    Links m = {s.a1 + by * k.a1, s.a2 + by * k.a2, s.v1 + by * k.v1, s.v2 + by * k.v2};
    return m;
}

SOLO_DEVICE float wrapped(float a) {
    while (a > 3.14159265f) a -= 6.2831853f;
    while (a < -3.14159265f) a += 6.2831853f;
    return a;
}

SOLO_DEVICE float limited(float x, float most) { return fminf(fmaxf(x, -most), most); }

SOLO_KERNEL void solo_all(const Params *run, unsigned *states, unsigned *scores, const float *data, float *genomes, unsigned *traced,
                          unsigned *gate, unsigned *shared) {
    enum { UNITS = 16, OUT = 7 * UNITS, GENES = OUT + 3 * UNITS + 3 };
    unsigned i = SOLO_INDIVIDUAL, n = run->population;
    (void)data, (void)traced, (void)gate, (void)shared;
    if (i >= n) return;
    float own[GENES];
    SOLO_UNROLL_UNITS
    for (unsigned k = 0; k < GENES; k++) own[k] = genomes[k * n + i];
    float u[2], w[2];
    solo_draw(run, i, 0xffffffffu, 0, u);
    solo_draw(run, i, 0xffffffffu, 1, w);
    Links s = {0.2f * u[0] - 0.1f, 0.2f * u[1] - 0.1f, 0.2f * w[0] - 0.1f, 0.2f * w[1] - 0.1f};
    unsigned action = 0, steps = 0, arrived = 0;
    for (unsigned t = 0; t < run->steps && !arrived; t++) {
        float seen[6] = {cosf(s.a1), sinf(s.a1), cosf(s.a2), sinf(s.a2), s.v1, s.v2};
        float sums[3] = {own[OUT + 3 * UNITS], own[OUT + 3 * UNITS + 1], own[OUT + 3 * UNITS + 2]};
        SOLO_UNROLL_UNITS
        for (unsigned h = 0; h < UNITS; h++) {
            float sum = own[6 * UNITS + h];
            SOLO_UNROLL
            for (unsigned k = 0; k < 6; k++) sum += own[h * 6 + k] * seen[k];
            float unit = solo_tanh(sum);
            SOLO_UNROLL
            for (unsigned k = 0; k < 3; k++) sums[k] += unit * own[OUT + k * UNITS + h];
        }
        action = sums[0] >= sums[1] && sums[0] >= sums[2] ? 0 : sums[1] >= sums[2] ? 1 : 2;
        float torque = (float)action - 1.0f;
        Links k1 = change(s, torque), k2 = change(moved(s, k1, 0.1f), torque), k3 = change(moved(s, k2, 0.1f), torque);
        Links k4 = change(moved(s, k3, 0.2f), torque);
        Links sum = {k1.a1 + 2.0f * (k2.a1 + k3.a1) + k4.a1, k1.a2 + 2.0f * (k2.a2 + k3.a2) + k4.a2,
                     k1.v1 + 2.0f * (k2.v1 + k3.v1) + k4.v1, k1.v2 + 2.0f * (k2.v2 + k3.v2) + k4.v2};
        s = moved(s, sum, 0.2f / 6.0f);
        s.a1 = wrapped(s.a1);
        s.a2 = wrapped(s.a2);
        s.v1 = limited(s.v1, 12.5663706f);
        s.v2 = limited(s.v2, 28.2743339f);
        steps++;
        arrived = -cosf(s.a1) - cosf(s.a2 + s.a1) > 1.0f;
    }
    unsigned words[7] = {solo_bits(s.a1), solo_bits(s.a2), solo_bits(s.v1), solo_bits(s.v2), action, steps, arrived};
    SOLO_UNROLL
    for (unsigned k = 0; k < 7; k++) states[k * n + i] = words[k];
    scores[i] = solo_bits(-(float)(steps - arrived));
}
