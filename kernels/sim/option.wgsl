// A European call option by Monte Carlo: the price goes its random way, a trading day a step, and the score is what
// the option pays at the end, in today's money. The mean score is its price, which Black, Scholes and Merton know in
// closed form.
const POPULATION = 65536;
const STEPS = 252;

override SPOT: f32 = 100.0;
override STRIKE: f32 = 105.0;
override RATE: f32 = 0.03;       // a year
override VOLATILITY: f32 = 0.2;  // a year
override YEARS: f32 = 1.0;

struct State { log_price: f32 }

fn init() -> State { return State(log(SPOT)); }

fn step(s: State, rng: ptr<function, Rng>) -> State {
    let dt = YEARS / f32(steps());
    return State(s.log_price + (RATE - 0.5 * VOLATILITY * VOLATILITY) * dt + VOLATILITY * sqrt(dt) * normal(rng));
}

fn score(s: State) -> f32 { return exp(-RATE * YEARS) * max(exp(s.log_price) - STRIKE, 0.0); }
