"""solo.Model: texts, conversations, tokens, logits, and mistakes."""
import gc
import os
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


class Conversations(unittest.TestCase):
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
