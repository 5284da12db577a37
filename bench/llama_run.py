"""One folder of llama.cpp's libraries at work in a process of its own: two releases of them in one process would
take each other's functions. Told what to do over a pipe (serve), or by its arguments (main)."""
import json
import os
import sys
import time

import llama_cpp

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


def generate(m, before, token, count, batch):
    """The tokens that follow `token` behind `before`, the seconds that they took, and those for choosing them."""
    m.forget()
    if before:
        read_prompt(m, before, batch)
    tokens, seconds, choosing = [], 0, 0
    for _ in range(count):
        start = time.perf_counter()
        m.run([token])
        logits = m.logits_at(-1)
        there = time.perf_counter()
        token = most_likely(logits, m.n_vocab)
        tokens.append(token)
        seconds += there - start
        choosing += time.perf_counter() - there
    return tokens, seconds, choosing


def gap_between(m, before, a, b, batch):
    """How far apart the logits of two tokens are behind these, relative to how far all of them spread."""
    read_prompt(m, before, batch)
    logits = m.logits_at(-1)[:m.n_vocab]
    return abs(logits[a] - logits[b]) / (max(logits) - min(logits))


def open_models(folder, path, options):
    models, first = {}, None
    for flash in options["flash"]:
        models[flash] = llama_cpp.Model(folder, path, context=options["context"], batch=options["batch"],
                                        gpu_layers=0 if options["cpu"] else 999, flash=flash, threads=options["threads"],
                                        share=first)
        first = first or models[flash]
    return models, first


def serve(pipe, folder, path, options):
    """Answers each question (name, arguments...) with (True, answer) or (False, why not)."""
    models = {}
    try:
        library = llama_cpp.open_library(folder)
        if not options["cpu"] and not any(d["is_gpu"] for d in library.devices()):
            raise llama_cpp.LlamaError(library.why_no_gpu())
        models, first = open_models(folder, path, options)
        pipe.send((True, {"version": library.version, "devices": library.devices(), "n_vocab": first.n_vocab}))
        while True:
            what, flash, *rest = pipe.recv()
            function = {"prompt": read_prompt, "generate": generate, "gap": gap_between}[what]
            pipe.send((True, function(models[flash], *rest, options["batch"])))
    except EOFError:  # no more questions
        for flash in reversed(options["flash"]):
            models[flash].__exit__()
    except (llama_cpp.LlamaError, OSError) as e:
        pipe.send((False, str(e)))


def first_token(folder, path, text, began):
    """Seconds since `began` until a library has been loaded, the model too, and the first token behind the text is chosen."""
    library = llama_cpp.open_library(folder)
    cpu = "--cpu" in sys.argv
    gpu = None if cpu else next((d for d in library.devices() if d["is_gpu"]), None)
    if gpu is None and not cpu:
        raise llama_cpp.LlamaError(library.why_no_gpu())
    # as much context as `solo run` takes
    with llama_cpp.Model(folder, path, context=2048, gpu_layers=999 if gpu else 0) as m:
        m.run(m.tokenize(text))
        token = most_likely(m.logits_at(-1), m.n_vocab)
        seconds = time.monotonic() - began
    backend = gpu["name"].rstrip("0123456789") if gpu else "CPU"
    return {"seconds": seconds, "token": token, "version": library.version, "backend": backend}


def main():
    """llama_run.py FOLDER MODEL TEXT [--cpu]: that, as JSON, and how long Python took to come so far."""
    began = time.monotonic()
    with open("/proc/self/stat") as stat:  # in clock ticks since the machine started, which is what the clock counts from
        started = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    try:
        found = first_token(*sys.argv[1:4], began)
    except (llama_cpp.LlamaError, OSError) as e:
        llama_cpp.fail(f"llama_run.py: {e}")
    print(json.dumps({**found, "python_s": time.clock_gettime(time.CLOCK_BOOTTIME) - (time.monotonic() - began) - started}))


if __name__ == "__main__":
    main()
