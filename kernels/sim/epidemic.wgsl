// An epidemic among people who meet at random. Each day everyone meets a few others; who is infectious may infect, and
// recovers after a while for good. The score is 1 for who was ever ill: its mean is the share of the population.
// Individuals see each other, so all live through a day before the next begins.
const POPULATION = 4096;
const STEPS = 160;

override MEETINGS: u32 = 8;       // a day, that one can be infected in
override INFECTS: f32 = 0.04;     // how likely in a meeting
override RECOVERS: f32 = 0.125;   // how likely in a day
override AT_FIRST: u32 = 8;       // people infectious on the first day

const WELL = 0u;
const ILL = 1u;
const IMMUNE = 2u;

struct State { health: u32, ill_since: u32 }

fn init(i: u32) -> State { return State(select(WELL, ILL, i < AT_FIRST), 0u); }

fn step(s: State, t: u32, rng: ptr<function, Rng>) -> State {
    if (s.health == WELL) {
        for (var k = 0u; k < MEETINGS; k++) {
            let who = random_u32(rng) % population();
            if (random(rng) < INFECTS && other_health(who) == ILL) { return State(ILL, t + 1u); }
        }
    }
    if (s.health == ILL && random(rng) < RECOVERS) { return State(IMMUNE, s.ill_since); }
    return s;
}

fn score(s: State) -> f32 { return select(0.0, 1.0, s.health != WELL); }
