// Matrix products for a few rows of x that are texts of their own, by matrix units, which read f16 weights from memory
// as they lie there: a fragment is 16 rows of weights by 16 of k. TEAM subgroups share a tile of 16 rows, each with
// every TEAM-th fragment of k, and add up at the end; HELD fragments of each are on their way. A unit is one tile, or
// two where an epilogue needs rows of two places (a gate and its partner, the halves of a head); a workgroup has as
// many units at a time as it has subgroups for.
//
// x lies in workgroup memory as f16, of every row a segment at a time, multiplied by its norm's weight; the norm itself
// is one factor for each row, applied at the end. A row's sums are made in the same order whoever the other rows are.
//!wgsl-only
override THREADS = 512u;
override TEAM = 8u;
override TILES = 1u; // of a unit
override ROWS = 2u; // of x
override COLUMNS = 8u; // of a fragment of x: for as many rows
override LENGTH = 64u; // elements of a row
override SEGMENT_CHUNKS = 8u; // of 8 elements: all, or those of as many whole steps of a team
override TILE_NUMBERS = 2048u; // of x in workgroup memory: the same for all kernels of a megakernel
override NORMS = 0u; // 1: x is normed
override TOGETHER = 2u; // rows of x that a thread reads together: slots_share_x.wgsl
override HELD = 1u; // fragments: STEPS, or fewer if there is one segment
const CHUNK_VEC4S = 2u;
const SHARES = 1u;
fn first_of_share() -> u32 { return 0u; }
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "angle.wgsl"
//!include "matmul.wgsl"
//!include "subgroup_sum.wgsl"

const LANES = 32u; // of a subgroup that multiplies
const SUBGROUPS = THREADS / SUBGROUP; // of those that add up squares
const DEPTH = 16u;
const CHUNKS = LENGTH / CHUNK;
const FRAGMENTS = LENGTH / DEPTH;
const SEGMENT_FRAGMENTS = SEGMENT_CHUNKS * CHUNK / DEPTH;
const SEGMENTS = (FRAGMENTS + SEGMENT_FRAGMENTS - 1u) / SEGMENT_FRAGMENTS;
const STEPS = (SEGMENT_FRAGMENTS + TEAM - 1u) / TEAM; // of a segment
const ALL_STEPS = (FRAGMENTS + TEAM - 1u) / TEAM;
const UNIT_ROW4S = 4u * TILES;
const UNITS_AT_ONCE = THREADS / LANES / TEAM / TILES;
const LINE = SEGMENT_CHUNKS * CHUNK + 8u; // rows lie in different banks
const SUM_LINE = 16u;
const AREA = COLUMNS * SUM_LINE; // of a subgroup's sums: a line for each row of x
//!include "slots_matrix_UNITS.wgsl"
var<workgroup> sums: array<f32, THREADS / LANES * AREA>;

// ---- x --------------------------------------------------------------------------

// f16 ends at 65,504: x is made smaller on its way, and the sums larger again.
const SMALLER = 0.0625;
const LARGER = 16.0;
fn make_table(local: u32) {}

fn put_number(row: u32, i: u32, value: f32) {
    if (i < SEGMENT_CHUNKS * CHUNK && row < ROWS) {
        tile[row * LINE + i] = half_of(clamp(value * SMALLER, -65504.0, 65504.0));
    }
}

fn pack_vec4(value: vec4<f32>, i: u32, local: u32) -> vec4<f32> { return value; }
fn put_row(row: u32, i: u32, elements: vec4<u32>, value: vec4<f32>) {
    put_number(row, elements.x, value.x);
    put_number(row, elements.y, value.y);
    put_number(row, elements.z, value.z);
    put_number(row, elements.w, value.w);
}
//!include "slots_share_x.wgsl"

// ---- weights ----------------------------------------------------------------------

// Have the two tiles of a unit rows of two places?
fn is_apart(args: u32, part: u32) -> bool {
    let form = part_arg(args, part, PART_FORM);
    return (GATES == 1u && form == FORM_GATED) || (ROPE == 1u && form == FORM_ROPE_HALF);
}

fn place_of_tile(args: u32, unit: u32, second: bool) -> u32 {
    let row4 = min(unit * UNIT_ROW4S, arg(args, MATMUL_ROW4S) - UNIT_ROW4S);
    let p = part_of(args, row4);
    let q = row4_of(args, p.part, row4 - p.begin, CHUNKS);
    var at = q.at.x;
    var row = q.rows.x;
    if (TILES == 2u && second) {
        if (is_apart(args, p.part)) {
            at = q.at.z;
            row = q.rows.z;
        } else {
            row += 16u;
        }
    }
    return at * 2u + row * LENGTH;
}

fn fetch_fragment(place: u32, step: u32, local: u32) -> fragment_w {
    return fragment_of_weights(place + min(step * TEAM + local / LANES % TEAM, FRAGMENTS - 1u) * DEPTH);
}

