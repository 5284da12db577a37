// A barrier over all workgroups of a dispatch, for dispatches whose workgroups
// are all resident at once. `gate[0]` counts arrivals and never goes back, so
// the n-th barrier is passed when it reaches n * workgroups. A workgroup that
// spins `spin_limit` times without success raises the abort flag `gate[1]`,
// and everyone leaves: nothing hangs when the promise of residency is broken.
//
// Everything one workgroup writes for another to read goes through atomics:
// plain stores may not be visible there, barrier or not.
var<workgroup> must_leave: u32;

fn grid_barrier(local: u32, nth: u32, workgroups: u32, spin_limit: u32) -> bool {
    storageBarrier();
    workgroupBarrier();
    if (local == 0u) {
        atomicAdd(&gate[0], 1u);
        var spins = 0u;
        loop {
            if (atomicLoad(&gate[0]) >= nth * workgroups) { break; }
            if (atomicLoad(&gate[1]) != 0u) { break; }
            spins += 1u;
            if (spins > spin_limit) { atomicStore(&gate[1], 1u); }
        }
        must_leave = atomicLoad(&gate[1]);
    }
    return workgroupUniformLoad(&must_leave) != 0u;
}
