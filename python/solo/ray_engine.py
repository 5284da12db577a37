"""Islands on Ray's actors: on one machine or many, with actors that may die."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._native import Error
from .islands import Plan, Sent, Worker
from .sim import Evolved

try:
    import ray
except ImportError:
    raise ImportError("engine='ray' needs Ray: pip install 'solo-gpu[ray]'") from None

_MOST_LOSSES = 10  # of workers in a row without anything done between: that is not bad luck
_PATIENCE_S = 30  # for a place where a new worker can run; after that the others do its work

_Actor: Any = ray.remote(max_restarts=0)(Worker)
_Lost = (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError)


class RayEngine:
    """Workers as actors; each island belongs to one. Ray is started here if it does not run yet."""

    def __init__(self, plan: Plan, workers: int | None) -> None:
        if not ray.is_initialized():
            ray.init()
        gpus = int(ray.cluster_resources().get("GPU", 0))
        count = min(workers or gpus or int(ray.cluster_resources().get("CPU", 1)), plan.islands)
        self._plan = plan
        # without GPUs an actor takes a CPU; it is placed where one is free, on any node
        self._resources: dict[str, float] = {"num_gpus": 1} if gpus >= count else {"num_cpus": 1}
        actors = [self._new_actor() for _ in range(count)]
        self._actor_of: list[Any] = [actors[island % count] for island in range(plan.islands)]
        self._losses = 0
        self.replaced = 0  # workers that were lost so far

    def _new_actor(self) -> Any:
        return _Actor.options(scheduling_strategy="SPREAD", **self._resources).remote(self._plan)

    def _replace(self, lost: Any, why: Exception) -> None:
        """Another worker for the islands of a lost one; where no new one can be had, those that live share them."""
        self.replaced += 1
        self._losses += 1
        if self._losses > _MOST_LOSSES:
            raise Error(f"workers die again and again: {str(why).splitlines()[0]}") from None
        living = list({id(a): a for a in self._actor_of if a is not lost}.values())
        new = self._new_actor()
        ready, _ = ray.wait([new.best.remote([], 0)], timeout=_PATIENCE_S if living else None)
        if not ready:
            ray.kill(new)
        takers = [new] if ready else living
        for place, island in enumerate([i for i, a in enumerate(self._actor_of) if a is lost]):
            self._actor_of[island] = takers[place % len(takers)]

    def _call(self, islands: Sequence[int], start: Callable[[Any, list[int]], Any]) -> tuple[dict[int, Any], list[int]]:
        """start(actor, its islands) on all actors at once. Returns the results by island, and the islands of actors
        that died, which have been given to others."""
        shares: dict[int, tuple[Any, list[int]]] = {}
        for island in islands:
            actor = self._actor_of[island]
            shares.setdefault(id(actor), (actor, []))[1].append(island)
        begun = [(actor, mine, start(actor, mine)) for actor, mine in shares.values()]
        results: dict[int, Any] = {}
        lost: list[int] = []
        for actor, mine, reference in begun:
            try:
                results.update(ray.get(reference) or {})
                self._losses = 0
            except ray.exceptions.RayTaskError as failure:  # the work failed, not the worker
                raise failure.as_instanceof_cause() from None
            except _Lost as why:
                self._replace(actor, why)
                lost += mine
        return results, lost

    def _until_done(self, islands: Sequence[int], start: Callable[[Any, list[int]], Any]) -> dict[int, Any]:
        results: dict[int, Any] = {}
        left = list(islands)
        while left:
            made, left = self._call(left, start)
            results.update(made)
        return results

    def evolve(self, islands: Sequence[int], exchange: int, until: int) -> dict[int, Sent]:
        """See islands.Engine."""
        return self._until_done(islands, lambda actor, mine: actor.evolve.remote(mine, exchange, until))

    def exchange(self, arrivals: Mapping[int, Sent], exchange: int) -> list[int]:
        """See islands.Engine."""
        return self._call(list(arrivals), lambda actor, mine: actor.exchange.remote(
            {island: arrivals[island] for island in mine}, exchange))[1]

    def best(self, islands: Sequence[int], exchange: int) -> dict[int, Evolved]:
        """See islands.Engine."""
        return self._until_done(islands, lambda actor, mine: actor.best.remote(mine, exchange))

    def close(self) -> None:
        """See islands.Engine."""
        for actor in {id(a): a for a in self._actor_of}.values():
            ray.kill(actor)
