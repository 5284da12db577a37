"""Islands on Ray: the same result on any number of workers, also when a node dies in the middle."""
import os
import threading
import time
import unittest
from unittest import mock

import numpy as np

import solo

try:
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    from solo.ray_engine import RayEngine
except ImportError as why:
    raise unittest.SkipTest(f"{why} (make test-python has it)") from None

OPTIONS = {"islands": 4, "every": 5, "population": 64, "seed": 3}


class OnRay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.right = solo.evolve("sphere", 40, **OPTIONS)
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 80 << 20})
        cls.nodes = [cls.add_node(count) for count in (2, 1, 1)]
        ray.init(address=cls.cluster.address, logging_level="ERROR", log_to_driver=False)

    @classmethod
    def add_node(cls, cpus):
        return cls.cluster.add_node(num_cpus=cpus, object_store_memory=80 << 20)

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()
        cls.cluster.shutdown()

    def same(self, made):
        np.testing.assert_array_equal(made.best, self.right.best)
        np.testing.assert_array_equal(made.genome, self.right.genome)

    def test_1_workers(self):
        for workers in (1, 3):
            self.same(solo.evolve("sphere", 40, engine="ray", workers=workers, **OPTIONS))

    def test_2_errors_come_back(self):
        with self.assertRaisesRegex(solo.Error, "nothing to evolve"):
            solo.evolve("pi", 10, engine="ray", workers=2, **OPTIONS)

    def dies(self, node, comes_back):
        """All processors are taken, so that one worker is on this node, and dies with it."""
        reached = threading.Event()
        engines = []

        def at(generation, best):
            if generation == 15:
                reached.set()
                time.sleep(1)

        def kill():
            reached.wait()
            self.cluster.remove_node(node, allow_graceful=False)
            if comes_back:
                self.add_node(1)

        class Watched(RayEngine):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                engines.append(self)

        killer = threading.Thread(target=kill)
        killer.start()
        with mock.patch("solo.ray_engine.RayEngine", Watched), mock.patch("solo.ray_engine._PATIENCE_S", 8):
            made = solo.evolve("sphere", 40, engine="ray", workers=4, progress=at, **OPTIONS)
        killer.join()
        self.same(made)
        self.assertGreaterEqual(engines[0].replaced, 1)  # a new one may land on the dead node before Ray knows of it

    def test_3_a_node_dies_and_another_comes(self):
        self.dies(self.nodes[1], True)

    def test_4_a_node_dies_and_the_others_do_its_work(self):
        self.dies(self.nodes[2], False)
