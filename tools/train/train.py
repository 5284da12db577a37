#!/usr/bin/env python3
"""Trains the built-in model: a small llama that tells tales, made to be stored in 4 bits.

    python3 train.py --data build/train --out OUT --seconds 230     on a GPU
    python3 train.py --data build/train --out OUT --seconds 60 --quick     on a CPU, to see that it works

There is little text for so many passes, so what counts is not to learn it by heart:

1. Teachers, larger than the model, are trained on the text with much dropout and weight decay. Of each the
   state that was best on the held-out tales is kept.
2. The student learns the text and, for every next token, what its teachers think of all tokens.
3. In the second half of that, it computes with its weights rounded as GGUF will round them (the gradient passes
   through as if they were not), so that it learns to live with that. The best state is the one whose rounded
   weights do best on the held-out tales.

Written to OUT as it goes: weights.N.npz (float32, GGUF's names; several, none too large to be carried about), log.json,
samples.txt.
Only numpy and PyTorch are needed.
"""
import argparse
import json
import math
import os
import time
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn.functional as F

NORM_EPSILON = 1e-5
ROPE_BASE = 10000.0
BLOCK = 32  # weights that share a scale, in q4_0 and q8_0


@dataclass
class Shape:
    vocab: int
    dim: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    context: int

    @property
    def head_dim(self):
        return self.dim // self.heads


@dataclass
class Recipe:
    name: str
    seconds: float
    max_epochs: float
    rate: float
    decay: float
    dropout: float
    batch: int  # windows of a whole context
    seed: int


# ---- the model ------------------------------------------------------------------------------------------------


def weight_shapes(shape):
    """Names as in GGUF. A norm has one dimension, a matrix is (out, in)."""
    kv_dim = shape.kv_heads * shape.head_dim
    shapes = {"token_embd.weight": (shape.vocab, shape.dim), "output_norm.weight": (shape.dim,)}
    for i in range(shape.layers):
        shapes |= {
            f"blk.{i}.attn_norm.weight": (shape.dim,),
            f"blk.{i}.attn_q.weight": (shape.dim, shape.dim),
            f"blk.{i}.attn_k.weight": (kv_dim, shape.dim),
            f"blk.{i}.attn_v.weight": (kv_dim, shape.dim),
            f"blk.{i}.attn_output.weight": (shape.dim, shape.dim),
            f"blk.{i}.ffn_norm.weight": (shape.dim,),
            f"blk.{i}.ffn_gate.weight": (shape.ffn, shape.dim),
            f"blk.{i}.ffn_up.weight": (shape.ffn, shape.dim),
            f"blk.{i}.ffn_down.weight": (shape.dim, shape.ffn),
        }
    return shapes


def new_weights(shape, device):
    weights = {}
    for name, size in weight_shapes(shape).items():
        if len(size) == 1:
            weight = torch.ones(size, device=device)
        else:
            # what adds to the residual begins smaller, the deeper the model
            into_residual = name.endswith(("attn_output.weight", "ffn_down.weight"))
            deviation = 0.02 / math.sqrt(2 * shape.layers) if into_residual else 0.02
            weight = torch.randn(size, device=device) * deviation
        weights[name] = weight.requires_grad_()
    return weights


def rope_table(shape, length, device):
    frequency = ROPE_BASE ** (-torch.arange(0, shape.head_dim, 2, device=device) / shape.head_dim)
    angle = torch.outer(torch.arange(length, device=device), frequency)
    return angle.cos(), angle.sin()  # (length, head_dim / 2)


def rotate(x, table):
    """Pairs of neighbours, as GGUF's llama has it (so nothing is to be permuted later)."""
    cos, sin = table
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).to(x.dtype)


