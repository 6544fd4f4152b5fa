"""`aggregate` and `pool_nodes` on the CPU: no message tensor, threads over pairs or roots."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from i2gnn.ops.cpu import kernels
from i2gnn.ops.reference import Reduce
from i2gnn.parallel import chunks_for, run_chunks
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["aggregate", "pool_nodes"]

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
        out = _empty(len(h), h, subgraphs.row_ptr)
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
            grad_h = _empty(len(h), h, subgraphs.row_ptr)
            reverse = subgraphs.reverse_edge[subgraphs.link_to_edge]
            _run(
                kernels.relu_sum_grad_h,
                subgraphs.num_pairs,
                h.shape[1],
                (subgraphs.link_ptr, subgraphs.link_to_pair, reverse, subgraphs.row_ptr),
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
        out = _empty(subgraphs.num_branches, h, subgraphs.branch_ptr)
        _run(
            kernels.sum_pairs,
            subgraphs.num_nodes,
            h.shape[1],
            (subgraphs.pair_ptr, subgraphs.branch_ptr, subgraphs.row_ptr),
            (h, out),
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None]:
        """[B, D] to [R, D]."""
        return grad.index_select(0, ctx.subgraphs.row_to_branch), None  # type: ignore[attr-defined]


def _sum_links(h: Tensor, subgraphs: Subgraphs) -> Tensor:
    h = h.contiguous()
    out = _empty(len(h), h, subgraphs.row_ptr)
    _run(
        kernels.sum_links,
        subgraphs.num_pairs,
        h.shape[1],
        (subgraphs.link_ptr, subgraphs.link_to_pair, subgraphs.row_ptr),
        (h, out),
    )
    return out


def _empty(length: int, like: Tensor, ptr: Tensor) -> Tensor:
    """Room for items that are about to be written; those behind the last range `ptr` are zero."""
    out = like.new_empty(length, like.shape[1])
    out[int(ptr[-1]) :] = 0
    return out


def _run(
    kernel: Any, count: int, channels: int, layout: tuple[Tensor, ...], rows: tuple[Tensor, ...]
) -> None:
    arrays = [tensor.numpy() for tensor in layout]
    arrays += [tensor.detach().numpy().reshape(-1) for tensor in rows]
    chunks = chunks_for(rows[0].numel(), CHUNKS)
    run_chunks(kernel, count, (channels, *arrays), chunks=chunks)
