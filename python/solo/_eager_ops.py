"""Operators of ``device="webgpu"`` in terms of others, mostly what backward passes and optimizers are made of.

A function gets the operator's arguments, and returns its result, or None where it does not apply: then the operator is
recorded as it is, or computed by the host.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table

from ._eager import WRITTEN_OUT, record
from ._storage import is_ours
from ._values import aten, new_of

MOST_ONE_HOT = 1 << 24  # elements of a matrix of zeros and ones that stands for a scatter
LARGEST = torch.finfo(torch.float32).max


def written_out(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            WRITTEN_OUT[name] = function
        return function

    return add


def are_floats(*tensors: Any) -> bool:
    return all(t.dtype in (torch.float32, torch.float16) for t in tensors if isinstance(t, Tensor))


# ---- sums with factors: the factors are data, since they may change from step to step --------------------------------


@written_out("add.Tensor")
def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return x + y * alpha if alpha != 1 and are_floats(x, y) else None


@written_out("sub.Tensor")
def _sub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return x - y * alpha if alpha != 1 and are_floats(x, y) else None


@written_out("addcmul.default")
def _addcmul(x: Tensor, a: Tensor, b: Tensor, value: Any = 1) -> Any:
    return x + (a * b if value == 1 else a * value * b) if are_floats(x, a, b) else None


@written_out("addcdiv.default")
def _addcdiv(x: Tensor, a: Tensor, b: Tensor, value: Any = 1) -> Any:
    return x + (a / b if value == 1 else a * value / b) if are_floats(x, a, b) else None


@written_out("lerp.Scalar")
def _lerp(x: Tensor, end: Tensor, weight: float) -> Any:
    if not are_floats(x, end):
        return None
    return x + (end - x) * weight if abs(weight) < 0.5 else end - (end - x) * (1 - weight)


@written_out("lerp.Tensor")
def _lerp_tensor(x: Tensor, end: Tensor, weight: Tensor) -> Any:
    return _lerp(x, end, weight.item()) if weight.dim() == 0 and not is_ours(weight) else None


@written_out("addmm.default")
def _addmm(x: Tensor, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> Any:
    if (beta == 1 and alpha == 1) or not are_floats(x, a, b):
        return None
    product = a @ b if alpha == 1 else (a @ b) * alpha
    return product if beta == 0 else product + x * beta


@written_out("mv.default")
def _mv(a: Tensor, x: Tensor) -> Any:
    return (a @ x.unsqueeze(1)).squeeze(1) if are_floats(a, x) else None


@written_out("dot.default", "vdot.default")
def _dot(x: Tensor, y: Tensor) -> Any:
    return (x * y).sum() if are_floats(x, y) else None


# ---- as PyTorch itself writes them in terms of others ------------------------------------------------------------------


def _decomposed(op: Any) -> Callable[..., Any]:
    rewritten = decomposition_table[op]

    def function(*args: Any, **kwargs: Any) -> Any:
        return rewritten(*args, **kwargs) if are_floats(args[0]) else None

    return function


for _name in ("_prelu_kernel _prelu_kernel_backward elu_backward glu glu_backward hardsigmoid_backward hardswish_backward"
              " huber_loss huber_loss_backward mish mish_backward native_group_norm_backward nll_loss2d_backward"
              " nll_loss2d_forward smooth_l1_loss smooth_l1_loss_backward softplus_backward").split():
    WRITTEN_OUT[f"{_name}.default"] = _decomposed(getattr(aten, _name).default)
WRITTEN_OUT["std.correction"] = _decomposed(aten.std.correction)


# ---- places --------------------------------------------------------------------------------------------------------------


@written_out("_index_put_impl.default")
def _index_put(x: Tensor, indices: Sequence[Any], values: Tensor, adds: bool = False, unsafe: bool = False) -> Any:
    made = record(aten.index_put.default, (x, indices, values, adds), {})
    return None if made is None else new_of(made[0])


@written_out("roll.default")
def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    if not x.numel():
        return None
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        by = shift % x.shape[dim]
        x = torch.cat([x.narrow(dim, x.shape[dim] - by, by), x.narrow(dim, 0, x.shape[dim] - by)], dim) if by else x
    return x.clone() if not any(shift % x.shape[dim] for shift, dim in zip(shifts, dims, strict=True)) else x


@written_out("index_fill.int_Scalar")
def _index_fill(x: Tensor, dim: int, index: Tensor, value: Any) -> Any:
    if index.dim() > 1 or not x.dim():
        return None
    filled = torch.full((), value, dtype=x.dtype, device=x.device)
    return _index_put(x, [None] * (dim % x.dim()) + [index.reshape(-1)], filled)


# ---- functions -------------------------------------------------------------------------------------------------------


@written_out("pow.Tensor_Scalar")
def _pow(x: Tensor, exponent: Any) -> Any:
    """WebGPU's power is one of positive numbers."""
    if not are_floats(x) or isinstance(exponent, complex):
        return None
    if exponent in (0.5, 2, 3):
        return None  # as it is: a root, and products
    if exponent in (0, 1, -1):
        return torch.ones_like(x) if exponent == 0 else x.clone() if exponent == 1 else x.reciprocal()
    power = aten.exp.default(x.abs().log() * exponent)
    if exponent != int(exponent):
        return torch.where(x < 0, math.nan, power)
    return torch.where(x < 0, -power, power) if exponent % 2 else power


