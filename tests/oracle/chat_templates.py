"""Compares the interpreter of chat templates with Jinja2 on published templates: seven shapes of conversation, and random ones.

    python3 tests/oracle/chat_templates.py RENDER TEMPLATE...            RENDER: build/tests/unit/test_jinja
    python3 tests/oracle/chat_templates.py --table RENDER TEMPLATE...    the table of docs/chat.md

All that Jinja2 renders has to be rendered the same; what raise_exception refuses has to be refused with its message.
"""
import collections
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "deps", "python"))
from jinja_oracle import CLOCK, render

RANDOM = 4000

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": 'Weather "here" & <there>', "parameters": {
    "type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "a town"}, "days": {"type": "integer", "enum": [1, 2, 3]},
        "options": {"type": "object", "properties": {"x": {"type": ["string", "null"]}, "l": {"type": "array", "items": {"type": "number"}}}}}}}}]
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2}}}]}
RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": '{"t": 20}'}


def user(text):
    return {"role": "user", "content": text}


def answer(text, **more):
    return {"role": "assistant", "content": text, **more}


SYSTEM = {"role": "system", "content": "Be brief."}
SHAPES = [
    ("user", [user("Hello")], None),
    ("system, user", [SYSTEM, user("Hello")], None),
    ("with an answer", [user("Hello"), answer("Hi there"), user("Who?")], None),
    ("with thoughts", [user("Hello"), answer("Hi", reasoning_content="hm, so", thinking="hm, so"), user("Who?"),
                       answer("<think>\nhm\n</think>\n\nI"), user("What?")], None),
    ("spaces at the ends", [{"role": "system", "content": "  s \n"}, user("\n two lines\nand  "), answer("  an answer \n"), user("\t more 😀 é")], None),
    ("several turns", [SYSTEM, user("1"), answer("2"), user("3"), answer("4"), user("5"), answer("6"), user("7")], None),
    ("tools", [SYSTEM, user("Weather?"), CALL, RESULT, answer("20."), user("And here?")], TOOLS),
]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def contexts(messages, tools):
    for ask in (True, False):
        for think in ({}, {"enable_thinking": True}, {"enable_thinking": False}):
            yield {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": ask, **TOKENS, **think}


class Mine:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "--render"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, text, context):
        self.process.stdin.write(json.dumps({"template": text, "context": context, "clock": CLOCK}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def one_line(text):
    return "".join(" " if c < " " else c for c in text)


def compare(mine, text, context):
    """What became of it ("same", "refused" by both, "only here"), and what is wrong or None."""
    kind, right = render(text, json.loads(json.dumps(context)))
    got = mine(text, context)
    if kind == "text":
        if got.get("text") == right:
            return "same", None
        return "wrong", f"{json.dumps(got)[:300]}, not {json.dumps(right)[:300]}"
    if "text" in got:
        return "only here", None
    if kind == "raised" and one_line(right)[:500] not in got["error"]:
        return "wrong", f"{got['error']}, not {right}"
    return "refused", None


# ---- random conversations ----------------------------------------------------------------------------------------------

PIECES = ["Hello", "<|im_end|>", "</s>", "<think>", "</think>", "\n", "\n\n", " ", "  ", '"', "'", "\\", "{{ x }}", "{% if %}", "é", "漢字", "😀", "\t", "<s>",
          "[INST]", "[/INST]", "&<>", "a", "B", "tool", "</tool_call>", "<|eot_id|>", "\u00a0", "\u2028", "\x1c", "\r\n", "```", "0", "-1", "3.5", "null",
          "/no_think", "/think", "ß", "İ", "%s", "{}", "|", "://", "image", "\x7f"]


class Talk:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def chance(self, share):
        return self.r.random() < share

    def text(self):
        return "".join(self.r.choice(PIECES) for _ in range(self.r.choice([0, 1, 1, 2, 3, 5, 9])))

    def value(self, depth=0):
        kind = self.r.randrange(8 if depth < 2 else 6)
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.r.randrange(3))]
        if kind == 7:
            return {self.text() or "k": self.value(depth + 1) for _ in range(self.r.randrange(3))}
        return [self.text, lambda: self.r.randrange(-5, 5000), lambda: self.r.random() * 10 ** self.r.randrange(-8, 20), lambda: True, lambda: None, lambda: False][kind]()

    def call(self, i):
        arguments = {self.r.choice(["a", "b", "city"]): self.value() for _ in range(self.r.randrange(3))}
        return {"id": f"call{i:05}", "type": "function", "function": {"name": f"f{i}", "arguments": arguments}}

    def message(self, role):
        m = {"role": role, "content": self.text()}
        if role == "assistant":
            if self.chance(0.2):
                m["reasoning_content"] = self.text()
            if self.chance(0.1):
                m["thinking"] = self.text()
            if self.chance(0.2):
                m["content"] = f"<think>{self.text()}</think>{self.text()}"
            if self.chance(0.15):
                m["tool_calls"] = [self.call(i) for i in range(self.r.randrange(1, 3))]
                if self.chance(0.3):
                    m["content"] = None
        if role == "tool":
            m.update(tool_call_id="call00000", name="f0")
        if role in ("user", "system") and self.chance(0.07):
            m["content"] = [{"type": "text", "text": self.text()} for _ in range(self.r.randrange(1, 3))]
        return m

    def schema(self, depth=0):
        kind = self.r.choice(["string", "integer", "number", "boolean", "array", "object"])
        s = {"type": kind if self.chance(0.9) else [kind, "null"]}
        if self.chance(0.7):
            s["description"] = self.text()
        if kind == "string" and self.chance(0.3):
            s["enum"] = [self.text(), self.text()]
        if kind == "array" and depth < 2 and self.chance(0.8):
            s["items"] = self.schema(depth + 1)
        if kind == "object" and depth < 2:
            s["properties"] = {name: self.schema(depth + 1) for name in self.r.sample(["x", "y", "Z", "type"], self.r.randrange(3))}
            s["required"] = list(s["properties"])[:1]
        if self.chance(0.1):
            s["default"] = self.value()
        return s

    def tool(self, i):
        properties = {name: self.schema() for name in self.r.sample(["a", "b", "city", "Alpha"], self.r.randrange(4))}
        return {"type": "function", "function": {"name": f"f{i}", "description": self.text(), "parameters": {
            "type": "object", "properties": properties, "required": [name for name in properties if self.chance(0.5)]}}}

    def context(self):
        messages = [self.message("system")] if self.chance(0.4) else []
        if self.chance(0.85):
            for i in range(self.r.choice([1, 1, 3, 3, 5, 7, 2, 4])):
                messages.append(self.message("assistant" if i % 2 else "user"))
                if messages[-1].get("tool_calls"):
                    messages.append(self.message("tool"))
        else:
            messages += [self.message(self.r.choice(["user", "assistant", "system", "tool", "developer"])) for _ in range(self.r.randrange(1, 6))]
        made = {"messages": messages, "tools": [self.tool(i) for i in range(self.r.randrange(1, 3))] if self.chance(0.25) else None,
                "documents": None, "add_generation_prompt": self.chance(0.8), **TOKENS}
        if self.chance(0.3):
            made["enable_thinking"] = self.chance(0.5)
        return made


