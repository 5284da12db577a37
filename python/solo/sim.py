"""Simulations: a population of individuals, all steps of which are one dispatch."""
from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._checks import flag, floats, function, known, number, shown, whole
from ._handle import Handle
from ._native import Error, Texts, UsageError, c_path, c_text, call, callback, ffi, lib, raise_first, text
from .device import Device, device_or_default


_COUNTS, _SHARES = ("tournament", "elite"), ("crossover", "mutation", "sigma")


class States(Mapping[str, np.ndarray]):
    """The states of individuals by the members of State: float64 arrays whose last dimension counts individuals.

    ``states["x"]`` is (individuals,); ``states["position"]``, a vec2, is (2, individuals), and ``states["cash"]``, an
    array, has its length first. ``names`` has all words as the C library calls them: "x", "position.y", "cash[3]".
    """

    def __init__(self, names: list[str], words: np.ndarray) -> None:
        self.names = names
        self.words = words  # (..., words, individuals)
        self._members: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            for end in [m.start() for m in re.finditer(r"[.\[]", name)] + [len(name)]:
                self._members.setdefault(name[:end], []).append(place)

    def __getitem__(self, name: str) -> np.ndarray:
        places = self._members[name]
        return self.words[..., places[0], :] if self.names[places[0]] == name else self.words[..., places, :]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._members if not re.search(r"[.\[]", name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<States of {self.words.shape[-1]}: {', '.join(self)}>"


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of a run: scores (individuals,), the last states, and the trace (rows before the other dimensions)."""
    scores: np.ndarray
    states: States
    trace: States | None = None


@dataclasses.dataclass(frozen=True)
class Evolved:
    """A generation: its number, the best score of each so far, genomes (individuals, genes), scores (individuals,)."""
    generation: int
    best: np.ndarray
    genomes: np.ndarray
    scores: np.ndarray


def read_source(source: str | os.PathLike[str]) -> tuple[str, str | None]:
    """The name and the text of a simulation: a text in WGSL, a file of it, or a built-in one's name, without a text."""
    if isinstance(source, str) and re.search(r"\bfn\s", source):
        return "simulation", source
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"a simulation is a name, a file or WGSL text, not {shown(source)}")
    if isinstance(source, str) and not source.endswith(".wgsl"):
        return source, None
    path = Path(source)
    try:
        return os.fsencode(path.name).decode(errors="replace"), path.read_text(encoding="utf-8")
    except ValueError as why:
        raise Error(f"{path}: {why}") from None


