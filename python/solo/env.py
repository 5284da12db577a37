"""Environments for learning: many copies of a world written in WGSL, each step of all of them one dispatch.

An environment file declares

    const OBSERVATION = 4;                  // numbers of an observation
    const ACTIONS = 2;                      // that can be chosen from; or
    const ACTION = 1;                       // numbers of an action, from ACTION_LOW to ACTION_HIGH
    const EPISODE = 500;                    // steps after which an episode is cut; may be left out
    struct World { ... }
    fn reset(rng: ptr<function, Rng>) -> World
    fn act(w: World, action: u32, rng: ptr<function, Rng>) -> World      // or action: array<f32, ACTION>
    fn observe(w: World) -> array<f32, OBSERVATION>
    fn reward(before: World, after: World) -> f32
    fn ended(w: World) -> bool

and may use all that a simulation's file may (docs/sim.md), but genes.
"""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ._checks import whole
from ._native import UsageError
from .device import Device
from .sim import Sim, read_source

_FOLDER = Path(__file__).parent / "envs"

# Steps that a caller makes: an individual's genes are its next action. After the end of an episode, the next step begins
# a new one, as gymnasium's AutoresetMode.NEXT_STEP says.
_STEPS = """
const GENES = {genes};
struct State {{
    world: World,
    observation: array<f32, OBSERVATION>,
    reward: f32,
    age: u32,
    terminated: u32,
    truncated: u32,
}}
fn fresh_state(rng: ptr<function, Rng>) -> State {{
    var s: State;
    s.world = reset(rng);
    s.observation = observe(s.world);
    return s;
}}
fn init(rng: ptr<function, Rng>) -> State {{ return fresh_state(rng); }}
fn step(before: State, rng: ptr<function, Rng>) -> State {{
    if (before.terminated + before.truncated != 0u) {{ return fresh_state(rng); }}
    var s = before;
    s.world = act(before.world, {action}, rng);
    s.reward = reward(before.world, s.world);
    s.observation = observe(s.world);
    s.age += 1u;
    s.terminated = u32(ended(s.world));
    s.truncated = u32(s.terminated == 0u && {limit} != 0u && s.age >= {limit});
    return s;
}}
fn score(s: State) -> f32 {{ return s.reward; }}
"""

# Whole episodes: a policy in WGSL acts, and the sum of rewards is the score.
_EPISODES = """
struct State {{
    world: World,
    memory: Memory,
    total: f32,
    age: u32,
    over: u32,
}}
fn init(rng: ptr<function, Rng>) -> State {{
    var s: State;
    s.world = reset(rng);
    return s;
}}
fn step(before: State, rng: ptr<function, Rng>) -> State {{
    var s = before;
    let seen = observe(s.world);
    let action = policy(seen{memory});
    s.world = act(before.world, action, rng);
    s.total += reward(before.world, s.world);
    s.age += 1u;
    s.over = u32(ended(s.world));
    return s;
}}
fn done(s: State) -> bool {{ return s.over != 0u; }}
fn score(s: State) -> f32 {{ return s.total; }}
"""


def _constant(wgsl: str, name: str) -> float | None:
    found = re.search(rf"^\s*const\s+{name}\s*(?::\s*\w+)?\s*=\s*(-?[\d.]+(?:e-?\d+)?)[uif]?\s*;", wgsl, re.M)
    return float(found[1]) if found else None


def list_envs() -> list[str]:
    """The built-in environments."""
    return sorted(path.stem for path in _FOLDER.glob("*.wgsl"))


