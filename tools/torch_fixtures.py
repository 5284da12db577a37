#!/usr/bin/env python3
"""Writes tests/data/torch: small programs of PyTorch, with inputs and the outputs that torch computes.

Needs torch. The archives are those of torch.export.save, without what Solo does not read (sample inputs, most
metadata), so that they stay small. For each NAME.pt2 there is a NAME.json: {"runs": [{"inputs": {..}, "outputs":
{..}}]}, numbers in flat lists; several runs where the program has states."""

import io
import json
import pathlib
import struct
import zipfile

import torch
import torch.nn.functional as F
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "torch"


class Convnet(nn.Module):
    """Convolutions with padding, strides, groups; batch norm; pools; a permuted result."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.groups = nn.Conv2d(8, 8, 3, padding=1, groups=4)
        self.line = nn.Conv1d(4, 6, 3, padding=2, dilation=2)
        self.last = nn.Linear(8, 5)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = F.relu(self.norm(self.first(x)))
        z = self.groups(y) + y
        pooled = F.max_pool2d(z, 3, 2, 1)
        means = F.adaptive_avg_pool2d(F.avg_pool2d(z, 2), 1).flatten(1)
        return self.last(means), pooled.permute(0, 2, 3, 1), self.line(pooled.flatten(2).transpose(1, 2)[:, :4])


class Encoder(nn.Module):
    """Embeddings, attention with a mask, shared keys, norms, gelu in both forms, splitting and joining."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(40, 16), nn.Embedding(12, 16)
        self.norm, self.last_norm = nn.LayerNorm(16), nn.RMSNorm(16, eps=1e-6)
        self.qkv, self.out = nn.Linear(16, 32), nn.Linear(16, 16, bias=False)
        self.up, self.down = nn.Linear(16, 24), nn.Linear(24, 16)

    def forward(self, ids, mask):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        q, k, v = self.qkv(self.norm(x)).split([16, 8, 8], dim=-1)
        q = q.view(*ids.shape, 4, 4).transpose(1, 2)
        k, v = (t.view(*ids.shape, 2, 4).transpose(1, 2) for t in (k, v))
        seen = mask[:, None, None, :] & torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        a, b = F.gelu(self.up(x)).chunk(2, dim=-1)
        x = x + self.down(torch.cat([F.gelu(b, approximate="tanh"), a], dim=-1))
        return self.last_norm(x) @ self.words.weight.t()


