"""solo.Model: texts, conversations, tokens, logits, and mistakes."""
import copy
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import solo

PROMPT = "Once upon a time"


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = solo.Model()

    def test_as_the_command_line(self):
        text = self.model.generate(PROMPT, 20)
        printed = subprocess.run([os.environ["SOLO"], "run", "-p", PROMPT, "-n", "20"], capture_output=True, text=True)
        self.assertEqual(printed.stdout.rstrip("\n"), PROMPT + text)
        self.assertEqual((text.end, text.tokens, type(text.tokens_per_s)), ("length", 20, float))

    def test_stream_is_the_text_in_pieces(self):
        whole = self.model.generate(PROMPT, 20)
        stream = self.model.stream(PROMPT, 20, chat=False)
        pieces = list(stream)
        self.assertGreater(len(pieces), 10)
        self.assertEqual("".join(pieces), whole)
        self.assertEqual(stream.answer, whole)

    def test_stream_ends_when_it_is_closed(self):
        with self.model.stream(PROMPT, 400, chat=False) as stream:
            first = next(stream)
        self.assertEqual(stream.answer.end, "caller")
        self.assertTrue(stream.answer.startswith(first))
        self.assertLess(stream.answer.tokens, 400)
        with self.assertRaises(StopIteration):
            next(stream)

    def test_greedy_tokens_are_those_of_the_logits(self):
        tokens = self.model.tokenize(PROMPT)
        logits = self.model.logits(tokens)
        self.assertEqual((logits.dtype, logits.shape), (np.float32, (len(tokens), self.model.vocabulary)))
        next_text = self.model.detokenize([*tokens, logits[-1].argmax()])
        self.assertEqual(next_text, PROMPT + self.model.generate(PROMPT, 1))

    def test_sampling_is_repeatable(self):
        texts = [self.model.generate(PROMPT, 20, temperature=1.0, seed=seed) for seed in (1, 2, 1)]
        self.assertEqual(texts[0], texts[2])
        self.assertNotEqual(texts[0], texts[1])
        self.assertEqual(self.model.generate(PROMPT, 20), self.model.generate(PROMPT, 20, temperature=0))

    def test_stops(self):
        whole = self.model.generate(PROMPT, 30)
        word = whole.split()[4]
        text = self.model.generate(PROMPT, 30, stop=word)
        self.assertEqual((text.end, text), ("stop", whole[: whole.index(word)]))
        self.assertEqual(self.model.generate(PROMPT, 30), whole)

    def test_failing_callback_ends_the_text(self):
        def fail(piece):
            raise KeyError(piece)

        with self.assertRaises(KeyError):
            self.model.generate(PROMPT, 20, on_text=fail)

        def use_it(piece):
            self.model.generate(PROMPT, 1)

        with self.assertRaisesRegex(solo.UsageError, "callback cannot use the device"):
            self.model.generate(PROMPT, 20, on_text=use_it)

    def test_threads_take_turns(self):
        right = self.model.generate(PROMPT, 10)
        texts = []
        threads = [threading.Thread(target=lambda: texts.append(self.model.generate(PROMPT, 10))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(texts, [right] * 4)

    def test_mistakes(self):
        for wrong in (lambda: self.model.generate(PROMPT, temprature=1), lambda: self.model.generate(5)):
            with self.assertRaises(TypeError):
                wrong()
        with self.assertRaisesRegex(solo.UsageError, "zero byte"):
            self.model.generate("a\0b")
        with self.assertRaisesRegex(solo.UsageError, "no role"):
            self.model.chat([{"role": "nobody", "content": "x"}])
        with self.assertRaisesRegex(solo.UsageError, "'images'"):
            self.model.chat([{"role": "user", "content": "x", "images": []}])
        with self.assertRaises(solo.Error):
            self.model.logits([self.model.vocabulary + 7])
        with self.assertRaisesRegex(solo.UsageError, "content is a text"):
            self.model.chat([{"role": "user"}])

    def test_what_is_no_text(self):
        for wrong in (lambda: self.model.generate(None, 1), lambda: self.model.save(None),
                      lambda: self.model.load(None), lambda: solo.Graph(None)):
            with self.assertRaisesRegex(solo.UsageError, "NULL"):
                wrong()
        for wrong in (lambda: self.model.generate(b"x", 1), lambda: self.model.tokenize(None),
                      lambda: self.model.generate("a", 1, stop=[None])):
            with self.assertRaises(TypeError):
                wrong()

    def test_numbers_that_make_no_sense(self):
        for name, value in (("temperature", float("nan")), ("temperature", -1.0), ("top_p", 1.5), ("min_p", -1.0),
                            ("repeat_penalty", float("nan"))):
            with self.subTest(name=name, value=value), self.assertRaisesRegex(solo.UsageError, "from 0 to"):
                self.model.generate(PROMPT, 1, **{name: value})
        for tokens in ([1.5], [-1], np.array([-1]), [self.model.vocabulary], [[1]], 5):
            for use in (self.model.logits, self.model.detokenize):
                with self.subTest(tokens=tokens), self.assertRaises(solo.UsageError):
                    use(tokens)

    def test_a_forked_process(self):
        self.model.generate(PROMPT, 1)
        child = os.fork()
        if not child:  # it must not return into the tests, whatever happens
            try:
                with self.assertRaisesRegex(solo.UsageError, "forked"):
                    self.model.generate(PROMPT, 1)
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.model.generate(PROMPT, 1).tokens, 1)


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = solo.Model()

    def test_dropping_one_ends_the_text(self):
        for piece in self.model.stream(PROMPT, 400, chat=False):
            break
        stream = self.model.stream(PROMPT, 400, chat=False)
        thread, work = stream._thread, stream._work
        next(stream)
        del stream
        gc.collect()
        thread.join(60)
        self.assertEqual(work.answer.end, "caller")
        self.assertLess(work.answer.tokens, 400)

    def test_every_reader_ends(self):
        stream, pieces = self.model.stream(PROMPT, 20, chat=False), []
        threads = [threading.Thread(target=lambda: pieces.extend(stream), daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertEqual(sorted("".join(pieces)), sorted(stream.answer))
        with self.assertRaises(TypeError):
            copy.copy(stream)

    def test_what_it_gets_is_looked_at_at_once(self):
        for wrong in (None, 5, [{"role": "user", "content": 5}]):
            with self.assertRaises((TypeError, solo.UsageError)):
                self.model.stream(wrong)


class Conversations(unittest.TestCase):
    def test_sampling_is_saved_and_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            model = solo.Model(sampling=solo.Sampling(temperature=1, seed=5))
            model.chat("Tom", 4, temperature=0.5, seed=9)
            model.save(f"{folder}/talk")
            right = model.chat("Ann", 8)
            other = solo.Model()
            other.load(f"{folder}/talk")
            self.assertEqual(other.chat("Ann", 8), right)
            other.load(f"{folder}/talk")
            self.assertNotEqual(other.chat("Ann", 8, seed=6), right)

    def test_threads_get_their_own_answers(self):
        model = solo.Model()
        names = ("Tom", "Ann", "The dog", "One day")
        right = {name: model.chat([{"role": "user", "content": name}], 6) for name in names}
        self.assertEqual(len(set(right.values())), 4)
        wrong = []

        def ask(name):
            for _ in range(5):
                answer = model.chat([{"role": "user", "content": name}], 6)
                wrong.extend([name] if answer != right[name] else [])

        threads = [threading.Thread(target=ask, args=(name,)) for name in right]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_answers_can_be_copied(self):
        answer = solo.Model().generate(PROMPT, 5)
        for made in (copy.copy(answer), copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
            self.assertEqual((type(made), made, made.__dict__), (solo.Answer, answer, answer.__dict__))

    def test_calls_of_tools(self):
        model = solo.Model(template="chatml")
        calls = [{"type": "function", "id": "1", "function": {"name": "f", "arguments": "{}"}}]
        model.messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": calls}]
        self.assertEqual(model.messages[1]["tool_calls"][0]["function"]["name"], "f")
        for wrong in (5, "f", [5], {"a": 1}, [{"function": {1, 2}}]):
            with self.assertRaisesRegex(solo.UsageError, "tool_calls"):
                model.messages = [{"role": "assistant", "content": "", "tool_calls": wrong}]
            with self.assertRaisesRegex(solo.UsageError, "tools"):
                model.set_tools(wrong)

    def test_messages_kept_saved_and_loaded(self):
        with solo.Model() as model, tempfile.TemporaryDirectory() as folder:
            first = model.chat("Tom", 8)
            self.assertEqual([m["role"] for m in model.messages], ["user", "assistant"])
            self.assertEqual(model.again(8), first)
            model.save(f"{folder}/talk")
            second = model.chat("Ann", 8)
            model.load(f"{folder}/talk")
            self.assertEqual(model.messages[-1]["content"], first)
            self.assertEqual(model.chat("Ann", 8), second)
            with self.assertRaisesRegex(solo.Error, "talk2"):
                model.load(f"{folder}/talk2")
            model.reset()
            self.assertEqual(model.messages, [])
            self.assertEqual(model.chat([{"role": "user", "content": "Tom"}], 8), first)

    def test_closing(self):
        device = solo.Device(own_kernels=True)
        model = solo.Model(device=device)
        model.generate(PROMPT, 2)
        device.close()
        with self.assertRaisesRegex(solo.UsageError, "closed"):
            model.generate(PROMPT, 2)
        device.close()
        model.close()
        del device, model
        gc.collect()

    def test_files_that_are_not_there(self):
        with self.assertRaisesRegex(solo.Error, "/no/such.gguf"):
            solo.Model("/no/such.gguf")
        with self.assertRaisesRegex(ValueError, "no level 'most'"):
            solo.Model(level="most")

    def test_a_process_that_just_ends(self):
        program = "import solo; m = solo.Model(); s = m.stream('x', 500, chat=False); next(s); m.generate('x', 2)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
