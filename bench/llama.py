#!/usr/bin/env python3
"""llama.cpp measured on a GGUF file: reading a prompt, and one token after the other.

    bench/llama.py MODEL.gguf [-p 512] [-n 128] [-d 512] [-r 5] [--flash off,on] [--json FILE]

pp: P random tokens in one batch, with the logits of the last. tg: N tokens, each the most likely
one, from depth D on, with all logits read back each time. What is timed is llama_decode until the
logits are there; finding the most likely one is not (it is in `choose_us`). The settings of
--flash are run alternately, after a warm-up each. All layers go to the GPU, and without one it
fails unless --cpu asks for the processor. Prints one JSON object with every sample."""
import argparse
import json
import os
import platform
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import llama_cpp  # noqa: E402
import record  # noqa: E402

try:
    import numpy
except ImportError:  # slower to choose by, which is not timed
    numpy = None


def most_likely(logits, count):
    if numpy is None:
        values = logits[:count]
        return max(range(count), key=values.__getitem__)
    return int(numpy.ctypeslib.as_array(logits, shape=(count,)).argmax())


def read_prompt(m, prompt, batch):
    """Seconds until the last logits are there."""
    m.forget()
    start = time.perf_counter()
    for at in range(0, len(prompt), batch):
        m.run(prompt[at:at + batch])
    m.logits_at(-1)
    return time.perf_counter() - start


def generate(m, prompt, depth, count, batch):
    """The tokens, the seconds that they took, and those for choosing them."""
    filled = (prompt * (depth // len(prompt) + 1))[:depth]
    read_prompt(m, filled, batch)
    token, tokens, seconds, choosing = most_likely(m.logits_at(-1), m.n_vocab), [], 0, 0
    for _ in range(count):
        start = time.perf_counter()
        m.run([token])
        logits = m.logits_at(-1)
        there = time.perf_counter()
        tokens.append(token)
        token = most_likely(logits, m.n_vocab)
        seconds += there - start
        choosing += time.perf_counter() - there
    return tokens, seconds, choosing


def summary(name, params, samples, **more):
    return record.result(name, params, "tok/s", samples, **more)


def measure(a, folder):
    settings, results = a.flash.split(","), []
    given = [int(t) for t in a.prompt_tokens.split(",")] if a.prompt_tokens else []
    context = max(len(given) or a.prompt, a.depth) + a.tokens + 32
    models, any_model = {}, None
    for flash in settings:
        models[flash] = llama_cpp.Model(folder, a.model, context=context, batch=a.batch,
                                        gpu_layers=0 if a.cpu else 999, flash=flash, threads=a.threads,
                                        share=any_model)
        any_model = any_model or models[flash]
    devices = any_model.library.devices()
    if not a.cpu and not any(d["is_gpu"] for d in devices):
        raise llama_cpp.LlamaError(f"llama.cpp finds no GPU here (--cpu measures the processor): {devices}")
    numbers = random.Random(a.seed)
    prompt = given or [numbers.randrange(any_model.n_vocab) for _ in range(a.prompt)]
    pp, tg, choose, greedy = ({f: [] for f in settings} for _ in range(4))
    for repetition in range(-1, a.repetitions):  # the first warms up
        for flash in numbers.sample(settings, len(settings)):
            m = models[flash]
            seconds = read_prompt(m, prompt, a.batch)
            tokens, decoding, choosing = generate(m, prompt, a.depth, a.tokens, a.batch)
            if repetition >= 0:
                pp[flash].append(len(prompt) / seconds)
                tg[flash].append(a.tokens / decoding)
                choose[flash].append(choosing / a.tokens * 1e6)
                greedy[flash].append(tokens)
    for flash in settings:
        params = {"impl": a.label or os.path.basename(os.path.normpath(folder)), "flash": flash, "depth": a.depth,
                  "batch": a.batch}
        results.append(summary(f"pp{len(prompt)}", params, pp[flash]))
        results.append(summary(f"tg{a.tokens}", params, tg[flash], choose_us=statistics.median(choose[flash]),
                               greedy=greedy[flash][0],
                               same_tokens_each_time=all(g == greedy[flash][0] for g in greedy[flash])))
    record = {"what": "llama.cpp", "version": any_model.library.version, "libraries": os.path.basename(folder),
              "devices": devices, "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "host": platform.platform(), "model": os.path.basename(a.model), "bytes": os.path.getsize(a.model),
              "prompt": prompt, "results": results}
    for flash in reversed(settings):
        models[flash].__exit__()
    return record


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("-p", "--prompt", type=int, default=512, help="tokens of the prompt")
    p.add_argument("--prompt-tokens", help="these token ids instead of random ones")
    p.add_argument("-n", "--tokens", type=int, default=128, help="tokens to generate")
    p.add_argument("-d", "--depth", type=int, default=512, help="tokens that are there before generating")
    p.add_argument("-b", "--batch", type=int, default=512)
    p.add_argument("-r", "--repetitions", type=int, default=5)
    p.add_argument("--flash", default="off,on", help="off, on or auto, or several")
    p.add_argument("--cpu", action="store_true", help="no layers on a GPU")
    p.add_argument("--threads", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--lib", help="the folder with libllama*.so")
    p.add_argument("--label", help="what to call these libraries in the record")
    p.add_argument("--json", default="-", metavar="FILE")
    a = p.parse_args()
    if any(f not in llama_cpp.FLASH for f in a.flash.split(",")):
        p.error(f"--flash takes {', '.join(llama_cpp.FLASH)}")
    try:
        record = measure(a, llama_cpp.find_libraries(a.lib))
    except (llama_cpp.LlamaError, OSError) as e:
        llama_cpp.fail(e)
    text = json.dumps(record) + "\n"
    if a.json == "-":
        sys.stdout.write(text)
    else:
        with open(a.json, "w") as f:
            f.write(text)


main()
