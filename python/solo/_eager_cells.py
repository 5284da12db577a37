"""Cells of LSTM and GRU, which PyTorch calls as one operator on a device of others, in terms of others."""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._eager_ops import are_floats, written_out


@written_out("_thnn_fused_lstm_cell.default")
def _lstm(from_input: Tensor, from_hidden: Tensor, cell: Tensor, input_bias: Tensor | None = None,
          hidden_bias: Tensor | None = None) -> Any:
    """The hidden state, the cell's, and the gates for the backward pass."""
    if not are_floats(from_input, from_hidden, cell):
        return None
    gates = from_input + from_hidden
    if input_bias is not None and hidden_bias is not None:
        gates = gates + (input_bias + hidden_bias)
    into, keep, new, out = gates.chunk(4, 1)
    into, keep, new, out = into.sigmoid(), keep.sigmoid(), new.tanh(), out.sigmoid()
    cell = keep * cell + into * new
    return out * cell.tanh(), cell, torch.cat([into, keep, new, out], 1)


@written_out("_thnn_fused_lstm_cell_backward_impl.default")
def _lstm_backward(grad: Tensor | None, cell_grad: Tensor | None, before: Tensor, cell: Tensor, gates: Tensor,
                   has_bias: bool) -> Any:
    """Gradients of the gates, of the cell's state before, and of both biases."""
    if not are_floats(gates, before):
        return None
    into, keep, new, out = gates.chunk(4, 1)
    shown = cell.tanh()
    grad = torch.zeros_like(cell) if grad is None else grad
    of_cell = grad * out * (1 - shown * shown)
    if cell_grad is not None:
        of_cell = of_cell + cell_grad
    of_gates = torch.cat([of_cell * new * into * (1 - into), of_cell * before * keep * (1 - keep),
                          of_cell * into * (1 - new * new), grad * shown * out * (1 - out)], 1)
    return of_gates, of_cell * keep, of_gates.sum(0)


@written_out("_thnn_fused_gru_cell.default")
def _gru(from_input: Tensor, from_hidden: Tensor, hidden: Tensor, input_bias: Tensor | None = None,
         hidden_bias: Tensor | None = None) -> Any:
    """The hidden state, and what the backward pass needs."""
    if not are_floats(from_input, from_hidden, hidden):
        return None
    if input_bias is not None and hidden_bias is not None:
        from_input, from_hidden = from_input + input_bias, from_hidden + hidden_bias
    (a, b, c), (d, e, f) = from_input.chunk(3, 1), from_hidden.chunk(3, 1)
    reset, keep = (a + d).sigmoid(), (b + e).sigmoid()
    new = (c + reset * f).tanh()
    return new + keep * (hidden - new), torch.cat([reset, keep, new, hidden, f], 1)


@written_out("_thnn_fused_gru_cell_backward.default")
def _gru_backward(grad: Tensor, saved: Tensor, has_bias: bool) -> Any:
    """Gradients of both groups of gates, of the hidden state before, and of both biases."""
    if not are_floats(grad, saved):
        return None
    reset, keep, new, hidden, shown = saved.chunk(5, 1)
    of_new = grad * (1 - keep) * (1 - new * new)
    of_reset = of_new * shown * reset * (1 - reset)
    of_keep = grad * (hidden - new) * keep * (1 - keep)
    of_input = torch.cat([of_reset, of_keep, of_new], 1)
    of_hidden = torch.cat([of_reset, of_keep, of_new * reset], 1)
    return of_input, of_hidden, grad * keep, of_input.sum(0), of_hidden.sum(0)