@written_out("pow.Scalar")
def _pow_of_number(base: Any, exponent: Tensor) -> Any:
    ours = are_floats(exponent) and not isinstance(base, complex) and base > 0
    return (exponent * math.log(base)).exp() if ours else None


@written_out("softplus.default")
def _softplus(x: Tensor, beta: float = 1, threshold: float = 20) -> Any:
    if not are_floats(x):
        return None
    scaled = x * beta
    return torch.where(scaled > threshold, x, ((-scaled.abs()).exp() + 1).log() / beta + x.clamp_min(0))


@written_out("elu.default")
def _elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    if not are_floats(x):
        return None
    return torch.where(x > 0, x * scale, ((x * input_scale).clamp_max(0).exp() - 1) * (alpha * scale))


@written_out("hardsigmoid.default")
def _hardsigmoid(x: Tensor) -> Any:
    return (x + 3).clamp(0, 6) / 6 if are_floats(x) else None


@written_out("hardswish.default")
def _hardswish(x: Tensor) -> Any:
    return x * (x + 3).clamp(0, 6) / 6 if are_floats(x) else None


@written_out("xlogy.Tensor")
def _xlogy(x: Tensor, y: Tensor) -> Any:
    return torch.where(x == 0, 0, x * y.log()) if are_floats(x, y) else None


@written_out("isneginf.default")
def _isneginf(x: Tensor) -> Any:
    return x < -LARGEST if are_floats(x) else None


@written_out("isposinf.default")
def _isposinf(x: Tensor) -> Any:
    return x > LARGEST if are_floats(x) else None


@written_out("linalg_vector_norm.default")
def _norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if not are_floats(x) or dtype is not None or ord not in (1, 2, math.inf):
        return None
    dims = list(range(x.dim())) if dim is None else dim
    if ord == 2:
        return (x * x).sum(dims, keepdim).sqrt()
    return x.abs().sum(dims, keepdim) if ord == 1 else x.abs().amax(dims, keepdim)


@written_out("native_layer_norm.default")
def _layer_norm(x: Tensor, shape: Sequence[int], weight: Any, bias: Any, epsilon: float) -> Any:
    if not are_floats(x, weight, bias):
        return None
    values = record(aten.layer_norm.default, (x, shape, weight, bias, epsilon), {})
    if values is None:
        return None
    inner = list(range(x.dim() - len(shape), x.dim()))
    mean = x.mean(inner, True)
    centred = x - mean
    return new_of(values[0]), mean, ((centred * centred).mean(inner, True) + epsilon).rsqrt()


# ---- losses ----------------------------------------------------------------------------------------------------------


def _reduced(x: Tensor, reduction: int) -> Tensor:
    return x if reduction == 0 else x.mean() if reduction == 1 else x.sum()


@written_out("mse_loss.default")
def _mse_loss(x: Tensor, y: Tensor, reduction: int = 1) -> Any:
    if not are_floats(x, y):
        return None
    difference = x - y
    return _reduced(difference * difference, reduction)


@written_out("mse_loss_backward.default")
def _mse_loss_backward(grad: Tensor, x: Tensor, y: Tensor, reduction: int) -> Any:
    return (x - y) * (2 / x.numel() if reduction == 1 else 2) * grad if are_floats(grad, x, y) else None


def _is_target(target: Tensor) -> bool:
    return target.dtype == torch.int64 and is_ours(target)


