"""Storages of ``device="webgpu"``: what a tensor's elements are, wherever they are.

PyTorch has sizes, strides and offsets of a tensor; its storage is opaque: an address that belongs to nobody. Its elements
are in a ``Block``: in the host's memory, in a buffer of the device, or still to be computed by the operators recorded so
far. Storages are made through DLPack, and looked for by weak references: no callback, and no code in C++.
"""
from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._handle import Handle
from ._native import Error, ffi, lib
from .device import Device, default_device

if TYPE_CHECKING:
    from ._record import Value

# DLPack's code and bits
_DLPACK = {torch.float32: (2, 32), torch.float16: (2, 16), torch.float64: (2, 64), torch.bfloat16: (4, 16),
           torch.int64: (0, 64), torch.int32: (0, 32), torch.int16: (0, 16), torch.int8: (0, 8), torch.uint8: (1, 8),
           torch.uint16: (1, 16), torch.uint32: (1, 32), torch.uint64: (1, 64), torch.bool: (6, 8),
           torch.complex32: (5, 32), torch.complex64: (5, 64), torch.complex128: (5, 128)}
_EXTENSION_DEVICE = 12  # DLPack's number of PrivateUse1
# What kernels compute with: 32 bits for each element, whatever its type
WORDS = {torch.float32: torch.float32, torch.float16: torch.float32, torch.int64: torch.int32, torch.int32: torch.int32,
         torch.bool: torch.int32}


# ---- opaque storages -------------------------------------------------------------------------------------------------


class _Described(ctypes.Structure):
    """DLManagedTensor, as torch reads it."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_libc = ctypes.CDLL(None)
_libc.calloc.restype = _libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# One for all tensors: torch copies it but for the deleter, which is NULL, and which it looks for when a storage ends.
# It is never freed, since tensors may outlive this module.
_described = _Described.from_address(_libc.calloc(1, ctypes.sizeof(_Described)))


class _Addresses:
    """Addresses that are different from each other. Who reads there, against all rules, reads zeros and does not crash."""

    _ROOM, _STEP = 1 << 36, 64
    _READ, _PRIVATE_ANONYMOUS_NORESERVE = 1, 0x2 | 0x20 | 0x4000

    def __init__(self) -> None:
        at = _libc.mmap(None, self._ROOM, self._READ, self._PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
        self._first = 4096 if at in (None, ctypes.c_void_p(-1).value) else at
        self._next = 0

    def take(self) -> int:
        self._next = (self._next + self._STEP) % self._ROOM
        return int(self._first + self._next)


_addresses = _Addresses()


def contiguous_strides(shape: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last, with those between that do not belong to it."""
    return 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


# ---- buffers ---------------------------------------------------------------------------------------------------------


def device() -> Device:
    return default_device(own_kernels=True)


