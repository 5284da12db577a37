#!/usr/bin/env python3
"""One decoder in PyTorch's ways and those of other WebGPU engines, side by side: python3 bench/torch_peers.py FOLDER GGUF

    python3 bench/torch_peers.py FOLDER GGUF [--dtype f16] [-n 50] [-r 30] [--ways LIST] [--device cuda|cpu] [--seconds 600] [--warm]
                                  [--json FILE]

FOLDER is a Hugging Face folder (bench/make_model.py), GGUF the same weights (solo convert): every engine has the same ones.

    solo             solo.torch.generate: Solo's decoder, tokens stay on the device
    solo-compile     transformers' generate with a static cache, compiled by backend="solo"
    inductor         the same, compiled by inductor with CUDA graphs (mode reduce-overhead); without CUDA: inductor alone
    eager            transformers' generate as it is
    tinygrad         its own Transformer on the GGUF file with DEV=WEBGPU; wants dawn-python, and clang, which TINYGRAD_CC may name
    onnxruntime      the WebGPU execution provider, on a graph made here of MatMul, GroupQueryAttention and the like; the cache stays on
                     the device, a token is read back for each step. Wants onnx to write the graph

The protocol is that of "what it costs to run an LLM on WebGPU" (arXiv 2604.02344): a short prompt, -n tokens, greedy, batch 1; tokens per second
of the whole call, -r times. Each way has a process of its own; all are set up first, at once as far as there is memory, and then take turns, in a
new random order each round. The record is written every few rounds, and when the time is over or this is to end (SIGTERM). The
first way whose tokens are there is the reference (eager, if it is measured): how many of a way's tokens are equal is in the record, and a way
whose first token is another one fails its check. What cannot be had here is left out, with its reason in the record.
--warm only sets up, all ways at once, for the caches of compilers: of several models before any of them is measured.
"""
import argparse
import multiprocessing.connection
import os
import random
import sys
import time

import record
from own_process import LeftOut, OwnProcess, Terminated, memory_left, raise_when_terminated

PROMPT = [7, 91, 15, 42, 3, 128, 66, 9]
STARTED = time.perf_counter()


