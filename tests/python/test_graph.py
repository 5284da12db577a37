"""solo.Graph and solo.Run: programs of PyTorch without torch, against what torch computed (tests/data/torch)."""
import json
import pathlib
import unittest

import numpy as np

import solo
from solo.graph import _Program

DATA = pathlib.Path("tests/data/torch")


def runs(name):
    return json.loads((DATA / f"{name}.json").read_text())["runs"]


class Programs(unittest.TestCase):
    def compare(self, name, level="ops"):
        graph = solo.Graph(DATA / f"{name}.pt2")
        run = solo.Run(graph, level)
        for once in runs(name):
            inputs = [np.array(once["inputs"][p.name]).reshape(p.shape) for p in graph.inputs]
            for port, got in zip(graph.outputs, run(*inputs), strict=True):
                want = np.array(once["outputs"][port.name]).reshape(port.shape)
                self.assertEqual((got.shape, got.dtype), (port.shape, port.dtype))
                self.assertLess(np.abs(got - want).max(), 1e-4 * (want.std() + 1e-2), port.name)
        return run

    def test_outputs(self):
        self.compare("convnet")
        self.compare("operators")

    def test_states_live_on(self):
        run = self.compare("cache")
        keys, count = run.graph.states
        self.assertEqual((keys.name, keys.shape, run.read(count).tolist()), ("keys", (1, 2, 6, 4), [7, 8, 9]))
        run.write(count, [1, 2, 3])
        self.assertEqual(run.read(count).tolist(), [1, 2, 3])

    def strided(self, size, stride, offset):
        """as_strided of 12 numbers, which no file of the test data has: torch.export removes it."""
        call = {"target": "torch.ops.aten.as_strided.default", "outputs": [{"as_tensor": {"name": "y"}}], "inputs": [
            {"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "size", "arg": {"as_ints": size}},
            {"name": "stride", "arg": {"as_ints": stride}}, {"name": "storage_offset", "arg": {"as_int": offset}}]}
        meta = {"dtype": 7, "sizes": [{"as_int": 3}, {"as_int": 4}], "strides": [{"as_int": 4}, {"as_int": 1}]}
        ports = {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
                 "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}
        program = {"graph": {"nodes": [call], "tensor_values": {"x": meta}}, "signature": ports}
        run = solo.Run(_Program(json.dumps(program), [], None), "ops")
        return run(np.arange(12).reshape(3, 4))[0].tolist()

    def test_strides(self):
        self.assertEqual(self.strided([2, 3], [1, 4], 1), [[1, 5, 9], [2, 6, 10]])
        self.assertEqual(self.strided([2, 2, 2], [3, 0, 1], 4), [[[4, 5], [4, 5]], [[7, 8], [7, 8]]])
        self.assertEqual(self.strided([], [], 11), 11)
        for size, stride, offset in (([13], [1], 0), ([2], [12], 0), ([1], [1], 12), ([2], [-1], 5), ([0], [1], 0), ([2, 3], [1], 0),
                                     ([2**31, 2**31], [2**31, 2**31], 0), ([2] * 7, [1] * 7, 0), ([1], [1], -1)):
            with self.assertRaisesRegex(solo.Error, "as_strided"):
                self.strided(size, stride, offset)

    def test_mistakes(self):
        graph = solo.Graph(DATA / "convnet.pt2")
        run = solo.Run(graph, "ops")
        with self.assertRaisesRegex(solo.UsageError, r"x has the shape \(2, 3, 9, 9\), not \(3,\)"):
            run([1, 2, 3])
        with self.assertRaisesRegex(solo.UsageError, "1 inputs are needed, not 2"):
            run(1, 2)
        with self.assertRaisesRegex(solo.Error, "none.pt2"):
            solo.Graph("none.pt2")
        with self.assertRaisesRegex(solo.Error, "it is no .pt2 archive"):
            solo.Graph(DATA / "convnet.json")