// Where the tile of a subgroup begins, among the units that begin with `start`.
fn place_of(args: u32, start: u32, local: u32) -> u32 {
    return place_of_tile(args, start + local / (LANES * TEAM * TILES) * arg(args, MATMUL_ROW_GROUPS),
        local / (LANES * TEAM) % TILES == 1u);
}

// What is read before x is there.
struct prefetched {
    place: u32,
//!for i HELD
    w_#i: fragment_w,
//!end
}

fn prefetch(args: u32, v: u32, local: u32) -> prefetched {
    var b: prefetched;
    b.place = place_of(args, v, local);
//!for i HELD
    b.w_#i = fetch_fragment(b.place, #iu, local);
//!end
    return b;
}

// ---- products ---------------------------------------------------------------------

// A row4 for a row of x, which one thread finishes.
struct end_of_row4 {
    inside: bool,
    row: u32, // of x
    part: u32,
    at: u32, // of its first two sums, the first of a team's,
    apart: u32, // and how much farther the other two are
    rows: row4_rows,
    operands: epilogue_operands,
}

fn prepare_end(args: u32, start: u32, local: u32) -> end_of_row4 {
    let slot = local / (COLUMNS * UNIT_ROW4S);
    let j = local / COLUMNS % UNIT_ROW4S;
    let unit = start + slot * arg(args, MATMUL_ROW_GROUPS);
    let row4 = unit * UNIT_ROW4S + j;
    var e: end_of_row4;
    e.row = local % COLUMNS;
    e.inside = slot < UNITS_AT_ONCE && e.row < ROWS && row4 < arg(args, MATMUL_ROW4S);
    if (e.inside) {
        let p = part_of(args, row4);
        e.part = p.part;
        e.rows = row4_of(args, p.part, row4 - p.begin, CHUNKS);
        e.operands = fetch_operands(args, p.part, e.rows.rows, e.row);
        e.at = (slot * TILES + j / 4u) * TEAM * AREA + e.row * SUM_LINE + j % 4u * 4u;
        e.apart = 2u;
        if (TILES == 2u && is_apart(args, p.part)) {
            e.at = slot * TILES * TEAM * AREA + e.row * SUM_LINE + j * 2u;
            e.apart = TEAM * AREA;
        }
    }
    return e;
}

fn finish_end(args: u32, e: end_of_row4) {
    var total = vec4<f32>();
    for (var i = 0u; i < TEAM; i++) {
        let at = e.at + i * AREA;
        total += vec4<f32>(sums[at], sums[at + 1u], sums[at + e.apart], sums[at + e.apart + 1u]);
    }
    var scale = LARGER;
    if (NORMS == 1u) { scale *= scale_of(args, e.row); }
    finish(args, e.part, e.rows.first, e.rows.rows, scale * total, e.row, e.operands);
}

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var place = fetched.place;
//!for i HELD
    var w_#i = fetched.w_#i;
//!end
    let lane = local % LANES;
    let share = local / LANES % TEAM;
    let units = arg(args, MATMUL_ROW4S) / UNIT_ROW4S;
    let apart = arg(args, MATMUL_ROW_GROUPS) * UNITS_AT_ONCE;
    if (SEGMENTS == 1u) { share_all_x(args, local); }
    var own: squares;
    var ahead: x_bits;
    for (var start = v; start < units; start += apart) {
        let end = prepare_end(args, start, local);
        var sum = fragment_sum();
        if (SEGMENTS > 1u) { ahead = read_ahead(args, 0u, local); }
        for (var segment = 0u; segment < SEGMENTS; segment++) {
            if (SEGMENTS > 1u) {
                workgroupBarrier();
                share_x(args, segment, ahead, &own, local);
                workgroupBarrier();
                if (segment + 1u < SEGMENTS) { ahead = read_ahead(args, segment + 1u, local); }
            }
            for (var step = 0u; step < looped(args, STEPS); step += HELD) {
//!for i HELD
                let here_#i = (step + #iu) * TEAM + share;
                if (here_#i < SEGMENT_FRAGMENTS && segment * SEGMENT_FRAGMENTS + here_#i < FRAGMENTS) {
                    sum = multiply(w_#i, fragment_of_x(here_#i * DEPTH), sum, lane);
                }
                let next_#i = segment * STEPS + step + #iu + HELD;
                if (next_#i < ALL_STEPS) { w_#i = fetch_fragment(place, next_#i, local); }
//!end
            }
        }
        if (start + apart < units) {
            place = place_of(args, start + apart, local);
//!for i HELD
            w_#i = fetch_fragment(place, #iu, local);
//!end
        }
        if (NORMS == 1u && SEGMENTS > 1u && start == v) { note_squares(own, local); }
        workgroupBarrier(); // sums of the units before are read
        put_sum(local / LANES * AREA, sum, lane);
        workgroupBarrier();
        if (end.inside) { finish_end(args, end); }
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
