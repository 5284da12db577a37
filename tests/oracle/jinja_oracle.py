"""Jinja2 as transformers sets it up for chat templates: what the interpreter in src/model/jinja*.c is compared with."""
import datetime
import json

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

CLOCK = 1790000000  # seconds since 1970, in local time: 21 Sep 2026
NOW = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=CLOCK)


class Generation(jinja2.ext.Extension):
    """{% generation %}, which transformers uses to find the assistant's tokens: its body, in a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("write"), [], [], body).set_lineno(line)

    def write(self, caller):
        return caller()


class Raised(jinja2.TemplateError):
    """raise_exception."""


def raise_exception(message):
    raise Raised(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment(sandbox):
    made = sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


STRICT = environment(jinja2.sandbox.ImmutableSandboxedEnvironment)
# list.append and the like, which transformers refuses and llama.cpp runs
LOOSE = environment(jinja2.sandbox.SandboxedEnvironment)
compiled = {}


def render(text, context, env=STRICT):
    """("text", what it renders), or ("raised" or "refused", why not)."""
    try:
        key = text, env is STRICT
        if key not in compiled:
            compiled[key] = env.from_string(text)
        return "text", compiled[key].render(**context)
    except Raised as error:
        return "raised", str(error)
    except jinja2.exceptions.SecurityError as error:
        return render(text, context, LOOSE) if env is STRICT else ("refused", str(error))
    except Exception as error:  # whatever a template does wrong
        return "refused", f"{type(error).__name__}: {error}"
