"""sim_gym.py SOLO NAME [SOLO'S OPTIONS]: a game of Solo's, step by step, beside gymnasium's own. Every state that Solo leaves in its trace is put
into gymnasium's game, which makes the step that Solo made; what it did is worked out here, too, from the genes. One line; exit status 1 if they differ."""
import csv
import os
import subprocess
import sys
import tempfile

import gymnasium
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../bench"))
import sim_models  # noqa: E402

solo, name, options = sys.argv[1], sys.argv[2], sys.argv[3:]
GAMES = {"cartpole": ("CartPole-v1", ["x", "v", "angle", "spin"], "fallen", 122),
         "mountaincar": ("MountainCar-v0", ["x", "v"], "arrived", 115),
         "acrobot": ("Acrobot-v1", ["angle.x", "angle.y", "spin.x", "spin.y"], "arrived", 163)}
game, columns, end, genes = GAMES[name]
env = gymnasium.make(game).unwrapped
env.reset(seed=0)
players, steps, seed, units = 24, 200, 3, 8
genomes = 3 * sim_models.drawn_genomes(players, genes, seed)
# two that win by swinging along: one unit that sees a speed, one output for it, one against it
if name == "mountaincar":
    genomes[:2] = 0
    genomes[:2, 1] = 10  # the speed to unit 0
    out = 2 * units + units * units + units
    genomes[:2, out], genomes[:2, out + 2 * units] = -1, 1
if name == "acrobot":
    genomes[:2] = 0
    genomes[:2, 4] = 5  # the upper link's speed to unit 0
    genomes[0, 112], genomes[0, 112 + 32] = -1, 1
    genomes[1, 112], genomes[1, 112 + 32] = 1, -1


def outputs(g, x, hidden):
    """What the network says, and its units afterwards."""
    if name == "acrobot":
        unit = np.tanh(g[:96].reshape(16, 6) @ x + g[96:112])
        return g[112:160].reshape(3, 16) @ unit + g[160:], hidden
    n, m = len(x), 2 if name == "cartpole" else 3
    cut = np.cumsum([units * n, units * units, units, m * units])
    wi, wh, b, wo, bo = np.split(g, cut)
    if name == "mountaincar":
        x = np.array([x[0], 20 * x[1]])
    hidden = np.tanh(wi.reshape(units, n) @ x + wh.reshape(units, units) @ hidden + b)
    return wo.reshape(m, units) @ hidden + bo, hidden


with tempfile.TemporaryDirectory() as work:
    np.savetxt(work + "/genomes.csv", genomes, delimiter=",", fmt="%.9g")
    subprocess.run([solo, "sim", name, *options, "--seed", str(seed), "--steps", str(steps), "--genomes", work + "/genomes.csv", "--trace",
                    work + "/trace.csv", "--trace-count", str(players), "-o", work + "/end.csv"], check=True, capture_output=True)
    trace = list(csv.DictReader(open(work + "/trace.csv")))
    ends = list(csv.DictReader(open(work + "/end.csv")))

made = ended = 0
worst = 0.0
actions = set()
for i in range(players):
    rows = [row for row in trace if int(row["individual"]) == i]
    assert [int(row["t"]) for row in rows] == list(range(steps + 1))
    for now, then in zip(rows, rows[1:]):
        if int(now[end]):
            assert now | {"t": 0} == then | {"t": 0}, "who is done stays as he is"
            continue
        state = np.array([float(now[c]) for c in columns])
        seen = state if name != "acrobot" else np.array([np.cos(state[0]), np.sin(state[0]), np.cos(state[1]), np.sin(state[1]), *state[2:]])
        hidden = np.array([float(now.get(f"hidden[{u}]", 0)) for u in range(units)])
        says, hidden = outputs(genomes[i].astype(float), seen, hidden)
        action = int(then["action"])
        assert says[action] >= says.max() - 1e-4, (says, action)
        actions.add(action)
        env.state = state.copy() if name == "acrobot" else tuple(state)
        if name == "cartpole":
            env.steps_beyond_terminated = None
        _, _, terminated, _, _ = env.step(action)
        off = np.abs(np.array(env.state) - np.array([float(then[c]) for c in columns]))
        off = np.minimum(off, 2 * np.pi - off) if name == "acrobot" else off  # pi is -pi
        worst = max(worst, off.max() / max(1.0, np.abs(state).max()))
        margin = {"cartpole": min(abs(2.4 - abs(env.state[0])), abs(0.20943951 - abs(env.state[min(2, len(columns) - 1)]))),
                  "mountaincar": abs(env.state[0] - 0.5), "acrobot": 1}[name]
        assert bool(int(then[end])) == bool(terminated) or margin < 1e-5, "the end comes when it comes there"
        ended += int(then[end])
        made += 1
    score = float(ends[i]["score"])
    won = int(rows[-1][end])
    if name == "cartpole":
        assert score == int(rows[-1]["steps"])
    elif name == "acrobot":
        assert score == won - int(rows[-1]["steps"])
    else:
        assert abs(score + int(rows[-1]["steps"])) <= (0 if won else 1.8)
print(f"{game}: {made} steps of {players} players, {ended} games ended, {len(actions)} actions seen, at most {worst:.1e} from gymnasium {gymnasium.__version__}")
sys.exit(0 if worst < 3e-6 and made > 100 and ended > 0 and len(actions) > 1 else 1)
