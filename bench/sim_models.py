"""Simulations of kernels/sim as array programs, written once for NumPy, PyTorch and JAX: `xp` is the library.

A model has `start(population, seed)` (arrays of a State, by name, as Solo begins it), `weights(genomes)`, `rows(data, t)` (the prices that step t needs), `step(xp, s, t, w, rows)`
and `score(xp, s)`. An individual that is done keeps its state, as in Solo. The first axis is always the population.
"""
import numpy as np


def threefry(key0, key1, count0, count1):
    """Threefry-2x32, 20 rounds, on arrays of uint32: the numbers of kernels/sim_runtime/rng.wgsl."""
    with np.errstate(over="ignore"):
        x, y, key0, key1 = (np.asarray(v, np.uint32) for v in (count0, count1, key0, key1))
        keys = (key0, key1, np.uint32(0x1BD11BDA) ^ key0 ^ key1)
        x, y = x + key0, y + key1
        for i in range(20):
            by = np.uint32((13, 15, 26, 6, 17, 29, 16, 24)[i % 8])
            x = x + y
            y = ((y << by) | (y >> (np.uint32(32) - by))) ^ x
            if i % 4 == 3:
                n = i // 4 + 1
                x, y = x + keys[n % 3], y + keys[(n + 1) % 3] + np.uint32(n)
        return x, y


