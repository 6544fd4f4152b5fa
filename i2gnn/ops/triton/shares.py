"""Sums over many rows, made of the shares that programs leave: deterministic, without atomics."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from i2gnn.ops.triton.launch import INTERPRETED, blocks, kernel, launch

__all__ = ["programs_on", "sum_few", "sum_shares"]

FEW_IN_FLIGHT = tl.constexpr(128)
"""Shares of few numbers whose loads are in flight at once."""
TOGETHER = 128
"""Shares that `sum_shares_kernel` reads together."""
COLUMNS, MANY = (16, 64), 8192
"""Columns that a program of `sum_shares_kernel` adds up: with fewer than `MANY` in all the first
number, so that all processors have some, else the second."""


def programs_on(device: torch.device, per_processor: int = 1) -> int:
    """How many programs fill a device, so that they stay and keep what they loaded."""
    if INTERPRETED:
        return 2
    return torch.cuda.get_device_properties(device).multi_processor_count * per_processor


def sum_shares(partial: Tensor, scale: Tensor | None = None) -> Tensor:
    """Sums over the first axis, and divides by the scale if there is one."""
    out = partial.new_empty(partial.shape[1:])
    length = out.numel()
    columns = COLUMNS[length >= MANY]
    launch(
        sum_shares_kernel,
        (blocks(length, columns),),
        out,
        partial,
        scale,
        len(partial),
        length,
        BLOCK=columns,
        TOGETHER=min(TOGETHER, triton.next_power_of_2(len(partial))),
        num_warps=8,
    )
    return out


@kernel
def sum_few(partial: tl.tensor, at: tl.tensor, programs: tl.tensor, apart: tl.tensor) -> Any:
    """Sum of partial[program * apart + at] over the programs, for few places `at` [n]."""
    which = tl.arange(0, FEW_IN_FLIGHT)
    total = tl.zeros([FEW_IN_FLIGHT, at.shape[0]], tl.float32)
    for begin in range(0, programs, FEW_IN_FLIGHT):
        program = begin + which
        place = (program * apart)[:, None] + at[None, :]
        total += tl.load(partial + place, mask=(program < programs)[:, None], other=0.0)
    return tl.sum(total, 0)


@kernel
def sum_shares_kernel(
    out: tl.tensor,
    partial: tl.tensor,
    scale: tl.tensor,
    programs: int,
    length: int,
    BLOCK: tl.constexpr,
    TOGETHER: tl.constexpr,
) -> None:
    """out[i] = sum of partial[., i], divided by the scale."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([TOGETHER, BLOCK], tl.float32)
    for begin in range(0, programs, TOGETHER):
        program = begin + tl.arange(0, TOGETHER)
        there = (program < programs)[:, None] & (i < length)[None, :]
        total += tl.load(partial + (program * length)[:, None] + i[None, :], mask=there, other=0.0)
    result = tl.sum(total, 0)
    if scale is not None:
        result /= tl.load(scale)
    tl.store(out + i, result, mask=i < length)
