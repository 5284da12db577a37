"""Graphs of PyTorch's programs, and runs of them, with NumPy arrays. Needs no torch."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np

from ._checks import floats, shown, whole, whole_words
from ._handle import Handle
from ._native import UsageError, c_path, c_text, call, ffi, lib
from .device import LEVEL_NAMES, Device, device_or_default, level_number

# torch's numbers of element types; bfloat16 comes out as float32
_DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
           12: "bool", 13: "float32"}


@dataclasses.dataclass(frozen=True)
class Port:
    """What goes into a graph, comes out of it, or lives on between runs."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bytes: int
    is_state: bool = False
    strides: tuple[int, ...] | None = None  # how its elements lie, if not in order

    def lying(self, words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Its elements in memory, in its shape."""
        if self.strides is None:
            return words[: math.prod(self.shape)].reshape(self.shape)
        return np.lib.stride_tricks.as_strided(words, self.shape, [4 * step for step in self.strides])

    @property
    def words(self) -> np.dtype[Any]:
        """How its elements travel: floats, or 32-bit integers; states are always floats."""
        return np.dtype("float32" if self.is_state or self.dtype.kind == "f" else "int32")


class Graph(Handle):
    """A program as a graph: ``Graph("model.pt2")`` of a file that ``torch.export.save`` wrote.

    inputs, outputs, states: its ports, in the program's order.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._open(lib.solo_graph_open, c_path(path))

    def _open(self, function: Callable[..., Any], *arguments: Any) -> None:
        super().__init__(function, *arguments, close=lib.solo_graph_free, name="Graph")
        self.inputs = self._ports(lib.SOLO_PORT_INPUT)
        self.outputs = self._ports(lib.SOLO_PORT_OUTPUT)
        self.states = self._ports(lib.SOLO_PORT_STATE)

    def _ports(self, kind: int) -> list[Port]:
        found: list[Port] = []
        port = ffi.new("solo_tensor *")
        while self.ask(lib.solo_graph_port, kind, len(found), port):
            shape = tuple(port.dims[d] for d in range(port.rank))
            is_state = kind == lib.SOLO_PORT_STATE
            strides = tuple(port.strides[d] for d in range(port.rank)) if is_state else None
            found.append(Port(ffi.string(port.name).decode(), shape, np.dtype(_DTYPES[port.type]), port.bytes, is_state,
                              strides))
        return found


class Run(Handle):
    """A graph on a device, at a fusion level: "auto", "none", "ops", "token" or "loop".

    ``run(x, y)`` makes one run: inputs in their order, a list of all outputs.
    """

    def __init__(self, graph: Graph, level: str = "auto", device: Device | None = None) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"graph is a solo.Graph, not {shown(graph)}")
        device = device_or_default(device, own_kernels=True)
        options = ffi.new("solo_run_options *", {"level": level_number(level)})
        super().__init__(lib.solo_run_new, device, graph, options, close=lib.solo_run_free, owners=(device, graph))
        self.graph = graph
        self._ports = frozenset([*graph.inputs, *graph.outputs, *graph.states])

    @property
    def level(self) -> str:
        """As it runs."""
        return LEVEL_NAMES[self.ask(lib.solo_run_level)]

    @property
    def dispatches(self) -> int:
        """Of a run."""
        return int(self.ask(lib.solo_run_dispatches))

    def write(self, port: Port, array: Any) -> None:
        """Sets an input or a state for the runs that follow."""
        words = self._words(port, array)
        self.hold(lambda run: self._write(run, port, words))

    def read(self, port: Port) -> np.ndarray[Any, Any]:
        """An output, an input or a state after the runs so far."""
        self._check(port)
        return self.hold(lambda run: self._read(run, port))

    def read_many(self, ports: Sequence[Port]) -> list[np.ndarray[Any, Any]]:
        """Several of them, which waits for the device once."""
        for port in ports:
            self._check(port)
        return self.hold(lambda run: self._read_many(run, ports))

    def go(self, times: int = 1) -> None:
        """Makes so many runs, one after the other; states live on from each to the next."""
        self.call(lib.solo_run_go, whole(times, "times"))

    def __call__(self, *arrays: Any) -> list[np.ndarray[Any, Any]]:
        if len(arrays) != len(self.graph.inputs):
            raise UsageError(f"{len(self.graph.inputs)} inputs are needed, not {len(arrays)}")
        words = [self._words(port, array) for port, array in zip(self.graph.inputs, arrays, strict=True)]

        def work(run: Any) -> list[np.ndarray[Any, Any]]:
            for port, values in zip(self.graph.inputs, words, strict=True):
                self._write(run, port, values)
            call(lib.solo_run_go, run, 1)
            return self._read_many(run, self.graph.outputs)

        return self.hold(work)

    def _check(self, port: Port) -> None:
        try:
            known = port in self._ports
        except TypeError:  # it has no hash, as those of a graph have
            known = False
        if not known:
            raise UsageError(f"{shown(port)} is no port of this graph")

    def _words(self, port: Port, array: Any) -> np.ndarray[Any, Any]:
        """An array as it lies on the device."""
        self._check(port)
        if port.words.kind == "f":
            elements = floats(array, port.name)
        else:
            elements = whole_words(array, port.name, port.dtype)
        if elements.shape != port.shape:
            raise UsageError(f"{port.name} has the shape {port.shape}, not {elements.shape}")
        words = np.zeros(port.bytes // 4, dtype=port.words)  # a state may have one element more
        port.lying(words)[...] = elements
        return words

    def _write(self, run: Any, port: Port, words: np.ndarray[Any, Any]) -> None:
        call(lib.solo_run_write, run, c_text(port.name), ffi.from_buffer(words), words.nbytes)

    def _read(self, run: Any, port: Port) -> np.ndarray[Any, Any]:
        return self._read_many(run, [port])[0]

    def _read_many(self, run: Any, ports: Sequence[Port]) -> list[np.ndarray[Any, Any]]:
        words = [np.empty(port.bytes // 4, dtype=port.words) for port in ports]
        names = [c_text(port.name) for port in ports]
        call(lib.solo_run_read_many, run, ffi.new("const char *[]", names),
             ffi.new("void *[]", [ffi.from_buffer(values) for values in words]),
             ffi.new("size_t[]", [values.nbytes for values in words]), len(words))
        return [self._lying(port, values) for port, values in zip(ports, words, strict=True)]

    @staticmethod
    def _lying(port: Port, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.ascontiguousarray(port.lying(values)).astype(port.dtype, copy=False).reshape(port.shape)


class TensorArray:
    """Tensors as solo_tensor has them: rows with the keys name, data (an address), bytes, type, dims, strides."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        rows = list(rows)
        self._names = [c_text(row["name"]) for row in rows]
        self.count, self.pointer = len(rows), ffi.new("solo_tensor[]", len(rows))
        for to, row, name in zip(self.pointer, rows, self._names, strict=True):
            to.name, to.data, to.bytes = name, ffi.cast("void *", row["data"]), row["bytes"]
            to.type, to.rank, to.offset = row["type"], len(row["dims"]), 0
            to.dims[0: len(row["dims"])] = list(row["dims"])
            to.strides[0: len(row["dims"])] = list(row["strides"])


class _Program(Graph):
    """A graph of a program in memory: JSON as in a .pt2 file, and the tensors that it names."""

    def __init__(self, json: str, tensors: Iterable[dict[str, Any]], keep: Any) -> None:
        self._keep = keep  # what the tensors' data belongs to
        array = TensorArray(tensors)
        self._open(lib.solo_graph_from_torch, c_text(json), array.pointer, array.count)