class WgslVectorEnv(VectorEnv):
    """A gymnasium VectorEnv of ``num_envs`` copies of a world; each step of all of them is one dispatch.

    source: a built-in name (``list_envs()``), a .wgsl file, or WGSL text.

        envs = solo.env.WgslVectorEnv("cartpole", num_envs=4096)
        observations, _ = envs.reset(seed=1)
        observations, rewards, terminations, truncations, _ = envs.step(envs.action_space.sample())
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, source: str | os.PathLike[str], num_envs: int, *, params: Mapping[str, float] | None = None,
                 data: Any = None, device: Device | None = None) -> None:
        num_envs = whole(num_envs, "num_envs", 1)
        name, wgsl = read_source(source)
        if wgsl is None:
            if name not in list_envs():
                raise UsageError(f"there is no built-in environment {name!r}: {', '.join(list_envs())}")
            wgsl = (_FOLDER / f"{name}.wgsl").read_text(encoding="utf-8")
        self.name, self.wgsl = name, wgsl
        self.num_envs = num_envs
        self._made: dict[str, Any] = {"params": params, "data": data, "device": device}
        size, choices, numbers = (_constant(wgsl, key) for key in ("OBSERVATION", "ACTIONS", "ACTION"))
        if not size:
            raise UsageError(f"{name}: 'const OBSERVATION = N;' says how many numbers an observation has")
        if bool(choices) == bool(numbers):
            raise UsageError(f"{name}: either 'const ACTIONS = N;' or 'const ACTION = N;' says what an action is")
        self.episode = int(_constant(wgsl, "EPISODE") or 0)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (int(size),), np.float32)
        if choices:
            genes, action = 1, "u32(gene(0u))"
            self.single_action_space: Any = gymnasium.spaces.Discrete(int(choices))
        else:
            genes = int(numbers or 0)
            action = f"array<f32, ACTION>({', '.join(f'gene({k}u)' for k in range(genes))})"
            low, high = (_constant(wgsl, f"ACTION_{end}") for end in ("LOW", "HIGH"))
            if low is None or high is None:
                raise UsageError(f"{name}: 'const ACTION_LOW' and 'const ACTION_HIGH' say what an action may be")
            self.single_action_space = gymnasium.spaces.Box(np.float32(low), np.float32(high), (genes,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        text = wgsl + _STEPS.format(genes=genes, action=action, limit=f"{self.episode}u")
        self._sim = Sim(text, population=num_envs, steps=1, name=name, **self._made)
        self._begun = False
        self._rng = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins all episodes anew; the same seed gives the same ones."""
        if options:
            raise UsageError(f"reset takes no option {sorted(options)[0]!r}")
        if seed is not None:
            seed = whole(seed, "seed")
            self._rng = np.random.default_rng(seed)
        self._sim.begin(int(self._rng.integers(1 << 32)) if seed is None else seed)
        self._begun = True
        return self._observations(self._sim.states()["observation"]), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One step of every environment, in one dispatch."""
        if not self._begun:
            raise UsageError("reset() comes before the first step()")
        array = np.asarray(actions)
        if array.shape != self.action_space.shape:
            raise UsageError(f"actions of shape {array.shape}, not {self.action_space.shape}")
        if isinstance(self.single_action_space, gymnasium.spaces.Discrete):
            if not np.issubdtype(array.dtype, np.integer) or (array < 0).any() or (array >= self.single_action_space.n).any():
                raise UsageError(f"actions are whole numbers from 0 to {self.single_action_space.n - 1}")
            array = array[:, None]
        elif not np.isfinite(array).all():
            raise UsageError("actions are finite numbers")
        self._sim.set_genomes(array)
        self._sim.advance()
        states = self._sim.states()
        return (self._observations(states["observation"]), states["reward"].copy(), states["terminated"] != 0,
                states["truncated"] != 0, {})

    def _observations(self, words: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(words.reshape(-1, self.num_envs).T, np.float32)

    def policy(self, wgsl: str, *, population: int | None = None, steps: int | None = None, seed: int = 0,
               evolves: bool = False, genomes: Any = None) -> Sim:
        """The simulation in which a policy acts, for a whole episode: to run, or to evolve its genes.

        The policy is WGSL: ``fn policy(seen: array<f32, OBSERVATION>) -> u32`` (or -> array<f32, ACTION>), with
        ``const GENES = N;`` and ``gene(k)`` for its parameters; with ``struct Memory { ... }`` it may remember:
        ``fn policy(seen: array<f32, OBSERVATION>, memory: ptr<function, Memory>)``.
        """
        steps = steps or self.episode
        if not steps:
            raise UsageError(f"{self.name} has no 'const EPISODE = N;': how many steps?")
        remembers = re.search(r"\bstruct\s+Memory\b", wgsl) is not None
        text = self.wgsl + wgsl + ("" if remembers else "\nstruct Memory { none: u32 }\n")
        text += _EPISODES.format(memory=", &s.memory" if remembers else "")
        return Sim(text, population=population or self.num_envs, steps=steps, seed=seed, evolves=evolves,
                   genomes=genomes, name=self.name, **self._made)

    def rollout(self, policy_wgsl: str, *, genomes: Any = None, seed: int = 0, steps: int | None = None,
                population: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Whole episodes by a policy in WGSL, all of them one dispatch: returns (sum of rewards, length) of each."""
        with self.policy(policy_wgsl, genomes=genomes, seed=seed, steps=steps, population=population) as sim:
            result = sim.run()
            return result.scores, result.states["age"].astype(np.int64)

    def close_extras(self, **unused: Any) -> None:
        """Frees the device's memory."""
        self._sim.close()


__all__ = ["WgslVectorEnv", "list_envs"]
