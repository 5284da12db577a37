#!/usr/bin/env python3
"""How long it takes from the start of `solo run` to its first text, and until it has changed over to the megakernel.

    bench/startup.py [MODEL] [-r PAIRS] [-n TOKENS] [--wait] [--no-cache] [--driver-cache off] [--json FILE] [--llama FOLDER]...
                     [--solo build/solo] [--cache FOLDER] [--seconds S] [--left-out WHAT:WHY]... [-- OPTIONS OF solo run]

A pair is two runs: the first has new folders for what Solo and the drivers (Mesa, NVIDIA, CUDA) keep, the second what the
first left there. The file is read before, so that it is in the page cache. MODEL is a file; without it, or `builtin`, the
built-in model. Printed, and kept with --json, in seconds from the start of the process: the first text behind the prompt,
the change-over (and the tokens by ops before it), the end; the processor's seconds; the most memory that is no file's.

-n TOKENS       8 are enough for the first text; some thousand reach the change-over, if it comes after the text began
--wait          text when all is there, as `solo run --wait`
--no-cache      with SOLO_CACHE=off; --driver-cache off switches the drivers' caches off, so that only what Solo keeps is left
--llama FOLDER  of llama.cpp's libraries (bench/llama.py): its first token in a process of its own, after each of Solo's runs.
                Its seconds begin where Python has started and read its modules in; how long that took is in the record, too
--cache FOLDER  is used for the caches of the last pair and stays, for other runs
--left-out      goes into the record as something that was not measured
"""
import argparse
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import threading
import time

import record

PROMPT = "Once upon a time"
SPEED = re.compile(r"(\d+) tokens.*the first after (\d+) ms; .* level (.*)")
CHANGED = re.compile(r"ops, after (\d+) tokens and ([\d.]+) s (\w+)")
HERE = os.path.dirname(os.path.abspath(__file__))
LOOK_S = 0.02  # between two looks at the memory


class Failed(Exception):
    pass


def environment_of(folder, o):
    places = {"SOLO_CACHE": "solo", "XDG_CACHE_HOME": "xdg", "MESA_SHADER_CACHE_DIR": "mesa", "__GL_SHADER_DISK_CACHE_PATH": "gl",
              "CUDA_CACHE_PATH": "cuda"}
    places = {name: os.path.join(folder, place) for name, place in places.items()}
    for place in places.values():
        os.makedirs(place, exist_ok=True)
    if o.no_cache:
        places["SOLO_CACHE"] = "off"
    if o.driver_cache == "off":
        places.update(MESA_SHADER_CACHE_DISABLE="true", __GL_SHADER_DISK_CACHE="0", CUDA_CACHE_DISABLE="1")
    return {**os.environ, **places}


def private_mb(pid, file):
    """Of its memory, what is not a mapped file. A file of a file system in memory counts as shared memory: what is there of it is not counted."""
    try:
        with open(f"/proc/{pid}/status") as lines:
            kb = {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))}
        return (kb["RssAnon:"] + max(0, kb["RssShmem:"] - (mapped_kb(pid, file) if kb["RssShmem:"] else 0))) / 1000
    except (OSError, ValueError, KeyError):
        return 0


def mapped_kb(pid, file):
    found, its = 0, False
    with open(f"/proc/{pid}/smaps") as lines:
        for line in lines:
            if not line[0].isupper():
                its = line.rstrip("\n").endswith(" " + file)
            elif its and line.startswith("Rss:"):
                found += int(line.split()[1])
    return found


def watch(process, file, outputs, seen, limit_s, began):
    """Reads both terminals until they are closed, and notes when there was text behind the prompt."""
    while outputs and time.monotonic() - began < limit_s:
        seen["memory_mb"] = max(seen["memory_mb"], private_mb(process.pid, file))
        for place in select.select(list(outputs), [], [], LOOK_S)[0]:
            try:
                piece = os.read(place, 65536)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                del outputs[place]
                continue
            outputs[place] += piece
            if "text_s" not in seen and place == seen["text"] and len(outputs[place]) > len(PROMPT):
                seen["text_s"] = time.monotonic() - began
            seen["said"][place == seen["text"]] = outputs[place].decode(errors="replace")
    return not outputs


def run_solo(command, file, environment, limit_s):
    """On terminals of its own, where it says how fast it was. One for the text: progress is shown on the other."""
    text, its_text = pty.openpty()
    errors, its_errors = pty.openpty()
    before, began = os.times(), time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its_text, stderr=its_errors, env=environment)
    os.close(its_text)
    os.close(its_errors)
    seen = {"text": text, "memory_mb": 0, "said": ["", ""]}
    in_time = watch(process, file, {text: b"", errors: b""}, seen, limit_s, began)
    if not in_time:
        process.kill()
    status = process.wait()
    seen["end_s"], after = time.monotonic() - began, os.times()
    seen["cpu_s"] = after.children_user + after.children_system - before.children_user - before.children_system
    os.close(text)
    os.close(errors)
    said = seen["said"][0].replace("\r", "\n").strip()
    speed = SPEED.search(said)
    if status or "text_s" not in seen or not speed:
        what = f"status {status}" if in_time else f"not done after {limit_s:.0f} s"
        raise Failed(f"{' '.join(command)}: {what}: {said.splitlines()[-1] if said else 'no word'}")
    changed = CHANGED.search(speed[3])
    seen.update(tokens=int(speed[1]), level=speed[3].split()[-1], notices=[x for x in said.splitlines() if "not possible" in x])
    if changed:  # its clock starts with the prompt
        seen.update(changed_s=seen["text_s"] - int(speed[2]) / 1000 + float(changed[2]), by_ops=int(changed[1]))
    return seen


