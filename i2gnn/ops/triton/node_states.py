"""States of nodes, read from rows in one kernel, with a gate that is computed where it is used."""

from typing import Any

import torch
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.reference import LabelEmbedding
from i2gnn.ops.triton import mix_kernels as kernels
from i2gnn.ops.triton.launch import blocks, launch
from i2gnn.ops.triton.pool import tile_of_group
from i2gnn.ops.triton.rows import Labels, filled, label_grad, rows_of
from i2gnn.ops.triton.scaling import find_scale
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["ReadNodes", "fits_node_states", "node_states", "node_states_grad", "read_node_states"]

MAX_WIDTH, MAX_CODES = 128, 512
GRAD_ROWS, GRAD_WARPS = 8, 2
"""Rows of a tile of gradients, and warps that share it."""


def fits_node_states(h: Tensor, subgraphs: Subgraphs, gate: LabelEmbedding | None = None) -> bool:
    """Whether the kernels can take this width, this many codes and this many rows."""
    few = gate is None or len(gate.table) <= MAX_CODES
    return few and h.shape[1] <= MAX_WIDTH and 0 < subgraphs.num_rows * MAX_WIDTH < 2**31


def read_node_states(h: Tensor, subgraphs: Subgraphs, gate: LabelEmbedding | None = None) -> Tensor:
    """See `i2gnn.ops.node_states`."""
    tensors = (None, None) if gate is None else gate
    result: Tensor = ReadNodes.apply(subgraphs, gate, h, *tensors)  # type: ignore[no-untyped-call]
    return result


class ReadNodes(torch.autograd.Function):
    """[R, D] to [N, 4 D]; table and weight of the gate are given again, to get gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        subgraphs: Subgraphs,
        gate: LabelEmbedding | None,
        h: Tensor,
        *tensors: Tensor | None,
    ) -> Tensor:
        """Keeps nothing but the rows."""
        h, labels = h.contiguous(), Labels(gate, subgraphs)
        states, size = node_states(h, labels, h.shape[1])
        ctx.h, ctx.labels, ctx.size = h, labels, size
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[N, 4 D] to the gradients of rows, table and weight."""
        labels = ctx.labels
        grad, grad_h = grad.contiguous(), torch.empty_like(ctx.h)
        if not labels.width:
            node_states_grad(grad_h, None, grad, None, None, ctx.size, ctx.h, labels)
            return None, None, grad_h, None, None
        scale = find_scale(grad)
        grad_gate = rows_of(labels.subgraphs, filled(labels.width))
        node_states_grad(grad_h, grad_gate, grad, scale, None, ctx.size, ctx.h, labels)
        return None, None, grad_h, *label_grad(grad_gate, labels, scale)


def node_states(h: Tensor, labels: Labels, width: int) -> tuple[Tensor, Tensor]:
    """The states of nodes, [N, 4 width], and of how many rows their contexts are means, [N]."""
    subgraphs = labels.subgraphs
    nodes = subgraphs.num_nodes
    out = h.new_empty(nodes, 4 * width, dtype=torch.float32)
    size = torch.empty(nodes, dtype=torch.int32, device=h.device)
    rows, warps = tile_of_group(len(h), nodes)
    launch(
        kernels.node_states_kernel,
        (nodes, 2),
        out,
        size,
        h,
        *labels.tensors,
        subgraphs.pair_ptr,
        subgraphs.branch_ptr,
        subgraphs.branch_to_pair,
        subgraphs.row_ptr,
        *subgraphs.node_to_pair,
        nodes,
        D=h.shape[1],
        WIDTH=width,
        **labels.sizes,
        BLOCK_R=rows,
        BLOCK_D=filled(width),
        num_warps=warps,
    )
    return out, size


def node_states_grad(
    grad_h: Tensor,
    grad_gate: Tensor | None,
    grad: Tensor,
    scale: Tensor | None,
    add: Tensor | None,
    size: Tensor,
    h: Tensor,
    labels: Labels,
) -> None:
    """Gradients by rows and by what enters the gate, from those by the states, [N, 4 width]."""
    subgraphs, rows, width = labels.subgraphs, len(h), grad.shape[1] // 4
    launch(
        kernels.node_states_grad_kernel,
        (blocks(rows, GRAD_ROWS),),
        grad_h,
        grad_gate,
        grad,
        scale,
        add,
        size,
        h,
        *labels.tensors,
        subgraphs.row_to_pair,
        subgraphs.row_ptr,
        subgraphs.pair_to_root,
        subgraphs.pair_to_node,
        subgraphs.pair_ptr,
        subgraphs.branch_ptr,
        subgraphs.branch_to_pair,
        rows,
        D=h.shape[1],
        WIDTH=width,
        **labels.sizes,
        BLOCK_R=GRAD_ROWS,
        BLOCK_D=filled(width),
        num_warps=GRAD_WARPS,
    )
