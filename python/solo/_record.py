"""Operators are recorded, and run together when somebody needs a value.

A recording is a list of ATen operators over values. Those that still belong to a tensor when it is run are its outputs; the
rest stays inside. The same list runs again without being lowered and compiled again: numbers that change from step to step
(a learning rate) are data, not part of the program.
"""
from __future__ import annotations

import math
import operator
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from . import _storage
from ._native import Error, c_text, call, ffi, lib
from ._storage import Block, Buffer
from .graph import Run, _Program
from .torch import _Traced

Spec = tuple[tuple[int, ...], torch.dtype]  # the shape and type of a result
MOST_NODES = 4000  # a recording that is longer is run before anybody asks for a value
MOST_PROGRAMS = 64  # that are kept compiled
_as_strided = torch.ops.aten.as_strided.default


class Value:
    """A result of a recorded operator, an input, or a number."""

    __slots__ = ("number", "shape", "dtype")

    def __init__(self, number: int, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self.number, self.shape, self.dtype = number, shape, dtype


def frozen(argument: Any) -> Any:
    """An argument as part of a key: numbers of different types are different."""
    if isinstance(argument, Value):
        return Value, argument.number
    if isinstance(argument, (list, tuple)):
        return tuple(frozen(a) for a in argument)
    if isinstance(argument, (bool, float)):
        return type(argument), repr(argument)
    return argument


def replaced(argument: Any, by: Callable[[Value], Any]) -> Any:
    if isinstance(argument, Value):
        return by(argument)
    if isinstance(argument, (list, tuple)):
        return type(argument)(replaced(a, by) for a in argument)
    return argument


def called(op: Any, args: Sequence[Any]) -> Any:
    """An operator with all its arguments in the order of the schema: by name those that have to be, and as numbers."""
    schema = op._schema.arguments
    args = [a.item() if isinstance(a, torch.Tensor) and isinstance(parameter.type, torch.NumberType) else a
            for parameter, a in zip(schema, args, strict=False)]
    first = next((i for i, parameter in enumerate(schema) if parameter.kwarg_only), len(schema))
    return op(*args[:first], **{parameter.name: a for parameter, a in zip(schema[first:], args[first:], strict=False)})


class Recording:
    """Values are numbered in the order in which they were made."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.count = 0
        self.inputs: list[tuple[Value, Buffer | None]] = []
        self.scalars: list[tuple[Value, float]] = []
        self.nodes: list[tuple[Any, tuple[Any, ...], list[Value], bool]] = []  # operator, arguments, results, many
        self.keys: list[Any] = []
        self._views: dict[Any, Value] = {}

    def _value(self, shape: tuple[int, ...], dtype: torch.dtype) -> Value:
        self.count += 1
        return Value(self.count, shape, dtype)

    def input(self, count: int, dtype: torch.dtype, buffer: Buffer | None) -> Value:
        value = self._value((count,), dtype)
        self.inputs.append((value, buffer))
        self.keys.append((count, dtype))
        return value

    def scalar(self, number: float) -> Value:
        value = self._value((), torch.float32)
        self.scalars.append((value, number))
        self.keys.append(0)
        return value

    def call(self, op: Any, args: tuple[Any, ...], results: Sequence[Spec], many: bool = False) -> list[Value]:
        """many: the operator returns several, even if it is one."""
        made = [self._value(*spec) for spec in results]
        self.nodes.append((op, args, made, many))
        self.keys.append((op, frozen(args), tuple(results)))
        return made

    def view(self, base: Value, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Value:
        """Elements of a value, which is taken to lie one behind the other."""
        if base.shape == shape and offset == 0 and list(strides) == _storage.contiguous_strides(shape):
            return base
        key = base.number, shape, strides, offset
        if key not in self._views:
            args = (base, list(shape), list(strides), offset)
            self._views[key] = self.call(_as_strided, args, [(shape, base.dtype)])[0]
        return self._views[key]

    # ---- as a program ----

    def needed(self, outputs: Sequence[Value]) -> tuple[set[int], list[int]]:
        """Numbers of the values, and the nodes, that these need."""
        values, nodes = {value.number for value in outputs}, []
        for i in range(len(self.nodes) - 1, -1, -1):
            _, args, made, _ = self.nodes[i]
            if any(value.number in values for value in made):
                nodes.append(i)
                replaced(args, lambda value: values.add(value.number))
        return values, nodes[::-1]

    def traced(self, outputs: Sequence[Value]) -> _Traced:
        graph, made = torch.fx.Graph(), {}

        def meta(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
            return torch.empty(shape, dtype=dtype, device="meta")

        def add(node: Any, what: Any) -> Any:
            node.meta["val"] = what
            return node

        values, nodes = self.needed(outputs)
        for value, _ in self.inputs:
            if value.number in values:
                made[value.number] = add(graph.placeholder(f"x{value.number}"), meta(value.shape, value.dtype))
        if self.scalars:
            numbers = add(graph.placeholder("scalars"), meta([len(self.scalars)], torch.float32))
            for i, (value, _) in enumerate(self.scalars):
                if value.number in values:
                    made[value.number] = add(graph.call_function(_as_strided, (numbers, [], [], i)), meta([], torch.float32))
        for i in nodes:
            op, args, results, many = self.nodes[i]
            node = graph.call_function(op, replaced(args, lambda value: made[value.number]))
            metas = [meta(value.shape, value.dtype) for value in results]
            add(node, metas if many else metas[0])
            for k, value in enumerate(results):
                made[value.number] = add(graph.call_function(operator.getitem, (node, k)), metas[k]) if many else node
        graph.output(tuple(made[value.number] for value in outputs))
        return _Traced(SimpleNamespace(graph=graph))

    def lowered(self, outputs: Sequence[Value]) -> _Program:
        """An Error says what cannot be lowered."""
        return _Program(self.traced(outputs).json(set()), [], None)

    def on_the_host(self, outputs: Sequence[Value]) -> list[torch.Tensor]:
        """The same by PyTorch's own operators."""
        values, nodes = self.needed(outputs)
        made = {value.number: torch.tensor(number) for value, number in self.scalars}
        for value, buffer in self.inputs:
            if value.number in values:
                assert buffer is not None
                made[value.number] = buffer.read(value.dtype)
        for i in nodes:
            op, args, results, many = self.nodes[i]
            result = called(op, replaced(args, lambda value: made[value.number]))
            for value, tensor in zip(results, result if many else [result], strict=False):
                made[value.number] = tensor.contiguous()
        return [made[value.number] for value in outputs]


class _Compiled:
    def __init__(self, recording: Recording, outputs: Sequence[Value], level: str) -> None:
        self.run = Run(recording.lowered(outputs), level, _storage.device())
        there = {port.name for port in self.run.graph.inputs}
        self._inputs = [(i, c_text(name)) for i, (value, _) in enumerate(recording.inputs)
                        if (name := f"x{value.number}") in there]
        self._scalars = c_text("scalars") if "scalars" in there else None
        self._outputs = [c_text(port.name) for port in self.run.graph.outputs]

    def __call__(self, recording: Recording, outputs: Sequence[Buffer]) -> None:
        bound = [(name, recording.inputs[i][1]) for i, name in self._inputs] + list(
            zip(self._outputs, outputs, strict=True))
        numbers = ffi.new("float[]", [number for _, number in recording.scalars])

        def go(run: Any) -> None:
            try:
                for name, buffer in bound:
                    assert buffer is not None
                    call(lib.solo_run_bind, run, name, buffer.handle.pointer)
                if self._scalars is not None:
                    call(lib.solo_run_write, run, self._scalars, numbers, ffi.sizeof(numbers))
                call(lib.solo_run_go, run, 1)
            finally:
                for name, _ in bound:  # the buffers' owners may free them
                    lib.solo_run_bind(run, name, ffi.NULL, ffi.NULL)

        self.run.hold(go)


class Recorder:
    """What is being recorded, and the programs that were compiled so far."""

    def __init__(self) -> None:
        self.level = "ops"
        self.recording = Recording(1)
        self.runs = self.dispatches = self.compiled = 0
        self.on_host: Counter[str] = Counter()  # why a whole recording ran on the host
        self._programs: OrderedDict[Any, _Compiled | None] = OrderedDict()

    def forget_programs(self) -> None:
        self._programs.clear()

    def value_of(self, block: Block) -> Value:
        """What a block's elements are in this recording."""
        block.check()
        if block.value is None or block.epoch != self.recording.epoch:
            buffer = block.uploaded()
            block.value = self.recording.input(block.count, block.dtype, buffer)
            block.epoch = self.recording.epoch
        return block.value

    def is_pending(self, block: Block) -> bool:
        return (block.value is not None and block.epoch == self.recording.epoch and block.buffer is None
                and block.host is None)

    def _program(self, recording: Recording, values: list[Value]) -> _Compiled | None:
        key = self.level, tuple(recording.keys), tuple(value.number for value in values)
        if key in self._programs:
            self._programs.move_to_end(key)
            return self._programs[key]
        try:
            program = _Compiled(recording, values, self.level)
            self.compiled += 1
        except Error as why:
            if self._device_failed():
                raise
            self.on_host[str(why)] += 1
            program = None
        self._programs[key] = program
        if len(self._programs) > MOST_PROGRAMS:
            self._programs.popitem(last=False)
        return program

    def _device_failed(self) -> bool:
        try:
            Buffer(1).read(torch.int32)
        except Error:
            return True
        return False

    def flush(self) -> None:
        """Runs what was recorded. It does not wait for the device."""
        recording = self.recording
        if not recording.nodes and not recording.inputs:
            return
        live = [block for block in _storage.blocks() if self.is_pending(block)]
        self.recording = Recording(recording.epoch + 1)
        values: dict[int, Value] = {block.value.number: block.value for block in live if block.value}
        order = list(values.values())
        if not order:
            return
        try:
            program = self._program(recording, order)
            if program:
                buffers = [Buffer(max(math.prod(value.shape), 1)) for value in order]
                program(recording, buffers)
                self.dispatches += program.run.dispatches
                made: dict[int, Any] = {v.number: b for v, b in zip(order, buffers, strict=True)}
            else:
                results = recording.on_the_host(order)
                made = {v.number: t.flatten() for v, t in zip(order, results, strict=True)}
        except Error as why:
            for block in live:
                block.value, block.lost = None, str(why)
            raise
        self.runs += 1
        for block in live:
            assert block.value
            what = made[block.value.number]
            if isinstance(what, Buffer):
                block.set_buffer(what)
            else:
                block.set_host(what.to(block.dtype).clone())

    def host(self, block: Block) -> torch.Tensor:
        """All elements of a block in the host's memory. Who changes them calls set_host afterwards."""
        if self.is_pending(block):
            self.flush()
        block.check()
        if block.host is None:
            if block.buffer is None:
                block.set_host(torch.zeros(block.count, dtype=block.dtype))
            else:
                block.host = block.buffer.read(block.dtype)
        assert block.host is not None
        return block.host


recorder = Recorder()
