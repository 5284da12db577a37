"""Solo: language models, and any step-by-step GPU workload, on WebGPU in as few dispatches as possible.

    import solo
    print(solo.Model().generate("Once upon a time", 40))           # the built-in model
    print(solo.Sim("cartpole").run().scores.mean())                # 4,096 games, one dispatch

``solo.env`` has environments for gymnasium, ``solo.evolve`` evolution on islands, also with Ray; ``solo.torch`` a
backend for torch.compile, ``solo.webgpu`` a device for PyTorch.
"""
from ._native import Error, NoGpuError, UsageError, ffi, lib
from .device import Device
from .graph import Graph, Port, Run
from .islands import Archipelago, evolve
from .model import Answer, Embedder, Model, Sampling, Stream
from .sim import Evolved, Result, Sim, States

__version__ = ffi.string(lib.solo_library_version()).decode()
__all__ = ["Answer", "Archipelago", "Device", "Embedder", "Error", "Evolved", "Graph", "Model", "NoGpuError", "Port", "Result",
           "Run", "Sampling", "Sim", "States", "Stream", "UsageError", "evolve"]
