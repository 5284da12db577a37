"""Tensors of ``device="webgpu"`` as values of the recording: reading their elements, and writing to them through any view."""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from ._record import Value, recorder
from ._storage import WORDS, block_of, contiguous_strides, new_from_host, new_tensor

aten = torch.ops.aten
MOST_DIMENSIONS = 6


def is_recordable(tensor: torch.Tensor) -> bool:
    block = block_of(tensor)
    return (tensor.dtype in WORDS and tensor.numel() > 0 and tensor.dim() <= MOST_DIMENSIONS
            and block.dtype == tensor.dtype and not block.too_large)


def read(tensor: torch.Tensor) -> Value:
    """A tensor's elements, as they are now."""
    base = recorder.value_of(block_of(tensor))
    return recorder.recording.view(base, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def node(op: Any, args: tuple[Any, ...], shape: Sequence[int], dtype: torch.dtype) -> Value:
    return recorder.recording.call(op, args, [(tuple(shape), dtype)])[0]


def new_of(value: Value) -> torch.Tensor:
    """A new tensor that is this value."""
    tensor = new_tensor(value.shape, contiguous_strides(value.shape), value.dtype)
    block_of(tensor).set_value(value, recorder.recording.epoch)
    return tensor


@functools.lru_cache(maxsize=64)
def _places(count: int, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> tuple[Any, Any]:
    """For each element of a storage: is it one of the view's, and which?"""
    which = torch.zeros(count, dtype=torch.int64)
    inside = torch.zeros(count, dtype=torch.bool)
    which.as_strided(shape, strides, offset).copy_(torch.arange(math.prod(shape)).view(shape))
    inside.as_strided(shape, strides, offset).fill_(True)
    return new_from_host(inside), new_from_host(which)


def overlaps(tensor: torch.Tensor) -> bool:
    """May two places be the same element?"""
    reach = 0
    for size, stride in sorted(((n, s) for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1),
                               key=lambda pair: pair[1]):
        if stride <= reach:
            return True
        reach += (size - 1) * stride
    return False


def write(tensor: torch.Tensor, value: Value) -> None:
    """A tensor's elements become those of a value of its shape and type. The rest of its storage stays as it is."""
    block, recording = block_of(tensor), recorder.recording
    shape, strides, offset = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    count = tensor.numel()
    if count == block.count and tensor.is_contiguous():
        block.set_value(value, recording.epoch)
        return
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    sizes = [shape[d] for d in order]
    dense = contiguous_strides(sizes)
    if count == block.count and all(shape[d] == 1 or strides[d] == dense[i] for i, d in enumerate(order)):
        moved = node(aten.permute.default, (value, order), sizes, value.dtype)
        block.set_value(node(aten.reshape.default, (moved, [count]), [count], value.dtype), recording.epoch)
        return
    flat = recording.view(recorder.value_of(block), (block.count,), (1,), 0)
    if tensor.is_contiguous():
        part = node(aten.reshape.default, (value, [count]), [count], value.dtype)
        args: tuple[Any, ...] = (flat, part, 0, offset, offset + count)
        block.set_value(node(aten.slice_scatter.default, args, [block.count], value.dtype), recording.epoch)
        return
    inside, which = (read(t) for t in _places(block.count, shape, strides, offset))
    part = node(aten.reshape.default, (value, [count]), [count], value.dtype)
    spread = node(aten.index_select.default, (part, 0, which), [block.count], value.dtype)
    block.set_value(node(aten.where.self, (inside, spread, flat), [block.count], value.dtype), recording.epoch)


def can_cast(source: torch.dtype, to: torch.dtype) -> bool:
    """Without another result than the host's: floats may exceed 32-bit integers, and are not rounded to 16 bits."""
    floats = source.is_floating_point
    return source == to or to == torch.float32 or to == torch.bool or (not floats and to == torch.int64)


def cast(value: Value, dtype: torch.dtype) -> Value:
    if value.dtype == dtype:
        return value
    if dtype == torch.bool:
        zero = node(aten.ne.Scalar, (value, 0), value.shape, torch.bool)
        return zero
    return node(aten.reshape.default, (value, list(value.shape)), value.shape, dtype) if (
        value.dtype.is_floating_point and dtype.is_floating_point) else _converted(value, dtype)


def _converted(value: Value, dtype: torch.dtype) -> Value:
    one = recorder.recording.call(aten.to.dtype, (value, dtype), [(value.shape, dtype)])
    return one[0]