@written_out("nll_loss_forward.default")
def _nll_loss(x: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> Any:
    if not are_floats(x, weight) or not _is_target(target) or x.dim() != 2:
        return None
    used = target != ignore_index
    at = torch.where(used, target, 0).unsqueeze(1)
    weights = used.to(x.dtype) if weight is None else weight[at.squeeze(1)] * used
    losses = -x.gather(1, at).squeeze(1) * weights
    total = weights.sum()
    if reduction == 0:
        return losses, torch.zeros_like(total)
    return (losses.sum() / total if reduction == 1 else losses.sum()), total


@written_out("nll_loss_backward.default")
def _nll_loss_backward(grad: Tensor, x: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int,
                       total: Tensor) -> Any:
    if not are_floats(grad, x, weight) or not _is_target(target) or x.dim() != 2:
        return None
    used = target != ignore_index
    weights = used.to(x.dtype) if weight is None else weight[torch.where(used, target, 0)] * used
    hot = target.unsqueeze(1) == torch.arange(x.shape[1], device=x.device)
    rows = -grad * weights / total if reduction == 1 else -grad * weights
    return hot * rows.unsqueeze(1)


# ---- backward passes -------------------------------------------------------------------------------------------------


@written_out("threshold_backward.default")
def _threshold_backward(grad: Tensor, x: Tensor, threshold: Any) -> Any:
    return torch.where(x > threshold, grad, 0) if are_floats(grad, x) else None


@written_out("sigmoid_backward.default")
def _sigmoid_backward(grad: Tensor, y: Tensor) -> Any:
    return grad * (1 - y) * y if are_floats(grad, y) else None


@written_out("tanh_backward.default")
def _tanh_backward(grad: Tensor, y: Tensor) -> Any:
    return grad * (1 - y * y) if are_floats(grad, y) else None


@written_out("silu_backward.default")
def _silu_backward(grad: Tensor, x: Tensor) -> Any:
    if not are_floats(grad, x):
        return None
    s = x.sigmoid()
    return grad * s * (1 + x * (1 - s))


@written_out("gelu_backward.default")
def _gelu_backward(grad: Tensor, x: Tensor, approximate: str = "none") -> Any:
    if not are_floats(grad, x):
        return None
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        t = inner.tanh()
        slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    below = 0.5 * (1 + (x * math.sqrt(0.5)).erf())
    return grad * (below + x * (x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi)))


@written_out("leaky_relu_backward.default")
def _leaky_relu_backward(grad: Tensor, x: Tensor, slope: Any, is_result: bool) -> Any:
    return torch.where(x > 0, grad, grad * slope) if are_floats(grad, x) else None


@written_out("hardtanh_backward.default")
def _hardtanh_backward(grad: Tensor, x: Tensor, low: Any, high: Any) -> Any:
    return torch.where((x > low) & (x < high), grad, 0) if are_floats(grad, x) else None


@written_out("_softmax_backward_data.default")
def _softmax_backward(grad: Tensor, y: Tensor, dim: int, dtype: Any) -> Any:
    if not are_floats(grad, y) or dtype != y.dtype:
        return None
    product = grad * y
    return product - y * product.sum(dim, keepdim=True)


@written_out("_log_softmax_backward_data.default")
def _log_softmax_backward(grad: Tensor, y: Tensor, dim: int, dtype: Any) -> Any:
    if not are_floats(grad, y) or dtype != y.dtype:
        return None
    return grad - y.exp() * grad.sum(dim, keepdim=True)


@written_out("native_layer_norm_backward.default")
def _layer_norm_backward(grad: Tensor, x: Tensor, shape: Sequence[int], mean: Tensor, rstd: Tensor, weight: Any,
                         bias: Any, mask: Sequence[bool]) -> Any:
    if not are_floats(grad, x, weight):
        return None
    outer = list(range(x.dim() - len(shape)))
    inner = list(range(x.dim() - len(shape), x.dim()))
    normed = (x - mean) * rstd
    scaled = grad * weight if weight is not None else grad
    dx = rstd * (scaled - scaled.mean(inner, True) - normed * (scaled * normed).mean(inner, True)) if mask[0] else None
    dw = ((grad * normed).sum(outer) if outer else grad * normed) if mask[1] and weight is not None else None
    db = (grad.sum(outer) if outer else grad.clone()) if mask[2] and bias is not None else None
    return dx, dw, db


@written_out("embedding_dense_backward.default")
def _embedding_backward(grad: Tensor, indices: Tensor, rows: int, padding: int, by_frequency: bool) -> Any:
    """A product with ones where an index is: a scatter needs atomics on floats, which WebGPU has not."""
    if not are_floats(grad) or by_frequency or rows * indices.numel() > MOST_ONE_HOT:
        return None
    flat = indices.reshape(-1)
    hot = torch.arange(rows, device=grad.device).unsqueeze(1) == flat
    if padding >= 0:
        hot = hot & (flat != padding)
    return hot.to(grad.dtype) @ grad.reshape(flat.numel(), -1)
