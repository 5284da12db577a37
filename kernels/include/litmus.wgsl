// Message passing between the workgroups of one dispatch, round after round: every workgroup writes fresh values, all
// pass the grid barrier, every workgroup reads what others wrote and counts what differs. The barrier and the exchange
// are those of persistent.wgsl, exchange.wgsl and epoch.wgsl, as models and simulations have them. A file that
// includes this one declares `data` with `data_load(i)` and `data_store(i, word)`.
//
// What makes it sensitive:
// - words read after a barrier were read before it, at the same address, when the old value was there for certain: a
//   copy kept in a cache, or by a compiler in a register, is the old one. Every third step does nothing but such
//   reading;
// - a word has two generations side by side, by the round's parity. In two steps without such reading between them one
//   is still being read while the other is being written, so that lines which caches hold are half old;
// - a thread reads what a thread with another number wrote: its own workgroup's barrier must have carried that along;
// - words lie in lines of their own (region 0), in lines shared with all other workgroups (1), scattered over
//   everything (2), or are everybody's, written by another workgroup each round and read by all (3);
// - floats are polled by their epoch bit without a barrier, from a neighbour and from any workgroup.
struct Params {
    launch: solo_launch_params,
    steps: u32, // of three, two are rounds
    words: u32, // that a workgroup has in a region
    slots: u32, // words of a region: at least words * workgroups; a power of two
    seed: u32,  // another for each run, so that what an earlier one left behind is wrong
}
@group(0) @binding(0) var<uniform> solo_params: Params;
@group(0) @binding(2) var<storage, read_write> solo_grid: array<atomic<u32>>;
// 0: words that were wrong; 1: rounds, summed over all threads; 2: a use for what is not checked;
// 3 to 6: a wrong one's place and round, what was read there and what had been written
@group(0) @binding(3) var<storage, read_write> report: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> floats: array<atomic<u32>>;

const EPOCH_BIT = 1u;
const EPOCH_MARKED = 1u;
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits & ~EPOCH_BIT); }

//!include "persistent.wgsl"
//!include "epoch.wgsl" ARRAY=floats

// Where `owner` keeps word `w` of a region in a round. Each region is a one-to-one map of (owner, w).
fn place(region: u32, owner: u32, w: u32, workgroups: u32, round: u32) -> u32 {
    var slot = owner * solo_params.words + w;
    if (region == 1u) { slot = w * workgroups + owner; }
    if (region == 2u) { slot = (slot * 0x9e3779b1u) & (solo_params.slots - 1u); }
    if (region == 3u) { slot = w; }
    return (region * solo_params.slots + slot) * 2u + (round & 1u);
}

// At one place no two rounds have the same value.
fn value(at: u32, round: u32) -> u32 { return (at ^ (round * 0x9e3779b1u)) * 0x85ebca6bu + solo_params.seed; }

// What a thread found wrong, and the first of it.
struct Found { wrong: u32, at: u32, round: u32, got: u32 }
var<private> found: Found;

fn check(at: u32, round: u32) {
    let got = data_load(at);
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

const FLOATS = 0x40000000u; // places from here on are those of floats

fn wanted_at(at: u32, round: u32) -> u32 {
    if (at >= FLOATS) { return bitcast<u32>(float_value(at - FLOATS, round)); }
    return value(at, round);
}

// A float from 1 to 2 whose lowest bit is free, for word w of a workgroup.
fn float_value(at: u32, round: u32) -> f32 { return bitcast<f32>((value(at, round) & 0x007ffffeu) | 0x3f800000u); }

fn check_float(at: u32, round: u32) {
    var bits = bits_at(at);
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        if (is_stale(bits) == 0u || !keep_spinning(spins)) { break; }
        bits = bits_at(at);
    }
    if (is_stale(bits) != 0u) { return; } // timed out: no verdict
    let got = bits & ~EPOCH_BIT;
    if (got != bitcast<u32>(float_value(at, round))) {
        if (found.wrong == 0u) { found = Found(0u, FLOATS + at, round, got); }
        found.wrong += 1u;
    }
}

// Every workgroup writes its floats of this round, and reads others' as soon as they are there. The barrier that
// follows keeps the next round from overwriting what is still being read.
fn exchange_floats(group: u32, local: u32, shift: u32, workgroups: u32, round: u32) {
    start_round(round - 1u); // rounds count from 1
    for (var w = local; w < solo_params.words; w += THREADS) {
        let at = group * solo_params.words + w;
        store(at, float_value(at, round));
    }
    workgroupBarrier(); // as between two phases
    for (var w = local; w < solo_params.words; w += THREADS) {
        for (var which = 0u; which < 3u; which++) {
            let whose = other(which, w, group, workgroups, round);
            check_float(whose * solo_params.words + (w + shift) % solo_params.words, round);
        }
    }
}

@compute @workgroup_size(THREADS)
fn litmus(@builtin(workgroup_id) id: vec3<u32>, @builtin(num_workgroups) count: vec3<u32>,
          @builtin(local_invocation_index) local: u32) {
    let group = id.x;
    let workgroups = count.x;
    if (solo_params.launch.roll_call != 0u) { solo_roll_call(local); return; }
    let shift = solo_params.words / 3u;
    var done = 0u;
    var in_time = true;
    var unchecked = 0u;
    for (var step = 0u; step < solo_params.steps; step++) {
        let reads_only = step % 3u == 0u;
        let round = step - step / 3u + u32(reads_only); // of this step, or the one to come
        // no loop around these two: a compiler that keeps values over a barrier finds them easily
        let near = place(0u, (group + 1u) % workgroups, (local + shift) % solo_params.words, workgroups, round);
        let everyones = place(3u, 0u, (local + shift) % solo_params.words, workgroups, round);
        unchecked += data_load(near) + data_load(everyones);

        for (var w = local; w < solo_params.words; w += THREADS) {
            if (reads_only) {
                for (var i = 0u; i < 9u; i++) {
                    let whose = other(i / 3u, w, group, workgroups, round);
                    unchecked += data_load(place(i % 3u, whose, (w + shift) % solo_params.words, workgroups, round));
                }
            } else {
                for (var region = 0u; region < 4u; region++) {
                    if (region < 3u || (w + round) % workgroups == group) {
                        let at = place(region, group, w, workgroups, round);
                        data_store(at, value(at, round));
                    }
                }
            }
        }

        // polling brings workgroups together, so words have rounds without it
        if (reads_only) { exchange_floats(group, local, shift, workgroups, step / 3u + 1u); }
        in_time = solo_barrier(group, local, step + 1u, workgroups);
        if (!in_time) { break; }
        if (reads_only) { continue; }

        check(everyones, round);
        check(near, round);
        for (var w = local; w < solo_params.words; w += THREADS) {
            for (var i = 0u; i < 10u; i++) { // the last of them is everyone's
                let whose = other(i / 3u, w, group, workgroups, round);
                let region = select(i % 3u, 3u, i == 9u);
                check(place(region, whose, (w + shift) % solo_params.words, workgroups, round), round);
            }
        }
        done += 1u;
    }
    if (in_time) { solo_leave(local, workgroups, done); }
    atomicAdd(&report[1], done);
    atomicAdd(&report[2], unchecked);
    // no more than 1,000 of each thread, so that the sum stays in its word
    if (found.wrong > 0u && atomicAdd(&report[0], min(found.wrong, 1000u)) == 0u) {
        atomicStore(&report[3], found.at);
        atomicStore(&report[4], found.round);
        atomicStore(&report[5], found.got);
        atomicStore(&report[6], wanted_at(found.at, found.round));
    }
}
