#!/usr/bin/env python3
"""A file that takes another's place is on the disk before it does, and its folder after that.

order.py SOLO LIBRARY [--only WORD]: LIBRARY is fail_calls.c, built; it notes the order of calls. Commands that write a file
run once. Before a rename to its name everything that was written to that file has to be synced, afterwards the folder that it
is in: then a machine that stops at any moment has the old file or the new one. Files of the cache (but for models that were
fetched) may be lost. Prints a line `ok` or `not ok` for each command.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORD = os.path.join(ROOT, "results/h200/llm/qwen2.5-0.5b-f32.torch.json")
COMMANDS = [  # name, command line, file that it writes, input
    ("explain", "explain --svg {out}/plan.svg --bandwidth 100", "plan.svg", ""),
    ("report", "report {record} -o {out}/report.html", "report.html", ""),
    ("convert", "convert {folder} {out}/model.gguf --type q8_0", "model.gguf", ""),
    ("bench dispatch", "bench dispatch --impl stub --quick --rounds 2 --processes 1 --json {out}/record.json", "record.json", ""),
    ("sim", "sim pi --impl dawn --pop 64 --steps 4 -o {out}/scores.csv", "scores.csv", ""),
    ("sim --save", "sim cartpole --impl dawn --pop 64 --steps 10 --evolve 2 --save {out}/saved.evo", "saved.evo", ""),
    ("chat", "chat --impl dawn --fuse ops --seed 1 -n 3 --session {out}/session", "session", "Hello\n"),
    ("pull", "pull right/one", "models/*/right/one/a.gguf", ""),
]


def fault_of(lines, target, folder):
    """Why the order of these calls does not keep `target`, or None."""
    buffered, written, renamed, synced_folder = set(), set(), False, False
    for line in lines:
        what, inode, *name = line.split(" ", 2)
        if what == "buffer":
            buffered.add(inode)
        elif what == "write":
            buffered.discard(inode)
            written.add(inode)
        elif what == "close" and inode in buffered:
            buffered.discard(inode)
            written.add(inode)
        elif what == "sync":
            written.discard(inode)
            synced_folder = synced_folder or (renamed and inode == folder)
        elif what == "rename" and os.path.realpath(name[0].rstrip("\n")) == target:
            if inode in buffered or inode in written:
                return "what was written is not synced before the rename"
            renamed, synced_folder, new = True, False, inode
    if not renamed:
        return "there was no rename"
    if new in buffered or new in written:
        return "something was written after the rename"
    return None if synced_folder else "the folder is not synced after the rename"


def start_hub(work):
    repos, ports = os.path.join(work, "repos"), os.path.join(work, "ports")
    os.makedirs(os.path.join(repos, "one"))
    with open(os.path.join(repos, "one", "a.gguf"), "wb") as f:
        f.write(b"GGUF" + bytes(200_000))
    hub = subprocess.Popen([sys.executable, os.path.join(ROOT, "tests/cli/hub_server.py"), repos, os.path.join(work, "log"), ports],
                           stdin=subprocess.PIPE)
    while not os.path.exists(ports) and hub.poll() is None:
        pass
    with open(ports) as f:
        return hub, f"127.0.0.1:{f.read().split()[0]}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("solo")
    options.add_argument("library")
    options.add_argument("--only", default="")
    chosen, failed = options.parse_args(), False
    with tempfile.TemporaryDirectory() as work:
        work = os.path.realpath(work)
        out, log, cache = (os.path.join(work, name) for name in ("out", "calls", "cache"))
        words = {"out": out, "record": RECORD, "folder": os.path.join(work, "folder")}
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/oracle/make_folder.py"), "mistral", words["folder"]], check=True)
        hub, address = start_hub(work)
        env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        env.update(LD_PRELOAD=os.path.abspath(chosen.library), FAULT_LOG=log, SOLO_CACHE=cache, SOLO_HUB="http://" + address)
        for name, line, file, text in COMMANDS:
            if chosen.only not in name:
                continue
            shutil.rmtree(out, ignore_errors=True)
            os.mkdir(out)
            target = os.path.join(cache, file.replace("*", address)) if file.startswith("models/") else os.path.join(out, file)
            with open(log, "w"):
                pass
            ran = subprocess.run([os.path.abspath(chosen.solo), *line.format(**words).split()], input=text, env=env, text=True, capture_output=True)
            with open(log) as f:
                lines = f.readlines()
            fault = ran.stderr if ran.returncode else fault_of(lines, target, str(os.stat(os.path.dirname(target)).st_ino))
            failed = failed or bool(fault)
            print(f"not ok {name}: {fault}" if fault else f"ok {name}: {file} is synced, then renamed, then its folder is synced", flush=True)
        hub.stdin.close()
        hub.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
