"""solo.env: environments against gymnasium's own, step by step, and whole episodes in one dispatch."""
import unittest

import numpy as np

import solo

try:
    import gymnasium
    from gymnasium.envs.classic_control import cartpole, mountain_car, pendulum

    from solo.env import WgslVectorEnv, list_envs
except ImportError as why:
    raise unittest.SkipTest(str(why)) from None

POLICY = """
const GENES = 5;
fn policy(seen: array<f32, OBSERVATION>) -> u32 {
    var sum = gene(4u);
    for (var k = 0u; k < 4u; k++) { sum += gene(k) * seen[k]; }
    return u32(sum > 0.0);
}
"""


def begin(env, name, seen):
    """One of gymnasium's environments in the state that an observation shows."""
    env.reset(seed=0)
    env.unwrapped.state = {"pendulum": lambda: (np.arctan2(seen[1], seen[0]), seen[2])}.get(name, lambda: tuple(seen))()
    return env


class AgainstGymnasium(unittest.TestCase):
    def steps_like(self, name, make):
        envs = WgslVectorEnv(name, num_envs=6)
        rng = np.random.default_rng(4)
        seen, _ = envs.reset(seed=11)
        others = [begin(gymnasium.wrappers.TimeLimit(make(), envs.episode), name, row.astype(float)) for row in seen]
        resets = [False] * 6
        for _ in range(envs.episode + 20):
            actions = np.stack([other.action_space.sample() for other in others])
            if name != "pendulum":
                actions = rng.integers(envs.single_action_space.n, size=6)
            seen, rewards, terminated, truncated, _ = envs.step(actions)
            for i, other in enumerate(others):
                if resets[i]:  # this step began a new episode
                    self.assertEqual((rewards[i], terminated[i], truncated[i]), (0, False, False))
                    begin(other, name, seen[i].astype(float))
                    resets[i] = False
                    continue
                right = other.step(actions[i])
                np.testing.assert_allclose(seen[i], right[0], atol=2e-3)
                np.testing.assert_allclose(rewards[i], right[1], atol=2e-3)
                self.assertEqual((terminated[i], truncated[i]), right[2:4])
                begin_from = seen[i].astype(float)  # so that rounding does not add up
                resets[i] = bool(terminated[i] or truncated[i])
                if not resets[i]:
                    other.unwrapped.state = (np.array([np.arctan2(begin_from[1], begin_from[0]), begin_from[2]])
                                             if name == "pendulum" else tuple(begin_from))
        envs.close()

    def test_cartpole(self):
        self.steps_like("cartpole", cartpole.CartPoleEnv)

    def test_mountaincar(self):
        self.steps_like("mountaincar", mountain_car.MountainCarEnv)

    def test_pendulum(self):
        self.steps_like("pendulum", pendulum.PendulumEnv)


class Environments(unittest.TestCase):
    def test_seeds(self):
        envs = WgslVectorEnv("cartpole", num_envs=8)
        firsts = [envs.reset(seed=seed)[0] for seed in (1, 2, 1)]
        np.testing.assert_array_equal(firsts[0], firsts[2])
        self.assertTrue((firsts[0] != firsts[1]).all())
        self.assertTrue((envs.reset()[0] != envs.reset()[0]).all())
        self.assertEqual(firsts[0].dtype, np.float32)

    def test_rollout_is_the_same_as_steps(self):
        envs = WgslVectorEnv("cartpole", num_envs=16)
        genomes = np.random.default_rng(1).normal(size=(16, 5)).astype(np.float32)
        totals, lengths = envs.rollout(POLICY, genomes=genomes, seed=9)
        seen, _ = envs.reset(seed=9)
        alive, returns = np.ones(16, bool), np.zeros(16)
        for _ in range(500):
            seen, rewards, terminated, truncated, _ = envs.step(((seen * genomes[:, :4]).sum(1) + genomes[:, 4] > 0).astype(int))
            returns += rewards * alive
            alive &= ~(terminated | truncated)
        np.testing.assert_array_equal(totals, returns)
        np.testing.assert_array_equal(lengths, returns)

    def test_policies_evolve_and_remember(self):
        envs = WgslVectorEnv("cartpole", num_envs=128)
        with envs.policy(POLICY, evolves=True) as sim:
            best = sim.evolve(6).best
        self.assertGreater(best[-1], 400)
        counting = "struct Memory { n: u32 }\nfn policy(seen: array<f32, OBSERVATION>, memory: ptr<function, Memory>) -> u32 {\n" \
                   "    (*memory).n += 1u; return (*memory).n % 2u; }\n"
        self.assertGreater(envs.rollout(counting)[1].min(), 10)

    def test_mistakes(self):
        self.assertEqual(list_envs(), ["cartpole", "mountaincar", "pendulum"])
        with self.assertRaisesRegex(solo.UsageError, "no built-in environment"):
            WgslVectorEnv("chess", num_envs=2)
        with self.assertRaisesRegex(solo.UsageError, "OBSERVATION"):
            WgslVectorEnv("fn x() {}", num_envs=2)
        envs = WgslVectorEnv("cartpole", num_envs=2)
        with self.assertRaisesRegex(solo.UsageError, "before the first step"):
            envs.step([0, 1])
        for wrong in (-1, 2**32, 1.5, [1, 2], "1"):
            with self.assertRaisesRegex((TypeError, ValueError), "seed is"):
                envs.reset(seed=wrong)
            with self.assertRaisesRegex((TypeError, ValueError), "num_envs is"):
                WgslVectorEnv("cartpole", num_envs=wrong)
        envs.reset(seed=1)
        for wrong in ([0], [0, 2], [0.5, 0.5], [-1, 0]):
            with self.assertRaises(solo.UsageError):
                envs.step(np.array(wrong))
