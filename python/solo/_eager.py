"""Operators of ``device="webgpu"``: each is recorded, written in terms of others, or computed by the host.

An operator is recorded only if Solo lowers it, which is tried once for each kind of arguments. What the host computes is
counted: ``torch.webgpu.fallbacks()``.
"""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._host import by_host, copy, resize, tensors_in
from ._native import Error
from ._record import MOST_NODES, Recording, Spec, Value, called, recorder
from ._storage import WORDS, contiguous_strides, is_ours, new_from_host, new_tensor
from ._values import aten, can_cast, is_recordable, new_of, overlaps, read



class _Guard:
    """One thread at a time; and an operator that comes to itself again is an error before the stack is full."""

    _MOST = 100

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth > self._MOST:
            self.__exit__()
            raise Error("operators that are made of each other have no end on webgpu")

    def __exit__(self, *unused: object) -> None:
        self._depth -= 1
        self._lock.release()


lock = _Guard()

# Recorded where all operands are floats, or one of them for LIFTED
FLOAT_OPERATORS = frozenset(
    "neg abs sqrt exp log tanh sigmoid relu silu sin cos gelu rsqrt erf floor ceil round sign reciprocal add sub rsub mul"
    " div pow maximum minimum clamp clamp_min clamp_max hardtanh leaky_relu sum mean amax amin max min argmax argmin var"
    " _softmax _log_softmax cumsum layer_norm _native_batch_norm_legit_no_training mm bmm addmm baddbmm convolution"
    " max_pool2d_with_indices avg_pool2d _adaptive_avg_pool2d constant_pad_nd".split())
# Recorded for integers and booleans, too: nothing in these exceeds 32 bits if the operands do not
ANY_OPERATORS = frozenset(
    "eq ne lt le gt ge logical_not logical_and logical_or logical_xor where masked_fill any all cat stack index gather"
    " index_select embedding slice_scatter select_scatter repeat flip triu tril".split())
# Their first operand says which rule holds: floats, and integers of which none are added
PLACES = frozenset("scatter scatter_add scatter_reduce index_put index_add index_copy max_pool2d_with_indices_backward".split())
MOVES = frozenset(["scatter.src", "scatter.value", "index_copy.default"])
BOOL_OPERATORS = frozenset("bitwise_not bitwise_and bitwise_or bitwise_xor sum".split())
# Arguments that the lowering does not read, and powers of negative numbers, which WebGPU has not
NOT_LOWERED = frozenset(["round.decimals", "pow.Tensor_Tensor", "pow.Scalar"])
# Their numbers are data, not part of the program: they change from step to step, as a learning rate does
LIFTED = frozenset("add sub rsub mul div".split())
CHOICES = frozenset("where masked_fill scatter".split())  # the same, and -infinity stays what it is


class Scalar:
    """A number that becomes an input."""

    __slots__ = ("number", "like")

    def __init__(self, number: float, like: Any) -> None:
        self.number, self.like = float(number), like


# ---- recording -------------------------------------------------------------------------------------------------------


def _lifted(argument: Any, lift_numbers: bool) -> Any:
    """Numbers, and the host's tensors of one element, as far as they become inputs."""
    if isinstance(argument, torch.Tensor) and not is_ours(argument):
        if argument.dim() == 0 and argument.device.type == "cpu":
            if argument.dtype.is_floating_point or lift_numbers:
                return Scalar(argument.item(), argument)
            return new_from_host(argument.clone())
        return argument
    if lift_numbers and isinstance(argument, (int, float)) and not isinstance(argument, bool):
        return Scalar(argument, argument)
    if isinstance(argument, (list, tuple)):
        return type(argument)(_lifted(a, False) for a in argument)
    return argument


def _key(argument: Any) -> Any:
    if isinstance(argument, Scalar):
        like = argument.like
        return Scalar, type(like), getattr(like, "dtype", None)
    if isinstance(argument, torch.Tensor):
        return tuple(argument.shape), argument.dtype
    if isinstance(argument, (list, tuple)):
        return tuple(_key(a) for a in argument)
    if isinstance(argument, (bool, float)):
        return type(argument), repr(argument)
    return argument


