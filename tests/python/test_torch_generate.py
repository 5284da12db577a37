"""solo.torch.generate against transformers' generate: small models with random weights."""
import os
import unittest

import solo

try:
    import torch

    import solo.torch
except ImportError:
    torch = None
try:
    import transformers
except ImportError:
    transformers = None

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 64, "bos_token_id": 1,
         "eos_token_id": None, "pad_token_id": 0}
LEVEL = os.environ.get("SOLO_TORCH_LEVEL", "ops")
GEMMA = {"head_dim": 16, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}
FAMILIES = {"qwen2": ("Qwen2", {}), "qwen3": ("Qwen3", {"head_dim": 16}), "llama": ("Llama", {}),
            "smollm": ("Llama", {"tie_word_embeddings": True}), "mistral": ("Mistral", {}), "phi3": ("Phi3", {}),
            "gemma3": ("Gemma3Text", GEMMA), "qwen3_moe": ("Qwen3Moe", {"head_dim": 16, "num_experts": 4,
                                                                       "num_experts_per_tok": 2,
                                                                       "moe_intermediate_size": 32})}


def decoder(family):
    name, more = FAMILIES[family]
    config = getattr(transformers, f"{name}Config")(**SIZES, **more)
    return getattr(transformers, f"{name.removesuffix('Text')}ForCausalLM")(config).eval()


def gpt2():
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64, bos_token_id=1,
                                     eos_token_id=None, pad_token_id=0)
    return transformers.GPT2LMHeadModel(config).eval()


@unittest.skipUnless(torch and transformers, "torch and transformers are not installed")
class TorchGenerate(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, model, ids, mask=None, level=LEVEL, **options):
        mask = torch.ones_like(ids) if mask is None else mask
        want = model.generate(ids, attention_mask=mask, do_sample=False, **options)
        got = solo.torch.generate(model, ids, mask, level=level, do_sample=False, **options)
        self.assertEqual(got.tolist(), want.tolist())
        return got

    def test_gpt2(self):
        self.check(gpt2(), torch.randint(2, 100, (1, 5)), max_new_tokens=20)

    def test_many_tokens_with_one_dispatch(self):
        model, ids = decoder("qwen2"), torch.randint(2, 100, (1, 5))
        self.check(model, ids, max_new_tokens=30, level="loop")
        made = solo.torch.Decoder(model, "loop", 64)
        made.generate(ids[0].tolist(), 4)
        self.assertEqual((made.level, made.dispatches), ("loop", 1))

    def test_texts_of_other_lengths_and_ends(self):
        model, ids = decoder("llama"), torch.randint(2, 100, (3, 6))
        mask = torch.ones_like(ids)
        mask[1, :4] = 0
        ids[1, :4] = 0
        free = self.check(model, ids, mask, max_new_tokens=12)
        end = free[0, 9].item()  # a token that the first text has in its middle
        ended = self.check(model, ids, mask, max_new_tokens=12, eos_token_id=[end, 1])
        self.assertNotEqual(ended.tolist(), free.tolist())

    def test_penalty(self):
        model, ids = decoder("qwen2"), torch.randint(2, 100, (1, 5))
        free = self.check(model, ids, max_new_tokens=20)
        other = self.check(model, ids, max_new_tokens=20, repetition_penalty=1.3)
        self.assertNotEqual(other.tolist(), free.tolist())

    def test_sampling(self):
        model, ids = decoder("llama"), torch.randint(2, 100, (1, 5))

        def sample(**how):
            return solo.torch.generate(model, ids, level=LEVEL, do_sample=True, **how)

        self.assertEqual(sample(seed=3, max_new_tokens=8).tolist(), sample(seed=3, max_new_tokens=8).tolist())
        self.assertNotEqual(sample(seed=3, max_new_tokens=8).tolist(), sample(seed=4, max_new_tokens=8).tolist())
        self.check(model, ids, max_new_tokens=8)
        self.assertEqual(sample(seed=3, max_new_tokens=8, top_k=1).tolist(),
                         solo.torch.generate(model, ids, level=LEVEL, max_new_tokens=8).tolist())
        # one token, often: as likely as the model says
        kept = solo.torch_generate.decoder_of(model, 16, LEVEL).decoder
        texts = [kept.generate(ids[0].tolist(), 1, temperature=0.7, top_k=4, seed=s)[0] for s in range(1000)]
        with torch.no_grad():
            logits, which = (model(ids).logits[0, -1] / 0.7).topk(4)
        self.assertLessEqual(set(texts), set(which.tolist()))
        for token, likely in zip(which.tolist(), logits.softmax(0).tolist(), strict=True):
            self.assertAlmostEqual(texts.count(token) / len(texts), likely, delta=0.06)

    def test_weights_that_change(self):
        model, ids = decoder("qwen2"), torch.randint(2, 100, (1, 5))
        first = self.check(model, ids, max_new_tokens=10)
        with torch.no_grad():
            model.lm_head.weight.neg_()
        self.assertNotEqual(self.check(model, ids, max_new_tokens=10).tolist(), first.tolist())

    def test_longer_texts_than_the_last(self):
        model = gpt2()
        for length in (5, 40):
            self.check(model, torch.randint(2, 100, (1, length)), max_new_tokens=20)
        with self.assertRaisesRegex(solo.Error, "64 positions"):
            solo.torch.generate(model, torch.randint(2, 100, (1, 50)), level=LEVEL, max_new_tokens=20)

    def test_half_precision(self):
        for dtype in (torch.float16, torch.bfloat16):
            model, ids = decoder("llama").to(dtype), torch.randint(2, 100, (1, 5))
            with torch.no_grad():
                want = model.float()(ids).logits[0, -1]
                got = solo.torch.Decoder(model.to(dtype), LEVEL, 64).logits(ids[0].tolist())
            self.assertLess((torch.from_numpy(got) - want).abs().max().item(), 1e-2 * want.std().item())

    def test_what_is_refused(self):
        model, ids = decoder("qwen2"), torch.randint(2, 100, (1, 5))

        def refused(words, of=model, what=ids, **options):
            with self.assertRaisesRegex(solo.Error, words) as seen:
                solo.torch.generate(of, what, level=LEVEL, max_new_tokens=4, **options)
            self.assertNotIn("\n", str(seen.exception))

        refused("num_beams is not supported", num_beams=2)
        refused("no option temprature", temprature=1)
        refused("shape", what=ids[0])
        refused("on the left", attention_mask=torch.tensor([[1, 1, 1, 1, 0]]))
        refused("vocabulary|token", what=torch.tensor([[5, 1000]]), check=False)
        refused("float64", of=decoder("qwen2").double())
        refused("bloom", of=transformers.BloomForCausalLM(transformers.BloomConfig(hidden_size=32, n_layer=1, n_head=2,
                                                                                  vocab_size=100)))
        other = decoder("qwen2")
        plain = other.model.layers[0].mlp.forward
        other.model.layers[0].mlp.forward = lambda x: 2 * plain(x)
        refused("not those of the model", of=other)


def _test(name):
    return lambda self: self.check(decoder(name), torch.randint(2, 100, (1, 5)), max_new_tokens=20)


for _name in FAMILIES:
    setattr(TorchGenerate, f"test_{_name}", _test(_name))
