"""`gru_update` on the CPU: matrix products in slices, gates in one pass, nothing kept for later.

A slice of rows goes through both products and then through one compiled loop that applies the
gates and writes the result. The backward pass computes the gates again.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from i2gnn.ops import reference
from i2gnn.parallel import chunks_for, jit, run_chunks

__all__ = ["gru_update"]

SLICE = 16384
"""Rows worked on at a time: enough that starting threads costs nothing, few enough for memory."""

CHUNKS = 8
Floats = npt.NDArray[np.float32]


def gru_update(
    message: Tensor,
    h: Tensor,
    weight_message: Tensor,
    weight_state: Tensor,
    bias_message: Tensor,
    bias_state: Tensor,
) -> Tensor:
    """See `i2gnn.ops.gru_update`; types other than float32 take the reference."""
    inputs = (message, h, weight_message, weight_state, bias_message, bias_state)
    if h.dtype != torch.float32:
        return reference.gru_update(*inputs)
    result: Tensor = GRUUpdate.apply(*inputs)  # type: ignore[no-untyped-call]
    return result


class GRUUpdate(torch.autograd.Function):
    """Keeps only its inputs for the backward pass."""

    @staticmethod
    def forward(ctx: Any, message: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
        """[R, C] and [R, D] to [R, D]."""
        message, h = message.contiguous(), h.contiguous()
        ctx.save_for_backward(message, h, *weights)
        out = torch.empty_like(h)
        for rows in _slices(len(h)):
            products = _products(message[rows], h[rows], *weights)
            _run(gates_forward, *products, h[rows], out[rows])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        """[R, D] to the gradients of all inputs."""
        message, h, *weights = ctx.saved_tensors
        grad = grad.contiguous()
        grad_message, grad_h = torch.empty_like(message), torch.empty_like(h)
        grads = [torch.zeros_like(weight) for weight in weights]
        for rows in _slices(len(h)):
            from_message, from_state = _products(message[rows], h[rows], *weights)
            # In place: what the products held becomes the gradient by them.
            _run(gates_backward, from_message, from_state, h[rows], grad[rows], grad_h[rows])
            torch.mm(from_message, weights[0].t(), out=grad_message[rows])
            grad_h[rows].addmm_(from_state, weights[1].t())
            grads[0].addmm_(message[rows].t(), from_message)
            grads[1].addmm_(h[rows].t(), from_state)
            grads[2] += from_message.sum(0)
            grads[3] += from_state.sum(0)
        return grad_message, grad_h, *grads


def _products(
    message: Tensor,
    h: Tensor,
    weight_message: Tensor,
    weight_state: Tensor,
    bias_message: Tensor,
    bias_state: Tensor,
) -> tuple[Tensor, Tensor]:
    """What message and state say to the three gates, [n, 3 D] each."""
    from_message = torch.addmm(bias_message, message, weight_message)
    return from_message, torch.addmm(bias_state, h, weight_state)


def _slices(rows: int) -> list[slice]:
    return [slice(low, low + SLICE) for low in range(0, rows, SLICE)]


def _run(kernel: Any, *arrays: Tensor) -> None:
    chunks = chunks_for(arrays[0].numel(), CHUNKS)
    run_chunks(kernel, len(arrays[0]), [a.detach().numpy() for a in arrays], chunks=chunks)


# tanh(x) = x P(x²) / Q(x²) on |x| <= 9, fitted to a relative error of 1.5e-9; beyond, float32 has
# no number between tanh and 1. Only products and one division, so that loops run on vectors.
P0, P1, P2, P3, P4, P5 = (
    np.float32(c)
    for c in (
        9.999999986e-01,
        1.367615024e-01,
        3.863609636e-03,
        2.791225602e-05,
        3.035622743e-08,
        -1.203409332e-11,
    )
)
Q1, Q2, Q3, Q4 = (
    np.float32(c) for c in (4.700948218e-01, 2.722857269e-02, 3.930312055e-04, 1.280716116e-06)
)
BOUND, HALF, ONE = np.float32(9), np.float32(0.5), np.float32(1)


@jit
def _tanh(x: Any) -> Any:
    x = BOUND if x > BOUND else x
    x = -BOUND if x < -BOUND else x
    t = x * x
    top = P0 + t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))))
    return x * top / (ONE + t * (Q1 + t * (Q2 + t * (Q3 + t * Q4))))


@jit
def _sigmoid(x: Any) -> Any:
    return HALF + HALF * _tanh(HALF * x)


@jit
def gates_forward(
    start: int, stop: int, from_message: Floats, from_state: Floats, h: Floats, out: Floats
) -> None:
    """New state of rows start .. stop; overwrites the products."""
    width = h.shape[1]
    for row in range(start, stop):
        message, state, old, result = from_message[row], from_state[row], h[row], out[row]
        for c in range(2 * width):
            message[c] = _sigmoid(message[c] + state[c])
        reset, update, new = message[:width], message[width : 2 * width], message[2 * width :]
        new_state = state[2 * width :]
        for c in range(width):
            candidate = _tanh(new[c] + reset[c] * new_state[c])
            result[c] = candidate + update[c] * (old[c] - candidate)


@jit
def gates_backward(
    start: int,
    stop: int,
    from_message: Floats,
    from_state: Floats,
    h: Floats,
    grad: Floats,
    grad_h: Floats,
) -> None:
    """Turns both products into the gradients by them; writes the direct gradient by h."""
    width = h.shape[1]
    for row in range(start, stop):
        message, state = from_message[row], from_state[row]
        old, d_out, d_old = h[row], grad[row], grad_h[row]
        for c in range(2 * width):
            message[c] = _sigmoid(message[c] + state[c])
        reset, update, new = message[:width], message[width : 2 * width], message[2 * width :]
        d_reset, d_update, new_state = state[:width], state[width : 2 * width], state[2 * width :]
        for c in range(width):
            new[c] = _tanh(new[c] + reset[c] * new_state[c])
        for c in range(width):
            d_update[c] = d_out[c] * (old[c] - new[c]) * (update[c] * (ONE - update[c]))
            d_old[c] = d_out[c] * update[c]
        for c in range(width):
            d_new = d_out[c] * (ONE - update[c]) * (ONE - new[c] * new[c])
            d_reset[c] = d_new * new_state[c] * (reset[c] * (ONE - reset[c]))
            new[c] = d_new
            new_state[c] = d_new * reset[c]
        for c in range(2 * width):
            message[c] = state[c]
