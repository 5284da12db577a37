// Ackley's function: nearly flat, with one deep hole, lowest at 0. Nothing in it is sequential: a control.
override DIMENSIONS: u32 = 10;
const GENES = DIMENSIONS;
const GENE_LOW = -32.768;
const GENE_HIGH = 32.768;
const POPULATION = 4096;
const STEPS = 1;

struct State { value: f32 }

fn init() -> State { return State(0.0); }

fn step(s: State) -> State {
    var squares = 0.0;
    var waves = 0.0;
    for (var k = 0u; k < DIMENSIONS; k++) {
        let x = gene(k);
        squares += x * x;
        waves += cos(6.2831853 * x);
    }
    let n = f32(DIMENSIONS);
    return State(20.0 - 20.0 * exp(-0.2 * sqrt(squares / n)) + 2.7182818 - exp(waves / n));
}

fn score(s: State) -> f32 { return -s.value; }
