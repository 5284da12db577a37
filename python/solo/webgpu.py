"""``device="webgpu"`` for PyTorch.

    import solo.webgpu
    model = torch.nn.Linear(4, 3, device="webgpu")
    model(torch.randn(2, 4, device="webgpu")).sum().backward()

Operators are recorded, and run together when a value is needed: when it is printed, copied to the host or asked for by
``.item()``, after each step of an optimizer, and by ``torch.webgpu.synchronize()``. What Solo cannot compute is computed by
the host, and listed by ``torch.webgpu.fallbacks()``.

This module is also ``torch.webgpu``. It takes PyTorch's place for devices of others (PrivateUse1), of which a process has
one.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.backend_registration import _DummyPrivateUse1Hook, _setup_privateuseone_for_python_backend

from . import _eager, _eager_cells, _eager_norms, _eager_ops, _host, _storage
from ._eager import lock
from ._host import HOST_KEYS
from ._native import Error, UsageError
from ._record import recorder
from ._values import aten
from .device import level_number

__all__ = ["current_device", "device", "device_count", "empty_cache", "fallbacks", "flush", "get_device_name", "get_rng_state",
           "is_available", "manual_seed", "manual_seed_all", "memory_allocated", "memory_reserved", "reset_statistics",
           "set_device", "set_level", "set_rng_state", "statistics", "synchronize"]


# ---- torch.webgpu ----------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Is there a device?"""
    try:
        _storage.device()
    except Error:
        return False
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> int:
    return 0


def set_device(number: Any) -> None:
    """webgpu:0 is all there is."""
    index = number if number is None or isinstance(number, int) else torch.device(number).index
    if index not in (None, 0):
        raise UsageError(f"there is no device webgpu:{index}: only webgpu:0")


class device:
    """As a context manager: there is only one device to choose."""

    def __init__(self, number: Any) -> None:
        set_device(number)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *unused: object) -> None:
        pass


def get_device_name(device: Any = None) -> str:
    """What the driver calls it."""
    return _storage.device().name


def flush() -> None:
    """Runs what was recorded, and does not wait for it."""
    with lock:
        recorder.flush()


def synchronize(device: Any = None) -> None:
    """Runs what was recorded, and waits for it."""
    with lock:
        recorder.flush()
        _storage.Buffer(1).read(torch.int32)


def fallbacks() -> dict[str, int]:
    """Operators that the host computed, and how often; the most frequent ones first."""
    return dict(_host.fallbacks.most_common())


def statistics() -> dict[str, int]:
    """runs: of recordings; dispatches: of these, so far; compiled: different programs; recordings_on_host: that could not be
    lowered as a whole."""
    return {"runs": recorder.runs, "dispatches": recorder.dispatches, "compiled": recorder.compiled,
            "recordings_on_host": sum(recorder.on_host.values())}


def reset_statistics() -> None:
    """Counts, and those of fallbacks, from zero."""
    _host.fallbacks.clear()
    recorder.on_host.clear()
    recorder.runs = recorder.dispatches = recorder.compiled = 0


def set_level(level: str) -> None:
    """The fusion level of what is recorded from now on: "ops" (as it begins) or "none", "token", "loop", "auto"."""
    level_number(level)
    with lock:
        recorder.flush()
        recorder.level = level


def memory_allocated(device: Any = None) -> int:
    """Bytes of tensors on the device."""
    _storage.blocks()
    return _storage.Buffer.allocated_bytes


def memory_reserved(device: Any = None) -> int:
    """The same, with what waits to be used again."""
    return memory_allocated() + _storage.Buffer.idle_bytes


def empty_cache() -> None:
    """Frees memory that waits to be used again, and compiled programs."""
    with lock:
        recorder.flush()
        recorder.forget_programs()
        _storage.blocks()
        _storage.Buffer.drop_idle()


def manual_seed(seed: int) -> None:
    """Random numbers are drawn by the host, and are the same as the host's with this seed."""
    _host.generator.manual_seed(seed)


manual_seed_all = manual_seed


def get_rng_state(device: Any = None) -> torch.Tensor:
    return _host.generator.get_state()


def set_rng_state(state: torch.Tensor, device: Any = None) -> None:
    _host.generator.set_state(state)


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16]


def _is_in_bad_fork() -> bool:
    return False


# ---- operators with code of their own --------------------------------------------------------------------------------


