"""`read_subgraphs` on a GPU: rows are read once forward, and read and written once backward."""

from typing import Any

import torch
import triton.language as tl
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.triton.launch import blocks, kernel, launch, tile_for
from i2gnn.ops.triton.tiles import load_rows, locate_rows, store_rows, tile_indices
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["read_subgraphs"]


def read_subgraphs(h: Tensor, subgraphs: Subgraphs, gate: Tensor | None = None) -> Tensor:
    """See `i2gnn.ops.read_subgraphs`."""
    result: Tensor = ReadSubgraphs.apply(h, gate, subgraphs)  # type: ignore[no-untyped-call]
    return result


class ReadSubgraphs(torch.autograd.Function):
    """Means over branches of [mean over k, row at k = i, row at k = j]."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, gate: Tensor | None, subgraphs: Subgraphs) -> Tensor:
        """[R, D], [R, D] or None to [N, 3 D]."""
        h = h.contiguous()
        gate = None if gate is None else gate.contiguous()
        ctx.subgraphs, ctx.gated, ctx.width = subgraphs, gate is not None, h.shape[1]
        if gate is not None:
            ctx.save_for_backward(h, gate)
        nodes, width = subgraphs.num_nodes, h.shape[1]
        out = h.new_empty(nodes, 3 * width)
        tile = tile_for(width)
        launch(
            read_subgraphs_kernel,
            (nodes, blocks(width, tile.channels)),
            out,
            h,
            gate,
            subgraphs.pair_ptr,
            subgraphs.branch_ptr,
            subgraphs.branch_to_pair,
            subgraphs.row_ptr,
            D=width,
            BLOCK_R=tile.rows,
            BLOCK_D=tile.channels,
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        """[N, 3 D] to [R, D] and, with a gate, [R, D]."""
        subgraphs, width = ctx.subgraphs, ctx.width
        h, gate = ctx.saved_tensors if ctx.gated else (None, None)
        grad_h = grad.new_empty(subgraphs.num_rows, width)
        grad_gate = None if gate is None else torch.empty_like(grad_h)
        tile = tile_for(width)
        launch(
            read_subgraphs_grad_kernel,
            (blocks(len(grad_h), tile.rows), blocks(width, tile.channels)),
            grad_h,
            grad_gate,
            grad.contiguous(),
            h,
            gate,
            subgraphs.row_to_pair,
            subgraphs.row_ptr,
            subgraphs.pair_to_root,
            subgraphs.pair_ptr,
            subgraphs.branch_ptr,
            subgraphs.branch_to_pair,
            len(grad_h),
            D=width,
            BLOCK_R=tile.rows,
            BLOCK_D=tile.channels,
        )
        return grad_h, grad_gate, None


@kernel
def read_subgraphs_kernel(
    out: tl.tensor,
    h: tl.tensor,
    gate: tl.tensor,
    pair_ptr: tl.tensor,
    branch_ptr: tl.tensor,
    branch_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """One program per root, in one pass over its rows, which are contiguous.

    With d branches, its t-th row belongs to its pair t // d and to its branch t % d.
    """
    root = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    first_pair = tl.load(pair_ptr + root)
    pairs = (tl.load(pair_ptr + root + 1) - first_pair).to(tl.int32)
    first_branch = tl.load(branch_ptr + root)
    branches = (tl.load(branch_ptr + root + 1) - first_branch).to(tl.int32)
    rows = pairs * branches
    first_row = tl.load(row_ptr + first_pair)
    mean = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    at_root = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    at_branch = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for begin in range(0, rows, BLOCK_R):
        t = begin + tl.arange(0, BLOCK_R)
        has = t < rows
        value = load_rows(h, first_row + t, channel, has, D)
        if gate is not None:
            value *= load_rows(gate, first_row + t, channel, has, D)
        second = tl.load(branch_to_pair + first_branch + t % branches, mask=has, other=-1)
        mean += value
        at_root += tl.where((t < branches)[:, None], value, 0.0)
        at_branch += tl.where((second == first_pair + t // branches)[:, None], value, 0.0)
    wanted = channel < D
    at = out + root * (3 * D) + channel
    per_row = tl.maximum(rows, 1).to(tl.float32)
    per_branch = tl.maximum(branches, 1).to(tl.float32)
    tl.store(at, tl.sum(mean, 0) / per_row, mask=wanted)
    tl.store(at + D, tl.sum(at_root, 0) / per_branch, mask=wanted)
    tl.store(at + 2 * D, tl.sum(at_branch, 0) / per_branch, mask=wanted)


@kernel
def read_subgraphs_grad_kernel(
    grad_h: tl.tensor,
    grad_gate: tl.tensor,
    grad: tl.tensor,
    h: tl.tensor,
    gate: tl.tensor,
    row_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    pair_to_root: tl.tensor,
    pair_ptr: tl.tensor,
    branch_ptr: tl.tensor,
    branch_to_pair: tl.tensor,
    rows: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """A tile of rows takes the gradients of its roots; rows that are spare get zeros."""
    row, channel = tile_indices(BLOCK_R, BLOCK_D)
    there = row < rows
    pair, rank, inside = locate_rows(row, rows, row_to_pair, row_ptr)
    root = tl.load(pair_to_root + pair, mask=there, other=0)
    first_pair = tl.load(pair_ptr + root, mask=there, other=0)
    pairs = tl.load(pair_ptr + root + 1, mask=there, other=0) - first_pair
    first_branch = tl.load(branch_ptr + root, mask=there, other=0)
    branches = tl.load(branch_ptr + root + 1, mask=there, other=0) - first_branch
    second = tl.load(branch_to_pair + first_branch + rank, mask=inside, other=-1)
    back = load_rows(grad, 3 * root, channel, inside, D)
    back /= tl.maximum(pairs, 1).to(tl.float32)[:, None]
    back += load_rows(grad, 3 * root + 1, channel, inside & (pair == first_pair), D)
    back += load_rows(grad, 3 * root + 2, channel, inside & (pair == second), D)
    back /= tl.maximum(branches, 1).to(tl.float32)[:, None]
    if gate is None:
        store_rows(grad_h, row, channel, there, back, D)
    else:
        store_rows(grad_h, row, channel, there, back * load_rows(gate, row, channel, inside, D), D)
        store_rows(grad_gate, row, channel, there, back * load_rows(h, row, channel, inside, D), D)
