"""Texts that models make: how tokens are chosen, what an answer knows, texts piece by piece."""
from __future__ import annotations

import dataclasses
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from ._checks import known, number, whole
from ._native import ffi, lib

_ENDS = {lib.SOLO_END_MODEL: "model", lib.SOLO_END_STOP: "stop", lib.SOLO_END_LENGTH: "length",
         lib.SOLO_END_CONTEXT: "context", lib.SOLO_END_CALLER: "caller"}


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


_SETTINGS = [field.name for field in dataclasses.fields(Sampling)]


def sampling_for_c(sampling: Sampling, changes: Mapping[str, Any]) -> Any:
    """Settings for C; `changes` by the names of Sampling's fields."""
    known(changes, _SETTINGS, "sampling")
    values = {**dataclasses.asdict(sampling), **changes}
    for name, value in values.items():
        values[name] = (whole if name in ("top_k", "repeat_last", "seed") else number)(value, name)
    return ffi.new("solo_sampling *", values)


def sampling_from_c(how: Any) -> Sampling:
    return Sampling(*(getattr(how, name) for name in _SETTINGS))


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

    def __new__(cls, value: str, answer: Any = None) -> Answer:
        made = super().__new__(cls, value)
        if answer is None:  # a copy, which gets the attributes of another one
            return made
        made.end = _ENDS[answer.end]
        made.prompt_tokens = answer.prompt_tok
        made.reused_tokens = answer.reused_tok
        made.tokens = answer.answer_tok
        made.forgotten_messages = answer.forgotten_messages
        made.first_token_s = answer.first_token_s
        made.tokens_per_s = answer.tok_per_s
        return made


class _Work:
    """A text that a thread makes. The thread knows nothing of the Stream, so that dropping that one ends the text."""

    def __init__(self) -> None:
        self.pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # None behind the last, for every reader
        self.answer: Answer | None = None
        self.failure: BaseException | None = None
        self.closed = False

    def run(self, work: Callable[[Callable[[str], bool]], Answer]) -> None:
        try:
            self.answer = work(self.put)
        except BaseException as failure:  # handed to whoever reads
            self.failure = failure
        self.pieces.put(None)

    def put(self, piece: str) -> bool:
        self.pieces.put(piece)
        return not self.closed


class Stream(Iterator[str]):
    """Pieces of a text as they are made, whole characters each. ``answer`` is there after the last one.

    Leaving the loop early and calling ``close()`` (or using it in a ``with``) ends the text there, and so does
    dropping it.
    """

    def __init__(self, work: Callable[[Callable[[str], bool]], Answer]) -> None:
        self._work = _Work()
        self._thread = threading.Thread(target=self._work.run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def answer(self) -> Answer | None:
        return self._work.answer

    def __next__(self) -> str:
        work = self._work
        piece = None if work.closed else work.pieces.get()
        if piece is not None:
            return piece
        work.pieces.put(None)
        self._thread.join()
        work.closed = True
        failure, work.failure = work.failure, None
        if failure:
            raise failure
        raise StopIteration

    def close(self) -> None:
        """Ends the text after the token that is being made."""
        self._work.closed = True
        self._thread.join()

    def __del__(self) -> None:
        if hasattr(self, "_work"):
            self._work.closed = True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Stream cannot be copied or pickled: a thread of this process makes its text")
