"""A device that is lost in the middle of a step: an exception of one line, at once and afterwards, and no crash.

tests/faults/fail_gpu.c, a layer under the driver, lets one call fail."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

LAYER = pathlib.Path(os.environ.get("SOLO", "build/solo")).resolve().parent / "tests/faults/fail_gpu.so"
LAYOUT = "<QQQQQIiI"  # struct faults of fail_gpu.c
SUBMIT, LOST = 0, -4

BEGIN = f"""
import os, struct, sys
import numpy as np
import solo

def lose(after):
    "the device, with the submit after so many others"
    with open(os.environ["FAULT_FILE"], "r+b") as file:
        count = struct.unpack("{LAYOUT}", file.read({struct.calcsize(LAYOUT)}))[{SUBMIT}]
        file.seek(32)
        file.write(struct.pack("<QIi", count + 1 + after, {SUBMIT}, {LOST}))

def fails(step):
    try:
        step()
    except solo.Error as why:
        assert str(why).strip() and len(str(why).splitlines()) == 1, why
        return
    sys.exit("nothing was raised")
"""

PROGRAM = """
run = solo.Run(solo.Graph("tests/data/torch/convnet.pt2"), "ops")
x = np.zeros((2, 3, 9, 9), np.float32)
run(x)
lose(AFTER)
fails(lambda: [run(x) for _ in range(3)])
fails(lambda: run(x))
"""

COMPILED = """
import torch, solo.torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
step, x = torch.compile(model, backend="solo", dynamic=False, options={"level": "ops"}), torch.randn(3, 4)
with torch.no_grad():
    step(x)
    lose(AFTER)
    fails(lambda: [step(x) for _ in range(3)])
    fails(lambda: step(x))
assert not solo.torch.fallbacks(), solo.torch.fallbacks()
"""

TRAINING = """
import torch, solo.webgpu
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to("webgpu")
optimizer, x = torch.optim.AdamW(model.parameters()), torch.randn(3, 4).to("webgpu")

def step():
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()

step(), step()
lose(AFTER)
fails(lambda: [step() for _ in range(3)])
fails(step)
fails(lambda: print(model[0].weight))
assert not torch.webgpu.fallbacks(), torch.webgpu.fallbacks()
"""

TEXT = """
model = solo.Model()
model.generate("Once", 4)
lose(AFTER)
fails(lambda: model.generate("Once upon a time there was a king who", 40))
"""


@unittest.skipUnless(LAYER.exists(), "tests/faults is not built")
class Lost(unittest.TestCase):
    def lose(self, text, after):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "faults.json").write_text(json.dumps({"file_format_version": "1.2.0", "layer": {
                "name": "VK_LAYER_SOLO_faults", "type": "GLOBAL", "library_path": str(LAYER), "api_version": "1.3.0",
                "implementation_version": "1", "description": "one call fails"}}))
            (pathlib.Path(folder) / "faults").write_bytes(bytes(struct.calcsize(LAYOUT)))
            env = {**os.environ, "VK_LAYER_PATH": folder, "VK_INSTANCE_LAYERS": "VK_LAYER_SOLO_faults",
                   "FAULT_FILE": f"{folder}/faults", "SOLO_CACHE": f"{folder}/cache"}
            ran = subprocess.run([sys.executable, "-W", "ignore", "-c", BEGIN + text.replace("AFTER", str(after))], env=env,
                                 capture_output=True, text=True, timeout=300)
            happened = struct.unpack(LAYOUT, (pathlib.Path(folder) / "faults").read_bytes())[-1]
        self.assertEqual((ran.returncode, ran.stderr, happened), (0, "", 1))

    def test_a_program(self):
        self.lose(PROGRAM, 0)
        self.lose(PROGRAM, 2)

    def test_a_text(self):
        self.lose(TEXT, 0)
        self.lose(TEXT, 3)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_a_compiled_step(self):
        self.lose(COMPILED, 1)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_a_training_step(self):
        self.lose(TRAINING, 0)
        self.lose(TRAINING, 2)
