"""`aggregate` on a GPU: one kernel forward and one or two backward."""

from typing import Any

import torch
import triton
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.triton import aggregate_kernels as kernels
from i2gnn.ops.triton.launch import blocks, launch, tile_for
from i2gnn.ops.triton.lookup import lookup
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["aggregate", "links_of", "sum_links"]

MAX_TYPES = 16
"""Edge types up to which their gradient is taken along with that of h."""
TILES = 8
"""Tiles of rows that share one partial gradient of the edge types."""


def aggregate(
    h: Tensor,
    subgraphs: Subgraphs,
    edge_attr: Tensor | None = None,
    edge_type: Tensor | None = None,
) -> Tensor:
    """See `i2gnn.ops.aggregate`."""
    result: Tensor
    if edge_attr is None:
        result = SumLinks.apply(h, subgraphs)  # type: ignore[no-untyped-call]
    elif edge_type is None:
        result = ReluSum.apply(h, edge_attr, subgraphs)  # type: ignore[no-untyped-call]
    elif len(edge_attr) <= MAX_TYPES:
        result = ReluSumByType.apply(  # type: ignore[no-untyped-call]
            h, edge_attr, edge_type, subgraphs
        )
    else:
        result = aggregate(h, subgraphs, lookup(edge_attr, edge_type))
    return result


class SumLinks(torch.autograd.Function):
    """Sum over neighbours. Links are symmetric, so its backward pass is the same sum."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[R, D] to [R, D]."""
        ctx.subgraphs = subgraphs
        return sum_links(h, subgraphs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """[R, D] to [R, D]."""
        return sum_links(grad, ctx.subgraphs), None


class ReluSum(torch.autograd.Function):
    """Sum over neighbours of relu(h + e); the backward pass recomputes the sign of h + e."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, edge_attr: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[R, D] and [E, D] to [R, D]."""
        h, edge_attr = h.contiguous(), edge_attr.contiguous()
        ctx.save_for_backward(h, edge_attr)
        ctx.subgraphs = subgraphs
        return _relu_sum(h, edge_attr, None, subgraphs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        """[R, D] to [R, D] and [E, D]."""
        h, edge_attr = ctx.saved_tensors
        subgraphs, grad = ctx.subgraphs, grad.contiguous()
        rows, width = h.shape
        tile = tile_for(width)
        sizes = {"D": width, "BLOCK_R": tile.rows, "BLOCK_D": tile.channels}
        across = blocks(width, tile.channels)
        grad_h = grad_edge = None
        if ctx.needs_input_grad[0]:
            grad_h = torch.empty_like(h)
            launch(
                kernels.relu_sum_grad_h_kernel,
                (blocks(rows, tile.rows), across),
                h,
                edge_attr,
                grad,
                grad_h,
                *links_of(subgraphs),
                subgraphs.link_to_reverse_edge,
                rows,
                **sizes,
            )
        if ctx.needs_input_grad[1]:
            grad_edge = torch.empty_like(edge_attr)
            launch(
                kernels.relu_sum_grad_edge_kernel,
                (len(edge_attr), across),
                h,
                edge_attr,
                grad,
                grad_edge,
                *subgraphs.edge_to_link,
                subgraphs.link_to_row,
                subgraphs.link_to_receiver,
                subgraphs.row_ptr,
                subgraphs.link_ptr,
                subgraphs.num_pairs,
                **sizes,
            )
        return grad_h, grad_edge, None


class ReluSumByType(torch.autograd.Function):
    """Sum over neighbours of relu(h + table[type of the edge])."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, table: Tensor, edge_type: Tensor, subgraphs: Subgraphs
    ) -> Tensor:
        """[R, D], [T, D] and [E] to [R, D]."""
        h, table, edge_type = h.contiguous(), table.contiguous(), edge_type.contiguous()
        ctx.save_for_backward(h, table, edge_type)
        ctx.subgraphs = subgraphs
        return _relu_sum(h, table, edge_type, subgraphs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """[R, D] to [R, D] and [T, D]."""
        h, table, edge_type = ctx.saved_tensors
        (rows, width), types = h.shape, len(table)
        tile = tile_for(width)
        programs = blocks(rows, tile.rows * TILES)
        grad_h = torch.empty_like(h)
        partial = torch.empty(programs, types, width, dtype=torch.float32, device=h.device)
        launch(
            kernels.relu_sum_grad_table_kernel,
            (programs, blocks(width, tile.channels)),
            h,
            table,
            edge_type,
            grad.contiguous(),
            grad_h,
            partial,
            *links_of(ctx.subgraphs),
            ctx.subgraphs.link_to_reverse_edge,
            rows,
            types,
            TILES,
            D=width,
            BLOCK_R=tile.rows,
            BLOCK_D=tile.channels,
            BLOCK_T=triton.next_power_of_2(max(1, types)),
        )
        return grad_h, partial.sum(0).to(table.dtype), None, None


def sum_links(h: Tensor, subgraphs: Subgraphs, own: Tensor | None = None) -> Tensor:
    """Sum over neighbours, plus `own` if given; without gradients."""
    h = h.contiguous()
    rows, width = h.shape
    out = torch.empty_like(h)
    tile = tile_for(width)
    launch(
        kernels.sum_links_kernel,
        (blocks(rows, tile.rows), blocks(width, tile.channels)),
        h,
        out,
        own,
        *links_of(subgraphs),
        rows,
        D=width,
        BLOCK_R=tile.rows,
        BLOCK_D=tile.channels,
    )
    return out


def _relu_sum(
    h: Tensor, edge_attr: Tensor, edge_type: Tensor | None, subgraphs: Subgraphs
) -> Tensor:
    rows, width = h.shape
    out = torch.empty_like(h)
    tile = tile_for(width)
    launch(
        kernels.relu_sum_kernel,
        (blocks(rows, tile.rows), blocks(width, tile.channels)),
        h,
        edge_attr,
        edge_type,
        out,
        *links_of(subgraphs),
        subgraphs.link_to_edge,
        rows,
        len(edge_attr),
        D=width,
        BLOCK_R=tile.rows,
        BLOCK_D=tile.channels,
    )
    return out


def links_of(subgraphs: Subgraphs) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What finds the senders of a row."""
    return *subgraphs.row_links, subgraphs.link_to_row
