"""A backend for torch.compile: ``torch.compile(model, backend="solo")``.

Dynamo and AOTAutograd trace the model; the graph they make is lowered by the same C code as .pt2 files, and runs as one
dispatch where the device allows it. Tensors that the model changes in place (a static cache) are states on the device:
they are uploaded again only if someone else wrote to them. What cannot be lowered runs in eager mode, with one warning
that says why, and is counted; what comes before and after it in the graph runs on the device. In training the forward pass is one graph and the backward pass another.
"""
from __future__ import annotations

import json
import math
import operator
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from . import _pieces
from ._backward import decompositions
from ._native import Error, NoGpuError
from .graph import Run, _Program
from .torch_generate import Decoder, generate

__all__ = ["Decoder", "backend", "compiled", "fallbacks", "generate"]

# torch's numbers, as in a .pt2 file
_TYPES = {torch.uint8: 1, torch.int8: 2, torch.int16: 3, torch.int32: 4, torch.int64: 5, torch.float16: 6,
          torch.float32: 7, torch.float64: 8, torch.bool: 12, torch.bfloat16: 13}
_fallbacks: Counter[str] = Counter()
_compiled: list[Step] = []


def compiled() -> list[Step]:
    """The graphs that run on the device, in the order in which they were compiled."""
    return list(_compiled)


def fallbacks() -> dict[str, int]:
    """Why graphs ran in eager mode, and how often."""
    return dict(_fallbacks)


class _Eager:
    """A graph that runs in eager mode: the first time with a warning, which is given once for each reason."""

    def __init__(self, module: torch.fx.GraphModule, why: str) -> None:
        self._module, self.fallback = module, why

    def __call__(self, *args: Any) -> list[Any]:
        _fallbacks[self.fallback] += 1
        if _fallbacks[self.fallback] == 1:
            warnings.warn(f"solo: a part of the model runs in eager mode: {self.fallback}", stacklevel=2)
        return list(self._module(*args))


# ---- the FX graph as JSON --------------------------------------------------------------------------------------------


def _number(value: float) -> Any:
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


def _argument(value: Any) -> dict[str, Any]:
    if value is None:
        return {"as_none": True}
    if isinstance(value, torch.fx.Node):
        return {"as_tensor": {"name": value.name}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": _number(value)}
    if isinstance(value, torch.dtype):
        if value not in _TYPES:
            raise Error(f"elements of {value} are not supported")
        return {"as_scalar_type": _TYPES[value]}
    if isinstance(value, (list, tuple)):
        if any(isinstance(v, torch.fx.Node) for v in value):
            if all(isinstance(v, torch.fx.Node) for v in value):
                return {"as_tensors": [{"name": v.name} for v in value]}
            return {"as_optional_tensors": [_argument(v) for v in value]}
        return {"as_ints": list(value)} if all(isinstance(v, int) for v in value) else {"as_floats": list(value)}
    return {"as_string": str(value)}


def _meta(node: torch.fx.Node) -> dict[str, Any] | None:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    if not all(isinstance(size, int) for size in value.shape):
        raise Error(f"{node.name} has a shape that is not known before it runs: compile with dynamic=False")
    if value.dtype not in _TYPES:
        raise Error(f"{node.name} has elements of {value.dtype}, which are not supported")
    return {"dtype": _TYPES[value.dtype], "sizes": [{"as_int": s} for s in value.shape],
            "strides": [{"as_int": s} for s in value.stride()], "storage_offset": {"as_int": 0}}


def _outputs(node: torch.fx.Node) -> list[dict[str, Any]]:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return [{"as_tensor": {"name": node.name}}]
    if not isinstance(value, (list, tuple)):
        return []
    names = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
    parts = [{"name": names.get(i, f"{node.name}_unused_{i}")} for i in range(len(value))]
    is_list = str(node.target._schema.returns[0].type) == "List[Tensor]"
    return [{"as_tensors": parts}] if is_list else [{"as_tensor": part} for part in parts]


def _call(node: torch.fx.Node) -> dict[str, Any]:
    if not isinstance(node.target, torch._ops.OpOverload):
        raise Error(f"{node.name} calls {node.target}, which is no ATen operator")
    schema = node.target._schema.arguments
    given = [(a.name, value) for a, value in zip(schema, node.args, strict=False)] + list(node.kwargs.items())
    return {"target": f"torch.ops.{node.target}", "name": node.name, "outputs": _outputs(node),
            "inputs": [{"name": name, "arg": _argument(value)} for name, value in given],
            "metadata": {"stack_trace": node.meta.get("stack_trace") or ""}}


def _wrong_types(node: torch.fx.Node) -> str | None:
    """Why a node cannot be lowered whatever its operator: it is none of ATen's, or has elements of another type."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return f"{node.name} calls {node.target}, which is no ATen operator"
    results = (user.meta.get("val") for user in node.users if user.target is operator.getitem)
    for value in (node.meta.get("val"), *results, *(given.meta.get("val") for given in node.all_input_nodes)):
        if isinstance(value, torch.Tensor) and value.dtype not in _TYPES:
            return f"{node.name} has elements of {value.dtype}, which are not supported"
    return None


class _Traced:
    """What a graph module is made of: its nodes, which inputs it changes, what it returns."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        self.placeholders: list[torch.fx.Node] = []
        self.changed: dict[str, str] = {}  # input -> what it becomes
        self.nodes: list[dict[str, Any]] = []
        self.metas: dict[str, Any] = {}
        self.attributes: dict[str, torch.Tensor] = {}
        self.returned: Sequence[Any] = ()
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self.placeholders.append(node)
            elif node.op == "get_attr":
                self.attributes[node.name] = getattr(module, node.target)
            elif node.op == "output":
                self.returned = node.args[0]
                continue
            elif node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder":
                self.changed[node.args[0].name] = node.args[1].name
                continue
            elif node.target is not operator.getitem:
                self.nodes.append(_call(node))
            meta = _meta(node)
            if meta:
                self.metas[node.name] = meta

    def json(self, stored: set[str], given: bool = True) -> str:
        """given: inputs that are returned as they are become outputs, too."""
        specs: list[dict[str, Any]] = []
        for node in self.placeholders:
            name = node.name
            if name in self.changed or name in stored:
                kind = "buffer" if name in self.changed else "parameter"
                specs.append({kind: {"arg": {"name": name}, f"{kind}_name": name}})
            elif name in self.metas:
                specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
        specs += [{"tensor_constant": {"arg": {"name": n}, "tensor_constant_name": n}} for n in self.attributes]
        outputs: list[dict[str, Any]] = [{"buffer_mutation": {"arg": {"name": new}, "buffer_name": old}}
                                         for old, new in self.changed.items()]
        outputs += [{"user_output": {"arg": {"as_tensor": {"name": v.name}}}} for v in self.returned
                    if self.is_made(v) or (given and self.is_tensor(v))]
        return json.dumps({"graph": {"nodes": self.nodes, "tensor_values": self.metas},
                           "signature": {"input_specs": specs, "output_specs": outputs}})

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.fx.Node) and value.name in self.metas

    def is_made(self, value: Any) -> bool:
        """Is it a tensor that the graph computes, none that it was given?"""
        return self.is_tensor(value) and (value.op != "placeholder" or value.name in self.changed)


