"""One folder of llama.cpp's libraries at work in a process of its own: two releases of them in one process would
take each other's functions. Told what to do over a pipe; see serve."""
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
