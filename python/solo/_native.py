"""The C library: finds it, loads it, and turns its errors into exceptions.

Everything that calls C goes through here. ``ffi`` knows include/solo.h (``_declarations.py`` is generated from it),
``lib`` has its functions and constants.
"""
from __future__ import annotations

import os
from collections.abc import Callable
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
