"""solo.Graph and solo.Run: programs of PyTorch without torch, against what torch computed (tests/data/torch)."""
import json
import pathlib
import unittest

import numpy as np

import solo

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
