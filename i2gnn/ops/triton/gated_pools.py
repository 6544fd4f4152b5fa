"""`gated_pools` on a GPU: rows are read twice forward, and read and written once backward."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.triton.launch import blocks, kernel, launch, tile_for
from i2gnn.ops.triton.pool import tile_of_group
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.ops.triton.tiles import load_rows, store_rows
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["fits_gated_pools", "gated_pools"]

MAX_CODES = 64
"""Rows of a table of gates, whose gradients a program keeps."""
ROWS, WIDTH = 32, 64
"""Rows and width of a tile of the gradient."""


def fits_gated_pools(table: Tensor) -> bool:
    """Whether the kernels can take so many codes."""
    return 0 < len(table) <= MAX_CODES


def gated_pools(h: Tensor, subgraphs: Subgraphs, inside: Tensor, around: Tensor) -> Tensor:
    """See `i2gnn.ops.gated_pools`; sums, with gates by label code, [C, D] each."""
    result: Tensor = GatedPools.apply(h, subgraphs, inside, around)  # type: ignore[no-untyped-call]
    return result


class GatedPools(torch.autograd.Function):
    """Gates are looked up where they are used, and never written."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, subgraphs: Subgraphs, inside: Tensor, around: Tensor
    ) -> Tensor:
        """[R, D], [C, D] and [C, D] to [N, 3 D]."""
        h, inside, around = (tensor.contiguous() for tensor in (h, inside, around))
        ctx.subgraphs = subgraphs
        ctx.save_for_backward(h, inside, around)
        nodes, width = subgraphs.num_nodes, h.shape[1]
        out = h.new_empty(nodes, 3 * width)
        rows, warps = tile_of_group(len(h), nodes)
        channels = tile_for(width).channels
        launch(
            gated_pools_kernel,
            (nodes, blocks(width, channels)),
            out,
            h,
            subgraphs.label_code,
            inside,
            around,
            subgraphs.pair_ptr,
            subgraphs.row_of_root,
            *subgraphs.node_to_pair,
            nodes,
            D=width,
            BLOCK_R=rows,
            BLOCK_D=channels,
            num_warps=warps,
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[N, 3 D] to the gradients of rows and tables."""
        subgraphs, (h, inside, around) = ctx.subgraphs, ctx.saved_tensors
        (rows, width), codes = h.shape, len(inside)
        programs = programs_on(h.device, 2)
        grad_h = torch.empty_like(h)
        partial = h.new_empty(programs, 2, codes, width, dtype=torch.float32)
        block_d = min(WIDTH, max(16, triton.next_power_of_2(width)))
        launch(
            gated_pools_grad_kernel,
            (programs, blocks(width, block_d)),
            grad_h,
            partial,
            grad.contiguous(),
            h,
            subgraphs.label_code,
            inside,
            around,
            subgraphs.pair_to_root,
            subgraphs.pair_to_node,
            subgraphs.pair_ptr,
            rows,
            subgraphs.num_nodes,
            codes,
            D=width,
            BLOCK_R=ROWS,
            BLOCK_C=max(16, triton.next_power_of_2(codes)),
            BLOCK_D=block_d,
            num_warps=4,
        )
        return grad_h, None, *sum_shares(partial).to(h.dtype)


@kernel
def gated_rows(
    h: tl.tensor,
    table: tl.tensor,
    code: tl.tensor,
    row: tl.tensor,
    channel: tl.tensor,
    has: tl.tensor,
    D: tl.constexpr,
) -> Any:
    """table[code[row]] * h[row]; zeros for rows that are not there."""
    which = tl.load(code + row, mask=has, other=0)
    return load_rows(table, which, channel, has, D) * load_rows(h, row, channel, has, D)


@kernel
def gated_pools_kernel(
    out: tl.tensor,
    h: tl.tensor,
    code: tl.tensor,
    inside: tl.tensor,
    around: tl.tensor,
    pair_ptr: tl.tensor,
    row_of_root: tl.tensor,
    node_to_pair_ptr: tl.tensor,
    node_to_pair: tl.tensor,
    nodes: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """One program per node k: its own rows, which are contiguous, then those of all ego-nets.

    With one identifier rows are pairs, and those from the last pointer on are spare.
    """
    node = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    start, stop = tl.load(pair_ptr + node), tl.load(pair_ptr + node + 1)
    own = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for begin in range(start, stop, BLOCK_R):
        row = begin + tl.arange(0, BLOCK_R)
        own += gated_rows(h, inside, code, row, channel, row < stop, D)
    used, end = tl.load(pair_ptr + nodes), tl.load(node_to_pair_ptr + node + 1)
    context = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for begin in range(tl.load(node_to_pair_ptr + node), end, BLOCK_R):
        item = begin + tl.arange(0, BLOCK_R)
        row = tl.load(node_to_pair + item, mask=item < end, other=0)
        has = (item < end) & (row < used)
        context += gated_rows(h, around, code, row, channel, has, D)
    root = tl.load(row_of_root + node)
    there = channel < D
    center = tl.load(h + root * D + channel, mask=there, other=0.0)
    out += node * (3 * D) + channel
    tl.store(out, tl.sum(own, 0), mask=there)
    tl.store(out + D, tl.where(start < stop, center, 0.0), mask=there)
    tl.store(out + 2 * D, tl.sum(context, 0), mask=there)


@kernel
def gated_pools_grad_kernel(
    grad_h: tl.tensor,
    partial: tl.tensor,
    grad: tl.tensor,
    h: tl.tensor,
    code: tl.tensor,
    inside: tl.tensor,
    around: tl.tensor,
    pair_to_root: tl.tensor,
    pair_to_node: tl.tensor,
    pair_ptr: tl.tensor,
    rows: int,
    nodes: int,
    codes: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """Gradients of rows, and shares of those of both tables.

    These are products with the one-hot matrix of the codes, which exists in this tile only.
    """
    which = tl.arange(0, BLOCK_C)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    used = tl.load(pair_ptr + nodes)
    by_inside = tl.zeros([BLOCK_C, BLOCK_D], tl.float32)
    by_around = tl.zeros([BLOCK_C, BLOCK_D], tl.float32)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0)):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        has = row < tl.minimum(rows, used)
        root = tl.load(pair_to_root + row, mask=has, other=0)
        node = tl.load(pair_to_node + row, mask=has, other=0)
        found = tl.load(code + row, mask=has, other=-1)
        # Gradients of a node lie one behind the other: of its ego-net, its center, its context.
        of_root = load_rows(grad, 3 * root, channel, has, D)
        of_node = load_rows(grad, 3 * node + 2, channel, has, D)
        value = load_rows(inside, found, channel, has, D) * of_root
        value += load_rows(around, found, channel, has, D) * of_node
        value += load_rows(grad, 3 * root + 1, channel, has & (root == node), D)
        store_rows(grad_h, row, channel, row < rows, value, D)
        x = load_rows(h, row, channel, has, D)
        one_hot = (which[:, None] == found[None, :]).to(tl.float32)
        by_inside = tl.dot(one_hot, x * of_root, by_inside, input_precision="tf32x3")
        by_around = tl.dot(one_hot, x * of_node, by_around, input_precision="tf32x3")
    at = tl.program_id(0).to(tl.int64) * (2 * codes) + which
    store_rows(partial, at, channel, which < codes, by_inside, D)
    store_rows(partial, at + codes, channel, which < codes, by_around, D)