class Cache(nn.Module):
    """Buffers that runs change: one row of a cache at a position, and a counter."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, 6, 4))
        self.register_buffer("count", torch.tensor([3.0, 4.0, 5.0]))
        self.project = nn.Linear(8, 8)

    def forward(self, x, position):
        new = self.project(x).view(1, 1, 2, 4).transpose(1, 2)
        self.keys.index_copy_(2, position, new)
        self.count.add_(1)
        seen = torch.arange(6) <= position
        scores = (new @ self.keys.transpose(2, 3)).masked_fill(~seen, float("-inf"))
        return torch.softmax(scores, -1) @ self.keys * self.count.sum()


class Decoder(nn.Module):
    """A decoder's step for one token: RoPE, a cache of keys and values, attention, a gated MLP.

    window: how many positions back are seen. unusual: almost the same, but the mask hides the token itself, and one half
    of a head is rotated the other way."""

    def __init__(self, window=None, unusual=False):
        super().__init__()
        self.window, self.unusual = window, unusual
        self.words, self.norm, self.last = nn.Embedding(20, 16), nn.RMSNorm(16, eps=1e-6), nn.Linear(16, 20, bias=False)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8, bias=False)
        self.out, self.gate, self.up = (nn.Linear(16, n, bias=False) for n in (16, 24, 24))
        self.down = nn.Linear(24, 16, bias=False)
        self.register_buffer("frequencies", 10 ** -torch.arange(0, 1, 0.5))
        self.register_buffer("keys", torch.zeros(1, 2, 6, 4))
        self.register_buffer("values", torch.zeros(1, 2, 6, 4))
        self.register_buffer("length", torch.tensor(0))

    def rotated(self, x, position):
        angles = position.float()[:, None] * self.frequencies
        angles = torch.cat([angles, angles], dim=-1)
        half = torch.cat([-x[..., 2:], x[..., :2]], dim=-1) * (-1 if self.unusual else 1)
        return x * (angles.cos() * 1.5) + half * (angles.sin() * 1.5)

    def forward(self, token, position):
        x = self.words(token)
        y = self.norm(x)
        q, k, v = (p(y).view(1, 1, -1, 4).transpose(1, 2) for p in (self.q, self.k, self.v))
        self.length.add_(1)
        self.keys.index_copy_(2, position, self.rotated(k, position))
        self.values.index_copy_(2, position, v)
        places = torch.arange(6)
        seen = (places < position) | (places == 0) if self.unusual else places <= position
        if self.window:
            seen = seen & (places > position - self.window)
        z = F.scaled_dot_product_attention(self.rotated(q, position), self.keys, self.values, seen[None, None, None],
                                           enable_gqa=True)
        x = x + self.out(z.transpose(1, 2).flatten(2))
        return self.last(x + self.down(F.silu(self.gate(x)) * self.up(x))), self.length * 2


class Operators(nn.Module):
    """Many operators once: functions, comparisons, reductions, indices, integers."""

    def forward(self, x, y, ids):
        rows = torch.where(x > 0, x, y[:, :1]) * torch.sigmoid(y) + x.abs().sqrt() - torch.erf(y)
        numbers = torch.stack([x.sum((0, 2)), x.amax((0, 2)), x.var((0, 2)), x.mean((0, 2))])
        powers = torch.pow(y.abs() + 0.5, 1.7) + x**2 + torch.rsqrt(y**2 + 1) + torch.exp(-x).clamp(0.1, 3)
        whole = (ids * 3 - 7) // 2 + ids % 3
        taken = x[:, ids.clamp(0, 2)] + x.flip(1).index_select(1, ids.clamp(0, 2))
        gathered = x.gather(2, ids.view(1, 1, 4).expand(2, 3, 4))
        padded = F.pad(x, (1, 2, 0, 1), value=2.0)[..., ::2].repeat(1, 2, 1)
        soft = F.log_softmax(x, dim=1) + torch.cumsum(y, dim=-1)
        ordered = x.argmax(-1) + (x.min(dim=-1).values < 0)
        return rows, numbers, powers, whole, taken, gathered, padded, soft, ordered, torch.tril(x), x.transpose(1, 2) @ y


class Norms(nn.Module):
    """RMSNorm as models write it, in two orders; and what only looks like it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6))

    def forward(self, x):
        first = self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        second = torch.rsqrt(first.pow(2).mean(2, keepdim=True) + 1e-3) * first * (1.0 + self.weight)
        other = self.weight * (x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6))
        return second, other + self.weight * (x * torch.rsqrt(second.pow(2).mean(-1, keepdim=True) + 1e-6))


class HalfNorm(nn.Module):
    """RMSNorm as models of 16 bits write it: as floats, between casts, with a weight of 16 bits."""

    def __init__(self, dtype):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, dtype=dtype))

    def forward(self, x):
        whole = x.to(self.weight.dtype).float()
        return self.weight * (whole * torch.rsqrt(whole.pow(2).mean(-1, keepdim=True) + 1e-6)).to(self.weight.dtype)


class Places(nn.Module):
    """Values to places that tensors number: the last of several, sums, maxima; integers, masks, numbers below zero."""

    def forward(self, x, rows, ids, each):
        put, far, chosen = x.clone(), x.clone(), x.clone()
        put[ids] = rows[:, :, None]
        far[ids, :, ids + 1] = rows
        chosen[x > 0] = 0.5
        added = x.index_put((ids * 0, ids + 1), x[1, :3], accumulate=True)
        taken = x[ids, :, ids + 1], x[ids, ids + 1]
        whole = torch.zeros(3, 4, dtype=torch.int64).scatter(1, each, each * 3)
        last = rows.scatter(1, each, rows * 2) + rows.scatter_reduce(1, each // 2, rows, "amin")
        sums = rows.scatter_add(1, each // 2, rows).index_add(1, each[0, :3], rows[:, :3], alpha=2)
        table = torch.ops.aten.embedding_dense_backward(x, each, 5, 3, False)
        return put, far, added, chosen, *taken, whole, last, sums, table


class Joined(nn.Module):
    """Tensors without elements, as a cache begins: what they are joined with remains. And one without dimensions."""

    def forward(self, x):
        only = x.sum().gather(0, torch.zeros((), dtype=torch.int64))
        return torch.cat([torch.tensor([]), x[:, 1:], x[:, :0]], -1) * torch.cat([x[:, 4:] + 1, x[:, :3]], -1) + only


class Windows(nn.Module):
    """Pools of every form, transposed convolutions, norms in training."""

    def __init__(self):
        super().__init__()
        self.up, self.line = nn.ConvTranspose2d(4, 6, (3, 2), 2, 1, groups=2), nn.ConvTranspose1d(6, 2, 4, dilation=2)
        self.norm, self.groups = nn.BatchNorm2d(6), nn.GroupNorm(2, 4)

    def forward(self, x):
        y, places = F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True)
        z = self.norm(self.up(self.groups(y)))
        means = F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, (2, 3), 2, 1, count_include_pad=False)
        parts = F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, (2, 3))
        lines = F.avg_pool1d(x[0], 3, 2, 1), F.max_pool1d(x[:, 0], 2)
        return y, places, z, *means, *parts, *lines, self.line(z.flatten(2)), self.norm.running_var * 1


