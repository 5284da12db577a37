// Message passing between the workgroups of one dispatch, round after round: every workgroup writes fresh values, all pass
// the grid barrier, every workgroup reads what others wrote and counts what differs. A file that includes this says how
// `data` is kept: `load(i)`, `store(i, value)`, and `settle()`, which waits until what a thread has stored is there.
//
// What makes it sharp:
// - what is read behind a barrier was read before, at the same address, when the old value was there for certain: a copy
//   kept in a cache, or by a compiler in a register, is the old one. Every third step does nothing but such looking;
// - a word has two generations side by side, by the round's parity. In two steps without looking between them one is still
//   being read while the other is being written, so that lines which caches hold are half old;
// - a thread reads what a thread with another number wrote: its own workgroup's barrier must have carried that along;
// - words lie in lines of their own (region 0), in lines shared with all other workgroups (1), scattered over everything
//   (2), or are everybody's, written by another workgroup each round and read by all (3).
struct Params {
    steps: u32,       // of three, two are rounds
    words: u32,       // that a workgroup has in a region
    slots: u32,       // words of a region: at least words * workgroups; a power of two
    spin_limit: u32,  // when a barrier gives up
    seed: u32,        // another for each run, so that what an earlier one left behind is wrong
    nothing: u32,     // 0, which compilers do not know
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> gate: array<atomic<u32>>;
// 0: words that were wrong; 1: rounds, summed over all threads; 2: a use for what is not checked;
// 3 to 6: a wrong one's place and round, what was read there and what had been written
@group(0) @binding(3) var<storage, read_write> report: array<atomic<u32>>;

//!include "grid_barrier.wgsl"

// Where `owner` keeps word `w` of a region in a round. Each region is a one-to-one map of (owner, w).
fn place(region: u32, owner: u32, w: u32, workgroups: u32, round: u32) -> u32 {
    var slot = owner * params.words + w;
    if (region == 1u) { slot = w * workgroups + owner; }
    if (region == 2u) { slot = (slot * 0x9e3779b1u) & (params.slots - 1u); }
    if (region == 3u) { slot = w; }
    return (region * params.slots + slot) * 2u + (round & 1u);
}

// At one place no two rounds have the same value.
fn value(at: u32, round: u32) -> u32 { return (at ^ (round * 0x9e3779b1u)) * 0x85ebca6bu + params.seed; }

// What a thread found wrong, and the first of it.
struct Found { wrong: u32, at: u32, round: u32, got: u32 }
var<private> found: Found;

fn check(at: u32, round: u32) {
    let got = load(at);
    if (got != value(at, round)) {
        if (found.wrong == 0u) { found = Found(0u, at, round, got); }
        found.wrong += 1u;
    }
}

// The workgroup whose words are read for `w`: one neighbour, the other, or any.
fn other(which: u32, w: u32, group: u32, workgroups: u32, round: u32) -> u32 {
    if (which == 0u) { return (group + 1u) % workgroups; }
    if (which == 1u) { return (group + workgroups - 1u) % workgroups; }
    let mixed = (w * 0x27d4eb2fu + group * 0x165667b1u + round * 0x9e3779b1u) ^ (w << 7u);
    return (mixed >> 8u) % workgroups;
}

@compute @workgroup_size(THREADS)
fn litmus(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) count: vec3<u32>,
          @builtin(local_invocation_index) local: u32) {
    let group = id.x;
    let workgroups = count.x;
    let shift = params.words / 3u;
    var done = 0u;
    var unchecked = 0u;
    for (var step = 0u; step < params.steps; step++) {
        let only_looks = step % 3u == 0u;
        let round = step - step / 3u + u32(only_looks); // of this step, or the one to come
        // no loop around these two: a compiler that keeps values over a barrier finds them easily
        let near = place(0u, (group + 1u) % workgroups, (local + shift) % params.words, workgroups, round);
        let everyones = place(3u, 0u, (local + shift) % params.words, workgroups, round);
        unchecked += load(near) + load(everyones);

        for (var w = local; w < params.words; w += THREADS) {
            if (only_looks) {
                for (var i = 0u; i < 9u; i++) {
                    let whose = other(i / 3u, w, group, workgroups, round);
                    unchecked += load(place(i % 3u, whose, (w + shift) % params.words, workgroups, round));
                }
            } else {
                for (var region = 0u; region < 4u; region++) {
                    if (region < 3u || (w + round) % workgroups == group) {
                        let at = place(region, group, w, workgroups, round);
                        store(at, value(at, round));
                    }
                }
            }
        }

        settle();
        if (grid_barrier(local, step + 1u, workgroups, params.spin_limit)) { break; }
        if (only_looks) { continue; }

        check(everyones, round);
        check(near, round);
        for (var w = local; w < params.words; w += THREADS) {
            for (var i = 0u; i < 10u; i++) { // the last of them is everyone's
                let whose = other(i / 3u, w, group, workgroups, round);
                let region = select(i % 3u, 3u, i == 9u);
                check(place(region, whose, (w + shift) % params.words, workgroups, round), round);
            }
        }
        done += 1u;
    }
    atomicAdd(&report[1], done);
    atomicAdd(&report[2], unchecked);
    // no more than 1,000 of each thread, so that the sum stays in its word
    if (found.wrong > 0u && atomicAdd(&report[0], min(found.wrong, 1000u)) == 0u) {
        atomicStore(&report[3], found.at);
        atomicStore(&report[4], found.round);
        atomicStore(&report[5], found.got);
        atomicStore(&report[6], value(found.at, found.round));
    }
}
