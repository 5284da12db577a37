// Griewank's function: a product of waves in a wide bowl, lowest at 0. Nothing in it is sequential: a control.
override DIMENSIONS: u32 = 10;
const GENES = DIMENSIONS;
const GENE_LOW = -600.0;
const GENE_HIGH = 600.0;
const POPULATION = 4096;
const STEPS = 1;

struct State { value: f32 }

fn init() -> State { return State(0.0); }

fn step(s: State) -> State {
    var sum = 0.0;
    var product = 1.0;
    for (var k = 0u; k < DIMENSIONS; k++) {
        let x = gene(k);
        sum += x * x;
        product *= cos(x / sqrt(f32(k + 1u)));
    }
    return State(1.0 + sum / 4000.0 - product);
}

fn score(s: State) -> f32 { return -s.value; }