def _mapped(argument: Any, by: Callable[[Any], Any]) -> Any:
    if isinstance(argument, (torch.Tensor, Scalar)):
        return by(argument)
    if isinstance(argument, (list, tuple)):
        return type(argument)(_mapped(a, by) for a in argument)
    return argument


def _positional(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments, in the order of the schema."""
    rest = op._schema.arguments[len(args):]
    return (*args, *(kwargs.get(a.name, a.default_value) for a in rest))


def _meta(what: Any) -> Any:
    """An operand without elements of its own."""
    if isinstance(what, Scalar):
        return what.like
    return torch.empty(what.shape, dtype=what.dtype, device="meta") if is_ours(what) else what


_plans: dict[Any, tuple[list[Spec], bool] | None] = {}


def _plan(op: Any, args: tuple[Any, ...]) -> tuple[list[Spec], bool] | None:
    """Results of a call, and whether they are several; None if Solo does not lower it."""
    try:
        result = called(op, _mapped(args, _meta))
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return None  # the host says what is wrong with it
    many = isinstance(result, (list, tuple))
    results = list(result) if many else [result]
    if not all(isinstance(t, torch.Tensor) and t.dtype in WORDS and t.numel() for t in results):
        return None
    specs = [(tuple(t.shape), t.dtype) for t in results]
    trial = Recording(0)

    def value(what: Any) -> Value:
        if isinstance(what, Scalar):
            return trial.scalar(what.number)
        strides = tuple(contiguous_strides(what.shape))
        return trial.view(trial.input(what.numel(), what.dtype, None), tuple(what.shape), strides, 0)

    try:
        trial.lowered(trial.call(op, _mapped(args, value), specs, many)).close()
    except Error:
        return None
    return specs, many


def _may_place(op: Any, arguments: Sequence[Any]) -> bool:
    """Are values put to places of which nobody needs more than 32 bits?"""
    name = str(op)[5:]
    only_moves = name in MOVES or (name == "index_put.default" and not arguments[3])
    return is_ours(arguments[0]) and (arguments[0].dtype.is_floating_point or only_moves)


def record(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Value] | None:
    """Values of the results; None if it cannot be recorded."""
    name = op._schema.name[6:]
    everything = _positional(op, args, kwargs)
    operands = tensors_in(everything)
    ours = [t for t in operands if is_ours(t)]
    floats = (any if name in LIFTED else all)(t.dtype.is_floating_point for t in ours)
    allowed = (name in ANY_OPERATORS or (name in PLACES and _may_place(op, everything)) or (floats and name in FLOAT_OPERATORS)
               or (name in BOOL_OPERATORS and all(t.dtype == torch.bool for t in ours)))
    if str(op)[5:] in NOT_LOWERED or not allowed or not ours or not all(is_recordable(t) for t in ours):
        return None
    if any(not is_ours(t) and t.dim() > 0 for t in operands):
        return None
    names = [a.name for a in op._schema.arguments]
    lift = (name in LIFTED and floats) or (name in CHOICES and any(t.dtype.is_floating_point for t in ours))
    lifted = tuple(_lifted(a, lift and n in ("self", "other", "value")) for n, a in zip(names, everything, strict=True))
    key = op, _key(lifted)
    if key not in _plans:
        _plans[key] = _plan(op, lifted)
    plan = _plans[key]
    if plan is None:
        return None
    specs, many = plan
    values = _mapped(lifted, lambda a: recorder.recording.scalar(a.number) if isinstance(a, Scalar) else read(a))
    return recorder.recording.call(op, values, specs, many)


# ---- any operator ----------------------------------------------------------------------------------------------------


@functools.cache
def functional(op: Any) -> Any:
    """The operator that returns what this one writes to its first operand or to `out`; None if there is none."""
    name = op._schema.name[6:]
    in_place = name.endswith("_") and not name.endswith("__")
    packet = getattr(aten, name[:-1] if in_place else name, None)
    if packet is None:
        return None
    wanted = [(a.name, str(a.type)) for a in op._schema.arguments
              if in_place or a.alias_info is None or not a.alias_info.is_write]
    for overload in packet.overloads():
        other = getattr(packet, overload)
        if not other._schema.is_mutable and [(a.name, str(a.type)) for a in other._schema.arguments] == wanted:
            return other
    return None


WRITTEN_OUT: dict[str, Callable[..., Any]] = {}  # _eager_ops fills it: operators in terms of others; None: not so


def _nothing(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor] | None:
    """Results without elements, of which nobody has to compute anything."""
    everything = _positional(op, args, kwargs)
    operands = tensors_in(everything)
    if not operands or not all(is_ours(t) for t in operands) or all(t.numel() for t in operands):
        return None
    try:
        made = called(op, _mapped(everything, _meta))
    except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
        return None
    results = list(made) if isinstance(made, (list, tuple)) else [made]
    if not all(isinstance(t, torch.Tensor) and t.numel() == 0 for t in results):
        return None
    return [new_tensor(t.shape, contiguous_strides(t.shape), t.dtype) for t in results]


def _results(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor] | None:
    """Of an operator that changes nothing, as new tensors; None if only the host can compute it."""
    empty = _nothing(op, args, kwargs)
    if empty is not None:
        return empty
    written_out = WRITTEN_OUT.get(str(op)[5:])
    if written_out:
        made = written_out(*args, **kwargs)
        if made is not None:
            return list(made) if isinstance(made, (list, tuple)) else [made]
    values = record(op, args, kwargs)
    return None if values is None else [new_of(value) for value in values]


def _written(op: Any) -> list[str]:
    return [a.name for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def _changes(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """An operator that writes to operands, by the one that returns new tensors; None if that is not possible."""
    pure, names = functional(op), _written(op)
    if pure is None:
        return None
    everything = {a.name: v for a, v in zip(op._schema.arguments, args, strict=False)} | kwargs
    targets: list[Any] = [everything.get(name) for name in names]
    if not all(is_ours(t) and t.dtype in WORDS and not overlaps(t) for t in targets):
        return None
    if op._schema.name.endswith("_"):
        pure_args, pure_kwargs = args, kwargs
    else:
        pure_args = [v for a, v in zip(op._schema.arguments, args, strict=False) if a.name not in names]
        pure_kwargs = {name: value for name, value in kwargs.items() if name not in names}
    made = _results(pure, pure_args, pure_kwargs)
    if made is None or not all(can_cast(m.dtype, t.dtype) for m, t in zip(made, targets, strict=False)):
        return None
    for result, target in zip(made, targets, strict=True):
        if result.shape != target.shape:
            if op._schema.name.endswith("_"):
                raise Error(f"{op}: a result of the shape {tuple(result.shape)} for {tuple(target.shape)}")
            resize(target, result.shape)
        copy(result, target)
    return targets[0] if len(targets) == 1 else tuple(targets)


def dispatch(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Every operator on a tensor of webgpu that has no code of its own in webgpu.py."""
    with lock:
        if len(recorder.recording.nodes) > MOST_NODES:
            recorder.flush()
        returns = op._schema.returns
        if op._schema.is_mutable:
            result = _changes(op, args, kwargs)
            return by_host(op, args, kwargs) if result is None else result
        if any(r.alias_info is not None for r in returns):
            raise NotImplementedError(f"{op}: this view is not supported on webgpu; .clone() or .cpu() before it")
        made = _results(op, args, kwargs)
        if made is None:
            return by_host(op, args, kwargs)
        if len(returns) == 1 and str(returns[0].type) == "Tensor":
            return made[0]
        return made if len(returns) == 1 else tuple(made)
