"""What is refused: in one line that names the argument, before anything is made, and nothing is left behind."""
import decimal
import fractions
import os
import pathlib
import tempfile
import unittest

import numpy as np

import solo

NO_WHOLE = (-1, 2**32, 10**5000, 2.7, np.float32(2.7), decimal.Decimal(3), fractions.Fraction(3), "3", float("nan"),
            [3])
P = "Once upon a time"


class Arguments(unittest.TestCase):
    def refused(self, part, make):
        with self.assertRaises((TypeError, ValueError, solo.Error)) as caught:
            make()
        line = str(caught.exception)
        self.assertRegex(line, part)
        self.assertEqual(len(line.splitlines()), 1, line)

    def test_whole_numbers(self):
        model, sim = solo.Model(), solo.Sim("sphere", population=8, evolves=True)
        cases = {"max_tokens": lambda v: model.generate(P, v), "top_k": lambda v: model.generate(P, 1, top_k=v),
                 "seed": lambda v: model.generate(P, 1, seed=v), "context": lambda v: solo.Model(context=v),
                 "think_budget": lambda v: solo.Model(think_budget=v), "repeat_last": lambda v: solo.Model(
                     sampling=solo.Sampling(repeat_last=v)), "generations": sim.evolve, "steps": sim.advance,
                 "elite": lambda v: sim.evolve(1, elite=v), "tournament": lambda v: sim.resume("x", tournament=v)}
        for name in ("population", "steps", "seed", "trace", "trace_every", "chunk_ms"):
            cases[f"^{name}"] = lambda v, name=name: solo.Sim("pi", **{name: v})
        for name in ("islands", "every", "migrants", "population", "steps", "seed", "tournament", "elite"):
            cases[f"{name} "] = lambda v, name=name: solo.evolve("sphere", 2, **{name: v})
        for name, use in cases.items():
            for value in NO_WHOLE:
                with self.subTest(name=name, type=type(value)):
                    self.refused(f"{name.strip(' ^')} is", lambda: use(value))
        self.refused("context is", lambda: solo.Embedder("none", context=-1))
        self.assertEqual(model.generate(P, np.int64(2), top_k=np.uint8(3)).tokens, 2)

    def test_numbers(self):
        for value in ("1", None, [1], 1j, 10**400):
            self.refused("temperature is", lambda: solo.Model(sampling=solo.Sampling(temperature=value)))
            self.refused("sigma is", lambda: solo.Sim("sphere", evolves=True).evolve(1, sigma=value))
            self.refused("sigma is", lambda: solo.evolve("sphere", 1, sigma=value))
            self.refused("scale of lora is", lambda: solo.Model(lora=[("x.gguf", value)]))
            self.refused(r"params\['x'\]", lambda: solo.Sim("pi", params={"x": value}))
        for data in ("a", [[1], [2, 3]], [[1j]], [["a"]]):
            self.refused("data", lambda: solo.Sim("pi", data=data))
        self.refused("genomes", lambda: solo.Sim("cartpole", genomes=[["a"]]))

    def test_what_is_something_else(self):
        model = solo.Model()
        for part, make in (
                ("'nope'", lambda: solo.Sim("sphere", evolves=True).resume("x", nope=1)),
                ("normalize is", lambda: solo.Embedder("x", normalize="yes")),
                ("normalize is", lambda: solo.Embedder("x", normalize=[])),
                ("pooling is", lambda: solo.Embedder("x", pooling=[])),
                ("think is", lambda: solo.Model(think=["on"])),
                ("gpu_only is", lambda: solo.Device(gpu_only="yes")),
                ("impl is", lambda: solo.Device(5)),
                ("no level", lambda: solo.Model(level=["ops"])),
                ("params is", lambda: solo.Sim("pi", params=["A=1"])),
                ("params is", lambda: solo.evolve("pi", 1, params=["A=1"])),
                ("sampling is", lambda: solo.Model(sampling={"seed": 1})),
                ("slide is", lambda: solo.Model(slide="yes")),
                ("evolves is", lambda: solo.Sim("pi", evolves="yes")),
                ("simulation is", lambda: solo.Sim(b"x")),
                ("simulation is", lambda: solo.Sim(5)),
                ("checkpoints is", lambda: solo.evolve("pi", 1, checkpoints=5)),
                ("list of messages, not None", lambda: model.chat(None)),
                ("list of messages, not 5", lambda: model.chat(5)),
                ("message is a mapping", lambda: model.chat({"role": "user"})),
                ("message is a mapping", lambda: model.chat(["Hello"])),
                ("no role", lambda: model.chat([{"role": [], "content": "x"}])),
                ("not known", lambda: model.chat([{5: 5}])),
                ("list of mappings", lambda: model.set_tools(5)),
                ("on_text is", lambda: model.generate(P, 1, on_text=5)),
                ("progress is", lambda: solo.Sim("pi").run(progress=5)),
                ("prompt is", lambda: model.generate(pathlib.Path("x"), 1)),
                ("system is", lambda: solo.Model(system=pathlib.Path("x"))),
                ("template is", lambda: solo.Model(template=pathlib.Path("x"))),
                ("stop is", lambda: model.generate(P, 1, stop=pathlib.Path("x"))),
                ("stop is", lambda: model.generate(P, 1, stop=[pathlib.Path("x")])),
                ("stop is", lambda: model.generate(P, 1, stop=5)),
                ("lora is", lambda: solo.Model(lora=5)),
                ("lora is", lambda: solo.Model(lora=[5])),
                ("path is", lambda: model.save(b"x")),
                ("path is", lambda: model.load(5)),
                ("prompt .*surrogate", lambda: model.generate("\udc80", 1)),
                ("row of whole numbers", lambda: model.logits([[1], [2, 3]])),
        ):
            with self.subTest(part=part):
                self.refused(part, make)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = pathlib.Path(folder, "wrong.wgsl")
            wrong.write_bytes(b"\xff\xfe\x00")
            self.refused("wrong.wgsl", lambda: solo.Sim(wrong))
            for lora in (f"{folder}/a.gguf", pathlib.Path(f"{folder}/a.gguf"), [(f"{folder}/a.gguf", 0.5)]):
                self.refused("a.gguf", lambda: solo.Model(lora=lora))
            model, odd = solo.Model(), os.fsdecode(os.fsencode(folder) + b"/odd-\xff")
            model.chat("Tom", 2)
            model.save(odd)
            model.load(pathlib.Path(odd))
            self.assertIn(b"odd-\xff", os.listdir(os.fsencode(folder)))
            program = pathlib.Path(odd + ".wgsl")
            program.write_text("const POPULATION = 2; const STEPS = 1; struct State { x: f32 } fn nothing() {}")
            self.refused("odd-\ufffd.wgsl", lambda: solo.Sim(program).run())


