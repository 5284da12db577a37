// A trading strategy on 16 assets over 1,500 days: a recurrent network of 7 inputs, 10 units and 6 outputs (246 genes)
// sees the market and its own account, and says which past returns to follow and how much to borrow. Trades cost fees
// and are made only where they change a position enough (hysteresis); borrowing costs interest; who owes too much is
// sold out (margin). Data: closing prices, a row for each day, the first 20 of them history. The score is the
// logarithm of what became of 1.
const POPULATION = 10000;
const STEPS = 1500;

const ASSETS = 16u;
const INPUTS = 7u;
const UNITS = 10u;
const OUTPUTS = 6u;
const GENES = UNITS * INPUTS + UNITS * UNITS + UNITS + OUTPUTS * UNITS + OUTPUTS;
const HISTORY = 20u;

override FEE: f32 = 0.0005;          // of what is traded
override INTEREST: f32 = 0.0001;     // a day, of what is borrowed
override MAX_LEVERAGE: f32 = 3.0;    // that the strategy may ask for
override MARGIN: f32 = 4.0;          // leverage at which everything is sold
override PENALTY: f32 = 0.005;       // of all that is sold then
override BAND: f32 = 0.02;           // changes of a position smaller than this are not traded

struct State {
    equity: f32,
    peak: f32,
    position: array<f32, ASSETS>, // worth of each, as a share of the equity; below 0: sold short
    hidden: array<f32, UNITS>,
    trades: u32,
    margin_calls: u32,
}

fn init() -> State {
    var s: State;
    s.equity = 1.0;
    s.peak = 1.0;
    return s;
}

fn step(before: State, t: u32) -> State {
    var s = before;
    let today = t + HISTORY;

    // the market: returns over a day, a week and a month, and how much it moves
    var day: array<f32, ASSETS>;
    var week: array<f32, ASSETS>;
    var month: array<f32, ASSETS>;
    var market = vec4(0.0);
    var leverage = 0.0;
    for (var a = 0u; a < ASSETS; a++) {
        let price = data(today, a);
        day[a] = 50.0 * (price / data(today - 1u, a) - 1.0);
        week[a] = 20.0 * (price / data(today - 5u, a) - 1.0);
        month[a] = 10.0 * (price / data(today - HISTORY, a) - 1.0);
        market += vec4(day[a], week[a], month[a], abs(day[a])) / f32(ASSETS);
        leverage += abs(s.position[a]);
    }

    // the network
    var input = array<f32, INPUTS>(market.x, market.y, market.z, market.w, leverage, s.equity / s.peak - 1.0,
                                   f32(t) / f32(steps()));
    var old = s.hidden;
    for (var u = 0u; u < UNITS; u++) {
        var sum = gene(UNITS * (INPUTS + UNITS) + u);
        for (var k = 0u; k < INPUTS; k++) { sum += gene(u * INPUTS + k) * input[k]; }
        for (var k = 0u; k < UNITS; k++) { sum += gene(UNITS * INPUTS + u * UNITS + k) * old[k]; }
        s.hidden[u] = fast_tanh(sum);
    }
    const OUT = UNITS * (INPUTS + UNITS + 1u);
    var output: array<f32, OUTPUTS>;
    for (var o = 0u; o < OUTPUTS; o++) {
        var sum = gene(OUT + OUTPUTS * UNITS + o);
        for (var u = 0u; u < UNITS; u++) { sum += gene(OUT + o * UNITS + u) * s.hidden[u]; }
        output[o] = sum;
    }

    // target positions, and trades
    var wanted: array<f32, ASSETS>;
    var all = 0.0;
    for (var a = 0u; a < ASSETS; a++) {
        wanted[a] = fast_tanh(output[0] * day[a] + output[1] * week[a] + output[2] * month[a] +
                              output[3] * abs(day[a]) + output[4]);
        all += abs(wanted[a]);
    }
    let scale = MAX_LEVERAGE / (1.0 + exp(-output[5])) / max(all, 1.0);
    var traded = 0.0;
    leverage = 0.0;
    for (var a = 0u; a < ASSETS; a++) {
        let change = scale * wanted[a] - s.position[a];
        if (abs(change) > BAND) {
            s.position[a] += change;
            traded += abs(change);
            s.trades += 1u;
        }
        leverage += abs(s.position[a]);
    }

    // a day passes
    var gain = -FEE * traded - INTEREST * max(leverage - 1.0, 0.0);
    for (var a = 0u; a < ASSETS; a++) {
        let grown = data(today + 1u, a) / data(today, a) - 1.0;
        gain += s.position[a] * grown;
        s.position[a] *= 1.0 + grown;
    }
    let left = max(1.0 + gain, 0.001);
    s.equity *= left;
    leverage = 0.0;
    for (var a = 0u; a < ASSETS; a++) {
        s.position[a] /= left;
        leverage += abs(s.position[a]);
    }
    if (leverage > MARGIN) {
        s.equity *= max(1.0 - PENALTY * leverage, 0.001);
        s.position = array<f32, ASSETS>();
        s.margin_calls += 1u;
    }
    s.equity = max(s.equity, 1e-6);
    s.peak = max(s.peak, s.equity);
    return s;
}

fn done(s: State) -> bool { return s.equity < 0.001; }

fn score(s: State) -> f32 { return log(s.equity); }
