"""All blocks of a PPGN on cells, as precise as TF32, in float16 between products of matrices.

TF32 and float16 have as many significant bits, and float16 takes half of the memory, which is what
a step waits for. PyTorch multiplies cells with weights, a kernel of ours cells with cells.
Backward, gradients of cells carry a power of two, found anew for each block, so that float16's
range suffices; gradients of weights are float32.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.cells import Cells
from i2gnn.ops.triton.cell_pools import pool_cells, spread_to_cells
from i2gnn.ops.triton.cells import product_of_cells
from i2gnn.ops.triton.launch import blocks, kernel, launch
from i2gnn.ops.triton.scaling import find_scale
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.ops.triton.tiles import load_rows, store_rows

__all__ = ["cell_blocks"]

MULTIPLE = 8
"""Rows are filled up with zeros, which stay zeros, to a multiple of 16 bytes."""
Layers = Sequence[tuple[Tensor, Tensor]]
"""Weight and bias of each linear layer."""
Item = TypeVar("Item")

ROWS, CHANNELS = 32, 64
"""Rows and channels of a tile of `pass_back_kernel`."""


def cell_blocks(
    z: Tensor, cells: Cells, weights: Sequence[Sequence[Tensor]], *, pooled: bool
) -> Tensor:
    """Block after block: z' = W [z, mlp1(z) · mlp2(z)] + b, a ReLU behind all layers of the MLPs.

    States must be in the range of float16, below 65,504.

    Args:
        z: The cells' states.
        cells: Where they are.
        weights: Of each block those of its linear layers: mlp1, mlp2, W and b.
        pooled: Whether to return what `ops.cells.pool_cells` makes of the states, rather than them.

    Shapes:
        z: [C, D], float32.
        weights: Of each layer [out, in] and [out].
        returns: [C, D'], or [N, 2 D'] if pooled.
    """
    flat: list[Tensor] = []
    width = z.shape[1]
    for *layers, both, bias in weights:
        halves = torch.split(both, [width, len(bias)], dim=1)
        flat += [_fill(tensor) for tensor in (*layers, *halves, bias)]
        width = len(bias)
    result: Tensor = CellBlocks.apply(  # type: ignore[no-untyped-call]
        cells, pooled, width, len(weights), _fill(z, rows=False), *flat
    )
    return result


class CellBlocks(torch.autograd.Function):
    """The blocks, with widths filled up.

    Shapes:
        z: [C, P].
        weights: Of each block those of mlp1 and mlp2, [P', P] and [P'] for each layer, then the
            halves of W, by z and by the product, and b.
        returns: [C, width], or [N, 2 width] if pooled.
    """

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)  # type: ignore[untyped-decorator]
    def forward(
        ctx: Any, cells: Cells, pooled: bool, width: int, count: int, z: Tensor, *weights: Tensor
    ) -> Tensor:
        """Keeps the states of all layers, in float16."""
        z, *half = (tensor.to(torch.float16) for tensor in (z, *weights))
        states: list[Tensor] = []
        for block in _blocks(half, count):
            z, kept = block.forward(z, cells.tiles)
            if any(ctx.needs_input_grad):  # else they are forgotten as soon as they are used
                states += kept
        ctx.cells, ctx.pooled, ctx.count = cells, pooled, count
        ctx.save_for_backward(*half, *states)
        return pool_cells(z, cells, width) if pooled else z[:, :width].float()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")  # type: ignore[untyped-decorator]
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of z and all weights."""
        wants_z = ctx.needs_input_grad[4]
        half = ctx.saved_tensors[: len(ctx.needs_input_grad) - 5]
        states = _parts(ctx.saved_tensors[len(half) :], ctx.count)
        rows, scale = grad.contiguous(), grad.new_ones(())
        found: list[Tensor] = []
        for t, block in reversed(list(enumerate(_blocks(half, ctx.count)))):
            power = find_scale(rows)
            scale = scale * power
            if ctx.pooled and t == ctx.count - 1:
                rows, sums = spread_to_cells(rows, ctx.cells, len(block.bias), power)
            else:
                rows, sums = _pass_back(rows, len(block.bias), scale=power)
            of_bias = sum_shares(sums, scale)
            rows, grads = block.backward(rows, states[t], ctx.cells.tiles, scale, t > 0 or wants_z)
            found = [*grads, of_bias, *found]
        of_z = rows.float() / scale if wants_z else None
        return None, None, None, None, of_z, *found