def say(text):
    print(f"{time.perf_counter() - STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


# ---- ways: each returns a function that makes the tokens ------------------------------------------------------


def opened(o, device):
    import torch
    import models
    torch.set_grad_enabled(False)
    model = models.load(o.folder, models.DTYPES[o.dtype], device)
    model.generation_config.eos_token_id = None
    ids = torch.tensor([PROMPT], device=device)
    return model, {"input_ids": ids, "attention_mask": torch.ones_like(ids), "max_new_tokens": o.n, "do_sample": False, "pad_token_id": 0}


def made_by(model, text, **more):
    return lambda: model.generate(**text, **more)[0, len(PROMPT):].tolist()


def eager(o):
    return made_by(*opened(o, o.device))


def compiled(o, device, backend, mode, options):
    import transformers
    model, text = opened(o, device)
    how = transformers.CompileConfig(backend=backend, fullgraph=False, dynamic=False, mode=mode, options=options)
    how._compile_all_devices = True
    model.generation_config.compile_config = how
    return made_by(model, text, cache_implementation="static")


def inductor(o):
    return compiled(o, o.device, "inductor", "reduce-overhead" if o.device == "cuda" else None, None)


def solo_compile(o):
    import solo.torch  # noqa: F401
    return compiled(o, "cpu", "solo", None, {"level": o.level})


def solo(o):
    import solo.torch
    model, text = opened(o, "cpu")
    return lambda: solo.torch.generate(model, level=o.level, **text)[0, len(PROMPT):].tolist()


def tinygrad_on_webgpu(o):
    """Before it is imported."""
    import importlib.util
    import platform
    import types
    os.environ |= {"DEV": "WEBGPU", "HALF": "1" if o.dtype == "f16" else "0"}
    if "TINYGRAD_CC" in os.environ:  # for itself alone: the compiler may have no headers, which Triton needs
        os.environ["CC"] = os.environ["TINYGRAD_CC"]
    dawn = importlib.util.find_spec("pydawn")  # of dawn-python
    if dawn and "WEBGPU_PATH" not in os.environ:
        os.environ["WEBGPU_PATH"] = os.path.join(dawn.submodule_search_locations[0], "lib", f"libwebgpu_dawn_{platform.machine()}.so")
    from tinygrad import nn
    if not importlib.util.find_spec("tinygrad.llm.kernels"):  # the package of 0.14.0 lacks this folder: only AMD's GPUs use what is in it
        sys.modules["tinygrad.llm.kernels"] = types.ModuleType("kernels")
        amd = sys.modules["tinygrad.llm.kernels.amd"] = types.ModuleType("amd")
        amd.Linear, amd.amd_custom_kernels_supported = nn.Linear, lambda device: False
        amd.gated_delta_prefill = amd.flash_attention = None


def tinygrad(o):
    tinygrad_on_webgpu(o)
    import pathlib
    from tinygrad.llm import model as tiny

    def with_vocabulary(load):  # a file of random weights has no tokenizer, whose size is asked for
        def loaded(file):
            keys, tensors = load(file)
            return {"tokenizer.ggml.tokens": [""] * tensors["token_embd.weight"].shape[0]} | keys, tensors
        return loaded

    tiny.gguf_load = with_vocabulary(tiny.gguf_load)
    model, _ = tiny.Transformer.from_gguf(pathlib.Path(o.gguf), max_context=len(PROMPT) + o.n + 8)

    def make():
        model._cached_tokens = []
        tokens, going = [], model.generate(list(PROMPT))
        for token in going:
            tokens.append(int(token))
            if len(tokens) == o.n:
                going.close()
                return tokens
    return make


def onnx_graph(o, path):
    """The decoder of a qwen2 or llama folder as ONNX, its weights in a file beside it."""
    import numpy as np
    import onnx
    import torch
    import models
    from onnx import TensorProto, helper, numpy_helper
    model = models.load(o.folder, models.DTYPES[o.dtype], "cpu")
    c, weights = model.config, {name: weight.detach() for name, weight in model.state_dict().items()}
    kind, numpy_type = (TensorProto.FLOAT16, np.float16) if o.dtype == "f16" else (TensorProto.FLOAT, np.float32)
    size = c.hidden_size // c.num_attention_heads
    nodes, initializers, inputs, outputs = [], [], [], []

    def constant(name, array):
        initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(name, turned=False):
        array = weights[name].numpy()
        return constant(name + (" turned" if turned else ""), array.T if turned else array)

    def node(op, ins, out, domain="", **attributes):
        nodes.append(helper.make_node(op, ins, [out] if isinstance(out, str) else out, domain=domain, **attributes))
        return out

    def linear(x, name):
        y = node("MatMul", [x, weight(f"{name}.weight", True)], f"{name} product")
        return node("Add", [y, weight(f"{name}.bias")], f"{name} out") if f"{name}.bias" in weights else y

    def norm(x, name):
        return node("SimplifiedLayerNormalization", [x, weight(f"{name}.weight")], f"{name} out", epsilon=c.rms_norm_eps, axis=-1, stash_type=1)

    # RoPE's cosines and sines, for as many positions as there will be
    positions = np.arange(o.context)[:, None]
    angles = positions / c.rope_parameters["rope_theta"] ** (np.arange(0, size, 2) / size)[None]
    cos, sin = constant("cosines", np.cos(angles).astype(numpy_type)), constant("sines", np.sin(angles).astype(numpy_type))
    x = node("Gather", [weight("model.embed_tokens.weight"), "ids"], "embedded")
    for i in range(c.num_hidden_layers):
        at = f"model.layers.{i}"
        h = norm(x, f"{at}.input_layernorm")
        q, k, v = (linear(h, f"{at}.self_attn.{which}_proj") for which in "qkv")
        caches = [f"past {i} {which}" for which in "kv"]
        attended, *_ = node("GroupQueryAttention", [q, k, v, *caches, "last", "total", cos, sin], [f"{at} attended", f"new {i} k", f"new {i} v"],
                            "com.microsoft", num_heads=c.num_attention_heads, kv_num_heads=c.num_key_value_heads, do_rotary=1)
        x = node("Add", [x, linear(attended, f"{at}.self_attn.o_proj")], f"{at} middle")
        h = norm(x, f"{at}.post_attention_layernorm")
        gate, up = linear(h, f"{at}.mlp.gate_proj"), linear(h, f"{at}.mlp.up_proj")
        gated = node("Mul", [node("Mul", [gate, node("Sigmoid", [gate], f"{at} sigmoid")], f"{at} silu"), up], f"{at} gated")
        x = node("Add", [x, linear(gated, f"{at}.mlp.down_proj")], f"{at} out")
        cache = [1, c.num_key_value_heads, o.context, size]
        inputs += [helper.make_tensor_value_info(name, kind, cache) for name in caches]
        outputs += [helper.make_tensor_value_info(f"new {i} {which}", kind, cache) for which in "kv"]
    h = norm(x, "model.norm")
    head = "lm_head.weight" if not c.tie_word_embeddings else "model.embed_tokens.weight"
    logits = node("MatMul", [h, weight(head, True)], "logits")
    node("ArgMax", [logits], "best", axis=-1, keepdims=0)
    inputs += [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "rows"]), helper.make_tensor_value_info("last", TensorProto.INT32, [1]),
               helper.make_tensor_value_info("total", TensorProto.INT32, [])]
    outputs.append(helper.make_tensor_value_info("best", TensorProto.INT64, [1, "rows"]))
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    onnx.save(made, path, save_as_external_data=True, location=os.path.basename(path) + ".weights")
    return [c.num_hidden_layers, [1, c.num_key_value_heads, o.context, size], numpy_type]


