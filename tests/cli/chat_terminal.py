#!/usr/bin/env python3
"""solo chat on a terminal: keys go in, the screen comes back.

    python3 tests/cli/chat_terminal.py SOLO MODEL BIGRAM

BIGRAM is what make_bigram.py writes.

Prints a line per test: `ok NAME` or `not ok NAME why`.
"""
import os
import pty
import re
import select
import sys
import time

solo, model, bigram = sys.argv[1:4]
LIMIT_S = 300  # for what hangs


class Terminal:
    def __init__(self, *arguments, model=model):
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

    def leave(self):
        """Ctrl-D at the prompt: typed before it, the key is not the line editor's to see."""
        self.wait_for("> ")
        self.type("\x04")
        return self.status()

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
status = t.leave()
check("ctrl_d_leaves", status == 0, status)

t = Terminal("-n", "4", "--temp", "0")
t.wait_for("> ")
t.type("Größe\\\n")
check("line_goes_on", t.wait_for(r"\.\.\. "), t.seen)
t.type("漢字\n")
check("answers_lines", t.wait_for(r"4 tokens"), t.seen)
path = f"{os.path.dirname(bigram)}/saved.json"
t.type(f"/save {path}\n/quit\n")
status = t.status()
check("quits", status == 0, status)
saved = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
check("characters_of_several_bytes", "Größe" in saved and "漢字" in saved, saved)
if saved:
    os.remove(path)

# a full context: it says so, the message waits, and both ways out answer it
folder = os.path.dirname(bigram)
with open(f"{folder}/turns.jinja", "w") as f:
    f.write("{% for m in messages %}{{ m.role }}: {{ m.content }}. {% endfor %}<|say|>")
t = Terminal("-c", "256", "--temp", "0", "--template", f"{folder}/turns.jinja", model=bigram)
for way in ("/compact", "/slide"):
    t.wait_for("> ")
    full = None
    for _ in range(30):
        t.type("Tell me more.\n")
        full = t.wait_for(r"is full: /compact summarises|\d+ tokens, [\d.]+ per second", 120)
        if not full or "is full" in full:
            break
        t.wait_for("> ")
    check(f"says_full_before{way}", full and "is full" in full, t.seen)
    check(f"says_how_to_have_more_before{way}", t.wait_for(r"-c N"), t.seen)
    t.type(f"{way}\n")
    check(f"answers_after{way}", t.wait_for(r"\d+ tokens, [\d.]+ per second"), t.seen)
status = t.leave()
check("leaves_after_full", status == 0, status)

# a dispatch that takes long, since one of its workgroups does not arrive: Ctrl-C is answered, and heard the second time
stalled = {"SOLO_ONE_GROUPS": "2", "SOLO_ONE_STALL": "1", "SOLO_ONE_LOOKS": "4000000000"}
os.environ.update(stalled)
t = Terminal("--fuse", "loop", "--wait", "--temp", "0")
for name in stalled:
    del os.environ[name]
for seconds in (4, 16, 64):  # until the prompt was read and the dispatch has begun
    t.wait_for("> ")
    t.type("Once upon a time\n")
    t.wait_for("(?!)", seconds)
    t.type("\x03")
    said = t.wait_for(r"Ctrl-C again ends solo|\(stopped\)", 60)
    if not said or "again" in said:
        break
check("ctrl_c_in_a_long_dispatch_is_answered", said and "again" in said, (said, t.seen))
t.type("\x03")
status = t.status()
check("and_the_second_ends", status == -2, status)

# Tab completes commands
t = Terminal("--temp", "0")
t.wait_for("> ")
t.type("/reg\t\n")
check("tab_completes", t.wait_for("there is no answer yet"), t.seen)
t.type("/re\t")
check("tab_lists", t.wait_for("/regenerate  /repeat-penalty  /reset"), t.seen)
t.type("s\t\n")
check("tab_goes_on", t.wait_for(r"et "), t.seen)
t.leave()

# thoughts are dimmed, without their tags, and end after the budget
with open(f"{folder}/think.jinja", "w") as f:
    f.write("{{ messages[-1].content }}<think>")
t = Terminal("--temp", "0", "--template", f"{folder}/think.jinja", "--think-budget", "3", model=bigram)
t.wait_for("> ")
t.type("hi\n")
text = t.wait_for(r"per second") or ""
check("thoughts_are_dimmed", text.count("\x1b[2mhm \x1b[0m") == 3 and "think>" not in text and "Yes." in text, text)
t.leave()
