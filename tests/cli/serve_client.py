#!/usr/bin/env python3
"""The openai package of PyPI against a server with the model of make_bigram.py.

    python3 tests/cli/serve_client.py URL
"""
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "v1", api_key="unused", max_retries=0)
USER = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]


def check(name, got, right):
    print(f"ok {name}" if got == right else f"not ok {name}: {got!r} instead of {right!r}")


reply = client.chat.completions.create(model="parrot", messages=USER, temperature=0)
check("Python: a chat", reply.choices[0].message.content, "Hello.")
with client.chat.completions.create(model="parrot", messages=USER, temperature=0, stream=True) as stream:
    check("Python: a stream", "".join(c.choices[0].delta.content or "" for c in stream), "Hello.")
call = client.chat.completions.create(model="parrot", messages=USER, temperature=0, tools=TOOLS).choices[0].message.tool_calls[0]
check("Python: a tool", json.loads(call.function.arguments), {"a": 1, "b": 3})
try:
    client.chat.completions.create(model="parrot", messages=USER, top_p=7)
    check("Python: a refusal", "none", "BadRequestError")
except openai.BadRequestError as error:
    check("Python: a refusal", error.param, "top_p")
