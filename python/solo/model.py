"""Language models: texts, conversations, logits, tokens, embeddings."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._checks import flag, function, number, one_of, several, shown, stop_texts, whole
from ._handle import Handle
from ._messages import Messages, json_text, read_messages
from ._native import Error, UsageError, c_path, c_text, call, callback, ffi, lib, raise_first, text
from ._texts import Answer, Sampling, Stream, sampling_for_c, sampling_from_c
from .device import LEVEL_NAMES, Device, device_or_default, level_number

_THINK = {"auto": lib.SOLO_THINK_AUTO, "on": lib.SOLO_THINK_ON, "off": lib.SOLO_THINK_OFF}
_POOLING = {None: lib.SOLO_POOLING_MODEL, "mean": lib.SOLO_POOLING_MEAN, "cls": lib.SOLO_POOLING_CLS,
            "last": lib.SOLO_POOLING_LAST}
_NORMALIZE = {None: lib.SOLO_NORMALIZE_MODEL, True: lib.SOLO_NORMALIZE_ON, False: lib.SOLO_NORMALIZE_OFF}


class Model(Handle):
    """A model, its tokens, and one session with it: a text or a conversation whose keys and values stay on the device.

    path: a GGUF file or a Hugging Face folder; None: the built-in model.
    level: auto, none, ops, token or loop: how many dispatches a token takes. All give the same tokens.
    context: tokens of the context; 0: as many as the model was trained for, or as fit.
    wait: the first text waits until the fastest level is compiled, instead of beginning with another.
    template: "chatml", or a chat template itself (Jinja); "none": texts are continued; None: the model's own.
    lora: an adapter to merge, or several: a path or (path, scale) each.

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
                 lora: str | os.PathLike[str]
                 | Sequence[str | os.PathLike[str] | tuple[str | os.PathLike[str], float]] = ()) -> None:
        if sampling is not None and not isinstance(sampling, Sampling):
            raise TypeError(f"sampling is a solo.Sampling, not {shown(sampling)}")
        self._sampling = sampling or Sampling()
        self._stops = stop_texts(stop)
        kept = [c_text(template, "template"), c_text(system, "system"), c_text(cache_type, "cache_type")]
        options = ffi.new("solo_session_options *", {
            "level": level_number(level), "context": whole(context, "context"), "slide": flag(slide, "slide"),
            "exact_cache": flag(exact_cache, "exact_cache"), "wait": flag(wait, "wait"), "chat_template": kept[0],
            "system": kept[1], "cache_type": kept[2], "think": _THINK[one_of(think, "think", list(_THINK))],
            "think_budget": whole(think_budget, "think_budget"), "sampling": sampling_for_c(self._sampling, {})[0],
            "stops": self._stops.pointer})
        adapters = [adapter if isinstance(adapter, tuple) and len(adapter) == 2 else (adapter, 1.0)
                    for adapter in several(lora, "lora", (str, os.PathLike))]
        merged = [(c_path(name, "lora"), number(scale, "the scale of lora")) for name, scale in adapters]
        self.device = device_or_default(device, own_kernels=True)
        self.path = path
        super().__init__(lib.solo_model_open, c_path(path), close=lib.solo_model_close, owners=(self.device,))
        for name, scale in merged:
            self.call(lib.solo_model_add_lora, name, scale)
        self._session = Handle(lib.solo_session_open, self.device, self, options, close=lib.solo_session_close,
                               owners=(self, self.device), name="Model")

    # ---- texts -----------------------------------------------------------------------------------------------

    def generate(self, prompt: str, max_tokens: int = 0, *, stop: str | Sequence[str] | None = None,
                 on_text: Callable[[str], bool | None] | None = None, **sampling: Any) -> Answer:
        """Continues a text. max_tokens 0: until the model ends it or the context is full.

        sampling: fields of Sampling, for this text. on_text: called with each piece; False ends the text.
        """
        return self._answer(lib.solo_session_generate, (c_text(prompt, "prompt"),), max_tokens, stop, on_text, sampling)

    def chat(self, message: str | Sequence[Mapping[str, Any]], max_tokens: int = 0, *,
             stop: str | Sequence[str] | None = None, on_text: Callable[[str], bool | None] | None = None,
             **sampling: Any) -> Answer:
        """Answers a message of the conversation, or a whole conversation as messages of OpenAI's API.

        Of a whole one only what the KV cache does not begin with already is read.
        """
        if isinstance(message, str):
            said = (c_text(message, "message"),)
            return self._answer(lib.solo_session_chat, said, max_tokens, stop, on_text, sampling)
        return self._answer(lib.solo_session_answer, (), max_tokens, stop, on_text, sampling, Messages(message))

    def again(self, max_tokens: int = 0, **sampling: Any) -> Answer:
        """Another answer to the last message: with the same seed the same one."""
        return self._answer(lib.solo_session_chat_again, (), max_tokens, None, None, sampling)

    def stream(self, message: str | Sequence[Mapping[str, Any]], max_tokens: int = 0, *, chat: bool = True,
               stop: str | Sequence[str] | None = None, **sampling: Any) -> Stream:
        """The same piece by piece: an iterator of str. chat=False continues a text."""
        if not chat and not isinstance(message, str):
            raise UsageError("a text that is continued is a str")
        messages = message if isinstance(message, str) else list(Messages(message).given)

        def work(put: Callable[[str], bool]) -> Answer:
            if chat:
                return self.chat(messages, max_tokens, stop=stop, on_text=put, **sampling)
            return self.generate(str(messages), max_tokens, stop=stop, on_text=put, **sampling)

        return Stream(work)

    def _answer(self, answer: Callable[..., Any], arguments: tuple[Any, ...], max_tokens: int,
                stop: str | Sequence[str] | None, on_text: Callable[[str], bool | None] | None,
                sampling: dict[str, Any], messages: Messages | None = None) -> Answer:
        most = whole(max_tokens, "max_tokens")
        how = sampling_for_c(self._sampling, sampling) if sampling else None
        stops = self._stops if stop is None else stop_texts(stop)
        say, session = function(on_text, "on_text"), self._session
        pieces: list[str] = []
        failures: list[BaseException] = []
        out = ffi.new("solo_answer *")

        def hear(_user: Any, piece: Any, length: int) -> bool:
            pieces.append(bytes(ffi.buffer(piece, length)).decode(errors="replace"))
            return (say is None or say(pieces[-1]) is not False) and not session.closed

        def work(pointer: Any) -> None:
            if messages:
                call(lib.solo_session_set_messages, pointer, messages.array, messages.count)
            call(lib.solo_session_set_sampling, pointer, how or sampling_for_c(self._sampling, {}))
            call(lib.solo_session_set_stops, pointer, stops.pointer)
            call(answer, pointer, *arguments, most, heard, ffi.NULL, out)

        heard = callback("bool(void *, const char *, size_t)", hear, failures)
        try:
            session.hold(work)
        finally:
            raise_first(failures)
        return Answer("".join(pieces), out)

    # ---- the conversation --------------------------------------------------------------------------------------

    def reset(self, system: str | None = None) -> None:
        """A new conversation."""
        self._session.call(lib.solo_session_reset, c_text(system, "system"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, as messages of OpenAI's API; setting it replaces the conversation."""
        return self._session.hold(read_messages)

    @messages.setter
    def messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        made = Messages(messages)
        self._session.call(lib.solo_session_set_messages, made.array, made.count)

    def set_tools(self, tools: Sequence[Mapping[str, Any]] | None) -> None:
        """The tools that the model may call, as in OpenAI's API; None: none."""
        self._session.call(lib.solo_session_set_tools, c_text(json_text(tools, "tools")))

    def take_calls(self) -> list[dict[str, Any]]:
        """The calls in the last answer, if there are any in a form that is known; they become its tool_calls."""
        def take(session: Any) -> list[dict[str, Any]]:
            return read_messages(session)[-1].get("tool_calls", []) if lib.solo_session_take_calls(session) else []

        return self._session.hold(take)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the conversation with its keys and values, and the sampling settings of this model."""
        def save(session: Any) -> None:
            call(lib.solo_session_set_sampling, session, sampling_for_c(self._sampling, {}))
            call(lib.solo_session_save, session, name)

        name = c_path(path)
        self._session.hold(save)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Goes on with what was saved as if nothing had been between: also with its sampling settings."""
        def load(session: Any) -> None:
            call(lib.solo_session_load, session, name)
            self._sampling = sampling_from_c(lib.solo_session_sampling(session))

        name = c_path(path)
        self._session.hold(load)

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
        flags = flag(plain, "plain") * lib.SOLO_TOKENS_PLAIN | flag(go_on, "go_on") * lib.SOLO_TOKENS_GO_ON
        if not isinstance(value, str):
            raise TypeError(f"a text is a str, not {type(value).__name__}")
        what = c_text(value)
        room = len(what) + 8
        while True:
            ids = np.empty(room, np.uint32)
            count = self.call(lib.solo_model_tokenize, what, flags, ffi.from_buffer("uint32_t[]", ids), room)
            if count <= room:
                return ids[:count].copy()
            room = count

    def detokenize(self, tokens: Sequence[int] | np.ndarray, *, special: bool = False, go_on: bool = False) -> str:
        """The text of tokens; special: special tokens are written out."""
        ids = self._ids(tokens)
        flags = flag(special, "special") * lib.SOLO_TOKENS_SPECIAL | flag(go_on, "go_on") * lib.SOLO_TOKENS_GO_ON
        room = 16 * len(ids) + 16
        while True:
            out = ffi.new("char[]", room)
            length = self.ask(lib.solo_model_detokenize, ffi.from_buffer("uint32_t[]", ids), len(ids), flags, out, room)
            if length < room:
                return bytes(ffi.buffer(out, length)).decode(errors="replace")
            room = length + 1

    def _ids(self, tokens: Sequence[int] | np.ndarray) -> np.ndarray:
        """Tokens as C has them."""
        try:
            ids = np.asarray(tokens)
        except ValueError:
            raise UsageError("tokens are one row of whole numbers") from None
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
        options = ffi.new("solo_embedder_options *", {
            "level": level_number(level), "pooling": _POOLING[one_of(pooling, "pooling", list(_POOLING))],
            "context": whole(context, "context"),
            "normalize": _NORMALIZE[one_of(normalize, "normalize", list(_NORMALIZE))]})
        self.device = device_or_default(device, own_kernels=True)
        self._model = Handle(lib.solo_model_open, c_path(path), close=lib.solo_model_close, owners=(self.device,),
                             name="Embedder")
        super().__init__(lib.solo_embedder_open, self.device, self._model, options, close=lib.solo_embedder_close,
                         owners=(self._model, self.device))

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return self.ask(lib.solo_embedder_width)

    def embed(self, texts: str | Sequence[str]) -> np.ndarray:
        """The vector of a text, (width,), or of several, (texts, width): float32."""
        rows = [c_text(value, "texts") for value in several(texts, "texts")]
        if ffi.NULL in rows:
            raise TypeError("texts: one of several texts is None")
        out = np.empty((len(rows), self.width), np.float32)

        def embed(pointer: Any) -> None:
            for row, value in zip(out, rows):
                call(lib.solo_embedder_embed, pointer, value, ffi.from_buffer("float[]", row))

        self.hold(embed)
        return out[0] if isinstance(texts, str) else out


__all__ = ["Answer", "Embedder", "Error", "Model", "Sampling", "Stream"]
