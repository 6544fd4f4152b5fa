"""`gated_stack` on the CPU: every slice of roots goes through all layers in a core's own cache.

No state of a row is ever written to a tensor of all rows. The backward pass takes every slice
through all layers again before it goes back.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.cpu import kernels
from i2gnn.ops.cpu.cell import Cell, Matrix, Room, Workspace
from i2gnn.ops.cpu.gated import gru_update
from i2gnn.ops.cpu.slices import Links, Slice, cut, label_codes, run_slices
from i2gnn.ops.reference import GRUWeights, Projection
from i2gnn.subgraphs.row_types import RowTypes
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["gated_stack"]

MAX_LABELS = 2048
"""Label codes up to which the neighbours of each type of rows are counted by code."""

ROWS_PER_TYPE = 64
"""Rows per type from which on types are used; threads keep a few copies of their gradients."""


def gated_stack(
    table: Tensor, subgraphs: Subgraphs, layers: Sequence[tuple[GRUWeights, Projection | None]]
) -> Tensor:
    """See `i2gnn.ops.gated_stack`; sums, for float32 and subgraphs that fit `fits_whole_roots`.

    The first layer is computed once per type of rows if there are few.

    Shapes:
        table: [C, D], one row per label code.
        returns: [B, D].
    """
    h, code = table, subgraphs.label_code
    assert code is not None, "rows have no labels"
    if len(layers) > 1 and len(table) <= MAX_LABELS:
        types = subgraphs.row_types
        if len(types.label) * ROWS_PER_TYPE <= subgraphs.num_rows:
            first, *layers = layers
            h, code = _first_layer(table, types, *first), types.of_row
    counts = [4 if then is None else 6 for _, then in layers]
    weights = [weight for layer, then in layers for weight in (*layer, *(then or ()))]
    result: Tensor = GatedStack.apply(h, code, subgraphs, counts, *weights)  # type: ignore[no-untyped-call]
    return result


def _first_layer(
    table: Tensor, types: RowTypes, weights: GRUWeights, then: Projection | None
) -> Tensor:
    """The layer on rows that begin as table[label], for each type of them: [C, D] to [U, D]."""
    message = types.neighbors.to(table.dtype) @ table
    h = gru_update(message, table[types.label], *weights)
    return h if then is None else torch.addmm(then.table[types.label], h, then.weight)


class GatedStack(torch.autograd.Function):
    """Keeps nothing but its inputs."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        code: Tensor,
        subgraphs: Subgraphs,
        counts: Sequence[int],
        *weights: Tensor,
    ) -> Tensor:
        """Layers on rows that begin as table[code], then the sum over each subgraph's nodes.

        [U, D] and [R] to [B, D]; `counts` says how many of the weights each layer has.
        """
        ctx.save_for_backward(table, code, *weights)
        ctx.subgraphs, ctx.counts = subgraphs, counts
        return Stack(table, code, subgraphs, _cells(weights, counts)).forward()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[B, D] to the gradients of all inputs."""
        table, code, *weights = ctx.saved_tensors
        stack = Stack(table, code, ctx.subgraphs, _cells(weights, ctx.counts))
        grad_table, *grads = stack.backward(grad.contiguous())
        return grad_table, None, None, None, *grads


class Stack:
    """One call of the stack.

    Rows begin as one of U states, so the first cell multiplies the table and not the rows.
    """

    def __init__(
        self, table: Tensor, code: Tensor, subgraphs: Subgraphs, cells: list[Cell]
    ) -> None:
        self.table, self.code, self.cells = table.detach().contiguous(), code.numpy(), cells
        self.width, self.branches = table.shape[1], subgraphs.num_branches
        self.weight = torch.cat(cells[0].weights[:2], dim=1)  # by message and by state
        self.products = (self.table @ self.weight).numpy()
        self.links = Links(subgraphs)
        self.labels = label_codes(subgraphs)
        roots = subgraphs.pair_ptr.numpy(), subgraphs.branch_ptr.numpy()
        self.roots = (*roots, subgraphs.row_ptr.numpy())
        self.slices = cut(subgraphs.num_rows, subgraphs)

    def forward(self) -> Tensor:
        """Sums over the nodes of each subgraph, [B, D]."""
        out = torch.zeros(self.branches, self.width)
        result = out.numpy().reshape(-1)

        def work(slices: list[Slice]) -> list[Tensor]:
            memory = Workspace(max(s.size for s in slices), self.cells[:1])
            for s in slices:
                (room,), _ = memory.take(s.size)
                rooms = [room] * len(self.cells)
                self._climb(s, rooms, room.h)
                roots = s.first_root, s.last_root
                kernels.sum_pairs(*roots, self.width, *self.roots, room.h.flat, s.start, result)
            return []

        run_slices(self.slices, work)
        return out

    def backward(self, grad: Tensor) -> list[Tensor]:
        """Gradients by the table and by the weights of all cells."""
        source = grad.numpy().reshape(-1)

        def work(slices: list[Slice]) -> list[Tensor]:
            longest = max(s.size for s in slices)
            memory = Workspace(longest, self.cells, *[self.width] * 3)
            sums = self._zeros()
            for s in slices:
                rooms, (d_out, d_state, d_h) = memory.take(s.size)
                self._climb(s, rooms, d_out)  # what comes out is not needed
                roots = s.first_root, s.last_root
                kernels.spread_branches(
                    *roots, self.width, *self.roots, source, d_out.flat, s.start
                )
                d_out.array[s.size :] = 0
                self._descend(s, rooms, d_out, d_state, d_h, sums)
            return [matrix.tensor for matrix in chain(*sums)]

        total = run_slices(self.slices, work) or [matrix.tensor for matrix in chain(*self._zeros())]
        by_table, by_products, *sums = total
        by_weight = self.table.t() @ by_products
        sums[0], sums[1] = by_weight[:, : 3 * self.width], by_weight[:, 3 * self.width :]
        grads = [by_table.addmm_(by_products, self.weight.t())]
        for cell in self.cells:
            mine, sums = sums[: len(cell.weights)], sums[len(cell.weights) :]
            grads += cell.gradients(mine)
        return grads

    def _climb(self, s: Slice, rooms: Sequence[Room], out: Matrix) -> None:
        """Takes a slice through all cells, each in its room."""
        kernels.take_rows(self.table.numpy(), self.code[s.rows], rooms[0].h.array)
        kernels.gather_lines(
            s.first_pair,
            s.last_pair,
            *self.links.layout,
            self.code,
            self.products,
            rooms[0].lines.array,
            s.start,
        )
        outputs = [*(room.h for room in rooms[1:]), out]
        for cell, room, result in zip(self.cells, rooms, outputs, strict=True):
            if cell is not self.cells[0]:
                self.links.sum(s, self.width, room.h.flat, s.start, room.message.flat)
                cell.multiply(room)
            cell.gate(s.size, room)
            cell.project(room, self.labels[s.rows], result)

    def _descend(
        self,
        s: Slice,
        rooms: Sequence[Room],
        d_out: Matrix,
        d_state: Matrix,
        d_h: Matrix,
        sums: Sequence[list[Matrix]],
    ) -> None:
        """Takes the gradient by what came out back through all cells; adds to the sums."""
        (by_table, by_products), *by_weights = sums
        for cell, room, mine in reversed([*zip(self.cells, rooms, by_weights, strict=True)]):
            grad = cell.project_backward(room, self.labels[s.rows], d_out, d_state, mine)
            cell.gate_backward(s.size, room, grad, d_h, mine)
            if cell is not self.cells[0]:
                cell.multiply_backward(room, d_h, mine)
                self.links.add(s, self.width, room.message.flat, d_h.flat)
            d_out, d_h = d_h, d_out
        kernels.add_rows(d_out.array, self.code[s.rows], by_table.array)
        kernels.scatter_lines(
            s.first_pair,
            s.last_pair,
            *self.links.layout,
            self.code,
            rooms[0].lines.array,
            s.start,
            by_products.array,
        )

    def _zeros(self) -> list[list[Matrix]]:
        """Sums for the gradients by table and products, and by the weights of each cell."""
        first = torch.zeros_like(self.table), torch.zeros(self.products.shape)
        return [[Matrix.of(tensor) for tensor in first], *(cell.zeros() for cell in self.cells)]


def _cells(weights: Sequence[Tensor], counts: Sequence[int]) -> list[Cell]:
    cells = []
    for count in counts:
        mine, weights = weights[:count], weights[count:]
        then = Projection(*mine[4:]) if count > 4 else None
        cells.append(Cell(GRUWeights(*mine[:4]), then))
    return cells