class Buffer:
    """Words on the device. When nothing refers to it any more, others of the same size take it over."""

    _idle: dict[int, list[Handle]] = {}
    allocated_bytes = 0
    idle_bytes = 0

    def __init__(self, words: int) -> None:
        self.bytes = 4 * words
        idle = Buffer._idle.get(self.bytes)
        if idle:
            self.handle = idle.pop()
            Buffer.idle_bytes -= self.bytes
        else:
            owner = device()
            self.handle = Handle(lib.solo_buffer_new, owner, self.bytes, close=lib.solo_buffer_free, owners=(owner,),
                                 name="Buffer")
        Buffer.allocated_bytes += self.bytes

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        if handle is not None:
            Buffer.allocated_bytes -= self.bytes
            if not handle.closed:  # the garbage collector closes handles of a cycle before it comes here
                Buffer.idle_bytes += self.bytes
                Buffer._idle.setdefault(self.bytes, []).append(handle)

    @staticmethod
    def drop_idle() -> None:
        for handles in Buffer._idle.values():
            for handle in handles:
                handle.close()
        Buffer._idle.clear()
        Buffer.idle_bytes = 0

    def write(self, words: torch.Tensor) -> None:
        self.handle.call(lib.solo_buffer_write, 0, ffi.cast("void *", words.data_ptr()), self.bytes)

    def read(self, dtype: torch.dtype) -> torch.Tensor:
        words = torch.empty(self.bytes // 4, dtype=WORDS[dtype])
        self.handle.call(lib.solo_buffer_read, 0, ffi.cast("void *", words.data_ptr()), self.bytes)
        return words.to(dtype)


# ---- blocks ----------------------------------------------------------------------------------------------------------


class Block:
    """The elements of a storage.

    value: how they will be computed, if it is of the recording `epoch`; else
    host, buffer: where they are; both where nothing changed since they were copied; neither: nobody wrote to them yet.
    """

    __slots__ = ("weak", "address", "dtype", "count", "value", "epoch", "buffer", "host", "lost", "too_large")

    def __init__(self, weak: int, address: int, dtype: torch.dtype, count: int) -> None:
        self.weak, self.address, self.dtype, self.count = weak, address, dtype, count
        self.value: Value | None = None
        self.epoch = 0
        self.buffer: Buffer | None = None
        self.host: torch.Tensor | None = None
        self.lost: str | None = None  # why nobody will know the elements any more
        self.too_large = False  # integers of the host's that 32 bits do not hold

    def check(self) -> None:
        if self.lost:
            raise Error(f"this tensor was to be computed when the device failed: {self.lost}")

    def set_value(self, value: Value, epoch: int) -> None:
        self.value, self.epoch, self.buffer, self.host = value, epoch, None, None
        self.lost, self.too_large = None, False

    def set_host(self, flat: torch.Tensor) -> None:
        """flat: nobody else's, of all elements."""
        self.host, self.value, self.buffer, self.lost = flat, None, None, None
        self.too_large = False
        if flat.dtype == torch.int64 and flat.numel():
            low, high = torch.aminmax(flat)
            self.too_large = bool(low < -2**31 or high >= 2**31)

    def set_buffer(self, buffer: Buffer) -> None:
        self.buffer, self.value, self.host = buffer, None, None

    def uploaded(self) -> Buffer:
        """Its elements on the device; they are not still to be computed."""
        self.check()
        if self.buffer is None:
            if self.host is None:
                self.set_host(torch.zeros(self.count, dtype=self.dtype))
            assert self.host is not None
            self.buffer = Buffer(self.count)
            self.buffer.write(self.host.to(WORDS[self.dtype]))
        return self.buffer


_blocks: dict[int, Block] = {}
_since_search = 0


def blocks() -> list[Block]:
    """Those whose storage is in use."""
    global _since_search
    _since_search = 0
    for number in [n for n, block in _blocks.items() if torch.UntypedStorage._expired(block.weak)]:
        torch.UntypedStorage._free_weak_ref(_blocks.pop(number).weak)
    return list(_blocks.values())


def new_tensor(shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """A tensor on the device, of elements that nobody wrote yet."""
    global _since_search
    if dtype not in _DLPACK:
        raise Error(f"tensors of {dtype} are not supported on webgpu")
    if min(shape, default=0) < 0 or min(strides, default=0) < 0:
        raise Error(f"a tensor of the shape {tuple(shape)} with strides {tuple(strides)}")
    rank = len(shape)
    numbers = (ctypes.c_int64 * max(2 * rank, 1))(*shape, *strides)
    at = ctypes.addressof(numbers)
    d = _described
    d.data, d.device_type, d.device_id, d.rank, d.lanes = _addresses.take(), _EXTENSION_DEVICE, 0, rank, 1
    d.code, d.bits = _DLPACK[dtype]
    d.shape, d.strides = at, at + 8 * rank
    tensor = torch._C._from_dlpack(_new_capsule(ctypes.addressof(d), b"dltensor", None))
    _since_search += 1
    if _since_search > 1024:
        blocks()
    storage = tensor.untyped_storage()
    _blocks[storage._cdata] = Block(storage._weak_ref(), d.data, dtype, span(shape, strides))
    return tensor


def new_from_host(value: torch.Tensor) -> torch.Tensor:
    """A tensor on the device with elements of the host's, which become its own."""
    tensor = new_tensor(value.shape, contiguous_strides(value.shape), value.dtype)
    block_of(tensor).set_host(value.detach().contiguous().view(math.prod(value.shape)))
    return tensor


def block_of(tensor: torch.Tensor) -> Block:
    storage = tensor.untyped_storage()
    block = _blocks.get(storage._cdata)
    if block is None:  # torch makes storages of an address when it writes one to a file
        block = next((b for b in blocks() if b.address == storage.data_ptr()), None)
    if block is None:
        raise Error("a tensor on webgpu whose storage was not made by solo.webgpu")
    return block


def is_ours(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "webgpu"
