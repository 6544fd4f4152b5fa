"""The gates of a GRU, compiled: one pass over what the products left.

`lines` [n, 4 D] holds four blocks of D columns: what the message says to the new state; what
message and state say to the reset gate and to the update gate; what the state says to the new
state. `bias` [4 D] belongs to them. Loops are short and touch few arrays, because only such loops
does the compiler turn into vectors.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit_fused

__all__ = ["gates_backward", "gates_forward"]

Floats = npt.NDArray[np.float32]

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
SUMMED = 32
BOUND, HALF, ONE = np.float32(9), np.float32(0.5), np.float32(1)


@jit_fused
def _tanh(x: Any) -> Any:
    x = BOUND if x > BOUND else x
    x = -BOUND if x < -BOUND else x
    t = x * x
    top = P0 + t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))))
    return x * top / (ONE + t * (Q1 + t * (Q2 + t * (Q3 + t * Q4))))


@jit_fused
def _sigmoid(x: Any) -> Any:
    return HALF + HALF * _tanh(HALF * x)


@jit_fused
def gates_forward(rows: int, lines: Floats, bias: Floats, h: Floats, out: Floats) -> None:
    """New states out [., D] of the first rows of h [., D]; lines keep what `gates_backward` needs.

    That is the candidate for the new state, the two gates, and the state's part with its bias.
    """
    width = h.shape[1]
    new_bias, both_bias, state_bias = bias[:width], bias[width : 3 * width], bias[3 * width :]
    for row in range(rows):
        line, old, result = lines[row], h[row], out[row]
        new, both, from_state = line[:width], line[width : 3 * width], line[3 * width :]
        for c in range(2 * width):
            both[c] = _sigmoid(both[c] + both_bias[c])
        reset, update = both[:width], both[width:]
        for c in range(width):
            from_state[c] += state_bias[c]
            new[c] = _tanh(new[c] + new_bias[c] + reset[c] * from_state[c])
        for c in range(width):
            result[c] = new[c] + update[c] * (old[c] - new[c])


@jit_fused
def gates_backward(
    rows: int,
    lines: Floats,
    h: Floats,
    out: Floats,
    grad: Floats,
    grad_h: Floats,
    grad_bias: Floats,
) -> None:
    """Turns lines from `gates_forward` into the gradients by what they held before it.

    `grad` [., D] is the gradient by `out`. Also writes the direct gradient by h to `grad_h`, and
    adds the gradient by the bias to `grad_bias`. Behind the first rows, gradients are zero.
    """
    width = h.shape[1]
    total = np.zeros_like(grad_bias)
    for row in range(rows):
        line, old, result = lines[row], h[row], out[row]
        d_out, d_old = grad[row], grad_h[row]
        new, reset = line[:width], line[width : 2 * width]
        update, from_state = line[2 * width : 3 * width], line[3 * width :]
        for c in range(width):
            new[c] = (ONE - update[c]) * (ONE - new[c] * new[c])
        for c in range(width):
            through = d_out[c] * update[c]
            d_old[c] = through
            update[c] = through * (old[c] - result[c])
        for c in range(width):
            d_new = d_out[c] * new[c]
            new[c] = d_new
            d_product = d_new * reset[c]
            reset[c] = d_product * from_state[c] * (ONE - reset[c])
            from_state[c] = d_product
        for c in range(4 * width):
            total[c] += line[c]
        if row % SUMMED == SUMMED - 1 or row == rows - 1:  # short sums lose fewer digits
            for c in range(4 * width):
                grad_bias[c] += total[c]
                total[c] = 0
    lines[rows:] = 0
    grad_h[rows:] = 0
