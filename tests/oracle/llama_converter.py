#!/usr/bin/env python3
"""Has llama.cpp's own converter write GGUF files of tests/data/models and tests/data/families, and compares the logits that
Solo finds in them with those of the folders, and with llama.cpp's.

    tests/oracle/llama_converter.py [--solo PROGRAM] [--limit SHARE] [--fused] [--keep OUT] LLAMA.CPP [FOLDER...]

LLAMA.CPP is its source, with convert_hf_to_gguf.py. (npm's node-llama-cpp 3.22.1 has it as llama/gitRelease.bundle: `git clone`
makes a folder of that.) The tiny models have no tokenizer, so that the files get none either. --fused: q, k and v in one
matrix, and gate and up of experts, where the converter can do that. --keep: the file becomes OUT/model.gguf, with weights of
f16, and the folder's golden.json comes with it (so tests/data/experts/qwen35moe was made of qwen35moe-shared, --fused). Prints for each folder the largest differences as a share
of how far a position's logits spread; a difference from the folder over the limit, or a file that Solo refuses, is a failure.
What the converter or llama.cpp itself refuses is said and is none. Needs torch and transformers; without them it says so."""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import torch  # noqa: F401 (the converter needs it)
    import transformers
except ImportError:
    sys.exit(print("skipped: no torch and transformers here"))

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
TOKENS = "1,17,42,5,9,3,28,44,23,48,8,31,20"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--solo", default="build/solo")
    parser.add_argument("--limit", type=float, default=2e-5)
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("source")
    parser.add_argument("folders", nargs="*")
    options = parser.parse_args()
    options.folders = options.folders or sorted(glob.glob(f"{DATA}/models/*") + glob.glob(f"{DATA}/families/*"))
    return options


def find_converter(source):
    sys.path[:0] = [source, os.path.join(source, "gguf-py")]
    import convert_hf_to_gguf as converter
    by_name = converter.get_model_class

    def without_vocabulary(name, **more):
        kind = by_name(name, **more)

        def set_vocab(self):
            self.gguf_writer.add_tokenizer_model("none")
            self.gguf_writer.add_vocab_size(self.hparams["vocab_size"])

        kind.set_vocab = set_vocab
        if kind.supports_mtp_export:
            kind.no_mtp = True
        return kind

    converter.get_model_class = without_vocabulary
    return converter


def complete(folder, work):
    """The folder with what the converter asks for and transformers leaves out of new files."""
    for name in os.listdir(folder):
        if name != "config.json":
            os.symlink(os.path.abspath(os.path.join(folder, name)), os.path.join(work, name))
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    rope = config.get("rope_parameters") or {}
    config.setdefault("rotary_pct", rope.get("partial_rotary_factor", 1.0))
    if "n_positions" in config:
        config.setdefault("n_ctx", config["n_positions"])
    with open(os.path.join(work, "config.json"), "w") as f:
        json.dump(config, f)
    with open(os.path.join(work, "tokenizer.json"), "w") as f:  # whose tokens gemma's are counted by
        json.dump({"model": {"vocab": {str(i): i for i in range(config["vocab_size"])}}, "added_tokens": []}, f)


def convert(converter, folder, file, fused, kind="f32"):
    """None, or why not."""
    sys.argv = ["convert", folder, "--outtype", kind, "--outfile", file] + fused * ["--fuse-qkv", "--fuse-gate-up-exps"]
    try:
        converter.main()
    except (Exception, SystemExit) as e:  # whatever it finds wrong
        return (str(e) or type(e).__name__).splitlines()[0][:80]
    return None


def logits_of(command):
    """Rows, or what was said."""
    run = subprocess.run(command, capture_output=True, text=True)
    return json.loads(run.stdout)["logits"] if run.returncode == 0 else (run.stderr.strip().splitlines() or ["?"])[-1]


def share(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return a if isinstance(a, str) else b
    return max(max(abs(p - q) for p, q in zip(x, y)) / (max(x) - min(x)) for x, y in zip(a, b))


def show(difference):
    return difference if isinstance(difference, str) else f"{difference:.2g}"


def main():
    o = arguments()
    transformers.logging.set_verbosity_error()
    converter = find_converter(o.source)
    failed = False
    for folder in o.folders:
        name = os.path.basename(folder)
        with tempfile.TemporaryDirectory() as work:
            file = os.path.join(work, "model.gguf")
            inside = os.path.join(work, "folder")
            os.mkdir(inside)
            complete(folder, inside)
            why = convert(converter, inside, file, o.fused)
            if why:
                print(f"skip {name}: not converted ({why})", flush=True)
                continue
            if o.keep:
                os.makedirs(o.keep, exist_ok=True)
                convert(converter, inside, os.path.join(o.keep, "model.gguf"), o.fused, "f16")
                shutil.copy(os.path.join(folder, "golden.json"), o.keep)
            own = logits_of([o.solo, "logits", folder, "--tokens", TOKENS])
            read = logits_of([o.solo, "logits", file, "--tokens", TOKENS])
            theirs = logits_of([sys.executable, os.path.join(HERE, "llama_logits.py"), file, "--tokens", TOKENS])
            apart = share(own, read)
            bad = isinstance(apart, str) or not apart <= o.limit
            failed |= bad
            print("not ok" if bad else "ok", f"{name}: the folder's {show(apart)}, llama.cpp's {show(share(read, theirs))}",
                  flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
