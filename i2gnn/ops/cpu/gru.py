"""`gru_update` on the CPU: slices of rows that stay in cache, and a backward by recomputation."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["gru_update"]

SLICE = 4096
"""Rows worked on at a time: their gates fit into the cache of a core."""


def gru_update(
    message: Tensor,
    h: Tensor,
    weight_message: Tensor,
    weight_state: Tensor,
    bias_message: Tensor,
    bias_state: Tensor,
) -> Tensor:
    """See `i2gnn.ops.gru_update`."""
    result: Tensor = GRUUpdate.apply(  # type: ignore[no-untyped-call]
        message, h, weight_message, weight_state, bias_message, bias_state
    )
    return result


class GRUUpdate(torch.autograd.Function):
    """Keeps only its inputs; the gates are computed again in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        message: Tensor,
        h: Tensor,
        weight_message: Tensor,
        weight_state: Tensor,
        bias_message: Tensor,
        bias_state: Tensor,
    ) -> Tensor:
        """[R, C] and [R, D] to [R, D]."""
        ctx.save_for_backward(message, h, weight_message, weight_state, bias_message, bias_state)
        weights = (weight_message, weight_state, bias_message, bias_state)
        out = torch.empty_like(h)
        for rows in _slices(len(h)):
            _, update, new, _ = _gates(message[rows], h[rows], *weights)
            torch.lerp(new, h[rows], update, out=out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        """[R, D] to the gradients of all inputs."""
        message, h, *weights = ctx.saved_tensors
        grad_message, grad_h = torch.empty_like(message), torch.empty_like(h)
        grads = [torch.zeros_like(weight) for weight in weights]
        width = h.shape[1]
        for rows in _slices(len(h)):
            reset, update, new, new_h = _gates(message[rows], h[rows], *weights)
            d_out = grad[rows]
            d_gates = h.new_empty(len(d_out), 3 * width)  # before the non-linearities, message side
            d_reset, d_update, d_new = d_gates.chunk(3, dim=1)
            torch.mul(d_out * (1 - update), 1 - new * new, out=d_new)
            torch.mul(d_out * (h[rows] - new), update * (1 - update), out=d_update)
            torch.mul(d_new * new_h, reset * (1 - reset), out=d_reset)
            torch.mm(d_gates, weights[0].t(), out=grad_message[rows])
            grads[0].addmm_(message[rows].t(), d_gates)
            grads[2].add_(d_gates.sum(0))
            d_new.mul_(reset)  # on the state side, the last third sits behind the reset gate
            torch.addmm(d_out * update, d_gates, weights[1].t(), out=grad_h[rows])
            grads[1].addmm_(h[rows].t(), d_gates)
            grads[3].add_(d_gates.sum(0))
        return grad_message, grad_h, *grads


def _slices(rows: int) -> list[slice]:
    return [slice(low, low + SLICE) for low in range(0, rows, SLICE)]


def _gates(
    message: Tensor,
    h: Tensor,
    weight_message: Tensor,
    weight_state: Tensor,
    bias_message: Tensor,
    bias_state: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reset gate, update gate, candidate, and the state's share of the candidate."""
    width = h.shape[1]
    from_message = torch.addmm(bias_message, message, weight_message)
    from_state = torch.addmm(bias_state, h, weight_state)
    gates = from_message[:, : 2 * width].add_(from_state[:, : 2 * width]).sigmoid_()
    reset, update = gates.chunk(2, dim=1)
    new_h = from_state[:, 2 * width :]
    new = from_message[:, 2 * width :].addcmul_(reset, new_h).tanh_()
    return reset, update, new, new_h
