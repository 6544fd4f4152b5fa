"""`aggregate` and `pool_nodes` on the CPU: no message tensor, threads over pairs or roots."""

from typing import Any

import torch
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.cpu import kernels
from i2gnn.ops.reference import Reduce
from i2gnn.parallel import chunks_for, run_chunks
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["add_links", "aggregate", "empty_rows", "pool_nodes"]

CHUNKS = 8
"""Enough for balance between a few threads, few enough that starting them costs nothing."""


def aggregate(h: Tensor, subgraphs: Subgraphs, edge_attr: Tensor | None = None) -> Tensor:
    """See `i2gnn.ops.aggregate`."""
    if edge_attr is None:
        result: Tensor = SumLinks.apply(h, subgraphs)  # type: ignore[no-untyped-call]
    else:
        result = ReluSum.apply(h, edge_attr, subgraphs)  # type: ignore[no-untyped-call]
    return result


def pool_nodes(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_nodes`."""
    total: Tensor = SumPairs.apply(h, subgraphs)  # type: ignore[no-untyped-call]
    if reduce == "sum":
        return total
    if reduce != "mean":
        raise ValueError(f"reduce must be 'sum' or 'mean', got {reduce!r}")
    size = subgraphs.pair_count.index_select(0, subgraphs.branch_to_root)
    return total / size.clamp(min=1).unsqueeze(1)


class SumLinks(torch.autograd.Function):
    """Sum over neighbours. Links are symmetric, so its backward pass is the same sum."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[R, D] to [R, D]."""
        ctx.subgraphs = subgraphs
        return _sum_links(h, subgraphs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """[R, D] to [R, D]."""
        return _sum_links(grad, ctx.subgraphs), None


class ReluSum(torch.autograd.Function):
    """Sum over neighbours of relu(h + e); the backward pass recomputes the sign of h + e."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, edge_attr: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[R, D] and [E, D] to [R, D]."""
        h, edge_attr = h.contiguous(), edge_attr.contiguous()
        ctx.save_for_backward(h, edge_attr)
        ctx.subgraphs = subgraphs
        out = empty_rows(len(h), h, subgraphs.row_ptr)
        _run(
            kernels.relu_sum,
            subgraphs.num_pairs,
            h.shape[1],
            (subgraphs.link_ptr, subgraphs.link_to_pair, subgraphs.link_to_edge, subgraphs.row_ptr),
            (h, edge_attr, out),
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        """[R, D] to [R, D] and [E, D]."""
        h, edge_attr = ctx.saved_tensors
        subgraphs, grad = ctx.subgraphs, grad.contiguous()
        grad_h = grad_edge = None
        if ctx.needs_input_grad[0]:
            grad_h = empty_rows(len(h), h, subgraphs.row_ptr)
            _run(
                kernels.relu_sum_grad_h,
                subgraphs.num_pairs,
                h.shape[1],
                (
                    subgraphs.link_ptr,
                    subgraphs.link_to_pair,
                    subgraphs.link_to_reverse_edge,
                    subgraphs.row_ptr,
                ),
                (h, edge_attr, grad, grad_h),
            )
        if ctx.needs_input_grad[1]:
            grad_edge = torch.empty_like(edge_attr)
            _run(
                kernels.relu_sum_grad_edge,
                subgraphs.num_edges,
                h.shape[1],
                (
                    *subgraphs.edge_to_link,
                    subgraphs.link_to_pair,
                    subgraphs.link_to_receiver,
                    subgraphs.row_ptr,
                ),
                (h, edge_attr, grad, grad_edge),
            )
        return grad_h, grad_edge, None


class SumPairs(torch.autograd.Function):
    """Sum over the nodes of each subgraph."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[R, D] to [B, D]."""
        ctx.subgraphs = subgraphs
        h = h.contiguous()
        out = empty_rows(subgraphs.num_branches, h, subgraphs.branch_ptr)
        _run(
            kernels.sum_pairs,
            subgraphs.num_nodes,
            h.shape[1],
            (subgraphs.pair_ptr, subgraphs.branch_ptr, subgraphs.row_ptr),
            (h, 0, out),
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """[B, D] to [R, D]."""
        subgraphs, grad = ctx.subgraphs, grad.contiguous()
        out = empty_rows(subgraphs.num_rows, grad, subgraphs.row_ptr)
        _run(
            kernels.spread_branches,
            subgraphs.num_nodes,
            grad.shape[1],
            (subgraphs.pair_ptr, subgraphs.branch_ptr, subgraphs.row_ptr),
            (grad, out, 0),
        )
        return out, None


def _sum_links(h: Tensor, subgraphs: Subgraphs) -> Tensor:
    h = h.contiguous()
    out = empty_rows(len(h), h, subgraphs.row_ptr)
    _run_links(kernels.sum_links, h, subgraphs, out)
    return out


def add_links(h: Tensor, subgraphs: Subgraphs, out: Tensor) -> None:
    """Adds the sums over neighbours in h to `out`, [R, D] each."""
    _run_links(kernels.add_links, h, subgraphs, out)


def _run_links(kernel: Any, h: Tensor, subgraphs: Subgraphs, out: Tensor) -> None:
    layout = (subgraphs.link_ptr, subgraphs.link_to_pair, subgraphs.row_ptr)
    _run(kernel, subgraphs.num_pairs, h.shape[1], layout, (h, 0, out, 0))


def empty_rows(length: int, like: Tensor, ptr: Tensor) -> Tensor:
    """Room for items that are about to be written; those behind the last range `ptr` are zero."""
    out = like.new_empty(length, like.shape[1])
    out[int(ptr[-1]) :] = 0
    return out


def _run(
    kernel: Any,
    count: int,
    channels: int,
    layout: tuple[Tensor, ...],
    rows: tuple[Tensor | int, ...],
) -> None:
    """Runs a kernel on threads; among the rows, numbers say where the array before them begins."""
    arrays = [tensor.numpy() for tensor in layout]
    flat = [r if isinstance(r, int) else r.detach().numpy().reshape(-1) for r in rows]
    largest = max(r.numel() for r in rows if isinstance(r, Tensor))
    run_chunks(kernel, count, (channels, *arrays, *flat), chunks=chunks_for(largest, CHUNKS))
