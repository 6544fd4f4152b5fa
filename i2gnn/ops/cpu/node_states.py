"""`node_states` on the CPU: the gate is computed where it is used."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.cpu import gine_kernels as kernels
from i2gnn.ops.cpu.rows import Labels, flat, longest, slices_of
from i2gnn.ops.cpu.slices import Slice, run_slices
from i2gnn.ops.reference import LabelEmbedding
from i2gnn.parallel import chunks_for, run_chunks
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["NodeStates", "node_states", "sum_nodes"]

CHUNKS = 16

Array = npt.NDArray[Any]


def node_states(h: Tensor, subgraphs: Subgraphs, gate: LabelEmbedding | None = None) -> Tensor:
    """See `i2gnn.ops.node_states`; for float32 and subgraphs that fit `fits_whole_roots`."""
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
        ctx.states = states = NodeStates(subgraphs, gate, h.detach().contiguous())
        return states.forward()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[N, 4 D] to the gradients of rows, table and weight."""
        grad_h = torch.zeros_like(ctx.states.h)
        return None, None, grad_h, *ctx.states.backward(grad.contiguous(), grad_h)


class NodeStates:
    """The states of nodes, [nodes, centre, side, context] of each, and their gradients."""

    def __init__(self, subgraphs: Subgraphs, gate: LabelEmbedding | None, h: Tensor) -> None:
        self.subgraphs, self.h, self.width = subgraphs, h, h.shape[1]
        self.slices = slices_of(subgraphs)
        self.gate = None if gate is None else Labels(gate, subgraphs)
        self.roots = (
            subgraphs.pair_ptr.numpy(),
            subgraphs.branch_ptr.numpy(),
            subgraphs.row_ptr.numpy(),
            subgraphs.row_of_branch.numpy(),
        )

    def forward(self) -> Tensor:
        """[N, 4 D]."""
        width = self.width
        out = torch.zeros(self.subgraphs.num_nodes, 4 * width)

        def work(slices: list[Slice]) -> list[Tensor]:
            room = torch.empty(longest(slices), width)
            for s in slices:
                rows = self.h[s.rows]
                if self.gate is not None:
                    rows = self._opened(s, room).mul_(rows)
                roots = s.first_root, s.last_root, width
                kernels.read_roots(*roots, *self.roots, flat(rows), s.start, out.numpy())
            return []

        run_slices(self.slices, work)
        row_ptr = self.subgraphs.row_ptr.numpy()
        _sum_context(self.h, row_ptr, self.subgraphs, out, 3 * width, mean=True)
        return out

    def backward(self, grad: Tensor, grad_h: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Adds the gradient by the rows to `grad_h`; returns those by the gate's embedding."""
        width, subgraphs, source = self.width, self.subgraphs, grad.numpy()
        size = torch.zeros(subgraphs.num_nodes, dtype=torch.int64)
        size.index_add_(0, subgraphs.pair_to_node, subgraphs.row_count.long())
        pairs = subgraphs.pair_to_node.numpy(), subgraphs.row_ptr.numpy(), size.numpy()

        def work(slices: list[Slice]) -> list[Tensor]:
            room, other = torch.empty(2, longest(slices), width)
            sums = None if self.gate is None else self.gate.zeros()
            for s in slices:
                mine, d_rows = grad_h[s.rows], room[: s.size]
                roots = s.first_root, s.last_root, width
                kernels.spread_roots(*roots, *self.roots, source, flat(d_rows), s.start)
                if self.gate is None or sums is None:
                    mine += d_rows
                else:
                    opened = self._opened(s, other)
                    mine.addcmul_(d_rows, opened)
                    d_rows *= self.h[s.rows]
                    torch.ops.aten.sigmoid_backward.grad_input(d_rows, opened, grad_input=d_rows)
                    self.gate.add_grad(s, flat(d_rows), width, 0, sums)
                own = s.first_pair, s.last_pair, width
                kernels.add_context(*own, *pairs, source, 3 * width, flat(mine), s.start)
            return [*(sums or ())]

        sums = run_slices(self.slices, work)
        if self.gate is None:
            return None, None
        return self.gate.gradients(*(sums or self.gate.zeros()))

    def _opened(self, s: Slice, room: Tensor) -> Tensor:
        """The gate of a slice, computed in a room."""
        assert self.gate is not None
        opened = room[: s.size]
        self.gate.write(s, flat(opened), self.width)
        return opened.sigmoid_()


def sum_nodes(of_pairs: Tensor, subgraphs: Subgraphs) -> Tensor:
    """Sums over the pairs (., k) of each node k: [P, D] to [N, D]."""
    out = torch.empty(subgraphs.num_nodes, of_pairs.shape[1])
    _sum_context(of_pairs, np.arange(len(of_pairs) + 1), subgraphs, out)
    return out


def _sum_context(
    h: Tensor,
    row_ptr: Array,
    subgraphs: Subgraphs,
    out: Tensor,
    column: int = 0,
    mean: bool = False,
) -> None:
    """Writes sums, or means, over the rows of each node into columns of `out`, [N, ...]."""
    segments = [t.numpy() for t in subgraphs.node_to_pair]
    arrays = (*segments, row_ptr, flat(h), out.numpy(), column, mean)
    chunks = chunks_for(h.numel(), CHUNKS)
    run_chunks(kernels.sum_context, subgraphs.num_nodes, (h.shape[1], *arrays), chunks=chunks)
