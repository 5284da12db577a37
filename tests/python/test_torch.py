"""torch.compile(backend="solo") and exported programs, against eager PyTorch: small models with random weights."""
import copy
import os
import tempfile
import unittest
import warnings
from unittest import mock

import solo

try:
    import torch
    from torch import nn

    import solo.torch
except ImportError:
    torch = None
try:
    import transformers
except ImportError:
    transformers = None

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
DECODER = {**SIZES, "num_key_value_heads": 2, "vocab_size": 100, "max_position_embeddings": 64, "bos_token_id": 1,
           "eos_token_id": None, "pad_token_id": 0}
# at `token` a graph is one dispatch; software takes seconds to compile that
LEVEL = os.environ.get("SOLO_TORCH_LEVEL", "ops")


def resnet():
    class Block(nn.Module):
        def __init__(self, before, after, stride):
            super().__init__()
            self.way = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after),
                                     nn.ReLU(inplace=True), nn.Conv2d(after, after, 3, 1, 1, bias=False),
                                     nn.BatchNorm2d(after))
            self.side = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x):
            return torch.relu(self.way(x) + self.side(x))

    model = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                          nn.MaxPool2d(3, 2, 1), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model, (torch.randn(1, 3, 32, 32),)


class Result(nn.Module if torch else object):
    """Of a model of transformers, the tensor that matters."""

    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, *inputs):
        result = self.model(*inputs, **self.options)
        return result.logits if hasattr(result, "logits") else result.last_hidden_state


def vit():
    config = transformers.ViTConfig(**SIZES, image_size=32, patch_size=8)
    return Result(transformers.ViTForImageClassification(config)), (torch.randn(1, 3, 32, 32),)


def bert():
    config = transformers.BertConfig(**SIZES, vocab_size=100, max_position_embeddings=32)
    mask = torch.tensor([[1] * 9, [1] * 5 + [0] * 4])
    return Result(transformers.BertModel(config)), (torch.randint(0, 100, (2, 9)), mask)


def gpt2():
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=32, bos_token_id=1,
                                     eos_token_id=2)
    return Result(transformers.GPT2LMHeadModel(config), use_cache=False), (torch.randint(0, 100, (1, 9)),)


def decoder(family, **more):
    config = getattr(transformers, f"{family}Config")(**DECODER, **more)
    name = family.removesuffix("Text")
    return Result(getattr(transformers, f"{name}ForCausalLM")(config), use_cache=False), (torch.randint(0, 100, (1, 9)),)


class Words(nn.Module if torch else object):
    """Two layers of a transformer, and the loss of its next words."""

    class Layer(nn.Module if torch else object):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            parts = self.qkv(self.first(x)).chunk(3, -1)
            q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in parts)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).flatten(2))
            return x + self.down(nn.functional.gelu(self.up(self.second(x))))

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16), nn.Embedding(8, 16)
        self.layers = nn.Sequential(self.Layer(16, 2), self.Layer(16, 2), nn.LayerNorm(16), nn.Linear(16, 20))

    def forward(self, ids):
        x = self.words(ids[:, :-1]) + self.places(torch.arange(ids.shape[1] - 1))
        return nn.functional.cross_entropy(self.layers(x).flatten(0, 1), ids[:, 1:].flatten())


