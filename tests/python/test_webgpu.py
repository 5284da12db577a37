"""device="webgpu": tensors, views, copies, training, and what falls back to the host, against PyTorch on the CPU."""
import copy
import gc
import io
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import unittest
import unittest.mock

import solo

try:
    import torch
    from torch import nn
    from torch.nn import functional as F

    import solo.webgpu
except ImportError:
    torch = None

# Each of these raises an exception, and none of them ends the process
REFUSED = """
import torch, solo.webgpu
x = torch.randn(4, 6, device="webgpu")
for bad in (lambda: x.numpy(), lambda: x.untyped_storage().resize_(8), lambda: torch.UntypedStorage([1], device="webgpu"),
            lambda: torch.empty(2, device="webgpu:1"), lambda: torch.Generator(device="webgpu"), lambda: x + torch.ones(6),
            lambda: x.to_sparse(), lambda: torch.empty(2, -1, device="webgpu"),
            lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), lambda: x.as_strided((9, 9), (9, 1)),
            lambda: torch.empty(2, device="webgpu", dtype=torch.float8_e5m2), lambda: x @ x, lambda: x.view(5, 5),
            lambda: torch.empty(3, device="webgpu").set_(x.untyped_storage(), 20, (9,), (1,)),
            lambda: torch._C._acc.create_empty_tensor([3], torch.float32).cpu(), lambda: torch.webgpu.set_level("most"),
            lambda: x.expand(2, 4, 6).add_(1), lambda: torch.webgpu.set_device(1), lambda: x[torch.tensor([9])].cpu()):
    try:
        bad()
        print("not refused")
    except Exception as why:
        assert str(why).strip(), bad
print(torch.equal((x + 1).cpu(), x.cpu() + 1))
"""


