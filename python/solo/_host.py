"""What the host does for ``device="webgpu"``: copies, and operators that Solo does not have, which are counted."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._native import UsageError
from ._record import recorder
from ._storage import Block, block_of, contiguous_strides, is_ours, new_from_host, new_tensor
from ._values import aten, can_cast, cast, is_recordable, node, overlaps, read, write

fallbacks: Counter[str] = Counter()
generator = torch.Generator()  # of random numbers, which the host draws
# Indices may be the host's
INDEXING = frozenset("index index_put index_put_ _index_put_impl_ _unsafe_index _unsafe_index_put".split())


def tensors_in(argument: Any) -> list[torch.Tensor]:
    if isinstance(argument, torch.Tensor):
        return [argument]
    if isinstance(argument, (list, tuple)):
        return [t for a in argument for t in tensors_in(a)]
    return []


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """The host's own elements, which belong to the tensor."""
    block = block_of(tensor)
    flat = recorder.host(block)
    if block.dtype != tensor.dtype:  # the same bytes as elements of another type
        size = tensor.element_size()
        raw = flat.view(torch.uint8)
        flat = raw[: raw.numel() // size * size].view(tensor.dtype)
        block.dtype, block.count = tensor.dtype, flat.numel()
        block.set_host(flat)
    return flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _changed(block: Block) -> None:
    """The host wrote to its elements."""
    assert block.host is not None
    block.set_host(block.host)


def _check_devices(op: Any, operands: Sequence[torch.Tensor]) -> None:
    others = [t for t in operands if not is_ours(t) and t.dim() > 0]
    if others and op._schema.name[6:] not in INDEXING and any(is_ours(t) for t in operands):
        raise UsageError(f"{op}: expected all tensors to be on the same device, but found webgpu:0 and {others[0].device}")


def _each(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_each(v, function) for v in value)
    return function(value)


def by_host(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The operator by PyTorch's own code, counted."""
    schema = op._schema
    _check_devices(op, tensors_in([*args, *kwargs.values()]))
    fallbacks[schema.name + ("." + schema.overload_name if schema.overload_name else "")] += 1
    storages: set[int] = set()
    versions: list[tuple[Block, torch.Tensor, int]] = []

    def down(value: Any) -> Any:
        if is_ours(value):
            host = to_host(value)
            storages.add(host.untyped_storage()._cdata)
            versions.append((block_of(value), host, host._version))
            return host
        return torch.device("cpu") if isinstance(value, torch.device) and value.type == "webgpu" else value

    kwargs = dict(kwargs)
    if any(a.name == "generator" for a in schema.arguments[len(args):]) and kwargs.get("generator") is None:
        kwargs["generator"] = generator
    everything = {a.name: v for a, v in zip(schema.arguments, args, strict=False)} | kwargs
    host_args = [_each(a, down) for a in args]
    host_kwargs = {name: _each(value, down) for name, value in kwargs.items()}
    # Python gets numbers for tensors that PyTorch made of numbers: another overload takes those
    wrapped = any(str(a.type) == "Tensor" and isinstance(everything.get(a.name), (int, float, complex)) for a in schema.arguments)
    result = (op.overloadpacket if wrapped else op)(*host_args, **host_kwargs)
    for block, host, version in versions:  # also where the schema does not say so: statistics of a batch norm
        if host._version != version and block.host is not None:
            _changed(block)
    written: list[tuple[torch.Tensor, torch.Tensor]] = []
    hosts = dict(zip((a.name for a in schema.arguments), host_args, strict=False)) | host_kwargs
    for argument in schema.arguments:
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        pairs = zip(tensors_in(everything.get(argument.name)), tensors_in(hosts.get(argument.name)), strict=True)
        for ours, host in pairs:
            if is_ours(ours):
                _take_over(ours, host)
                written.append((ours, host))

    def up(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.device.type == "cpu":
            for ours, host in written:
                if value is host:
                    return ours
            shared = value.untyped_storage()._cdata in storages
            return new_from_host(value.clone() if shared or not value.is_contiguous() else value)
        return value

    return _each(result, up)


def _take_over(ours: torch.Tensor, host: torch.Tensor) -> None:
    """What the host wrote for one of our tensors, which it may have given another size."""
    block = block_of(ours)
    if ours.shape == host.shape and block.host is not None and (
            host.untyped_storage()._cdata == block.host.untyped_storage()._cdata):
        _changed(block)
        return
    if ours.shape != host.shape:
        resize(ours, host.shape)
    copy(host, ours)


def resize(tensor: torch.Tensor, size: Sequence[int]) -> None:
    """Another size, contiguous; elements stay where they are, as far as there are so many."""
    strides = contiguous_strides(size)
    count = math.prod(size)
    block = block_of(tensor)
    if tensor.storage_offset() + count <= block.count:
        restride(tensor, tensor, size, strides, tensor.storage_offset())
        return
    larger = new_tensor([tensor.storage_offset() + count], [1], tensor.dtype)
    if block.count:
        flat = torch.zeros(block_of(larger).count, dtype=tensor.dtype)
        flat[: block.count] = recorder.host(block)
        block_of(larger).set_host(flat)
    restride(tensor, larger, size, strides, tensor.storage_offset())


HOST_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def restride(tensor: torch.Tensor, of: torch.Tensor, size: Sequence[int], strides: Sequence[int], offset: int) -> None:
    """Makes a tensor a view of another one's storage. The host's code for that looks at no element."""
    set_ = aten.set_.source_Storage_storage_offset
    set_.redispatch(HOST_KEYS, tensor, of.untyped_storage(), offset, list(size), list(strides))


# ---- copies ----------------------------------------------------------------------------------------------------------


def _copy_marked(source: torch.Tensor, to: torch.Tensor) -> None:
    """Tensors that are marked to be conjugated or negated when they are read."""

    def host(tensor: torch.Tensor) -> torch.Tensor:
        if not is_ours(tensor):
            return tensor
        elements = to_host(tensor)
        elements = elements.conj() if tensor.is_conj() else elements
        return torch._neg_view(elements) if tensor.is_neg() else elements

    host(to).copy_(host(source))
    if is_ours(to):
        _changed(block_of(to))


def copy(source: torch.Tensor, to: torch.Tensor) -> None:
    """Elements of one tensor into another, broadcast; at least one of them is ours."""
    if to.numel() == 0:
        return
    if source.is_conj() or source.is_neg() or to.is_conj() or to.is_neg():
        _copy_marked(source, to)
        return
    if not is_ours(to):
        to.copy_(to_host(source))
        return
    block = block_of(to)
    whole = to.is_contiguous() and to.numel() == block.count and to.dtype == block.dtype
    if is_ours(source):
        recorded = (is_recordable(source) and is_recordable(to) and can_cast(source.dtype, to.dtype) and not overlaps(to))
        if recorded or (whole and is_recordable(source) and can_cast(source.dtype, to.dtype)):
            value = cast(read(source), to.dtype)
            if value.shape != tuple(to.shape):
                value = node(aten.expand.default, (value, list(to.shape)), to.shape, to.dtype)
            write(to, value)
            return
        source = to_host(source)
    elements = source.detach()
    if whole:
        flat = torch.empty(to.shape, dtype=to.dtype)
        flat.copy_(elements)
        block.set_host(flat.view(to.numel()))
    elif recorder.is_pending(block) and is_recordable(to) and not overlaps(to):
        copy(new_from_host(elements.to(to.dtype, copy=True)), to)
    else:
        to_host(to).copy_(elements)
        _changed(block)
