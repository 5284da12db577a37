"""Messages of a conversation as OpenAI's API has them, for C and from C."""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._checks import shown
from ._native import UsageError, c_text, ffi, lib, text

_ROLES = {"system": lib.SOLO_ROLE_SYSTEM, "user": lib.SOLO_ROLE_USER, "assistant": lib.SOLO_ROLE_ASSISTANT,
          "tool": lib.SOLO_ROLE_TOOL}
_NAMES = {number: name for name, number in _ROLES.items()}
_KEYS = ("role", "content", "tool_calls", "tool_call_id", "name")


def json_text(value: Any, name: str) -> str | None:
    """A list of mappings as JSON; None without any."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Mapping) for item in value):
        raise UsageError(f"{name} is a list of mappings, not {shown(value)}")
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as why:
        raise UsageError(f"{name}: {why}") from None


class Messages:
    """Messages for C. They live as long as this does."""

    def __init__(self, messages: Any) -> None:
        if isinstance(messages, (str, bytes)) or not hasattr(messages, "__iter__"):
            raise TypeError(f"a conversation is a list of messages, not {shown(messages)}")
        self.given = messages = list(messages)
        self._kept: list[Any] = []
        self.count = len(messages)
        self.array = ffi.new("solo_message[]", max(self.count, 1))
        for place, message in zip(self.array, messages):
            self._put(place, message)

    def _put(self, place: Any, message: Any) -> None:
        if not isinstance(message, Mapping):
            raise UsageError(f"a message is a mapping with role and content, not {shown(message)}")
        for key in message:
            if key not in _KEYS:
                raise UsageError(f"a message's {shown(key)} is not known here")
        role, content, calls = (message.get(key) for key in _KEYS[:3])
        if not isinstance(role, str) or role not in _ROLES:
            raise UsageError(f"there is no role {shown(role)}: {', '.join(_ROLES)}")
        called = json_text(calls, "tool_calls") if calls or calls not in (None, [], ()) else None
        if content is None and called:
            content = ""
        if not isinstance(content, str):
            raise UsageError("a message's content is a text")
        place.role = _ROLES[role]
        place.content = self._keep(content, "content")
        place.tool_calls = self._keep(called, "tool_calls")
        place.tool_call_id = self._keep(message.get("tool_call_id"), "tool_call_id")
        place.name = self._keep(message.get("name"), "name")

    def _keep(self, value: Any, name: str) -> Any:
        self._kept.append(c_text(value, f"a message's {name}"))
        return self._kept[-1]


def read_messages(session: Any) -> list[dict[str, Any]]:
    """A session's conversation."""
    messages = []
    for i in range(lib.solo_session_message_count(session)):
        m = lib.solo_session_message(session, i)
        message: dict[str, Any] = {"role": _NAMES[m.role], "content": text(m.content)}
        for key, value in (("tool_call_id", m.tool_call_id), ("name", m.name)):
            if value != ffi.NULL:
                message[key] = text(value)
        if m.tool_calls != ffi.NULL:
            message["tool_calls"] = json.loads(text(m.tool_calls) or "")
        messages.append(message)
    return messages
