// Rastrigin's function: a bowl full of dents, lowest at 0. Nothing in it is sequential: a control.
override DIMENSIONS: u32 = 10;
const GENES = DIMENSIONS;
const GENE_LOW = -5.12;
const GENE_HIGH = 5.12;
const POPULATION = 4096;
const STEPS = 1;

struct State { value: f32 }

fn init() -> State { return State(0.0); }

fn step(s: State) -> State {
    var sum = 10.0 * f32(DIMENSIONS);
    for (var k = 0u; k < DIMENSIONS; k++) {
        let x = gene(k);
        sum += x * x - 10.0 * cos(6.2831853 * x);
    }
    return State(sum);
}

fn score(s: State) -> f32 { return -s.value; }
