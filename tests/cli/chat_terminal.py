#!/usr/bin/env python3
"""solo chat on a terminal: keys go in, the screen comes back.

    python3 tests/cli/chat_terminal.py SOLO MODEL

Prints a line per test: `ok NAME` or `not ok NAME why`.
"""
import os
import pty
import re
import select
import sys
import time

solo, model = sys.argv[1:3]
LIMIT_S = 1200  # for what hangs


class Terminal:
    def __init__(self, *arguments):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(solo, [solo, "chat", model, *arguments])

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def wait_for(self, pattern, limit_s=LIMIT_S):
        """Reads until the pattern appears in what came since the last time; returns that text, or None."""
        end = time.time() + limit_s
        while time.time() < end:
            found = re.search(pattern, self.seen)
            if found:
                text, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return text
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    piece = os.read(self.fd, 65536)
                except OSError:
                    return None
                self.seen += piece.decode(errors="replace")
        return None

    def status(self):
        end = time.time() + LIMIT_S
        while time.time() < end:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
        os.kill(self.pid, 9)
        return "still running"


def check(name, holds, why=""):
    print(f"ok {name}" if holds else f"not ok {name} {why!r}", flush=True)


t = Terminal("--temp", "0")
check("prompt", t.wait_for("> "), t.seen)
t.type("Once upon a time\n")
check("answers", t.wait_for("there was"), t.seen)
t.type("\x03")
check("ctrl_c_stops_the_answer", t.wait_for(r"\(stopped\)"), t.seen)
check("says_how_fast", t.wait_for(r"[1-9]\d* tokens, [1-9][\d.]* per second, the first after \d+ ms; [1-9]\d* read"), t.seen)
check("prompt_again", t.wait_for("> "), t.seen)
t.type("never sent")
t.wait_for("never sent")
t.type("\x03")
check("ctrl_c_gives_up_the_line", t.wait_for(r"\^C\r\n> "), t.seen)
t.type("/temp\n")
check("says_what_is_wrong", t.wait_for("--temp takes a number"), t.seen)
t.wait_for("> ")
t.type("\x1b[A\x1b[A\n")  # /temp, and before it the first message
check("arrow_keys_bring_it_back", t.wait_for("Once upon a time"), t.seen)
t.wait_for("[a-z]+ [a-z]+ ")
t.type("\x03")
check("stops_again", t.wait_for(r"\(stopped\)"), t.seen)
t.wait_for("> ")
t.type("\x04")
status = t.status()
check("ctrl_d_leaves", status == 0, status)

t = Terminal("-n", "4", "--temp", "0")
t.wait_for("> ")
t.type("Größe\\\n")
check("line_goes_on", t.wait_for(r"\.\.\. "), t.seen)
t.type("漢字\n")
check("answers_lines", t.wait_for(r"4 tokens"), t.seen)
path = f"/tmp/solo_chat_{os.getpid()}.json"
t.type(f"/save {path}\n/quit\n")
status = t.status()
check("quits", status == 0, status)
saved = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
check("characters_of_several_bytes", "Größe" in saved and "漢字" in saved, saved)
if saved:
    os.remove(path)
