#!/usr/bin/env python3
"""solo run on a terminal: what it says of its speed, and that it reads no text from the keyboard.

    python3 tests/cli/run_terminal.py SOLO

Prints a line per test: `ok NAME` or `not ok NAME why`.
"""
import os
import pty
import re
import shutil
import sys
import tempfile

solo = sys.argv[1]
SPEED = r"\b5 tokens, [0-9.]+ tok/s, the first after \d+ ms; \d+ read; level (none|ops|token|loop)\r?\n"


def run(*arguments, output=None, errors=None, command="run"):
    """What the terminal shows, and the exit status; `output`, `errors`: a file that stands in for the terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        for path, number in (output, 1), (errors, 2):
            if path:
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.execv(solo, [solo, command, *arguments])
    shown = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return shown.decode(errors="replace"), status


def check(name, holds, why):
    print(f"ok {name}" if holds else f"not ok {name} {why!r}", flush=True)


arguments = ["-p", "There was once a king", "-n", "5"]
shown, status = run(*arguments)
check("on a terminal it says its speed", status == 0 and re.search(SPEED, shown), shown)
shown, status = run(*arguments, output="/dev/null")
check("not if the text goes elsewhere", status == 0 and shown == "", shown)
shown, status = run(*arguments, errors="/dev/null")
check("nor if errors do", status == 0 and "tok/s" not in shown and shown.startswith("There was once a king"), shown)
shown, status = run()
check("a terminal is no text", status == 2 and "a text (-p)" in shown and shown.count("\n") == 1, shown)
shown, status = run("-p", "a\x1b]0;title\x07b\u009bc", "-n", "1")
check("what would control a terminal is shown", status == 0 and "\x1b" not in shown and "\x07" not in shown and
      "\x9b" not in shown and shown.startswith("a\\x1b]0;title\\x07b\\x9bc"), shown)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a\x1b]0;title\x07b.gguf")
    shutil.copy("models/builtin.gguf", path)
    shown, status = run(path, "--bandwidth", "100", command="explain")
check("nor does a file's name in a plan", status == 0 and "\x1b" not in shown and "\x07" not in shown and
      "a\\x1b]0;title\\x07b" in shown, shown[:200])
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "models", "hub", "owner", "a\x1b]0;title\x07b")
    os.makedirs(path)
    shutil.copy("models/builtin.gguf", os.path.join(path, "model.gguf"))
    os.environ["SOLO_CACHE"] = folder
    shown, status = run(command="models")
check("nor one of downloaded models", status == 0 and "\x1b" not in shown and "\x07" not in shown and
      "a\\x1b]0;title\\x07b" in shown, shown)