def _empty(size: Sequence[int], dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
           memory_format: Any = None) -> torch.Tensor:
    strides = _storage.contiguous_strides(size)
    if memory_format not in (None, torch.contiguous_format, torch.preserve_format):
        strides = torch.empty(size, device="meta", memory_format=memory_format).stride()
    return _empty_strided(size, strides, dtype, layout, device, pin_memory)


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: Any = None, layout: Any = None, device: Any = None,
                   pin_memory: Any = None) -> torch.Tensor:
    if layout not in (None, torch.strided):
        raise UsageError(f"tensors of the layout {layout} are not supported on webgpu")
    if device is not None and device.index not in (None, 0):
        raise UsageError(f"there is no device {device}: only webgpu:0")
    with lock:
        return _storage.new_tensor(size, stride, dtype or torch.get_default_dtype())


def _copy_from(source: torch.Tensor, to: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    with lock:
        _host.copy(source, to)
    return to


def _copy(to: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    return _copy_from(source, to)


def _copy_from_and_resize(source: torch.Tensor, to: torch.Tensor) -> torch.Tensor:
    with lock:
        if source.shape != to.shape:
            _host.resize(to, source.shape)
        _host.copy(source, to)
    return to


def _item(tensor: torch.Tensor) -> Any:
    with lock:
        return _host.to_host(tensor).item()


def _resize(tensor: torch.Tensor, size: Sequence[int], memory_format: Any = None) -> torch.Tensor:
    with lock:
        if tuple(tensor.shape) != tuple(size):
            _host.resize(tensor, size)
    return tensor


def _set_storage(tensor: torch.Tensor, source: Any, offset: int, size: Sequence[int], stride: Sequence[int]) -> torch.Tensor:
    if source.device.type != "webgpu":
        raise UsageError(f"a storage on {source.device} for a tensor on webgpu")
    if _storage.span(size, stride) and (offset + _storage.span(size, stride)) * tensor.element_size() > source.nbytes():
        raise UsageError(f"a storage of {source.nbytes()} bytes is too small for this tensor")
    aten.set_.source_Storage_storage_offset.redispatch(HOST_KEYS, tensor, source, offset, list(size), list(stride))
    return tensor


def _set_whole_storage(tensor: torch.Tensor, source: Any) -> torch.Tensor:
    return _set_storage(tensor, source, 0, [source.nbytes() // tensor.element_size()], [1])


def _set_tensor(tensor: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    return _set_storage(tensor, source.untyped_storage(), source.storage_offset(), source.shape, source.stride())


def _set_nothing(tensor: torch.Tensor) -> torch.Tensor:
    return _set_tensor(tensor, _storage.new_tensor([0], [1], tensor.dtype))


def _fill(tensor: torch.Tensor, value: Any) -> torch.Tensor:
    with lock:
        _host.copy(value if _storage.is_ours(value) else torch.as_tensor(value).to(tensor.dtype), tensor)
    return tensor


def _zero(tensor: torch.Tensor) -> torch.Tensor:
    return _fill(tensor, 0)


def _arange(start: Any, end: Any = None, step: Any = 1, *, out: torch.Tensor) -> torch.Tensor:
    numbers = torch.arange(start, dtype=out.dtype) if end is None else torch.arange(start, end, step, dtype=out.dtype)
    return _copy_from_and_resize(numbers, out)


def _convolution(*args: Any) -> Any:
    return _eager.dispatch(aten.convolution.default, *args)


def _convolution_backward(grad: Any, x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: Any,
                          output_padding: Any, groups: Any, mask: Any) -> Any:
    return _eager.dispatch(aten.convolution_backward.default, grad, x, weight, [weight.shape[0]], stride, padding, dilation,
                           transposed, output_padding, groups, list(mask))


def _view_of(op: Any) -> Any:
    """Views share the storage: the host's code makes them, and looks at no element."""
    return lambda *args, **kwargs: op.redispatch(HOST_KEYS, *args, **kwargs)


_OWN = {
    "empty.memory_format": _empty, "empty_strided": _empty_strided, "_copy_from": _copy_from, "copy_": _copy,
    "_copy_from_and_resize": _copy_from_and_resize, "_local_scalar_dense": _item, "resize_": _resize,
    "set_.source_Storage_storage_offset": _set_storage, "set_.source_Storage": _set_whole_storage,
    "set_.source_Tensor": _set_tensor, "set_": _set_nothing, "fill_.Scalar": _fill, "fill_.Tensor": _fill, "zero_": _zero,
    "arange.out": _arange, "arange.start_out": _arange,
    "convolution_overrideable": _convolution, "convolution_backward_overrideable": _convolution_backward,
}
_VIEWS = {"as_strided": aten.as_strided.default, "view": aten.view.default, "view.dtype": aten.view.dtype,
          "_reshape_alias": aten._reshape_alias.default, "unfold": aten.unfold.default,
          "view_as_real": aten.view_as_real.default, "view_as_complex": aten.view_as_complex.default}
# PyTorch has code for these that is made of many other operators
_BETTER = ["native_layer_norm", "embedding", "embedding_dense_backward", "nll_loss_forward", "nll_loss_backward",
           "silu_backward", "lerp.Scalar", "linalg_vector_norm", "stack", "slice_scatter", "select_scatter"]


def _structured() -> list[str]:
    """Operators that PyTorch would compute by their form with `out`, in a tensor that it makes before."""
    names = (name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    keys = ("CompositeExplicitAutogradNonFunctional", "CPU")
    return [name for name in names
            if all(torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key) for key in keys)]


_libraries: list[Any] = []  # what is registered lives as long as these


# ---- copies of storages ----------------------------------------------------------------------------------------------


def _new_storage(bytes: int) -> Any:
    return _storage.new_tensor([bytes], [1], torch.uint8).untyped_storage()


def _bytes_of(storage: Any) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device="webgpu").set_(storage)


def _storage_to_webgpu(self: Any, device: Any = None, non_blocking: bool = False, **unused: Any) -> Any:
    if self.device.type == "webgpu":
        return self
    made = _new_storage(self.nbytes())
    _bytes_of(made).copy_(torch.empty(0, dtype=torch.uint8).set_(self))
    return made


def _cloned_storage(storage: Any) -> Any:
    """With the types of its elements, so that they need not leave the device."""
    with lock:
        block = _storage._blocks[storage._cdata]
        made = _storage.new_tensor([block.count], [1], block.dtype)
        whole = torch.empty(0, dtype=block.dtype, device="webgpu").set_(storage)
        made.copy_(whole[: block.count])
        return made.untyped_storage()


def _let_storages_be_copied() -> None:
    """copy.deepcopy, torch.load and Tensor.to copy storages by functions that would need an allocator in C++."""
    plain_clone = torch.UntypedStorage.clone

    def clone(self: Any) -> Any:
        return _cloned_storage(self) if self.device.type == "webgpu" else plain_clone(self)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") is None or torch.device(kwargs["device"]).type != "webgpu":
            return plain_new(cls, *args, **kwargs)
        if len(args) > 1 or not all(isinstance(size, int) and size >= 0 for size in args):
            raise UsageError("a storage on webgpu is made of a number of bytes")
        return _new_storage(args[0] if args else 0)

    plain_new = torch.UntypedStorage.__new__
    torch.UntypedStorage.__new__ = new
    torch.UntypedStorage.clone = clone
    torch.UntypedStorage.webgpu = _storage_to_webgpu


def _let_tensors_be_printed() -> None:
    """By the host: it looks at each element with dozens of operators."""
    plain = torch._tensor_str._tensor_str

    def tensor_str(self: Any, indent: int) -> str:
        return plain(self.detach().cpu() if self.device.type == "webgpu" else self, indent)

    torch._tensor_str._tensor_str = tensor_str


class _Hooks(_DummyPrivateUse1Hook):  # type: ignore[misc]
    def is_available(self) -> bool:
        return is_available()


def _set_up() -> None:
    if torch._C._get_privateuse1_backend_name() not in ("privateuseone", "webgpu"):
        raise Error(f"this process has a device of others already: {torch._C._get_privateuse1_backend_name()}")
    _setup_privateuseone_for_python_backend("webgpu", sys.modules[__name__], _Hooks())
    operators, rest = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    for name, function in _OWN.items():
        operators.impl(name, function, "PrivateUse1")
    for name, op in _VIEWS.items():
        operators.impl(name, _view_of(op), "PrivateUse1")
    for name in sorted({*_BETTER, *_structured()} - {*_OWN, *_VIEWS}):  # which of them overlap depends on the version
        packet, _, overload = name.partition(".")
        op = getattr(getattr(aten, packet), overload or "default")
        operators.impl(name, lambda *args, _op=op, **kwargs: _eager.dispatch(_op, *args, **kwargs), "PrivateUse1")
    rest.fallback(_eager.dispatch, "PrivateUse1")
    _libraries.extend((operators, rest))
    _let_storages_be_copied()
    _let_tensors_be_printed()
    register_optimizer_step_post_hook(lambda *unused: flush())


assert _eager_ops and _eager_norms and _eager_cells  # fill the table of operators that are written out
_set_up()
