#!/usr/bin/env python3
"""The openai package of PyPI against a server with the model of make_bigram.py.

    python3 tests/cli/serve_client.py URL
"""
import json
import sys
import typing

import openai
import pydantic

client = openai.OpenAI(base_url=sys.argv[1] + "v1", api_key="unused", max_retries=0)
USER = [{"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]


def check(name, got, right):
    print(f"ok {name}" if got == right else f"not ok {name}: {got!r} instead of {right!r}")


def chat(**more):
    return client.chat.completions.create(model="parrot", messages=USER, temperature=0, **more)


check("Python: a chat", chat().choices[0].message.content, "Hello.")
with chat(stream=True) as stream:
    check("Python: a stream", "".join(c.choices[0].delta.content or "" for c in stream), "Hello.")
call = chat(tools=TOOLS).choices[0].message.tool_calls[0]
check("Python: a tool", json.loads(call.function.arguments), {"a": 1, "b": 3})
with chat(tools=TOOLS, stream=True) as stream:
    calls = [call for chunk in stream for choice in chunk.choices for call in choice.delta.tool_calls or []]
check("Python: a tool in a stream", [(c.function.name, json.loads(c.function.arguments)) for c in calls], [("add", {"a": 1, "b": 3})])
result = {"role": "tool", "tool_call_id": call.id, "content": "4"}
messages = [*USER, chat(tools=TOOLS).choices[0].message, result]
reply = client.chat.completions.create(model="parrot", messages=messages, temperature=0, tools=TOOLS)
check("Python: what the tool said", reply.choices[0].message.content, "Four.")
schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
reply = chat(seed=1, response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}})
check("Python: a schema", [(list(o), type(o["ok"])) for o in [json.loads(reply.choices[0].message.content)]], [(["ok"], bool)])


class Answer(pydantic.BaseModel):
    ok: bool
    mood: typing.Literal["good", "bad"]


parsed = client.chat.completions.parse(model="parrot", messages=USER, seed=2, response_format=Answer).choices[0].message.parsed
check("Python: a class as a schema", (type(parsed), parsed.mood in ("good", "bad")), (Answer, True))
with client.chat.completions.stream(model="parrot", messages=USER, seed=2, response_format=Answer) as stream:
    last = stream.get_final_completion().choices[0].message.parsed
check("Python: the same in a stream", last, parsed)
check("Python: models", [m.id for m in client.models.list()], ["parrot"])
try:
    chat(top_p=7)
    check("Python: a refusal", "none", "BadRequestError")
except openai.BadRequestError as error:
    check("Python: a refusal", error.param, "top_p")
