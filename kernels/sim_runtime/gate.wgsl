// A barrier over all workgroups of a dispatch that are resident at once. `gate[0]` counts arrivals, so that the n-th
// barrier is passed when it reaches n * workgroups; its highest bit says that someone waited too long, and everyone leaves:
// nothing hangs when the promise of residency is broken. The host empties the gate before every dispatch.
const SOLO_GAVE_UP = 0x80000000u;
var<workgroup> solo_seen: u32;
var<private> solo_given_back: u32;

// Whether to go on.
fn solo_barrier(group: u32, local: u32, nth: u32, workgroups: u32) -> bool {
    // Wait for what was given back. Compilers do not know that nobody calls the roll now.
    if ((solo_given_back & solo_run.roll_call) != 0u) { atomicStore(&solo_gate[9], solo_given_back); }
    solo_given_back = 0u;
    storageBarrier();
    workgroupBarrier();
    if (local == 0u && !(group == 0u && nth == solo_run.stall)) {
        atomicAdd(&solo_gate[0], 1u);
        var looks = 0u;
        var seen = atomicLoad(&solo_gate[0]);
        while (seen < nth * workgroups) {
            looks += 1u;
            if (looks > solo_run.spin_limit) { atomicOr(&solo_gate[0], SOLO_GAVE_UP); }
            seen = atomicLoad(&solo_gate[0]);
        }
        solo_seen = seen;
    }
    if (local == 0u && group == 0u && nth == solo_run.stall) { solo_seen = SOLO_GAVE_UP; }
    return workgroupUniformLoad(&solo_seen) < SOLO_GAVE_UP;
}

// Everyone signs in; the first to have waited long enough says how many there are.
fn solo_call_roll(local: u32) {
    if (local == 0u) {
        var looks = 0u;
        atomicAdd(&solo_gate[2], 1u);
        while (atomicLoad(&solo_gate[3]) == 0u) {
            looks += 1u;
            if (looks > solo_run.spin_limit) { _ = atomicCompareExchangeWeak(&solo_gate[3], 0u, atomicLoad(&solo_gate[2])); }
        }
    }
}
