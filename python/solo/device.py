"""Devices: a GPU, or software that stands in for one."""
from __future__ import annotations

import functools

from ._native import Handle, c_text, call, ffi, lib, text

LEVELS = {"auto": lib.SOLO_LEVEL_AUTO, "none": lib.SOLO_LEVEL_NONE, "ops": lib.SOLO_LEVEL_OPS,
          "token": lib.SOLO_LEVEL_TOKEN, "loop": lib.SOLO_LEVEL_LOOP}
LEVEL_NAMES = {number: name for name, number in LEVELS.items()}


def level_number(name: str) -> int:
    """The number of a fusion level: auto, none, ops, token or loop."""
    if name not in LEVELS:
        raise ValueError(f"there is no level {name!r}: {', '.join(LEVELS)}")
    return LEVELS[name]


class Device(Handle):
    """A device. Models, graphs and simulations on it share its memory and its queue.

    impl: "dawn", "wgpu" or the path of a library that implements webgpu.h; None: the first that works.
    gpu_only: a software device is an error.
    own_kernels: only models and graphs will run, no simulations: kernels then need no bounds checks, and are faster.
    """

    def __init__(self, impl: str | None = None, *, gpu_only: bool = False, own_kernels: bool = False) -> None:
        name = c_text(impl)
        options = ffi.new("solo_device_options *", {"impl": name, "gpu_only": gpu_only, "own_kernels": own_kernels})
        super().__init__(call(lib.solo_device_open_with, options), lib.solo_device_close)

    @property
    def name(self) -> str:
        """What the driver calls it."""
        return text(self.ask(lib.solo_device_name)) or ""

    def __repr__(self) -> str:
        return f"<solo.Device {self.name!r}>" if self._close.alive else "<solo.Device, closed>"


@functools.cache
def default_device(own_kernels: bool) -> Device:
    """The device that is used where none is named: one for models, and one for simulations, whose code is a user's."""
    return Device(own_kernels=own_kernels)
