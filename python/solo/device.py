"""Devices: a GPU, or software that stands in for one."""
from __future__ import annotations

import os
import threading

from ._checks import flag
from ._handle import Handle
from ._native import c_path, ffi, lib, text

LEVELS = {"auto": lib.SOLO_LEVEL_AUTO, "none": lib.SOLO_LEVEL_NONE, "ops": lib.SOLO_LEVEL_OPS,
          "token": lib.SOLO_LEVEL_TOKEN, "loop": lib.SOLO_LEVEL_LOOP}
LEVEL_NAMES = {number: name for name, number in LEVELS.items()}

_opening = threading.RLock()  # while a device is opened, the process's stderr is another


def _renew_opening() -> None:
    global _opening
    _opening = threading.RLock()


os.register_at_fork(after_in_child=_renew_opening)  # the thread that had it is not there


def level_number(name: str) -> int:
    """The number of a fusion level: auto, none, ops, token or loop."""
    if not isinstance(name, str) or name not in LEVELS:
        raise ValueError(f"there is no level {name!r}: {', '.join(LEVELS)}")
    return LEVELS[name]


class Device(Handle):
    """A device. Models, graphs and simulations on it share its memory and its queue.

    impl: "dawn", "wgpu" or the path of a library that implements webgpu.h; None: the first that works.
    gpu_only: a software device is an error.
    own_kernels: only models and graphs will run, no simulations: kernels then need no bounds checks, and are faster.
    """

    def __init__(self, impl: str | None = None, *, gpu_only: bool = False, own_kernels: bool = False) -> None:
        name = c_path(impl, "impl")
        options = ffi.new("solo_device_options *", {"impl": name, "gpu_only": flag(gpu_only, "gpu_only"),
                                                    "own_kernels": flag(own_kernels, "own_kernels")})
        with _opening:
            super().__init__(lib.solo_device_open_with, options, close=lib.solo_device_close)

    @property
    def name(self) -> str:
        """What the driver calls it."""
        return text(self.ask(lib.solo_device_name)) or ""

    def __repr__(self) -> str:
        return "<solo.Device, closed>" if self.closed else f"<solo.Device {self.name!r}>"


_defaults: dict[bool, Device] = {}


def default_device(own_kernels: bool) -> Device:
    """The device that is used where none is named: one for models, and one for simulations, whose code is a user's."""
    with _opening:
        if own_kernels not in _defaults or _defaults[own_kernels].closed:
            _defaults[own_kernels] = Device(own_kernels=own_kernels)
        return _defaults[own_kernels]


def device_or_default(device: Device | None, own_kernels: bool) -> Device:
    """The device that a user named."""
    if device is None:
        return default_device(own_kernels)
    if not isinstance(device, Device):
        raise TypeError(f"device is a solo.Device, not {device!r}")
    return device
