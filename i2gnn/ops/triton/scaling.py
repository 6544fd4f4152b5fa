"""Powers of two by which gradients are multiplied, so that float16's range suffices for them."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from i2gnn.ops.triton.launch import kernel, launch
from i2gnn.ops.triton.shares import programs_on

__all__ = ["find_scale", "power_for"]

BLOCK = 2048


def find_scale(grad: Tensor) -> Tensor:
    """The power of two that brings the largest number to about 1, exact to undo: [] float32."""
    grad = grad.contiguous()
    programs = programs_on(grad.device, 4)
    partial, scale = (grad.new_empty(size, dtype=torch.float32) for size in ([programs], []))
    launch(largest_kernel, (programs,), partial, grad, grad.numel(), BLOCK=BLOCK, num_warps=8)
    launch(scale_kernel, (1,), scale, partial, programs, BLOCK=triton.next_power_of_2(programs))
    return scale


@kernel
def power_for(largest: tl.tensor) -> Any:
    """The power of two that brings this number to above a half and at most 1."""
    return tl.exp2(-tl.ceil(tl.log2(tl.minimum(tl.maximum(largest, 1e-30), 1e30))))


@kernel
def largest_kernel(partial: tl.tensor, x: tl.tensor, length: int, BLOCK: tl.constexpr) -> None:
    """For each program the largest |x| it has seen."""
    largest = tl.zeros([BLOCK], tl.float32)
    for block in range(tl.program_id(0), tl.cdiv(length, BLOCK), tl.num_programs(0)):
        i = block * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        largest = tl.maximum(largest, tl.abs(tl.load(x + i, mask=i < length, other=0.0)))
    tl.store(partial + tl.program_id(0), tl.max(largest, 0))


@kernel
def scale_kernel(scale: tl.tensor, partial: tl.tensor, programs: int, BLOCK: tl.constexpr) -> None:
    """The scale of all that the programs have seen."""
    i = tl.arange(0, BLOCK)
    tl.store(scale, power_for(tl.max(tl.load(partial + i, mask=i < programs, other=0.0), 0)))
