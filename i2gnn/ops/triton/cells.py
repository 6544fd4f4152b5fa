"""Products of the matrices of all graphs on a GPU, on cells as they lie, forward and backward.

A graph of n nodes owns n x n cells (a, b), one after the other, and each has D channels. A program
finds a tile of a product for some channels. Threads have channels of their own, so they read what
lies side by side, keep their parts of the tile in registers, and share nothing. Matrix units would
need tiles with channels outermost; to turn them around takes longer than to multiply them here.
"""

from typing import Any

import torch
import triton.language as tl
from torch import Tensor

from i2gnn.graphs.flat import offsets, owners
from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.triton.launch import blocks, kernel, launch

__all__ = ["multiply_cells", "product_of_cells", "tiles_of_cells"]

ROWS, COLUMNS = 4, 4
"""Rows and columns of a tile."""
THREADS = 32
"""Threads of a program."""


def tiles_of_cells(sizes: Tensor) -> Tensor:
    """The tiles that cover the matrices of all graphs.

    Shapes:
        sizes: [G], the nodes of each graph, in the order of their cells.
        returns: [T, 4], of each tile the first cell of its graph, the nodes of its graph, and its
            first row and column.

    Example:
        >>> tiles_of_cells(torch.tensor([2, 5]))[:3].tolist()
        [[0, 2, 0, 0], [4, 5, 0, 0], [4, 5, 0, 4]]
    """
    down, across = ((sizes + (length - 1)) // length for length in (ROWS, COLUMNS))
    first = offsets(down * across)  # [G + 1]
    total = int(first[-1])
    graph = owners(first, total)
    place, across = torch.arange(total) - first[graph], across[graph]
    row, column = place // across * ROWS, place % across * COLUMNS
    return torch.stack([offsets(sizes.square())[graph], sizes[graph], row, column], dim=1)


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
        ctx.save_for_backward(x, y, tiles)
        return product_of_cells(x, y, tiles)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        """[C, D] to the same for x and y."""
        x, y, tiles = ctx.saved_tensors
        need_x, need_y, _ = ctx.needs_input_grad
        grad_x = product_of_cells(grad, y, tiles, swap_y=True) if need_x else None
        grad_y = product_of_cells(x, grad, tiles, swap_x=True) if need_y else None
        return grad_x, grad_y, None


def product_of_cells(
    x: Tensor, y: Tensor, tiles: Tensor, swap_x: bool = False, swap_y: bool = False
) -> Tensor:
    """The product x · y, or with one of them transposed; contiguous, and without a gradient."""
    x, y = x.contiguous(), y.contiguous()
    width = x.shape[1]
    out = torch.empty_like(x)
    vector = 1 + (width % 2 == 0)
    launch(
        multiply_cells_kernel,
        (len(tiles), blocks(width, THREADS * vector)),
        out,
        x,
        y,
        tiles,
        D=width,
        BLOCK_A=ROWS,
        BLOCK_B=COLUMNS,
        BLOCK_D=THREADS * vector,
        VECTOR=vector,
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
    BLOCK_A: tl.constexpr,
    BLOCK_B: tl.constexpr,
    BLOCK_D: tl.constexpr,
    VECTOR: tl.constexpr,
    SWAP_X: tl.constexpr,
    SWAP_Y: tl.constexpr,
) -> None:
    """out[a,b] = sum of x[a,c] * y[c,b] over c; x[c,a] if SWAP_X, y[b,c] if SWAP_Y.

    VECTOR channels side by side, which divide D, are read at once. Beyond the last row, column or
    channels a program reads the last ones again, and writes nothing.
    """
    tile = tiles + tl.program_id(0).to(tl.int64) * 4
    start = tl.load(tile)
    n = tl.load(tile + 1)
    # Channels first: threads are laid out along the first axis.
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)[:, None, None]
    a = tl.load(tile + 2) + tl.arange(0, BLOCK_A)[None, :, None]
    b = tl.load(tile + 3) + tl.arange(0, BLOCK_B)[None, None, :]
    channel = tl.minimum(d, D - VECTOR + d % VECTOR)
    channel = tl.multiple_of(tl.max_contiguous(channel, [VECTOR, 1, 1]), [VECTOR, 1, 1])
    row = n * D
    left = x + start * D + tl.minimum(a, n - 1) * (D if SWAP_X else row) + channel
    right = y + start * D + tl.minimum(b, n - 1) * (row if SWAP_Y else D) + channel
    total = tl.zeros([BLOCK_D, BLOCK_A, BLOCK_B], tl.float32)
    for _ in range(n):
        total += tl.load(left).to(tl.float32) * tl.load(right).to(tl.float32)
        left += row if SWAP_X else D
        right += D if SWAP_Y else row
    there = (d < D) & (a < n) & (b < n)
    tl.store(out + start * D + a * row + b * D + channel, total, mask=there)
