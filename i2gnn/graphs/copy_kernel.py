"""`copy_ranges` on a GPU: one kernel per column, written in Triton."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from i2gnn.graphs.assemble import Moves

__all__ = ["copy_ranges"]

TILE = 1024
"""Numbers that one program copies."""


def copy_ranges(
    column: Tensor, moves: Moves, axis: int, into: int | None, length: int, fill: float
) -> Tensor:
    """See `i2gnn.graphs.assemble.copy_ranges`."""
    out = column.new_empty(length, *column.shape[1:])
    if not out.numel():
        return out
    graphs = moves.shift.shape[1]
    width = out.numel() // length
    block_w = min(128, triton.next_power_of_2(width))
    block_n = TILE // block_w
    missing = fill != fill  # NaN differs from itself
    with torch.cuda.device_of(out):  # type: ignore[no-untyped-call]
        copy_ranges_kernel[triton.cdiv(length, block_n), triton.cdiv(width, block_w)](
            _numbers(out),
            _numbers(column.contiguous()),
            moves.ptr,
            moves.shift,
            axis,
            0 if into is None else into,
            graphs,
            graphs.bit_length(),
            length,
            0 if missing else int(fill),
            WIDTH=width,
            INDEX=into is not None,
            MISSING=missing,
            BLOCK_N=block_n,
            BLOCK_W=block_w,
        )
    return out


def _numbers(column: Tensor) -> Tensor:
    """Kernels do not know bytes that are truth values."""
    return column.view(torch.uint8) if column.dtype == torch.bool else column


def _copy_ranges(
    out: tl.tensor,
    column: tl.tensor,
    ptr: tl.tensor,
    shift: tl.tensor,
    axis: int,
    into: int,
    graphs: int,
    steps: int,
    length: int,
    fill: int,
    WIDTH: tl.constexpr,
    INDEX: tl.constexpr,
    MISSING: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_W: tl.constexpr,
) -> None:
    """out[n] = column[n - shift of n's graph], plus the shift of the axis it points into.

    A program takes a tile of the result. The graph of an item is the number of ranges that end
    before it, found by halving an interval `steps` times.
    """
    item = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    channel = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    ends = ptr + axis * (graphs + 1) + 1
    low = tl.zeros([BLOCK_N], tl.int32)
    high = low + graphs
    for _ in range(steps):
        middle = (low + high) // 2
        ended = (low < high) & (tl.load(ends + middle, mask=low < high, other=0) <= item)
        low = tl.where(ended, middle + 1, low)
        high = tl.where(ended, high, middle)
    inside = low < graphs
    source = item - tl.load(shift + axis * graphs + low, mask=inside, other=0)
    wanted = (inside & (item < length))[:, None] & (channel < WIDTH)[None, :]
    value = tl.load(column + source[:, None] * WIDTH + channel[None, :], mask=wanted, other=0)
    if INDEX:
        value += tl.load(shift + into * graphs + low, mask=inside, other=0)[:, None]
    value = tl.where(inside[:, None], value, float("nan") if MISSING else fill)
    there = (item < length)[:, None] & (channel < WIDTH)[None, :]
    tl.store(out + item[:, None] * WIDTH + channel[None, :], value, mask=there)


# Sizes differ from batch to batch; none of them is worth a kernel of its own.
copy_ranges_kernel = triton.jit(
    _copy_ranges,
    do_not_specialize=("axis", "into", "graphs", "steps", "length", "fill"),
)