def onnxruntime(o):
    import tempfile
    import numpy as np
    import onnxruntime as ort
    if "WebGpuExecutionProvider" not in ort.get_available_providers():
        raise LeftOut("this onnxruntime has no WebGPU execution provider")
    o.context = len(PROMPT) + o.n + 8
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(o.gguf))) as folder:
        path = os.path.join(folder, "model.onnx")
        layers, shape, kind = onnx_graph(o, path)
        session = ort.InferenceSession(path, providers=["WebGpuExecutionProvider"])
    if session.get_providers()[0] != "WebGpuExecutionProvider":
        raise LeftOut("onnxruntime did not take its WebGPU execution provider")
    names = [f"{i} {which}" for i in range(layers) for which in "kv"]

    def make():
        tokens, given, done, caches = [], PROMPT, 0, None
        while len(tokens) < o.n:
            binding = session.io_binding()
            binding.bind_cpu_input("ids", np.array([given], np.int64))
            binding.bind_cpu_input("last", np.array([done + len(given) - 1], np.int32))
            binding.bind_cpu_input("total", np.array(done + len(given), np.int32))
            for k, name in enumerate(names):
                if caches:
                    binding.bind_ortvalue_input(f"past {name}", caches[k])
                else:
                    binding.bind_cpu_input(f"past {name}", np.zeros(shape, kind))
                binding.bind_output(f"new {name}", "webgpu")
            binding.bind_output("best", "cpu")
            session.run_with_iobinding(binding)
            *caches, best = binding.get_outputs()
            done += len(given)
            given = [int(best.numpy()[0, -1])]
            tokens += given
        return tokens
    return make


WAYS = {"eager": eager, "inductor": inductor, "solo-compile": solo_compile, "solo": solo, "tinygrad": tinygrad, "onnxruntime": onnxruntime}
COPIES = {"solo": 2.5, "solo-compile": 3, "tinygrad": 2, "onnxruntime": 5}  # of the weights on the host while a way is set up, if more than 1.5

# ---- measuring ------------------------------------------------------------------------------------------------


def work(send, receive, way, o):
    make = way(o)
    make()  # the first call compiles, the second may, too
    send(make())
    while True:
        receive()
        began = time.perf_counter()
        made = make()
        send((time.perf_counter() - began, made))


def gigabytes(way, o):
    """Of the host's memory, to set it up."""
    weights = os.path.getsize(o.gguf) / 1e9 if hasattr(o, "gguf") else 0
    return 2 + COPIES.get(way, 1.5) * weights


def set_up(ways, o, until, skipped):
    """Those of {name: function} that can be had, at once as far as there is memory. Also what each made at first."""
    waiting, starting, running, made, memory = dict(ways), {}, {}, {}, 0.9 * memory_left()
    try:
        while waiting or starting:
            for way in list(waiting):
                if not starting or sum(gigabytes(other, o) for other in (way, *starting, *running)) <= memory:
                    starting[way] = OwnProcess(work, waiting.pop(way), o)
            first = min(until, min(process.began for process in starting.values()) + o.each)
            heard = multiprocessing.connection.wait([process.pipe for process in starting.values()], max(first - time.perf_counter(), 0))
            for way, process in list(starting.items()):
                late = min(until, process.began + o.each)
                if process.pipe not in heard and time.perf_counter() < late:
                    continue
                del starting[way]
                try:
                    made[way] = process.receive(late)
                    running[way] = process
                    say(f"{way}: set up in {time.perf_counter() - process.began:.1f} s")
                except LeftOut as why:
                    leave_out(way, why, skipped)
            if time.perf_counter() >= until:
                for way in waiting:
                    leave_out(way, "no time was left", skipped)
                waiting = {}
    except Terminated as why:
        OwnProcess.end_all()
        for way in ways:
            if not any(left_out["what"] == way for left_out in skipped):
                leave_out(way, why, skipped)
        return {}, {}
    return {way: running[way] for way in ways if way in running}, made


