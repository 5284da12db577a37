"""solo.Graph and solo.Run: programs of PyTorch without torch, against what torch computed (tests/data/torch)."""
import dataclasses
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
        for port, together in zip((count, keys, count), run.read_many([count, keys, count]), strict=True):
            np.testing.assert_array_equal(together, run.read(port))
        self.assertEqual(run.read_many([]), [])
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

    def integers(self, number):
        """A graph that passes whole numbers of such a type on: int32 is 4, uint8 1, bool 12."""
        call = {"target": "torch.ops.aten.as_strided.default", "outputs": [{"as_tensor": {"name": "y"}}], "inputs": [
            {"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "size", "arg": {"as_ints": [2]}},
            {"name": "stride", "arg": {"as_ints": [1]}}, {"name": "storage_offset", "arg": {"as_int": 0}}]}
        meta = {"dtype": number, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}]}
        ports = {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
                 "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}
        program = {"graph": {"nodes": [call], "tensor_values": {"x": meta, "y": meta}}, "signature": ports}
        return solo.Run(_Program(json.dumps(program), [], None), "ops")

    def test_integers_that_do_not_fit(self):
        run = self.integers(5)
        x = run.graph.inputs[0]
        for right in ([1, -2**31], np.array([2**31 - 1, 0], np.uint64), [2.0, np.float32(3)], [True, False]):
            run.write(x, right)
            self.assertEqual(run.read(x).tolist(), [int(value) for value in right])
        for wrong in (np.array([2**32 + 1, 0]), [1.9, 0], [float("nan"), 0], [float("inf"), 0], [-2**31 - 1, 0],
                      np.array([2**63, 0], np.uint64), [10**400, 0], ["1", "2"], [1j, 0], [None, 0], [[1], [2, 3]]):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(ValueError, "^x: its elements are whole numbers"):
                run.write(x, wrong)
        with self.assertRaisesRegex(ValueError, "x has the shape"):
            run.write(x, [1, 2, 3])

    def test_ports_of_others(self):
        run = solo.Run(solo.Graph(DATA / "convnet.pt2"), "ops")
        port = run.graph.inputs[0]
        for wrong in ("x", None, dataclasses.replace(port, strides=(10**9,) * 4), dataclasses.replace(port, bytes=10**6),
                      dataclasses.replace(port, shape=[2, 3, 9, 9])):
            for use in (lambda: run.read(wrong), lambda: run.read_many([port, wrong]),
                        lambda: run.write(wrong, np.zeros((2, 3, 9, 9)))):
                with self.assertRaisesRegex(solo.UsageError, "is no port of this graph"):
                    use()
        run.write(solo.Graph(DATA / "convnet.pt2").inputs[0], np.zeros((2, 3, 9, 9)))
        for wrong in ("x.pt2", None):
            with self.assertRaisesRegex(TypeError, "graph is a solo.Graph"):
                solo.Run(wrong)
        for wrong in (-1, 1.5, 2**32):
            with self.assertRaisesRegex((TypeError, ValueError), "times is"):
                run.go(wrong)
        for wrong in ("a", [1j], [[1], [2, 3]]):
            with self.assertRaisesRegex(solo.UsageError, "x: "):
                run(wrong)

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