class Islands(unittest.TestCase):
    OPTIONS = {"islands": 2, "every": 2, "population": 16, "seed": 4, "sigma": 0.5}

    def test_numbers_of_numpy(self):
        with tempfile.TemporaryDirectory() as folder:
            kinds = {"sigma": np.float64}
            options = {name: kinds.get(name, np.int64)(value) for name, value in self.OPTIONS.items()}
            got = solo.evolve("sphere", np.int32(4), checkpoints=folder, **options)
            again = solo.evolve("sphere", 4, checkpoints=folder, **self.OPTIONS)
            np.testing.assert_array_equal(got.best, again.best)
            self.assertEqual([name for name in os.listdir(folder) if name.endswith(".tmp")], [])

    def test_damaged_files(self):
        with tempfile.TemporaryDirectory() as folder:
            solo.evolve("sphere", 2, checkpoints=folder, **self.OPTIONS)
            file = pathlib.Path(folder, "islands.json")
            right = file.read_text()
            start = right[: right.index('"best"')]
            for wrong in ("", "{}", "[]", "5", "null", '{"plan": 1}', start + '"best": 5}',
                          start + '"best": [["a", "b"]]}', start + '"best": [[1]]}', start + '"best": [[true, 1]]}',
                          start[:-2] + "}", "[" * 10**5, "\x00"):
                with self.subTest(wrong=wrong[-30:]), self.assertRaises(solo.Error) as caught:
                    file.write_text(wrong)
                    solo.evolve("sphere", 4, checkpoints=folder, **self.OPTIONS)
                self.assertIn("islands.json", str(caught.exception))
                self.assertEqual(len(str(caught.exception).splitlines()), 1)
            file.write_bytes(b"\xff\xfe")
            with self.assertRaisesRegex(solo.Error, "islands.json"):
                solo.evolve("sphere", 4, checkpoints=folder, **self.OPTIONS)
            file.write_text(right)
            self.assertEqual(len(solo.evolve("sphere", 4, checkpoints=folder, **self.OPTIONS).best), 2)
