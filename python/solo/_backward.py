"""Backward passes in terms of other operators, for ``torch.compile`` and for ``device="webgpu"``."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_convolution = torch.ops.aten.convolution.default


def _of_weight(x: Tensor, grad: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
               dilation: Sequence[int], groups: int) -> Tensor:
    """The gradient [o, c / groups, ..] of a weight: x and the result's gradient, with samples as channels, step by the
    dilation and spread by the stride."""
    n, c, *sizes = x.shape
    o = grad.shape[1]
    around = list(range(3, 3 + len(sizes)))
    samples = x.reshape(n, groups, c // groups, *sizes).permute(2, 1, 0, *around)
    samples = samples.reshape(c // groups, groups * n, *sizes)
    window = grad.transpose(0, 1)
    result = _convolution(samples, window, None, dilation, padding, stride, False, [0] * len(sizes), groups)
    for dim, size in enumerate(kernel):  # elements at the end that no window reached
        result = result.narrow(2 + dim, 0, size)
    return result.transpose(0, 1).reshape(o, c // groups, *kernel)


def convolution_backward(grad: Tensor, x: Tensor, weight: Tensor, bias_sizes: Any, stride: Sequence[int],
                         padding: Sequence[int], dilation: Sequence[int], transposed: bool,
                         output_padding: Sequence[int], groups: int, mask: Sequence[bool]) -> Any:
    """Of one or two dimensions: convolutions, too."""
    count = x.dim() - 2
    if count not in (1, 2) or not grad.numel():
        return NotImplemented
    stride, padding, dilation = (list(s) * count if len(s) == 1 else list(s) for s in (stride, padding, dilation))
    kernel, none = list(weight.shape[2:]), [0] * count
    dx = dw = None
    if mask[0] and transposed:
        dx = _convolution(grad, weight, None, stride, padding, dilation, False, none, groups)
        for dim in range(2, x.dim()):  # what was added to the output's end may be a whole stride
            dx = dx.narrow(dim, 0, x.shape[dim])
    elif mask[0]:
        reached = [(grad.shape[2 + d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel[d] - 1) + 1
                   for d in range(count)]
        left = [x.shape[2 + d] - reached[d] for d in range(count)]
        dx = _convolution(grad, weight, None, stride, padding, dilation, True, left, groups)
    if mask[1]:
        dw = _of_weight(*((grad, x) if transposed else (x, grad)), kernel, stride, padding, dilation, groups)
    db = grad.sum([0, *range(2, 2 + count)]) if mask[2] else None
    return dx, dw, db


def avg_pool2d_backward(grad: Tensor, x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
                        ceil_mode: bool, count_include_pad: bool, divisor_override: int | None) -> Any:
    """Each mean's share goes to the elements of its window: a transposed convolution with ones."""
    kernel, padding = ([n[0], n[-1]] for n in (kernel, padding))
    stride = [stride[0], stride[-1]] if stride else kernel
    if (ceil_mode and count_include_pad) or not grad.numel():
        return NotImplemented
    if divisor_override or count_include_pad:
        share = grad * (1 / (divisor_override or kernel[0] * kernel[1]))
    else:
        whole = torch.ones([1, 1, *x.shape[-2:]], dtype=grad.dtype, device=grad.device)
        share = grad / torch.ops.aten.avg_pool2d.default(whole, kernel, stride, padding, ceil_mode, False, 1)[0]
    window = torch.ones([1, 1, *kernel], dtype=grad.dtype, device=grad.device)
    reached = _convolution(share.reshape(-1, 1, *grad.shape[-2:]), window, None, stride, [0, 0], [1, 1], True, [0, 0], 1)
    for dim in (2, 3):
        reached = reached.narrow(dim, padding[dim - 2], min(x.shape[dim - 4], reached.shape[dim] - padding[dim - 2]))
    missing = [x.shape[d] - reached.shape[d] for d in (-2, -1)]
    return torch.ops.aten.constant_pad_nd.default(reached, [0, missing[1], 0, missing[0]]).reshape(x.shape)


def _shares(count: int, parts: int, like: Tensor) -> Tensor:
    """[parts, count]: how much of each of `count` elements is in each of so many adaptive means."""
    part = torch.arange(parts, dtype=torch.float32, device=like.device).unsqueeze(1) * count
    element = torch.arange(count, dtype=torch.float32, device=like.device) * parts
    inside = ((element + parts > part) & (element < part + count)).to(like.dtype)
    return inside / inside.sum(1, keepdim=True)


def adaptive_avg_pool2d_backward(grad: Tensor, x: Tensor) -> Any:
    down, right = (_shares(x.shape[d], grad.shape[d], grad) for d in (-2, -1))
    return down.t() @ grad @ right if grad.numel() else NotImplemented


def _scores(q: Tensor, k: Tensor, causal: bool, mask: Tensor | None, scale: float | None) -> tuple[Tensor, float]:
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = q @ k.transpose(-1, -2) * scale
    if causal:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        scores = torch.where(seen, scores, -math.inf)
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf) if mask.dtype == torch.bool else scores + mask
    return scores, scale


def attention(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, is_causal: bool = False, *,
              attn_mask: Tensor | None = None, scale: float | None = None) -> Any:
    """The result, and the logarithms of the sums that softmax divides by."""
    if dropout_p:
        return NotImplemented
    scores, _ = _scores(q, k, is_causal, attn_mask, scale)
    most = scores.amax(-1, keepdim=True).clamp_min(torch.finfo(torch.float32).min)
    weights = (scores - most).exp()
    total = weights.sum(-1, keepdim=True)
    return (weights / total) @ v, (total.log() + most).squeeze(-1)


def attention_backward(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, logs: Tensor, dropout_p: float,
                       is_causal: bool, *, attn_mask: Tensor | None = None, scale: float | None = None) -> Any:
    if dropout_p:
        return NotImplemented
    scores, scale = _scores(q, k, is_causal, attn_mask, scale)
    weights = (scores - logs.unsqueeze(-1)).exp()
    slope = weights * (grad @ v.transpose(-1, -2) - (grad * out).sum(-1, keepdim=True)) * scale
    return slope @ k, slope.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ grad


def decompositions() -> dict[Any, Any]:
    """What training needs beside PyTorch's core set."""
    aten = torch.ops.aten
    return {
        aten.convolution_backward.default: convolution_backward,
        aten.avg_pool2d_backward.default: avg_pool2d_backward,
        aten._adaptive_avg_pool2d_backward.default: adaptive_avg_pool2d_backward,
        aten._scaled_dot_product_flash_attention_for_cpu.default: attention,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default: attention_backward,
    }
