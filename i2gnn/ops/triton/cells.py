"""Products of the matrices of all graphs on a GPU, on cells as they lie, forward and backward.

A graph of n nodes owns n x n cells (a, b), one after the other, and each has D channels. A program
finds a tile of a product for some channels: it reads tiles of both factors, channels innermost as
they lie, and multiplies as many pairs of small matrices as there are channels.
"""

from typing import Any

import torch
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from i2gnn.graphs.flat import offsets, owners
from i2gnn.ops.triton.launch import blocks, kernel, launch

__all__ = ["multiply_cells", "product_of_cells", "tiles_of_cells"]

TILE = 16
"""Rows and columns of a tile: what matrix units multiply at once."""
CHANNELS = 16
"""Channels of a program: 32 bytes of float16, the least that memory gives."""


def tiles_of_cells(sizes: Tensor) -> Tensor:
    """The tiles that cover the matrices of all graphs.

    Shapes:
        sizes: [G], the nodes of each graph, in the order of their cells.
        returns: [T, 4], of each tile the first cell of its graph, the nodes of its graph, and its
            first row and column.

    Example:
        >>> tiles_of_cells(torch.tensor([2, 17]))[:3].tolist()
        [[0, 2, 0, 0], [4, 17, 0, 0], [4, 17, 0, 16]]
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
        return product_of_cells(x, y, tiles)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        """[C, D] to the same for x and y."""
        x, y, tiles = ctx.saved_tensors
        grad = grad.contiguous()
        need_x, need_y, _ = ctx.needs_input_grad
        grad_x = product_of_cells(grad, y, tiles, swap_y=True) if need_x else None
        grad_y = product_of_cells(x, grad, tiles, swap_x=True) if need_y else None
        return grad_x, grad_y, None


def product_of_cells(
    x: Tensor, y: Tensor, tiles: Tensor, swap_x: bool = False, swap_y: bool = False
) -> Tensor:
    """The product x · y, or with one of them transposed; contiguous, and without a gradient."""
    width = x.shape[1]
    out = torch.empty_like(x)
    launch(
        multiply_cells_kernel,
        (len(tiles), blocks(width, CHANNELS)),
        out,
        x,
        y,
        tiles,
        D=width,
        BLOCK=TILE,
        BLOCK_D=CHANNELS,
        SWAP_X=swap_x,
        SWAP_Y=swap_y,
        num_warps=4,
        num_stages=2,
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
    """out[a,b] = sum of x[a,c] * y[c,b] over c; x[c,a] if SWAP_X, y[b,c] if SWAP_Y."""
    tile = tiles + tl.program_id(0).to(tl.int64) * 4
    start = tl.load(tile)
    n = tl.load(tile + 1)
    a = tl.load(tile + 2) + tl.arange(0, BLOCK)
    b = tl.load(tile + 3) + tl.arange(0, BLOCK)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    total = tl.zeros([BLOCK_D, BLOCK, BLOCK], tl.float32)
    for begin in range(0, n, BLOCK):
        c = begin + tl.arange(0, BLOCK)
        left = _tile(x, start, a, c, n, d, D, SWAP_X)
        right = _tile(y, start, c, b, n, d, D, SWAP_Y)
        total = tl.dot(left, right, total, input_precision="ieee")
    cell = start + (a * n)[:, None] + b[None, :]
    there = (a < n)[:, None] & (b < n)[None, :]
    mask = there[:, :, None] & (d < D)[None, None, :]
    tl.store(out + cell[:, :, None] * D + d[None, None, :], tl.permute(total, (1, 2, 0)), mask=mask)


@kernel
def _tile(
    x: tl.tensor,
    start: tl.tensor,
    row: tl.tensor,
    column: tl.tensor,
    n: tl.tensor,
    d: tl.tensor,
    D: tl.constexpr,
    SWAP: tl.constexpr,
) -> Any:
    """x[row, column] of a graph's matrix, or x[column, row], channels first; zeros beyond it."""
    if SWAP:
        cell = start + row[:, None] + (column * n)[None, :]
    else:
        cell = start + (row * n)[:, None] + column[None, :]
    there = (row < n)[:, None] & (column < n)[None, :]
    mask = there[:, :, None] & (d < D)[None, None, :]
    numbers = tl.load(x + cell[:, :, None] * D + d[None, None, :], mask=mask, other=0.0)
    if x.dtype.element_ty == tl.bfloat16:  # whose products Triton's interpreter does not know
        numbers = numbers.to(tl.float32)
    return tl.permute(numbers, (2, 0, 1))