def forward(weights, tokens, shape, dropout=0.0):
    """Logits (batch, length, vocab) of tokens (batch, length)."""
    batch, length = tokens.shape
    table = rope_table(shape, length, tokens.device)
    drop = lambda x: F.dropout(x, dropout) if dropout else x
    norm = lambda x, name: F.rms_norm(x, (shape.dim,), weights[name], NORM_EPSILON)
    heads = lambda x, count: x.view(batch, length, count, shape.head_dim).transpose(1, 2)

    def attention(x, i):
        q = rotate(heads(F.linear(x, weights[f"blk.{i}.attn_q.weight"]), shape.heads), table)
        k = rotate(heads(F.linear(x, weights[f"blk.{i}.attn_k.weight"]), shape.kv_heads), table)
        v = heads(F.linear(x, weights[f"blk.{i}.attn_v.weight"]), shape.kv_heads)
        shared = shape.heads // shape.kv_heads
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        x = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(x.transpose(1, 2).reshape(batch, length, shape.dim), weights[f"blk.{i}.attn_output.weight"])

    def feed_forward(x, i):
        gate = F.silu(F.linear(x, weights[f"blk.{i}.ffn_gate.weight"]))
        return F.linear(gate * F.linear(x, weights[f"blk.{i}.ffn_up.weight"]), weights[f"blk.{i}.ffn_down.weight"])

    x = drop(F.embedding(tokens, weights["token_embd.weight"]))
    for i in range(shape.layers):
        x = x + drop(attention(norm(x, f"blk.{i}.attn_norm.weight"), i))
        x = x + drop(feed_forward(norm(x, f"blk.{i}.ffn_norm.weight"), i))
    return F.linear(norm(x, "output_norm.weight"), weights["token_embd.weight"])


# ---- rounding -------------------------------------------------------------------------------------------------


def stored_type(name, size):
    """How GGUF will store a weight: export.py asks here too."""
    if len(size) == 1:
        return "f32"
    return "q8_0" if name == "token_embd.weight" else "q4_0"


def round_q8_0(x):
    blocks = x.view(-1, BLOCK)
    scale = blocks.abs().amax(-1, keepdim=True) / 127
    inverse = torch.where(scale == 0, 0, 1 / scale)
    return ((blocks * inverse).round() * scale.half().float()).view_as(x)


def round_q4_0(x):
    blocks = x.view(-1, BLOCK)
    largest = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    scale = largest / -8
    inverse = torch.where(scale == 0, 0, 1 / scale)
    levels = (blocks * inverse + 8.5).floor().clamp(0, 15) - 8
    return (levels * scale.half().float()).view_as(x)


ROUNDINGS = {"q8_0": round_q8_0, "q4_0": round_q4_0}


def rounded(weights):
    """The weights as GGUF will have them; gradients pass through to what they were rounded from."""
    result = dict(weights)
    for kind, rounding in ROUNDINGS.items():
        names = [name for name, weight in weights.items() if stored_type(name, weight.shape) == kind]
        # all of a kind in one go: a row is a whole number of blocks
        flat = torch.cat([weights[name].flatten() for name in names])
        flat = flat + (rounding(flat.detach()) - flat.detach())
        for name, part in zip(names, flat.split([weights[name].numel() for name in names])):
            result[name] = part.view_as(weights[name])
    return result


# ---- the text -------------------------------------------------------------------------------------------------


