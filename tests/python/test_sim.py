"""solo.Sim: runs, states, traces, step by step, evolution."""
import math
import tempfile
import threading
import unittest

import numpy as np

import solo

SPRING = """
override STIFFNESS: f32 = 4.0;
struct Point { at: vec2<f32> }
struct State { x: f32, v: f32, n: u32, p: Point, past: array<f32, 3> }
fn init(i: u32) -> State { var s: State; s.x = f32(i); return s; }
fn step(before: State, t: u32) -> State {
    var s = before;
    s.v += 0.01 * (data(t % data_rows(), 0u) - STIFFNESS * s.x);
    s.x += 0.01 * s.v;
    s.n += 1u;
    s.p.at = vec2(s.x, s.v);
    s.past = array<f32, 3>(s.past[1], s.past[2], s.x);
    return s;
}
fn score(s: State) -> f32 { return -abs(s.x); }
"""


class Runs(unittest.TestCase):
    def test_against_numpy(self):
        push = np.array([[0.5], [-0.25]])
        sim = solo.Sim(SPRING, population=5, steps=30, params={"STIFFNESS": 9}, data=push, trace=2, trace_every=10)
        result = sim.run()
        x, v, past = np.arange(5.0), np.zeros(5), []
        for t in range(30):
            v += 0.01 * (push[t % 2, 0] - 9 * x)
            x += 0.01 * v
            past = [*past, x.copy()][-3:]
        np.testing.assert_allclose(result.states["x"], x, atol=1e-5)
        np.testing.assert_allclose(result.states["p"], [x, v], atol=1e-5)
        np.testing.assert_allclose(result.states["p.at.y"], v, atol=1e-5)
        np.testing.assert_allclose(result.states["past"], past, atol=1e-5)
        np.testing.assert_allclose(result.scores, -np.abs(x), atol=1e-5)
        self.assertEqual(list(result.states), ["x", "v", "n", "p", "past"])
        self.assertEqual(result.trace["past"].shape, (4, 3, 2))
        np.testing.assert_array_equal(result.trace["n"][:, 0], [0, 10, 20, 30])
        separate = sim.run(separate=True)
        np.testing.assert_array_equal(separate.states.words, result.states.words)

    def test_step_by_step(self):
        sim = solo.Sim("option", population=100, steps=20, seed=3)
        whole = sim.run()
        sim.begin(3)
        for steps in (1, 0, 12, 7):
            sim.advance(steps)
        np.testing.assert_array_equal(sim.states().words, whole.states.words)
        np.testing.assert_array_equal(sim.scores(), whole.scores)

    def test_progress(self):
        seen = []
        solo.Sim("pi", population=10).run(progress=seen.append)
        self.assertEqual(seen[-1], 1000)

        def fail(step):
            raise KeyError(step)

        with self.assertRaises(KeyError):
            solo.Sim("pi", population=10).run(progress=fail)

    def test_a_run_and_what_came_of_it_belong_together(self):
        sim, done = solo.Sim("option", population=50, steps=10, seed=3), threading.Event()
        right = sim.run()

        def begin():
            while not done.is_set():
                sim.begin(4)

        thread = threading.Thread(target=begin)
        thread.start()
        try:
            for _ in range(30):
                np.testing.assert_array_equal(sim.run().states.words, right.states.words)
        finally:
            done.set()
            thread.join()

    def test_mistakes(self):
        cases = (("nothing", {}, "no built-in simulation 'nothing'"),
                 (SPRING.replace("s.n += 1u", "s.m += 1u"), {"population": 1, "steps": 1, "data": [[0]]}, "simulation:10"),
                 (SPRING, {"population": 1, "steps": 1}, "reads data"),
                 (SPRING, {"population": 1, "steps": 1, "data": [0]}, "two dimensions"),
                 ("cartpole", {"genomes": np.zeros((3, 5))}, "genomes of shape"),
                 ("pi", {"params": {"NO": 1}}, "NO"))
        for source, options, part in cases:
            with self.assertRaisesRegex(solo.Error, part):
                solo.Sim(source, **options).run()
        with self.assertRaises(FileNotFoundError):
            solo.Sim("no-such.wgsl")
        with self.assertRaisesRegex(solo.UsageError, "nothing ran yet"):
            solo.Sim("pi").scores()


class Evolution(unittest.TestCase):
    def test_goes_on_after_resume(self):
        with tempfile.TemporaryDirectory() as folder:
            sims = [solo.Sim("sphere", population=64, seed=2, evolves=True) for _ in range(2)]
            sims[0].evolve(5, elite=3)
            sims[0].save(f"{folder}/e")
            right = sims[0].evolve(9)
            sims[1].resume(f"{folder}/e", elite=3)
            again = sims[1].evolve(9)
            np.testing.assert_array_equal(right.genomes, again.genomes)
            np.testing.assert_array_equal(right.best, again.best)
            self.assertEqual(len(right.best), 10)
            with self.assertRaisesRegex(solo.Error, "other options"):
                solo.Sim("sphere", population=64, seed=2, evolves=True).resume(f"{folder}/e")

    def test_stops_when_told(self):
        sim = solo.Sim("sphere", population=32, evolves=True)
        self.assertEqual(sim.evolve(50, progress=lambda generation, best: generation < 4).generation, 4)

    def test_islands_do_not_depend_on_the_break(self):
        with tempfile.TemporaryDirectory() as folder:
            options = {"islands": 3, "every": 4, "population": 32, "seed": 5, "migrants": 2}
            whole = solo.evolve("sphere", 12, **options)
            solo.evolve("sphere", 8, checkpoints=folder, **options)
            rest = solo.evolve("sphere", 12, checkpoints=folder, **options)
            np.testing.assert_array_equal(whole.best, rest.best)
            np.testing.assert_array_equal(whole.genome, rest.genome)
            self.assertEqual(whole.best.shape, (3, 3))
            self.assertTrue((whole.best[1:] >= whole.best[:-1]).all())
            self.assertTrue(math.isfinite(whole.score))
            with self.assertRaisesRegex(solo.UsageError, "another evolution"):
                solo.evolve("sphere", 12, checkpoints=folder, **{**options, "seed": 6})

    def test_migrants_arrive(self):
        apart = solo.evolve("sphere", 40, islands=4, every=2, population=16, migrants=0, seed=1)
        together = solo.evolve("sphere", 40, islands=4, every=2, population=16, migrants=2, seed=1)
        self.assertGreater(apart.best[-1].std(), together.best[-1].std())
        for wrong in ({"islands": 0}, {"every": 0}, {"migrants": -1}, {"engine": "none"}, {"workers": 2}):
            with self.assertRaises(solo.UsageError):
                solo.evolve("sphere", 2, **wrong)
