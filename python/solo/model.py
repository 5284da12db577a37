"""Language models: texts, conversations, logits, tokens, embeddings."""
from __future__ import annotations

import dataclasses
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ._handle import Handle
from ._native import Error, Texts, UsageError, c_text, call, ffi, lib, text
from .device import LEVEL_NAMES, Device, device_or_default, level_number

_ENDS = {lib.SOLO_END_MODEL: "model", lib.SOLO_END_STOP: "stop", lib.SOLO_END_LENGTH: "length",
         lib.SOLO_END_CONTEXT: "context", lib.SOLO_END_CALLER: "caller"}
_ROLES = {"system": lib.SOLO_ROLE_SYSTEM, "user": lib.SOLO_ROLE_USER, "assistant": lib.SOLO_ROLE_ASSISTANT,
          "tool": lib.SOLO_ROLE_TOOL}
_THINK = {"auto": lib.SOLO_THINK_AUTO, "on": lib.SOLO_THINK_ON, "off": lib.SOLO_THINK_OFF}
_POOLING = {None: lib.SOLO_POOLING_MODEL, "mean": lib.SOLO_POOLING_MEAN, "cls": lib.SOLO_POOLING_CLS,
            "last": lib.SOLO_POOLING_LAST}


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How a token is chosen. As it is: always the most likely one."""
    temperature: float = 0.0
    top_k: int = 0  # from the k most likely; 0: from all
    top_p: float = 0.0  # from the most likely that have this probability together
    min_p: float = 0.0  # from those that have this share of the best one's
    repeat_penalty: float = 0.0  # for tokens among the last `repeat_last`
    repeat_last: int = 0
    seed: int = 0


class Answer(str):
    """A text that a model made: a str that also says how it came about.

    end: "model" (it ended it), "stop", "length", "context" (which is full) or "caller".
    prompt_tokens, reused_tokens, tokens: of the prompt; of those the ones still in the KV cache; made.
    first_token_s, tokens_per_s: until the first token; from then on.
    """
    end: str
    prompt_tokens: int
    reused_tokens: int
    tokens: int
    forgotten_messages: int
    first_token_s: float
    tokens_per_s: float

    def __new__(cls, value: str, answer: Any) -> Answer:
        made = super().__new__(cls, value)
        made.end = _ENDS[answer.end]
        made.prompt_tokens = answer.prompt_tok
        made.reused_tokens = answer.reused_tok
        made.tokens = answer.answer_tok
        made.forgotten_messages = answer.forgotten_messages
        made.first_token_s = answer.first_token_s
        made.tokens_per_s = answer.tok_per_s
        return made


class Stream(Iterator[str]):
    """Pieces of a text as they are made, whole characters each. ``answer`` is there after the last one.

    Leaving the loop early and calling ``close()`` (or using it in a ``with``) ends the text there.
    """

    def __init__(self, work: Callable[[Callable[[str], bool]], Answer]) -> None:
        self.answer: Answer | None = None
        self._pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._closed = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Callable[[str], bool]], Answer]) -> None:
        try:
            self.answer = work(self._put)
        except BaseException as failure:  # handed to whoever reads
            self._failure = failure
        self._pieces.put(None)

    def _put(self, piece: str) -> bool:
        self._pieces.put(piece)
        return not self._closed

    def __next__(self) -> str:
        piece = None if self._closed else self._pieces.get()
        if piece is not None:
            return piece
        self._thread.join()
        self._closed = True
        failure, self._failure = self._failure, None
        if failure:
            raise failure
        raise StopIteration

    def close(self) -> None:
        """Ends the text after the token that is being made."""
        self._closed = True
        self._thread.join()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class Model(Handle):
    """A model, its tokens, and one session with it: a text or a conversation whose keys and values stay on the device.

    path: a GGUF file or a Hugging Face folder; None: the built-in model.
    level: auto, none, ops, token or loop: how many dispatches a token takes. All give the same tokens.
    context: tokens of the context; 0: as many as the model was trained for, or as fit.
    wait: the first text waits until the fastest level is compiled, instead of beginning with another.
    template: "chatml", or a chat template itself (Jinja); "none": texts are continued; None: the model's own.
    lora: adapters to merge, a path or (path, scale) each.

        model = solo.Model("model.gguf")
        print(model.generate("Once upon a time", 50))
        print(model.chat("Hello"))
        for piece in model.stream("Tell me more"): print(piece, end="")
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, device: Device | None = None,
                 level: str = "auto", context: int = 0, slide: bool = False, cache_type: str | None = None,
                 exact_cache: bool = False, wait: bool = False, template: str | None = None,
                 system: str | None = None, think: str = "auto", think_budget: int = 0,
                 sampling: Sampling | None = None, stop: str | Sequence[str] = (),
                 lora: Sequence[str | os.PathLike[str] | tuple[str | os.PathLike[str], float]] = ()) -> None:
        if think not in _THINK:
            raise UsageError(f"think is auto, on or off, not {think!r}")
        self.device = device_or_default(device, own_kernels=True)
        self.path = path
        self._sampling = sampling or Sampling()
        kept = [c_text(template), c_text(system), c_text(cache_type)]
        stops = Texts([stop] if isinstance(stop, str) else stop)
        options = ffi.new("solo_session_options *", {
            "level": level_number(level), "context": context, "slide": slide, "exact_cache": exact_cache,
            "wait": wait, "chat_template": kept[0], "system": kept[1], "cache_type": kept[2],
            "think": _THINK[think], "think_budget": think_budget, "sampling": dataclasses.asdict(self._sampling),
            "stops": stops.pointer})
        self._stops = stops
        super().__init__(lib.solo_model_open, c_text(path), close=lib.solo_model_close, owners=(self.device,))
        for adapter in lora:
            name, scale = adapter if isinstance(adapter, tuple) else (adapter, 1.0)
            self.call(lib.solo_model_add_lora, c_text(name), scale)
        self._session = Handle(lib.solo_session_open, self.device, self, options, close=lib.solo_session_close,
                               owners=(self, self.device), name="Model")

    # ---- texts -----------------------------------------------------------------------------------------------

    def generate(self, prompt: str, max_tokens: int = 0, *, stop: str | Sequence[str] | None = None,
                 on_text: Callable[[str], bool | None] | None = None, **sampling: Any) -> Answer:
        """Continues a text. max_tokens 0: until the model ends it or the context is full.

        sampling: fields of Sampling, for this text. on_text: called with each piece; False ends the text.
        """
        return self._answer(lib.solo_session_generate, (c_text(prompt),), max_tokens, stop, on_text, sampling)

    def chat(self, message: str | Sequence[Mapping[str, Any]], max_tokens: int = 0, *,
             stop: str | Sequence[str] | None = None, on_text: Callable[[str], bool | None] | None = None,
             **sampling: Any) -> Answer:
        """Answers a message of the conversation, or a whole conversation as messages of OpenAI's API.

        Of a whole one only what the KV cache does not begin with already is read.
        """
        if isinstance(message, str):
            return self._answer(lib.solo_session_chat, (c_text(message),), max_tokens, stop, on_text, sampling)
        self.messages = message
        return self._answer(lib.solo_session_answer, (), max_tokens, stop, on_text, sampling)

    def again(self, max_tokens: int = 0, **sampling: Any) -> Answer:
        """Another answer to the last message: with the same seed the same one."""
        return self._answer(lib.solo_session_chat_again, (), max_tokens, None, None, sampling)

    def stream(self, message: str | Sequence[Mapping[str, Any]], max_tokens: int = 0, *, chat: bool = True,
               stop: str | Sequence[str] | None = None, **sampling: Any) -> Stream:
        """The same piece by piece: an iterator of str. chat=False continues a text."""
        if not chat and not isinstance(message, str):
            raise UsageError("a text that is continued is a str")

        def work(put: Callable[[str], bool]) -> Answer:
            if chat:
                return self.chat(message, max_tokens, stop=stop, on_text=put, **sampling)
            return self.generate(str(message), max_tokens, stop=stop, on_text=put, **sampling)

        return Stream(work)

    def _answer(self, function: Callable[..., Any], arguments: tuple[Any, ...], max_tokens: int,
                stop: str | Sequence[str] | None, on_text: Callable[[str], bool | None] | None,
                sampling: dict[str, Any]) -> Answer:
        unknown = set(sampling) - {f.name for f in dataclasses.fields(Sampling)}
        if unknown:
            raise TypeError(f"there is no setting {sorted(unknown)[0]!r} of sampling")
        pieces: list[str] = []
        failures: list[BaseException] = []

        @ffi.callback("bool(void *, const char *, size_t)")
        def hear(_user: Any, piece: Any, length: int) -> bool:
            try:
                pieces.append(bytes(ffi.buffer(piece, length)).decode(errors="replace"))
                return on_text is None or on_text(pieces[-1]) is not False
            except BaseException as failure:  # it must not pass through C
                failures.append(failure)
                return False

        how = ffi.new("solo_sampling *", dataclasses.asdict(dataclasses.replace(self._sampling, **sampling)))
        stops = self._stops if stop is None else Texts([stop] if isinstance(stop, str) else stop)
        out = ffi.new("solo_answer *")

        def work(session: Any) -> None:
            call(lib.solo_session_set_sampling, session, how)
            call(lib.solo_session_set_stops, session, stops.pointer)
            call(function, session, *arguments, max_tokens, hear, ffi.NULL, out)

        self._session.hold(work)
        if failures:
            raise failures[0]
        return Answer("".join(pieces), out)

    # ---- the conversation --------------------------------------------------------------------------------------

    def reset(self, system: str | None = None) -> None:
        """A new conversation."""
        self._session.call(lib.solo_session_reset, c_text(system))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, as messages of OpenAI's API; setting it replaces the conversation."""
        names = {number: name for name, number in _ROLES.items()}
        messages = []
        for i in range(self._session.ask(lib.solo_session_message_count)):
            m = self._session.ask(lib.solo_session_message, i)
            message: dict[str, Any] = {"role": names[m.role], "content": text(m.content)}
            for key, value in (("tool_call_id", m.tool_call_id), ("name", m.name)):
                if value != ffi.NULL:
                    message[key] = text(value)
            if m.tool_calls != ffi.NULL:
                message["tool_calls"] = json.loads(text(m.tool_calls) or "")
            messages.append(message)
        return messages

    @messages.setter
    def messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        kept: list[Any] = []

        def keep(value: Any) -> Any:
            kept.append(c_text(value))
            return kept[-1]

        array = ffi.new("solo_message[]", max(len(messages), 1))
        for place, message in zip(array, messages):
            unknown = set(message) - {"role", "content", "tool_calls", "tool_call_id", "name"}
            if unknown:
                raise UsageError(f"a message's {sorted(unknown)[0]!r} is not known here")
            if message.get("role") not in _ROLES:
                raise UsageError(f"there is no role {message.get('role')!r}: {', '.join(_ROLES)}")
            content = message.get("content", "" if message.get("tool_calls") else None)
            if not isinstance(content, str):
                raise UsageError("a message's content is a text")
            place.role = _ROLES[message["role"]]
            place.content = keep(content)
            calls = message.get("tool_calls")
            place.tool_calls = keep(json.dumps(calls) if calls else None)
            place.tool_call_id = keep(message.get("tool_call_id"))
            place.name = keep(message.get("name"))
        self._session.call(lib.solo_session_set_messages, array, len(messages))

    def set_tools(self, tools: Sequence[Mapping[str, Any]] | None) -> None:
        """The tools that the model may call, as in OpenAI's API; None: none."""
        self._session.call(lib.solo_session_set_tools, c_text(None if tools is None else json.dumps(tools)))

    def take_calls(self) -> list[dict[str, Any]]:
        """The calls in the last answer, if there are any in a form that is known; they become its tool_calls."""
        if not self._session.ask(lib.solo_session_take_calls):
            return []
        return self.messages[-1].get("tool_calls", [])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the conversation with its keys and values, and the sampling settings."""
        self._session.call(lib.solo_session_save, c_text(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Goes on with what was saved as if nothing had been between."""
        self._session.call(lib.solo_session_load, c_text(path))

    # ---- numbers ------------------------------------------------------------------------------------------------

    def logits(self, tokens: Sequence[int] | np.ndarray) -> np.ndarray:
        """The logits after each of the first tokens of a text: float32, (tokens, vocabulary)."""
        ids = self._ids(tokens)
        out = np.empty((len(ids), self.vocabulary), np.float32)
        self._session.call(lib.solo_session_logits, ffi.from_buffer("uint32_t[]", ids), len(ids),
                           ffi.from_buffer("float[]", out))
        return out

    def tokenize(self, value: str, *, plain: bool = False, go_on: bool = False) -> np.ndarray:
        """The tokens of a text. plain: special tokens written in it are text; go_on: without the one that begins one."""
        flags = plain * lib.SOLO_TOKENS_PLAIN | go_on * lib.SOLO_TOKENS_GO_ON
        if not isinstance(value, str):
            raise TypeError(f"a text is a str, not {type(value).__name__}")
        room = len(value.encode()) + 8
        while True:
            ids = np.empty(room, np.uint32)
            count = self.call(lib.solo_model_tokenize, c_text(value), flags, ffi.from_buffer("uint32_t[]", ids), room)
            if count <= room:
                return ids[:count].copy()
            room = count

    def detokenize(self, tokens: Sequence[int] | np.ndarray, *, special: bool = False, go_on: bool = False) -> str:
        """The text of tokens; special: special tokens are written out."""
        ids = self._ids(tokens)
        flags = special * lib.SOLO_TOKENS_SPECIAL | go_on * lib.SOLO_TOKENS_GO_ON
        room = 16 * len(ids) + 16
        while True:
            out = ffi.new("char[]", room)
            length = self.ask(lib.solo_model_detokenize, ffi.from_buffer("uint32_t[]", ids), len(ids), flags, out, room)
            if length < room:
                return bytes(ffi.buffer(out, length)).decode(errors="replace")
            room = length + 1

    def _ids(self, tokens: Sequence[int] | np.ndarray) -> np.ndarray:
        """Tokens as C has them."""
        ids = np.asarray(tokens)
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            raise UsageError("tokens are one row of whole numbers")
        if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < self.vocabulary:
            raise UsageError(f"a token is from 0 to {self.vocabulary - 1}")
        return np.ascontiguousarray(ids, np.uint32)

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def architecture(self) -> str:
        """llama, qwen2 and so on."""
        return text(self.ask(lib.solo_model_architecture)) or ""

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return self.ask(lib.solo_model_vocabulary)

    @property
    def context(self) -> int:
        """Tokens of the context; before the first text, those that the model was trained for."""
        return self._session.ask(lib.solo_session_context) or self.ask(lib.solo_model_context)

    @property
    def level(self) -> str:
        """The level that makes tokens now; auto before the first."""
        return LEVEL_NAMES[self._session.ask(lib.solo_session_level)]

    @property
    def dispatches(self) -> int:
        """Dispatches for a token."""
        return self._session.ask(lib.solo_session_dispatches)

    def take_notice(self) -> str | None:
        """A notice, returned once: a level that is not possible here, and why."""
        room = ffi.new("char[]", 512)
        return text(room) if self._session.ask(lib.solo_session_take_notice, room, 512) else None

    def __repr__(self) -> str:
        return f"<solo.Model {str(self.path or 'built in')!r}>"