class Text:
    AT_BEGINNINGS = 8  # one window more for so many, at the beginning of a tale: there is where prompts are

    def __init__(self, folder, context, device):
        with open(os.path.join(folder, "data.json"), encoding="utf-8") as file:
            self.facts = json.load(file)
        tokens = np.fromfile(os.path.join(folder, "tokens.u16"), dtype="<u2").astype(np.int64)
        assert len(tokens) == self.facts["train_tokens"] + self.facts["held_out_tokens"]
        tokens = torch.from_numpy(tokens).to(device)
        self.context = context
        self.train = tokens[: self.facts["train_tokens"]]
        self.held_out = tokens[self.facts["train_tokens"] :]
        beginnings = (self.train == self.facts["bos"]).nonzero().flatten()
        self.beginnings = beginnings[beginnings < len(self.train) - context - 1]

    def batches(self, size):
        """Endless: all the text in windows that begin elsewhere in every epoch, shuffled."""
        window = torch.arange(self.context + 1, device=self.train.device)
        while True:
            first = torch.randint(self.context, (1,)).item()
            starts = torch.arange(first, len(self.train) - self.context - 1, self.context, device=self.train.device)
            chosen = torch.randint(len(self.beginnings), (len(starts) // self.AT_BEGINNINGS,))
            starts = torch.cat([starts, self.beginnings[chosen.to(self.train.device)]])
            starts = starts[torch.randperm(len(starts)).to(starts.device)]
            for batch in starts[: len(starts) // size * size].view(-1, size):
                windows = self.train[batch[:, None] + window]
                yield windows[:, :-1], windows[:, 1:]

    def held_out_windows(self):
        count = (len(self.held_out) - 1) // self.context
        x = self.held_out[: count * self.context].view(count, -1)
        y = self.held_out[1 : count * self.context + 1].view(count, -1)
        return x, y

    def say(self, ids):
        pieces = self.facts["pieces_hex"]
        return b"".join(bytes.fromhex(pieces[i]) for i in ids).decode("utf-8", "replace")


def autocast(device):
    return torch.autocast("cuda", dtype=torch.bfloat16, enabled=device.type == "cuda")


@torch.no_grad()
def held_out_loss(weights, shape, text, batch):
    """Nats per token."""
    x, y = text.held_out_windows()
    total = 0.0
    for i in range(0, len(x), batch):
        with autocast(x.device):
            logits = forward(weights, x[i : i + batch], shape)
        total += F.cross_entropy(logits.float().flatten(0, 1), y[i : i + batch].flatten(), reduction="sum").item()
    return total / y.numel()


@torch.no_grad()
def sample(weights, shape, text, prompt, count, temperature=0.8, top_k=40):
    device = weights["token_embd.weight"].device
    ids = [text.facts["bos"], *prompt]
    for _ in range(count):
        logits = forward(weights, torch.tensor([ids[-shape.context :]], device=device), shape)[0, -1].float()
        best, tokens = logits.topk(top_k)
        next_id = tokens[torch.multinomial((best / temperature).softmax(-1), 1)].item()
        if next_id == text.facts["eos"]:
            break
        ids.append(next_id)
    return text.say(ids)


# ---- training -------------------------------------------------------------------------------------------------


class Output:
    """What is written, complete at any time: a run that is stopped loses little."""

    PART_BYTES = 12 << 20

    def __init__(self, folder, log):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.log, self.saved_at = folder, log, 0.0

    def write(self, name, save):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "wb") as file:
            save(file)
        os.replace(path + ".new", path)

    def write_log(self):
        self.write("log.json", lambda file: file.write(json.dumps(self.log, indent=1).encode()))

    def write_weights(self, weights, step, seconds_apart=0.0):
        if time.monotonic() - self.saved_at < seconds_apart:
            return
        parts, room = [], 0
        for name, weight in weights.items():
            array = weight.detach().float().cpu().numpy()
            if array.nbytes > room:
                parts.append({"step": np.array(step)})  # parts of one state say the same
                room = self.PART_BYTES
            parts[-1][name] = array
            room -= array.nbytes
        for i, part in enumerate(parts):
            self.write(f"weights.{i}.npz", lambda file: np.savez(file, **part))
        self.saved_at = time.monotonic()


def optimizer_for(weights, recipe, device):
    matrices = [weight for weight in weights.values() if weight.dim() > 1]
    norms = [weight for weight in weights.values() if weight.dim() == 1]
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": norms, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.95), fused=device.type == "cuda")


def rate_at(progress, recipe):
    warm_up = 0.02
    if progress < warm_up:
        return recipe.rate * max(progress / warm_up, 0.01)
    return recipe.rate * (0.01 + 0.99 * (0.5 + 0.5 * math.cos(math.pi * (progress - warm_up) / (1 - warm_up))))


def teachers_opinion(teachers, x):
    """The mean of their distributions over the next token."""
    with torch.no_grad(), autocast(x.device):
        opinions = [forward(weights, x, shape).float().softmax(-1) for weights, shape in teachers]
    return sum(opinions) / len(opinions)


def train(shape, recipe, text, output, eval_seconds, teachers=(), teachers_share=0.0, round_from=None):
    """Weights that were best on the held-out tales: rounded ones, if rounding is part of it."""
    torch.manual_seed(recipe.seed)
    device = text.train.device
    weights = new_weights(shape, device)
    optimizer = optimizer_for(weights, recipe, device)
    parameters = sum(weight.numel() for weight in weights.values())
    run = {"recipe": asdict(recipe), "shape": asdict(shape), "parameters": parameters, "evals": []}
    output.log["runs"].append(run)
    print(f"{recipe.name}: {parameters:,} parameters", flush=True)

    tokens_per_step = recipe.batch * shape.context
    max_steps = recipe.max_epochs * len(text.train) / tokens_per_step
    best, best_loss, step, losses = None, math.inf, 0, []
    began = time.monotonic()
    last_eval = began
    for x, y in text.batches(recipe.batch):
        progress = min(1.0, max((time.monotonic() - began) / recipe.seconds, step / max_steps))
        for group in optimizer.param_groups:
            group["lr"] = rate_at(progress, recipe)
        rounding = round_from is not None and progress >= round_from
        opinion = teachers_opinion(teachers, x) if teachers else None
        with autocast(device):
            logits = forward(rounded(weights) if rounding else weights, x, shape, recipe.dropout)
        likely = F.log_softmax(logits.float(), -1)
        loss = text_loss = F.nll_loss(likely.flatten(0, 1), y.flatten())
        if teachers:
            loss = (1 - teachers_share) * loss - teachers_share * (opinion * likely).sum(-1).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimizer.step()
        losses.append(text_loss.detach())
        step += 1
        if step % 8 == 0 and device.type == "cuda":
            torch.cuda.synchronize()  # so that the clock shows work done, not work asked for

        now = time.monotonic()
        if progress < 1.0 and now - last_eval < eval_seconds:
            continue
        with torch.no_grad():
            held_out = held_out_loss(weights, shape, text, recipe.batch)
            held_out_rounded = None
            if round_from is not None:
                held_out_rounded = held_out_loss(rounded(weights), shape, text, recipe.batch)
        judged = held_out if held_out_rounded is None else held_out_rounded
        run["evals"].append({
            "seconds": round(now - began, 2), "step": step, "epoch": round(step * tokens_per_step / len(text.train), 3),
            "rate": rate_at(progress, recipe), "rounding": rounding, "train": torch.stack(losses).mean().item(),
            "held_out": held_out, "held_out_rounded": held_out_rounded,
        })
        losses = []
        print("  " + ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                               for key, value in run["evals"][-1].items()), flush=True)
        if judged < best_loss:
            best_loss = judged
            best = {name: weight.detach().clone() for name, weight in weights.items()}
            run["best"] = run["evals"][-1]
        output.write_log()
        if round_from is not None:
            output.write_weights(best, run["best"]["step"], seconds_apart=15)
        last_eval = time.monotonic()
        if progress >= 1.0:
            break
    return best


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--data", required=True, help="the folder with tokens.u16 and data.json")
    arguments.add_argument("--out", required=True)
    arguments.add_argument("--seconds", type=float, default=230, help="of training, all in all")
    arguments.add_argument("--teachers", type=int, default=2)
    arguments.add_argument("--teachers-seconds", type=float, default=0.5, help="their part of the seconds")
    arguments.add_argument("--teachers-share", type=float, default=0.7, help="of the student's loss")
    arguments.add_argument("--quick", action="store_true", help="small batches and one small teacher, for a CPU")
    arguments.add_argument("--seed", type=int, default=1)
    args = arguments.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    context = 1024
    text = Text(args.data, 128 if args.quick else context, device)
    vocab = text.facts["vocab"]
    student = Shape(vocab, dim=256, layers=6, heads=8, kv_heads=4, ffn=768, context=text.context)
    teacher = Shape(vocab, dim=512, layers=8, heads=8, kv_heads=8, ffn=1536, context=text.context)
    batch, eval_seconds, sample_tokens = 32, 5.0, 250
    if args.quick:
        args.teachers = min(args.teachers, 1)
        teacher = Shape(vocab, dim=64, layers=1, heads=2, kv_heads=2, ffn=128, context=text.context)
        batch, eval_seconds, sample_tokens = 8, 20.0, 40
        text.held_out = text.held_out[:4097]

    facts = {key: value for key, value in text.facts.items() if key not in ("pieces_hex", "prompts")}
    log = {
        "arguments": {key: value for key, value in vars(args).items() if key not in ("data", "out")},
        "text": facts, "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "norm_epsilon": NORM_EPSILON, "rope_base": ROPE_BASE, "context": context, "runs": [],
    }
    output = Output(args.out, log)

    teachers_seconds = args.seconds * args.teachers_seconds if args.teachers else 0.0
    teachers = []
    for i in range(args.teachers):
        recipe = Recipe(f"teacher {i}", teachers_seconds / args.teachers, max_epochs=24, rate=1.5e-3, decay=1.0,
                        dropout=0.2, batch=batch, seed=args.seed + 1 + i)
        teachers.append((train(teacher, recipe, text, output, eval_seconds), teacher))
    recipe = Recipe("student", args.seconds - teachers_seconds, max_epochs=60, rate=2.5e-3, decay=0.3,
                    dropout=0.05 if teachers else 0.1, batch=batch, seed=args.seed)
    weights = train(student, recipe, text, output, eval_seconds, teachers, args.teachers_share, round_from=0.5)
    output.write_weights(weights, log["runs"][-1]["best"]["step"])

    samples = []
    for prompt, ids in text.facts["prompts"]:
        samples.append(f"== {prompt}\n{sample(rounded(weights), student, text, ids, sample_tokens)}\n")
        output.write("samples.txt", lambda file: file.write("\n".join(samples).encode()))
    print("\n".join(samples))


if __name__ == "__main__":
    main()