def unit(words):
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def drawn_at_start(population, seed, count):
    """The first `count` numbers that every individual draws in fn init, (population, count)."""
    i = np.arange(population, dtype=np.uint32)
    pairs = [threefry(np.uint32(seed), i, np.uint32(0xFFFFFFFF), np.uint32(k)) for k in range((count + 1) // 2)]
    return np.stack([unit(word) for pair in pairs for word in pair], 1)[:, :count]


def drawn_genomes(population, genes, seed, low=-1.0, high=1.0):
    """What individuals have where no genomes are given."""
    i = np.arange(population, dtype=np.uint32)[:, None]
    words, _ = threefry(np.uint32(seed), i, np.uint32(0xFFFFFFFE), np.arange(genes, dtype=np.uint32)[None])
    return np.float32(low) + np.float32(high - low) * unit(words)


class Model:
    low, high = -1.0, 1.0

    def rows(self, data, t):
        return None


def layer(xp, weights, x):
    """(p, out, in) by (p, in)"""
    return xp.einsum("poi,pi->po", weights, x)


class Acrobot(Model):
    name, genes, steps, population = "acrobot", 163, 500, 4096

    def start(self, population, seed):
        u = drawn_at_start(population, seed, 4)
        s = np.float32(0.2) * u - np.float32(0.1)
        return {"angle": s[:, 0:2].copy(), "spin": s[:, 2:4].copy(), "steps": np.zeros(population, np.float32),
                "arrived": np.zeros(population, bool)}

    def weights(self, g):
        n = len(g)
        return {"w1": g[:, :96].reshape(n, 16, 6), "b1": g[:, 96:112], "w2": g[:, 112:160].reshape(n, 3, 16), "b2": g[:, 160:163]}

    @staticmethod
    def change(xp, a1, a2, v1, v2, torque):
        c, s = xp.cos(a2), xp.sin(a2)
        half = np.pi / 2
        d1, d2 = 3.5 + c, 1.25 + 0.5 * c
        phi2 = 4.9 * xp.cos(a1 + a2 - half)
        phi1 = -0.5 * v2 * v2 * s - v2 * v1 * s + 14.7 * xp.cos(a1 - half) + phi2
        lower = (torque + d2 / d1 * phi1 - 0.5 * v1 * v1 * s - phi2) / (1.25 - d2 * d2 / d1)
        return v1, v2, -(d2 * lower + phi1) / d1, lower

    def step(self, xp, s, t, w, rows):
        a1, a2, v1, v2 = s["angle"][:, 0], s["angle"][:, 1], s["spin"][:, 0], s["spin"][:, 1]
        seen = xp.stack([xp.cos(a1), xp.sin(a1), xp.cos(a2), xp.sin(a2), v1, v2], 1)
        sums = layer(xp, w["w2"], xp.tanh(layer(xp, w["w1"], seen) + w["b1"])) + w["b2"]
        # the comparisons of the kernel, written so that the type stays that of the sums
        left = (sums[:, 0] >= sums[:, 1]) & (sums[:, 0] >= sums[:, 2])
        right = ~left & (sums[:, 2] > sums[:, 1])
        torque = 0.0 * a1 + right - 1.0 * left

        def at(k, h):
            return self.change(xp, a1 + h * k[0], a2 + h * k[1], v1 + h * k[2], v2 + h * k[3], torque)

        k1 = self.change(xp, a1, a2, v1, v2, torque)
        k2 = at(k1, 0.1)
        k3 = at(k2, 0.1)
        k4 = at(k3, 0.2)
        y = [v + 0.2 / 6.0 * (p + 2.0 * q + 2.0 * r + e) for v, p, q, r, e in zip((a1, a2, v1, v2), k1, k2, k3, k4)]
        turn = 2.0 * np.pi
        a1, a2 = (v - turn * xp.floor((v + np.pi) / turn) for v in y[:2])
        angle = xp.stack([a1, a2], 1)
        spin = xp.stack([xp.clip(y[2], -4.0 * np.pi, 4.0 * np.pi), xp.clip(y[3], -9.0 * np.pi, 9.0 * np.pi)], 1)
        done = s["arrived"]
        arrived = -xp.cos(a1) - xp.cos(a1 + a2) > 1.0
        return {"angle": xp.where(done[:, None], s["angle"], angle), "spin": xp.where(done[:, None], s["spin"], spin),
                "steps": xp.where(done, s["steps"], s["steps"] + 1.0), "arrived": done | arrived}

    def score(self, xp, s):
        return s["arrived"] * 1.0 - s["steps"]


class Finance(Model):
    name, genes, steps, population = "finance", 246, 1500, 10000
    fee, interest, max_leverage, margin, penalty, band, history = 0.0005, 0.0001, 3.0, 4.0, 0.005, 0.02, 20

    def start(self, population, seed):
        one = np.ones(population, np.float32)
        return {"equity": one.copy(), "peak": one.copy(), "position": np.zeros((population, 16), np.float32),
                "hidden": np.zeros((population, 10), np.float32)}

    def rows(self, data, t):
        return tuple(data[t + self.history + k] for k in (1, 0, -1, -5, -self.history))

    def weights(self, g):
        n = len(g)
        return {"wi": g[:, :70].reshape(n, 10, 7), "wh": g[:, 70:170].reshape(n, 10, 10), "b": g[:, 170:180],
                "wo": g[:, 180:240].reshape(n, 6, 10), "bo": g[:, 240:246]}

    def step(self, xp, s, t, w, rows):
        tomorrow, today, yesterday, last_week, last_month = rows
        day = 50.0 * (today / yesterday - 1.0)
        week = 20.0 * (today / last_week - 1.0)
        month = 10.0 * (today / last_month - 1.0)
        nothing = 0.0 * s["equity"]
        leverage = xp.abs(s["position"]).sum(1)
        seen = xp.stack([day.mean() + nothing, week.mean() + nothing, month.mean() + nothing, xp.abs(day).mean() + nothing,
                         leverage, s["equity"] / s["peak"] - 1.0, nothing + t / self.steps], 1)
        hidden = xp.tanh(layer(xp, w["wi"], seen) + layer(xp, w["wh"], s["hidden"]) + w["b"])
        out = layer(xp, w["wo"], hidden) + w["bo"]
        wanted = xp.tanh(out[:, 0:1] * day + out[:, 1:2] * week + out[:, 2:3] * month + out[:, 3:4] * xp.abs(day) + out[:, 4:5])
        scale = self.max_leverage / (1.0 + xp.exp(-out[:, 5])) / xp.clip(xp.abs(wanted).sum(1), 1.0, None)
        change = scale[:, None] * wanted - s["position"]
        change = xp.where(xp.abs(change) > self.band, change, 0.0 * change)
        position = s["position"] + change
        leverage = xp.abs(position).sum(1)
        grown = tomorrow / today - 1.0
        gain = (position * grown).sum(1) - self.fee * xp.abs(change).sum(1) - self.interest * xp.clip(leverage - 1.0, 0.0, None)
        left = xp.clip(1.0 + gain, 0.001, None)
        position = position * (1.0 + grown) / left[:, None]
        equity = s["equity"] * left
        leverage = xp.abs(position).sum(1)
        called = leverage > self.margin
        equity = xp.where(called, equity * xp.clip(1.0 - self.penalty * leverage, 0.001, None), equity)
        position = xp.where(called[:, None], 0.0 * position, position)
        equity = xp.clip(equity, 1e-6, None)
        peak = xp.where(equity > s["peak"], equity, s["peak"])
        done = s["equity"] < 0.001
        return {"equity": xp.where(done, s["equity"], equity), "peak": xp.where(done, s["peak"], peak),
                "position": xp.where(done[:, None], s["position"], position),
                "hidden": xp.where(done[:, None], s["hidden"], hidden)}

    def score(self, xp, s):
        return xp.log(s["equity"])


class Rastrigin(Model):
    """2,000 dimensions, one step: what a framework does well."""
    name, genes, steps, population = "rastrigin", 2000, 1, 4096
    low, high = -5.12, 5.12

    def start(self, population, seed):
        return {"value": np.zeros(population, np.float32)}

    def weights(self, g):
        return {"x": g}

    def step(self, xp, s, t, w, rows):
        x = w["x"]
        return {"value": 10.0 * self.genes + (x * x - 10.0 * xp.cos(2.0 * np.pi * x)).sum(1)}

    def score(self, xp, s):
        return -s["value"]


MODELS = {m.name: m for m in (Acrobot(), Finance(), Rastrigin())}


def run_steps(model, s, w, data, steps):
    """All steps in NumPy, in the precision of what is given."""
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(steps):
            s = model.step(np, s, t, w, model.rows(data, t))
        return s, model.score(np, s)


def run_numpy(model, genomes, steps, seed, data=None, dtype=np.float64):
    """From the beginning, in double precision unless said otherwise."""
    s = {k: v.astype(dtype) if v.dtype == np.float32 else v for k, v in model.start(len(genomes), seed).items()}
    w = {k: v.astype(dtype) for k, v in model.weights(genomes).items()}
    return run_steps(model, s, w, None if data is None else data.astype(dtype), steps)


def column_names(key, values, there):
    """What Solo's CSV calls the numbers of a State's member: "x", "angle.y", "position[3]"."""
    if values.ndim == 1:
        return [key]
    return [f"{key}[{k}]" if f"{key}[{k}]" in there else f"{key}.{'xyzw'[k]}" for k in range(values.shape[1])]
