"""`lookup` on a GPU, with a gradient that does not pile up on a few rows."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from i2gnn.ops import reference
from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.triton.launch import blocks, kernel, launch, tile_for
from i2gnn.ops.triton.tiles import load_rows, store_rows, tile_indices

__all__ = ["MAX_TABLE", "lookup"]

MAX_TABLE = 512
"""Above this many table rows the products of the gradient cost more than they save."""
CHUNK = 512
"""Rows that one program of the gradient adds up, at least."""


def lookup(table: Tensor, code: Tensor) -> Tensor:
    """See `i2gnn.ops.lookup`: hundreds of thousands of rows read a few dozen table rows.

    A code outside of the table gives NaN: a kernel cannot raise an error.
    """
    if len(table) > MAX_TABLE:
        return reference.lookup(table, code)
    result: Tensor = Lookup.apply(table, code)  # type: ignore[no-untyped-call]
    return result


class Lookup(torch.autograd.Function):
    """A gather forward; backward, sums by code of pieces of the rows, and the sum of those."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, code: Tensor) -> Tensor:
        """[C, D] and [R] to [R, D]."""
        code = code.contiguous()
        ctx.save_for_backward(code)
        codes, width = table.shape
        ctx.codes = codes
        out = table.new_empty(len(code), width)
        tile = tile_for(width)
        launch(
            lookup_kernel,
            (blocks(len(code), tile.rows), blocks(width, tile.channels)),
            out,
            table.contiguous(),
            code,
            len(code),
            codes,
            D=width,
            BLOCK_R=tile.rows,
            BLOCK_D=tile.channels,
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """[R, D] to [C, D]."""
        (code,) = ctx.saved_tensors
        (rows, width), codes = grad.shape, ctx.codes
        # The partial sums should take a quarter of the memory of the gradient at most.
        chunk = max(CHUNK, 4 * triton.next_power_of_2(max(1, codes)))
        chunks = blocks(rows, chunk)
        partial = torch.empty(chunks, codes, width, dtype=torch.float32, device=grad.device)
        # A tile of a matrix product must be at least 16 wide.
        block_c = min(64, max(16, triton.next_power_of_2(max(1, codes))))
        block_d = min(64, max(16, triton.next_power_of_2(max(1, width))))
        launch(
            lookup_grad_kernel,
            (chunks, blocks(codes, block_c), blocks(width, block_d)),
            partial,
            grad.contiguous(),
            code,
            rows,
            codes,
            chunk,
            D=width,
            BLOCK_R=64,
            BLOCK_C=block_c,
            BLOCK_D=block_d,
            # Half-precision numbers fit into TF32; for float32 it takes three products.
            PRECISION="tf32x3" if grad.dtype == torch.float32 else "tf32",
        )
        return partial.sum(0).to(grad.dtype), None


@kernel
def lookup_kernel(
    out: tl.tensor,
    table: tl.tensor,
    code: tl.tensor,
    rows: int,
    codes: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """out[r] = table[code[r]]."""
    row, channel = tile_indices(BLOCK_R, BLOCK_D)
    there = row < rows
    which = tl.load(code + row, mask=there, other=0)
    known = (which >= 0) & (which < codes)
    value = load_rows(table, which, channel, known, D)
    store_rows(out, row, channel, there, tl.where(known[:, None], value, float("nan")), D)


@kernel
def lookup_grad_kernel(
    partial: tl.tensor,
    grad: tl.tensor,
    code: tl.tensor,
    rows: int,
    codes: int,
    chunk: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_D: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """partial[program, c] = sum of grad[r] over the rows r of one chunk whose code is c.

    A product of the one-hot matrix of the codes, which exists in this tile only, and the rows.
    """
    begin = tl.program_id(0).to(tl.int64) * chunk
    which = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    channel = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    total = tl.zeros([BLOCK_C, BLOCK_D], tl.float32)
    for first in range(0, chunk, BLOCK_R):
        row = begin + first + tl.arange(0, BLOCK_R)
        found = tl.load(code + row, mask=row < rows, other=-1)
        one_hot = (which[:, None] == found[None, :]).to(tl.float32)
        values = load_rows(grad, row, channel, row < rows, D)
        total = tl.dot(one_hot, values, total, input_precision=PRECISION)
    at = tl.program_id(0).to(tl.int64) * codes + which
    store_rows(partial, at, channel, which < codes, total, D)