def _floats(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    array = floats(values, what)
    if array.shape != shape:
        raise UsageError(f"{what} of shape {array.shape}, not {shape}")
    return array


def _settings(**settings: float) -> Any:
    known(settings, (*_COUNTS, *_SHARES), "an evolution")
    values = {name: (whole if name in _COUNTS else number)(value, name) for name, value in settings.items()}
    return ffi.new("solo_evolution *", values)


def _parameters(params: Mapping[str, float] | None) -> Texts:
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params is a mapping of names to numbers, not {shown(params)}")
    written = []
    for key, value in (params or {}).items():
        number(value, f"params[{key!r}]")
        written.append(f"{key}={value}")
    return Texts(written, "params")


class Sim(Handle):
    """A simulation: WGSL text, a .wgsl file, or the name of a built-in one.

    population, steps: None: as the file says. params: values of its overrides. data: a table for data(row, column).
    trace: so many individuals leave a trace, every `trace_every` steps. chunk_ms: how long a dispatch may take;
    None: half a second. evolves: ``evolve`` will be called.

        sim = solo.Sim("cartpole", population=4096)
        result = sim.run()
        result.scores.mean(), result.states["angle"]
    """

    def __init__(self, source: str | os.PathLike[str], *, population: int | None = None, steps: int | None = None,
                 seed: int = 0, params: Mapping[str, float] | None = None, data: Any = None, trace: int = 0,
                 trace_every: int = 1, chunk_ms: int | None = None, evolves: bool = False, genomes: Any = None,
                 device: Device | None = None, name: str | None = None) -> None:
        file, wgsl = read_source(source)
        table = None if data is None else floats(data, "data")
        if table is not None and table.ndim != 2:
            raise UsageError(f"data is a table of two dimensions, not {table.ndim}")
        parameters = _parameters(params)
        numbers = {"population": population, "steps": steps, "seed": seed, "trace": trace, "trace_every": trace_every,
                   "chunk_ms": chunk_ms}
        counts = {key: whole(0 if value is None else value, key) for key, value in numbers.items()}
        counts["trace_count"] = counts.pop("trace")
        options = ffi.new("solo_sim_options *", {
            **counts, "parameters": parameters.pointer, "evolves": flag(evolves, "evolves")})
        if table is not None:
            options.data = ffi.from_buffer("float[]", table)
            options.data_rows, options.data_columns = table.shape
        self.device = device_or_default(device, own_kernels=False)
        called, written = c_text(name or file, "name"), c_text(wgsl, "a simulation")
        super().__init__(lib.solo_sim_new, self.device, called, written, options, close=lib.solo_sim_free,
                         owners=(self.device,))
        self.name = name or file
        self.population: int = self.ask(lib.solo_sim_population)
        self.steps: int = self.ask(lib.solo_sim_steps)
        self.genes: int = self.ask(lib.solo_sim_genes)
        self.words = [text(self.ask(lib.solo_sim_word_name, i)) or "" for i in range(self.ask(lib.solo_sim_words))]
        self._trace = min(options.trace_count, self.population)
        if genomes is not None:
            self.set_genomes(genomes)

    def run(self, *, separate: bool = False, progress: Callable[[int], None] | None = None) -> Result:
        """Runs all steps, from the first: one dispatch, or one for each step, with the same bits."""
        report = function(progress, "progress")
        how = lib.SOLO_DISPATCH_A_STEP if flag(separate, "separate") else lib.SOLO_ONE_DISPATCH
        failures: list[BaseException] = []

        def work(sim: Any) -> Result:
            def stop() -> None:
                lib.solo_sim_stop(sim)

            def at(_user: Any, step: int) -> None:
                if self.closed:
                    stop()
                elif report and not failures:
                    report(step)

            heard = callback("void(void *, uint32_t)", at, failures, stop)
            lib.solo_sim_set_progress(sim, heard, ffi.NULL)
            try:
                call(lib.solo_sim_run, sim, how)
            finally:
                lib.solo_sim_set_progress(sim, ffi.NULL, ffi.NULL)
                raise_first(failures)
            trace = self._read_trace(sim) if self._trace else None
            return Result(self._read_scores(sim), self._read_states(sim), trace)

        return self.hold(work)

    # ---- step by step ------------------------------------------------------------------------------------------

    def begin(self, seed: int) -> None:
        """Makes the initial states, for ``advance``."""
        self.call(lib.solo_sim_begin, whole(seed, "seed"))

    def advance(self, steps: int = 1) -> None:
        """Makes the next steps, in one dispatch; genes may be set before each call."""
        self.call(lib.solo_sim_advance, whole(steps, "steps"))

    # ---- what came of it -----------------------------------------------------------------------------------------

    def scores(self) -> np.ndarray:
        """Of the last run, or the current generation: float32, (population,)."""
        return self.hold(self._read_scores)

    def states(self) -> States:
        """The states after it."""
        return self.hold(self._read_states)

    def trace(self) -> States:
        """States before the first step and after every `trace_every`-th: rows come before the other dimensions."""
        return self.hold(self._read_trace)

    def _read_scores(self, sim: Any) -> np.ndarray:
        out = np.empty(self.population, np.float32)
        call(lib.solo_sim_scores, sim, ffi.from_buffer("float[]", out))
        return out

    def _read_states(self, sim: Any) -> States:
        out = np.empty((len(self.words), self.population))
        call(lib.solo_sim_states, sim, ffi.from_buffer("double[]", out))
        return States(self.words, out)

    def _read_trace(self, sim: Any) -> States:
        out = np.empty((lib.solo_sim_trace_rows(sim), len(self.words), self._trace))
        call(lib.solo_sim_trace, sim, ffi.from_buffer("double[]", out) if out.size else ffi.NULL)
        return States(self.words, out)

    # ---- genes -----------------------------------------------------------------------------------------------------

    def set_genomes(self, genomes: Any) -> None:
        """(population, genes): instead of those that the seed draws. Not while it evolves."""
        array = _floats(genomes, (self.population, self.genes), "genomes")
        self.ask(lib.solo_sim_set_genomes, ffi.from_buffer("float[]", array))

    def evolve(self, generations: int, *, tournament: int = 0, elite: int = 0, crossover: float = 0.0,
               mutation: float = 0.0, sigma: float = 0.0,
               progress: Callable[[int, float], bool | None] | None = None) -> Evolved:
        """Evolves up to this generation, the first being 0; a later call with a higher one goes on.

        Settings of 0 are the defaults, and those of the first call hold. progress(generation, best): False ends it.
        """
        report = function(progress, "progress")
        until = whole(generations, "generations")
        how = _settings(tournament=tournament, elite=elite, crossover=crossover, mutation=mutation, sigma=sigma)
        failures: list[BaseException] = []

        def at(_user: Any, generation: int, best: float) -> bool:
            return (report is None or report(generation, best) is not False) and not self.closed

        def work(sim: Any) -> Evolved:
            call(lib.solo_sim_evolve, sim, until, how, heard, ffi.NULL)
            raise_first(failures)
            return self._read_evolved(sim)

        heard = callback("bool(void *, uint32_t, double)", at, failures)
        try:
            return self.hold(work)
        finally:
            raise_first(failures)

    def evolved(self) -> Evolved:
        """The current generation."""
        return self.hold(self._read_evolved)

    def _read_evolved(self, sim: Any) -> Evolved:
        genomes = np.empty((self.population, self.genes), np.float32)
        scores = np.empty(self.population, np.float32)
        call(lib.solo_sim_evolved, sim, ffi.from_buffer("float[]", genomes), ffi.from_buffer("float[]", scores))
        count = ffi.new("uint32_t *")
        best = lib.solo_sim_best(sim, count)
        history = np.frombuffer(ffi.buffer(best, 8 * count[0]), np.float64).copy() if count[0] else np.empty(0)
        return Evolved(len(history) - 1, history, genomes, scores)

    def set_evolved(self, genomes: Any, scores: Any) -> None:
        """Replaces the current generation: the next one's parents are chosen from these."""
        self.call(lib.solo_sim_set_evolved,
                  ffi.from_buffer("float[]", _floats(genomes, (self.population, self.genes), "genomes")),
                  ffi.from_buffer("float[]", _floats(scores, (self.population,), "scores")))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the evolution, to go on in another process."""
        self.call(lib.solo_sim_save, c_path(path))

    def resume(self, path: str | os.PathLike[str], **settings: float) -> None:
        """Goes on with what was saved: the same simulation with the same options and settings of ``evolve``."""
        self.call(lib.solo_sim_resume, c_path(path), _settings(**settings))

    def take_notice(self) -> str | None:
        """A notice after a run, returned once: coupled steps had to use separate dispatches."""
        room = ffi.new("char[]", 512)
        return text(room) if self.ask(lib.solo_sim_take_notice, room, 512) else None

    def __repr__(self) -> str:
        return f"<solo.Sim {self.name!r}, {self.population} x {self.steps}>"
