// Schwefel's function: the lowest place, 420.97 in every dimension, is far from the second. Nothing in it is
// sequential: a control.
override DIMENSIONS: u32 = 10;
const GENES = DIMENSIONS;
const GENE_LOW = -500.0;
const GENE_HIGH = 500.0;
const POPULATION = 4096;
const STEPS = 1;

struct State { value: f32 }

fn init() -> State { return State(0.0); }

fn step(s: State) -> State {
    var sum = 418.9829 * f32(DIMENSIONS);
    for (var k = 0u; k < DIMENSIONS; k++) {
        let x = gene(k);
        sum -= x * sin(sqrt(abs(x)));
    }
    return State(sum);
}

fn score(s: State) -> f32 { return -s.value; }
