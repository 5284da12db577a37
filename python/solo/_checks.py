"""What arguments may be. What is refused is refused in one line that names the argument."""
from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._native import Texts, UsageError

MOST_U32 = 0xFFFFFFFF


def shown(value: Any) -> str:
    """A value in an error's line."""
    try:
        line = " ".join(repr(value).split())
    except Exception:  # repr is the caller's, and numbers may be too long for it
        return f"a {type(value).__name__}"
    return line if len(line) <= 60 else f"{line[:57]}..."


def whole(value: Any, name: str, least: int = 0, most: int = MOST_U32) -> int:
    """A whole number, of Python's or NumPy's."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {shown(value)}") from None
    if not least <= number <= most:
        raise UsageError(f"{name} is from {least} to {most}, not {shown(number)}")
    return number


def number(value: Any, name: str) -> float:
    """Any number, as a float."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is a number, not {shown(value)}")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is a number, not {shown(value)}") from None
    except OverflowError:
        raise UsageError(f"{name} is too large") from None


def plain(value: Any, name: str) -> int | float:
    """Any number, as one of Python's, which JSON has."""
    try:
        return operator.index(value)
    except TypeError:
        return number(value, name)


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is True or False, not {shown(value)}")
    return bool(value)


def one_of(value: Any, name: str, choices: Sequence[Any]) -> Any:
    """One of several; most are names."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise UsageError(f"{name} is one of {', '.join(map(str, choices))}, not {shown(value)}")
    return value


def function(value: Any, name: str) -> Any:
    """Something to call, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} is a function, not {shown(value)}")
    return value


def known(options: Any, names: Sequence[str], what: str) -> None:
    """Options by name: nothing else than these."""
    for name in options:
        if name not in names:
            raise TypeError(f"there is no setting {shown(name)} of {what}")


def several(values: Any, name: str, kinds: tuple[type, ...] = (str,)) -> list[Any]:
    """One of such a kind, or several of them."""
    if isinstance(values, kinds):
        return [values]
    if isinstance(values, (bytes, os.PathLike)):
        raise TypeError(f"{name} is a text or several, not {shown(values)}")
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} is a text or several, not {shown(values)}") from None


def stop_texts(stop: Any) -> Texts:
    """Texts that end an answer: one or several."""
    return Texts(several(stop, "stop"), "stop")


def whole_words(values: Any, name: str, dtype: np.dtype[Any]) -> np.ndarray:
    """Whole numbers that such an element can be, as the 32 bits that the device has for it."""
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    words = np.iinfo(np.int32)
    least, most = max(least, words.min), min(most, words.max)
    try:
        array = np.asarray(values)
        with np.errstate(invalid="ignore"):
            right = bool(np.all((array >= least) & (array <= most) & (array == array // 1)))
    except (TypeError, ValueError, ArithmeticError):
        right = False
    if not right:
        raise UsageError(f"{name}: its elements are whole numbers from {least} to {most}")
    return array.astype(np.int32)


def floats(values: Any, name: str) -> np.ndarray:
    """An array as C has it."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise ValueError("its elements are complex numbers")
        return np.ascontiguousarray(array, np.float32).reshape(array.shape)  # a number alone stays one
    except (TypeError, ValueError) as why:
        raise UsageError(f"{name}: {' '.join(str(why).split())}") from None