def numbers(tensor):
    flat = tensor.detach().reshape(-1)
    return [round(float(v), 7) if tensor.is_floating_point() else int(v) for v in flat]


def slim(archive: bytes) -> bytes:
    """The archive without what Solo does not read; tensors begin at multiples of 64."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            if "/data/sample_inputs/" in info.filename or "/.data/" in info.filename:
                continue
            data = old.read(info.filename)
            if info.filename.endswith("models/model.json"):
                program = json.loads(data)
                for node in program["graph_module"]["graph"]["nodes"]:
                    trace = node["metadata"].get("stack_trace", "")
                    line = trace[trace.rfind("  File "):].split("\n")
                    name = line[0].split('"')[1].rsplit("/", 1)[-1] if '"' in line[0] else ""
                    node["metadata"] = {"stack_trace": f'  File "{name}", {line[0].split(", ", 1)[1]}\n' + "\n".join(line[1:2])} if name else {}
                    node["inputs"] = [{"name": i["name"], "arg": i["arg"]} for i in node["inputs"]]
                    node.pop("is_hop_single_tensor_return", None)
                values = program["graph_module"]["graph"]["tensor_values"]
                for name, value in values.items():
                    values[name] = {key: value[key] for key in ("dtype", "sizes", "strides", "storage_offset")}
                program["graph_module"]["module_call_graph"] = []
                program["guards_code"] = []
                data = json.dumps(program, separators=(",", ":")).encode()
            entry = zipfile.ZipInfo("p/" + info.filename.split("/", 1)[1])
            header = new.fp.tell() + 30 + len(entry.filename) + 4
            entry.extra = struct.pack("<HH", 0x4246, -header % 64) + bytes(-header % 64)
            new.writestr(entry, data)
    return out.getvalue()


def write(name, model, runs, decompose, trains=False, compared=True):
    model = model.train(trains)
    with torch.no_grad():
        program = torch.export.export(model, runs[0], strict=True)
        if decompose:
            program = program.run_decompositions()
        archive = io.BytesIO()
        torch.export.save(program, archive)
        names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        outs = [spec.arg.name for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"]
        record = []
        for run in runs:
            result = model(*run)
            result = result if isinstance(result, tuple) else (result,)
            record.append({"inputs": {n: numbers(t) for n, t in zip(names, run)},
                           "outputs": {n: numbers(t) for n, t in zip(outs, result)}})
    (FOLDER / f"{name}.pt2").write_bytes(slim(archive.getvalue()))
    if compared:
        (FOLDER / f"{name}.json").write_text(json.dumps({"runs": record}) + "\n")


def main():
    torch.manual_seed(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    write("convnet", Convnet(), [(torch.randn(2, 3, 9, 9),)], False)
    ids = torch.randint(0, 40, (2, 7))
    mask = torch.tensor([[True] * 7, [False, False] + [True] * 5])
    write("encoder", Encoder(), [(ids, mask)], False)
    write("cache", Cache(), [(torch.randn(1, 1, 8), torch.tensor([i])) for i in range(4)], False)
    write("norms", Norms(), [(torch.randn(2, 3, 6),)], True)
    write("operators", Operators(), [(torch.randn(2, 3, 4), torch.randn(2, 3, 4), torch.tensor([0, 2, 1, 2]))], True)
    tokens = [(torch.tensor([[7 * i % 20]]), torch.tensor([i])) for i in range(5)]
    write("decoder", Decoder(), tokens, True)
    write("window", Decoder(window=3), tokens, True)
    write("unusual", Decoder(unusual=True), tokens, True)
    each = torch.stack([torch.randperm(4) for _ in range(3)])
    write("places", Places(), [(torch.randn(3, 4, 5), torch.randn(3, 4), torch.tensor([2, 0, -2]), each)], True)
    write("windows", Windows(), [(torch.randn(2, 4, 6, 7),) for _ in range(2)], True, trains=True)
    write("joined", Joined(), [(torch.randn(2, 4),)], True)
    for name, dtype in (("norm16", torch.float16), ("normb16", torch.bfloat16)):  # eager rounds: not compared
        write(name, HalfNorm(dtype), [(torch.randn(2, 6),)], True, compared=False)


if __name__ == "__main__":
    main()
