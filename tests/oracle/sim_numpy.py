"""sim_numpy.py SOLO NAME [SOLO'S OPTIONS]: a built-in simulation beside its NumPy twin in double precision (bench/sim_models.py): states
after some steps, before rounding has had time to part them, and the mean score. One line; exit status 1 if they differ."""
import csv
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../bench"))
import sim_models  # noqa: E402

solo, name, options = sys.argv[1], sys.argv[2], sys.argv[3:]
model = sim_models.MODELS[name]
population, steps, seed = 200, {"acrobot": 15, "finance": 120, "rastrigin": 1}[name], 5
more = ["--param", "DIMENSIONS=2000"] if name == "rastrigin" else []


def run(*arguments):
    return subprocess.run([solo, "sim", name, *arguments], check=True, capture_output=True, text=True).stdout


data = None
if name == "finance":
    data = np.array([[float(v) for v in line.split(",")] for line in run("--show-data").split()], np.float32)
genomes = sim_models.drawn_genomes(population, model.genes, seed, model.low, model.high)
with tempfile.TemporaryDirectory() as work:
    np.savetxt(work + "/genomes.csv", genomes, delimiter=",", fmt="%.9g")
    # drawn here and drawn there: the same numbers
    given = run(*more, *options, "--seed", str(seed), "--steps", str(steps), "--genomes", work + "/genomes.csv", "-o", "-")
    drawn = run(*more, *options, "--seed", str(seed), "--steps", str(steps), "--pop", str(population), "-o", "-")
if given != drawn:
    sys.exit("genomes drawn by Solo are not those drawn here")
rows = list(csv.DictReader(given.splitlines()))
model.steps = steps  # which the strategy sees, as a share
state, score = sim_models.run_numpy(model, genomes, steps, seed, data)

off = []
for key, values in state.items():
    for k, column in enumerate(sim_models.column_names(key, values, rows[0])):
        theirs = np.array([float(row[column]) for row in rows])
        ours = values.astype(float) if values.ndim == 1 else values[:, k].astype(float)
        scale = np.maximum(np.abs(ours), 1.0)
        off.append(np.abs(theirs - ours) / scale)
off = np.max(off, 0)
# a decision at the very edge may fall the other way in single precision, and nothing is alike from there on
same = np.mean(off < 2e-3)
means = np.mean([float(row["score"]) for row in rows]), float(np.mean(score))
print(f"{name}: {100 * same:.1f}% of {population} are within 0.2% after {steps} steps (median {np.median(off):.1e}); "
      f"mean score {means[0]:.6g}, in NumPy {means[1]:.6g}")
sys.exit(0 if same >= 0.97 and abs(means[0] - means[1]) <= 0.01 * abs(means[1]) else 1)
