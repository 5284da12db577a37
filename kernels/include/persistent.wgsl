// A dispatch whose workgroups wait for each other: grid barrier, visibility of stores, roll call. The megakernel,
// simulations, the chains of the laboratory and the litmus test contain this very file, so the litmus test certifies
// the code that is used.
//
// All workgroups must be resident at once. solo_grid[SOLO_ARRIVED] counts arrivals: the n-th barrier is passed when it
// reaches n * workgroups. Its highest bit says that a workgroup timed out; then every workgroup leaves. So nothing
// hangs when the promise of residency is broken.
//
// No barrier of WGSL orders what one workgroup writes for another: a workgroup may see all arrivals before it sees all
// data. So data that crosses workgroups is written by atomicExchange (exchange.wgsl), and a thread arrives only after
// the old values have returned, which proves that the new ones are visible.
//
// The module declares the uniform buffer `solo_params`, a struct whose first member is `launch: solo_launch_params`,
// and `solo_grid: array<atomic<u32>>`.
struct solo_launch_params {
    roll_call: u32,  // 1: only count the resident workgroups
    spin_limit: u32, // polls until a wait times out
    stall: u32,      // for tests: the barrier, counted from 1, at which workgroup 0 does not arrive; 0: none
    zero: u32,       // 0, which compilers do not know
    @size(16) polls_epoch: u32, // 1: readers of floats poll their epoch bit (epoch.wgsl)
}

const SOLO_ARRIVED = 0u;   // arrivals at barriers, and SOLO_TIMED_OUT
const SOLO_LEFT = 1u;      // workgroups that are done
const SOLO_SIGNED_IN = 2u; // workgroups at the roll call
const SOLO_RESIDENT = 3u;  // its result
const SOLO_SINK = 4u;      // a use for what nobody needs
const SOLO_ROUNDS = 5u;    // rounds that all dispatches have made
const SOLO_TIMED_OUT = 0x80000000u;
// A bound that is never reached. Where bounds are checked, as in browsers, compilers see the end of loops that count
// by one up to a constant; all others get a counter of their own.
const SOLO_MAX_SPINS = 0xffffffffu;

var<workgroup> solo_arrivals_seen: u32;
var<private> solo_exchanged: u32; // old values of what this thread has written

// Waits until the stores of this thread are visible to all: compilers do not know that `zero` is 0.
fn solo_drain_stores() {
    if ((solo_exchanged & solo_params.launch.zero) != 0u) { atomicStore(&solo_grid[SOLO_SINK], solo_exchanged); }
    solo_exchanged = 0u;
}

// The workgroup arrives at its nth barrier.
fn solo_arrive(group: u32, local: u32, nth: u32) {
    solo_drain_stores();
    storageBarrier();
    if (local == 0u && (group > 0u || nth != solo_params.launch.stall)) { atomicAdd(&solo_grid[SOLO_ARRIVED], 1u); }
}

// Polls until so many have arrived. Once a workgroup has timed out, nobody waits any more.
fn solo_poll_arrivals(local: u32, wanted: u32) {
    if (local == 0u) {
        var seen = atomicLoad(&solo_grid[SOLO_ARRIVED]);
        for (var spins = 1u; spins < SOLO_MAX_SPINS; spins++) {
            if (seen >= wanted) { break; }
            if (spins > solo_params.launch.spin_limit) { atomicOr(&solo_grid[SOLO_ARRIVED], SOLO_TIMED_OUT); }
            seen = atomicLoad(&solo_grid[SOLO_ARRIVED]);
        }
        solo_arrivals_seen = seen;
    }
}

// Whether no workgroup had timed out when this one last polled. Results computed before this is asked are not kept.
fn solo_in_time() -> bool { return workgroupUniformLoad(&solo_arrivals_seen) < SOLO_TIMED_OUT; }

// A barrier over all workgroups; false: one timed out, and all must leave.
fn solo_barrier(group: u32, local: u32, nth: u32, workgroups: u32) -> bool {
    solo_arrive(group, local, nth);
    solo_poll_arrivals(local, nth * workgroups);
    return solo_in_time();
}

// Every workgroup signs in; the first that has waited long enough says how many there are. Workgroups that could not
// run until then see that it is over.
fn solo_roll_call(local: u32) {
    if (local == 0u) {
        atomicAdd(&solo_grid[SOLO_SIGNED_IN], 1u);
        for (var spins = 1u; spins < SOLO_MAX_SPINS; spins++) {
            if (atomicLoad(&solo_grid[SOLO_RESIDENT]) != 0u) { break; }
            if (spins > solo_params.launch.spin_limit) {
                atomicMax(&solo_grid[SOLO_RESIDENT], atomicLoad(&solo_grid[SOLO_SIGNED_IN]));
            }
        }
    }
}

// The last workgroup to leave resets the barrier for the next dispatch. Rounds count on: the epoch bit follows them.
fn solo_leave(local: u32, workgroups: u32, rounds: u32) {
    if (local == 0u && atomicAdd(&solo_grid[SOLO_LEFT], 1u) + 1u == workgroups) {
        atomicAdd(&solo_grid[SOLO_ROUNDS], rounds);
        atomicStore(&solo_grid[SOLO_ARRIVED], 0u);
        atomicStore(&solo_grid[SOLO_LEFT], 0u);
    }
}
