"""The C library: finds it, loads it, and turns its errors into exceptions.

Everything that calls C goes through here. ``ffi`` knows include/solo.h (``_declarations.py`` is generated from it),
``lib`` has its functions and constants.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
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
    raise_error(error)
    return result


def raise_error(error: Any) -> None:
    """Raises what a function reported, if it did."""
    if error.status:
        raise _CLASSES.get(error.status, Error)(ffi.string(error.text).decode(errors="replace"))


def text(pointer: Any) -> str | None:
    """A C string; None for NULL."""
    return None if pointer == ffi.NULL else ffi.string(pointer).decode(errors="replace")


def callback(signature: str, function: Callable[..., Any], failures: list[BaseException],
             stop: Callable[[], Any] | None = None) -> Any:
    """A function for C. What is raised must not pass through C: it is kept in `failures`, `stop` is called, and C gets
    False. That also goes for what a signal's handler raises before the function's first line.
    """
    def keep(kind: Any, failure: BaseException, trace: Any) -> None:
        failures.append(failure)
        if stop:
            stop()

    return ffi.callback(signature, function, onerror=keep)


def raise_first(failures: list[BaseException]) -> None:
    """Raises what was raised in a callback."""
    if failures:
        raise failures.pop(0)


def _c_bytes(raw: bytes, name: str) -> Any:
    if b"\0" in raw:
        raise UsageError(f"{name} with a zero byte in it cannot be passed on")
    return ffi.new("char[]", raw)


def c_text(value: str | None, name: str = "a text") -> Any:
    """A string for C, with NULL for None. It lives as long as the result does."""
    if value is None:
        return ffi.NULL
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    try:
        return _c_bytes(value.encode(), name)
    except UnicodeEncodeError:
        raise UsageError(f"{name} has half of a surrogate pair in it, which is no text") from None


def c_path(value: str | os.PathLike[str] | None, name: str = "path") -> Any:
    """A file's name for C, with NULL for None: any name that the file system may have."""
    if value is None:
        return ffi.NULL
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} is a str or a path, not {type(value).__name__}")
    try:
        return _c_bytes(os.fsencode(value), name)
    except UnicodeEncodeError:
        raise UsageError(f"{name} cannot be the name of a file") from None


class Texts:
    """Several strings for C, and NULL behind the last."""

    def __init__(self, values: Iterable[str], name: str = "a text") -> None:
        self._kept = [c_text(value, name) for value in values]
        if ffi.NULL in self._kept:
            raise TypeError(f"{name}: one of several texts is None")
        self.pointer = ffi.new("char *[]", [*self._kept, ffi.NULL]) if self._kept else ffi.NULL
