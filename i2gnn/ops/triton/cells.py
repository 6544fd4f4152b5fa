"""Products of the matrices of all graphs on a GPU, on cells as they lie, forward and backward.

A graph of n nodes owns n x n cells (a, b), one after the other, and each has D channels. A program
finds a tile of a product for some channels. Each of its threads has one channel and the sums of
all cells of the tile, so that a number is multiplied as often as a tile is wide once it is read.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from i2gnn.graphs.flat import offsets, owners
from i2gnn.ops.triton.launch import blocks, kernel, launch

__all__ = ["multiply_cells", "tiles_of_cells"]

TILE = 8
"""Rows and columns of a tile: its sums take 64 registers of each thread."""
CHANNELS = 32
"""Channels of a program: one for each thread of a warp."""


def tiles_of_cells(sizes: Tensor) -> Tensor:
    """The tiles that cover the matrices of all graphs.

    Shapes:
        sizes: [G], the nodes of each graph, in the order of their cells.
        returns: [T, 4], of each tile the first cell of its graph, the nodes of its graph, and its
            first row and column.

    Example:
        >>> tiles_of_cells(torch.tensor([2, 9]))[:3].tolist()
        [[0, 2, 0, 0], [4, 9, 0, 0], [4, 9, 0, 8]]
    """
    across = (sizes + (TILE - 1)) // TILE
    first = offsets(across.square())  # [G + 1]
    total = int(first[-1])
    graph = owners(first, total)
    place, across = torch.arange(total) - first[graph], across[graph]
    columns = (offsets(sizes.square())[graph], sizes[graph], place // across, place % across)
    tiles = torch.stack(columns, dim=1)
    tiles[:, 2:] *= TILE
    return tiles


def multiply_cells(x: Tensor, y: Tensor, tiles: Tensor) -> Tensor:
    """Multiplies the matrices of each graph, channel by channel.

        out[a,b] = sum of x[a,c] * y[c,b] over the nodes c of the graph

    Shapes:
        x, y: [C, D].
        tiles: [T, 4], see `tiles_of_cells`; on the device of x.
        returns: [C, D].
    """
    result: Tensor = MultiplyCells.apply(x, y, tiles)  # type: ignore[no-untyped-call]
    return result


class MultiplyCells(torch.autograd.Function):
    """out = x · y; backward, with grad = d loss / d out, grad · y^T and x^T · grad."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, tiles: Tensor) -> Tensor:
        """[C, D] each, to the same."""
        x, y = x.contiguous(), y.contiguous()
        ctx.save_for_backward(x, y, tiles)
        return _multiply(x, y, tiles)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        """[C, D] to the same for x and y."""
        x, y, tiles = ctx.saved_tensors
        grad = grad.contiguous()
        need_x, need_y, _ = ctx.needs_input_grad
        grad_x = _multiply(grad, y, tiles, swap_y=True) if need_x else None
        grad_y = _multiply(x, grad, tiles, swap_x=True) if need_y else None
        return grad_x, grad_y, None


def _multiply(
    x: Tensor, y: Tensor, tiles: Tensor, swap_x: bool = False, swap_y: bool = False
) -> Tensor:
    """The product x · y, or with one of them transposed."""
    width = x.shape[1]
    out = torch.empty_like(x)
    channels = min(CHANNELS, triton.next_power_of_2(max(1, width)))
    launch(
        multiply_cells_kernel,
        (len(tiles), blocks(width, channels)),
        out,
        x,
        y,
        tiles,
        D=width,
        BLOCK=TILE,
        BLOCK_D=channels,
        SWAP_X=swap_x,
        SWAP_Y=swap_y,
        num_warps=1,
    )
    return out


@kernel
def multiply_cells_kernel(
    out: tl.tensor,
    x: tl.tensor,
    y: tl.tensor,
    tiles: tl.tensor,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    BLOCK_D: tl.constexpr,
    SWAP_X: tl.constexpr,
    SWAP_Y: tl.constexpr,
) -> None:
    """out[a,b] = sum of x[a,c] * y[c,b] over c; x[c,a] if SWAP_X, y[b,c] if SWAP_Y.

    What a tile has beyond the end of a matrix is computed from its last row, column and channel,
    so that loads need no mask, and not written.
    """
    tile = tiles + tl.program_id(0).to(tl.int64) * 4
    start = tl.load(tile)
    n = tl.load(tile + 1)
    a = tl.load(tile + 2) + tl.arange(0, BLOCK)
    b = tl.load(tile + 3) + tl.arange(0, BLOCK)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    row = tl.minimum(a, n - 1)
    column = tl.minimum(b, n - 1)
    d = tl.minimum(channel, D - 1)
    x_cell = start + (row if SWAP_X else row * n)  # at c = 0
    y_cell = start + (column * n if SWAP_Y else column)
    x_at = x + x_cell[:, None] * D + d[None, :]
    y_at = y + y_cell[:, None] * D + d[None, :]
    x_step = (n if SWAP_X else 1) * D  # from c to c + 1
    y_step = (1 if SWAP_Y else n) * D
    total = tl.zeros([BLOCK, BLOCK, BLOCK_D], tl.float32)
    for _ in range(n):
        left, right = tl.load(x_at).to(tl.float32), tl.load(y_at).to(tl.float32)
        total += left[:, None, :] * right[None, :, :]
        x_at += x_step
        y_at += y_step
    cell = start + (a * n)[:, None] + b[None, :]
    there = (a < n)[:, None] & (b < n)[None, :]
    mask = there[:, :, None] & (channel < D)[None, None, :]
    tl.store(out + cell[:, :, None] * D + d[None, None, :], total, mask=mask)
