"""The C library: finds it, loads it, and turns its errors into exceptions.

Everything that calls C goes through here. ``ffi`` knows include/solo.h (``_declarations.py`` is generated from it),
``lib`` has its functions and constants.
"""
from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ._declarations import ffi


class Error(RuntimeError):
    """Something failed; the text is one line that says what."""


class UsageError(Error, ValueError):
    """What was asked for makes no sense."""


class NoGpuError(Error):
    """There is no usable GPU, and no software that stands in for one."""


for _class in (Error, UsageError, NoGpuError):
    _class.__module__ = "solo"  # as users know them
_CLASSES = {2: UsageError, 3: NoGpuError}


def _load() -> Any:
    here = Path(__file__).parent / "lib" / "libsolo.so.0"
    name = os.environ.get("SOLO_LIBRARY") or (str(here) if here.exists() else "libsolo.so.0")
    try:
        return ffi.dlopen(name)
    except OSError as why:
        raise ImportError(f"Solo's library cannot be loaded: {why}") from None


lib = _load()


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function that takes a solo_error as its last argument; raises what it reports."""
    error = ffi.new("solo_error *")
    result = function(*arguments, error)
    if error.status:
        raise _CLASSES.get(error.status, Error)(ffi.string(error.text).decode(errors="replace"))
    return result


def text(pointer: Any) -> str | None:
    """A C string; None for NULL."""
    return None if pointer == ffi.NULL else ffi.string(pointer).decode(errors="replace")


def c_text(value: str | os.PathLike[str] | None) -> Any:
    """A string for C, with NULL for None. It lives as long as the result does."""
    if value is None:
        return ffi.NULL
    name = os.fspath(value)
    if not isinstance(name, str):
        raise TypeError(f"a text is a str, not {type(name).__name__}")
    raw = name.encode()
    if b"\0" in raw:
        raise UsageError("a text with a zero byte in it cannot be passed on")
    return ffi.new("char[]", raw)


class Texts:
    """Several strings for C, and NULL behind the last."""

    def __init__(self, values: Any) -> None:
        self._kept = [c_text(v) for v in values or ()]
        if ffi.NULL in self._kept:
            raise TypeError("one of several texts is None")
        self.pointer = ffi.new("char *[]", [*self._kept, ffi.NULL]) if self._kept else ffi.NULL


class Handle:
    """An object of the library. It is closed with its owner, before it, or when nothing refers to it any more.

    A device and all that was made on it belong to one thread at a time: calls take the device's lock.
    """

    def __init__(self, pointer: Any, close: Callable[[Any], None], owners: tuple[Handle, ...] = ()) -> None:
        self._owners = owners  # they live at least as long
        self._lock: Lock = next((o._lock for o in owners if o._lock), None) or Lock()
        self._made: weakref.WeakSet[Handle] = weakref.WeakSet()
        for owner in owners:
            owner._made.add(self)
        self._pointer = pointer
        self._close = weakref.finalize(self, _close_locked, self._lock, close, pointer)

    def close(self) -> None:
        """Frees it, and all that was made from it. It cannot be used after that."""
        for made in list(self._made):
            made.close()
        self._pointer = ffi.NULL
        self._close()

    @contextlib.contextmanager
    def held(self) -> Iterator[Any]:
        """Its pointer, with the device's lock: for several calls that belong together."""
        with self._lock:
            if self._pointer == ffi.NULL:
                raise UsageError(f"this {type(self).__name__} is closed")
            yield self._pointer

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """``function(this, *arguments, error)`` under the device's lock."""
        with self.held() as pointer:
            return call(function, pointer, *arguments)

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """``function(this, *arguments)``, of one that cannot fail."""
        with self.held() as pointer:
            return function(pointer, *arguments)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class Lock:
    """A lock that says so, instead of waiting for ever, when a callback uses its own device, or a forked process uses
    that of its parent: the threads that a GPU library works with are not in it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder = 0
        self._process = os.getpid()

    def is_here(self) -> bool:
        """Whether it was made by this process."""
        return self._process == os.getpid()

    def __enter__(self) -> None:
        if not self.is_here():
            raise UsageError("a process that was forked cannot use what its parent opened: start it by spawn")
        me = threading.get_ident()
        if self._holder == me:
            raise UsageError("a callback cannot use the device whose work called it")
        self._lock.acquire()
        self._holder = me

    def __exit__(self, *unused: object) -> None:
        self._holder = 0
        self._lock.release()


def _close_locked(lock: Lock, close: Callable[[Any], None], pointer: Any) -> None:
    if lock.is_here():
        with lock:
            close(pointer)
