// Evolution: children by tournament, crossover and mutation, the best kept unchanged; then their scores.
// Every random number is a function of the seed, the generation, the child and the gene.
const SOLO_MOST_ELITE = 64u;
var<workgroup> solo_elite: array<u32, SOLO_MOST_ELITE>;
var<workgroup> solo_found_score: array<f32, SOLO_THREADS>;
var<workgroup> solo_found: array<u32, SOLO_THREADS>;

fn solo_scored(generation: u32, i: u32) -> f32 { return solo_score_of((generation & 1u) * solo_params.population + i); }

// The best of a generation, in order, the lower number first where scores are alike; by all threads of a workgroup
// together.
fn solo_find_elite(local: u32, generation: u32) {
    var bar = 0.0;          // the last one found
    var bar_at = 0xffffffffu; // none yet
    for (var e = 0u; e < max(solo_params.elite, 1u); e++) {
        var best = 0.0;
        var best_at = 0xffffffffu;
        for (var i = local; i < solo_params.population; i += SOLO_THREADS) {
            let score = solo_scored(generation, i);
            let behind = bar_at == 0xffffffffu || score < bar || (score == bar && i > bar_at);
            if (behind && (best_at == 0xffffffffu || score > best)) { best = score; best_at = i; }
        }
        solo_found_score[local] = best;
        solo_found[local] = best_at;
        workgroupBarrier();
        best_at = 0xffffffffu;
        for (var k = 0u; k < SOLO_THREADS; k++) {
            let score = solo_found_score[k];
            let i = solo_found[k];
            if (i != 0xffffffffu && (best_at == 0xffffffffu || score > best || (score == best && i < best_at))) {
                best = score;
                best_at = i;
            }
        }
        bar = best;
        bar_at = best_at;
        if (local == 0u) {
            solo_elite[e] = best_at;
            if (e == 0u) { solo_traced[generation % SOLO_HISTORY] = bitcast<u32>(best); }
        }
        workgroupBarrier();
    }
}

fn solo_tournament(generation: u32, rng: ptr<function, Rng>) -> u32 {
    var winner = random_u32(rng) % solo_params.population;
    for (var k = 1u; k < solo_params.tournament; k++) {
        let other = random_u32(rng) % solo_params.population;
        if (solo_scored(generation, other) > solo_scored(generation, winner)) { winner = other; }
    }
    return winner;
}

// Individual i of the generation that follows this one.
fn solo_make_child(i: u32, generation: u32) {
    let key = vec2(solo_params.seed ^ 0x5eed0e70u, i);
    let old = (generation & 1u) * SOLO_GENES;
    let new_ = ((generation + 1u) & 1u) * SOLO_GENES;
    let kept = i < solo_params.elite;
    var rng = Rng(key, vec2(generation, 0u), 0u, false);
    var mother = solo_tournament(generation, &rng);
    var father = solo_tournament(generation, &rng);
    if (kept) { mother = solo_elite[i]; }
    if (kept || random(&rng) >= solo_params.crossover) { father = mother; }
    for (var k = 0u; k < SOLO_GENES; k++) {
        var coins = Rng(key, vec2(generation, 0x10000u + 2u * k), 0u, false);
        let parent = select(mother, father, random(&coins) < 0.5);
        var value = solo_shared_gene((old + k) * solo_params.population + parent);
        if (random(&coins) < solo_params.mutation && !kept) {
            let by = solo_params.sigma * (0.5 * (SOLO_GENE_HIGH - SOLO_GENE_LOW)) * normal(&coins);
            value += bitcast<f32>(bitcast<u32>(by) ^ solo_params.launch.zero); // rounded separately by every compiler
            if (SOLO_GENES_BOUNDED) { value = clamp(value, SOLO_GENE_LOW, SOLO_GENE_HIGH); }
        }
        solo_share_gene((new_ + k) * solo_params.population + i, value);
        solo_genomes[k * solo_params.population + i] = value;
    }
}

// The generation that solo_params names, of the one before it.
@compute @workgroup_size(SOLO_THREADS)
fn solo_evolve(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
               @builtin(local_invocation_index) local: u32) {
    let number = group.y * groups.x + group.x;
    let i = number * SOLO_THREADS + local;
    if (number == 0u) { solo_find_elite(local, solo_params.generation - 1u); }
    if (i < solo_params.population) { solo_make_child(i, solo_params.generation - 1u); }
}

// As many generations as solo_params has, with a barrier over all individuals after each.
@compute @workgroup_size(SOLO_THREADS)
fn solo_all(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32) {
    let threads = groups.x * SOLO_THREADS;
    let mine = group.x * SOLO_THREADS + local;
    if (solo_params.launch.roll_call != 0u) { solo_roll_call(local); return; }
    for (var n = 0u; n < solo_params.generations; n++) {
        let generation = solo_params.generation + n;
        if (group.x == 0u) { solo_find_elite(local, generation - 1u); }
        solo_passed = n;
        for (var i = mine; i < solo_params.population; i += threads) {
            solo_make_child(i, generation - 1u);
            solo_is(i);
            var s = solo_begin(i);
            for (var t = 0u; t < solo_params.steps; t++) {
                if (solo_ends(s, i, t)) { break; }
                s = solo_next(s, i, t);
            }
            let score = solo_score(s, i);
            solo_set_score(solo_score_place(i), score);
            // This generation is gone after the dispatch: reports the first one with such a score, and its first
            // individual, to the host. Tests bits: compilers may assume that floats are finite.
            if ((bitcast<u32>(score) & 0x7f800000u) == 0x7f800000u &&
                atomicMax(&solo_grid[SOLO_NOT_FINITE], ~n) <= ~n) {
                atomicMax(&solo_grid[SOLO_NOT_FINITE + 1u], ~i);
            }
            if (n + 1u == solo_params.generations) { solo_store(i, s); }
        }
        if (!solo_barrier(group.x, local, n + 1u, groups.x)) { return; }
    }
    solo_note_strays();
    solo_leave(local, groups.x, 1u);
}