@unittest.skipUnless(torch, "torch is not installed")
class Webgpu(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch.webgpu.synchronize()
        torch.webgpu.reset_statistics()

    def near(self, got, want, tolerance=1e-5):
        self.assertEqual((got.device.type, got.dtype, got.shape), ("webgpu", want.dtype, want.shape))
        torch.testing.assert_close(got.detach().cpu(), want.detach(), atol=tolerance, rtol=tolerance)

    def same(self, function, *inputs, tolerance=1e-5, fallbacks=()):
        """A function's result on the device, and all that it changed in its inputs, is the CPU's."""
        there = [x.to("webgpu") if isinstance(x, torch.Tensor) else x for x in inputs]
        here = [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
        torch.webgpu.reset_statistics()
        self.near(function(*there), function(*here), tolerance)
        for x, y in zip(there, here):
            if isinstance(x, torch.Tensor):
                self.near(x, y, tolerance)
        self.assertEqual(sorted(torch.webgpu.fallbacks()), sorted(fallbacks))

    def test_views(self):
        x = torch.randn(4, 6)
        for view in (lambda x: x.view(3, 8), lambda x: x.t(), lambda x: x[1:3, ::2], lambda x: x[:, None].expand(4, 5, 6),
                     lambda x: x.t()[2:].unfold(1, 2, 1), lambda x: x.flatten()[5:].view(19), lambda x: x[2], lambda x: x.T[1, 2]):
            self.same(lambda x: view(x) * 2 + 1, x)
            self.assertEqual(view(x.to("webgpu")).stride(), view(x).stride())

    def test_in_place(self):
        def change(x):
            y = x.t()
            x[1:3, 2:4] = 5
            x[0] = x[1]
            y[2].add_(3)
            x[:, -1].mul_(2)
            x.view(-1)[3:7].zero_()
            y.sub_(1)
            y[1:3].clamp_(max=0.25)
            x[::2, ::3] *= -1
            return y

        self.same(change, torch.randn(4, 6))
        self.assertLessEqual(torch.webgpu.statistics()["runs"], 1)

    def test_types(self):
        for dtype in (torch.float32, torch.float16, torch.int64, torch.int32, torch.bool):
            x = torch.tensor([[-3, 0, 2], [1, 0, 7]]).to(dtype)
            self.same(lambda x: torch.where(x > 0, x, x.t()[:1, :1])[:, 1:], x)
            self.same(lambda x: torch.cat([x, x], 1).clone(), x)
            self.same(lambda x: x.float() / 2, x)
            self.same(lambda x: x.bool(), x)
        whole = torch.tensor([2**24 + 1, -2**31, 2**31 - 1, -1])
        self.same(lambda x: torch.where(x > -1, x, x[:1]).flip(0), whole)
        self.same(lambda x: x == x[0] - 1, whole, fallbacks=["aten::sub.Tensor"])
        self.same(lambda x: x * x[:1] + (x > 5), torch.tensor([2**40, 3]),
                  fallbacks=["aten::mul.Tensor", "aten::gt.Scalar", "aten::add.Tensor"])
        self.same(lambda x: x * 2, torch.randn(3, dtype=torch.float64), fallbacks=["aten::mul.Tensor"])
        self.same(lambda x: torch.view_as_real(x.conj() * 1j), torch.randn(3, dtype=torch.complex64), fallbacks=["aten::mul.Tensor"])
        self.same(lambda x: (x * 3).sigmoid().mean(1), torch.randn(3, 4).half(), tolerance=2e-3)

    def test_numbers_that_are_not_finite(self):
        x = torch.randn(4, 6)
        self.same(lambda x: x.masked_fill(x > 0, float("-inf")), x)
        self.same(lambda x: x.masked_fill(x > 1, float("-inf")).softmax(1), x)
        self.assertEqual(torch.full((2,), float("-inf"), device="webgpu").tolist(), [float("-inf")] * 2)

    def test_operators(self):
        x, y = torch.randn(2, 3, 4), torch.rand(3, 1) + 0.5
        for function in (lambda x, y: x @ x.transpose(1, 2), lambda x, y: F.linear(x, x[0]), lambda x, y: x / y - y ** 2,
                         lambda x, y: F.layer_norm(x, (3, 4)), lambda x, y: x.sum((0, 2)), lambda x, y: x.softmax(1),
                         lambda x, y: x.argmax(2), lambda x, y: x.amax(1), lambda x, y: F.gelu(x) * x.tanh(),
                         lambda x, y: torch.stack([x, x + y]), lambda x, y: torch.addcdiv(x, x, y, value=0.3),
                         lambda x, y: x.norm(dim=2), lambda x, y: F.silu(x).log_softmax(-1), lambda x, y: x.var(0),
                         lambda x, y: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
                         lambda x, y: torch.lerp(x, x * 2, 0.7), lambda x, y: F.elu(x) + F.softplus(x) - F.hardswish(x)):
            self.same(function, x, y)
        ids = torch.tensor([[1, 5, 0], [9, 5, -1]])
        self.same(lambda table, ids: F.embedding(ids.clamp(0), table), torch.randn(10, 4), ids, fallbacks=["aten::clamp"])
        self.same(lambda x, ids: x.flatten()[ids], x, ids)
        self.same(lambda x, ids: x.gather(2, ids[None, :, :1].expand(1, 2, 4) * 0 + 1), x, ids,
                  fallbacks=["aten::mul.Tensor", "aten::add.Tensor"])

    def same_gradient(self, function, *inputs, tolerance=1e-5):
        """Results and gradients are the CPU's, and the host computes nothing."""
        results = []
        for device in ("cpu", "webgpu"):
            given = [x.detach().clone().to(device).requires_grad_(x.is_floating_point()) for x in inputs]
            torch.webgpu.reset_statistics()
            made = function(*given)
            made.square().sum().backward()
            results.append([made, *(x.grad for x in given if x.requires_grad)])
        torch.webgpu.flush()
        for want, got in zip(*results, strict=True):
            self.near(got, want, tolerance)
        self.assertEqual((torch.webgpu.fallbacks(), torch.webgpu.statistics()["recordings_on_host"]), ({}, 0))

    def test_places(self):
        """Values to places that tensors number, and their gradients: the host computes nothing."""
        x, each, rows, some = (torch.randn(4, 6), torch.tensor([[0, 2, 1, 0, 3, 1]] * 4), torch.tensor([3, 0, -4]),
                               torch.tensor([2, 1]))

        def put(x, each, rows, some):
            y = x.clone()
            y[rows] = x[:3] * 2
            y[rows, rows] += 1
            y[y > 1] = 0.5
            return y.index_copy_(1, some, x[:, 4:]).index_add_(0, some, x[2:], alpha=2).index_fill_(0, rows, 7)

        def whole(x, each, rows, some):
            return torch.zeros_like(each).scatter_(1, each, 2**30).scatter_(1, each[:, :2], each)

        for function in (put, whole, lambda x, each, rows, some: x.scatter(1, each, x) + x.scatter(0, each[:2], 2.5),
                         lambda x, each, rows, some: x.scatter(1, each, float("-inf")),
                         lambda x, each, rows, some: x.scatter_add(1, each, x).scatter_reduce(1, each, x, "amax"),
                         lambda x, each, rows, some: x.index_put((rows, rows), x[0, :3], accumulate=True),
                         lambda x, each, rows, some: x.roll((1, -7), (0, 1)) + x.roll(5), lambda x, each, rows, some: each.roll(0)):
            self.same(function, x, each, rows, some)
        self.same_gradient(lambda x, each, rows: x[rows].sum(0) + x.gather(1, each).sum(0), x, each, rows)
        self.same_gradient(lambda x, some: x.index_select(0, some).scatter_add(1, some[:, None], x[:2, 2:3]), x, some)
        self.same(lambda x, each: x.sum().gather(0, each[0, 0]), x, each)
        self.same(lambda x, each: x.long().scatter_add(1, each, each), x, each, fallbacks=["aten::scatter_add"])

    def test_pools_and_cells(self):
        """Backward passes of pools, losses and norms; LSTM and GRU."""
        image = torch.randn(2, 4, 7, 6)
        for function in (lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, (2, 3), 2, 1),
                         lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
                         lambda x: F.conv_transpose2d(x, x[0, :, None, :2, :3], output_padding=(0, 1), dilation=2),
                         lambda x: F.avg_pool2d(x, 2, divisor_override=3), lambda x: F.adaptive_avg_pool2d(x, (3, 5)),
                         lambda x: F.max_pool1d(x[0, 0], 2), lambda x: F.group_norm(x, 2), lambda x: F.glu(x, 1) + F.mish(x[:, :2]),
                         lambda x: F.huber_loss(x, x.flip(0)) + F.smooth_l1_loss(x, x.flip(1)), lambda x: x.std(1)):
            self.same_gradient(function, image)
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            cell = kind(6, 5, num_layers=2, bidirectional=True, batch_first=True)
            there = copy.deepcopy(cell).to("webgpu")
            self.same_gradient(lambda x: (there if x.device.type == "webgpu" else cell)(x)[0], torch.randn(3, 4, 6))
            for mine, wanted in zip(there.parameters(), cell.parameters(), strict=True):
                self.near(mine.grad, wanted.grad, 1e-4)

    def test_recordings_that_cannot_be_lowered(self):
        """The host runs them as a whole, and that is counted."""
        def refuse(*unused):
            raise solo.Error("it cannot be lowered")

        x, each = torch.randn(2, 3), torch.tensor([[0, 0, 1]])
        with unittest.mock.patch("solo._record._Compiled.__init__", refuse):
            self.same(lambda x, each: x.gather(1, each).sum(1, dtype=torch.float32) + x.masked_fill(x > 0, 2.5)[0, 0], x, each)
            self.assertEqual(torch.webgpu.statistics()["recordings_on_host"], 1)

    def test_gradients(self):
        x, weight, target = torch.randn(6, 4), torch.randn(4, requires_grad=True), torch.tensor([1, 0, 3, -100, 2, 2])
        losses = (lambda x, w: F.cross_entropy(x * w, target.to(x.device)), lambda x, w: F.mse_loss(x.tanh() * w, x),
                  lambda x, w: (F.layer_norm(x, (4,), w).softmax(1) * x).sum(), lambda x, w: F.gelu(x * w).sum(),
                  lambda x, w: (F.silu(x * w) * F.leaky_relu(x - w)).mean(), lambda x, w: (x * w).sigmoid().norm())
        for loss in losses:
            grads = []
            for device in ("cpu", "webgpu"):
                a, b = (t.detach().to(device).requires_grad_() for t in (x, weight))
                loss(a, b).backward()
                grads.append((a.grad, b.grad))
            for want, got in zip(*grads):
                self.near(got, want)
        self.assertEqual(torch.webgpu.fallbacks(), {})

    def train(self, device, make, steps):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Embedding(11, 8), nn.Flatten(), nn.Linear(24, 16), nn.LayerNorm(16), nn.GELU(),
                              nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 5))
        x, y = torch.randint(0, 11, (32, 3)).to(device), torch.randint(0, 5, (32,)).to(device)
        model.to(device)
        optimizer = make(model.parameters())
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        return losses, model.cpu().state_dict()

    def test_training(self):
        for make in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), lambda p: torch.optim.Adam(p, 1e-2),
                     lambda p: torch.optim.AdamW(p, 1e-2, foreach=False), lambda p: torch.optim.RMSprop(p, 1e-3)):
            steps = 100 if isinstance(make([torch.zeros(1)]), torch.optim.AdamW) else 20
            want, parameters = self.train("cpu", make, steps)
            torch.webgpu.reset_statistics()
            got, learnt = self.train("webgpu", make, steps)
            self.assertLess(max(abs(a - b) for a, b in zip(want, got)), 1e-4)
            for name, parameter in parameters.items():
                torch.testing.assert_close(learnt[name], parameter, atol=2e-3, rtol=1e-3)
            self.assertEqual(torch.webgpu.fallbacks(), {})
            counts = torch.webgpu.statistics()
            # one run for each step; the first one makes the optimizer's state, and is a program of its own
            self.assertLessEqual(counts["runs"], steps + 1)
            self.assertLessEqual(counts["compiled"], 3)
            self.assertEqual(counts["recordings_on_host"], 0)

    def test_transformer(self):
        """Two layers, AdamW: the loss follows the CPU's for 100 steps, and the host computes nothing."""
        results = []
        for device in ("cpu", "webgpu"):
            torch.manual_seed(2)
            layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0, activation="gelu", batch_first=True, norm_first=True)
            layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            model = nn.Sequential(nn.Embedding(20, 16), layers, nn.Linear(16, 20)).to(device)
            ids = torch.randint(0, 20, (2, 9)).to(device)
            optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
            torch.webgpu.reset_statistics()
            losses = []
            for _ in range(100):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            results.append(losses)
        torch.testing.assert_close(torch.tensor(results[1]), torch.tensor(results[0]), atol=1e-4, rtol=1e-4)
        self.assertEqual((torch.webgpu.fallbacks(), torch.webgpu.statistics()["runs"]), ({}, 100))

    def test_convolutions(self):
        """A small network with batch norm, its gradients and running statistics."""
        results = []
        for device in ("cpu", "webgpu"):
            torch.manual_seed(4)
            model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.SiLU(),
                                  nn.Conv2d(8, 6, (2, 3)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4)).to(device)
            x = torch.randn(4, 3, 10, 9).to(device).requires_grad_()
            torch.webgpu.reset_statistics()
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(2):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
            model.eval()
            results.append([x.grad, model(x), *model.state_dict().values()])
        self.assertEqual(list(torch.webgpu.fallbacks()), ["aten::add_.Tensor"])  # batch norm counts its batches
        for want, got in zip(*results):
            self.near(got, want)

    def test_one_dispatch(self):
        torch.webgpu.set_level("token")
        try:
            x = torch.randn(4, 6)
            self.same(lambda x: (x @ x.t()).softmax(1).sum(0) * 2, x)
            torch.webgpu.reset_statistics()
            self.near((x.to("webgpu") @ x.to("webgpu").t()).softmax(1).sum(0) * 2, (x @ x.t()).softmax(1).sum(0) * 2)
            self.assertEqual((torch.webgpu.statistics()["runs"], torch.webgpu.statistics()["dispatches"]), (1, 1))
        finally:
            torch.webgpu.set_level("ops")

    def test_copies_of_tensors(self):
        x = torch.randn(4, 6)
        there = x.to("webgpu")
        self.near(copy.deepcopy(there), x)
        self.near(pickle.loads(pickle.dumps(there)), x)
        model = nn.Linear(3, 2).to("webgpu")
        twin = copy.deepcopy(model)
        with torch.no_grad():
            twin.weight.add_(1)
        self.near(twin.weight - model.weight, torch.ones(2, 3))
        file = io.BytesIO()
        torch.save({"all": there, "part": there.t()[1:]}, file)
        for where in ("webgpu", "cpu"):
            file.seek(0)
            loaded = torch.load(file, map_location=None if where == "webgpu" else where)
            self.assertEqual(loaded["part"].device.type, where)
            loaded["all"].add_(1)  # both have the same storage
            torch.testing.assert_close(loaded["part"].cpu(), x.t()[1:] + 1)
        file = io.BytesIO()
        torch.save(x, file)
        file.seek(0)
        self.near(torch.load(file, map_location="webgpu"), x)

    def test_random_numbers(self):
        draws = []
        for device in ("cpu", "webgpu"):
            torch.manual_seed(3)
            draws.append([torch.randn(5, device=device), torch.randint(0, 9, (4,), device=device),
                          torch.rand(2, 2, device=device)])
        for want, got in zip(*draws):
            self.near(got, want)
        self.assertEqual(F.dropout(torch.ones(99, device="webgpu")).unique().tolist(), [0, 2])
        state = torch.webgpu.get_rng_state()
        first = torch.randn(3, device="webgpu")
        torch.webgpu.set_rng_state(state)
        self.near(torch.randn(3, device="webgpu"), first.cpu())

    def test_fallbacks_are_counted(self):
        x = torch.randn(5)
        self.same(lambda x: torch.erfinv(x.sigmoid()) + 1, x, fallbacks=["aten::erfinv"])
        self.same(lambda x: x.sort().values, x, fallbacks=["aten::sort.stable"])
        self.same(lambda x: x.cumprod_(0) * 2, x, fallbacks=["aten::cumprod_"])
        self.same(lambda x: x[x > 0], x, fallbacks=["aten::index.Tensor"])
        self.same(lambda x: torch.cat([x[:0], x]), x, fallbacks=["aten::cat"])

    def test_memory_comes_back(self):
        torch.webgpu.empty_cache()
        before = torch.webgpu.memory_allocated()
        x = torch.ones(1000, device="webgpu")
        for _ in range(5):
            x = x + 1
            torch.webgpu.flush()
        self.assertLessEqual(torch.webgpu.memory_allocated(), before + 3 * 4000)
        self.assertEqual(x.sum().item(), 6000)
        del x
        torch.webgpu.flush()
        self.assertLessEqual(torch.webgpu.memory_allocated(), before + 4)
        cycle = [solo._storage.Buffer(250)]
        cycle.append(cycle)
        del cycle
        gc.collect()  # closes a buffer's memory, which nobody may take over then
        self.assertEqual((torch.ones(250, device="webgpu") + 1).sum().item(), 500)

    def test_long_recordings(self):
        x = torch.zeros(3, device="webgpu")
        for _ in range(4100):
            x = x + 1
        self.assertEqual(x.tolist(), [4100] * 3)

    def test_a_device_that_fails(self):
        def fail(*unused):
            raise solo.Error("the device is lost")

        x = torch.ones(3, device="webgpu")
        with unittest.mock.patch("solo._record._Compiled.__call__", fail):
            y = x * 2
            with self.assertRaisesRegex(solo.Error, "the device is lost"):
                y.cpu()
        for use in (lambda: y.cpu(), lambda: y + 1, lambda: y[:1].add_(1), lambda: print(y)):
            with self.assertRaisesRegex(solo.Error, "was to be computed when the device failed: the device is lost"):
                use()
        y.copy_(x)  # it has elements again
        self.near(y + x, torch.full((3,), 2.0))

    def test_threads(self):
        x, results = torch.ones(3, device="webgpu"), []
        threads = [threading.Thread(target=lambda i=i: results.append((x * i).sum().item())) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), [0, 3, 6, 9])

    def test_page(self):
        page = pathlib.Path("docs/torch-device.md").read_text()
        exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {"print": lambda loss, fallbacks: self.assertGreater(loss, 0)})

    def test_nothing_ends_the_process(self):
        ran = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=100)
        self.assertEqual((ran.returncode, ran.stdout.strip()), (0, "True"), ran.stderr[-300:])
