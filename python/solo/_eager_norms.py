"""Convolutions' and pools' backward passes, and batch norm, of ``device="webgpu"`` in terms of other operators."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._backward import adaptive_avg_pool2d_backward, avg_pool2d_backward, convolution_backward
from ._eager_ops import are_floats, written_out
from ._values import aten

# ---- convolutions ----------------------------------------------------------------------------------------------------


@written_out("convolution_backward.default")
def _convolution_backward(grad: Tensor, x: Tensor, weight: Tensor, *rest: Any) -> Any:
    result = convolution_backward(grad, x, weight, *rest) if are_floats(grad, x, weight) else None
    return None if result is NotImplemented else result


@written_out("avg_pool2d_backward.default")
def _avg_pool_backward(grad: Tensor, x: Tensor, *rest: Any) -> Any:
    result = avg_pool2d_backward(grad, x, *rest) if are_floats(grad, x) else None
    return None if result is NotImplemented else result


@written_out("max_pool2d_with_indices_backward.default")
def _max_pool_backward(grad: Tensor, x: Tensor, *rest: Any) -> Any:
    """Of a single image: of a batch of it."""
    if x.dim() != 3 or not are_floats(grad, x):
        return None
    *how, indices = rest
    return aten.max_pool2d_with_indices_backward.default(grad[None], x[None], *how, indices[None])[0]


@written_out("_adaptive_avg_pool2d_backward.default")
def _adaptive_avg_pool_backward(grad: Tensor, x: Tensor) -> Any:
    result = adaptive_avg_pool2d_backward(grad, x) if are_floats(grad, x) else None
    return None if result is NotImplemented else result


# ---- batch norm ------------------------------------------------------------------------------------------------------


def _along_channels(x: Tensor | None, like: Tensor) -> Tensor | None:
    return None if x is None else x.view(1, -1, *[1] * (like.dim() - 2))


def _but_channels(x: Tensor) -> list[int]:
    return [d for d in range(x.dim()) if d != 1]


@written_out("native_batch_norm.default")
def _batch_norm(x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float,
                epsilon: float) -> Any:
    if not are_floats(x, weight, bias, mean, var) or x.dim() < 2 or not x.numel() or (not training and mean is None):
        return None
    if training:
        dims, count = _but_channels(x), x.numel() // x.shape[1]
        now = x.mean(dims)
        centred = x - _along_channels(now, x)
        spread = (centred * centred).mean(dims)
        if mean is not None:
            mean.copy_(mean * (1 - momentum) + now * momentum)
        if var is not None:
            var.copy_(var * (1 - momentum) + spread * (momentum * count / max(count - 1, 1)))
        rstd = (spread + epsilon).rsqrt()
        saved = now, rstd
    else:
        centred = x - _along_channels(mean, x)
        rstd = (var + epsilon).rsqrt()
        saved = x.new_empty(0), x.new_empty(0)
    y = centred * _along_channels(rstd if weight is None else rstd * weight, x)
    return (y if bias is None else y + _along_channels(bias, x)), *saved


@written_out("native_batch_norm_backward.default")
def _batch_norm_backward(grad: Tensor, x: Tensor, weight: Any, mean: Any, var: Any, saved_mean: Any, saved_rstd: Any,
                         training: bool, epsilon: float, mask: Sequence[bool]) -> Any:
    if not are_floats(grad, x, weight, mean, var) or x.dim() < 2 or not x.numel():
        return None
    dims = _but_channels(x)
    centre, rstd = (saved_mean, saved_rstd) if training else (mean, (var + epsilon).rsqrt())
    normed = (x - _along_channels(centre, x)) * _along_channels(rstd, x)
    dw, db = (grad * normed).sum(dims), grad.sum(dims)
    dx = None
    if mask[0]:
        scale = _along_channels(rstd if weight is None else rstd * weight, x)
        count = x.numel() // x.shape[1]
        inner = grad - (_along_channels(db, x) + normed * _along_channels(dw, x)) / count if training else grad
        dx = inner * scale
    return dx, dw if mask[1] else None, db if mask[2] else None


@written_out("var_mean.correction")
def _var_mean(x: Tensor, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Any:
    if not are_floats(x):
        return None
    return torch.var(x, dim, correction=1 if correction is None else correction, keepdim=keepdim), torch.mean(
        x, list(range(x.dim())) if dim is None else dim, keepdim)


# ---- losses of probabilities -----------------------------------------------------------------------------------------


@written_out("log_sigmoid_forward.default")
def _log_sigmoid(x: Tensor) -> Any:
    return (x.clamp_max(0) - ((-x.abs()).exp() + 1).log(), x.new_empty(0)) if are_floats(x) else None


@written_out("log_sigmoid_backward.default")
def _log_sigmoid_backward(grad: Tensor, x: Tensor, unused: Tensor) -> Any:
    return grad * aten.sigmoid.default(-x) if are_floats(grad, x) else None


@written_out("binary_cross_entropy.default")
def _binary_cross_entropy(x: Tensor, y: Tensor, weight: Any = None, reduction: int = 1) -> Any:
    if not are_floats(x, y, weight):
        return None
    losses = (y - 1) * (1 - x).log().clamp_min(-100) - y * x.log().clamp_min(-100)
    losses = losses if weight is None else losses * weight
    return losses if reduction == 0 else losses.mean() if reduction == 1 else losses.sum()


@written_out("binary_cross_entropy_backward.default")
def _binary_cross_entropy_backward(grad: Tensor, x: Tensor, y: Tensor, weight: Any = None, reduction: int = 1) -> Any:
    if not are_floats(grad, x, y, weight):
        return None
    slope = grad * (x - y) / ((1 - x) * x).clamp_min(1e-12)
    slope = slope if weight is None else slope * weight
    return slope / x.numel() if reduction == 1 else slope