# ---- a compiled graph ------------------------------------------------------------------------------------------------


def _tensor(name: str, value: torch.Tensor) -> dict[str, Any]:
    if value.device.type != "cpu":
        raise Error(f"{name} is on {value.device}: only tensors in the host's memory are supported")
    return {"name": name, "data": value.data_ptr(), "bytes": value.untyped_storage().nbytes()
            - value.storage_offset() * value.element_size(), "type": _TYPES[value.dtype], "dims": value.shape,
            "strides": value.stride()}


def _array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    value = value.detach()
    return (value.float() if value.dtype in (torch.float16, torch.bfloat16) else value).numpy()


class Step:
    """A traced graph on the device. It is made at the first call, when parameters are there.

    static: numbers of the arguments that are parameters. When ``trains`` they are inputs like others, but uploaded only
    when they changed; else they are part of the graph.
    """

    def __init__(self, module: torch.fx.GraphModule, static: set[int], level: str, trains: bool = False) -> None:
        self._module, self._level, self._trains = module, level, trains
        self._pieces: list[tuple[_pieces.Piece, Callable[..., Any]]] = []
        self._eager: _Eager | None = None
        self.run: Run | None = None
        self._names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
        self._fixed = {self._names[i] for i in static if i < len(self._names)} - {
            str(node.args[0]) for node in module.graph.nodes if _pieces.copies_back(node)}
        why = {node: why for node in module.graph.nodes if node.op == "call_function" and node.target is not operator.getitem
               and (why := _wrong_types(node))}
        if why:
            self._split(why.__contains__, next(iter(why.values())))
            return
        self._traced = _Traced(module)
        known = {i: name for i, name in enumerate(self._names) if name in self._fixed}
        self._place = {name: i for i, name in enumerate(self._names)}
        self._static, self._kept = ({}, set(known)) if trains else (known, set())
        self._states = {i: name for i, name in enumerate(self._names) if name in self._traced.changed}
        self._seen: dict[int, tuple[int, int]] = {}

    def _split(self, refused: Callable[[torch.fx.Node], bool], why: str) -> None:
        """Runs in pieces from now on: those without such nodes as steps of their own."""
        for piece in _pieces.split(self._module, refused):
            if piece.refused:
                self._pieces.append((piece, _Eager(piece.module, why)))
            elif all(_pieces.is_view(node) for node in piece.nodes):
                self._pieces.append((piece, piece.module))
            else:
                self._pieces.append((piece, self._step_of(piece)))

    def _step_of(self, piece: _pieces.Piece) -> Callable[..., Any]:
        static = {i for i, name in enumerate(piece.inputs) if name in self._fixed}
        try:
            return Step(piece.module, static, self._level, self._trains)
        except Error as why:
            return _Eager(piece.module, str(why))

    def _give_up(self, why: str) -> None:
        """On the node that cannot be lowered, and all others of an operator that is not known; or on the whole graph."""
        found = re.search(r"\bnode (\S+) \(", why)
        unknown = "the operator is not supported" in why
        nodes = {node.name: node for node in self._module.graph.nodes}
        if found and found[1] in nodes:
            node = nodes[found[1]]
            self._split(lambda other: other is node or (unknown and other.target is node.target), why)
        else:
            self._eager = _Eager(self._module, why)
            _compiled.append(self)

    def _mark(self, tensor: torch.Tensor) -> tuple[int, int]:
        """What tells whether someone else wrote to a tensor."""
        return tensor.data_ptr(), tensor._version

    def _build(self, args: Sequence[Any]) -> None:
        stored = {**self._static, **self._states}
        rows = [_tensor(name, args[i]) for i, name in stored.items()]
        rows += [_tensor(name, value) for name, value in self._traced.attributes.items()]
        keep = [args[i] for i in stored] + list(self._traced.attributes.values())
        graph = _Program(self._traced.json(set(self._static.values()), given=False), rows, keep)
        self.run = Run(graph, self._level)
        self._seen = {i: self._mark(args[i]) for i in stored}
        self._inputs = {port.name: port for port in graph.inputs}
        self._ports = {port.name: port for port in graph.states}

    def _upload(self, args: Sequence[Any]) -> None:
        run = self.run
        assert run is not None
        for i, node in enumerate(self._traced.placeholders):
            if node.name not in self._inputs or (i in self._kept and self._mark(args[i]) == self._seen.get(i)):
                continue
            run.write(self._inputs[node.name], _array(args[i]))
            if i in self._kept:
                self._seen[i] = self._mark(args[i])
        for i, name in self._states.items():
            if self._mark(args[i]) != self._seen[i]:
                run.write(self._ports[name], _array(args[i]))

    def _download(self, args: Sequence[Any]) -> list[Any]:
        run = self.run
        assert run is not None
        values = run.read_many([self._ports[name] for name in self._states.values()] + list(run.graph.outputs))
        for i, state in zip(self._states, values, strict=False):
            args[i].copy_(torch.from_numpy(state))
            self._seen[i] = self._mark(args[i])
        made = iter(values[len(self._states):])
        results: list[Any] = []
        for value in self._traced.returned:
            if not self._traced.is_made(value):
                results.append(args[self._place[value.name]] if isinstance(value, torch.fx.Node) else value)
                continue
            like = value.meta["val"]
            result = torch.from_numpy(next(made)).to(like.dtype)
            if like.stride() != result.stride():
                result = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype).copy_(result)
            results.append(result)
        return results

    @property
    def fallback(self) -> str | None:
        """Why it runs in eager mode, if it does."""
        return self._eager.fallback if self._eager else None

    def _is_ready(self, args: Sequence[Any]) -> bool:
        if self._eager or self._pieces:
            return False
        if self.run is None or any(self._mark(args[i]) != self._seen.get(i) for i in self._static):
            try:
                self._build(args)
            except NoGpuError:
                raise
            except Error as why:
                self.run = None
                self._give_up(str(why))
                return False
            if self not in _compiled:
                _compiled.append(self)
        return True

    def __call__(self, *args: Any) -> list[Any]:
        with torch.no_grad():
            if self._is_ready(args):
                assert self.run is not None
                self._upload(args)
                self.run.go()
                return self._download(args)
            if self._pieces:
                return _pieces.run(self._pieces, self._module, args)
        assert self._eager is not None
        return self._eager(*args)


