"""Tokens of a transformers model, made and chosen on the device: ``solo.torch.generate``.

The model's weights go to the decoder that also runs files of models. It keeps tokens, positions and the cache on the
device, and makes many tokens with one dispatch where the device allows that.
"""
from __future__ import annotations

import json
import math
import weakref
from typing import Any

import numpy as np
import torch

from ._handle import Handle
from ._native import Error, UsageError, c_text, ffi, lib
from .device import LEVEL_NAMES, Device, default_device, level_number
from .graph import TensorArray

__all__ = ["Decoder", "generate"]

_TYPES = {torch.float16: 6, torch.float32: 7, torch.bfloat16: 13}  # torch's numbers
_LEAST_CONTEXT = 256
# What transformers' generation_config can ask for that changes tokens and is not done here, and what means "nothing"
_NOTHING = {"num_beams": 1, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "no_repeat_ngram_size": 0,
            "encoder_repetition_penalty": 1.0, "bad_words_ids": None, "min_length": 0, "min_new_tokens": None,
            "forced_bos_token_id": None, "forced_eos_token_id": None, "suppress_tokens": None,
            "begin_suppress_tokens": None, "sequence_bias": None, "guidance_scale": None, "penalty_alpha": None,
            "prompt_lookup_num_tokens": None, "assistant_early_exit": None, "stop_strings": None, "max_time": None,
            "watermarking_config": None, "exponential_decay_length_penalty": None, "num_return_sequences": 1,
            "top_h": None, "renormalize_logits": False, "remove_invalid_values": False}


def _weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """By the names that its files would have; what is the same tensor under a second name, once."""
    found: dict[str, torch.Tensor] = {}
    seen: set[tuple[int, torch.Size]] = set()
    for name, value in model.state_dict().items():
        same = (value.data_ptr(), value.shape)
        if same not in seen:
            seen.add(same)
            found[name] = value.detach()
    try:
        from transformers.core_model_loading import revert_weight_conversion
    except ImportError:  # before transformers 5 the names are those of the files
        return found
    return dict(revert_weight_conversion(model, found))


def _mark(model: torch.nn.Module) -> list[tuple[int, int]]:
    """What tells whether someone changed a weight."""
    return [(value.data_ptr(), value._version) for value in model.state_dict(keep_vars=True).values()]


class Decoder(Handle):
    """A transformers model on the device: ``Decoder(model).generate([5, 9, 11], 20)``.

    level: auto, none, ops, token or loop. context: tokens of the longest text.
    """

    def __init__(self, model: Any, level: str = "auto", context: int = 0, device: Device | None = None) -> None:
        device = device or default_device(own_kernels=True)
        weights = {name: value.to("cpu").contiguous() for name, value in _weights(model).items()}
        for name, value in weights.items():
            if value.dtype not in _TYPES:
                raise UsageError(f"{name} has elements of {value.dtype}: float32, float16 and bfloat16 are supported")
        tensors = TensorArray({"name": name, "data": value.data_ptr(), "bytes": value.nbytes, "type": _TYPES[value.dtype],
                               "dims": value.shape, "strides": value.stride()} for name, value in weights.items())
        exact = any(value.dtype == torch.float32 for value in weights.values())
        options = ffi.new("solo_session_options *", {"level": level_number(level), "context": context,
                                                     "exact_cache": exact})
        config = c_text(json.dumps(model.config.to_dict()))
        super().__init__(lib.solo_decoder_new, device, config, tensors.pointer, tensors.count, options,
                         close=lib.solo_decoder_free, owners=(device,))
        self.context = context
        self.vocabulary = int(self.ask(lib.solo_decoder_vocabulary))

    @property
    def level(self) -> str:
        """As it makes tokens now."""
        return LEVEL_NAMES[self.ask(lib.solo_decoder_level)]

    @property
    def dispatches(self) -> int:
        """Of a token; at the level loop many tokens share one."""
        return int(self.ask(lib.solo_decoder_dispatches))

    def generate(self, tokens: Any, most: int, stops: Any = (), **sampling: Any) -> list[int]:
        """Up to `most` tokens that follow, and no further one after a stop. `sampling`: as in solo.Sampling."""
        prompt, ends = ffi.new("uint32_t[]", list(tokens)), ffi.new("uint32_t[]", list(stops))
        made = ffi.new("uint32_t[]", max(most, 1))
        how = ffi.new("solo_sampling *", sampling)
        count = self.call(lib.solo_decoder_generate, prompt, len(prompt), how, ends, len(ends), made, most)
        return list(made[0:count])

    def logits(self, tokens: Any) -> np.ndarray[Any, Any]:
        """Those after the last of the tokens."""
        prompt, values = ffi.new("uint32_t[]", list(tokens)), np.empty(self.vocabulary, dtype=np.float32)
        self.call(lib.solo_decoder_logits, prompt, len(prompt), ffi.from_buffer("float[]", values))
        return values


class _Kept:
    """The decoder of a model, and of which weights it is."""

    def __init__(self, decoder: Decoder, mark: list[tuple[int, int]], level: str) -> None:
        self.decoder, self.mark, self.level = decoder, mark, level
        self.checked = False