class Classes(nn.Module if torch else object):
    """A network and the loss of the classes that it finds."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x, wanted):
        return nn.functional.cross_entropy(self.layers(x), wanted)


MODELS = {
    "resnet": resnet, "vit": vit, "bert": bert, "gpt2": gpt2,
    "qwen2": lambda: decoder("Qwen2"),
    "qwen3": lambda: decoder("Qwen3", head_dim=16),
    "llama": lambda: decoder("Llama"),
    "smollm": lambda: decoder("Llama", tie_word_embeddings=True),
    "gemma3": lambda: decoder("Gemma3Text", head_dim=16, sliding_window=4,
                              layer_types=["sliding_attention", "full_attention"]),
}


@unittest.skipUnless(torch, "torch is not installed")
class Torch(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def near(self, got, want):
        """Within 1e-4 of eager, relative to the output's spread."""
        self.assertLess((got - want).abs().max().item(), 1e-4 * want.std().item())

    def check_model(self, name):
        if name != "resnet" and not transformers:
            self.skipTest("transformers is not installed")
        model, inputs = MODELS[name]()
        model.eval()
        with torch.no_grad():
            want = model(*inputs)
            before = len(solo.torch.compiled())
            compiled = torch.compile(model, backend="solo", options={"level": LEVEL}, dynamic=False)
            self.near(compiled(*inputs), want)
            steps = solo.torch.compiled()[before:]
            self.assertEqual([step.fallback for step in steps], [None])
            program = torch.export.export(model, inputs, strict=True).run_decompositions()
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(program, f"{folder}/model.pt2")
            run = solo.Run(solo.Graph(f"{folder}/model.pt2"), LEVEL)
            self.near(torch.from_numpy(run(*[x.numpy() for x in inputs])[0]), want)
        if LEVEL == "token":
            self.assertEqual((steps[0].run.dispatches, run.dispatches), (1, 1))

    def test_a_cache_that_begins_empty(self):
        """Models of transformers as they are: a cache that grows, and a text that is padded on its left."""
        if not transformers:
            self.skipTest("transformers is not installed")
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**DECODER)).eval()
        ids = torch.randint(2, 100, (2, 5))
        mask = torch.tensor([[0, 0, 1, 1, 1], [1] * 5])
        before = len(solo.torch.compiled())
        with torch.no_grad():
            want, alone = model(ids, attention_mask=mask), model(ids[:1, 2:]).logits
            got = torch.compile(model, backend="solo", options={"level": LEVEL}, dynamic=False)(ids, attention_mask=mask)
        self.near(got.logits, want.logits)
        self.near(got.logits[:1, 2:], alone)
        for mine, wanted in zip(got.past_key_values, want.past_key_values, strict=True):
            self.near(mine[0], wanted[0])
            self.near(mine[1], wanted[1])
        self.assertEqual([step.fallback for step in solo.torch.compiled()[before:]], [None])

    def test_parameters_that_change(self):
        model = nn.Linear(4, 3).eval()
        compiled = torch.compile(model, backend="solo", dynamic=False, options={"level": "ops"})
        x = torch.randn(2, 4)
        with torch.no_grad():
            self.near(compiled(x), model(x))
            model.weight.mul_(2)
            self.near(compiled(x), model(x))

    def check_training(self, model, batches, steps=100):
        """AdamW's losses: eager's for so many steps, with the forward and the backward pass as a graph each."""
        losses, trained = [], []
        before = len(solo.torch.compiled())
        for way in (lambda m: m, lambda m: torch.compile(m, backend="solo", dynamic=False, options={"level": LEVEL})):
            mine = copy.deepcopy(model)
            step, optimizer = way(mine), torch.optim.AdamW(mine.parameters(), lr=3e-3)
            losses.append([])
            trained.append(mine)
            for i in range(steps):
                optimizer.zero_grad()
                loss = step(*batches[i % len(batches)])
                loss.backward()
                optimizer.step()
                losses[-1].append(loss.item())
        self.assertLess(losses[0][-1], 0.8 * losses[0][0])
        for eager, compiled in zip(*losses, strict=True):
            self.assertLess(abs(eager - compiled), 1e-4 * abs(eager))
        graphs = solo.torch.compiled()[before:]
        self.assertEqual([graph.fallback for graph in graphs], [None, None])
        if LEVEL == "token":
            self.assertEqual([graph.run.dispatches for graph in graphs], [1, 1])
        return trained

    def test_training_of_an_mlp(self):
        model = Classes(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5))
        self.check_training(model, [(torch.randn(16, 8), torch.randint(0, 5, (16,))) for _ in range(2)])

    def test_training_of_a_transformer(self):
        self.check_training(Words(), [((torch.randint(0, 20, (4, 1)) + torch.arange(9) * 3) % 20,) for _ in range(2)])

    def test_training_of_convolutions(self):
        """Also batch norm, whose statistics are changed by the compiled graph; groups, pools."""
        model = Classes(nn.Conv2d(3, 6, 3, 2, 1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2, 1),
                        nn.Conv2d(6, 6, 3, groups=3), nn.AvgPool2d(2, 1, 1), nn.AdaptiveAvgPool2d((3, 2)), nn.Flatten(),
                        nn.Linear(36, 5))
        trained = self.check_training(model, [(torch.randn(4, 3, 12, 12), torch.randint(0, 5, (4,)))], 20)
        for mine, wanted in zip(*(m.layers[1].buffers() for m in trained), strict=True):  # two means and a count
            self.assertLess((mine - wanted).abs().max().item(), 1e-4)

    def test_half_precision(self):
        model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8)).eval().half()
        x = torch.randn(2, 16).half()
        before = len(solo.torch.compiled())
        with torch.no_grad():
            got = torch.compile(model, backend="solo", dynamic=False, options={"level": "ops"})(x)
            off = (model(x).float() - copy.deepcopy(model).float()(x.float())).abs().max()
            mine = (got.float() - copy.deepcopy(model).float()(x.float())).abs().max()
        self.assertEqual((got.dtype, [s.fallback for s in solo.torch.compiled()[before:]]), (torch.float16, [None]))
        self.assertLessEqual(mine.item(), off.item())  # eager's own error

    def test_state_that_others_write(self):
        class Sum(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("sum", torch.zeros(3))

            def forward(self, x):
                self.sum.add_(x)
                return self.sum * 2

        model = Sum().eval()
        compiled = torch.compile(model, backend="solo", dynamic=False, options={"level": "ops"})
        with torch.no_grad():
            for wanted in (2, 4):
                self.assertEqual(compiled(torch.ones(3)).tolist(), [wanted] * 3)
            self.assertEqual(model.sum.tolist(), [2, 2, 2])
            model.sum.fill_(10)
            self.assertEqual(compiled(torch.ones(3)).tolist(), [22, 22, 22])

    def test_what_falls_back_says_so_once(self):
        """Nodes that cannot be lowered run in eager mode, and those around them on the device."""
        def function(x):
            return torch.fft.rfft(x * 2 - 1).abs() + torch.linalg.det(x.view(2, 2)) * x[0]

        x, before = torch.randn(4), len(solo.torch.compiled())
        with torch.no_grad(), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            compiled = torch.compile(function, backend="solo", dynamic=False, options={"level": "ops"})
            for _ in range(2):
                self.near(compiled(x), function(x))
        said = sorted(str(w.message).partition("runs in eager mode: ")[2] for w in seen if "runs in eager mode" in str(w.message))
        self.assertEqual(len(said), 2, said)
        self.assertIn("_fft_r2c has elements of torch.complex64", said[0])
        self.assertRegex(said[1], r"^node _linalg_det \(torch.ops.aten._linalg_det.default\), test_torch.py:")
        self.assertEqual([solo.torch.fallbacks()[why] for why in said], [2, 2])
        self.assertEqual([step.fallback for step in solo.torch.compiled()[before:]], [None, None, None])

    def test_states_and_dropout_around_what_falls_back(self):
        class Sorted(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.last, self.dropout = nn.Linear(8, 16), nn.Linear(16, 8), nn.Dropout(0.5)
                self.register_buffer("sum", torch.zeros(16))

            def forward(self, x):
                y = self.first(x).relu()
                self.sum.add_(y.detach().sum(0))
                return self.last(self.dropout(y).sort(-1).values) + self.sum.mean()

        model, x = Sorted(), torch.randn(3, 8)
        results = []
        for way in (lambda m: m, lambda m: torch.compile(m, backend="solo", dynamic=False, options={"level": "ops"})):
            mine, before = copy.deepcopy(model), len(solo.torch.compiled())
            step, optimizer = way(mine), torch.optim.SGD(mine.parameters(), 0.01)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for i in range(3):
                    torch.manual_seed(i)  # which elements are dropped
                    optimizer.zero_grad()
                    step(x).square().mean().backward()
                    optimizer.step()
                with torch.no_grad():
                    results.append((step(x.flip(0)), mine.sum, mine.first.weight))
        for wanted, got in zip(*results, strict=True):
            self.near(got, wanted)
        steps = solo.torch.compiled()[before:]
        self.assertGreaterEqual(len(steps), 4)
        self.assertEqual({step.fallback for step in steps}, {None})

    def test_a_device_that_fails(self):
        """An error while a graph runs is one: it does not run on the CPU in silence."""
        compiled = torch.compile(nn.Linear(4, 3).eval(), backend="solo", dynamic=False, options={"level": "ops"})
        x, counted = torch.randn(2, 4), solo.torch.fallbacks()
        with torch.no_grad():
            compiled(x)
            with mock.patch.object(solo.Run, "go", side_effect=solo.Error("the device is lost")):
                with self.assertRaisesRegex(solo.Error, "^the device is lost$"):
                    compiled(x)
        self.assertEqual(solo.torch.fallbacks(), counted)

    def test_shapes_that_are_not_known(self):
        program = torch.export.export(nn.Linear(4, 3).eval(), (torch.randn(2, 4),), strict=True,
                                      dynamic_shapes=({0: torch.export.Dim("rows")},))
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(program, f"{folder}/model.pt2")
            with self.assertRaisesRegex(solo.Error, "^.*input input has a shape that is not known before it runs"):
                solo.Graph(f"{folder}/model.pt2")

    def test_generate_with_a_static_cache(self):
        if not transformers:
            self.skipTest("transformers is not installed")
        config = transformers.Qwen2Config(**DECODER)
        model, ids = transformers.Qwen2ForCausalLM(config).eval(), torch.randint(2, 100, (1, 5))
        before = len(solo.torch.compiled())
        with torch.no_grad():
            want = model.generate(ids, max_new_tokens=6, do_sample=False)
            how = transformers.CompileConfig(backend="solo", fullgraph=False, dynamic=False, mode=None,
                                             options={"level": LEVEL})
            how._compile_all_devices = True
            model.generation_config.compile_config = how
            got = model.generate(ids, max_new_tokens=6, do_sample=False, cache_implementation="static")
        self.assertEqual(got.tolist(), want.tolist())
        steps = solo.torch.compiled()[before:]
        self.assertEqual(len(steps), 1)
        self.assertGreaterEqual(len(steps[0].run.graph.states), 4)  # keys and values of two layers


def _test(name):
    return lambda self: self.check_model(name)


for _name in MODELS:
    setattr(Torch, f"test_{_name}", _test(_name))
