"""Evolution on islands: populations that evolve apart and exchange their best every few generations.

An island's generations depend on its seed and on what it was sent, never on which process computes them: the same seed
gives the same result with one worker or many, and a worker that dies costs the generations since the last exchange.
"""
from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ._checks import floats, function, number, plain, shown, whole
from ._native import Error, UsageError
from .sim import Evolved, Sim, read_source


@dataclasses.dataclass(frozen=True)
class Sent:
    """What an island tells after some generations: its best score, and the genomes and scores of its migrants."""
    best: float
    genomes: np.ndarray
    scores: np.ndarray


@dataclasses.dataclass(frozen=True)
class Plan:
    """What all islands have in common; it goes to every worker."""
    name: str
    wgsl: str | None
    population: int | None
    steps: int | None
    seed: int
    islands: int
    every: int
    migrants: int
    params: Mapping[str, float]
    data: np.ndarray | None
    settings: Mapping[str, Any]
    folder: str

    def file(self, island: int, exchange: int) -> Path:
        """Where an island is kept as it was after an exchange."""
        return Path(self.folder) / f"island-{island:04d}-exchange-{exchange:06d}.evolution"


class Worker:
    """Some islands, in one process. What it holds can be lost: all of it is in files after each exchange."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._sims: dict[int, Sim] = {}
        self._at: dict[int, int] = {}

    def _island(self, island: int, exchange: int) -> Sim:
        """The island as it was after exchange - 1; before the first it is new."""
        plan = self._plan
        if self._at.get(island) != exchange:
            self._drop(island)
            source = plan.wgsl if plan.wgsl is not None else plan.name
            sim = Sim(source, population=plan.population, steps=plan.steps, params=plan.params, data=plan.data,
                      seed=(plan.seed + island * 0x9E3779B9) % (1 << 32), evolves=True, name=plan.name)
            if exchange:
                sim.resume(plan.file(island, exchange - 1), **plan.settings)
            self._sims[island], self._at[island] = sim, exchange
        return self._sims[island]

    def _drop(self, island: int) -> None:
        self._at.pop(island, None)
        if island in self._sims:
            self._sims.pop(island).close()

    def evolve(self, islands: Sequence[int], exchange: int, until: int) -> dict[int, Sent]:
        """Evolves islands up to a generation."""
        sent = {}
        for island in islands:
            sim = self._island(island, exchange)
            self._at.pop(island)  # from here to the exchange it is not what a file has
            evolved = sim.evolve(until, **self._plan.settings)
            if evolved.generation != until:
                raise Error(f"island {island} stands at generation {evolved.generation}, not {until}")
            best = np.argsort(-evolved.scores, kind="stable")[: self._plan.migrants]
            sent[island] = Sent(float(evolved.scores.max()), evolved.genomes[best], evolved.scores[best])
        return sent

    def exchange(self, arrivals: Mapping[int, Sent], exchange: int) -> None:
        """The arrivals take the place of the worst of islands that just evolved, which are then kept in files."""
        for island, arrived in arrivals.items():
            sim = self._sims[island]
            evolved = sim.evolved()
            worst = np.argsort(evolved.scores, kind="stable")[: len(arrived.scores)]
            evolved.genomes[worst], evolved.scores[worst] = arrived.genomes, arrived.scores
            sim.set_evolved(evolved.genomes, evolved.scores)
            sim.save(self._plan.file(island, exchange))
            self._at[island] = exchange + 1

    def best(self, islands: Sequence[int], exchange: int) -> dict[int, Evolved]:
        """Islands as they are after the last exchange."""
        return {island: self._island(island, exchange).evolved() for island in islands}

    def close(self) -> None:
        """Frees their memory."""
        for island in list(self._sims):
            self._drop(island)


class Engine(Protocol):
    """Where workers run. A worker that dies is replaced, and evolve and best begin again what it had."""

    def evolve(self, islands: Sequence[int], exchange: int, until: int) -> dict[int, Sent]:
        """Worker.evolve, of all these islands."""

    def exchange(self, arrivals: Mapping[int, Sent], exchange: int) -> list[int]:
        """Worker.exchange; returns the islands whose worker died, which have to evolve again before they exchange."""

    def best(self, islands: Sequence[int], exchange: int) -> dict[int, Evolved]:
        """Worker.best, of all these islands."""

    def close(self) -> None:
        """Ends the workers."""


class LocalEngine(Worker):
    """All islands in this process, one after the other, on one device."""

    def exchange(self, arrivals: Mapping[int, Sent], exchange: int) -> list[int]:  # type: ignore[override]
        super().exchange(arrivals, exchange)
        return []


def _make_engine(engine: str, plan: Plan, workers: int | None) -> Engine:
    if engine == "local":
        if workers not in (None, 1):
            raise UsageError("the local engine has one worker")
        return LocalEngine(plan)
    if engine == "ray":
        from .ray_engine import RayEngine
        return RayEngine(plan, workers)
    raise UsageError(f"there is no engine {engine!r}: local, ray")


@dataclasses.dataclass(frozen=True)
class Archipelago:
    """What evolved: the best score of each island after each exchange, and the islands' last generations."""
    best: np.ndarray  # (exchanges, islands)
    genome: np.ndarray  # of the best of all
    score: float
    islands: list[Evolved]