def run_llama(folder, path, cpu, environment, limit_s):
    began = time.monotonic()
    try:
        done = subprocess.run([sys.executable, os.path.join(HERE, "llama_run.py"), folder, path, PROMPT, *(["--cpu"] if cpu else [])],
                              env=environment, text=True, capture_output=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise Failed(f"llama.cpp: not done after {limit_s:.0f} s")
    if done.returncode:
        raise Failed(f"llama.cpp: {(done.stderr.strip() or 'no word').splitlines()[-1]}")
    return {**json.loads(done.stdout), "with_python_s": time.monotonic() - began}


def into_page_cache(path):
    """By several threads: large files take seconds even from memory."""
    piece, size, threads = 1 << 24, os.path.getsize(path), 8

    def read(first):
        with open(path, "rb", buffering=0) as contents:
            buffer = bytearray(piece)
            for at in range(first * piece, size, threads * piece):
                contents.seek(at)
                contents.readinto(buffer)
    readers = [threading.Thread(target=read, args=(i,)) for i in range(threads)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()


def line_of(which, seen):
    over = f"{seen['changed_s']:.2f} s ({seen['by_ops']} tokens by ops)" if "changed_s" in seen else "none in the text"
    return (f"{which} run: text {seen['text_s']:.3f} s, change-over {over}, end {seen['end_s']:.2f} s; {seen['cpu_s']:.2f} s of CPU, "
            f"{seen['memory_mb']:.0f} MB; {seen['tokens']} tokens, level {seen['level']}")


def measure(o, command, path):
    """Every run in order: (which, what was seen of Solo, what of each of llama.cpp's libraries)."""
    runs, left_out = [], {}
    for pair in range(o.r):
        with tempfile.TemporaryDirectory() as folder:
            environment = environment_of(o.cache if o.cache and pair == o.r - 1 else folder, o)
            for which in ("first", "second"):
                seen, peers = run_solo(command, os.path.realpath(path) if path else "", environment, o.seconds), {}
                print(line_of(which, seen), flush=True)
                for library in [] if path is None else o.llama:
                    try:
                        peers[library] = run_llama(library, path, o.cpu, environment, o.seconds)
                        print("    llama.cpp %(backend)s: first token %(seconds).3f s, and %(python_s).2f s of Python before"
                              % peers[library], flush=True)
                    except Failed as why:
                        left_out[library] = str(why)
                        print(f"    left out: {why}", flush=True)
                runs.append((which, seen, peers))
    return runs, left_out


def results_of(o, runs):
    results = []
    for which in ("first", "second"):
        here = [seen for name, seen, _ in runs if name == which]
        params = {"run": which, "impl": "solo"}
        for name, key, unit in (("first text", "text_s", "s"), ("change-over", "changed_s", "s"), ("tokens by ops", "by_ops", "tokens"),
                                ("end", "end_s", "s"), ("processor", "cpu_s", "s"), ("memory", "memory_mb", "MB")):
            samples = [seen[key] for seen in here if key in seen]
            if samples:
                results.append(record.result(name, params, unit, samples))
        for library in o.llama:
            peers = [found[library] for name, _, found in runs if name == which and library in found]
            if peers:
                about = {"run": which, "impl": "llama.cpp", "backend": peers[0]["backend"], "version": peers[0]["version"]}
                results.append(record.result("first token", about, "s", [p["seconds"] for p in peers],
                                             python_s=[p["python_s"] for p in peers]))
    return results


def main():
    words = sys.argv[1:]
    behind = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="builtin")
    parser.add_argument("--json")
    parser.add_argument("--solo", default=os.environ.get("SOLO", "build/solo"))
    parser.add_argument("-r", type=int, default=1, help="pairs of runs")
    parser.add_argument("-n", type=int, default=8, help="tokens")
    parser.add_argument("--seconds", type=float, default=120, help="that one run may take")
    parser.add_argument("--wait", action="store_true")
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--driver-cache", choices=["on", "off"], default="on")
    parser.add_argument("--cache")
    parser.add_argument("--llama", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--cpu", action="store_true", help="llama.cpp takes the processor")
    parser.add_argument("--left-out", action="append", default=[], metavar="WHAT:WHY")
    o, options = parser.parse_args(words[:behind]), words[behind + 1:]
    path = None if o.model == "builtin" else o.model
    command = [o.solo, "run", *([path] if path else []), "-p", PROMPT, "-n", str(o.n), "--temp", "0", *(["--wait"] if o.wait else []), *options]
    try:
        if path:
            into_page_cache(path)
        runs, peers_left_out = measure(o, command, path)
    except (Failed, OSError) as why:
        raise SystemExit(f"startup.py: {why}")
    if not o.json:
        return
    skipped = [dict(zip(("what", "why"), text.split(":", 1))) for text in o.left_out]
    notices = sorted({line for _, seen, _ in runs for line in seen["notices"]})
    skipped += [{"what": "one dispatch", "why": line} for line in notices]
    skipped += [{"what": f"llama.cpp, {os.path.basename(os.path.normpath(library))}", "why": why} for library, why in peers_left_out.items()]
    checks = [record.check("every run printed text and ended well", True, f"{len(runs)} runs")]
    params = {"model": os.path.basename(o.model), "pairs": o.r, "tokens": o.n, "prompt": PROMPT, "wait": o.wait, "solo_cache": not o.no_cache,
              "driver_cache": o.driver_cache == "on"}
    record.write(o.json, record.record("startup", {}, params, results_of(o, runs), checks, skipped=skipped))


if __name__ == "__main__":
    main()
