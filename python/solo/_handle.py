"""Objects of the library: whose turn it is to use them, and when they are freed.

A user has a ``Handle``; behind it is a ``Core``, which has the library's pointer. Cores know what they were made from,
and nothing of Python's else. A core is freed when its handle is gone and all that was made from it is freed, in
whatever order handles go: one by one, by the garbage collector, or when the interpreter ends.
"""
from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from ._native import UsageError, call, ffi, raise_error

_T = TypeVar("_T")
_PATIENCE_S = 60  # when the interpreter ends, for a thread that is at work on a device


class Lock:
    """A device's, and that of all that was made on it. It says so, instead of waiting for ever, when a callback uses
    its own device, or a forked process that of its parent: the threads that a GPU library works with are not in it.

    It is entered by ``with lock.turn():``. An RLock is taken, and its owner noted, in C: no signal comes in between.
    """

    def __init__(self) -> None:
        self._turn: Any = threading.RLock()
        self._process = os.getpid()
        self._left: deque[tuple[Core, Core | None]] = deque()

    def turn(self) -> Any:
        """What is entered by `with`."""
        if self._process != os.getpid():
            raise UsageError("a process that was forked cannot use what its parent opened: start it by spawn")
        if self._turn._is_owned():
            raise UsageError("a callback cannot use the device whose work called it")
        return self._turn

    def leave(self, core: Core, made: Core | None = None) -> None:
        """Nobody uses a core any more; or `made`, which was made from it, is freed."""
        self._left.append((core, made))
        self.sweep()

    def sweep(self, patience_s: float = 0) -> None:
        """Frees what was left. It does not wait: who is at work now does it afterwards. Below 0: it waits."""
        while self._left and self._process == os.getpid() and not self._turn._is_owned():
            if not self._sweep_now(patience_s):
                return

    def _sweep_now(self, patience_s: float) -> bool:
        taken: list[bool] = []
        try:
            taken.extend(map(self._turn.acquire, (True,), (patience_s,)))  # no signal between taking and noting it
            while taken[0] and self._left:
                self._left[0][0].let_go(self._left[0][1])
                self._left.popleft()
            return taken[0]
        finally:
            if taken and taken[0]:
                self._turn.release()


class Core:
    """An object of the library, and what it was made from."""

    def __init__(self, close: Callable[[Any], None], owners: Sequence[Core], name: str) -> None:
        self.name = name
        self.closed = False
        self.lock: Lock = owners[0].lock if owners else Lock()
        self._close = close
        self._owners = owners
        self._made: set[Core] = set()
        self._pointers: list[Any] = []  # none or one
        self._dropped = False

    def make(self, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Makes it in the library; under the locks of those that it is made from."""
        error = ffi.new("solo_error *")
        self._pointers.extend(itertools.starmap(function, [(*arguments, error)]))  # no signal before it is kept
        raise_error(error)
        _open.add(self)
        for owner in self._owners:
            owner._made.add(self)

    @property
    def pointer(self) -> Any:
        if self.closed:
            raise UsageError(f"this {self.name} is closed")
        return self._pointers[0]

    def drop(self) -> None:
        """It is freed as soon as that is possible."""
        self.closed = True
        self.lock.leave(self)

    def close(self, patience_s: float = -1) -> None:
        """Frees it, and first all that was made from it; after the calls that other threads are in."""
        self.closed = True
        for made in list(self._made):
            made.close(patience_s)
        self.lock.leave(self)
        self.lock.sweep(patience_s)

    def let_go(self, made: Core | None) -> None:
        """Under the lock; a second time it does no harm."""
        if made:
            self._made.discard(made)
        else:
            self._dropped = True
        if self._dropped and not self._made:
            self._free()

    def _free(self) -> None:
        pointers, self._pointers = self._pointers, []
        if pointers:
            self._close(pointers[0])
        _open.discard(self)
        for owner in self._owners:
            owner.lock.leave(owner, self)


_open: set[Core] = set()


@atexit.register
def _close_all() -> None:
    """Before the library's own threads end. Who uses an object after that is told that it is closed."""
    end = time.monotonic() + _PATIENCE_S
    for core in list(_open):
        core.close(max(0.0, end - time.monotonic()))


def _under(locks: Sequence[Lock], work: Callable[[], _T]) -> _T:
    if not locks:
        return work()
    with locks[0].turn():
        return _under(locks[1:], work)


class Handle:
    """An object of the library. It is closed with its owner, before it, or when nothing refers to it any more.

    A device and all that was made on it belong to one thread at a time: calls take the device's lock.
    """
    _core: Core

    def __init__(self, function: Callable[..., Any], *arguments: Any, close: Callable[[Any], None],
                 owners: Sequence[Handle] = (), name: str | None = None) -> None:
        """What function(*arguments, error) makes of its owners. A Handle among the arguments stands for its pointer."""
        cores: list[Core] = [owner._core for owner in owners]
        core = Core(close, cores, name or type(self).__name__)

        def make() -> None:
            core.make(function, [a.pointer if isinstance(a, Handle) else a for a in arguments])

        try:
            _under(list(dict.fromkeys(owner.lock for owner in cores)), make)
            self._core = core
            weakref.finalize(self, core.drop).atexit = False  # _close_all does that
        except BaseException:
            core.drop()
            raise
        finally:
            core.lock.sweep()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def close(self) -> None:
        """Frees it, and all that was made from it. It cannot be used after that."""
        self._core.close()

    @property
    def pointer(self) -> Any:
        """The library's. Only for who has the lock."""
        return self._core.pointer

    def hold(self, work: Callable[[Any], _T]) -> _T:
        """``work(its pointer)`` under the device's lock: for several calls that belong together."""
        lock = self._core.lock
        try:
            with lock.turn():
                return work(self._core.pointer)
        finally:
            lock.sweep()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """``function(this, *arguments, error)`` under the device's lock."""
        lock = self._core.lock
        try:
            with lock.turn():
                return call(function, self._core.pointer, *arguments)
        finally:
            lock.sweep()

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """``function(this, *arguments)``, of one that cannot fail."""
        return self.hold(lambda pointer: function(pointer, *arguments))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is on a device of this process")