def leave_out(what, why, skipped):
    say(f"{what}: left out: {why}")
    skipped.append({"what": what, "why": str(why)[:300]})


def warm(ways, o, until):
    """Sets all of them up and ends them. How many could not be had."""
    processes, left_out = {way: OwnProcess(work, WAYS[way], o) for way in ways}, 0
    for way, process in processes.items():
        try:
            process.receive(until)
            say(f"{way}: warm")
        except LeftOut as why:
            say(f"{way}: not warm: {why}")
            left_out += 1
        process.end()
    return left_out


def measure(running, o, until, skipped, write):
    """Round by round, as long as there is time; write(how long each took, what it made last) now and then. Returns these."""
    samples, last, written = {way: [] for way in running}, {}, time.perf_counter()
    try:
        for i in range(o.r):
            for way in random.Random(i).sample(list(running), len(running)):
                now, longest = time.perf_counter(), max(samples[way], default=0)
                if now + longest > until:
                    raise Terminated(f"the time was over in round {i}")
                try:
                    running[way].ask("again")
                    took, last[way] = running[way].receive(min(until, now + (20 + 20 * longest if longest else 120)))
                    samples[way].append(took)
                except LeftOut as why:
                    leave_out(f"{way}, from round {i} on", why, skipped)
                    del running[way]
            if time.perf_counter() - written > 15:
                write(samples, last)
                written = time.perf_counter()
    except Terminated as why:
        leave_out("further rounds", why, skipped)
    OwnProcess.end_all()
    return samples, last


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("folder")
    p.add_argument("gguf")
    p.add_argument("--dtype", choices=("f32", "f16"), default="f16")
    p.add_argument("-n", type=int, default=50)
    p.add_argument("-r", type=int, default=30)
    p.add_argument("--ways", default=",".join(WAYS))
    p.add_argument("--level", default="auto", help="of Solo")
    p.add_argument("--device", default="cuda")
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--each", type=float, default=200, help="seconds to set one up")
    p.add_argument("--warm", action="store_true")
    p.add_argument("--json")
    o = p.parse_args()
    ways = o.ways.split(",")
    unknown = [way for way in ways if way not in WAYS]
    if unknown:
        p.error(f"there is no way {unknown[0]}: {', '.join(WAYS)}")
    until, skipped = STARTED + o.seconds - 2, []
    raise_when_terminated()
    try:
        if o.warm:
            sys.exit(warm(ways, o, until))
        running, tokens = set_up({way: WAYS[way] for way in ways}, o, until, skipped)
        seconds, last = measure(running, o, until, skipped, lambda *rounds: write(o, tokens, skipped, *rounds))
        sys.exit(write(o, tokens, skipped, seconds, last, True))
    finally:
        OwnProcess.end_all()


def write(o, tokens, skipped, seconds, last, at_the_end=False):
    """The record of the rounds so far. Is anything wrong?"""
    reference = "eager" if "eager" in tokens else next(iter(tokens), None)
    checks, results = [], []
    for way, took in seconds.items():
        if not took:
            continue
        made, right, got = last[way], tokens[reference], [o.n / s for s in took]
        equal = next((i for i, (a, b) in enumerate(zip(made, right)) if a != b), len(right))
        checks.append(record.check(f"{way}: {o.n} tokens, the first of them {reference}'s", len(made) == o.n and equal > 0,
                                   f"the first {equal} of {len(right)} are equal"))
        checks.append(record.check(f"{way}: the same tokens each time", made == tokens[way]))
        if all(check["ok"] for check in checks[-2:]):
            results.append(record.result(f"generate{o.n}", {"impl": way, "dtype": o.dtype, "model": os.path.basename(o.folder.rstrip("/")),
                                                            "prompt": len(PROMPT), "equal_tokens": equal}, "tok/s", got))
            if at_the_end:
                say(f"{way}: {results[-1]['median']:.1f} tok/s, {len(got)} samples, {equal} tokens equal")
    gpu = {"impl": "several", "impl_version": "", "backend": "", "vendor": "", "device": o.device, "driver": "", "adapter_type": "", "features": {}, "limits": {}}
    made = record.record("torch_peers", gpu, {"tokens": o.n, "rounds": o.r, "dtype": o.dtype, "level": o.level}, results, checks, skipped=skipped)
    if o.json or at_the_end:
        record.write(o.json or "-", made)
    return not results or any(not check["ok"] for check in checks)


if __name__ == "__main__":
    main()
