"""Pools on a GPU, and their gradients, which spread each group's value over its members."""

from typing import Any

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore
from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.reference import Reduce, takes_mean
from i2gnn.ops.triton import pool_kernels as kernels
from i2gnn.ops.triton.launch import blocks, launch, tile_for
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "pool_branches",
    "pool_context",
    "pool_graphs",
    "pool_nodes",
    "spread_nodes",
    "sum_context",
    "sum_nodes",
    "tile_of_group",
]

PART = 256
"""Members of an average group that one program adds up."""
MAX_PARTS = 1024
FEW = 32
"""Members up to which an average group has few."""


def pool_nodes(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_nodes`."""
    mean = takes_mean(reduce)
    result: Tensor = PoolNodes.apply(h, subgraphs, mean)  # type: ignore[no-untyped-call]
    return result


def pool_branches(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_branches`."""
    result: Tensor = PoolRanges.apply(  # type: ignore[no-untyped-call]
        h, subgraphs.branch_ptr, subgraphs.branch_to_root, takes_mean(reduce)
    )
    if subgraphs.branch_weight is None or reduce == "mean":
        return result
    return result * subgraphs.branch_weight.to(h.dtype).unsqueeze(1)


def pool_graphs(h: Tensor, graphs: GraphStore, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_graphs`."""
    result: Tensor = PoolRanges.apply(  # type: ignore[no-untyped-call]
        h, graphs.node_ptr, graphs.node_to_graph, takes_mean(reduce)
    )
    return result


def pool_context(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_context`."""
    mean = takes_mean(reduce)
    result: Tensor = PoolContext.apply(h, subgraphs, mean)  # type: ignore[no-untyped-call]
    return result


def spread_nodes(x: Tensor, subgraphs: Subgraphs) -> Tensor:
    """See `i2gnn.ops.spread_nodes`."""
    result: Tensor = SpreadNodes.apply(x, subgraphs)  # type: ignore[no-untyped-call]
    return result


def sum_nodes(h: Tensor, subgraphs: Subgraphs, dtype: torch.dtype, mean: bool = False) -> Tensor:
    """Sum or mean over the nodes of each subgraph, in another type; without gradients."""
    out = h.new_empty(subgraphs.num_branches, h.shape[1], dtype=dtype)
    _per_tile(
        kernels.pool_nodes_kernel,
        out,
        h.contiguous(),
        subgraphs.branch_to_root,
        subgraphs.branch_ptr,
        subgraphs.pair_ptr,
        subgraphs.row_ptr,
        MEAN=mean,
    )
    return out


class PoolNodes(torch.autograd.Function):
    """Sum or mean over the nodes of each subgraph."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, subgraphs: Subgraphs, mean: bool) -> Tensor:
        """[R, D] to [B, D]."""
        ctx.subgraphs, ctx.mean = subgraphs, mean
        return sum_nodes(h, subgraphs, h.dtype, mean)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """[B, D] to [R, D]."""
        subgraphs = ctx.subgraphs
        out = grad.new_empty(subgraphs.num_rows, grad.shape[1])
        _per_tile(
            kernels.spread_branches_kernel,
            out,
            grad.contiguous(),
            subgraphs.row_to_pair,
            subgraphs.row_ptr,
            subgraphs.pair_to_root,
            subgraphs.branch_ptr,
            subgraphs.pair_ptr,
            MEAN=ctx.mean,
        )
        return out, None, None


class PoolRanges(torch.autograd.Function):
    """Sum or mean over contiguous ranges: group g has members ptr[g] .. ptr[g + 1]."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, ptr: Tensor, to_group: Tensor, mean: bool) -> Tensor:
        """[members, D] to [groups, D]."""
        ctx.save_for_backward(ptr, to_group)
        ctx.mean = mean
        (members, width), groups = h.shape, len(ptr) - 1
        parts = min(max(1, blocks(members, PART * max(1, groups))), MAX_PARTS)
        out = h.new_empty(parts, groups, width, dtype=h.dtype if parts == 1 else torch.float32)
        tile = tile_for(width)
        launch(
            kernels.pool_ranges_kernel,
            (groups, blocks(width, tile.channels), parts),
            out,
            h.contiguous(),
            ptr,
            groups,
            parts,
            D=width,
            BLOCK_R=tile.rows,
            BLOCK_D=tile.channels,
            MEAN=mean,
        )
        return out[0] if parts == 1 else out.sum(0).to(h.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        """[groups, D] to [members, D]."""
        ptr, to_group = ctx.saved_tensors
        out = grad.new_empty(len(to_group), grad.shape[1])
        _per_tile(
            kernels.spread_ranges_kernel, out, grad.contiguous(), to_group, ptr, MEAN=ctx.mean
        )
        return out, None, None, None


class PoolContext(torch.autograd.Function):
    """Sum or mean over all rows (., k, .) of each node k."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, subgraphs: Subgraphs, mean: bool) -> Tensor:
        """[R, D] to [N, D]."""
        nodes = subgraphs.num_nodes
        size = torch.empty(nodes, dtype=torch.int32, device=h.device) if mean else None
        ctx.subgraphs, ctx.size = subgraphs, size
        return sum_context(h, subgraphs, h.dtype, size)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """[N, D] to [R, D]."""
        return _spread_nodes(grad, ctx.subgraphs, ctx.size), None, None


class SpreadNodes(torch.autograd.Function):
    """Copies node features to rows; its backward pass is the sum over each node's rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[N, D] to [R, D]."""
        ctx.subgraphs = subgraphs
        return _spread_nodes(x, subgraphs, None)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """[R, D] to [N, D]."""
        return sum_context(grad, ctx.subgraphs, grad.dtype), None


def sum_context(
    h: Tensor, subgraphs: Subgraphs, dtype: torch.dtype, size: Tensor | None = None
) -> Tensor:
    """Sums over the rows (., k, .) of each node, in another type; without gradients.

    Means, if there is a `size` [N] to write the numbers of rows to.
    """
    width = h.shape[1]
    out = h.new_empty(subgraphs.num_nodes, width, dtype=dtype)
    tile = tile_for(width)
    rows, warps = tile_of_group(subgraphs.num_pairs, len(out))
    launch(
        kernels.pool_context_kernel,
        (len(out), blocks(width, tile.channels)),
        out,
        size,
        h.contiguous(),
        *subgraphs.node_to_pair,
        subgraphs.row_ptr,
        subgraphs.pair_ptr,
        len(out),
        D=width,
        BLOCK_R=rows,
        BLOCK_D=tile.channels,
        num_warps=warps,
    )
    return out


def tile_of_group(members: int, groups: int) -> tuple[int, int]:
    """Rows and warps of programs that sum up one group each; small ones where groups are small."""
    return (4, 1) if members <= FEW * groups else (16, 4)


def _spread_nodes(x: Tensor, subgraphs: Subgraphs, size: Tensor | None) -> Tensor:
    """x[k], divided by size[k] if there is one, for every row (., k, .)."""
    out = x.new_empty(subgraphs.num_rows, x.shape[1])
    _per_tile(
        kernels.spread_nodes_kernel,
        out,
        x.contiguous(),
        size,
        subgraphs.row_to_pair,
        subgraphs.row_ptr,
        subgraphs.pair_to_node,
    )
    return out


def _per_tile(kernel: Any, out: Tensor, *arguments: Tensor | None, **flags: bool) -> None:
    """Starts a kernel that writes one tile of `out` per program."""
    rows, width = out.shape
    tile = tile_for(width)
    launch(
        kernel,
        (blocks(rows, tile.rows), blocks(width, tile.channels)),
        out,
        *arguments,
        rows,
        D=width,
        BLOCK_R=tile.rows,
        BLOCK_D=tile.channels,
        **flags,
    )
