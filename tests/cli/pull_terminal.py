#!/usr/bin/env python3
"""`solo pull` on a terminal: pull_terminal.py SOLO NAME. A progress bar is drawn, and Ctrl-C ends it with a line."""
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

solo, name = sys.argv[1:3]
ours, theirs = pty.openpty()
status_out, status_in = os.pipe()
hold_out, hold_in = os.pipe()


def lead():
    """Owns the terminal until all was read: when a session's leader ends, what it wrote last may be lost."""
    os.close(hold_in)
    os.setsid()
    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ended = subprocess.run([solo, "pull", name], stdin=theirs, stdout=theirs, stderr=theirs,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    os.write(status_in, str(ended.returncode).encode())
    os.read(hold_out, 1)
    os._exit(0)


leader = os.fork()
if leader == 0:
    lead()
os.close(theirs)
said, sent, status, until = b"", False, None, time.time() + 30
while time.time() < until:
    ready, _, _ = select.select([ours] + ([status_out] if status is None else []), [], [], 0.5)
    if status is not None and not ready:
        break
    if status_out in ready:
        status = int(os.read(status_out, 16))
    if ours in ready:
        said += os.read(ours, 4096)
    if not sent and b"% " in said:
        os.write(ours, b"\x03")
        sent = True
os.close(hold_in)
if status is None:
    os.killpg(leader, signal.SIGKILL)
os.waitpid(leader, 0)


def check(what, ok):
    print(f"ok {what}" if ok else f"not ok {what} (status {status}, {said[-300:]!r})")


check("a terminal sees a bar", sent and b"story-Q8_0.gguf [#" in said)
check("Ctrl-C ends it as that signal does", status == -signal.SIGINT)
check("and one line says how to resume", b"story-Q8_0.gguf: stopped; run the same command to resume" in said)
