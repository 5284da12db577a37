"""Objects of the library: when they are freed, by whom they are used, signals in between, and what is left behind."""
import contextlib
import copy
import gc
import io
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from unittest import mock

import numpy as np

import solo
from solo import islands

PROMPT = "Once upon a time"


def run(program, timeout=120):
    """A program of its own: what may end a process does not end the tests."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True,
                          timeout=timeout)


class Programs(unittest.TestCase):
    def check(self, program, out=None):
        done = run(program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        if out is not None:
            self.assertEqual(done.stdout.split(), out.split())


class Freeing(Programs):
    def test_the_collector_may_begin_with_the_device(self):
        self.check("""
            import gc, solo
            m = solo.Model(device=solo.Device(own_kernels=True))
            m.generate("a", 1)
            m = None
            gc.collect()
            """)
        self.check("""
            import gc, solo
            def circle(*all):
                ring = [*all]
                ring.append(ring)
            device = solo.Device()
            sim = solo.Sim("pi", population=4, device=device)
            sim.run()
            circle(device, sim)
            own = solo.Device(own_kernels=True)
            graph = solo.Graph("tests/data/torch/convnet.pt2")
            circle(graph, own, solo.Run(graph, "ops", own), solo.Model(device=own))
            del device, sim, own, graph
            gc.collect()
            """)

    def test_at_the_end_whatever_the_order(self):
        self.check("""
            import solo
            device = solo.Device(own_kernels=True)
            solo.kept = [solo.Model(device=device), device, solo.Sim("pi", population=4)]
            solo.kept[0].generate("a", 1)
            """)

    def test_a_model_is_in_no_circle(self):
        device = solo.Device(own_kernels=True)
        model = solo.Model(device=device)
        model.generate(PROMPT, 1)
        core = model._core
        gc.disable()
        self.addCleanup(gc.enable)
        del model
        self.assertEqual(core._pointers, [])
        device.close()

    def test_the_last_one_frees_its_owners(self):
        device = solo.Device()
        sim = solo.Sim("pi", population=4, device=device)
        sim.device, core = None, device._core
        del device
        gc.collect()
        self.assertTrue(core._pointers)
        sim.run()
        sim.close()
        self.assertEqual(core._pointers, [])

    def test_in_a_callback(self):
        device = solo.Device(own_kernels=True)
        model, others = solo.Model(device=device), [solo.Model(device=device), solo.Model(device=device)]
        cores = [other._core for other in others]

        def free(piece):
            if others:
                others.pop().close()
                others.clear()
                gc.collect()

        self.assertEqual(model.generate(PROMPT, 3, on_text=free).tokens, 3)
        self.assertEqual([core._pointers for core in cores], [[], []])
        device.close()

    def test_two_threads_let_go_of_each_others_objects(self):
        devices = [solo.Device(own_kernels=True) for _ in range(2)]
        models = [solo.Model(device=device) for device in devices]
        spare = [[solo.Model(device=device)] for device in devices]
        both = threading.Barrier(2)

        def work(me):
            def free(piece):
                if spare[1 - me]:
                    both.wait()
                    spare[1 - me].clear()
                    gc.collect()
                    both.wait()

            models[me].generate(PROMPT, 2, on_text=free)

        threads = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        for device in devices:
            device.close()


class Closed(Programs):
    def test_at_the_end_of_the_interpreter(self):
        self.check("""
            import atexit
            def use():
                for way in (lambda: m.generate("a", 1), lambda: s.run(), lambda: m.vocabulary):
                    try:
                        way()
                    except Exception as why:
                        print(why)
            atexit.register(use)
            import solo
            m, s = solo.Model(), solo.Sim("pi", population=4)
            m.generate("a", 1)
            """, "this Model is closed this Sim is closed this Model is closed")

    def test_in_what_ends_last(self):
        done = run("""
            import solo
            class Late:
                def __del__(self):
                    try:
                        self.model.generate("a", 1)
                    except solo.UsageError as why:
                        print(why)
            def late(model):
                try:
                    yield
                finally:
                    model.generate("a", 1)
            model = solo.Model()
            model.generate("a", 1)
            a, b = Late(), late(model)
            a.model = model
            next(b)
            solo.kept = a, b
            """)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_copies_are_refused(self):
        device = solo.Device()
        sim, graph = solo.Sim("pi", population=4, device=device), solo.Graph("tests/data/torch/convnet.pt2")
        for value in (device, sim, graph):
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, f"a {type(value).__name__} cannot be copied or pickled"):
                    make(value)
        device.close()
        with self.assertRaisesRegex(solo.UsageError, "this Sim is closed"):
            sim.run()


class Devices(Programs):
    def test_opened_by_several_threads(self):
        self.check("""
            import os, threading, solo
            from solo.device import default_device
            stderr, made = os.fstat(2), []
            threads = [threading.Thread(target=lambda: made.append(default_device(True))) for _ in range(6)]
            threads += [threading.Thread(target=lambda: solo.Device().close()) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            now = os.fstat(2)
            print(len(set(map(id, made))), (stderr.st_dev, stderr.st_ino) == (now.st_dev, now.st_ino))
            """, "1 True")

    def test_a_default_device_that_was_closed(self):
        self.check("""
            import solo
            one = solo.Model()
            one.device.close()
            print(solo.Model().generate("Once", 1).tokens, one.device)
            """, "1 <solo.Device, closed>")

    def test_what_is_no_device(self):
        for make in (lambda: solo.Model(device="dawn"), lambda: solo.Sim("pi", device=0),
                     lambda: solo.Embedder("x", device=1)):
            with self.assertRaisesRegex(TypeError, "device is a solo.Device"):
                make()


class Signals(unittest.TestCase):
    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def interrupted(self, work, after=0.3):
        timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
        with contextlib.redirect_stderr(io.StringIO()) as stderr, self.assertRaises(KeyboardInterrupt):
            timer.start()
            work()
            time.sleep(5)
        timer.join()
        self.assertEqual(stderr.getvalue(), "")

    def interrupt_once(self, after):
        """To be called often: an interrupt comes some time after the first call."""
        timers = []

        def begin(*unused):
            if not timers:
                timers.append(threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)))
                timers[0].start()

        return begin

    def test_a_text(self):
        model = solo.Model()
        right = model.generate(PROMPT, 40)
        for after in (0.05, 0.1, 0.15):
            began = time.monotonic()
            self.interrupted(lambda: [model.generate(PROMPT, 400) for _ in range(50)], after)
            self.assertLess(time.monotonic() - began, 4)
        self.interrupted(lambda: [model.generate(PROMPT, 400, on_text=lambda piece: None) for _ in range(50)])
        self.assertEqual(model.generate(PROMPT, 40), right)

    def test_a_simulation(self):
        sim = solo.Sim("pi", population=64, steps=4_000_000, chunk_ms=20)
        right = sim.run().scores
        began = time.monotonic()
        sim.run()
        whole = time.monotonic() - began
        for run in (sim.run, lambda: sim.run(progress=lambda step: None)):
            began = time.monotonic()
            self.interrupted(run, whole / 10)
            self.assertLess(time.monotonic() - began, 0.8 * whole)
            with self.assertRaisesRegex(solo.UsageError, "nothing ran yet"):
                sim.scores()
        np.testing.assert_array_equal(sim.run().scores, right)

    def test_an_evolution(self):
        self.interrupted(lambda: solo.Sim("sphere", population=32, evolves=True).evolve(10**6))
        with tempfile.TemporaryDirectory() as folder:
            options = {"islands": 2, "every": 5, "population": 32, "seed": 3, "checkpoints": folder}
            for after in (0.05, 0.1):
                with self.assertRaises(KeyboardInterrupt):
                    solo.evolve("sphere", 10**5, progress=self.interrupt_once(after), **options)
            made = len(json.loads(pathlib.Path(folder, "islands.json").read_text())["best"])
            got = solo.evolve("sphere", 5 * (made + 3), **options)
            right = solo.evolve("sphere", 5 * (made + 3), **{**options, "checkpoints": None})
            np.testing.assert_array_equal(got.best, right.best)

    def test_a_piece_that_was_cut_is_not_recorded(self):
        worker = islands.Worker(islands.Plan("sphere", None, 16, None, 0, 1, 2, 1, {}, None, {}, "none"))
        first = solo.Evolved(1, None, None, np.zeros(16))
        with mock.patch.object(solo.Sim, "evolve", lambda sim, until, **settings: first), \
                self.assertRaisesRegex(solo.Error, "generation 1, not 2"):
            worker.evolve([0], 0, 2)
        worker.close()

    def test_no_signal_leaves_the_lock_held(self):
        model = solo.Model()

        def stop(number, frame):
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, stop)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        end, stopped = time.monotonic() + 4, 0
        while time.monotonic() < end:
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4, 2e-4)
                while True:
                    model.vocabulary
            except KeyboardInterrupt:
                stopped += 1
            finally:
                while True:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                        break
                    except KeyboardInterrupt:
                        pass
        self.assertGreater(stopped, 10)
        got = []
        thread = threading.Thread(target=lambda: got.append(model.vocabulary), daemon=True)
        thread.start()
        thread.join(10)
        self.assertEqual(got, [model.vocabulary])