class Embedder(Handle):
    """Vectors for texts, by an encoder or a pooled decoder.

    pooling: mean, cls, last, or None: as the model's files say. normalize: None: as they say.
    """

    def __init__(self, path: str | os.PathLike[str], *, device: Device | None = None, level: str = "auto",
                 pooling: str | None = None, normalize: bool | None = None, context: int = 0) -> None:
        if pooling not in _POOLING:
            raise UsageError(f"pooling is mean, cls, last or None, not {pooling!r}")
        self.device = device_or_default(device, own_kernels=True)
        self._model = Handle(lib.solo_model_open, c_text(path), close=lib.solo_model_close, owners=(self.device,))
        options = ffi.new("solo_embedder_options *", {
            "level": level_number(level), "pooling": _POOLING[pooling], "context": context,
            "normalize": {None: lib.SOLO_NORMALIZE_MODEL, True: lib.SOLO_NORMALIZE_ON,
                          False: lib.SOLO_NORMALIZE_OFF}[normalize]})
        super().__init__(lib.solo_embedder_open, self.device, self._model, options, close=lib.solo_embedder_close,
                         owners=(self._model, self.device))

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return self.ask(lib.solo_embedder_width)

    def embed(self, texts: str | Sequence[str]) -> np.ndarray:
        """The vector of a text, (width,), or of several, (texts, width): float32."""
        one = isinstance(texts, str)
        rows: list[str] = [texts] if isinstance(texts, str) else list(texts)
        out = np.empty((len(rows), self.width), np.float32)
        for row, value in zip(out, rows):
            self.call(lib.solo_embedder_embed, c_text(value), ffi.from_buffer("float[]", row))
        return out[0] if one else out


__all__ = ["Answer", "Embedder", "Error", "Model", "Sampling", "Stream"]