def _manifest(plan: Plan) -> dict[str, Any]:
    return {"name": plan.name, "wgsl": plan.wgsl, "population": plan.population, "steps": plan.steps,
            "seed": plan.seed, "islands": plan.islands, "every": plan.every, "migrants": plan.migrants,
            "params": dict(plan.params), "settings": dict(plan.settings)}


def _write(path: Path, value: Any) -> None:
    """All of it or nothing, as the library writes its own files."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _are_scores(best: Any, islands: int) -> bool:
    """Rows of a number for each island?"""
    return isinstance(best, list) and all(isinstance(row, list) and len(row) == islands and
                                          all(type(score) in (int, float) for score in row) for row in best)


def _read_progress(plan: Plan, path: Path) -> list[list[float]]:
    """The best scores so far; none without the file. A folder of another evolution is refused."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as why:
        raise Error(f"{path}: {why}") from None
    if not isinstance(kept, dict) or not isinstance(kept.get("plan"), dict):
        raise Error(f"{path} is damaged: it is no evolution of islands")
    if kept["plan"] != json.loads(json.dumps(_manifest(plan))):
        raise UsageError(f"{path} is of another evolution: another simulation, or other settings")
    if not _are_scores(kept.get("best"), plan.islands):
        raise Error(f"{path} is damaged: the best scores are not a number for each island")
    return kept["best"]


def evolve(sim: str | os.PathLike[str] | Sim, generations: int, *, islands: int = 16, every: int = 10,
           migrants: int = 2, engine: str = "local", workers: int | None = None, population: int | None = None,
           steps: int | None = None, seed: int = 0, params: Mapping[str, float] | None = None, data: Any = None,
           checkpoints: str | os.PathLike[str] | None = None, tournament: int = 0, elite: int = 0,
           crossover: float = 0.0, mutation: float = 0.0, sigma: float = 0.0,
           progress: Callable[[int, float], None] | None = None) -> Archipelago:
    """Evolves ``islands`` populations up to a generation; every ``every`` generations each sends its best on.

    sim: what solo.Sim takes. migrants: how many each island sends to the next one, where they replace the worst.
    engine: "local" (this process) or "ray" (actors, ``workers`` of them, one per GPU or per node as Ray has them).
    checkpoints: a folder that all workers see; an evolution that was ended goes on from what is in it. None: a
    temporary one, on this machine. progress(generation, best score) is called after every exchange.
    """
    if isinstance(sim, Sim):
        raise UsageError("islands make simulations of their own: pass the name, the file or the WGSL text")
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params is a mapping of names to numbers, not {shown(params)}")
    if checkpoints is not None and not isinstance(checkpoints, (str, os.PathLike)):
        raise TypeError(f"checkpoints is a folder, not {shown(checkpoints)}")
    name, wgsl = read_source(sim)
    until, workers = whole(generations, "generations"), None if workers is None else whole(workers, "workers", 1)
    plan = Plan(name, wgsl, None if population is None else whole(population, "population"),
                None if steps is None else whole(steps, "steps"), whole(seed, "seed"), whole(islands, "islands", 1),
                whole(every, "every", 1), whole(migrants, "migrants"),
                {str(key): plain(value, f"params[{key!r}]") for key, value in (params or {}).items()},
                None if data is None else floats(data, "data"),
                {"tournament": whole(tournament, "tournament"), "elite": whole(elite, "elite"),
                 "crossover": number(crossover, "crossover"), "mutation": number(mutation, "mutation"),
                 "sigma": number(sigma, "sigma")}, "")
    report = function(progress, "progress")
    folder = tempfile.mkdtemp(prefix="solo-islands-") if checkpoints is None else os.path.abspath(checkpoints)
    try:
        os.makedirs(folder, exist_ok=True)
        plan = dataclasses.replace(plan, folder=folder)
        return _evolve(plan, until, _make_engine(engine, plan, workers), report)
    finally:
        if checkpoints is None:
            shutil.rmtree(folder, ignore_errors=True)


def _evolve(plan: Plan, generations: int, engine: Engine, progress: Callable[[int, float], None] | None) -> Archipelago:
    manifest = Path(plan.folder) / "islands.json"
    everyone = range(plan.islands)
    targets = [*range(plan.every, generations, plan.every), generations]
    try:
        best = _read_progress(plan, manifest)
        if len(best) > len(targets):
            raise UsageError(f"{manifest} has gone beyond generation {generations}")
        for exchange in range(len(best), len(targets)):
            sent = engine.evolve(everyone, exchange, targets[exchange])
            arrivals = {island: sent[(island - 1) % plan.islands] for island in everyone}
            while arrivals:
                lost = engine.exchange(arrivals, exchange)
                engine.evolve(lost, exchange, targets[exchange])  # comes to the same again
                arrivals = {island: arrivals[island] for island in lost}
            best.append([sent[island].best for island in everyone])
            _write(manifest, {"plan": _manifest(plan), "best": best})
            for island in everyone:
                if exchange > 1:
                    plan.file(island, exchange - 2).unlink(missing_ok=True)
            if progress:
                progress(targets[exchange], max(best[-1]))
        last = engine.best(everyone, len(targets))
    finally:
        engine.close()
    evolved = [last[i] for i in everyone]
    winner = max(evolved, key=lambda island: island.scores.max())
    place = int(winner.scores.argmax())
    return Archipelago(np.array(best), winner.genomes[place], float(winner.scores[place]), evolved)


__all__ = ["Archipelago", "evolve"]