def backend(module: torch.fx.GraphModule, inputs: Sequence[Any], *, options: dict[str, Any] | None = None,
            **unused: Any) -> Callable[..., Any]:
    """The backend itself. ``options={"level": "ops"}`` chooses a fusion level; "auto" is the default."""
    level = (options or {}).get("level", "auto")

    def compiler(traced: torch.fx.GraphModule, trains: bool) -> Callable[..., Any]:
        context = torch._guards.TracingContext.try_get()
        metadata = context.fw_metadata if context else None
        static = set(getattr(metadata, "static_input_indices", None) or ())
        try:
            return make_boxed_func(Step(traced, static, level, trains))
        except Error as why:
            return make_boxed_func(_Eager(traced, str(why)))

    def inference(traced: torch.fx.GraphModule, unused: Sequence[Any]) -> Callable[..., Any]:
        return compiler(traced, False)

    def forward(traced: torch.fx.GraphModule, unused: Sequence[Any]) -> Callable[..., Any]:
        return compiler(traced, True)

    def backward(traced: torch.fx.GraphModule, unused: Sequence[Any]) -> Callable[..., Any]:
        try:
            return make_boxed_func(Step(traced, set(), level, True))
        except Error as why:
            return make_boxed_func(_Eager(traced, str(why)))

    trains = torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs)
    table = {**torch._decomp.core_aten_decompositions(), **(decompositions() if trains else {})}
    return aot_autograd(fw_compiler=forward, bw_compiler=backward, inference_compiler=inference, decompositions=table,
                        keep_inference_input_mutations=True)(module, inputs)


torch._dynamo.register_backend(backend, name="solo")
