#!/usr/bin/env python3
"""`solo pull` on a terminal: pull_terminal.py SOLO NAME. A progress bar is drawn, and Ctrl-C ends it with a line."""
import os
import pty
import signal
import subprocess
import sys
import time

solo, name = sys.argv[1:3]
ours, theirs = pty.openpty()


def own_terminal():
    os.setsid()
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


process = subprocess.Popen([solo, "pull", name], stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=own_terminal)
os.close(theirs)
said, sent, until = b"", False, time.time() + 30
while time.time() < until:
    try:
        piece = os.read(ours, 4096)
    except OSError:
        break
    if not piece:
        break
    said += piece
    if not sent and b"% " in said:
        os.write(ours, b"\x03")
        sent = True
process.wait(timeout=10)


def check(what, ok):
    print(f"ok {what}" if ok else f"not ok {what} (exit {process.returncode}, {said[-300:]!r})")


check("a terminal sees a bar", sent and b"story-Q8_0.gguf [#" in said)
check("Ctrl-C ends it as that signal does", process.returncode == -signal.SIGINT)
check("and one line says how to go on", b"story-Q8_0.gguf: stopped; the same command goes on from there" in said)