_kept: weakref.WeakKeyDictionary[torch.nn.Module, _Kept] = weakref.WeakKeyDictionary()


def decoder_of(model: Any, length: int, level: str = "auto") -> _Kept:
    """The decoder for texts of this length; made again if weights changed, or for a longer text."""
    kept, mark = _kept.get(model), _mark(model)
    if kept is None or kept.mark != mark or kept.level != level or kept.decoder.context < length:
        if kept is not None:
            kept.decoder.close()
        context = max(_LEAST_CONTEXT, 1 << (length - 1).bit_length())
        trained = getattr(model.config.get_text_config(), "max_position_embeddings", None) or context
        context = max(length, min(context, trained))
        kept = _kept[model] = _Kept(Decoder(model, level, context), mark, level)
    return kept


def _check(model: Any, kept: _Kept, row: list[int]) -> None:
    """The model's own forward may be another than the decoder's: its logits decide."""
    with torch.no_grad():
        device = next(model.parameters()).device
        want = model(torch.tensor([row], device=device), use_cache=False).logits[0, -1].float().cpu().numpy()
    got = kept.decoder.logits(row)
    exact = next(model.parameters()).dtype == torch.float32
    off = float(np.abs(got[: want.size] - want).max()) / (float(want.std()) or 1.0)
    if not math.isfinite(off) or off > (1e-3 if exact else 0.1):
        raise Error(f"the decoder's logits are not those of the model (off by {off:.2g} of their spread): it computes "
                    "something else than other models of its kind, so it needs torch.compile(backend=\"solo\")")
    kept.checked = True


def _settings(model: Any, options: dict[str, Any]) -> tuple[dict[str, Any], list[int], int | None]:
    """How tokens are chosen, those that end a text, and how many there are: as transformers' generate would."""
    config = getattr(model, "generation_config", None)

    def setting(name: str, otherwise: Any) -> Any:
        value = options.pop(name) if name in options else getattr(config, name, None)
        return otherwise if value is None else value

    ends = setting("eos_token_id", [])
    ends = [ends] if isinstance(ends, int) else [int(end) for end in ends]
    most = options.pop("max_new_tokens", None) or getattr(config, "max_new_tokens", None)
    penalty = float(setting("repetition_penalty", 1.0))
    how: dict[str, Any] = {"repeat_penalty": penalty, "repeat_last": 0xffffffff if penalty != 1.0 else 0}
    sampled = setting("do_sample", False)
    temperature, top_k = float(setting("temperature", 1.0)), int(setting("top_k", 50))
    top_p, min_p = float(setting("top_p", 1.0)), float(setting("min_p", 0.0))
    if sampled:
        how |= {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    for name, nothing in _NOTHING.items():
        if setting(name, nothing) != nothing:
            raise UsageError(f"{name} is not supported: transformers' own generate has it")
    if options:
        raise UsageError(f"generate has no option {next(iter(options))}")
    return how, ends, most


def generate(model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, *, level: str = "auto",
             seed: int | None = None, check: bool = True, **options: Any) -> torch.Tensor:
    """As ``model.generate(input_ids, ...)``, with all tokens made and chosen on the device.

    The options are transformers' (max_new_tokens, do_sample, temperature, top_k, top_p, min_p, repetition_penalty,
    eos_token_id, pad_token_id), and so is where they come from otherwise: model.generation_config. Without do_sample the
    tokens are those of transformers; with it they are drawn by `seed` (torch's generator chooses one if it is None),
    whose numbers are not torch's. Rows are texts of their own, one after the other; padding on the left is left out.
    check: the first text is also run by PyTorch, and the logits compared, since a model may compute what its
    configuration does not say.
    """
    config = getattr(model, "generation_config", None)
    pad = options.pop("pad_token_id", None)
    pad = getattr(config, "pad_token_id", None) if pad is None else pad
    how, ends, most = _settings(model, options)
    if input_ids.dim() != 2 or input_ids.is_floating_point():
        raise UsageError("input_ids must be whole numbers of the shape (texts, tokens)")
    how["seed"] = int(torch.randint(0, 1 << 32, ()).item()) if seed is None else seed
    most = most if most is not None else max(1, (getattr(config, "max_length", None) or 20) - input_ids.shape[1])
    texts: list[list[int]] = []
    for i, row in enumerate(input_ids.tolist()):
        kept_tokens = row if attention_mask is None else [t for t, on in zip(row, attention_mask[i], strict=True) if on]
        if attention_mask is not None and row[len(row) - len(kept_tokens):] != kept_tokens:
            raise UsageError("padding must be on the left")
        kept = decoder_of(model, len(kept_tokens) + most, level)
        if check and not kept.checked:
            _check(model, kept, kept_tokens)
        texts.append(kept.decoder.generate(kept_tokens, most, ends, **{**how, "seed": (how["seed"] + i) & 0xffffffff}))
    longest = max(map(len, texts))
    fill = pad if pad is not None else (ends[0] if ends else 0)
    made = torch.tensor([text + [fill] * (longest - len(text)) for text in texts], dtype=input_ids.dtype)
    return torch.cat([input_ids, made.to(input_ids.device)], dim=1)