# ---- the two tests ------------------------------------------------------------------------------------------------------


def test_shapes(mine, templates):
    counts = collections.Counter()
    for name, text in templates:
        wrong = None
        for shape, messages, tools in SHAPES:
            for context in contexts(messages, tools):
                kind, why = compare(mine, text, context)
                counts[kind] += 1
                wrong = wrong or (why and f"{shape}: {why}")
        if wrong:
            print(f"not ok template {name} {wrong}")
    print(f"ok shapes ({counts['same']} the same, {counts['refused']} refused by both, {counts['only here']} refused by Jinja2 only)"
          if not counts["wrong"] else f"not ok shapes {dict(counts)}")


def test_random(mine, templates):
    counts, talk = collections.Counter(), Talk(1)
    for i in range(RANDOM):
        name, text = templates[i % len(templates)]
        kind, why = compare(mine, text, talk.context())
        counts[kind] += 1
        if why:
            print(f"not ok random {name} {why}")
    print(f"ok random ({counts['same']} the same, {counts['refused']} refused by both, {counts['only here']} refused by Jinja2 only)"
          if not counts["wrong"] else f"not ok random {dict(counts)}")


def print_table(mine, templates):
    print("| template | " + " | ".join(shape for shape, _, _ in SHAPES) + " |")
    print("|---|" + "---|" * len(SHAPES))
    for name, text in templates:
        cells = []
        for _, messages, tools in SHAPES:
            kinds = {compare(mine, text, context)[0] for context in contexts(messages, tools)}
            cells.append("wrong" if "wrong" in kinds else "same" if "same" in kinds else "refused" if "refused" in kinds else "here")
        print(f"| {name} | " + " | ".join(cells) + " |")


def main():
    args = sys.argv[1:]
    table = args[0] == "--table"
    program, paths = args[table], sorted(args[table + 1 :])
    templates = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as f:
            templates.append((os.path.basename(path).removesuffix(".jinja"), f.read()))
    mine = Mine(program)
    if table:
        print_table(mine, templates)
        return
    test_shapes(mine, templates)
    test_random(mine, templates)


main()
