#!/usr/bin/env python3
"""Turns what train.py wrote into the built-in model, a GGUF file, and says how good it is.

    python3 tools/train/export.py --data build/train --result build/train/result models/builtin.gguf
    python3 tools/train/export.py ... --docs docs/builtin.md      fills in the facts there, too

The held-out loss is measured on what was read back from the file, and beside it on what other types would make of
the same weights.
"""
import argparse
import glob
import hashlib
import json
import math
import os
import re

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType, TokenType

import train

TYPES = {name: GGMLQuantizationType[name.upper()] for name in ("f32", "q8_0", "q5_0", "q4_0")}
FILE_TYPE_MOSTLY_Q4_0 = 2
BEGIN, END = "<!-- begin: facts by tools/train/export.py -->", "<!-- end -->"


def read_result(folder):
    with open(os.path.join(folder, "log.json"), encoding="utf-8") as file:
        log = json.load(file)
    parts = [dict(np.load(path)) for path in sorted(glob.glob(os.path.join(folder, "weights.*.npz")))]
    steps = {int(part.pop("step")) for part in parts}
    assert len(steps) == 1, f"the parts of the weights are from the steps {steps}"
    weights = {name: weight for part in parts for name, weight in part.items()}
    student = log["runs"][-1]
    shape = train.Shape(**student["shape"])
    shape.context = log["context"]
    expected = train.weight_shapes(shape)
    assert {name: weight.shape for name, weight in weights.items()} == expected, "weights are not what the log says"
    assert all(np.isfinite(weight).all() for weight in weights.values()), "a weight is no number"
    return log, shape, weights


def add_tokenizer(writer, folder):
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL if token in special else TokenType.NORMAL for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(special["<s>"])
    writer.add_eos_token_id(special["</s>"])
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    return len(tokens)


def write_model(path, log, shape, weights, data_folder):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Solo Tales")
    writer.add_description("A teller of fairy tales, trained on public-domain books")
    writer.add_license("mit")
    writer.add_languages(["en"])
    writer.add_file_type(FILE_TYPE_MOSTLY_Q4_0)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.dim)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(log["rope_base"])
    writer.add_layer_norm_rms_eps(log["norm_epsilon"])
    writer.add_vocab_size(shape.vocab)
    assert add_tokenizer(writer, data_folder) == shape.vocab
    for name, weight in weights.items():
        kind = TYPES[train.stored_type(name, weight.shape)]
        data = np.ascontiguousarray(weight, dtype=np.float32)
        if kind != GGMLQuantizationType.F32:
            data = gguf.quants.quantize(data, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_back(path):
    weights = {}
    for tensor in gguf.GGUFReader(path).tensors:
        data = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        weights[tensor.name] = torch.from_numpy(np.array(data, dtype=np.float32).reshape(list(tensor.shape)[::-1]))
    return weights


def as_if(weights, matrices, embedding):
    """The weights as they would be read back from other types, and how many bytes they would take."""
    result, count = {}, 0
    for name, weight in weights.items():
        stored = train.stored_type(name, weight.shape)
        kind = TYPES[stored if stored == "f32" else embedding if name == "token_embd.weight" else matrices]
        data = weight if kind == GGMLQuantizationType.F32 else gguf.quants.quantize(weight, kind)
        count += data.nbytes
        result[name] = torch.from_numpy(gguf.quants.dequantize(data, kind).reshape(weight.shape))
    return result, count


# of the matrices, of the embedding; the first is what the file has
MIXES = [("q4_0", "q8_0"), ("q5_0", "q8_0"), ("q8_0", "q8_0"), ("f32", "f32")]


def compare_types(weights, shape, text, stored_loss):
    lines = ["| matrices | embedding | weights | held-out loss |", "|---|---|---|---|"]
    for i, (matrices, embedding) in enumerate(MIXES):
        read, count = as_if(weights, matrices, embedding)
        loss = train.held_out_loss(read, shape, text, 8)
        assert i > 0 or loss == stored_loss, f"the file has {stored_loss}, its types should have {loss}"
        lines.append(f"| {matrices.upper()} | {embedding.upper()} | {count / 1e6:.2f} MB | {loss:.4f} |")
    return lines


def describe(path, log, stored_loss, types):
    with open(path, "rb") as file:
        content = file.read()
    runs, student = log["runs"], log["runs"][-1]
    text = log["text"]
    bytes_per_token = text["held_out_bytes"] / text["held_out_tokens"]
    lines = [
        "| | |",
        "|---|---|",
        f"| parameters | {student['parameters']:,} |",
        f"| file | {len(content):,} bytes, SHA-256 `{hashlib.sha256(content).hexdigest()}` |",
        f"| trained | {log['began'][:10]}, {sum(run['evals'][-1]['seconds'] for run in runs):.0f} s on {log['device']}, "
        f"PyTorch {log['torch']} |",
        f"| text | {text['train_tokens']:,} tokens of {text['train_tales']:,} tales; held out: "
        f"{text['held_out_tokens']:,} of {text['held_out_tales']} |",
    ]
    for run in runs:
        best = run["best"]
        lines.append(
            f"| {run['recipe']['name']}, {run['parameters']:,} parameters | best after {best['epoch']:.1f} epochs: "
            f"{best['train']:.3f} nats per token in training, {best['held_out']:.3f} held out |")
    lines += [
        f"| held-out loss, as stored | {stored_loss:.4f} nats per token, "
        f"{stored_loss / math.log(2) / bytes_per_token:.3f} bits per byte |",
        "",
        "The same weights in other types, in nats per token:",
        "",
    ]
    return "\n".join(lines + types)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--data", required=True, help="the folder that make_tokenizer.py filled")
    arguments.add_argument("--result", required=True, help="the folder that train.py filled")
    arguments.add_argument("--docs", help="a document whose block of facts is to be replaced")
    arguments.add_argument("gguf")
    args = arguments.parse_args()

    log, shape, weights = read_result(args.result)
    write_model(args.gguf, log, shape, weights, args.data)
    text = train.Text(args.data, shape.context, torch.device("cpu"))
    stored_loss = train.held_out_loss(read_back(args.gguf), shape, text, 8)
    facts = describe(args.gguf, log, stored_loss, compare_types(weights, shape, text, stored_loss))
    print(facts)
    if args.docs:
        with open(args.docs, encoding="utf-8") as file:
            document = file.read()
        block = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
        assert block.search(document), f"{args.docs} has no block of facts"
        with open(args.docs, "w", encoding="utf-8") as file:
            file.write(block.sub(lambda _: f"{BEGIN}\n{facts}\n{END}", document, count=1))


if __name__ == "__main__":
    main()