class _Block:
    """Weights of a block in float16, and its passes.

    The first layers of both MLPs are one, which reads z once and leaves their states side by side.
    """

    def __init__(self, weights: Sequence[Tensor]) -> None:
        *layers, self.of_z, self.of_product, self.bias = weights
        left, right = _parts(list(zip(layers[::2], layers[1::2], strict=True)), 2)
        self.weight, self.shift = (torch.cat(pair) for pair in zip(left[0], right[0], strict=True))
        self.sides = left[1:], right[1:]

    def forward(self, z: Tensor, tiles: Tensor) -> tuple[Tensor, list[Tensor]]:
        """[C, P] to [C, P'], and the states that `backward` needs."""
        hidden = _layer(z, self.weight, self.shift)
        left, right = map(_perceptron, hidden.chunk(2, dim=1), self.sides)
        product = product_of_cells(left[-1], right[-1], tiles)
        after = torch.addmm(self.bias, z, self.of_z.t()).addmm_(product, self.of_product.t())
        return after, [z, product, hidden, *left[1:], *right[1:]]

    def backward(
        self, grad: Tensor, states: Sequence[Tensor], tiles: Tensor, scale: Tensor, wants_z: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """Gradients of z, if wanted, scaled as `grad` is, and of all weights but b."""
        z, product, hidden, *further = states
        first = hidden.chunk(2, dim=1)
        left, right = ([h, *rest] for h, rest in zip(first, _parts(further, 2), strict=True))
        by_product = grad @ self.of_product
        by_left = product_of_cells(by_product, right[-1], tiles, swap_y=True)
        by_right = product_of_cells(left[-1], by_product, tiles, swap_x=True)
        by_hidden = torch.empty_like(hidden)
        by_first = by_hidden.chunk(2, dim=1)
        of_left = _perceptron_grad(by_left, left, self.sides[0], scale, by_first[0])
        of_right = _perceptron_grad(by_right, right, self.sides[1], scale, by_first[1])
        by_hidden, of_weight, of_shift = _layer_grad(by_hidden, hidden, z, scale)
        weights, shifts = of_weight.chunk(2), of_shift.chunk(2)
        grads = [
            *(weights[0], shifts[0], *of_left),
            *(weights[1], shifts[1], *of_right),
            *(_product_over_cells(grad, x) / scale for x in (z, product)),
        ]
        by_z = (grad @ self.of_z).addmm_(by_hidden, self.weight) if wants_z else grad[:0]
        return by_z, grads


def _blocks(weights: Sequence[Tensor], count: int) -> list[_Block]:
    return [_Block(part) for part in _parts(weights, count)]


def _parts(items: Sequence[Item], count: int) -> list[Sequence[Item]]:
    """As many parts of equal length."""
    each = len(items) // count
    return [items[t * each : (t + 1) * each] for t in range(count)]


def _layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """With a ReLU, in the same pass."""
    return torch._addmm_activation(bias, x, weight.t())


def _layer_grad(
    grad: Tensor, after: Tensor, x: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients before the ReLU, of the weight and of the bias."""
    grad, sums = _pass_back(grad, grad.shape[1], after=after)
    return grad, _product_over_cells(grad, x) / scale, sum_shares(sums, scale)


def _perceptron(x: Tensor, layers: Layers) -> list[Tensor]:
    """The states before and behind every layer."""
    states = [x]
    for layer in layers:
        states.append(_layer(states[-1], *layer))
    return states


def _perceptron_grad(
    grad: Tensor, states: Sequence[Tensor], layers: Layers, scale: Tensor, by_input: Tensor
) -> list[Tensor]:
    """Gradients of weights and biases; that of the input is written to `by_input`."""
    found: list[Tensor] = []
    for t in reversed(range(len(layers))):
        grad, *of_layer = _layer_grad(grad, states[t + 1], states[t], scale)
        found = [*of_layer, *found]
        grad = torch.mm(grad, layers[t][0], out=by_input if t == 0 else None)
    if not layers:
        by_input.copy_(grad)
    return found


def _product_over_cells(grad: Tensor, x: Tensor) -> Tensor:
    """grad^T x, summed and returned in float32: [C, P'] and [C, P] to [P', P]."""
    if grad.is_cuda:
        return torch.mm(grad.t(), x, out_dtype=torch.float32)
    return grad.t().float() @ x.float()


def _pass_back(
    grad: Tensor, width: int, *, scale: Tensor | None = None, after: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """A gradient of cells in float16, and shares of its sums over them, [programs, width].

    Multiplied with a scale, if there is one; where the state `after` a ReLU is 0, it is 0.
    """
    count, columns = grad.shape
    programs = programs_on(grad.device, 2)
    out = grad.new_empty(count, width, dtype=torch.float16)
    partial = grad.new_empty(programs, width, dtype=torch.float32)
    launch(
        pass_back_kernel,
        (programs, blocks(width, CHANNELS)),
        out,
        partial,
        grad,
        after,
        scale,
        count,
        D=columns,
        WIDTH=width,
        BLOCK_R=ROWS,
        BLOCK_D=CHANNELS,
        num_warps=4,
    )
    return out, partial


@kernel
def pass_back_kernel(
    out: tl.tensor,
    partial: tl.tensor,
    grad: tl.tensor,
    after: tl.tensor,
    scale: tl.tensor,
    rows: int,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """Writes grad, times the scale, where `after` is above 0, and shares of its sums over rows."""
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    sums = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0)):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = row < rows
        value = load_rows(grad, row, channel, there, D)
        if scale is not None:
            value *= tl.load(scale)
        if after is not None:
            value = tl.where(load_rows(after, row, channel, there, WIDTH) > 0, value, 0.0)
        store_rows(out, row, channel, there, value, WIDTH)
        sums += value
    tl.store(partial + tl.program_id(0) * WIDTH + channel, tl.sum(sums, 0), mask=channel < WIDTH)


def _fill(x: Tensor, rows: bool = True) -> Tensor:
    """Fills up all axes with zeros, or all but the first."""
    missing: list[int] = []
    for length in reversed(x.shape if rows else x.shape[1:]):
        missing += [0, -length % MULTIPLE]
    return pad(x, missing) if any(missing) else x
