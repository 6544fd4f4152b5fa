"""Sums of cells over the rows and columns of all matrices, and their gradients, in float16."""

import torch
import triton.language as tl
from torch import Tensor

from i2gnn.ops.cells import Cells
from i2gnn.ops.triton.launch import blocks, kernel, launch
from i2gnn.ops.triton.shares import programs_on
from i2gnn.ops.triton.tiles import load_rows, store_rows

__all__ = ["pool_cells", "spread_to_cells"]

TOGETHER = 16
"""Cells of a row, and as many of a column, that are read at once."""
ROWS, CHANNELS = 32, 64
"""Rows and channels of a tile of `spread_kernel`."""


def pool_cells(z: Tensor, cells: Cells, width: int) -> Tensor:
    """Of each node a the cell (a, a), and the sum of all others in its row and its column.

    Shapes:
        z: [C, P], of which `width` channels count.
        returns: [N, 2 width], float32.
    """
    nodes = len(cells.first)
    out = z.new_empty(nodes, 2 * width, dtype=torch.float32)
    launch(
        pool_kernel,
        (nodes, blocks(width, CHANNELS)),
        out,
        z,
        cells.first,
        cells.place,
        cells.size,
        P=z.shape[1],
        D=width,
        BLOCK=TOGETHER,
        BLOCK_D=CHANNELS,
        num_warps=2,
    )
    return out


def spread_to_cells(
    grad: Tensor, cells: Cells, columns: int, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradient of cells in float16, scaled, and shares of its sums over them.

    Shapes:
        grad: [N, 2 width], of what `pool_cells` returns.
        columns: P, at least as many as `width`; the others are zeros.
        scale: [].
        returns: [C, P] and [programs, P].
    """
    count = len(cells.row)
    programs = programs_on(grad.device, 4)
    out = grad.new_empty(count, columns, dtype=torch.float16)
    partial = grad.new_empty(programs, columns)
    launch(
        spread_kernel,
        (programs, blocks(columns, CHANNELS)),
        out,
        partial,
        grad,
        cells.row,
        cells.column,
        scale,
        count,
        D=grad.shape[1] // 2,
        P=columns,
        BLOCK_R=ROWS,
        BLOCK_D=CHANNELS,
        num_warps=4,
    )
    return out, partial


@kernel
def pool_kernel(
    out: tl.tensor,
    z: tl.tensor,
    first: tl.tensor,
    place: tl.tensor,
    size: tl.tensor,
    P: tl.constexpr,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """out[a] = z[a,a], sum of z[a,b] + z[b,a] over b != a, for one node a and some channels."""
    a = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    row, at, n = tl.load(first + a), tl.load(place + a), tl.load(size + a)
    column = row - at * n + at  # the cell (first node of the graph, a)
    total = tl.zeros([BLOCK, BLOCK_D], tl.float32)
    for begin in range(0, n, BLOCK):
        b = begin + tl.arange(0, BLOCK)
        other = (b < n) & (b != at)
        total += load_rows(z, row + b, channel, other, P)
        total += load_rows(z, column + b * n, channel, other, P)
    itself = tl.load(z + (row + at) * P + channel, mask=channel < D, other=0.0)
    out += a * (2 * D) + channel
    tl.store(out, itself.to(tl.float32), mask=channel < D)
    tl.store(out + D, tl.sum(total, 0), mask=channel < D)


@kernel
def spread_kernel(
    out: tl.tensor,
    partial: tl.tensor,
    grad: tl.tensor,
    rows: tl.tensor,
    columns: tl.tensor,
    scale: tl.tensor,
    count: int,
    D: tl.constexpr,
    P: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """Writes the gradient of the cells (a, b), scaled, and shares of its sums."""
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    factor = tl.load(scale)
    sums = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for t in range(tl.program_id(0), tl.cdiv(count, BLOCK_R), tl.num_programs(0)):
        cell = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = cell < count
        a = tl.load(rows + cell, mask=there, other=0)
        b = tl.load(columns + cell, mask=there, other=0)
        # Gradients of a node lie one behind the other: of (a, a), then of the sum.
        itself = load_rows(grad, 2 * a, channel, there & (a == b), D)
        others = there & (a != b)
        value = itself + load_rows(grad, 2 * a + 1, channel, others, D)
        value = (value + load_rows(grad, 2 * b + 1, channel, others, D)) * factor
        store_rows(out, cell, channel, there, value, P)
        sums += value
    tl.store(partial + tl.program_id(0) * P + channel, tl.sum(sums, 0), mask=channel < P)
